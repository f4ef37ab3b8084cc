"""The three commands of scripts/gpu-check from their start to their report, on a bundle whose programs are small
scripts, some of which fail in every way that there is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable

from fakes import FAILS, ROOT, SKIPS, write_program, write_tests

from parts import COMMANDS

TRAINER = """import json, os, sys
words = sys.argv[1:]
settings = dict(word.split("=", 1) for word in words if "=" in word)
delivery = {"name": "native", "ms_per_step": {"median": 1, "min": 1, "max": 1}, "bound_ms": 1, "weights": "ab" * 32}
median = lambda ms: {"ms": {"median": ms, "min": ms, "max": ms}}
if words[0] == "generate":
    print("wrote")
elif words[0] == "compare":
    print(json.dumps({"machine": {"threads": 2, "device": settings["device"]}, "noise": 0.01, "deliveries": [delivery],
                      "speedup_over_feed": {}, "equal_weights": os.environ["FAKE_WEIGHTS"] == "equal"}))
elif words[0] == "speed":
    print(json.dumps({"input": {"rows_per_s": 1e6}, "step": median(0.1), "together": median(0.3), "batch_size": 256}))
elif words[0] == "input":
    print(json.dumps({"event": "done", "rows": 1000, "seconds": 0.001}))
else:
    print(json.dumps({"event": "step", "loss": 0.5}))
    print(json.dumps({"event": "done", "steps": 10, "seconds": 0.1, "weights": "cd" * 32}))
    if "--save" in words:
        open(words[words.index("--save") + 1], "w").close()
"""

GPU_STEP = """import sys
what = sys.argv[1]
if what == "rates":
    print('{"fp32": {"unit": "TFLOP/s", "value": 50.0}}')
elif what == "candidates":
    print('{"products": []}')
elif what == "about":
    print('{"cudnn": 91900}')
elif what == "trainers":
    print('{"device_used": [1, 1], "host_used": [1, 1]}')
elif what == "bad_address":
    sys.exit(print("gpu_step: an illegal memory access was encountered", file=sys.stderr) or 70)
elif what == "on_host":
    print('{"us": 9.5}')
elif what == "write":
    print("{}")
else:
    loss = 0.5001 if "precision=tf32" in sys.argv else 0.5
    print('{"versions": {"millrace": "9"}, "device": "cuda:0", "recorded": true, "losses": [%s]}' % loss, flush=True)
    for line in sys.stdin:
        print('{"microseconds": [12.5]}', flush=True)
"""

NCU = """import sys
launch = '"1","gemm","(1, 1, 1)","(1, 1, 1)","900"'
print('"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum"', *[launch] * 8, sep=chr(10),
      file=open(sys.argv[sys.argv.index("--log-file") + 1], "w"))
"""

SANITIZER = """import subprocess, sys
words = sys.argv[1:]
open(words[words.index("--log-file") + 1], "w").write("========= ERROR SUMMARY: 0 errors")
program = next(i for i, word in enumerate(words) if word.endswith("_test"))
sys.exit(subprocess.run(words[program:]).returncode)
"""


FIRST = {"ComputesWhatTheCpuComputes": ""}
GOOD = {"CudaLaunch": FIRST, "CudaGemm": {"Adds": ""}, "Text": {"Is": ""}}


class WholeTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bundle, self.out = Path(folder.name) / "bundle", Path(folder.name) / "out"
        self.bundle.mkdir()
        programs = {"trainer": TRAINER, "gpu_step": GPU_STEP, "compute-sanitizer": SANITIZER, "ncu": NCU}
        for name, text in programs.items():
            write_program(self.bundle / name, text)
        write_tests(self.bundle / "core_test", GOOD)
        (self.bundle / "source").symlink_to(ROOT)
        manifest = {"programs": ["core_test", *programs], "glibc": "2.17", "commit": "abc123", "build": "0123"}
        (self.bundle / "manifest.json").write_text(json.dumps(manifest))
        # No interpreter has packages, so that no peer takes part.
        (self.bundle / "sitecustomize.py").write_text(
            "import sys\nsys.path[:] = [path for path in sys.path if '-packages' not in path]\n"
        )

    def start(self, words: tuple[str, ...], weights: str = "equal") -> subprocess.Popen[str]:
        environment = os.environ | {
            "FAKE_WEIGHTS": weights,
            "MILLRACE_REPORT_DIR": str(self.out),
            "PYTHONPATH": str(self.bundle),
            "PATH": f"{self.bundle}:{os.environ['PATH']}",
        }
        script = [sys.executable, "-I", "-S", "-B", str(ROOT / "scripts/gpu-check")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen([*script, *words, "--bundle", str(self.bundle)], cwd="/", env=environment, **pipes)

    def run_check(self, *words: str, weights: str = "equal") -> tuple[int, str]:
        """Exit status, and what is on the screen."""
        process = self.start(words, weights)
        told = process.communicate(timeout=300)[0]
        return process.returncode, told

    def found(self) -> dict[str, Any]:
        return json.loads((self.out / "gpu-report.json").read_text())

    def sections(self) -> dict[str, dict[str, Any]]:
        return {section["name"]: section for section in self.found()["sections"]}

    def wait_for(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def without_gpu(self) -> None:
        write_tests(self.bundle / "core_test", {"CudaLaunch": {"ComputesWhatTheCpuComputes": SKIPS}})

    def test_three_commands_make_one_report(self) -> None:
        for command in COMMANDS:
            status, told = self.run_check(command)
            self.assertEqual((status, self.found()["wrong"]), (0, []), told)
        found, sections = self.found(), self.sections()
        left = {name: section["why"] for name, section in sections.items() if section["state"] != "done"}
        # The fakes say that they are on a GPU, so nothing of theirs is compared.
        self.assertEqual(left, {"host": "not asked for"}, told)
        self.assertEqual((found["result"], found["complete"]), ("everything held", True))
        self.assertEqual(len(found["commands"]), 3)
        self.assertEqual(found["machine"]["about"], {"cudnn": 91900})
        self.assertEqual(sections["sanitizer/racecheck"]["data"]["suites"]["core_test CudaGemm"]["state"], "clean")
        self.assertEqual(sections["kernels/mlp/tf32"]["data"]["kernels"][0]["us"], 0.9)
        page = (self.out / "gpu-report.md").read_text()
        self.assertIn("| training on text over decoding alone | >= 0.8 | 0.853 | met |", page)
        self.assertIn("| core_test CudaGemm | clean | 0 | 1 |", page)

    def test_without_a_gpu_does_the_rest_and_fails(self) -> None:
        self.without_gpu()
        for command in ("tests", "steps"):
            status, told = self.run_check(command)
            self.assertEqual(status, 1, told)
            last = "gpu-check: the first one: no GPU can be used here: no driver was found"
            self.assertEqual(told.splitlines()[-1], last)
        self.assertIn("- skipped 1: needs a GPU: no driver was found", (self.out / "gpu-report.md").read_text())
        self.assertEqual({self.sections()[part.name]["state"] for part in COMMANDS["steps"]}, {"left out"})

    def test_the_report_goes_where_the_option_says(self) -> None:
        folder = self.bundle / "elsewhere"
        status, told = self.run_check("tests", "--only", "trainings", "--report", str(folder))
        self.assertEqual((status, self.out.exists()), (0, False), told)
        self.assertIn(f"gpu-check: writes {folder}/gpu-report.md\n", told)
        self.assertTrue((folder / "gpu-report.json").exists())
        status, told = self.run_check("tests", "--report", "")
        self.assertEqual((status, told.splitlines()[-1]),
                         (2, "gpu-check: error: argument --report: the folder's name is empty"))  # fmt: skip

    def test_help_names_the_parts_of_each_command(self) -> None:
        told = " ".join(self.run_check("--help")[1].split())
        for command, parts in COMMANDS.items():
            self.assertIn(f"of {command}: {', '.join(part.name for part in parts)}", told)

    def test_rehearses_on_the_cpu(self) -> None:
        self.without_gpu()
        for command in ("steps", "hunts"):
            status, told = self.run_check(command, "--rehearse")
            self.assertEqual((status, self.found()["wrong"]), (0, []), told)
        self.assertEqual(self.sections()["race/lenet/tf32"]["data"]["race"]["rounds"], 2)
        self.assertIn("a rehearsal", (self.out / "gpu-report.md").read_text())

    def test_every_failure_is_told_and_stops_no_other(self) -> None:
        sticks = "print('cudaErrorIllegalAddress: an illegal memory access'); result = 'FAILED'"
        lacks = "print('cuBLASLt is needed for device: cuda:0, but libcublasLt.so.13 was not found'); result = 'FAILED'"
        suites = {
            "CudaLaunch": FIRST,
            "CudaCrash": {"Dies": "os.kill(os.getpid(), 11)"},
            "CudaNumber": {"Adds": FAILS},
            "CudaSticky": {"One": sticks, "Two": sticks},
            "CudaLibrary": {"Opens": lacks},
            "CudaAfter": {"Is": ""},
            "CudaHang": {"Waits": "time.sleep(100)"},
        }
        write_tests(self.bundle / "core_test", suites)
        status, told = self.run_check("tests", "--only", "suites", "--minutes", "0.25")
        self.assertEqual(status, 1)
        first = "core_test, CudaCrash.*, in CudaCrash.Dies: ended with status -11"
        self.assertIn(f"WRONG: {first}", told)
        self.assertTrue(told.splitlines()[-1].startswith(f"gpu-check: the first one: {first}"), told)
        self.assertEqual([text.splitlines()[0] for text in self.found()["wrong"]], [
            first,
            "core_test: CudaNumber.Adds",
            "core_test: CudaSticky.One",
            "core_test: CudaSticky.Two",
            "core_test: CudaLibrary.Opens",
        ])  # fmt: skip
        for text in self.found()["wrong"]:
            self.assertIn(f"  WRONG: {text.splitlines()[0]}", told)
        section = self.sections()["suites"]
        self.assertEqual(section["data"]["suites"]["core_test CudaAfter"]["passed"], 1)
        self.assertEqual(section["state"], "cut short")
        self.assertRegex(section["why"], r"core_test CudaHang: .* in CudaHang.Waits: did not end within \d+ s")

    def test_a_program_that_does_not_start_says_why(self) -> None:
        lacks = "import sys; sys.exit('error while loading shared libraries: libtbb.so.12: cannot open')"
        write_program(self.bundle / "core_test", lacks)
        status, told = self.run_check("tests", "--only", "suites")
        self.assertEqual(status, 1)
        self.assertIn("the first kernel failed: error while loading shared libraries: libtbb.so.12", told)
        first, second = self.found()["wrong"]
        self.assertIn("no GPU can be used here: the first kernel failed: error while loading", first)
        self.assertIn("suites: core_test ended with status 1: error while loading shared libraries", second)
        self.assertIn(f"gpu-check: the first one: {first}", told.splitlines()[-1])
        self.assertEqual(self.sections()["suites"]["state"], "failed")

    def test_tells_apart_what_is_missed_and_what_is_wrong(self) -> None:
        status, told = self.run_check("hunts", "--only", "deliveries", weights="different")
        self.assertEqual(status, 1)
        self.assertIn("the deliveries of queue_vs_feed.yaml ended with different weights", self.found()["wrong"])

    def sleeps(self) -> str:
        """A line that tells its process and waits."""
        return f"open({str(self.bundle / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(100)"

    def has_begun(self) -> bool:
        """Whether the process that runs this line has told itself."""
        return (self.bundle / "pid").exists() and (self.bundle / "pid").read_text() != ""

    def is_alive(self) -> bool:
        """Whether that process is."""
        try:
            with open(f"/proc/{(self.bundle / 'pid').read_text()}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def test_one_that_is_stopped_before_its_first_part_says_so(self) -> None:
        write_program(self.bundle / "core_test", f"import os, time; {self.sleeps()}")
        process = self.start(("tests",))
        self.wait_for(self.has_begun)
        process.terminate()
        told = process.communicate(timeout=60)[0]
        self.assertEqual((process.returncode, told), (1, "gpu-check: stopped\n"))
        self.wait_for(lambda: not self.is_alive())
        self.assertFalse(self.out.exists())

    def test_what_a_killed_command_found_is_kept_and_nothing_of_it_runs_on(self) -> None:
        for number in (signal.SIGKILL, signal.SIGTERM):
            shutil.rmtree(self.out, ignore_errors=True)
            (self.bundle / "gpu-report.json").unlink(missing_ok=True)
            (self.bundle / "pid").unlink(missing_ok=True)
            slow = {"CudaLaunch": FIRST, "CudaSlow": {"Waits": self.sleeps()}, "CudaZ": {"Is": ""}}
            write_tests(self.bundle / "core_test", slow)
            process = self.start(("tests", "--minutes", "2"))
            self.wait_for(self.has_begun)
            process.send_signal(number)
            told = process.communicate(timeout=60)[0]
            self.assertNotEqual(process.returncode, 0)
            self.assertEqual("gpu-check: summary" in told, number == signal.SIGTERM)
            self.wait_for(lambda: not self.is_alive())
            section = self.sections()["suites"]
            self.assertEqual(
                (section["state"], list(section["data"]["suites"])), ("cut short", ["core_test CudaLaunch"])
            )

        # The next one goes on: the first suite, which would fail now, is not run again.
        suites = {"CudaLaunch": {**FIRST, "Is": FAILS}, "CudaSlow": {"Waits": ""}, "CudaZ": {"Is": ""}}
        write_tests(self.bundle / "core_test", suites)
        status, told = self.run_check("tests")
        self.assertEqual((status, len(self.sections()["suites"]["data"]["suites"])), (0, 3), told)
        self.assertIn("Tests: kept, it was done before", self.run_check("tests")[1])

    def test_ends_in_its_time_and_names_what_did_not_fit(self) -> None:
        write_program(self.bundle / "trainer", "import time; time.sleep(100)")
        begin = time.monotonic()
        status, told = self.run_check("tests", "--minutes", "0.05")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(self.sections()["trainings"]["state"], "cut short", told)
        self.assertIn("trainer generate did not end in time", self.sections()["trainings"]["why"])


if __name__ == "__main__":
    unittest.main()
