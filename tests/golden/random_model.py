"""Random graphs of layers for compare_random.py: as YAML and in PyTorch."""

import json
import math

import numpy as np
import torch
from torch.nn import functional as F

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "gelu": F.gelu, "sigmoid": torch.sigmoid}


def flow(value):
    """As YAML, on one line."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (k, flow(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(flow(v) for v in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.replace("_", "a").isalnum() else json.dumps(value)
    return repr(value)


def kind_node(kind, options):
    return {kind: options} if options else kind


class Draw:
    """What is random of a case."""

    def __init__(self, seeds):
        self.state = np.random.RandomState(seeds)

    def chance(self, share):
        return self.state.uniform() < share

    def whole(self, first, last):
        return int(self.state.randint(first, last + 1))

    def one(self, choices):
        return choices[self.whole(0, len(choices) - 1)]

    def real(self, low, high):
        """Between them on a logarithmic scale, of three digits."""
        return float("%.3g" % math.exp(self.state.uniform(math.log(low), math.log(high))))


class Layer:
    """`forward` takes the layer's own values by name, with `training` among them, and the inputs."""

    def __init__(self, kind, options, inputs, shape, forward, parameters=(), states=()):
        self.kind, self.options, self.inputs, self.shape, self.forward = kind, options, inputs, shape, forward
        self.parameters, self.states = list(parameters), list(states)  # pairs of a name in the layer and a shape
        self.name, self.named, self.says_from = None, False, True


class Graph:
    """Layers that read fields, which are negative indices, or layers before them. A field is a name and a shape."""

    def __init__(self, draw, fields, is_list):
        self.draw, self.fields, self.is_list = draw, fields, is_list
        self.layers = []

    def shape(self, source):
        return self.layers[source].shape if source >= 0 else self.fields[-1 - source][1]

    def sources(self):
        return list(range(len(self.layers))) + ([] if self.is_list else [-1 - i for i in range(len(self.fields))])

    def pick(self, fits=lambda shape: True):
        """Something to read, mostly of the newest; None where nothing fits."""
        if self.is_list:
            newest = len(self.layers) - 1
            return newest if fits(self.shape(newest)) else None
        found = [s for s in self.sources() if fits(self.shape(s))]
        if not found:
            return None
        newest = [s for s in found if s >= len(self.layers) - 2]
        return self.draw.one(newest if newest and self.draw.chance(0.6) else found)

    def add(self, layer):
        self.layers.append(layer)
        return len(self.layers) - 1

    def dense(self, source, units=None, activation=None):
        draw, fan_in = self.draw, self.shape(source)[0]
        units = units or draw.whole(1, 9)
        activation = activation or draw.one(["none", "none"] + list(ACTIVATIONS))
        bias = draw.chance(0.8)
        options = {"units": units}
        if activation != "none" or draw.chance(0.2):
            options["activation"] = activation
        if not bias or draw.chance(0.2):
            options["bias"] = bias
        apply = ACTIVATIONS.get(activation, lambda x: x)
        parameters = [("weight", (units, fan_in))] + ([("bias", (units,))] if bias else [])
        return self.add(Layer("dense", options, [source], (units,),
                              lambda w, x: apply(F.linear(x[0], w["weight"], w.get("bias"))), parameters))

    def simple(self, kind, source):
        draw, options = self.draw, {}
        forward = {"relu": torch.relu, "tanh": torch.tanh, "gelu": F.gelu, "sigmoid": torch.sigmoid,
                   "softmax": lambda x: F.softmax(x, -1)}.get(kind)
        if kind == "elu":
            options = {"alpha": draw.real(0.1, 2)} if draw.chance(0.6) else {}
            forward = lambda x: F.elu(x, alpha=options.get("alpha", 1.0))
        if kind == "leaky_relu":
            options = {"slope": draw.real(0.01, 0.9)} if draw.chance(0.6) else {}
            forward = lambda x: F.leaky_relu(x, options.get("slope", 0.01))
        return self.add(Layer(kind, options, [source], self.shape(source), lambda w, x: forward(x[0])))

    def scale(self, source):
        bias, length = self.draw.chance(0.7), self.shape(source)[-1]
        parameters = [("weight", (length,))] + ([("bias", (length,))] if bias else [])
        return self.add(Layer("scale", {} if bias else {"bias": False}, [source], self.shape(source),
                              lambda w, x: x[0] * w["weight"] + (w["bias"] if bias else 0), parameters))

    def flatten(self, source):
        return self.add(Layer("flatten", {}, [source], (int(np.prod(self.shape(source))),),
                              lambda w, x: x[0].flatten(1)))

    def reshape(self, source):
        values = int(np.prod(self.shape(source)))
        shape, rest = [], values
        for _ in range(self.draw.whole(0, 2)):
            shape.append(self.draw.one([d for d in range(1, rest + 1) if rest % d == 0]))
            rest //= shape[-1]
        shape = tuple(shape + [rest])
        written = list(shape)
        if self.draw.chance(0.5):
            written[self.draw.whole(0, len(shape) - 1)] = -1
        if len(written) == 1 and self.draw.chance(0.5):
            written = written[0]
        return self.add(Layer("reshape", {"shape": written}, [source], shape,
                              lambda w, x: x[0].reshape((-1,) + shape)))

    def join(self, kind, first):
        """A sum or product of layers like `first`, which may come more than once."""
        like = [s for s in self.sources() if self.shape(s) == self.shape(first)]
        inputs = [first] + [self.draw.one(like) for _ in range(self.draw.whole(1, 3))]

        def forward(_, x):
            out = x[0]
            for other in x[1:]:
                out = out + other if kind == "add" else out * other
            return out

        return self.add(Layer(kind, {}, inputs, self.shape(first), forward))

    def concat(self, first, inputs=None):
        shape = self.shape(first)
        axis = self.draw.whole(0, len(shape) - 1)

        def fits(other):
            return len(other) == len(shape) and all(i == axis or other[i] == shape[i] for i in range(len(shape)))

        if inputs is None:
            like = [s for s in self.sources() if fits(self.shape(s))]
            inputs = [first] + [self.draw.one(like) for _ in range(self.draw.whole(1, 2))]
        out = list(shape)
        out[axis] = sum(self.shape(s)[axis] for s in inputs)
        options = {} if axis == 0 and self.draw.chance(0.7) else {"axis": self.draw.one([axis, axis - len(shape)])}
        return self.add(Layer("concat", options, inputs, tuple(out), lambda w, x: torch.cat(x, 1 + axis)))

    def grow(self):
        """Adds a layer that is drawn."""
        kinds = ["dense"] * 4 + ["relu", "tanh", "gelu", "sigmoid", "elu", "leaky_relu", "softmax"]
        kinds += ["scale"] * 2 + ["reshape", "flatten"]
        kinds += [] if self.is_list else ["add", "mul", "concat"] * 2
        kind = self.draw.one(kinds)
        source = self.pick((lambda shape: len(shape) == 1) if kind == "dense" else (lambda shape: True))
        if source is None:
            source, kind = len(self.layers) - 1, "flatten"
        if kind in ("dense", "scale", "reshape", "flatten", "concat"):
            return getattr(self, kind)(source)
        return self.join(kind, source) if kind in ("add", "mul") else self.simple(kind, source)

    def loose(self):
        read = {s for layer in self.layers for s in layer.inputs}
        return [i for i in range(len(self.layers)) if i not in read]

    def vector(self, source):
        return self.flatten(source)

    def finish(self, units):
        """Joins what nothing reads, and ends in `units` values."""
        vectors = [i if len(self.shape(i)) == 1 else self.vector(i) for i in self.loose()]
        last = vectors[0] if len(vectors) == 1 else self.concat(vectors[0], vectors)
        if self.is_list or self.draw.chance(0.5):
            last = self.dense(last, units, "none" if self.draw.chance(0.85) else None)
        else:
            last = self.join_of([self.dense(last, units), self.dense(last, units, "none")])
        if self.draw.chance(0.2):
            self.scale(last)

    def join_of(self, inputs):
        return self.add(Layer("add", {}, inputs, self.shape(inputs[0]), lambda w, x: x[0] + x[1]))

    def name_layers(self):
        """Some by a name, others as the trainer does: by kind, and a number from the second on."""
        taken = {name for name, _ in self.fields}
        for i, layer in enumerate(self.layers):
            if self.draw.chance(0.4):
                layer.name, layer.named = self.draw.one(["", "head_", "dense-"]) + "n%d" % i, True
                taken.add(layer.name)
        for layer in self.layers:
            if layer.named:
                continue
            layer.name, count = layer.kind, 1
            while layer.name in taken:
                count += 1
                layer.name = "%s_%d" % (layer.kind, count)
            taken.add(layer.name)

    def yaml(self):
        lines = []
        for i, layer in enumerate(self.layers):
            options = dict(layer.options)
            names = [self.layers[s].name if s >= 0 else self.fields[-1 - s][0] for s in layer.inputs]
            before = [i - 1] if i > 0 else [-1]
            if layer.inputs != before or self.draw.chance(0.2):
                options["from"] = names if len(names) > 1 or self.draw.chance(0.5) else names[0]
            if layer.named:
                options["name"] = layer.name
            lines.append("  - " + ("%s: %s" % (layer.kind, flow(options)) if options else layer.kind))
        return "\n".join(lines)

    def parameters(self):
        """Full name: the layer and a shape."""
        return {"%s.%s" % (layer.name, name): (layer, shape)
                for layer in self.layers for name, shape in layer.parameters}

    def states(self):
        return {"%s.%s" % (layer.name, name): shape for layer in self.layers for name, shape in layer.states}

    def forward(self, values, rows, training, rounding=None):
        """Of all parameters and states by full name, of which a training changes the states. `rounding` may change the
        gradients of the layers' outputs."""
        results = []
        for layer in self.layers:
            own = {name: values["%s.%s" % (layer.name, name)] for name, _ in layer.parameters + layer.states}
            own["training"] = training
            inputs = [results[s] if s >= 0 else self.field(rows, *self.fields[-1 - s]) for s in layer.inputs]
            results.append(layer.forward(own, inputs))
            if rounding is not None and results[-1].requires_grad:
                results[-1].register_hook(rounding)
        return results[-1]

    def field(self, rows, name, shape):
        return rows[name].reshape((-1,) + shape)
