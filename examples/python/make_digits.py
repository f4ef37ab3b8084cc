"""Writes digits.csv: 2000 rows, each one of ten patterns of 64 pixels, with noise."""

import numpy as np

random = np.random.default_rng(1)
patterns = random.uniform(size=(10, 64))
label = random.integers(0, 10, 2000)
pixels = patterns[label] + random.normal(0, 0.7, (2000, 64))
np.savetxt("digits.csv", np.column_stack([pixels, label]), fmt=["%.3f"] * 64 + ["%d"], delimiter=",")
