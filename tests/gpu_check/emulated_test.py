"""The three commands of scripts/gpu-check on a bundle of real programs, made of a build whose GPU is emulated: they
find each fault that the emulated GPU is told to have, with its first cause, and go on where they were ended."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from fakes import ROOT, write_program

BUILD = Path(os.environ.get("MILLRACE_EMULATED_BUILD", "/nowhere"))
PROGRAMS = ("core_test", "trainer", "gpu_step")

# Stands before a program, and tells the emulated GPU what to do wrong in which of its runs.
WRAPPER = """import os, sys
words, extra = sys.argv[1:], {{}}
{tells}
os.environ.update(extra)
real = {real!r}
os.execv(real, [real, *words])
"""
# Of each suite a test that is quick, and what befalls it.
TESTS = {
    "CudaLaunch": ("ComputesWhatTheCpuComputes", ""),
    "CudaGemm": ("ReadsAlphaWhenItRuns", "wrong@1"),
    "CudaReduce": ("SumsColumns", "sticky@1"),
    "CudaImages": ("*", "crash@1"),
    "CudaConvolution": ("IsLikeItsDefinition", "hang@1"),
    "CudaCheck": ("*", ""),
}
SUITES = f"""tests = {TESTS!r}
if "--gtest_list_tests" in words:
    words.append("--gtest_filter=" + ":".join(suite + "." + test for suite, (test, _) in tests.items()))
for suite, (test, fault) in tests.items():
    if f"--gtest_filter={{suite}}.*" in words:
        words = [f"--gtest_filter={{suite}}.{{test}}"]
        extra = {{"MILLRACE_EMULATED_FAULT": fault}} if fault else {{}}
"""
# The loader finds a library that is none.
BROKEN = "extra = {{'LD_LIBRARY_PATH': {folder!r}}}"
# Late kernels are left out where the driver has one queue.
ONE_QUEUE = """if os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1" and words[0] != "generate":
    extra = {"MILLRACE_EMULATED_FAULT": "wrong@20"}
"""
STEPS = """faults = {"resident_group": "wrong@6", "trainer": "sticky@6", "trainer_alone": "hang@1"}
if words[0] in faults:
    extra = {"MILLRACE_EMULATED_FAULT": faults[words[0]]}
elif words[0] == "on_host":
    extra = {"MILLRACE_EMULATED_FAULT": "crash@20"}
"""
# The commands with short limits, and with less to hunt for.
CHECK = """import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {sources!r})
import check, hunts, steps, suite
suite.SECONDS, suite.SECONDS_A_TEST = 1.5, 0  # 20 times as long on an emulated GPU
steps.HANGS_SECONDS = 30
steps.SMALL = steps.Sizes(steps=2, losses=6, repeats=2, rounds=2, start_seconds=30)
hunts.TRAININGS = {{name: told for name, told in hunts.TRAININGS.items() if "fp32" in name}}
hunts.WAYS = {{name: hunts.WAYS[name] for name in ("as usual", "32 queues", "one queue")}}
sys.exit(check.main({script!r}))
"""


@unittest.skipUnless(all(os.access(BUILD / name, os.X_OK) for name in PROGRAMS), "needs a build with an emulated GPU")
class EmulatedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "build").mkdir()
        for name in (*PROGRAMS, "emulated_gpu"):
            (cls.folder / "build" / name).symlink_to(BUILD / name)
        cls.bundle = cls.folder / "bundle"
        words = [ROOT / "scripts/gpu-check", "--build", cls.folder / "build", "--bundle", cls.bundle]
        subprocess.run([sys.executable, "-B", *words], check=True, stdout=subprocess.DEVNULL)
        garbage = cls.folder / "garbage"
        garbage.mkdir()
        (garbage / "libmillrace_emulated_gpu.so").write_text("no library")
        cls.wrap("core_test", SUITES)
        cls.wrap("trainer", ONE_QUEUE)
        cls.wrap("gpu_step", STEPS)
        tells = BROKEN.format(folder=str(garbage))
        write_program(cls.bundle / "a_test", WRAPPER.format(tells=tells, real=str(cls.bundle / "core_test.real")))
        manifest = json.loads((cls.bundle / "manifest.json").read_text())
        manifest["programs"] = ["a_test", *manifest["programs"]]
        (cls.bundle / "manifest.json").write_text(json.dumps(manifest))

    @classmethod
    def wrap(cls, program: str, tells: str) -> None:
        real = cls.bundle / f"{program}.real"
        (cls.bundle / program).rename(real)
        write_program(cls.bundle / program, WRAPPER.format(tells=tells, real=str(real)))

    def setUp(self) -> None:
        self.out = self.folder / self.id().rpartition(".")[2]
        (self.bundle / "gpu-report.json").unlink(missing_ok=True)

    def start(self, *words: str) -> subprocess.Popen[str]:
        program = CHECK.format(sources=str(self.bundle / "source/bench/gpu"), script=str(self.bundle / "gpu-check"))
        command = [sys.executable, "-c", program, *words, "--rehearse", "--report", str(self.out)]
        return subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run_check(self, *words: str) -> str:
        process = self.start(*words)
        told = process.communicate(timeout=600)[0]
        self.assertEqual(process.returncode, 1, told)
        first = self.found()["wrong"][0].splitlines()[0]
        self.assertTrue(told.splitlines()[-1].startswith(f"gpu-check: the first one: {first}"[:600]), told)
        return told

    def found(self) -> dict[str, Any]:
        return json.loads((self.out / "gpu-report.json").read_text())

    def sections(self) -> dict[str, dict[str, Any]]:
        return {section["name"]: section for section in self.found()["sections"]}

    def test_tests_find_each_fault_and_go_on_after_a_kill(self) -> None:
        process = self.start("tests")
        # With the second one that is wrong, the report has the first one. The command ends by itself if there is none.
        wrong_lines = (line for line in process.stdout if line.startswith("gpu-check: WRONG"))
        self.assertEqual(len(list(itertools.islice(wrong_lines, 2))), 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertGreater(len(self.found_suites()), 0)
        told = self.run_check("tests")
        suites = self.found_suites()
        states = {name.partition(" ")[2]: one["state"] for name, one in suites.items()}
        self.assertEqual(
            states,
            {"CudaLaunch": "done", "CudaGemm": "done", "CudaReduce": "done", "CudaImages": "crashed",
             "CudaConvolution": "hung", "CudaCheck": "done"},
        )  # fmt: skip
        self.assertEqual((suites["core_test CudaLaunch"]["passed"], suites["core_test CudaCheck"]["failed"]), (1, []))
        wrong = "\n".join(self.found()["wrong"])
        for cause in (
            r"core_test: CudaGemm\.ReadsAlphaWhenItRuns\n.*Failure",
            r"core_test: CudaReduce\.SumsColumns\n(.*\n)*.*cudaErrorIllegalAddress",
            r"core_test, CudaImages\.\*, in CudaImages\.\w+: ended with status -6\n(.*\n)*.*a planted crash",
            r"core_test, CudaConvolution\.\*, in CudaConvolution\.\w+: did not end within 30 s",
            r"suites: a_test ended with status 127: .*error while loading shared libraries: .*libmillrace_emulated_gpu",
        ):
            self.assertRegex(wrong, cause)
        self.assertEqual((self.sections()["suites"]["state"], len(self.found()["commands"])), ("failed", 2))
        self.assertEqual(self.sections()["trainings"]["wrong"], [], told)

    def test_a_fault_that_there_is_not_ends_the_program(self) -> None:
        for fault, said in (("wrnog@1", "KIND is wrong,"), ("wrong@0", "N is a number"), ("wrong", "is not KIND@N")):
            extra = {"MILLRACE_EMULATED_GPUS": "1", "MILLRACE_EMULATED_FAULT": fault}
            command = [BUILD / "core_test", "--gtest_filter=CudaLaunch.ComputesWhatTheCpuComputes"]
            ran = subprocess.run(command, cwd=ROOT, env={**os.environ, **extra}, capture_output=True, text=True)
            self.assertLess(ran.returncode, 0, fault)
            self.assertIn(said, ran.stderr)

    def found_suites(self) -> dict[str, Any]:
        return self.sections().get("suites", {}).get("data", {}).get("suites", {})

    def test_steps_find_each_fault(self) -> None:
        parts = [word for part in ("rates", "race/mlp/fp32", "candidates") for word in ("--only", part)]
        told = self.run_check("steps", *parts)
        contenders = {one["key"]: one for one in self.sections()["race/mlp/fp32"]["data"]["race"]["contenders"]}
        self.assertIn("median", contenders["ours"], told)
        for key, cause in (
            ("ours_group", "its losses differ from ours on the CPU"),
            ("ours_trainer", "cudaErrorIllegalAddress"),
            ("ours_trainer_alone", "did not answer within 30 s"),
        ):
            self.assertIn(cause, contenders[key]["failed"])
        self.assertEqual(len(self.sections()["race/mlp/fp32"]["wrong"]), 3)
        rates = self.sections()["rates"]
        self.assertGreater(rates["data"]["rates"]["node"]["value"], 0)
        self.assertIn("a planted crash", rates["wrong"][0])
        self.assertEqual(self.sections()["candidates"]["wrong"], [])

    def test_hunts_find_a_training_with_other_weights(self) -> None:
        parts = [word for part in ("dependencies", "bad_address") for word in ("--only", part)]
        told = self.run_check("hunts", *parts)
        wrong = self.sections()["dependencies"]["wrong"]
        self.assertEqual(len(self.sections()["dependencies"]["data"]["runs"]), 6)
        self.assertRegex(wrong[0], "perceptron in fp32 ended with other weights than most: one queue, 16 threads", told)


if __name__ == "__main__":
    unittest.main()
