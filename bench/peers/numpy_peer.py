"""numpy.loadtxt."""

import numpy as np
from protocol import Job, Task, serve, unequal


def decode(task: Task, _: str) -> Job:
    def rows() -> np.ndarray:
        return np.loadtxt(task.file, np.float32, delimiter=",")

    def run() -> int:
        rows()
        return task.file_bytes

    return Job(run, {"numpy": np.__version__}, unequal(task, rows()))


if __name__ == "__main__":
    serve({"decode": decode})
