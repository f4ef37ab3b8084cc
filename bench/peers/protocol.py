"""How a peer speaks with the driver, run.py.

A worker is started as `PROGRAM WORK VARIANT DATA THREADS`. It gets everything ready, imports, compilation and a warm-up
included, and prints one line of JSON: {"versions": {..}, "unequal": N or null}. For every line of standard input, a
number of seconds, it then works for so long and prints {"amount": .., "seconds": ..}. It ends with its input.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

FEATURES = 1024
UNITS = 1024
BATCH = 256
POOL = 768  # rows that a batch is drawn from; 512 stay behind
LEARNING_RATE = 0.01
PIXELS = 28  # of LeNet's images, high and wide
IMAGES = 64  # a batch of them
STEPS = 8  # between two looks at the clock
ROWS = 400_000  # of the works `store-..`
COLUMNS = 20


@dataclass
class Task:
    data: Path
    threads: int

    @property
    def file(self) -> str:
        """The file of the work `decode`."""
        return str(self.data / "decode" / "examples-00.csv")

    @property
    def files(self) -> list[str]:
        """The files of the works `training` and `start`."""
        return sorted(str(path) for path in (self.data / "training").glob("*.csv"))

    @property
    def file_bytes(self) -> int:
        return Path(self.file).stat().st_size


@dataclass
class Job:
    """`run` works for a moment and returns how much it did: bytes of text, steps, rows or readings."""

    run: Callable[[], int]
    versions: dict[str, str] = field(default_factory=dict)
    unequal: int | None = None  # numbers with other bits than they should have


def unequal(task: Task, rows: np.ndarray, numbers: str = "decode/strtof.f32") -> int:
    """How many of the rows' numbers have other bits than those of a file."""
    expected = np.fromfile(task.data / numbers, np.uint32).reshape(-1, rows.shape[1])
    rows = np.ascontiguousarray(rows, np.float32)
    if rows.shape != expected.shape:
        raise ValueError(f"got {rows.shape} numbers, expected {expected.shape}")
    return int(np.count_nonzero(rows.view(np.uint32) != expected))


def constant_batch() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    features = random.standard_normal((BATCH, FEATURES), np.float32)
    return features, (features.sum(axis=1, keepdims=True) > 0).astype(np.float32)


def constant_images() -> tuple[np.ndarray, np.ndarray]:
    """Rows of pixels, and classes."""
    random = np.random.default_rng(1)
    pixels = random.standard_normal((IMAGES, PIXELS * PIXELS), np.float32)
    return pixels, (pixels.sum(axis=1) > 0).astype(np.int64)


def window(run: Callable[[], int], seconds: float) -> tuple[int, float]:
    """Works for a quarter of the time first: what lies ready in queues is not counted."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds / 4:
        run()
    begin = time.perf_counter()
    amount = 0
    while (elapsed := time.perf_counter() - begin) < seconds:
        amount += run()
    return amount, elapsed


def serve(works: dict[str, Callable[[Task, str], Job]]) -> None:
    work, variant, data, threads = sys.argv[1:]
    job = works[work](Task(Path(data), int(threads)), variant)
    print(json.dumps({"versions": job.versions, "unequal": job.unequal}), flush=True)
    for line in sys.stdin:
        amount, seconds = window(job.run, float(line))
        print(json.dumps({"amount": amount, "seconds": seconds}), flush=True)
