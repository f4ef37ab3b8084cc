"""polars.read_csv; the driver sets its threads in the environment."""

import numpy as np
import polars as pl
from protocol import FEATURES, Job, Task, serve, unequal

SCHEMA = {f"c{column}": pl.Float32 for column in range(FEATURES + 1)}


def frame(path: str) -> pl.DataFrame:
    return pl.read_csv(path, has_header=False, schema=SCHEMA)


def rows(path: str) -> np.ndarray:
    return frame(path).to_numpy(order="c")


def decode(task: Task, _: str) -> Job:
    def run() -> int:
        frame(task.file)
        return task.file_bytes

    return Job(run, {"polars": pl.__version__}, unequal(task, rows(task.file)))


if __name__ == "__main__":
    serve({"decode": decode})
