"""The programs of examples/python, where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

import support

EXAMPLE = support.ROOT / "examples/python"


class ExamplesTest(support.TestCase):
    def run_program(self, name: str) -> list[str]:
        environment = {**os.environ, "PYTHONPATH": str(support.ROOT / "python")}
        done = subprocess.run([sys.executable, name], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_trains_a_model_of_pytorch_and_goes_on(self) -> None:
        if importlib.util.find_spec("torch") is None:
            self.skipTest("there is no PyTorch")
        for file in EXAMPLE.iterdir():
            shutil.copy(file, self.folder)
        self.run_program("make_digits.py")
        whole = self.run_program("train_torch.py")
        self.assertRegex(whole[-1], r"^step 800, epoch 20: accuracy 0.9\d\d of the last 5000 rows$")
        self.assertEqual(len(whole), 8)
        self.assertEqual(self.run_program("train_torch.py"), [])

    def test_the_configuration_is_read(self) -> None:
        import millrace

        for file in EXAMPLE.iterdir():
            shutil.copy(file, self.folder)
        self.run_program("make_digits.py")
        data = millrace.Input("digits.yaml", fields=["features", "label"])
        self.assertEqual(sum(len(label) for _, label in data), 40_000)


if __name__ == "__main__":
    unittest.main()
