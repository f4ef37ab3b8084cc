"""The parts of scripts/gpu-check on made-up output of the programs that they run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from fakes import FAILS, ROOT, SKIPS, FakeClock, FakeMachine, write_program, write_tests

import deliveries
import kernels
import machine
import processes
import sanitizers
import suite
import trainings
from budget import CUT_SHORT, FAILED, LEFT_OUT, Budget, Deadline, Section
from processes import LATE, Ran


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

    def test_a_section_is_told_by_many_threads(self) -> None:
        section = Section("host", "Tests")
        names = [f"{number}." for number in range(2000)]

        def tell(first: int) -> None:
            for name in names[first::8]:
                (section.fail if name == "1000." else section.cut)(name)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=tell, args=[first]) for first in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        self.assertEqual((section.state, sorted(section.why.split("; "))), (FAILED, sorted(names)))


class MachineTest(unittest.TestCase):
    def test_only_variables_that_may_change_results_are_told(self) -> None:
        names = ["CUDA_MODULE_LOADING", "HOME", "NVIDIA_REQUIRE_CUDA", "NVIDIA_TF32_OVERRIDE"]
        told = [name for name in names if machine.VARIABLES.match(name)]
        self.assertEqual(told, ["CUDA_MODULE_LOADING", "NVIDIA_TF32_OVERRIDE"])

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

    def test_says_which_libraries_it_found_and_which_not(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "libcublasLt.so.12").touch()
            found = SimpleNamespace(no_gpu="", gpus=["H100, 81559 MiB"], driver="575.57.08", libraries=[folder])
            told = machine.Machine.told(found)
        self.assertEqual(told[:2], ["GPU: H100, 81559 MiB, driver 575.57.08", f"cuBLASLt, cuDNN: {folder}"])
        self.assertEqual(told[2:], ["no cuDNN found; MILLRACE_CUDA_LIBRARIES can name its folder"])
        told = machine.Machine.told(SimpleNamespace(no_gpu="no driver", gpus=[], driver="", libraries=[]))
        self.assertEqual(told[:2], ["no GPU can be used here: no driver", "cuBLASLt, cuDNN: not found"])
        self.assertEqual([line.partition(";")[0] for line in told[2:]], ["no cuBLASLt found", "no cuDNN found"])

    def test_an_interpreter_that_hangs_has_no_packages(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(machine, "ASKED_SECONDS", 0.5):
            python = Path(folder) / "python"
            write_program(python, "import time; time.sleep(100)")
            begin = time.monotonic()
            self.assertEqual(machine.python_with([str(python), "/nowhere/python"], "torch"), "")
            self.assertLess(time.monotonic() - begin, 30)

    def test_a_driver_that_says_nothing_is_no_gpu(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"PATH": folder}):
            self.assertEqual(machine.queried("name", "pstate"), [])
            write_program(Path(folder) / "nvidia-smi", "print('  H100, 580.1 '); print()")
            self.assertEqual(machine.queried("name"), ["H100, 580.1"])
            write_program(Path(folder) / "nvidia-smi", "raise SystemExit('NVIDIA-SMI has failed')")
            self.assertEqual(machine.queried("name"), [])

    def test_a_field_that_the_driver_does_not_know_costs_no_other(self) -> None:
        says = """import sys
fields = sys.argv[1].partition("=")[2].split(",")
if any("event" in field or field == "pstate" for field in fields):
    sys.exit("Field is not a valid field to query.")
print(*fields, sep=", ")
"""
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"PATH": folder}):
            write_program(Path(folder) / "nvidia-smi", says)
            self.assertEqual(
                machine.queried("name", "pstate", "clocks_event_reasons.active"),
                ["name, , clocks_throttle_reasons.active"],
            )

    def test_says_that_a_program_did_not_end(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_program(
                Path(folder) / "parent",
                "import subprocess; print('so far', flush=True); subprocess.run(['sleep', '100'])",
            )
            ran = FakeMachine(folder).run(["parent"], "/", 2)
        self.assertEqual((ran.status, ran.out), (LATE, "so far\n"))
        self.assertIn("did not end", ran.errors)

    def test_gives_back_signals_that_were_to_be_ignored(self) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            machine.give_back_signals()
            with tempfile.TemporaryDirectory() as folder:
                write_program(
                    Path(folder) / "asks", "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
                )
                self.assertEqual(FakeMachine(folder).run(["asks"], "/", 30).out, "False\n")
        finally:
            signal.signal(signal.SIGINT, before)


class ProcessesTest(unittest.TestCase):
    def test_none_outlives_a_check_that_is_killed(self) -> None:
        parent = """import sys
sys.path.insert(0, %r)
import processes
print(processes.start(["sleep", "100"]).pid, flush=True)
processes.run(["sleep", "100"], "/", {"PATH": "/usr/bin:/bin"}, 100)
"""
        path = str(ROOT / "bench/gpu")
        killed = subprocess.Popen([sys.executable, "-B", "-c", parent % path], stdout=subprocess.PIPE, text=True)
        child = int(killed.stdout.readline())
        killed.kill()
        killed.wait()
        killed.stdout.close()
        for _ in range(1000):
            try:
                with open(f"/proc/{child}/stat") as stat:
                    if stat.read().rpartition(")")[2].split()[0] == "Z":
                        return
            except OSError:
                return
            time.sleep(0.01)
        self.fail("it is still there")

    def test_many_that_do_not_go_take_the_time_of_one(self) -> None:
        class Hangs:
            def __init__(self) -> None:
                self.pid = 2**22 + 1  # of nobody

            def wait(self, seconds: float) -> None:
                time.sleep(seconds)
                raise subprocess.TimeoutExpired("hangs", seconds)

        ends = subprocess.Popen(["sleep", "100"], start_new_session=True)
        begin = time.monotonic()
        with mock.patch.object(processes, "PATIENCE", 1):
            self.assertFalse(processes.end(Hangs(), Hangs(), Hangs(), ends))
        self.assertLess(time.monotonic() - begin, 2.5)
        self.assertEqual(ends.returncode, -signal.SIGKILL)


OUT = """[==========] Running 4 tests
[ RUN      ] CudaGemm.Adds
[       OK ] CudaGemm.Adds (3 ms)
[ RUN      ] CudaGemm.Cuts
a.cpp:3: Failure
expected 1, got 2
[  FAILED  ] CudaGemm.Cuts, where GetParam() = 4-byte object (0 ms)
[ RUN      ] CudaGemm.Joins
x.cpp:3: Skipped
needs a GPU: no driver

[  SKIPPED ] CudaGemm.Joins (0 ms)
[ RUN      ] CudaGemm.Dies
"""


class OutcomeTest(unittest.TestCase):
    def test_is_read_from_output_also_of_a_program_that_died(self) -> None:
        outcome = suite.read_outcome(OUT)
        self.assertEqual((outcome.passed, outcome.tests, outcome.running), (1, 3, "CudaGemm.Dies"))
        self.assertEqual(outcome.failed, {"CudaGemm.Cuts": "a.cpp:3: Failure\nexpected 1, got 2"})
        self.assertEqual(outcome.skipped, {"CudaGemm.Joins": "needs a GPU: no driver"})


class SuitesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = FakeMachine(folder.name)
        self.machine.manifest["programs"] = ["core_test"]
        self.section = Section("suites", "Tests")

    def run_suites(self, suites: dict, seconds: float = 60, of_one: float = 30) -> Section:
        write_tests(Path(self.machine.path("core_test")), suites)
        with mock.patch.object(suite, "SECONDS", of_one), mock.patch.object(suite, "SECONDS_A_TEST", 0):
            for _ in suite.run_suites(self.machine, self.section, Deadline.after(seconds)):
                pass
        return self.section

    def test_only_those_of_a_gpu_are_run_each_by_itself(self) -> None:
        found = self.run_suites({"CudaA": {"Is": "", "Was": FAILS}, "Text": {"Is": FAILS}, "All/CudaB": {"Is": FAILS}})
        self.assertEqual(list(found.data["suites"]), ["core_test CudaA"])
        self.assertEqual(found.wrong, ["core_test: CudaA.Was\nexpected 1, got 2"])

    def test_a_crash_spoils_one_suite_and_names_the_test(self) -> None:
        found = self.run_suites({"CudaA": {"Dies": "os.abort()"}, "CudaB": {"Is": ""}})
        self.assertEqual(found.wrong[0].splitlines()[0], "core_test, CudaA.*, in CudaA.Dies: ended with status -6")
        self.assertEqual([one["state"] for one in found.data["suites"].values()], ["crashed", "done"])

    def test_a_suite_of_many_tests_may_take_longer(self) -> None:
        suites = {"CudaA": {f"T{i}": "" for i in range(250)}, "Text": {"Is": ""}}
        write_tests(Path(self.machine.path("core_test")), suites)
        found = suite.device_suites(self.machine, self.section)
        self.assertEqual(found, [suite.Suite("core_test", "CudaA", 250)])
        self.assertGreater(found[0].seconds(self.machine), 600)

    def test_a_program_that_lists_nothing_hides_no_other_and_is_asked_again(self) -> None:
        self.machine.manifest["programs"] = ["input_test", "core_test"]
        write_program(Path(self.machine.path("input_test")), "import sys; sys.exit('libtbb.so.12: cannot open')")
        found = self.run_suites({"CudaA": {"Is": ""}})
        self.assertEqual(found.data["suites"]["core_test CudaA"]["passed"], 1)
        self.assertEqual((found.state, found.wrong), ("failed", []))
        self.assertIn("input_test ended with status 1: libtbb.so.12: cannot open", found.told_wrong()[0])

    def test_what_was_cut_comes_last_and_its_failures_are_kept(self) -> None:
        suites = {"CudaA": {"Was": FAILS, "Waits": "time.sleep(100)"}, "CudaB": {"Is": ""}}
        found = self.run_suites(suites, seconds=4)
        self.assertEqual((found.state, found.wrong), (CUT_SHORT, ["core_test: CudaA.Was\nexpected 1, got 2"]))
        self.assertEqual(found.data["suites"], {})
        self.section = Section("suites", "Tests", data=found.data, wrong=found.wrong)
        self.run_suites({"CudaA": {"Was": FAILS, "Waits": ""}, "CudaB": {"Is": ""}})
        self.assertEqual(list(self.section.data["suites"]), ["core_test CudaB", "core_test CudaA"])
        self.assertEqual(len(self.section.wrong), 1)

    def test_a_hang_takes_its_own_time_and_no_more(self) -> None:
        found = self.run_suites({"CudaA": {"Waits": "time.sleep(100)"}, "CudaB": {"Is": ""}}, of_one=1.5)
        self.assertIn("core_test, CudaA.*, in CudaA.Waits: did not end within", found.wrong[0])
        self.assertEqual([one["state"] for one in found.data["suites"].values()], ["hung", "done"])

    def test_an_error_that_sticks_is_told_of_its_suite(self) -> None:
        sticks = "print('cudaErrorIllegalAddress'); result = 'FAILED'"
        found = self.run_suites({"CudaA": {"One": sticks, "Two": sticks}, "CudaB": {"Is": ""}})
        self.assertEqual(len(found.wrong), 2)
        self.assertEqual(found.data["suites"]["core_test CudaB"]["passed"], 1)

    def test_without_time_the_rest_is_left_for_the_next_command(self) -> None:
        found = self.run_suites({"CudaA": {"Is": ""}, "CudaB": {"Is": FAILS}}, seconds=0)
        self.assertEqual((found.state, found.wrong, found.data["suites"]), (CUT_SHORT, [], {}))
        self.section = Section("suites", "Tests", data={"suites": {"core_test CudaB": "done before"}})
        found = self.run_suites({"CudaA": {"Is": ""}, "CudaB": {"Is": FAILS}})
        self.assertEqual((found.wrong, found.data["suites"]["core_test CudaB"]), ([], "done before"))

    def test_skipped_for_want_of_a_gpu_is_wrong_where_there_is_one(self) -> None:
        self.machine.no_gpu = "no driver"
        self.assertEqual(self.run_suites({"CudaA": {"Is": SKIPS}}).wrong, [])
        self.machine.no_gpu, self.section = "", Section("suites", "Tests")
        self.assertIn("although there is one: CudaA.Is", self.run_suites({"CudaA": {"Is": SKIPS}}).wrong[0])

    def test_one_gpu_is_not_two(self) -> None:
        needs_two = "print('x.h:3: Skipped'); print('needs two GPUs'); result = 'SKIPPED'"
        found = self.run_suites({"CudaDevices": {"Is": needs_two}})
        self.assertEqual(found.wrong, [])
        self.assertEqual(found.data["suites"]["core_test CudaDevices"]["skipped"], {"CudaDevices.Is": "needs two GPUs"})

    def test_no_suite_or_no_test_is_wrong(self) -> None:
        self.assertIn("no suite that begins with Cuda", self.run_suites({"Text": {"Is": ""}}).told_wrong()[0])
        self.section = Section("suites", "Tests")
        self.assertIn("there was no test to run", self.run_suites({"CudaA": {}}).told_wrong()[0])
        self.assertEqual(self.section.data["suites"], {})

    def test_other_tests_see_no_gpu_and_need_none(self) -> None:
        sees = "print(os.environ['CUDA_VISIBLE_DEVICES']); result = 'FAILED'"
        write_tests(
            Path(self.machine.path("core_test")), {"CudaA": {"Is": FAILS}, "Text": {"Sees": sees, "Head": SKIPS}}
        )
        list(suite.run_host_tests(self.machine, self.section, Deadline.after(60)))
        self.assertIn("core_test: Text.Sees\n-1", self.section.wrong)
        self.assertIn("core_test: Text.Head needs a GPU, so its suite's name must begin with Cuda", self.section.wrong)


    def test_other_tests_that_lacked_time_do_not_hang(self) -> None:
        write_tests(Path(self.machine.path("core_test")), {"Text": {"Waits": "time.sleep(100)"}})
        list(suite.run_host_tests(self.machine, self.section, Deadline.after(3)))
        self.assertEqual((self.section.state, self.section.wrong, self.section.data["suites"]), (CUT_SHORT, [], {}))


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

    def test_all_cores_decode(self) -> None:
        trainer = """import json, re
text = open("decode.yaml").read()
epochs, threads = (int(re.search(key + ": ([0-9]+)", text)[1]) for key in ("epochs", "threads"))
print(json.dumps({"event": "done", "rows": 1000 * epochs, "seconds": 1 / threads}))
"""
        with tempfile.TemporaryDirectory() as folder:
            write_program(Path(folder) / "trainer", trainer)
            rate = deliveries.decode_rows_per_s(FakeMachine(folder), folder, 5, Deadline.after(60))
            self.assertEqual(rate, 5 * 1000 * FakeMachine(folder).cores)


MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at relu(float*)+0x70
========= ERROR SUMMARY: 3 errors
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACES = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
SKIPPED = "[ RUN      ] CudaGemm.Adds\n[  SKIPPED ] CudaGemm.Adds (0 ms)\n"
PASSED = "[ RUN      ] CudaGemm.Adds\n[       OK ] CudaGemm.Adds (1 ms)\n"


class SanitizersTest(unittest.TestCase):
    def test_reads_every_tools_summary(self) -> None:
        self.assertEqual(sanitizers.judge(Ran(0, PASSED, ""), CLEAN).state, sanitizers.CLEAN)
        self.assertEqual(sanitizers.judge(Ran(0, PASSED, ""), RACES).tests, 1)
        verdict = sanitizers.judge(Ran(86, PASSED, ""), MEMCHECK)
        self.assertEqual((verdict.state, verdict.errors), (sanitizers.ERRORS, 3))
        self.assertTrue(verdict.excerpt.startswith("Invalid __global__ read"))

    def test_only_a_whole_run_is_clean(self) -> None:
        failed = "[ RUN      ] CudaGemm.Adds\n[  FAILED  ] CudaGemm.Adds (0 ms)\n"
        for ran, log, state in (
            (Ran(0, PASSED, ""), "", sanitizers.UNFINISHED),
            (Ran(LATE, "", "did not end"), "", sanitizers.ENDLESS),
            (Ran(LATE, "", ""), MEMCHECK, sanitizers.ERRORS),
            (Ran(1, failed, ""), CLEAN, sanitizers.FAILED),
            (Ran(0, "", ""), CLEAN, sanitizers.EMPTY),
            (Ran(0, SKIPPED, ""), CLEAN, sanitizers.SKIPPED),
            (Ran(255, PASSED, ""), f"========= Target {sanitizers.NO_CALL}\n", sanitizers.NO_CUDA),
        ):
            self.assertEqual(sanitizers.judge(ran, log).state, state, (ran, log))

    def run_with(
        self, program: str, tool: str = "racecheck", data: dict | None = None, seconds: float = 60, adds: str = ""
    ) -> Section:
        """With a compute-sanitizer that is this program. `adds`: what the test CudaGemm.Adds does."""
        with tempfile.TemporaryDirectory() as folder:
            write_program(Path(folder) / "compute-sanitizer", program)
            suites = {"CudaLaunch": {"ComputesWhatTheCpuComputes": ""}, "CudaGemm": {"Adds": adds}, "Text": {"Is": ""}}
            write_tests(Path(folder) / "core_test", suites)
            section = Section(f"sanitizer/{tool}", tool, data=data or {})
            with mock.patch.object(sanitizers, "find_tool", return_value=f"{folder}/compute-sanitizer"):
                for _ in sanitizers.run_sanitizer(FakeMachine(folder), section, Deadline.after(seconds), tool):
                    pass
            return section

    def test_says_that_it_could_not_attach(self) -> None:
        section = self.run_with("print('========= Error: Device not supported'); raise SystemExit(1)")
        self.assertEqual((section.state, section.wrong), (LEFT_OUT, []))
        for words in ("could not attach", "Device not supported", "not counted as clean"):
            self.assertIn(words, section.why)

    # Finds races in the suite CudaGemm, and is otherwise clean.
    TOOL = """import subprocess, sys
words = sys.argv[1:]
program = next(i for i, word in enumerate(words) if word.endswith("_test"))
found = 2 if "CudaGemm" in words[-1] else 0
open(words[words.index("--log-file") + 1], "w").write(
    "========= Race reported\\n" * (found > 0) + "========= RACECHECK SUMMARY: %d hazards displayed\\n" % found)
assert words[-1].endswith("-CudaLaunch.VisitsEveryIndexOnce") or "ComputesWhat" in words[-1]
sys.exit(subprocess.run(words[program:]).returncode)
"""

    def test_every_suite_of_a_gpu_is_looked_at(self) -> None:
        section = self.run_with(self.TOOL)
        states = {name: one["state"] for name, one in section.data["suites"].items()}
        self.assertEqual(states, {"core_test CudaLaunch": "clean", "core_test CudaGemm": "errors"})
        self.assertIn("racecheck found 2 errors in core_test CudaGemm\nRace reported", section.wrong[0])

    def test_one_that_lacks_time_comes_last_and_a_hang_is_wrong(self) -> None:
        tool = self.TOOL.replace("2 if", "0 if")
        section = self.run_with(tool, data={"suites": {}}, seconds=4, adds="time.sleep(100)")
        self.assertEqual((section.state, section.wrong, section.data["late"]), (CUT_SHORT, [], ["core_test CudaGemm"]))
        self.assertIn("core_test CudaGemm: did not end: in CudaGemm.Adds: did not end within", section.why)
        self.assertEqual(list(section.data["suites"]), ["core_test CudaLaunch"])
        with mock.patch.object(suite, "SECONDS", 0.3), mock.patch.object(suite, "SECONDS_A_TEST", 0):
            section = self.run_with(tool, data=section.data, adds="time.sleep(100)")
        self.assertIn("core_test CudaGemm hangs under racecheck\nin CudaGemm.Adds", section.wrong[0])

    def test_a_suite_that_crashes_under_a_tool_fails_the_check_and_is_run_again(self) -> None:
        tool = self.TOOL.replace("2 if", "0 if")
        section = self.run_with(tool, adds="os.abort()")
        self.assertEqual((section.state, section.wrong, section.data["late"]), (FAILED, [], ["core_test CudaGemm"]))
        self.assertIn("not counted as clean: core_test CudaGemm: not finished", section.why)
        self.assertEqual(list(section.data["suites"]), ["core_test CudaLaunch"])
        self.assertEqual(self.run_with(tool, data=section.data).state, "done")

    def test_a_suite_that_was_not_begun_is_cut(self) -> None:
        with mock.patch.object(sanitizers, "why_not", return_value=""):
            section = self.run_with(self.TOOL, seconds=0)
        self.assertEqual((section.state, section.wrong, section.data), (CUT_SHORT, [], {"suites": {}}))
        self.assertIn("core_test CudaGemm: no time was left", section.why)

    def test_of_skipped_tests_nothing_is_clean(self) -> None:
        section = self.run_with(self.TOOL.replace("2 if", "0 if"), adds=SKIPS)
        self.assertEqual(section.data["suites"]["core_test CudaGemm"]["state"], sanitizers.SKIPPED)

    def test_goes_on_with_what_was_left(self) -> None:
        section = self.run_with(self.TOOL, data={"suites": {"core_test CudaGemm": {"state": "clean"}}})
        self.assertEqual((section.wrong, len(section.data["suites"])), ([], 2))


NCU = """==PROF== Connected to process 1
"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum","launch__registers_per_thread"
"","","","","ns","register/thread"
"0","fill(float*)","(256, 1, 1)","(1, 1, 1)","900","16"
"1","sm90_gemm","(128, 1, 1)","(32, 1, 1)","5,000","168"
"2","sm90_gemm","(128, 1, 1)","(32, 1, 1)","7000","168"
"3","sm90_gemm","(128, 1, 1)","(32, 1, 1)","n/a","168"
"""


class KernelsTest(unittest.TestCase):
    def test_are_those_of_every_step(self) -> None:
        found = kernels.of_each_step(kernels.read_profile(NCU)[:3], 2)
        shape = {"kernel": "sm90_gemm", "grid": "(32, 1, 1)", "block": "(128, 1, 1)"}
        self.assertEqual(found, [{**shape, "times": 1, "us": 6.0, "registers": 168.0}])

    def test_may_have_no_number(self) -> None:
        self.assertEqual([one.get("us") for one in kernels.read_profile(NCU)], [0.9, 5.0, 7.0, None])

    def run_with(self, program: str, seconds: float = 60) -> Section:
        with tempfile.TemporaryDirectory() as folder:
            write_program(Path(folder) / "ncu", program)
            section = Section("kernels/mlp/tf32", "Kernels")
            with mock.patch.object(kernels, "find_tool", return_value=f"{folder}/ncu"):
                list(kernels.run_kernels(FakeMachine(folder), section, Deadline.after(seconds), "mlp", "tf32"))
            return section

    def test_their_times_are_kept_where_the_rest_takes_too_long(self) -> None:
        text = NCU + "".join(NCU.splitlines(keepends=True)[-2:] * 4)
        program = f"import sys, time; open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write({text!r})\n"
        section = self.run_with(program + "if 'sm__' in ''.join(sys.argv): time.sleep(100)", seconds=4)
        self.assertEqual((section.state, section.data["kernels"][0]["times"]), (CUT_SHORT, 2))
        self.assertIn("did not end within", section.why)

    def test_come_from_ncu(self) -> None:
        text = NCU + "".join(NCU.splitlines(keepends=True)[-2:] * 4)
        section = self.run_with(f"import sys; open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write({text!r})")
        self.assertEqual((section.state, section.data["kernels"][0]["times"]), ("done", 2))

    def test_where_ncu_may_not_look_that_is_told(self) -> None:
        section = self.run_with("print('==ERROR== ERR_NVGPUCTRPERM')")
        self.assertEqual((section.state, section.wrong), (LEFT_OUT, []))
        self.assertIn("ERR_NVGPUCTRPERM", section.why)


if __name__ == "__main__":
    unittest.main()
