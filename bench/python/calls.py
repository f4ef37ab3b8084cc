#!/usr/bin/env python3
"""What a call costs that predicts one row: in C, through ctypes, through a module for Python's stable ABI.

Usage: calls.py BUILD     BUILD is a build folder with libmillrace.so. Needs NumPy, a C compiler and Python's headers.

The ways take turns of a few hundred calls; each line is the fastest of the turns, in microseconds a call. The network
is 32 -> 64 -> 1.
"""

from __future__ import annotations

import ctypes
import importlib.util
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable

import numpy as np

HERE = pathlib.Path(__file__).parent
CALLS, TURNS = 200, 300
CONFIG = b"""
input:
  - synthetic: {features: 32, rows: 2000}
  - batch: {batch_size: 20}
model:
  - dense: {units: 64, activation: relu}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
optimizer: adam
"""


def module_in_c(build: pathlib.Path, folder: str):
    """Compiles calls.c against the library of the build."""
    file = pathlib.Path(folder) / "calls_in_c.abi3.so"
    include = sysconfig.get_paths()["include"]
    words = ["cc", "-O2", "-shared", "-fPIC", HERE / "calls.c", "-I", include, "-I", build / "include"]
    subprocess.run([*words, "-L", build, "-lmillrace", f"-Wl,-rpath,{build}", "-o", file], check=True)
    spec = importlib.util.spec_from_file_location("calls_in_c", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_network(library: ctypes.CDLL) -> ctypes.c_void_p:
    trainer, network = ctypes.c_void_p(), ctypes.c_void_p()
    name = b"calls.yaml"
    done = library.millrace_trainer_from_string(
        CONFIG, name, None, ctypes.c_size_t(0), None, ctypes.byref(trainer), None
    )
    assert done == 0 and library.millrace_trainer_run(trainer, None, None, None) == 0
    assert library.millrace_trainer_network(trainer, ctypes.byref(network), None) == 0
    return network


def per_call(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e6


def main() -> None:
    build = pathlib.Path(sys.argv[1]).resolve()
    library = ctypes.CDLL(str(build / "libmillrace.so"))
    network = make_network(library)
    row, outputs = np.zeros((1, 32), np.float32), np.empty((1, 1), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        in_c = module_in_c(build, folder)

        call = library.millrace_network_predict
        call.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] + [ctypes.c_void_p] * 2
        values = (ctypes.c_void_p * 1)()

        def place(array: np.ndarray) -> int:
            return ctypes.addressof(ctypes.c_char.from_buffer(array))

        def by_ctypes() -> None:
            values[0] = place(row)
            call(network.value, values, 1, place(outputs), None)

        def by_c(answer: bool) -> float:
            return in_c.seconds(network.value, row.ctypes.data, outputs.ctypes.data, CALLS, answer) / CALLS * 1e6

        ways = {
            "in C": lambda: by_c(False),
            "in C, with the answer": lambda: by_c(True),
            "stable ABI": lambda: per_call(lambda: in_c.predict(network.value, row, outputs)),
            "ctypes": lambda: per_call(by_ctypes),
        }
        try:
            ways |= ways_of_package(build)
        except ImportError as error:
            print(f"without the package: {error}", file=sys.stderr)
        seen = {name: [] for name in ways}
        for _ in range(TURNS):
            for name, way in ways.items():
                seen[name].append(way())
    base = min(seen["in C"])
    for name, times in seen.items():
        best = min(times)
        print(f"{name:28} {best:6.2f} us  {best - base:+6.2f}")


def ways_of_package(build: pathlib.Path) -> dict[str, Callable[[], float]]:
    sys.path.insert(0, str(HERE.parents[1] / "python"))
    import millrace

    trainer = millrace.Trainer(CONFIG.decode())
    trainer.run()
    network = trainer.network()
    row, outputs = np.zeros((1, 32), np.float32), np.empty((1, 1), np.float32)
    return {
        "Network.outputs(row, out=..)": lambda: per_call(lambda: network.outputs(row, out=outputs)),
        "Network.outputs(row)": lambda: per_call(lambda: network.outputs(row)),
        "Network.predict(row)": lambda: per_call(lambda: network.predict(row)),
    }


if __name__ == "__main__":
    main()
