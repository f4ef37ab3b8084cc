"""examples/recipes/loop.sh: goes on after kill -9 until the training is complete, and gives up where that is of no
use."""

from __future__ import annotations

import signal
import subprocess
import unittest

from training import SECONDS, RecipeTest, Training

KILLS = 5


def start(training: Training, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(["sh", "loop.sh", "--config", "train.yaml", *words], cwd=training.folder,
                            env={**training.environment, "PAUSE": "0.1"}, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


class LoopTest(RecipeTest):
    def test_goes_on_after_kills(self) -> None:
        training = self.training()
        loop = start(training)
        step = 0
        for _ in range(KILLS):
            step = training.wait_for_checkpoint(after=step)
            training.kill(signal.SIGKILL)
        told = loop.communicate(timeout=SECONDS)[0]
        self.assertEqual(loop.returncode, 0, told)
        self.assertEqual(told.count("loop.sh: trainer ended with 137, and goes on in 0.1 s\n"), KILLS, told)
        self.check_complete(training)
        # Once more changes nothing.
        loop = start(training)
        told = loop.communicate(timeout=SECONDS)[0]
        self.assertEqual(loop.returncode, 0, told)
        self.assertIn("the training was complete already", told)
        self.check_complete(training)

    def test_goes_on_when_it_was_terminated(self) -> None:
        training = self.training()
        loop = start(training)
        training.wait_for_checkpoint()
        training.kill(signal.SIGTERM)
        told = loop.communicate(timeout=SECONDS)[0]
        self.assertEqual(loop.returncode, 0, told)
        self.assertEqual(told.count("loop.sh: trainer ended with 143,"), 1, told)
        self.check_complete(training)

    def test_gives_up_when_interrupted(self) -> None:
        training = self.training()
        loop = start(training)
        training.wait_for_checkpoint()
        training.kill(signal.SIGINT)
        told = loop.communicate(timeout=SECONDS)[0]
        self.assertEqual(loop.returncode, 130, told)

    def test_gives_up_where_another_try_would_end_likewise(self) -> None:
        for words, code in ((["--set", "train.stepz=1"], 78), (["--nonsense"], 2)):
            training = Training(self.scratch / f"gives-up-{code}")
            loop = start(training, *words)
            told = loop.communicate(timeout=SECONDS)[0]
            self.assertEqual(loop.returncode, code, told)
            self.assertNotIn("loop.sh:", told)


if __name__ == "__main__":
    unittest.main()
