"""Random graphs of layers over images for compare_random.py: as YAML and in PyTorch."""

import numpy as np
import torch
from torch.nn import functional as F

from random_model import ACTIVATIONS, Graph, Layer

LARGEST = 360  # values that a layer gives for a row


def padded(x, pads, value=0.0):
    """`pads` are the pixels before and behind of the height and the width; less than 0 are taken away."""
    return F.pad(x, [*pads[1], *pads[0]], value=value)


class Windows:
    """Options of windows over images, and what they mean for each axis."""

    def __init__(self, key, options):
        self.kernel = self.both(options[key])
        self.stride = self.both(options.get("stride", options[key] if key == "size" else 1))
        self.dilation = self.both(options.get("dilation", 1))
        self.padding = options.get("padding", "valid")
        self.reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel)]
        self.is_same = self.padding == "same"
        self.pixels = self.both(self.padding if not isinstance(self.padding, str) else 0)

    @staticmethod
    def both(value):
        return list(value) if isinstance(value, (list, tuple)) else [value, value]

    def pads(self, size):
        """As TensorFlow's: with `same` the output has a pixel for each stride begun, and the odd pixel is behind."""
        if not self.is_same:
            return [(p, p) for p in self.pixels]
        missing = [max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(size, self.stride, self.reach)]
        return [(m // 2, m - m // 2) for m in missing]

    def out(self, size):
        return tuple((n + sum(p) - r) // s + 1 for n, p, r, s in zip(size, self.pads(size), self.reach, self.stride))

    def full(self, size):
        """The output's size of a transposed convolution from which nothing is cut off."""
        return [(n - 1) * s + r for n, s, r in zip(size, self.stride, self.reach)]

    def back(self, size):
        if self.is_same:
            return tuple(n * s for n, s in zip(size, self.stride))
        return tuple(n - 2 * p for n, p in zip(self.full(size), self.pixels))


def convolve(windows, groups, size):
    """F.conv2d where it knows the padding, else with the image padded by hand."""
    options = {"stride": windows.stride, "dilation": windows.dilation, "groups": groups}
    if windows.is_same and windows.stride == [1, 1]:
        return lambda x, weight, bias: F.conv2d(x, weight, bias, padding="same", **options)
    if not windows.is_same:
        return lambda x, weight, bias: F.conv2d(x, weight, bias, padding=windows.pixels, **options)
    return lambda x, weight, bias: F.conv2d(padded(x, windows.pads(size)), weight, bias, **options)


def spread(windows, groups, size):
    """F.conv_transpose2d; `same` cuts off what the convolution from the output to the input would pad."""
    options = {"stride": windows.stride, "dilation": windows.dilation, "groups": groups}
    if not windows.is_same:
        return lambda x, weight, bias: F.conv_transpose2d(x, weight, bias, padding=windows.pixels, **options)
    out, full = windows.back(size), windows.full(size)
    cut = [before for before, _ in windows.pads(out)]
    pads = [(-c, c + o - f) for c, o, f in zip(cut, out, full)]

    def forward(x, weight, bias):
        values = padded(F.conv_transpose2d(x, weight, **options), pads)
        return values if bias is None else values + bias.view(-1, 1, 1)

    return forward


def pool(kind, windows, size):
    """Of the image's own pixels alone; PyTorch's pools know at most half a window of padding."""
    kernel, stride = windows.kernel, windows.stride
    if not windows.is_same and all(2 * p <= k for p, k in zip(windows.pixels, kernel)):
        if kind == "max_pool":
            return lambda x: F.max_pool2d(x, kernel, stride, windows.pixels)
        return lambda x: F.avg_pool2d(x, kernel, stride, windows.pixels, count_include_pad=False)
    pads = windows.pads(size)
    if kind == "max_pool":
        return lambda x: F.max_pool2d(padded(x, pads, -np.inf), kernel, stride)
    share = lambda x: F.avg_pool2d(padded(torch.ones_like(x), pads), kernel, stride)
    return lambda x: F.avg_pool2d(padded(x, pads), kernel, stride) / share(x)


def of_one_value(x, weight, bias):
    """A norm of groups of one value: PyTorch rounds what is 0, where a relu behind it has its kink."""
    return 0 * x * weight + bias


def is_image(shape):
    return len(shape) == 3


class ImageGraph(Graph):
    """Layers over images of `image`, (channels, height, width); batches have at least `fewest` rows."""

    def __init__(self, draw, fields, is_list, image, fewest):
        super().__init__(draw, fields, is_list)
        self.image, self.fewest = image, fewest

    def begin(self):
        source = -1 if is_image(self.shape(-1)) else self.to_image(-1, self.image)
        if self.draw.chance(0.2):
            source = self.normalized(source)
        self.convolution("conv2d", source)

    def to_image(self, source, shape):
        written = list(shape)
        if self.draw.chance(0.3):
            written[self.draw.whole(0, 2)] = -1
        return self.add(Layer("reshape", {"shape": written}, [source], tuple(shape),
                              lambda w, x: x[0].reshape((-1,) + tuple(shape))))

    def pair(self, low, high):
        """A number for both axes, or one for each."""
        draw = self.draw
        return draw.whole(low, high) if draw.chance(0.6) else [draw.whole(low, high), draw.whole(low, high)]

    def window_options(self, key):
        draw = self.draw
        options = {key: self.pair(1, 4)}
        if draw.chance(0.45):
            options["stride"] = self.pair(1, 3)
        if draw.chance(0.6):
            options["padding"] = draw.one(["same", "same", "valid", self.pair(0, 1), self.pair(0, 3)])
        if key == "kernel" and draw.chance(0.2):
            options["dilation"] = self.pair(1, 3)
        return options

    def windows(self, key, source, filters, fits):
        """Options of which `fits` says the output's size, and that size; windows of one pixel if nothing is found."""
        for _ in range(20):
            options = self.window_options(key)
            windows = Windows(key, options)
            out = fits(windows, self.shape(source)[1:])
            if out is not None and min(out) >= 1 and filters * out[0] * out[1] <= LARGEST:
                return options, windows, out
        return {key: 1}, Windows(key, {key: 1}), self.shape(source)[1:]

    def convolution(self, kind, source, options=None, filters=None, activation=None):
        draw, channels = self.draw, self.shape(source)[0]
        filters = filters or draw.one([1, 2, 3, 4, 5, 6, 8, channels, 2 * channels, 16])
        back = kind == "conv_transpose2d"
        fits = lambda windows, size: windows.back(size) if back else windows.out(size)
        if options is None:
            options, windows, out = self.windows("kernel", source, filters, fits)
        else:
            windows = Windows("kernel", options)
            out = fits(windows, self.shape(source)[1:])
        options = {"filters": filters, **options}
        both = [g for g in range(1, filters + 1) if filters % g == 0 and channels % g == 0]
        groups = both[-1] if draw.chance(0.25) else draw.one(both) if draw.chance(0.3) else 1
        if groups > 1 or draw.chance(0.1):
            options["groups"] = groups
        activation = activation or draw.one(["none", "none"] + list(ACTIVATIONS))
        if activation != "none" or draw.chance(0.2):
            options["activation"] = activation
        bias = draw.chance(0.7)
        if not bias or draw.chance(0.2):
            options["bias"] = bias
        shape = (channels, filters // groups) if back else (filters, channels // groups)
        parameters = [("weight", shape + tuple(windows.kernel))] + ([("bias", (filters,))] if bias else [])
        product = (spread if back else convolve)(windows, groups, self.shape(source)[1:])
        apply = ACTIVATIONS.get(activation, lambda x: x)
        return self.add(Layer(kind, options, [source], (filters,) + tuple(out),
                              lambda w, x: apply(product(x[0], w["weight"], w.get("bias"))), parameters))

    def pool(self, kind, source):
        channels, size = self.shape(source)[0], self.shape(source)[1:]

        def fits(windows, size):
            """A window that sees nothing of the image is an error."""
            return windows.out(size) if all(p < k for p, k in zip(windows.pixels, windows.kernel)) else None

        options, windows, out = self.windows("size", source, channels, fits)
        forward = pool(kind, windows, size)
        return self.add(Layer(kind, options, [source], (channels,) + tuple(out), lambda w, x: forward(x[0])))

    def global_avg_pool(self, source):
        return self.add(Layer("global_avg_pool", {}, [source], self.shape(source)[:1], lambda w, x: x[0].mean((2, 3))))

    def dropout(self, source):
        """Of no value, as others are random."""
        return self.add(Layer("dropout", {"rate": self.draw.one([0, 0.0])}, [source], self.shape(source),
                              lambda w, x: x[0]))

    def epsilon(self):
        return {"epsilon": self.draw.real(1e-5, 0.3)} if self.draw.chance(0.5) else {}

    def normalized(self, source):
        """By any of the norms that take this shape."""
        draw, shape = self.draw, self.shape(source)
        kinds = ["layer_norm"] if len(shape) == 2 else ["batch_norm"] * 3 + ["group_norm"] * 2 + ["layer_norm"]
        kind = draw.one(kinds)
        # PyTorch trains no batch_norm by one value of a channel.
        if kind == "batch_norm" and self.fewest * int(np.prod(shape[1:])) < 2:
            kind = "group_norm"
        return getattr(self, kind)(source)

    def batch_norm(self, source):
        draw, shape = self.draw, self.shape(source)
        options = self.epsilon()
        if draw.chance(0.5):
            options["momentum"] = draw.one([0, draw.real(0.05, 0.95), draw.real(0.5, 0.999)])
        epsilon, follow = options.get("epsilon", 1e-5), 1 - options.get("momentum", 0.9)

        def forward(w, x):
            return F.batch_norm(x[0], w["mean"], w["variance"], w["weight"], w["bias"], training=w["training"],
                                momentum=follow, eps=epsilon)

        channels = shape[:1]
        return self.add(Layer("batch_norm", options, [source], shape, forward,
                              [("weight", channels), ("bias", channels)], [("mean", channels), ("variance", channels)]))

    def group_norm(self, source):
        draw, shape = self.draw, self.shape(source)
        options = {"groups": draw.one([g for g in range(1, shape[0] + 1) if shape[0] % g == 0]), **self.epsilon()}
        groups, epsilon = options["groups"], options.get("epsilon", 1e-5)
        of_channels = (-1,) + (1,) * (len(shape) - 1)

        def forward(w, x):
            if int(np.prod(shape)) == groups:
                return of_one_value(x[0], w["weight"].view(of_channels), w["bias"].view(of_channels))
            return F.group_norm(x[0], groups, w["weight"], w["bias"], epsilon)

        return self.add(Layer("group_norm", options, [source], shape, forward,
                              [("weight", shape[:1]), ("bias", shape[:1])]))

    def layer_norm(self, source):
        shape, options = self.shape(source), self.epsilon()
        epsilon = options.get("epsilon", 1e-5)

        def forward(w, x):
            if shape[-1] == 1:
                return of_one_value(x[0], w["weight"], w["bias"])
            return F.layer_norm(x[0], shape[-1:], w["weight"], w["bias"], epsilon)

        return self.add(Layer("layer_norm", options, [source], shape, forward,
                              [("weight", shape[-1:]), ("bias", shape[-1:])]))

    def keeping(self, source):
        """A convolution whose output is like its input."""
        kernel = self.draw.one([1, 2, 3, 3, 5, [1, 3], [4, 1]])
        return self.convolution("conv2d", source, {"kernel": kernel, "padding": "same"}, self.shape(source)[0])

    def residual(self, source):
        """What a block makes of an image is added to it, projected where its shape changes."""
        draw = self.draw
        if draw.chance(0.6):
            inner = self.keeping(self.normalized(source) if draw.chance(0.4) else source)
            inner = self.simple("relu", self.normalized(inner)) if draw.chance(0.5) else inner
            return self.join_of([self.keeping(inner), source])
        filters = draw.whole(1, 8)
        inner = self.convolution("conv2d", source, {"kernel": 3, "stride": 2, "padding": "same"}, filters)
        around = self.convolution("conv2d", source, {"kernel": 1, "stride": 2}, filters)
        return self.join_of([inner, around])

    def branches(self, source):
        """Layers that see the same image in different ways, side by side."""
        inputs = [self.keeping(source)]
        if self.draw.chance(0.5):
            inputs.append(self.keeping(self.keeping(source)))
        if self.draw.chance(0.5):
            options = {"size": self.draw.whole(2, 3), "stride": 1, "padding": "same"}
            kind = self.draw.one(["max_pool", "avg_pool"])
            forward = pool(kind, Windows("size", options), self.shape(source)[1:])
            inputs.append(self.add(Layer(kind, options, [source], self.shape(source), lambda w, x: forward(x[0]))))
        return self.concat(inputs[0], inputs) if len(inputs) > 1 else inputs[0]

    def grow(self):
        kinds = ["conv2d"] * 5 + ["conv_transpose2d"] * 3 + ["max_pool", "avg_pool"] * 2
        kinds += [] if self.is_list else ["residual"] * 3 + ["branches"] * 2
        kind = self.draw.one(kinds + ["normalized"] * 6 + ["dropout", "global_avg_pool"] + ["others"] * 7)
        if kind == "others":
            return self.grow_any()
        source = self.pick((lambda shape: True) if kind in ("normalized", "dropout") else is_image)
        if source is None:
            newest = len(self.layers) - 1
            values = int(np.prod(self.shape(newest)))
            return self.to_image(newest, (values, 1, 1) if self.draw.chance(0.5) else (1, 1, values))
        if kind in ("max_pool", "avg_pool"):
            return self.pool(kind, source)
        if kind in ("conv2d", "conv_transpose2d"):
            return self.convolution(kind, source)
        return getattr(self, kind)(source)

    def grow_any(self):
        """A layer as in other graphs, unless it gives too many values."""
        super().grow()
        if int(np.prod(self.layers[-1].shape)) > LARGEST:
            self.layers.pop()

    def vector(self, source):
        pools = is_image(self.shape(source)) and self.draw.chance(0.5)
        return self.global_avg_pool(source) if pools else self.flatten(source)

    def finish(self, units):
        loose = self.loose()
        if len(loose) > 1 or not is_image(self.shape(loose[0])) or self.draw.chance(0.5):
            return super().finish(units)
        if self.draw.chance(0.5):
            last = self.convolution("conv2d", loose[0], {"kernel": list(self.shape(loose[0])[1:])}, units, "none")
            return self.flatten(last)
        return self.global_avg_pool(self.convolution("conv2d", loose[0], {"kernel": 1}, units))

    def paint(self, ends_flat):
        """Ends in an image of one channel, as large as those read, or in its values."""
        size = self.image[1:]
        super().finish(size[0] * size[1])
        last = self.to_image(len(self.layers) - 1, (1,) + size)
        if not self.is_list and is_image(self.shape(-1)):
            around = self.convolution("conv2d", -1, {"kernel": 3, "padding": "same"}, 1)
            last = self.join_of([last, around])
        elif self.draw.chance(0.5):
            last = self.keeping(last)
        if ends_flat:
            self.flatten(last)
