"""A training as a recipe of examples/recipes runs it: in a folder with the recipes, with a `trainer` in PATH that the
test can find and kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "examples/recipes"
TRAINER = Path(os.environ.get("MILLRACE_TRAINER", "/nowhere"))
SECONDS = 180  # in which anything happens, also under load

# Writes down its process before it becomes the program.
WRAPPER = """#!/bin/sh
echo $$ >{pid}.new
mv {pid}.new {pid}
exec {trainer} "$@"
"""


def wait_until(happens: Callable[[], Any], what: str, seconds: float = SECONDS, pause: float = 0.01) -> Any:
    """What `happens` returns as soon as that is true."""
    end = time.monotonic() + seconds
    while True:
        result = happens()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds:.0f} s still no {what}")
        time.sleep(pause)


class Training:
    """A copy of the recipes, whose training has a processor at most."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(RECIPES, folder)
        self.folder = folder
        self.config = folder / "train.yaml"
        self.config.write_text(self.config.read_text() + "threads: 1\n")
        self.checkpoints = folder / "checkpoints"
        self.model = folder / "model.safetensors"
        self.pid_file = folder / "trainer.pid"
        programs = folder / "bin"
        programs.mkdir()
        wrapper = programs / "trainer"
        wrapper.write_text(WRAPPER.format(pid=self.pid_file, trainer=TRAINER))
        wrapper.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def pid(self) -> int:
        """The process of the newest program, which may have ended."""
        return int(wait_until(lambda: self.pid_file.exists() and self.pid_file.read_text(), "process"))

    def newest(self) -> int:
        """The step of the newest checkpoint; 0 without one."""
        return max((int(one.stem.rpartition("-")[2]) for one in self.checkpoints.glob("*.safetensors")), default=0)

    def wait_for_checkpoint(self, after: int = 0) -> int:
        return wait_until(lambda: (step := self.newest()) > after and step, f"checkpoint after step {after}")

    def kill(self, signal: int) -> None:
        """The program; an error if it has ended the training, complete or not."""
        assert not self.model.exists(), "the training ended too early"
        os.kill(self.pid(), signal)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]


class RecipeTest(unittest.TestCase):
    """Makes one training that nobody disturbs, which all others must equal."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="millrace-recipe-")
        cls.addClassCleanup(folder.cleanup)
        cls.scratch = Path(folder.name)
        cls.undisturbed = Training(cls.scratch / "undisturbed")
        subprocess.run(["sh", "loop.sh", "--config", "train.yaml", "--quiet"], cwd=cls.undisturbed.folder,
                       env=cls.undisturbed.environment, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)

    def training(self) -> Training:
        return Training(self.scratch / self.id().rpartition(".")[2])

    def check_complete(self, training: Training) -> None:
        """It ended as the one that nobody disturbed, and its log has each line once."""
        self.assertEqual(training.model.read_bytes(), self.undisturbed.model.read_bytes(), "other weights")
        self.assertEqual(reports(training), reports(self.undisturbed))


def reports(training: Training) -> list[tuple[Any, ...]]:
    """What a log says of steps, without times."""
    return [(one["event"], one["step"], one.get("loss"), one.get("metrics")) for one in training.events()
            if one["event"] == "step"]
