"""Shuffled batches from CSV files, for peers that leave reading to the program: whole files through a reader of frames,
in a fresh order in every epoch, and rows drawn from a pool."""

from collections.abc import Callable, Iterator

import numpy as np
from protocol import BATCH, FEATURES, POOL

Read = Callable[[str], np.ndarray]


def reader(name: str) -> Read:
    """A function from a path to float32 rows, by pandas or polars."""
    if name == "pandas":
        from pandas_peer import rows
    elif name == "polars":
        from polars_peer import rows
    else:
        raise ValueError(f"unknown reader {name}")
    return rows


def batches(files: list[str], read: Read, seed: int = 1) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features and labels of BATCH rows, endlessly."""
    random = np.random.default_rng(seed)
    pool = np.empty((0, FEATURES + 1), np.float32)
    waiting = pool
    while True:
        for which in random.permutation(len(files)):
            waiting = np.concatenate([waiting, read(files[which])])
            while len(waiting) >= BATCH:
                fresh, waiting = waiting[:BATCH], waiting[BATCH:]
                if len(pool) < POOL:
                    pool = np.concatenate([pool, fresh])
                    continue
                drawn = random.choice(POOL, BATCH, replace=False)
                batch = pool[drawn]
                pool[drawn] = fresh
                yield batch[:, :FEATURES], batch[:, FEATURES:]
