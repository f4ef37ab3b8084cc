#!/usr/bin/python3
"""Trains the networks over images of tests/golden/trainings/*.yaml with PyTorch, as make_trainings.py does the others.

    /usr/bin/python3 tests/golden/make_images.py     # writes images.csv and one .json beside each .yaml

Run by hand (Debian's python3-torch 1.13); the results are committed. All is computed in float64.
"""

import json

import numpy as np
import torch
from torch.nn import functional as F

from make_golden import philox64, symmetric
from make_trainings import BATCH, FOLDER, STEPS

SIZE, CLASSES = 8, 3


def make_images():
    """Sixteen grey levels: a bright bar, across, down or aslant, in noise."""
    count = BATCH * STEPS
    kind = (philox64(29, "images.kind", np.arange(count)) % np.uint64(CLASSES)).astype(int)
    place = (philox64(29, "images.place", np.arange(count)) % np.uint64(SIZE - 1)).astype(int)
    noise = symmetric(29, "images.noise", count * SIZE * SIZE).reshape(count, SIZE, SIZE)
    images = np.round(3.5 + 3.5 * noise)
    for i in range(count):
        for k in range(SIZE):
            for width in range(2):
                at = place[i] + width
                row, column = {0: (at, k), 1: (k, at), 2: (k, (at + k) % SIZE)}[kind[i]]
                images[i, row, column] += 8
    return images / 4, kind


def write_images(images, kind):
    lines = [",".join(["%d" % kind[i]] + ["%g" % v for v in images[i].ravel()]) for i in range(len(kind))]
    (FOLDER / "images.csv").write_text("\n".join(lines) + "\n")


class Net:
    """Parameters by name, in the order in which the .yaml's layers declare them."""

    def __init__(self, shapes, groups={}):
        self.weights, self.groups, self.moments = {}, groups, {}
        for name, shape in shapes:
            field = int(np.prod(shape[2:]))
            limit = np.sqrt(6.0 / (shape[1] * field + shape[0] // groups.get(name, 1) * field))
            values = symmetric(23, name + ".weight", int(np.prod(shape))) * limit
            self.add(name + ".weight", values.reshape(shape))
            self.add(name + ".bias", np.zeros(shape[0]))

    def add(self, name, values):
        self.weights[name] = torch.tensor(values.astype(np.float32).astype(np.float64), requires_grad=True)

    def dense(self, name, x):
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, name, count):
        self.add(name + ".weight", np.ones(count))
        self.add(name + ".bias", np.zeros(count))
        self.moments[name] = (torch.zeros(count, dtype=torch.float64), torch.ones(count, dtype=torch.float64))

    def normalized(self, name, x):
        return F.batch_norm(x, *self.moments[name], self.weights[name + ".weight"], self.weights[name + ".bias"],
                            training=True, momentum=0.1)

    def conv(self, name, x, **how):
        return F.conv2d(x, self.weights[name + ".weight"], self.weights[name + ".bias"],
                        groups=self.groups.get(name, 1), **how)


def lenet():
    net = Net([("conv2d", (4, 1, 3, 3)), ("conv2d_2", (6, 4, 2, 2)), ("dense", (10, 54)), ("dense_2", (3, 10))])
    optimizer = torch.optim.SGD(net.weights.values(), lr=0.02)

    def loss(x, kind):
        x = F.max_pool2d(torch.relu(net.conv("conv2d", x, padding=1)), 2)
        x = torch.tanh(net.conv("conv2d_2", x)).flatten(1)
        return F.cross_entropy(net.dense("dense_2", torch.relu(net.dense("dense", x))), kind)

    return net, optimizer, loss


def mobile():
    """Strides that pad by one side, groups, a depthwise convolution, branches that add up, and means."""
    net = Net([("stem", (8, 1, 3, 3)), ("grouped", (8, 4, 3, 3)), ("deep", (8, 1, 3, 3)), ("mix", (12, 8, 1, 1)),
               ("out", (3, 12))], {"grouped": 2, "deep": 8})
    optimizer = torch.optim.SGD(net.weights.values(), lr=0.05, momentum=0.9)

    def loss(x, kind):
        # `same` at stride 2 over 8 pixels: one pixel is missing, and it is put behind.
        stem = torch.relu(net.conv("stem", F.pad(x, (0, 1, 0, 1)), stride=2))
        grouped = net.conv("grouped", stem, padding=1)
        deep = net.conv("deep", stem, padding=2, dilation=2)
        joined = F.gelu(grouped + deep + stem)
        mixed = torch.sigmoid(net.conv("mix", F.avg_pool2d(joined, 3, stride=1, padding=1, count_include_pad=False)))
        return F.cross_entropy(net.dense("out", mixed.mean((2, 3))), kind)

    return net, optimizer, loss


def residual_cnn():
    net = Net([("conv2d", (8, 1, 3, 3)), ("conv2d_2", (8, 8, 3, 3)), ("dense", (3, 8))])
    for name in ("batch_norm", "batch_norm_2"):
        net.norm(name, 8)
    optimizer = torch.optim.SGD(net.weights.values(), lr=0.05, momentum=0.9, weight_decay=1e-3)

    def loss(x, kind):
        stem = torch.relu(net.normalized("batch_norm", net.conv("conv2d", x, padding=1)))
        x = F.max_pool2d(torch.relu(net.normalized("batch_norm_2", net.conv("conv2d_2", stem, padding=1)) + stem), 2)
        return F.cross_entropy(net.dense("dense", x.mean((2, 3))), kind)

    return net, optimizer, loss


def train(make, images, kind):
    net, optimizer, loss_of = make()
    losses = []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        loss = loss_of(torch.tensor(images[part]).unsqueeze(1), torch.tensor(kind[part]))
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    values = {k: v.detach().numpy().ravel().tolist() for k, v in net.weights.items()}
    state = {name + "." + part: v.tolist() for name, pair in net.moments.items() for part, v in zip(("mean", "variance"), pair)}
    return {"losses": losses, "parameters": values, "state": state}


def main():
    images, kind = make_images()
    write_images(images, kind)
    for make in (lenet, mobile, residual_cnn):
        value = train(make, images, kind)
        lines = ['{"losses": %s' % json.dumps(value["losses"])]
        for sort in ("parameters", "state"):
            lines.append(' "%s": {\n' % sort + ",\n".join('  "%s": %s' % (k, json.dumps(v)) for k, v in value[sort].items()) + "\n }")
        (FOLDER / (make.__name__ + ".json")).write_text(",\n".join(lines) + "\n}\n")
        print("%s: loss %.6f -> %.6f" % (make.__name__, value["losses"][0], np.mean(value["losses"][-5:])))


if __name__ == "__main__":
    main()
