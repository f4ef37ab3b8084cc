"""The step benchmark of scripts/gpu-check with contenders that are small scripts."""

from __future__ import annotations

import tempfile
import unittest
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from fakes import FakeMachine, write_program

import floors
import steps
from budget import CUT_SHORT, Deadline, Section
from losses import worst_difference
from worker import Failed, Late, Worker

# Speaks as gpu_step does; {losses} are those of steps on a GPU.
GPU_STEP = """import sys, time
words = sys.argv[1:]
if words[0] == "rates":
    {waits}
    tf32 = '{{"unit": "TFLOP/s", "value": null, "failed": "no way"}}'
    print('{{"fp32": {{"unit": "TFLOP/s", "value": 50.0}}, "tf32": ' + tf32 + "}}")
elif words[0] == "on_host":
    print('{{"us": 9.5}}')
elif words[0] == "candidates":
    print('{{"products": [{{"name": "a product", "candidates": [{{"us": null, "failed": "NOT_SUPPORTED"}}]}}]}}')
elif words[0] == "write":
    print('{{"written": []}}')
else:
    {starts}
    tf32 = "precision=tf32" in words
    if tf32 and not {knows_tf32}:
        sys.exit("gpu_step: --set precision=tf32: unknown key precision; the keys here are seed")
    losses = [1.0, 0.5] if "device=cpu" in words else {losses}
    if tf32 and {changes}:
        losses = [loss * 1.001 for loss in losses]
    told = '{{"versions": {{"millrace": "1"}}, "device": "cuda:0", "recorded": true, "losses": %s}}'
    print(told % losses, flush=True)
    for line in sys.stdin:
        {waits}
        print('{{"groups": 3, "microseconds": ' + str([30.0] * int(line)) + "}}", flush=True)
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


class FloorsTest(unittest.TestCase):
    def test_a_rate_that_was_not_measured_is_the_data_sheets(self) -> None:
        rates = {
            "fp32": {"unit": "TFLOP/s", "value": 50.0},
            "tf32": {"unit": "TFLOP/s", "value": None, "failed": "no way"},
            "node": {"unit": "us", "value": 1.5},
        }
        report = {"sections": [{"name": "rates", "data": {"rates": rates}}]}
        self.assertEqual(floors.measured_rates(report), {**floors.DATA_SHEET, "fp32": 50e12})


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
        self.assertEqual(worker.repeats(2, 30), {"microseconds": [2, 3]})

    def test_says_why_it_cannot_take_part(self) -> None:
        with self.assertRaisesRegex(Failed, "no such device"):
            self.start("raise SystemExit('no such device')").ready(30)
        with self.assertRaises(Late):
            self.start("input()").ready(0.2)


class RaceTest(unittest.TestCase):
    def run_steps(
        self, precision: str = "fp32", seconds: float = 300, data: Any = None, compute_major: int = 9, **answers: object
    ) -> Section:
        run = partial(steps.run_steps, network="mlp", precision=precision)
        return self.run_part(run, seconds, data, compute_major, **answers)

    def run_part(
        self, run: Any, seconds: float = 300, data: Any = None, compute_major: int = 9, **answers: object
    ) -> Section:
        usual = {"losses": [1.0, 0.5], "knows_tf32": True, "changes": True, "waits": "pass", "starts": "pass"}
        answers = {**usual, **answers}
        with tempfile.TemporaryDirectory() as folder:
            write_program(Path(folder) / "gpu_step", GPU_STEP.format(**answers))
            section = Section("part", "Part", data=data or {})
            machine = FakeMachine(folder)
            machine.about["compute_major"] = compute_major
            try:
                list(run(machine, section, Deadline.after(seconds)))
            except TimeoutError as error:
                section.cut(str(error))
            return section

    def prepared(self) -> Any:
        return mock.patch.object(steps, "prepare", return_value=steps.Known([1.0, 0.5]))

    def ours(self, section: Section) -> dict:
        return section.data["race"]["contenders"][0]

    def test_times_ours_where_no_peer_is_installed(self) -> None:
        section = self.run_steps("tf32")
        self.assertEqual(section.wrong, [])
        ours = self.ours(section)
        self.assertEqual((ours["median"], ours["recorded"], ours["groups"]), (30.0, True, 15))
        others = {one["key"]: one.get("failed") for one in section.data["race"]["contenders"]}
        self.assertEqual((others["torch_eager"], others["jax"]), ("torch is not installed", "jax is not installed"))

    def test_a_wrong_loss_has_no_time_and_fails_the_check(self) -> None:
        section = self.run_steps(losses=[1.0, 0.6])
        self.assertNotIn("median", self.ours(section))
        self.assertIn("differ from ours on the CPU by 1.7e-01", section.wrong[0])

    def test_a_peer_that_differs_has_no_time_and_is_wrong_only_if_it_differs_much(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            race = steps.Race(FakeMachine(folder), "lenet", "fp32", folder, steps.SMALL)
        for key, loss in (("near", 0.50004), ("own_way", 0.5001), ("astray", 0.51), ("broken", float("nan"))):
            race.results[key] = {"name": key, "program": "torch_step.py", "losses": [1.0, loss]}
            race.workers[key] = mock.Mock()
        wrong = race.compare([1.0, 0.5])
        self.assertEqual([one.split(":")[1] for one in wrong], [" astray", " broken"])
        self.assertEqual([*race.workers], ["near"])
        told = "its losses differ from ours on the CPU by 2.0e-04, allowed are 1e-04"
        self.assertEqual((race.results["own_way"]["failed"], race.results["own_way"]["late"]), (told, False))

    def test_a_build_without_tf32_says_so(self) -> None:
        section = self.run_steps("tf32", knows_tf32=False)
        self.assertEqual(section.wrong, [])
        self.assertEqual(self.ours(section)["failed"], steps.NOT_AVAILABLE)

    def test_tf32_that_changes_nothing_is_none(self) -> None:
        section = self.run_steps("tf32", changes=False)
        self.assertNotIn("median", self.ours(section))
        self.assertIn("changed no bit", section.wrong[0])

    def test_a_gpu_without_units_for_tf32_may_change_nothing(self) -> None:
        section = self.run_steps("tf32", changes=False, compute_major=7)
        self.assertEqual((section.wrong, self.ours(section)["median"]), ([], 30.0))

    def test_names_what_did_not_fit(self) -> None:
        with self.prepared():
            section = self.run_steps(seconds=0.5)
        self.assertEqual(section.state, CUT_SHORT)
        self.assertIn("no time was left for Millrace", section.why)

    def test_only_those_that_were_late_are_raced_again_and_not_for_ever(self) -> None:
        late = "time.sleep(100 * (words[0] == 'trainer'))"
        with self.prepared(), mock.patch.object(steps, "TIMING_SECONDS", 2):
            section = self.run_steps(seconds=4, starts=late)
        self.assertEqual((section.state, section.wrong), (CUT_SHORT, []))
        self.assertIn("no time was left for Millrace, trainer (0 of 5 rounds)", section.why)
        self.ours(section)["values"] = [12.5]  # is not measured again
        again = self.run_steps(data=section.data)
        self.assertEqual((again.state, self.ours(again)["median"]), ("done", 12.5))
        by_key = {one["key"]: one for one in again.data["race"]["contenders"]}
        self.assertEqual((by_key["ours_trainer"]["median"], by_key["ours_trainer"]["tries"]), (30.0, 2))
        by_key["torch_eager"] |= {"failed": "no time", "late": True, "tries": 2}
        self.assertEqual(self.run_steps(data=again.data).state, "done")

    def test_a_race_without_ours_is_not_done_however_often_ours_was_late(self) -> None:
        data = self.run_steps().data
        self.ours(Section("", "", data=data)).update(failed="no time", late=True, tries=1, rounds=0)
        with self.prepared(), mock.patch.object(steps, "TIMING_SECONDS", 2):
            section = self.run_steps(seconds=4, starts="time.sleep(100)", data=data)
        self.assertEqual((section.state, section.wrong), (CUT_SHORT, []))
        self.assertIn("; Millrace is not measured: it was late in each of 2 commands", section.why)
        section = self.run_steps(data=section.data)
        self.assertEqual((section.state, self.ours(section)["median"], self.ours(section)["tries"]), ("done", 30.0, 3))

    def test_clocks_are_those_of_a_gpu_that_works(self) -> None:
        asked = []
        with mock.patch.object(FakeMachine, "clocks", lambda _: asked.append(1) or "1980 MHz"):
            section = self.run_steps()
        self.assertEqual((section.clocks, len(asked)), ("1980 MHz", 1))
        self.assertEqual(len(self.ours(section)["values"]), 50)
        section.data["race"]["contenders"][1].update(failed="no time", late=True)  # ours was timed
        with mock.patch.object(FakeMachine, "clocks", lambda _: "of a GPU that is idle"):
            again = self.run_steps(data=section.data)
        self.assertEqual((again.clocks, again.data["race"]["clocks"]), ("1980 MHz", "1980 MHz"))
        self.assertEqual(again.data["race"]["contenders"][1]["tries"], 2)

    def test_a_rate_that_failed_is_wrong_with_its_reason(self) -> None:
        section = self.run_part(steps.run_rates)
        self.assertEqual(section.wrong, ["tf32 could not be measured: no way"])
        self.assertEqual(section.data["rates"]["a step of a training of mlp, on the host"]["value"], 9.5)
        section = self.run_part(steps.run_rates, 1, waits="time.sleep(100)")
        self.assertEqual((section.state, section.wrong), (CUT_SHORT, []))

    def test_a_product_that_no_way_leads_to_is_wrong(self) -> None:
        section = self.run_part(steps.run_candidates)
        self.assertEqual(section.wrong, ["no way to a product: NOT_SUPPORTED"])

    def test_ours_that_hangs_is_wrong_and_not_late(self) -> None:
        with self.prepared(), mock.patch.object(steps, "TURN_SECONDS", 0.5):
            section = self.run_steps(seconds=10, waits="time.sleep(100)")
        self.assertIn("Millrace: did not answer within", section.wrong[0])


if __name__ == "__main__":
    unittest.main()
