#!/usr/bin/env python3
"""Reads CSV files into batches of float32 for a training in PyTorch or JAX: `millrace.Input` beside a DataLoader over
chunks of pandas with 2 workers, and beside tf.data.

Usage: loading.py [--turns N] [--only wide|narrow] [CONTENDER...]

Each contender is a process of its own; they take turns. All read three epochs, shuffle in a window of 4096 rows, give
batches of 256 rows and use 2 threads or processes. A line is the median over the turns, of the rows after the first
batch. Contenders whose libraries are absent are left out. The package finds the library of Millrace as ever
(MILLRACE_LIBRARY).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

HERE = pathlib.Path(__file__).resolve()
BATCH, WINDOW, FILES, EPOCHS = 256, 4096, 8, 3
# Features and rows in all.
SETS = {"wide": (1024, 16_000), "narrow": (20, 400_000)}


def write_files(folder: pathlib.Path, features: int, rows: int) -> None:
    import numpy as np

    random = np.random.default_rng(1)
    for number in range(FILES):
        values = random.normal(size=(rows // FILES, features)).astype(np.float32)
        label = (values.sum(axis=1) > 0).astype(np.float32)
        np.savetxt(folder / f"{number}.csv", np.column_stack([values, label]), fmt="%.7g", delimiter=",")


def by_millrace(files: list[str], features: int) -> Iterable[int]:
    sys.path.insert(0, str(HERE.parents[2] / "python"))
    import millrace

    fields = {"features": {"columns": f"0-{features - 1}"}, "label": {"columns": features}}
    config = {
        "threads": 2,
        "input": [
            {"filename_queue": {"files": files, "epochs": EPOCHS, "shuffle": True}},
            "csv_reader",
            {"decode_csv": {"fields": fields}},
            {
                "shuffle_batch": {
                    "batch_size": BATCH,
                    "min_after_dequeue": WINDOW,
                    "allow_smaller_final_batch": True,
                    "threads": 2,
                }
            },
        ],
    }
    for values, label in millrace.Input(config, fields=["features", "label"]):
        yield len(values)


def chunks_of_pandas(files: list[str], features: int, seed: int) -> Iterable[object]:
    """Batches from a window of rows, as chunks fill it."""
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(seed)
    window = np.empty((0, features + 1), np.float32)
    for file in files * EPOCHS:
        for chunk in pd.read_csv(file, header=None, dtype=np.float32, chunksize=WINDOW):
            window = np.concatenate([window, chunk.to_numpy()])
            window = window[random.permutation(len(window))]
            while len(window) >= WINDOW // 2 + BATCH:
                batch, window = window[:BATCH], window[BATCH:]
                yield batch[:, :features], batch[:, features:]
    for begin in range(0, len(window), BATCH):
        yield window[begin : begin + BATCH, :features], window[begin : begin + BATCH, features:]


def by_torch(files: list[str], features: int) -> Iterable[int]:
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Rows(IterableDataset):
        def __iter__(self) -> Iterable[object]:
            info = get_worker_info()
            for values, label in chunks_of_pandas(files[info.id :: info.num_workers], features, info.id):
                yield torch.from_numpy(values), torch.from_numpy(label)

    for values, label in DataLoader(Rows(), batch_size=None, num_workers=2):
        yield len(values)


def by_tensorflow(files: list[str], features: int) -> Iterable[int]:
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.threading.set_intra_op_parallelism_threads(2)
    defaults = [tf.constant([], tf.float32)] * (features + 1)

    def decode(lines: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        columns = tf.io.decode_csv(lines, defaults)
        return tf.stack(columns[:features], axis=1), columns[features]

    rows = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).repeat(EPOCHS)
    rows = rows.interleave(tf.data.TextLineDataset, cycle_length=2)
    data = rows.shuffle(WINDOW).batch(BATCH).map(decode, num_parallel_calls=2).prefetch(2)
    for values, label in data:
        yield int(values.shape[0])


CONTENDERS: dict[str, Callable[[list[str], int], Iterable[int]]] = {
    "millrace.Input": by_millrace,
    "DataLoader": by_torch,
    "tf.data": by_tensorflow,
}


def work(name: str, folder: str, features: int) -> None:
    files = sorted(str(file) for file in pathlib.Path(folder).glob("*.csv"))
    batches = iter(CONTENDERS[name](files, features))
    first = next(batches)
    begin = time.perf_counter()
    rows = sum(batches)
    print(json.dumps({"rows": rows, "seconds": time.perf_counter() - begin, "all": rows + first}))


def run(name: str, folder: str, features: int, rows: int) -> float | None:
    words = [sys.executable, HERE, "--work", name, folder, str(features)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name}: left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["all"] == EPOCHS * rows, f"{name} gave {told['all']} rows of {EPOCHS * rows}"
    return told["rows"] / told["seconds"]


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("contenders", nargs="*", metavar="CONTENDER", help=", ".join(CONTENDERS))
    given = parser.parse_args()
    for kind, (features, rows) in SETS.items():
        if given.only in (None, kind):
            with tempfile.TemporaryDirectory() as folder:
                write_files(pathlib.Path(folder), features, rows)
                compare(kind, folder, features, rows, given.contenders or list(CONTENDERS), given.turns)


def compare(kind: str, folder: str, features: int, rows: int, names: list[str], turns: int) -> None:
    seen: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(turns):
        for name in list(seen):
            speed = run(name, folder, features, rows)
            if speed is None:
                del seen[name]
            else:
                seen[name].append(speed)
    size = sum(file.stat().st_size for file in pathlib.Path(folder).glob("*.csv"))
    print(f"{kind}: {rows} rows of {features} features, {size / 1e6:.0f} MB")
    ours = statistics.median(seen.get(names[0]) or [float("nan")])
    for name, speeds in seen.items():
        speed = statistics.median(speeds)
        print(f"  {name:16} {speed:10.0f} rows/s  {ours / speed:6.2f}")


if __name__ == "__main__":
    main()
