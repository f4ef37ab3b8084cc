#!/usr/bin/python3
"""Trains what tests/golden/trainings/*.yaml describe with PyTorch, for tests/trainer/golden_test.cpp to compare.

    /usr/bin/python3 tests/golden/make_trainings.py     # writes rows.csv and one .json beside each .yaml

Run by hand (Debian's python3-torch 1.13); the results are committed. The models below are written a second time, in
PyTorch's own words: nothing is read from the .yaml files. All is computed in float64, from initial weights that are
float32 and come from make_golden.py's formulas.
"""

import json
import pathlib

import numpy as np
import torch
from torch.nn import functional as F

from make_golden import glorot, philox64, symmetric, unit

FOLDER = pathlib.Path(__file__).parent / "trainings"
BATCH, STEPS, FEATURES, CLASSES = 8, 50, 6, 4
COLUMNS = ["f%d" % i for i in range(FEATURES)] + ["kind", "target", "yes", "weight"]


def make_rows():
    """Features in (-1.75, 1.75), a class, a number, a yes or no, and a weight, of which one in five is 0."""
    count = BATCH * STEPS
    features = (1.75 * symmetric(23, "trainings.features", count * FEATURES)).astype(np.float32).reshape(count, FEATURES)
    noise = symmetric(23, "trainings.noise", count)
    wide = features.astype(np.float64)
    sums = np.stack([wide[:, i] + wide[:, (i + 2) % FEATURES] * wide[:, (i + 1) % FEATURES] for i in range(CLASSES)], 1)
    kind = sums.argmax(1)
    target = (np.sin(wide[:, 0]) + 0.5 * wide[:, 1] * wide[:, 2] + 0.1 * noise).astype(np.float32)
    yes = (wide.sum(1) + noise > 0).astype(int)
    draws = unit(philox64(23, "trainings.weights", np.arange(count)))
    weight = np.where(draws < 0.2, 0, draws * 3).astype(np.float32)
    return features, kind, target, yes, weight


def write_rows(features, kind, target, yes, weight):
    lines = [",".join(COLUMNS)]
    for i in range(len(features)):
        numbers = [*features[i], kind[i], target[i], yes[i], weight[i]]
        lines.append(",".join(np.format_float_positional(n, unique=True, trim="0") if isinstance(n, np.float32) else str(n)
                              for n in numbers))
    (FOLDER / "rows.csv").write_text("\n".join(lines) + "\n")


class Net:
    """Parameters by name, in the order in which the .yaml's layers declare them."""

    def __init__(self, dense, scales=()):
        self.weights = {}
        for name, fan_in, fan_out in dense:
            self.add(name + ".weight", glorot(23, name + ".weight", fan_out, fan_in))
            self.add(name + ".bias", np.zeros(fan_out))
        for name, count in scales:
            self.add(name + ".weight", np.ones(count))
            self.add(name + ".bias", np.zeros(count))

    def add(self, name, values):
        self.weights[name] = torch.tensor(values.astype(np.float32).astype(np.float64), requires_grad=True)

    def dense(self, name, x):
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def scale(self, name, x):
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]


def classifier():
    net = Net([("dense", 6, 16), ("dense_2", 16, 4)])
    optimizer = torch.optim.SGD(net.weights.values(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)

    def loss(x, row):
        logits = net.dense("dense_2", torch.relu(net.dense("dense", x)))
        return F.cross_entropy(logits, row["kind"], label_smoothing=0.1)

    return net, optimizer, loss, {}


def residual():
    net = Net([("stem", 6, 8), ("left", 8, 8), ("right", 8, 8), ("mix", 14, 8), ("gate", 14, 8), ("out", 8, 1)],
              [("scale", 8)])
    optimizer = torch.optim.Adam(net.weights.values(), lr=0.01)

    def loss(x, row):
        stem = F.gelu(net.dense("stem", x))
        joined = F.elu(torch.tanh(net.dense("left", stem)) + net.dense("right", stem) + stem, alpha=0.5)
        both = torch.cat([joined, x], 1)
        gated = F.leaky_relu(net.dense("mix", both), 0.1) * torch.sigmoid(net.dense("gate", both))
        return F.mse_loss(net.dense("out", net.scale("scale", gated)), row["target"])

    return net, optimizer, loss, {}


def adamw_cosine():
    net = Net([("dense", 6, 16), ("dense_2", 16, 1)])
    decayed = [w for name, w in net.weights.items() if name.endswith("weight")]
    free = [w for name, w in net.weights.items() if name.endswith("bias")]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": free, "weight_decay": 0}], lr=0.02)
    warmup = 5

    def rate(update):
        if update < warmup:
            return (update + 1) / warmup
        share = (update - warmup) / (STEPS - warmup)
        return 0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * share))

    def loss(x, row):
        return F.huber_loss(net.dense("dense_2", torch.tanh(net.dense("dense", x))), row["target"], delta=0.4)

    return net, optimizer, loss, {"clip_norm": 0.05, "schedule": rate}


def weighted():
    net = Net([("dense", 6, 12), ("dense_2", 12, 1)])
    optimizer = torch.optim.RMSprop(net.weights.values(), lr=0.01, momentum=0.5, weight_decay=1e-2)

    def loss(x, row):
        logits = net.dense("dense_2", torch.relu(net.dense("dense", x)))
        each = F.binary_cross_entropy_with_logits(logits, row["yes"], reduction="none")
        return (each * row["weight"]).sum() / row["weight"].sum()

    return net, optimizer, loss, {}


def accumulated():
    net = Net([("dense", 6, 12), ("dense_2", 12, 1)])
    optimizer = torch.optim.Adagrad(net.weights.values(), lr=0.05)

    def loss(x, row):
        prediction = net.dense("dense_2", F.softmax(net.dense("dense", x), 1))
        each = (prediction - row["target"]).abs()
        return (each * row["weight"]).sum() / row["weight"].sum()

    # Four batches are one; values of the joined gradient are limited.
    return net, optimizer, loss, {"accumulate": 4, "clip_value": 0.02, "schedule": lambda update: 0.9 ** (update // 2)}


def one_cycle():
    net = Net([("dense", 6, 10), ("dense_2", 10, 1)])
    optimizer = torch.optim.SGD(net.weights.values(), lr=0.5, momentum=0.5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=STEPS, cycle_momentum=False)

    def loss(x, row):
        score = net.dense("dense_2", torch.tanh(net.dense("dense", x)))
        return torch.clamp(1 - (2 * row["yes"] - 1) * score, min=0).mean()

    return net, optimizer, loss, {"scheduler": schedule}


def train(make, rows, draws=False):
    """With `draws` the loss is that of the very pass whose gradients are taken."""
    net, optimizer, loss_of, how = make()
    features, kind, target, yes, weight = rows
    losses, updates = [], 0
    every = how.get("accumulate", 1)
    base = [group["lr"] for group in optimizer.param_groups]

    def batch(first, last):
        part = slice(first * BATCH, last * BATCH)
        column = lambda values: torch.tensor(values[part].astype(np.float64)).reshape(-1, 1)
        return torch.tensor(features[part].astype(np.float64)), {
            "kind": torch.tensor(kind[part]), "target": column(target), "yes": column(yes), "weight": column(weight)}

    for first in range(0, STEPS, every):
        last = min(first + every, STEPS)
        if "schedule" in how:
            for group, rate in zip(optimizer.param_groups, base):
                group["lr"] = rate * how["schedule"](updates)
        for step in range(first, last) if not draws else []:
            losses.append(loss_of(*batch(step, step + 1)).item())
        optimizer.zero_grad()
        loss = loss_of(*batch(first, last))
        loss.backward()
        if draws:
            losses.append(loss.item())
        if "clip_value" in how:
            torch.nn.utils.clip_grad_value_(net.weights.values(), how["clip_value"])
        if "clip_norm" in how:
            torch.nn.utils.clip_grad_norm_(net.weights.values(), how["clip_norm"])
        optimizer.step()
        if "scheduler" in how and updates + 1 < STEPS:
            how["scheduler"].step()
        updates += 1
    return {"losses": losses, "parameters": {k: v.detach().numpy().ravel().tolist() for k, v in net.weights.items()}}


def dropout():
    net = Net([("dense", 6, 16), ("dense_2", 16, 1)])
    optimizer = torch.optim.SGD(net.weights.values(), lr=0.1)

    def loss(x, row):
        hidden = F.dropout(torch.relu(net.dense("dense", x)), p=0.4)
        return F.mse_loss(net.dense("dense_2", hidden), row["target"])

    return net, optimizer, loss, {}


def dropout_runs(rows, runs=2000):
    """What the mean loss of the last ten steps is over many draws of what is dropped."""
    torch.manual_seed(23)
    ends = [np.mean(train(dropout, rows, True)["losses"][-10:]) for _ in range(runs)]
    return {"runs": runs, "mean": np.mean(ends), "deviation": np.std(ends, ddof=1)}


def main():
    FOLDER.mkdir(exist_ok=True)
    rows = make_rows()
    write_rows(*rows)
    for make in (classifier, residual, adamw_cosine, weighted, accumulated, one_cycle):
        value = train(make, rows)
        lines = ['{"losses": %s,' % json.dumps(value["losses"]), ' "parameters": {']
        lines.append(",\n".join('  "%s": %s' % (k, json.dumps(v)) for k, v in value["parameters"].items()))
        (FOLDER / (make.__name__ + ".json")).write_text("\n".join(lines) + "\n }}\n")
        print("%s: loss %.6f -> %.6f" % (make.__name__, value["losses"][0], np.mean(value["losses"][-5:])))
    spread = dropout_runs(rows)
    (FOLDER / "dropout.json").write_text(json.dumps(spread) + "\n")
    print("dropout: %s" % spread)


if __name__ == "__main__":
    main()
