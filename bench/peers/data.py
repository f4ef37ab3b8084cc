"""The data of the comparison, made once by `trainer generate sum`: one file to decode, with the bits that strtof gives
for it, and the files of the trainings."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np


def generate(trainer: Path, folder: Path, files: int, rows: int) -> None:
    if folder.exists():
        return
    partial = folder.with_name(folder.name + ".partial")
    command = [trainer, "generate", "sum", "--out", partial, "--files", str(files), "--rows", str(rows), "--force"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    partial.rename(folder)


def write_strtof(text: Path, out: Path) -> None:
    strtof = ctypes.CDLL(None).strtof
    strtof.restype = ctypes.c_float
    words = text.read_bytes().replace(b"\n", b",").rstrip(b",").split(b",")
    np.array([strtof(word, None) for word in words], np.float32).tofile(out)


def make_data(trainer: Path, data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    generate(trainer, data / "decode", files=1, rows=4000)
    generate(trainer, data / "training", files=20, rows=300)
    expected = data / "decode" / "strtof.f32"
    if not expected.exists():
        write_strtof(data / "decode" / "examples-00.csv", expected)
    for path in data.rglob("*.csv"):
        path.read_bytes()  # into the page cache
