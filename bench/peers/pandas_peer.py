"""pandas.read_csv with its C engine."""

import numpy as np
import pandas as pd
from protocol import Job, Task, serve, unequal


def frame(path: str, precision: str | None) -> pd.DataFrame:
    return pd.read_csv(path, header=None, dtype=np.float32, engine="c", float_precision=precision)


def rows(path: str) -> np.ndarray:
    return frame(path, None).to_numpy()


def decode(task: Task, variant: str) -> Job:
    precision = None if variant == "default" else variant

    def run() -> int:
        frame(task.file, precision)
        return task.file_bytes

    return Job(run, {"pandas": pd.__version__}, unequal(task, frame(task.file, precision).to_numpy()))


if __name__ == "__main__":
    serve({"decode": decode})
