"""The step benchmark of scripts/gpu-check with contenders that are small scripts."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from fakes import FakeMachine, write_program

import steps
from budget import CUT_SHORT, Deadline, Section
from losses import worst_difference
from machine import Machine
from worker import Failed, Late, Worker

# Speaks as gpu_step does; {losses} are those of steps on a GPU.
GPU_STEP = """import sys
words = sys.argv[1:]
if words[0] == "rates":
    print('{{"fp32": {{"unit": "TFLOP/s", "value": 50.0}}}}')
elif words[0] == "write":
    print('{{"written": []}}')
else:
    tf32 = "precision=tf32" in words
    if tf32 and not {knows_tf32}:
        sys.exit("gpu_step: --set precision=tf32: unknown key precision; the keys here are seed")
    losses = [1.0, 0.5] if "device=cpu" in words else {losses}
    if tf32 and {changes}:
        losses = [loss * 1.001 for loss in losses]
    told = '{{"versions": {{"millrace": "1"}}, "device": "cuda:0", "recorded": true, "losses": %s}}'
    print(told % losses, flush=True)
    for line in sys.stdin:
        print('{{"microseconds": ' + str([30.0] * int(line)) + "}}", flush=True)
"""


class DifferenceTest(unittest.TestCase):
    def test_is_relative_and_sees_what_is_not_finite(self) -> None:
        self.assertAlmostEqual(worst_difference([1.0, 2.0], [1.0, 1.98]), 0.01)
        self.assertEqual(worst_difference([1e-9], [2e-9], 1e-3), 1e-6)
        for losses in ([1.0, None], [float("nan"), 2.0], [1.0, float("nan")], [1.0, "NaN"], [1.0], []):
            self.assertEqual(worst_difference(losses, [1.0, 2.0]), float("inf"), losses)

    def test_quartiles(self) -> None:
        self.assertEqual(steps.quartiles([5.0]), {"median": 5.0, "lower": 5.0, "upper": 5.0})
        self.assertEqual(steps.quartiles([1.0, 2.0, 3.0, 4.0, 5.0]), {"lower": 2.0, "median": 3.0, "upper": 4.0})


class WorkerTest(unittest.TestCase):
    def start(self, text: str) -> Worker:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = Path(self.folder.name) / "worker"
        write_program(path, text)
        worker = Worker([str(path)], "/", {})
        self.addCleanup(worker.end)
        return worker

    def test_is_asked_for_repeats(self) -> None:
        text = "print('noise')\nprint('{\"losses\": [1]}', flush=True)\n"
        text += "print('{\"microseconds\": [2, 3]}' if input() == '2' else '')"
        worker = self.start(text)
        self.assertEqual(worker.ready(30), {"losses": [1]})
        self.assertEqual(worker.repeats(2, 30), [2, 3])

    def test_says_why_it_cannot_take_part(self) -> None:
        with self.assertRaisesRegex(Failed, "no such device"):
            self.start("raise SystemExit('no such device')").ready(30)
        with self.assertRaises(Late):
            self.start("input()").ready(0.2)


class RaceTest(unittest.TestCase):
    def run_steps(self, seconds: float = 300, **answers: object) -> Section:
        answers = {"losses": [1.0, 0.5], "knows_tf32": True, "changes": True, **answers}
        with tempfile.TemporaryDirectory() as folder:
            write_program(Path(folder) / "gpu_step", GPU_STEP.format(**answers))
            fake = FakeMachine(folder)
            fake.pythons = []  # no peers
            fake.run = lambda *args: Machine.run(fake, *args)
            return steps.run_steps(fake, Section("steps", "Steps"), folder, Deadline.after(seconds))

    def ours(self, section: Section, precision: str) -> dict:
        race = next(race for race in section.data["races"] if race["precision"] == precision)
        return race["contenders"][0]

    def test_times_ours_where_no_peer_is_installed(self) -> None:
        section = self.run_steps()
        self.assertEqual(section.wrong, [])
        self.assertEqual(len(section.data["races"]), 4)
        ours = self.ours(section, "tf32")
        self.assertEqual((ours["median"], ours["recorded"]), (30.0, True))
        others = {one["key"]: one.get("failed") for one in section.data["races"][0]["contenders"]}
        self.assertEqual((others["torch_eager"], others["jax"]), ("torch is not installed", "jax is not installed"))

    def test_a_wrong_loss_has_no_time_and_fails_the_check(self) -> None:
        section = self.run_steps(losses=[1.0, 0.6])
        self.assertNotIn("median", self.ours(section, "fp32"))
        self.assertIn("differ from ours on the CPU by 1.7e-01", section.wrong[0])

    def test_a_build_without_tf32_says_so(self) -> None:
        section = self.run_steps(knows_tf32=False)
        self.assertEqual(section.wrong, [])
        self.assertEqual(self.ours(section, "tf32")["failed"], steps.NOT_AVAILABLE)

    def test_tf32_that_changes_nothing_is_none(self) -> None:
        section = self.run_steps(changes=False)
        self.assertNotIn("median", self.ours(section, "tf32"))
        self.assertIn("changed no bit", section.wrong[0])

    def test_names_what_did_not_fit(self) -> None:
        section = self.run_steps(seconds=5)
        self.assertEqual(section.state, CUT_SHORT)
        self.assertIn("mlp in fp32 did not fit; mlp in tf32 did not fit", section.why)


if __name__ == "__main__":
    unittest.main()
