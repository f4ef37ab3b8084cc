"""The hunts of scripts/gpu-check with programs that are small scripts."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from fakes import FAILS, FakeMachine, write_program, write_tests

import hunts
from budget import CUT_SHORT, FAILED, Deadline, Section


class HuntsTest(unittest.TestCase):
    def run_part(
        self, run: Any, gpu_step: str, trainer: str = "", seconds: float = 60, data: Any = None, **machine: Any
    ) -> Section:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("gpu_step", gpu_step), ("trainer", trainer)):
                write_program(Path(folder) / name, "import json, os, sys, time\n" + text)
            section = Section("hunt", "Hunt", data=data or {})
            try:
                list(run(FakeMachine(folder, **machine), section, Deadline.after(seconds)))
            except TimeoutError as error:
                section.cut(str(error))
            return section

    TRAINER = """words, config = sys.argv[1:], os.path.basename(sys.argv[2]) if len(sys.argv) > 2 else ""
if words[0] != "generate":
    assert "train.log_every=1000000" in words, words
    tf32, one_queue = "precision=tf32" in words, os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1"
    {does}
    open(words[words.index("--save") + 1], "w").close()
    print(json.dumps({{"event": "done", "steps": 9, "seconds": 1, "weights": config + str(tf32)}}))
"""
    NEIGHBOUR = "print('{}', flush=True); sys.stdin.read()"

    def dependencies(self, does: str = "pass", neighbour: str = NEIGHBOUR, **more: Any) -> Section:
        ways = {way: hunts.WAYS[way] for way in ("as usual", "32 queues", "one queue", hunts.NEIGHBOUR)}
        trainer = self.TRAINER.format(does=does)
        with mock.patch.object(hunts, "WAYS", ways):
            return self.run_part(hunts.run_dependencies, neighbour, trainer, small=True, **more)

    def test_no_step_of_a_hunted_training_is_looked_at_and_all_libraries_take_part(self) -> None:
        section = self.dependencies()
        self.assertEqual((section.state, section.wrong), ("done", []))
        self.assertEqual({run["weights"] for run in section.data["runs"]},
                         {"mlp.yamlFalse", "mlp.yamlTrue", "lenet.yamlFalse", "lenet.yamlTrue"})  # fmt: skip
        self.assertEqual(len(section.data["runs"]), 16)

    def test_weights_that_differ_are_named(self) -> None:
        section = self.dependencies("config += 'odd' * (one_queue and tf32 and 'lenet' in config)")
        self.assertEqual(
            section.wrong, ["trainings of LeNet in tf32 ended with other weights than most: one queue, 16 threads"]
        )

    def test_a_training_that_fails_is_wrong_and_hides_no_other(self) -> None:
        section = self.dependencies("if one_queue and not tf32: sys.exit('illegal address')")
        self.assertEqual(len(section.wrong), 2)
        self.assertIn("a training of the perceptron in fp32, one queue, 16 threads: training on", section.wrong[0])
        self.assertEqual(len(section.data["runs"]), 16)

    def test_a_neighbour_that_fails_fails_the_check_until_there_is_one(self) -> None:
        section = self.dependencies(neighbour="sys.exit('no memory')")
        self.assertEqual((section.state, section.wrong), (FAILED, []))
        self.assertEqual(section.told_wrong(), ["hunt: there was no busy neighbour: no memory"])
        self.assertEqual((section.data["no_neighbour"], len(section.data["runs"])), ("no memory", 12))
        section = self.dependencies(data=section.data)
        self.assertEqual((section.state, len(section.data["runs"])), ("done", 16))
        self.assertNotIn("no_neighbour", section.data)

    def test_a_training_next_to_a_neighbour_that_ended_is_not_counted(self) -> None:
        file = "os.path.dirname(sys.argv[0]) + '/neighbour'"
        tells = f"print(os.getpid(), file=open({file}, 'w')); "
        ends_it = f"""if tf32 and os.path.exists({file}):
        pid = int(open({file}).read())
        os.kill(pid, 9)
        while " Z " not in open(f"/proc/{{pid}}/stat").read():
            pass"""
        section = self.dependencies(ends_it, tells + self.NEIGHBOUR)
        self.assertEqual((section.state, section.wrong, len(section.data["runs"])), (FAILED, [], 13))
        self.assertEqual(section.data["no_neighbour"], "ended with -9")
        section = self.dependencies(data=section.data)
        self.assertEqual((section.state, len(section.data["runs"])), ("done", 16))

    def test_a_neighbour_that_is_late_is_left_for_the_next_run(self) -> None:
        with mock.patch.object(hunts, "neighbour", side_effect=hunts.Late(30)):
            section = self.dependencies()
        self.assertEqual((section.state, section.wrong, len(section.data["runs"])), (CUT_SHORT, [], 12))
        self.assertEqual(section.data["no_neighbour"], "did not answer within 30 s")

    def test_what_was_seen_when_time_ends_is_told_and_goes_on(self) -> None:
        odd = "config += 'odd' * one_queue; "
        section = self.dependencies(odd + "time.sleep(100 * (one_queue and 'lenet' in config))", seconds=8)
        self.assertEqual((section.state, len(section.data["runs"])), (CUT_SHORT, 10))
        self.assertEqual(len(section.wrong), 2)
        self.assertIn("in fp32 ended with other weights than most: one queue, 16 threads", section.wrong[0])
        section = self.dependencies(data=section.data)
        self.assertEqual((section.state, len(section.data["runs"]), len(section.wrong)), ("done", 16, 2))

    def test_memory_that_grows_is_a_leak(self) -> None:
        tells = "print(json.dumps({'device_used': [i * %d for i in range(12)], 'host_used': [5] * 12}))"
        self.assertEqual(self.run_part(hunts.run_trainers, tells % 2**20).wrong, [])
        late = self.run_part(hunts.run_trainers, "time.sleep(100)", seconds=1)
        self.assertEqual((late.state, late.wrong), (CUT_SHORT, []))
        self.assertIn("device_used grew by 50 MiB", self.run_part(hunts.run_trainers, tells % (10 * 2**20)).wrong[0])

    def test_a_bad_address_is_told_and_ends_the_program(self) -> None:
        says = "sys.exit(print('gpu_step: cudaErrorIllegalAddress', file=sys.stderr) or 70)"
        section = self.run_part(hunts.run_bad_address, says)
        self.assertEqual((section.wrong, section.data["message"]), ([], "gpu_step: cudaErrorIllegalAddress"))
        self.assertIn("status 0", self.run_part(hunts.run_bad_address, "").wrong[0])

    def test_a_step_that_never_ends_is_wrong(self) -> None:
        program = """print('{"losses": [1]}', flush=True)
for line in sys.stdin:
    if sys.argv[1] == "resident_group":
        sys.exit("stuck")
    print('{"microseconds": [1]}', flush=True)
"""
        section = self.run_part(hunts.run_long, program, small=True)
        self.assertEqual([one["steps"] for one in section.data["modes"].values()], [20, 0, 20])
        self.assertEqual(section.wrong, ["resident_group, after 0 steps: stuck"])

    # Makes the first steps at once, and then waits.
    SLOW = """print('{"losses": [1]}', flush=True)
for i, line in enumerate(sys.stdin):
    time.sleep(100 * (i == 1 and sys.argv[1] == "trainer"))
    print('{"microseconds": [1]}', flush=True)
"""

    def test_steps_that_lack_time_are_not_wrong_and_made_by_the_next_run(self) -> None:
        section = self.run_part(hunts.run_long, self.SLOW, small=True, seconds=4)
        self.assertEqual((section.state, section.wrong), (CUT_SHORT, []))
        self.assertEqual(section.why, "trainer: there was time for 10 of 20 steps")
        section = self.run_part(hunts.run_long, self.SLOW, small=True, data=section.data)
        self.assertEqual([one["steps"] for one in section.data["modes"].values()], [20, 20, 20])
        self.assertEqual(section.state, "done")

    def test_steps_that_take_ever_so_much_longer_hang(self) -> None:
        with mock.patch.object(hunts, "PATIENCE", 2):
            section = self.run_part(hunts.run_long, self.SLOW, small=True)
        self.assertIn("trainer, after 10 steps: the next 10 steps hang: it did not answer within", section.wrong[-1])

    def test_the_first_steps_may_hang_too(self) -> None:
        slow = self.SLOW.replace("i == 1", "i == 0")
        with mock.patch.object(hunts, "PATIENCE", 2):
            section = self.run_part(hunts.run_long, slow, small=True)
        self.assertIn("trainer, after 0 steps: the next 10 steps hang: it did not answer within 2 s", section.wrong[-1])

    def test_a_program_that_never_makes_a_step_hangs(self) -> None:
        starts = "time.sleep(100 * (sys.argv[1] == 'trainer'))\n"
        with mock.patch.object(hunts, "READY_SECONDS", 2):
            section = self.run_part(hunts.run_long, starts + self.SLOW, small=True)
        self.assertIn("trainer, after 0 steps: it hangs before its first step: it did not", section.wrong[-1])
        section = self.run_part(hunts.run_long, starts + self.SLOW, small=True, seconds=4)
        self.assertEqual((section.state, section.wrong), (CUT_SHORT, []))

    def test_failures_of_nvidias_libraries_say_nothing_of_our_text(self) -> None:
        fails = "print('  Which is: ' + %r); result = 'FAILED'"
        cublaslt = "cuBLASLt: create(&handle) at cublaslt.cpp:20 failed: an internal operation failed; version 130100"
        cudnn = "cuDNN: execute(..) at cudnn.cpp:204 failed: CUDNN_STATUS_EXECUTION_FAILED: engine.execute(..)"
        suites = {
            "CudaHead": {"Adds": fails % cublaslt},
            "CudaTraining": {"Learns": fails % cudnn},
            "CudaGroup": {"Waits": fails % "cudaStreamSynchronize(..) at stream.cpp:9 failed: unspecified"},
            "CudaReduce": {"Sums": FAILS},
        }
        first = {"CudaLaunch": {"ComputesWhatTheCpuComputes": ""}}
        crashes = {name: {"Is": "os.abort()"} for name in ("CudaGemm", "Cuda/CudaCudnnPlans", "CudaConvolution")}
        with tempfile.TemporaryDirectory() as folder:
            write_tests(Path(folder) / "core_test", suites)
            section = Section("text", "Text")
            list(hunts.run_text(FakeMachine(folder), section, Deadline.after(60)))
            self.assertIn("there was no test to run", section.wrong[0])
            write_tests(Path(folder) / "core_test", {**first, **suites, **crashes})
            section = Section("text", "Text")
            list(hunts.run_text(FakeMachine(folder), section, Deadline.after(60)))
        pardoned = [text for one in section.data["suites"].values() for text in one["pardoned"]]
        told = [f"core_test: CudaHead.Adds: Which is: {cublaslt}", f"core_test: CudaTraining.Learns: Which is: {cudnn}"]
        self.assertEqual(sorted(pardoned), told)
        wrong = sorted(text.splitlines()[0] for text in section.wrong)
        self.assertEqual(wrong, ["core_test: CudaGroup.Waits", "core_test: CudaReduce.Sums"])
        self.assertEqual({*section.data["suites"]}, {f"core_test {name}" for name in {**first, **suites}})

    def test_a_first_kernel_that_fails_keeps_no_suite_from_the_next_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_tests(Path(folder) / "core_test", {"CudaLaunch": {"ComputesWhatTheCpuComputes": FAILS, "Is": ""}})
            section = Section("text", "Text")
            list(hunts.run_text(FakeMachine(folder), section, Deadline.after(60)))
        self.assertIn("the first kernel, its code: core_test: CudaLaunch", section.wrong[0])
        self.assertEqual(section.data["suites"]["core_test CudaLaunch"]["passed"], 1)


if __name__ == "__main__":
    unittest.main()
