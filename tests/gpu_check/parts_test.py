"""The parts of scripts/gpu-check on made-up output of the programs that they run."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from fakes import FakeClock, FakeMachine, write_program

import deliveries
import machine
import sanitizers
import suite
import trainings
from budget import CUT_SHORT, LEFT_OUT, Budget, Deadline, Section
from machine import Ran
from suite import Job, Result


class BudgetTest(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = FakeClock()
        self.budget = Budget(100, {"a": 1, "b": 1, "c": 2}, self.clock)

    def test_shares_out_what_is_left(self) -> None:
        self.assertEqual(self.budget.begin("a").left(), 25)
        self.clock.now = 5  # 20 s less than it might
        self.assertAlmostEqual(self.budget.begin("b").left(), 95 / 3)
        self.clock.now = 90
        self.assertEqual(self.budget.begin("c").left(), 10)

    def test_gives_a_share_that_is_not_used_to_the_others(self) -> None:
        self.budget.skip("c")
        self.assertEqual(self.budget.begin("a").left(), 50)

    def test_has_nothing_left_when_all_is_taken(self) -> None:
        self.clock.now = 200
        deadline = self.budget.begin("a")
        self.assertEqual(deadline.left(), 0)
        self.assertGreater(deadline.within(60), 0)

    def test_a_section_says_all_that_was_cut(self) -> None:
        section = Section("steps", "Steps")
        section.cut("one")
        section.cut("two")
        self.assertEqual((section.state, section.why), (CUT_SHORT, "one; two"))


class MachineTest(unittest.TestCase):
    def test_finds_libraries_in_every_layout_of_python_packages(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            wanted = [
                "nvidia/cublas/lib/libcublasLt.so.12",
                "nvidia/cu13/lib/libcublasLt.so.13",
                "nvidia/cudnn/lib/libcudnn.so.9",
            ]
            wanted += ["nvidia/cu14/nested/lib/libcudnn.so.9"]
            for name in [*wanted, "nvidia/nccl/lib/libnccl.so.2"]:
                path = Path(folder) / name
                path.parent.mkdir(parents=True)
                path.touch()
            python = Path(folder) / "python"
            write_program(python, f"import sys; print({folder + '/nvidia'!r} if \"'nvidia'\" in sys.argv[2] else '')")
            found = machine.library_folders([str(python)])
            for name in wanted:
                self.assertIn(os.path.dirname(os.path.realpath(os.path.join(folder, name))), found)
            self.assertFalse([one for one in found if "nccl" in one])

    def test_says_that_a_program_did_not_end(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_program(
                Path(folder) / "parent",
                "import subprocess; print('so far', flush=True); subprocess.run(['sleep', '100'])",
            )
            ran = machine.Machine.run(FakeMachine(folder), ["parent"], "/", 2)
        self.assertEqual((ran.status, ran.out), (-1, "so far\n"))
        self.assertIn("did not end", ran.errors)

    def test_gives_back_signals_that_were_to_be_ignored(self) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            machine.give_back_signals()
            with tempfile.TemporaryDirectory() as folder:
                write_program(
                    Path(folder) / "asks", "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
                )
                self.assertEqual(machine.Machine.run(FakeMachine(folder), ["asks"], "/", 30).out, "False\n")
        finally:
            signal.signal(signal.SIGINT, before)


CASES = {
    "testsuites": [
        {
            "testsuite": [
                {"classname": "Text", "name": "Joins", "result": "COMPLETED"},
                {
                    "classname": "Text",
                    "name": "Cuts",
                    "result": "COMPLETED",
                    "failures": [{"failure": "expected 1, got 2"}],
                },
                {
                    "classname": "CudaGemm",
                    "name": "Adds",
                    "result": "SKIPPED",
                    "skipped": [{"message": "x.cpp:3\nneeds a GPU: no driver\n"}],
                },
            ]
        }
    ]
}


class SuiteTest(unittest.TestCase):
    def read(self, ran: Ran, cases: object) -> Result:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(cases) if cases else "")
            file.flush()
            return suite.read_result("core_test", ran, file.name)

    def test_counts_what_googletest_wrote(self) -> None:
        result = self.read(Ran(1, "", ""), CASES)
        self.assertEqual((result.passed, result.failed, result.skipped), (1, 1, Counter({"needs a GPU: no driver": 1})))
        self.assertEqual(result.failures, ["core_test: Text.Cuts\nexpected 1, got 2"])

    def test_takes_reasons_from_the_output_where_the_json_has_none(self) -> None:
        cases = [{"classname": "A", "name": name, "result": "SKIPPED"} for name in "bc"]
        out = "a.cpp:3: Skipped\nneeds a GPU: no driver\na.cpp:9: Skipped\nno root here\n"
        result = self.read(Ran(0, out, ""), {"testsuites": [{"testsuite": cases}]})
        self.assertEqual(result.skipped, Counter({"needs a GPU: no driver": 1, "no root here": 1}))
        result = self.read(Ran(0, "", ""), {"testsuites": [{"testsuite": cases}]})
        self.assertEqual(result.skipped, Counter({"no reason given": 2}))

    def test_a_program_that_dies_has_failed(self) -> None:
        result = self.read(Ran(-11, "", "Segmentation fault"), None)
        self.assertEqual(result.failures, ["core_test ended with status -11\nSegmentation fault"])

    def test_skipped_for_want_of_a_gpu_is_wrong_where_there_is_one(self) -> None:
        jobs = [Job("core_test", "core_test-0", [])]
        results = [self.read(Ran(0, "", ""), {"testsuites": [{"testsuite": [CASES["testsuites"][0]["testsuite"][2]]}]})]
        self.assertEqual(suite.summed(["core_test"], jobs, results, "no driver")[1], [])
        self.assertIn("1 tests were skipped", suite.summed(["core_test"], jobs, results, "")[1][0])

    def test_every_test_is_in_one_job(self) -> None:
        gpu, others = suite.jobs_of(["a_test", "b_test"], 2)
        self.assertEqual([job.options for job in gpu], [["--gtest_filter=Cuda*"]] * 2)
        parts = [(job.program, job.parts["GTEST_SHARD_INDEX"], job.options) for job in others]
        self.assertEqual(len(set(map(str, parts))), 4)
        self.assertTrue(all(options == ["--gtest_filter=-Cuda*"] for _, _, options in parts))

    def test_without_time_nothing_is_run_and_that_is_told(self) -> None:
        result = suite.run_job(FakeMachine("/nowhere"), Job("core_test", "core_test-0", []), "/tmp", Deadline.after(0))
        self.assertTrue(result.cut)
        data, wrong = suite.summed(["core_test"], [Job("core_test", "core_test-0", [])], [result], "")
        self.assertEqual((data["programs"][0]["unfinished"], wrong), (1, []))


class TrainingsTest(unittest.TestCase):
    def run_of(self, device: str, losses: list[float], weights: str) -> dict:
        return {"device": device, "losses": losses, "weights": weights}

    def test_devices_agree_within_a_tolerance(self) -> None:
        runs = [self.run_of("cpu", [1, 0.5], "a"), self.run_of("cuda:0", [1, 0.5001], "b")]
        worst, wrong = trainings.compare(runs)
        self.assertAlmostEqual(worst, 2e-4, 6)
        self.assertEqual(wrong, [])
        runs[1]["losses"][1] = 0.6
        self.assertIn("differ by", trainings.compare(runs)[1][0])
        runs[1]["losses"][1] = float("nan")
        self.assertIn("differ by", trainings.compare(runs)[1][0])

    def test_two_runs_on_a_device_are_the_same(self) -> None:
        runs = [self.run_of("cuda:0", [1], "a"), self.run_of("cuda:0", [1], "b")]
        self.assertEqual(trainings.compare(runs)[1], ["two trainings on cuda:0 ended with different weights"])


class DeliveriesTest(unittest.TestCase):
    def speed(self, step: float) -> dict:
        ms = {"step": {"ms": {"median": step}}, "together": {"ms": {"median": 1.0}}}
        return {"batch_size": 256, "input": {"rows_per_s": 270_000.0}, **ms}

    def test_the_share_is_of_decoding_alone(self) -> None:
        share = deliveries.text_share(320_000, self.speed(0.1))
        self.assertAlmostEqual(share["share"], 0.8)
        self.assertFalse(share["bound_by_step"])
        self.assertTrue(deliveries.text_share(320_000, self.speed(0.9))["bound_by_step"])


MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at relu(float*)+0x70
========= ERROR SUMMARY: 3 errors
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACES = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
PASSED = "[  PASSED  ] 7 tests.\n"


class SanitizersTest(unittest.TestCase):
    def test_reads_every_tools_summary(self) -> None:
        self.assertEqual(sanitizers.judge(Ran(0, PASSED, ""), CLEAN).state, sanitizers.CLEAN)
        self.assertEqual(sanitizers.judge(Ran(0, PASSED, ""), RACES).tests, 7)
        verdict = sanitizers.judge(Ran(86, PASSED, ""), MEMCHECK)
        self.assertEqual((verdict.state, verdict.errors), (sanitizers.ERRORS, 3))
        self.assertTrue(verdict.excerpt.startswith("Invalid __global__ read"))

    def test_only_a_whole_run_is_clean(self) -> None:
        self.assertEqual(sanitizers.judge(Ran(0, PASSED, ""), "").state, sanitizers.UNFINISHED)
        self.assertEqual(sanitizers.judge(Ran(-1, "", ""), "").state, sanitizers.UNFINISHED)
        self.assertEqual(sanitizers.judge(Ran(-1, "", ""), MEMCHECK).state, sanitizers.ERRORS)
        self.assertEqual(sanitizers.judge(Ran(1, "[  FAILED  ] CudaGemm.Adds", ""), CLEAN).state, sanitizers.FAILED)
        ended = sanitizers.judge(Ran(0, PASSED, ""), CLEAN)
        cut = sanitizers.judge(Ran(-1, "", ""), "")
        self.assertEqual(sanitizers.joined([ended, ended])["state"], sanitizers.CLEAN)
        self.assertEqual(sanitizers.joined([ended, cut])["state"], sanitizers.UNFINISHED)
        nothing = sanitizers.judge(Ran(0, "[  PASSED  ] 0 tests.", ""), CLEAN)
        self.assertEqual(sanitizers.joined([nothing])["state"], sanitizers.UNFINISHED)

    def run_with(self, program: str) -> Section:
        """With a compute-sanitizer that is this program."""
        with tempfile.TemporaryDirectory() as folder:
            write_program(Path(folder) / "compute-sanitizer", program)
            found = sanitizers.find_sanitizer
            sanitizers.find_sanitizer = lambda _: f"{folder}/compute-sanitizer"
            fake = FakeMachine(folder)
            fake.run = lambda *args: machine.Machine.run(fake, *args)
            try:
                section = Section("sanitizers", "Sanitizers")
                return sanitizers.run_sanitizers(fake, section, folder, Deadline.after(60))
            finally:
                sanitizers.find_sanitizer = found

    def test_says_that_it_could_not_attach(self) -> None:
        section = self.run_with("print('========= Error: Device not supported'); raise SystemExit(1)")
        self.assertEqual(section.state, LEFT_OUT)
        self.assertIn("could not attach", section.why)
        self.assertIn("Device not supported", section.why)
        self.assertIn("not counted as clean", section.why)
        self.assertEqual(section.wrong, [])

    def test_counts_errors_by_tool(self) -> None:
        program = """import sys
tool, log, tiny = sys.argv[2], sys.argv[6], "TakesNoIndices" in sys.argv[-2]
open(log, "w").write("========= Race reported\\n========= RACECHECK SUMMARY: 2 hazards displayed (2 errors)\\n"
                     if tool == "racecheck" else "========= ERROR SUMMARY: 0 errors\\n")
print("[  PASSED  ] 1 test.")
"""
        section = self.run_with(program)
        states = {tool: one["state"] for tool, one in section.data["tools"].items()}
        self.assertEqual(states, {**dict.fromkeys(sanitizers.TOOLS, "clean"), "racecheck": "errors"})
        self.assertEqual(section.wrong, ["racecheck found 4 errors"])  # of two programs


if __name__ == "__main__":
    unittest.main()
