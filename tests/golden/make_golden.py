#!/usr/bin/python3
"""Trains the golden models with PyTorch and writes what tests/layers/golden_test.cpp compares.

    /usr/bin/python3 tests/golden/make_golden.py          # writes tests/golden/*.json
    /usr/bin/python3 tests/golden/make_golden.py --check  # prints the values in initialize_test.cpp

Run by hand (Debian's python3-torch 1.13); the results are committed. Rows and initial weights come from Philox by the
formulas below, which the C++ side has too (core/random.h, layers/model/initialize.h), so no data is stored. PyTorch
computes in float64: a reference for both of our dtypes.
"""

import argparse
import json
import pathlib

import numpy as np

MASK = np.uint64(0xFFFFFFFF)


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def philox64(seed, name, index):
    """The first 64 bits of Philox4x32-10 with key `seed` at counter (fnv1a64(name), index), for an array of indices."""
    index = np.asarray(index, dtype=np.uint64)
    stream = fnv1a64(name)
    low, shift = MASK, np.uint64(32)
    c0, c1 = index & low, index >> shift
    c2, c3 = np.full_like(index, stream & 0xFFFFFFFF), np.full_like(index, stream >> 32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & low, (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & low
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0 | c1 << shift


def unit(bits):
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * (1.0 / 4503599627370496.0)


def symmetric(seed, name, count, first=0):
    """`count` doubles in (-1, 1)."""
    return 2.0 * unit(philox64(seed, name, np.arange(first, first + count))) - 1.0


def glorot(seed, name, fan_out, fan_in):
    limit = np.sqrt(6.0 / float(fan_in + fan_out))
    return (symmetric(seed, name, fan_out * fan_in) * limit).reshape(fan_out, fan_in)


def rows_of(step, batch, features):
    """The features of a step: 1.75 times a symmetric draw, in float32."""
    count = batch * features
    return (1.75 * symmetric(23, "golden.features", count, step * count)).astype(np.float32).reshape(batch, features)


def mlp():
    """The notebook's model: 1024 -> 1024 relu -> 1, label 1 where the row's sum is positive."""
    layers = [("dense", 1024, 1024), ("dense_2", 1024, 1)]

    def forward(torch, w, x):
        h = torch.relu(torch.nn.functional.linear(x, w["dense.weight"], w["dense.bias"]))
        return torch.nn.functional.linear(h, w["dense_2.weight"], w["dense_2.bias"])

    def labels(x):
        return (x.astype(np.float64).sum(1, keepdims=True) > 0).astype(np.float64)

    return dict(layers=layers, forward=forward, labels=labels, features=1024, batch=23, rate=0.1, dtype=np.float32)


def graph():
    """Branches that join twice; two logits, labelled by the signs of the two halves of the row."""
    layers = [("stem", 12, 16), ("left", 16, 16), ("right", 16, 16), ("around", 16, 12), ("out", 12, 2)]

    def forward(torch, w, x):
        dense = lambda name, value: torch.nn.functional.linear(value, w[name + ".weight"], w[name + ".bias"])
        stem = torch.relu(dense("stem", x))
        join = torch.relu(dense("left", stem)) + dense("right", stem) + stem
        return dense("out", torch.relu(dense("around", join)) + x)

    def labels(x):
        halves = x.astype(np.float64).reshape(len(x), 2, -1)
        return (halves.sum(2) > 0).astype(np.float64)

    return dict(layers=layers, forward=forward, labels=labels, features=12, batch=7, rate=0.2, dtype=np.float64)


def train(model, steps=50, seed=23):
    import torch

    initial = {}
    for name, fan_in, fan_out in model["layers"]:
        initial[name + ".weight"] = glorot(seed, name + ".weight", fan_out, fan_in).astype(model["dtype"])
        initial[name + ".bias"] = np.zeros(fan_out, model["dtype"])
    weights = {k: torch.tensor(v.astype(np.float64), requires_grad=True) for k, v in initial.items()}
    optimizer = torch.optim.SGD(weights.values(), lr=float(np.float32(model["rate"])))
    losses = []
    for step in range(steps):
        rows = rows_of(step, model["batch"], model["features"])
        logits = model["forward"](torch, weights, torch.tensor(rows.astype(np.float64)))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(model["labels"](rows)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {k: (initial[k], v.detach().numpy()) for k, v in weights.items()}


def bits_sum(values):
    """A checksum of the exact bits: their sum modulo 2^64."""
    return int(values.ravel().view(np.uint32 if values.dtype == np.float32 else np.uint64).sum(dtype=np.uint64))


def summary(losses, parameters, samples=100):
    out = {"losses": losses, "parameters": {}}
    for name, (initial, final) in parameters.items():
        flat = final.ravel()
        picked = range(flat.size) if flat.size <= samples else sorted(
            {int(i) % flat.size for i in philox64(23, "golden.samples." + name, np.arange(samples))})
        out["parameters"][name] = {
            "initial_bits": bits_sum(initial),
            "sum": float(flat.sum()),
            "change": float(np.linalg.norm(final - initial.astype(np.float64))),
            "samples": [[i, float(flat[i])] for i in picked],
        }
    return out


def write(path, value):
    """One line for each list of numbers."""
    lines = ['{"losses": %s,' % json.dumps(value["losses"]), ' "parameters": {']
    entries = ['  "%s": %s' % (name, json.dumps(entry)) for name, entry in value["parameters"].items()]
    path.write_text("\n".join(lines) + "\n" + ",\n".join(entries) + "\n }}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print known initial values instead")
    if parser.parse_args().check:
        for value in glorot(23, "dense.weight", 1024, 1024).astype(np.float32).ravel()[[0, 1, -1]]:
            print(float(value).hex())
        return
    folder = pathlib.Path(__file__).parent
    write(folder / "mlp.json", summary(*train(mlp())))
    write(folder / "graph.json", summary(*train(graph())))


if __name__ == "__main__":
    main()
