"""scripts/gpu-check --run from its start to its report, on a bundle whose programs are small scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fakes import ROOT, write_program

CORE_TEST = """import json, os, sys
gpu = os.environ["FAKE_GPU"] == "yes"
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
mine = options["--gtest_filter"].startswith("Cuda")
result = "COMPLETED" if gpu or not mine else "SKIPPED"
case = {"classname": "CudaLaunch" if mine else "Text", "name": "A", "result": result}
if "--gtest_output" in options:
    with open(options["--gtest_output"][5:], "w") as out:
        json.dump({"testsuites": [{"testsuite": [case]}]}, out)
print("[  PASSED  ] 1 test." if gpu or not mine else "cuda.h:35: Skipped\\nneeds a GPU: no driver was found")
"""

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
if sys.argv[1] == "rates":
    print('{"fp32": {"unit": "TFLOP/s", "value": 50.0}}')
elif sys.argv[1] == "write":
    print("{}")
else:
    loss = 0.5001 if "precision=tf32" in sys.argv else 0.5
    print('{"versions": {"millrace": "9"}, "device": "cuda:0", "recorded": true, "losses": [%s]}' % loss, flush=True)
    for line in sys.stdin:
        print('{"microseconds": [12.5]}', flush=True)
"""

SANITIZER = """import subprocess, sys
words = sys.argv[1:]
open(words[words.index("--log-file") + 1], "w").write("========= ERROR SUMMARY: 0 errors")
program = next(i for i, word in enumerate(words) if word.endswith("_test"))
sys.exit(subprocess.run(words[program:]).returncode)
"""


class WholeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bundle = Path(self.folder.name)
        programs = {"core_test": CORE_TEST, "layers_test": CORE_TEST, "trainer": TRAINER, "gpu_step": GPU_STEP}
        for name, text in programs.items():
            write_program(self.bundle / name, text)
        write_program(self.bundle / "compute-sanitizer", SANITIZER)
        (self.bundle / "source").symlink_to(ROOT)
        manifest = {"programs": list(programs), "glibc": "2.17", "commit": "abc123"}
        (self.bundle / "manifest.json").write_text(json.dumps(manifest))

    def run_check(self, gpu: bool, weights: str = "equal", options: tuple[str, ...] = ()) -> tuple[int, str, dict]:
        """Exit status, report as Markdown and as JSON."""
        # No interpreter has packages, so that no peer takes part.
        (self.bundle / "sitecustomize.py").write_text(
            "import sys\nsys.path[:] = [path for path in sys.path if '-packages' not in path]\n"
        )
        environment = os.environ | {
            "FAKE_GPU": "yes" if gpu else "no",
            "FAKE_WEIGHTS": weights,
            "PYTHONPATH": str(self.bundle),
            "PATH": f"{self.bundle}:{os.environ['PATH']}",
        }
        report = self.bundle / "out.md"
        script = [sys.executable, "-I", "-S", "-B", str(ROOT / "scripts/gpu-check")]
        words = [*script, "--run", str(self.bundle), "--report", str(report), *options]
        done = subprocess.run(words, cwd=self.bundle, env=environment, capture_output=True, text=True, timeout=300)
        self.assertTrue(report.exists(), done.stdout + done.stderr)
        return done.returncode, report.read_text(), json.loads((self.bundle / "out.json").read_text())

    def test_without_a_gpu_does_the_rest(self) -> None:
        status, page, found = self.run_check(gpu=False)
        self.assertEqual(status, 0, page)
        states = {section["name"]: section["state"] for section in found["sections"]}
        self.assertEqual([name for name in states if states[name] == "left out"], ["deliveries", "steps", "sanitizers"])
        self.assertIn("**everything that was run held, without a GPU**", page)
        self.assertIn("- skipped 2: needs a GPU: no driver was found", page)
        self.assertEqual(self.run_check(gpu=False, options=("--require-gpu", "--only", "training"))[0], 1)

    def test_with_a_gpu_does_everything(self) -> None:
        only = tuple(word for name in ("tests", "training", "deliveries", "sanitizers") for word in ("--only", name))
        status, page, found = self.run_check(gpu=True, options=only)
        self.assertEqual((status, found["wrong"]), (0, []), page)
        self.assertEqual(
            set(found["sections"][4]["data"]["tools"]), {"memcheck", "racecheck", "initcheck", "synccheck"}
        )
        self.assertIn("| racecheck | clean | 0 |", page)
        self.assertIn("| training on text over decoding alone | >= 0.8 | 0.853 | met |", page)

    def test_tells_apart_what_is_missed_and_what_is_wrong(self) -> None:
        status, page, found = self.run_check(gpu=True, weights="different", options=("--only", "deliveries"))
        self.assertEqual(status, 1)
        self.assertIn("the deliveries of queue_vs_feed.yaml ended with different weights", found["wrong"])

    def test_rehearses_on_the_cpu(self) -> None:
        status, page, found = self.run_check(gpu=False, options=("--rehearse",))
        self.assertEqual((status, found["wrong"]), (0, []), page)
        self.assertEqual([race["rounds"] for race in found["sections"][3]["data"]["races"]], [2] * 4)
        self.assertIn("a rehearsal", page)

    def test_ends_in_its_time_and_names_what_did_not_fit(self) -> None:
        write_program(self.bundle / "layers_test", "import time; time.sleep(100)")
        status, page, found = self.run_check(
            gpu=True, options=("--minutes", "0.1", "--only", "tests", "--only", "steps")
        )
        self.assertEqual(status, 1)
        self.assertLess(found["budget"]["taken"], 20)
        self.assertEqual([found["sections"][i]["state"] for i in (0, 3)], ["cut short", "cut short"])
        self.assertIn("lenet in tf32 did not fit", found["sections"][3]["why"])
        self.assertIn("layers_test", page)


if __name__ == "__main__":
    unittest.main()
