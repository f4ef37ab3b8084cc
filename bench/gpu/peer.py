"""How a peer's step is spoken to, by steps.py; gpu_step (main.cpp) understands the same.

A worker is started as `PROGRAM NETWORK MODE PRECISION DEVICE FOLDER STEPS LOSSES`. FOLDER has the initial weights and
the batch, as gpu_step wrote them. It trains LOSSES steps and prints one line of JSON with their losses: {"versions":
{..}, "device": .., "losses": [..]}. Then it gets fast, compilation included, and for every line of standard input, a
number of repeats, it times so many times STEPS steps and prints {"microseconds": [..]}, of a step each; ours may add
how many "groups" of steps went in one launch meanwhile. It ends with its input."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
from networks import FEATURES, LEARNING_RATES, PARAMETERS


@dataclass
class Task:
    network: str
    mode: str
    precision: str  # fp32 or tf32
    device: str  # cuda or cpu
    folder: Path
    steps: int
    losses: int

    @property
    def rate(self) -> float:
        return LEARNING_RATES[self.network]

    def parameters(self) -> list[np.ndarray]:
        """Initial values in the order of PARAMETERS."""
        return [self.read(name).reshape(shape) for name, shape in PARAMETERS[self.network].items()]

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and label; the label of lenet is a class a row."""
        features = self.read("features").reshape(-1, FEATURES[self.network])
        label = self.read("label").reshape(-1, 1)
        return features, label[:, 0].astype(np.int64) if self.network == "lenet" else label

    def read(self, name: str) -> np.ndarray:
        return np.fromfile(self.folder / f"{name}.f32", np.float32)


@dataclass
class Job:
    losses: list[float]
    repeat: Callable[[], float]  # times task.steps steps: microseconds of each
    versions: dict[str, str]


def serve(make: Callable[[Task], Job]) -> None:
    network, mode, precision, device, folder, steps, losses = sys.argv[1:]
    job = make(Task(network, mode, precision, device, Path(folder), int(steps), int(losses)))
    job.repeat()
    print(json.dumps({"versions": job.versions, "device": device, "losses": job.losses}), flush=True)
    for line in sys.stdin:
        values = [job.repeat() for _ in range(int(line))]
        print(json.dumps({"microseconds": values}), flush=True)
