#!/usr/bin/python3
"""Trains small random models with the trainer and with PyTorch, and compares losses, metrics, weights and states.

    /usr/bin/python3 tests/golden/compare_random.py --trainer build/cpu/trainer [--cases 300] [--seed 1] [--only CASE]
        [--models all|vectors|images]

Run by hand (Debian's python3-torch 1.13 and python3-sklearn 1.2). A case is a graph of layers, a loss, metrics, an
optimizer, a schedule, validations and options of `train`, all drawn from the seed and the case's number; every other
one reads images. random_case.py draws them, random_model.py and random_images.py the layers. The model is written
twice, as YAML and in PyTorch's own words, and PyTorch computes in float64. What float32 may differ by is measured, not
guessed: PyTorch trains again in float32 from weights that differ in their last bit, and a case passes where the trainer
is no further from the float64 training than a few times that. Prints the YAML and the first difference of every case
that fails, and ends with 1 if any did.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

from random_case import draw_case
from random_metrics import Rounding, metric_values

# Float32 trainings that measure the rounding, and those of a second look at a case that failed: a gradient that is 0
# but for rounding makes a whole step of Adam or Adagrad, and not every order of the rows shows it.
NOISES, MORE_NOISES = 4, 60
FACTOR = 8    # how much further than they the trainer may be
FLOOR = 2e-5  # relative: what it may differ in any case
WILD = 1e4    # the loss of a training that is drawn anew
VAGUE = 1e-2  # a case whose tolerance grows beyond this is compared up to there


def write_model(path, weights):
    header, values = {}, b""
    for name, value in weights.items():
        value = value.astype("<f4")
        offsets = [len(values), len(values) + value.nbytes]
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": offsets}
        values += value.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + values)


def read_model(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, values = json.loads(data[8:8 + size]), data[8 + size:]
    out = {}
    for name, entry in header.items():
        if name == "__metadata__" or name.startswith("optimizer/"):
            continue
        begin, end = entry["data_offsets"]
        out[name] = np.frombuffer(values[begin:end], "<f4").reshape(entry["shape"]).astype(np.float64)
    return out


class Training:
    """One training in PyTorch: what every batch's loss and predictions are, and the weights and states at the end."""

    def __init__(self, case, dtype, noise=None):
        self.case, self.dtype, self.noise = case, dtype, noise
        self.weights = {name: self.first(value).requires_grad_() for name, value in case.weights.items()}
        self.states = {name: self.first(value) for name, value in case.states.items()}
        self.losses, self.predictions, self.updates, self.step = [], [], 0, 0
        self.validations = []  # loss and predictions of all rows

    def first(self, value):
        value = value.astype(np.float32).astype(np.float64)
        return torch.tensor(value if self.noise is None else self.rounded(value), dtype=self.dtype)

    def rounded(self, value):
        return value * (1 + self.noise.uniform(-1, 1, value.shape) * 2.0**-23)

    def tensor(self, values):
        whole = np.issubdtype(values.dtype, np.integer)
        return torch.tensor(values if whole else values.astype(np.float64), dtype=torch.int64 if whole else self.dtype)

    def batch(self, rows):
        return {name: self.tensor(values[rows]) for name, values in self.case.rows.items()}

    def shuffled(self, rows):
        return rows if self.noise is None else self.noise.permutation(rows)

    def forward(self, rows, training):
        # PyTorch's sums are more exact than float32 is where they are made in double, as those of batch_norm.
        rounding = None if self.noise is None else lambda g: torch.tensor(self.rounded(g.numpy()), dtype=self.dtype)
        return self.case.forward({**self.weights, **self.states}, self.batch(rows), training, rounding)

    def run(self):
        case = self.case
        optimizer = case.optimizer.make(self.weights)
        for batches in case.passes:
            self.step = 0
            for first in range(0, len(batches), case.accumulate):
                self.update(optimizer, batches[first:first + case.accumulate])
            if case.judges_end(len(batches)):
                self.validate()
        return self

    def update(self, optimizer, batches):
        """Each batch goes forward alone, for the sake of batch_norm; the update is as if they were one."""
        case, outputs, orders = self.case, [], []
        for rows in batches:
            if outputs:
                self.end_step()
            order = self.shuffled(np.arange(len(rows)))
            outputs.append(self.forward(rows[order], True))
            orders.append(rows[order])
            prediction = outputs[-1].detach()[torch.tensor(np.argsort(order))]
            self.losses.append(case.loss(prediction, self.batch(rows)).item())
            self.predictions.append(prediction.numpy().astype(np.float64))
        is_whole = len(batches) == case.accumulate  # else it is made behind the last step
        if not is_whole:
            self.end_step()
        for group in optimizer.param_groups:
            group["lr"] = case.optimizer.rate * case.rates[self.updates]
        optimizer.zero_grad()
        case.loss(torch.cat(outputs), self.batch(np.concatenate(orders))).backward()
        if case.clip_value:
            torch.nn.utils.clip_grad_value_(self.weights.values(), case.clip_value)
        if case.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.weights.values(), case.clip_norm)
        optimizer.step()
        self.updates += 1
        if is_whole:
            self.end_step()

    def end_step(self):
        self.step += 1
        if self.case.every and self.step % self.case.every == 0:
            self.validate()

    def validate(self):
        rows = np.arange(self.case.count)
        with torch.no_grad():
            prediction = self.forward(rows, False)
            loss = self.case.loss(prediction, self.batch(rows)).item() if self.case.weight_of(rows).any() else np.nan
        self.validations.append((loss, prediction.numpy().astype(np.float64)))

    def numbers(self):
        return {name: value.detach().numpy().astype(np.float64)
                for name, value in {**self.weights, **self.states}.items()}


def run_trainer(trainer, case, folder):
    """The events of every pass, and the weights; raises RuntimeError with the trainer's message."""
    (folder / "rows.csv").write_text(case.csv)
    (folder / "case.yaml").write_text(case.yaml)
    if case.loads:
        write_model(folder / "begin.safetensors", {**case.weights, **case.states})
    events = []
    for number in range(len(case.passes)):
        command = [trainer, "--config", "case.yaml", "--json", "--quiet",
                   "--set", "save={file: end%d.safetensors, optimizer: true}" % number]
        if number > 0:
            command += ["--set", "load={file: end%d.safetensors, optimizer: true}" % (number - 1)]
        elif case.loads:
            command += ["--set", "load=begin.safetensors"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("the trainer ended with %d: %s" % (done.returncode, done.stderr.strip()))
        events.append([json.loads(line) for line in done.stdout.splitlines()])
    return events, read_model(folder / ("end%d.safetensors" % (len(case.passes) - 1)))


class Difference(Exception):
    pass


def compare(case, exact, events, weights):
    try:
        return Comparison(case, exact, events, weights, NOISES).run()
    except Difference:
        return Comparison(case, exact, events, weights, MORE_NOISES).run()


def near(actual, expected, tolerance):
    return abs(actual - expected) <= tolerance or (np.isnan(actual) and np.isnan(expected))


def draw_tame(seed, index, of_images):
    """A case whose training does not run away, and that training in float64."""
    for attempt in range(100):
        case = draw_case(seed, index, attempt, of_images)
        exact = Training(case, torch.float64).run()
        if np.all(np.abs(exact.losses) < WILD):
            return case, exact
    raise RuntimeError("every training ran away")


class Comparison:
    def __init__(self, case, exact, events, weights, noises):
        self.case, self.exact, self.events, self.weights = case, exact, events, weights
        self.noisy = [Training(case, torch.float32, np.random.RandomState(n)).run() for n in range(noises)]
        self.vague = self.unsure = False
        self.compared = {"losses": 0, "metrics": 0, "weights": 0}
        self.validated = 0

    def tolerance(self, expected, others, floor):
        """Of an array, given what float32 makes of it."""
        apart = max(float(np.max(np.abs(other - expected))) if expected.size else 0.0 for other in others)
        return FLOOR * max(floor, float(np.max(np.abs(expected)))) + FACTOR * apart

    def run(self):
        first = 0
        for number_of, (batches, events) in enumerate(zip(self.case.passes, self.events)):
            self.compare_pass(number_of, events, first, len(batches))
            self.compare_validations(number_of, events, len(batches))
            if self.vague:
                return self
            first += len(batches)
        self.compare_weights()
        return self

    def compare_pass(self, number_of, events, first, count):
        where = "" if number_of == 0 else "pass %d, " % (number_of + 1)
        steps = [event for event in events if event["event"] == "step"]
        done = events[-1]
        if done["event"] != "done" or done["steps"] != count:
            raise Difference("%sthe trainer made %s steps, expected %d" % (where, done.get("steps"), count))
        wanted = [step for step in range(1, count + 1) if step % self.case.log_every == 0]
        if [event["step"] for event in steps] != wanted:
            raise Difference("%sreports of the steps %s, expected %s" % (where, [e["step"] for e in steps], wanted))
        begin = 0
        for event in steps:
            self.compare_report("%sstep %d" % (where, event["step"]), event, first, begin, event["step"])
            begin = event["step"]
            if self.vague:
                return
        begin = begin if begin < count else max(0, count - self.case.log_every)
        self.compare_report("%send" % where, done, first, begin, count)

    def compare_validations(self, number_of, events, count):
        every = self.case.every
        events = [event for event in events if event["event"] == "validation"]
        wanted = [step for step in range(1, count + 1) if step % every == 0] if every else []
        wanted += [count] if self.case.judges_end(count) else []
        if [event["step"] for event in events] != wanted:
            raise Difference("validations behind the steps %s, expected %s" % ([e["step"] for e in events], wanted))
        rows = np.arange(self.case.count)
        for event in events:
            if self.vague:
                return
            losses, predictions = zip(*[t.validations[self.validated] for t in [self.exact] + self.noisy])
            where = "pass %d, validation behind step %d" % (number_of + 1, event["step"])
            self.compare_numbers(where, event, rows, losses, predictions)
            self.validated += 1

    def compare_report(self, where, event, first, begin, end):
        """`end` is the step of the report, counted from 1; `begin` that of the report before."""
        part = range(first + (begin if self.case.window else end - 1), first + end)
        rows = [self.case.passes_rows[i] for i in part]
        weight = [self.case.weight_of(r).sum() for r in rows]

        def mean(training):
            total = sum(weight)
            if total == 0:  # of a batch alone it is 0, as is the gradient
                return np.nan if self.case.window else 0.0
            return sum(w * training.losses[i] for w, i in zip(weight, part)) / total

        trainings = [self.exact] + self.noisy
        predictions = [np.concatenate([t.predictions[i] for i in part]) for t in trainings]
        self.compare_numbers(where, event, np.concatenate(rows), [mean(t) for t in trainings], predictions)

    def compare_numbers(self, where, event, rows, losses, predictions):
        """Of an event over these rows; `losses` and `predictions` are of every training, the exact one's first."""
        expected, others = np.array(losses[0]), [np.array(loss) for loss in losses[1:]]
        tolerance = self.tolerance(expected, others, 1e-2)
        if tolerance > VAGUE * max(1e-2, abs(float(expected))):
            self.vague = True
            return
        if not near(float(event["loss"]), expected, tolerance):
            raise Difference("%s: loss %r, PyTorch has %r, tolerance %.2g" %
                             (where, event["loss"], float(expected), tolerance))
        self.compared["losses"] += 1
        self.compare_metrics(where, event, rows, predictions)

    def compare_metrics(self, where, event, rows, predictions):
        if list(event["metrics"]) != [m.name for m in self.case.metrics]:
            raise Difference("%s: metrics %s, expected %s" % (where, list(event["metrics"]), self.case.metrics))
        rounding = Rounding(predictions, FLOOR, FACTOR)
        for metric in self.case.metrics:
            label, weight = self.case.rows[self.case.label][rows], self.case.weight_of(rows)
            values = [metric_values(metric, p, label, weight) for p in predictions]
            actual, expected = float(event["metrics"][metric.name]), values[0]
            if metric.smooth:
                tolerance = self.tolerance(np.array(expected), [np.array(v) for v in values[1:]], 1e-2)
                right = near(actual, expected, tolerance)
            else:
                right = any(near(actual, v, 1e-7) for v in values)
                if not right and rounding.decides(metric):
                    self.unsure = True
                    continue
            if not right:
                raise Difference("%s: %s is %r, expected %r" % (where, metric.name, actual, float(expected)))
            self.compared["metrics"] += 1

    def compare_weights(self):
        exact, noisy = self.exact.numbers(), [n.numbers() for n in self.noisy]
        if set(exact) != set(self.weights):
            raise Difference("the model has %s, expected %s" % (sorted(self.weights), sorted(exact)))
        for name, expected in exact.items():
            actual = self.weights[name]
            if actual.shape != expected.shape:
                raise Difference("%s is %s, expected %s" % (name, actual.shape, expected.shape))
            tolerance = self.tolerance(expected, [n[name] for n in noisy], 1e-2)
            apart = np.abs(actual - expected)
            if not np.all(apart <= tolerance):
                worst = np.unravel_index(np.argmax(apart), apart.shape)
                raise Difference("at the end %s%s is %r, PyTorch has %r, tolerance %.2g" %
                                 (name, list(worst), actual[worst], expected[worst], tolerance))
            self.compared["weights"] += expected.size


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--trainer", required=True)
    arguments.add_argument("--cases", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", type=int, help="the number of the one case to run")
    arguments.add_argument("--models", choices=["all", "vectors", "images"], default="all", help="what they read")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # PyTorch's of schedulers whose optimizer only stands in for another
    trainer = str(pathlib.Path(given.trainer).resolve())
    failed = vague = unsure = 0
    compared = {"losses": 0, "metrics": 0, "weights": 0}
    numbers = range(given.cases) if given.only is None else [given.only]
    for index in numbers:
        of_images = given.models == "images" or (given.models == "all" and index % 2 == 1)
        case, exact = draw_tame(given.seed, index, of_images)
        with tempfile.TemporaryDirectory() as folder:
            try:
                comparison = compare(case, exact, *run_trainer(trainer, case, pathlib.Path(folder)))
            except (Difference, RuntimeError) as problem:
                failed += 1
                print("case %d of seed %d: %s\n%s" % (index, given.seed, problem, case.yaml), flush=True)
                continue
        vague += comparison.vague
        unsure += comparison.unsure
        for key in compared:
            compared[key] += comparison.compared[key]
    print("%d cases, %d failed; %d losses, %d metrics and %d weights compared" %
          (len(numbers), failed, compared["losses"], compared["metrics"], compared["weights"]))
    print("%d were compared in part, as rounding grew too large; in %d a metric hung on rounding" % (vague, unsure))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
