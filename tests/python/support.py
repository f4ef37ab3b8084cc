"""What the tests of the Python package share. Without NumPy they are skipped."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

sys.path.insert(0, str(ROOT / "python"))
try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

# Points of a square, and whether they lie above its diagonal.
POINTS = np.stack(np.meshgrid(np.arange(20), np.arange(20)), axis=-1).reshape(-1, 2).astype(np.float32) / 20
ABOVE = (POINTS[:, 1] > POINTS[:, 0]).astype(np.float32)

CONFIG = {
    "device": "cpu",
    "seed": 1,
    "threads": 2,
    "input": [{"points": {"epochs": 40}}, {"shuffle_batch": {"batch_size": 20, "min_after_dequeue": 200}}],
    "model": [{"dense": {"units": 8, "activation": "tanh"}}, {"dense": {"units": 1}}],
    "loss": "sigmoid_cross_entropy",
    "metrics": ["accuracy"],
    "optimizer": {"adam": {"learning_rate": 0.01}},
    "train": {"log_every": 100},
}
ROWS = {"points": {"features": POINTS, "label": ABOVE}}

# A table with numbers, a text, a date and gaps, and a configuration for it.
PEOPLE = """age,fare,city,born,label
31,2.5,Rome,1990-01-02,yes
,0.5,Paris,1980-05-06,no
52,7.25,,1970-01-01,yes
18,1.25,Rome,2000-12-31,no
"""
PEOPLE_CONFIG = """
device: cpu
seed: 3
threads: 2
input:
  - filename_queue: {files: people.csv, epochs: 50}
  - csv_reader: {header: true}
  - decode_csv:
      fields:
        numbers: {columns: [age, fare], default: [30, 2]}
        city: {columns: city, type: string, default: ""}
        born: {columns: born, type: date}
        class: {columns: label, type: string}
  - calendar: {field: born, as: born_year, features: [yearday_sin]}
  - vocabulary: {field: city, as: city_code, texts: [Paris, Rome], unknown: code}
  - one_hot: {field: city_code, classes: 3, as: cities}
  - vocabulary: {field: class, as: label, texts: ["no", "yes"]}
  - batch: {batch_size: 2}
model:
  - concat: {from: [numbers, cities, born_year]}
  - dense: {units: 2}
loss: softmax_cross_entropy
optimizer: {adam: {learning_rate: 0.1}}
"""


class TestCase(unittest.TestCase):
    """A test in an empty folder of its own."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="millrace_"))
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(os.chdir, before)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name
