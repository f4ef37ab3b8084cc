"""What the tests of scripts/gpu-check have in common: its modules on the path, and a machine that is none."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/gpu"))

from machine import Machine  # noqa: E402

DESCRIBED = {
    "began": "2026-11-23T10:00:00",
    "gpus": ["NVIDIA H100 80GB HBM3, 81559 MiB"],
    "driver_version": "575.57.08",
    "no_gpu": "",
    "about": {"cudnn": 91900},
    "processor": "a processor",
    "cores": 16,
    "system": "Linux",
    "glibc": "2.36",
    "libraries": ["/usr/local/cuda/lib64"],
    "python": "3.11.2",
    "variables": {"NVIDIA_TF32_OVERRIDE": "0"},
}


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeMachine:
    """Runs what stands in its folder."""

    run = Machine.run
    path = Machine.path
    tests = Machine.tests
    clocks = Machine.clocks

    def __init__(self, folder: str, no_gpu: str = "", small: bool = False) -> None:
        self.folder = self.work = folder
        self.source = str(ROOT)
        self.pythons: list[str] = []  # so that no peer and no tool is found in packages
        self.cores = 4
        self.no_gpu = no_gpu
        self.device = "cpu" if no_gpu else "cuda:0"
        self.small = small
        self.emulated = False
        self.environment: dict[str, str] = {}
        self.about = {"compute_major": 9}
        self.manifest = {"programs": ["core_test", "trainer", "gpu_step"]}


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


# Suites as a test program of GoogleTest has them; how each test ends is a line of Python.
TEST_PROGRAM = """import os, sys, time
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
suites = {suites!r}
if "--gtest_list_tests" in sys.argv:
    for suite, tests in suites.items():
        print(suite + ".", *("  " + test for test in tests), sep=chr(10))
    sys.exit()
name = options["--gtest_filter"].split("*")[0].partition(".")
others = name[0] == "-Cuda"
failed = False
for suite, tests in suites.items():
    if suite.startswith("Cuda") if others else suite != name[0]:
        continue
    for test, line in tests.items():
        if name[2] in ("", test):
            full, result = suite + "." + test, "OK"
            print("[ RUN      ] " + full, flush=True)
            exec(line)
            failed = failed or result == "FAILED"
            print("[ %8s ] %s (0 ms)" % (result, full), flush=True)
print("[  PASSED  ] 1 test.")
sys.exit(1 if failed else 0)
"""
FAILS = "print('expected 1, got 2'); result = 'FAILED'"
SKIPS = "print('x.h:35: Skipped'); print('needs a GPU: no driver was found'); result = 'SKIPPED'"


def write_tests(path: Path, suites: dict[str, dict[str, str]]) -> None:
    write_program(path, TEST_PROGRAM.format(suites=suites))
