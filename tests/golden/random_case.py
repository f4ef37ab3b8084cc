"""Draws one training of compare_random.py: rows, loss, metrics, optimizer and options, as YAML and in PyTorch."""

import fnmatch

import numpy as np
import torch
from torch.nn import functional as F

from make_golden import symmetric
from random_images import ImageGraph
from random_metrics import draw_metrics
from random_model import Draw, Graph, flow, kind_node


def rates_of(kind, options, warmup, count):
    """The factors of `count` updates, of PyTorch's schedulers where there is one; the warm-up is the trainer's own."""
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    length = options["steps"] - warmup if "steps" in options else count
    schedulers = torch.optim.lr_scheduler
    final = options.get("final", 0.0)
    if kind == "step":
        scheduler = schedulers.StepLR(optimizer, options["every"], options.get("factor", 0.1))
    elif kind == "exponential":
        scheduler = schedulers.LambdaLR(optimizer, lambda i: options["decay"] ** (i / options.get("every", 1)))
    elif kind == "cosine":
        scheduler = schedulers.CosineAnnealingLR(optimizer, length, eta_min=final)
    elif kind == "linear":
        scheduler = schedulers.LinearLR(optimizer, 1.0, final, length)
    elif kind == "one_cycle":
        scheduler = schedulers.OneCycleLR(optimizer, 1.0, total_steps=length, pct_start=options.get("rise", 0.3),
                                          div_factor=options.get("div", 25.0),
                                          final_div_factor=options.get("final_div", 1e4), cycle_momentum=False)
    else:
        scheduler = schedulers.LambdaLR(optimizer, lambda i: 1.0)
    last = {"cosine": length, "linear": length, "one_cycle": length - 1}.get(kind, count)
    optimizer.step()
    factors = [optimizer.param_groups[0]["lr"]]
    for _ in range(min(last, count)):
        scheduler.step()
        factors.append(optimizer.param_groups[0]["lr"])
    factors += [factors[-1]] * count
    return [(i + 1) / warmup * factors[0] for i in range(warmup)] + factors


class Optimizer:
    def __init__(self, draw, names, updates):
        self.kind = draw.one(["sgd", "sgd", "sgd", "adam", "adamw", "rmsprop", "adagrad"])
        rates = {"sgd": (0.01, 0.2), "adam": (1e-3, 0.03), "adamw": (1e-3, 0.03), "rmsprop": (1e-3, 0.01),
                 "adagrad": (5e-3, 0.05)}
        defaults = {"adam": 0.001, "adamw": 0.001, "rmsprop": 0.01, "adagrad": 0.01}
        self.rate = draw.real(*rates[self.kind])
        self.options, self.torch = {}, {}
        if self.kind in defaults and draw.chance(0.15):
            self.rate = defaults[self.kind]
        else:
            self.options["learning_rate"] = self.rate
        self.decay = 0.01 if self.kind == "adamw" else 0.0
        self.spared = []
        self.draw_decay(draw, names)
        self.draw_own(draw)
        self.draw_schedule(draw, updates)
        self.node = {self.kind: self.options} if self.options else self.kind

    def draw_decay(self, draw, names):
        if draw.chance(0.5):
            self.decay = self.options["weight_decay"] = draw.one([0.0, draw.real(1e-3, 0.3)])
        if draw.chance(0.4):
            patterns = ["*.bias", "*", "dense*", "scale*.weight", "d?nse*", "*n*.w*t", names[0], names[-1], "none"]
            self.spared = [draw.one(patterns) for _ in range(draw.whole(1, 2))]
            self.options["no_decay"] = self.spared if len(self.spared) > 1 or draw.chance(0.5) else self.spared[0]

    def draw_own(self, draw):
        own, theirs = self.options, self.torch
        if self.kind == "sgd" and draw.chance(0.6):
            own["momentum"] = theirs["momentum"] = draw.real(0.1, 0.95)
            if draw.chance(0.5):
                own["nesterov"] = theirs["nesterov"] = True
        if self.kind in ("adam", "adamw"):
            betas = [0.9, 0.999]
            for i, most in enumerate((0.95, 0.9999)):
                if draw.chance(0.4):
                    betas[i] = own["beta%d" % (i + 1)] = draw.one([0.0, draw.real(0.3, most), draw.real(0.3, most)])
            theirs["betas"] = tuple(betas)
        if self.kind == "rmsprop":
            if draw.chance(0.5):
                own["rho"] = theirs["alpha"] = draw.real(0.3, 0.99)
            if draw.chance(0.5):
                own["momentum"] = theirs["momentum"] = draw.real(0.1, 0.95)
        if self.kind != "sgd" and draw.chance(0.5):
            own["epsilon"] = theirs["eps"] = draw.real(1e-8, 1e-2)

    def draw_schedule(self, draw, updates):
        kind = draw.one(["constant", "constant", "cosine", "exponential", "linear", "one_cycle", "step"])
        warmup = draw.whole(1, max(1, updates // 2)) if draw.chance(0.4) else 0
        options = {}
        if kind in ("cosine", "linear", "one_cycle"):
            # OneCycleLR divides by 0 where the rise is just one update, or the whole of the schedule.
            options["steps"] = warmup + draw.whole(5 if kind == "one_cycle" else 1, max(6, updates + 4))
        if kind in ("cosine", "linear") and draw.chance(0.6):
            options["final"] = draw.one([0.0, draw.real(0.01, 1)])
        if kind == "one_cycle":
            for name, low, high in (("rise", 0.23, 0.9), ("div", 1, 50), ("final_div", 1, 1e4)):
                if draw.chance(0.5):
                    options[name] = draw.real(low, high)
        if kind == "exponential":
            options["decay"] = draw.real(0.3, 1)
        if kind in ("exponential", "step") and (kind == "step" or draw.chance(0.5)):
            options["every"] = draw.whole(1, 9)
        if kind == "step" and draw.chance(0.6):
            options["factor"] = draw.real(0.1, 1)
        self.rates = rates_of(kind, options, warmup, updates)
        if warmup:
            options["warmup"] = warmup
        if kind != "constant" or options or draw.chance(0.3):
            self.options["schedule"] = kind_node(kind, options)

    def make(self, weights):
        spared = [w for name, w in weights.items() if any(fnmatch.fnmatchcase(name, p) for p in self.spared)]
        others = [w for w in weights.values() if not any(w is s for s in spared)]
        groups = [{"params": others, "weight_decay": self.decay}, {"params": spared, "weight_decay": 0.0}]
        make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
                "rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad}[self.kind]
        return make([group for group in groups if group["params"]], lr=self.rate, **self.torch)


class Loss:
    """Its kind, the label that it takes, and each row's loss in PyTorch."""

    def __init__(self, draw):
        self.kind = draw.one(["mse", "mae", "huber", "sigmoid_cross_entropy", "sigmoid_cross_entropy", "hinge",
                              "softmax_cross_entropy", "softmax_cross_entropy"])
        self.columns = self.units = draw.whole(2, 3) if draw.chance(0.3) else 1
        self.options = {}
        if self.kind == "softmax_cross_entropy":
            self.columns, self.units = 1, draw.whole(2, 6)
            if draw.chance(0.5):
                self.options["label_smoothing"] = draw.real(0.01, 0.9)
        if self.kind == "huber" and draw.chance(0.7):
            self.options["delta"] = draw.real(0.1, 3)
        self.soft = self.kind == "sigmoid_cross_entropy" and draw.chance(0.3)

    @property
    def whole(self):
        return self.kind in ("hinge", "softmax_cross_entropy")

    def labels(self, draw, count, signal):
        noise = draw.state.normal(size=(count, self.columns))
        if self.kind == "softmax_cross_entropy":
            return (np.floor(3 * (signal + 0.2 * noise)) % self.units).astype(np.int64)
        if self.kind in ("mse", "mae", "huber"):
            return (np.sin(2 * signal) + signal + 0.1 * noise).astype(np.float32)
        if self.soft:
            return (1 / (1 + np.exp(-signal - noise))).astype(np.float32)
        return (signal + 0.3 * noise > 0).astype(np.int64 if self.whole else np.float32)

    def each(self, x, y):
        if self.kind == "softmax_cross_entropy":
            smoothing = self.options.get("label_smoothing", 0.0)
            return F.cross_entropy(x, y[:, 0], reduction="none", label_smoothing=smoothing)
        if self.kind == "mse":
            values = F.mse_loss(x, y, reduction="none")
        elif self.kind == "mae":
            values = F.l1_loss(x, y, reduction="none")
        elif self.kind == "huber":
            values = F.huber_loss(x, y, delta=self.options.get("delta", 1.0), reduction="none")
        elif self.kind == "sigmoid_cross_entropy":
            values = F.binary_cross_entropy_with_logits(x, y, reduction="none")
        else:
            values = torch.clamp(1 - (2 * y - 1) * x, min=0)
        return values.mean(1)


def text_of(value):
    """In CSV, exactly."""
    return np.format_float_positional(value, unique=True, trim="0") if isinstance(value, np.float32) else str(value)


class Case:
    def __init__(self, draw, of_images):
        self.draw = draw
        self.loss_kind = Loss(draw)
        self.weighted = draw.chance(0.4)
        self.label = draw.one(["label", "wanted"])
        self.fields = [("features", (draw.whole(2, 7),)), ("extra", (draw.whole(2, 5),))]
        self.image = self.label_shape = None
        if of_images:
            self.draw_image()
        self.accumulate = draw.whole(2, 4) if draw.chance(0.35) else 1
        self.clip_norm = draw.real(0.01, 2) if draw.chance(0.3) else None
        self.clip_value = draw.real(0.003, 0.5) if draw.chance(0.2) else None
        self.log_every = draw.whole(2, 6) if draw.chance(0.4) else 1
        self.window = draw.chance(0.7) if self.log_every > 1 else draw.chance(0.1)
        self.draw_batches()
        self.draw_rows()
        self.draw_model()
        updates = sum(-(-len(batches) // self.accumulate) for batches in self.passes)
        self.optimizer = Optimizer(draw, list(self.weights), updates)
        self.rates = self.optimizer.rates
        self.metrics, self.metric_nodes = draw_metrics(draw, self.loss_kind)
        self.every = draw.whole(1, 5) if draw.chance(0.4) else None  # steps from one validation to the next
        self.yaml = self.write_yaml()

    def draw_image(self):
        """The features are images, and so may be the labels: one value for each pixel."""
        draw, loss = self.draw, self.loss_kind
        self.image = (draw.one([1, 1, 2, 3, 3, 4, 5]), draw.whole(1, 8), draw.whole(2, 9))
        shape = self.image if draw.chance(0.4) else (int(np.prod(self.image)),)
        self.fields[0] = ("features", shape)
        self.paints = loss.kind != "softmax_cross_entropy" and draw.chance(0.25)
        if self.paints:
            size = self.image[1:]
            loss.columns = loss.units = size[0] * size[1]
            self.label_shape = (1,) + size if draw.chance(0.5) else None

    def draw_batches(self):
        draw = self.draw
        self.batch_size = draw.one([1, 2, 3, 4, 5, 7, 8, 16, 33, 70][:9 if self.image else 10])
        self.count = self.batch_size * draw.whole(3, 7 if self.image else 14) + draw.whole(0, self.batch_size - 1)
        self.epochs = 2 if draw.chance(0.2) else 1
        self.keeps_last = draw.chance(0.75)
        order = np.concatenate([np.arange(self.count)] * self.epochs)
        batches = [order[i:i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        if not self.keeps_last:
            batches = [b for b in batches if len(b) == self.batch_size]
        self.steps = draw.whole(1, len(batches)) if draw.chance(0.2) else None
        self.passes = [batches[:self.steps]] * (2 if draw.chance(0.15) else 1)
        self.passes_rows = [rows for batches in self.passes for rows in batches]

    def draw_rows(self):
        draw, count = self.draw, self.count
        self.rows = {}
        for name, shape in self.fields:
            width = int(np.prod(shape))
            self.rows[name] = (1.2 * draw.state.normal(size=(count, width))).astype(np.float32)
        signal = self.rows["features"][:, :1] * 0.7 - self.rows["features"][:, 1:2] * self.rows["extra"][:, :1] * 0.5
        self.rows[self.label] = self.loss_kind.labels(draw, count, signal.astype(np.float64))
        if self.weighted:
            weight = np.where(draw.state.uniform(size=count) < 0.25, 0, draw.state.uniform(0, 3, count))
            if draw.chance(0.3):
                weight[self.batch_size:2 * self.batch_size] = 0
            self.rows["weight"] = weight.astype(np.float32).reshape(-1, 1)
        columns = [(name, i) for name, values in self.rows.items() for i in range(values.shape[1])]
        lines = [",".join("%s%d" % c for c in columns)]
        for row in range(count):
            lines.append(",".join(text_of(self.rows[name][row, i]) for name, i in columns))
        self.csv = "\n".join(lines) + "\n"

    def draw_model(self):
        draw = self.draw
        is_list = draw.chance(0.3)
        fields = self.fields[:1] if is_list else self.fields
        if self.image:
            fewest = min(len(rows) for rows in self.passes_rows)
            self.graph = ImageGraph(draw, fields, is_list, self.image, fewest)
            self.graph.begin()
        else:
            self.graph = Graph(draw, fields, is_list)
            self.graph.dense(-1)
        for _ in range(draw.whole(0, 4) if is_list else draw.whole(2, 9)):
            self.graph.grow()
        if self.image and self.paints:
            self.graph.paint(self.label_shape is None)
        else:
            self.graph.finish(self.loss_kind.units)
        self.graph.name_layers()
        self.seed = draw.whole(0, 2**40)
        self.loads = draw.chance(0.5)
        self.weights = {name: self.first_values(name, *of) for name, of in self.graph.parameters().items()}
        self.states = {name: self.first_state(name, shape) for name, shape in self.graph.states().items()}

    def first_values(self, name, layer, shape):
        fan_in, pixels = int(np.prod(shape[1:])), int(np.prod(shape[2:]))
        if self.loads:
            spread = 0.8 / np.sqrt(fan_in) if len(shape) > 1 else 0.7
            return (spread * self.draw.state.normal(size=shape)).astype(np.float32)
        if len(shape) > 1:
            fan_out = shape[0] // layer.options.get("groups", 1) * pixels
            values = symmetric(self.seed, name, int(np.prod(shape))) * np.sqrt(6.0 / float(fan_in + fan_out))
            return values.reshape(shape).astype(np.float32)
        return np.full(shape, 1 if name.endswith("weight") else 0, np.float32)

    def first_state(self, name, shape):
        """The means and variances of a batch_norm."""
        is_mean = name.endswith("mean")
        if not self.loads:
            return np.full(shape, 0 if is_mean else 1, np.float32)
        return (self.draw.state.normal(size=shape) if is_mean else
                self.draw.state.uniform(0.3, 3, shape)).astype(np.float32)

    def weight_of(self, rows):
        return self.rows["weight"][rows, 0].astype(np.float64) if self.weighted else np.ones(len(rows))

    def forward(self, values, rows, training, rounding=None):
        """A row's outputs are one vector."""
        return self.graph.forward(values, rows, training, rounding).flatten(1)

    def loss(self, prediction, rows):
        each = self.loss_kind.each(prediction, rows[self.label])
        if not self.weighted:
            return each.mean()
        weight = rows["weight"][:, 0]
        total = weight.sum()
        return (each * weight).sum() / (total if total > 0 else 1)

    def judges_end(self, steps):
        """Whether a validation comes behind all steps, as the last of them or the update behind it had none."""
        return self.every is not None and (steps % self.every != 0 or steps % self.accumulate != 0)

    def write_yaml(self):
        draw, at, fields = self.draw, 0, {}
        for name, values in self.rows.items():
            last = at + values.shape[1] - 1
            fields[name] = {"columns": at if at == last else "%d-%d" % (at, last)}
            if np.issubdtype(values.dtype, np.integer) and draw.chance(0.5):
                fields[name]["type"] = draw.one(["int32", "int64"])
            shape = dict(self.fields).get(name, self.label_shape if name == self.label else None)
            if shape and len(shape) > 1:
                fields[name]["reshape"] = list(shape)
            at = last + 1
        loss = dict(self.loss_kind.options)
        if self.label != "label":
            loss["from"] = self.label
        if self.weighted:
            loss["weight"] = "weight"
        train = {"log_every": self.log_every, "on_nonfinite": draw.one(["off", "off", "warn", "skip", "fail"])}
        if self.window or draw.chance(0.1):
            train["report_over"] = "window" if self.window else "batch"
        for key in ("steps", "clip_norm", "clip_value"):
            if getattr(self, key):
                train[key] = getattr(self, key)
        if self.accumulate > 1:
            train["accumulate"] = self.accumulate
        lines = ["seed: %d" % self.seed, "device: cpu", "threads: %d" % draw.whole(1, 2),
                 "delivery: %s" % draw.one(["auto", "native", "feed", "queue"]), "input:",
                 "  - filename_queue: {files: rows.csv, shuffle: false, epochs: %d}" % self.epochs,
                 "  - csv_reader: {header: true}", "  - decode_csv: {fields: %s}" % flow(fields),
                 "  - batch: " + flow({"batch_size": self.batch_size, "allow_smaller_final_batch": self.keeps_last}),
                 "model:", self.graph.yaml(), "loss: " + flow(kind_node(self.loss_kind.kind, loss))]
        if self.metrics:
            lines.append("metrics: " + flow(self.metric_nodes))
        lines += ["optimizer: " + flow(self.optimizer.node), "train: " + flow(train)]
        if self.every:
            lines.append("validation: " + flow({"files": "rows.csv", "every": self.every}))
        return "\n".join(lines) + "\n"


def draw_case(seed, index, attempt, of_images):
    return Case(Draw([seed, index, attempt]), of_images)
