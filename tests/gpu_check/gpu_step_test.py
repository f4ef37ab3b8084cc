"""gpu_step, the program whose steps scripts/gpu-check times: it trains as a Trainer does, on the device that is given,
and speaks as its peers do. Where the GPU is emulated its graphs and rates are run, too."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from array import array
from unittest import mock

from fakes import ROOT

from networks import FEATURES, PARAMETERS
from page import UNITS

PROGRAM = os.environ.get("MILLRACE_GPU_STEP", "")
DEVICE = os.environ.get("MILLRACE_GPU_STEP_DEVICE", "cpu")
SMALL = ["input.synthetic.features=24", "model[0].units=16", "input.batch.batch_size=8"]


@unittest.skipUnless(PROGRAM, "MILLRACE_GPU_STEP names no program")
class GpuStepTest(unittest.TestCase):
    def run_step(self, words: list[str], told: str = "") -> list[dict]:
        done = subprocess.run([PROGRAM, *words], input=told, cwd=ROOT, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_trains_as_a_trainer_does(self) -> None:
        config = ["6", "5", "bench/gpu/mlp.yaml", *SMALL]
        resident = self.run_step(["resident", *config, f"device={DEVICE}"], "2\n1\n")
        group = self.run_step(["resident_group", *config, f"device={DEVICE}"], "2\n1\n")
        trainer = self.run_step(["trainer", *config, f"device={DEVICE}"], "2\n1\n")
        alone = self.run_step(["trainer_alone", *config, f"device={DEVICE}"], "2\n1\n")
        cpu = self.run_step(["resident", *config, "device=cpu"])[0]
        for other in (group, trainer, alone):
            self.assertEqual(resident[0]["losses"], other[0]["losses"])
        self.assertEqual(len(resident[0]["losses"]), 5)
        for ours, other in zip(resident[0]["losses"], cpu["losses"]):
            self.assertAlmostEqual(ours, other, delta=1e-4 * other)
        self.assertEqual(resident[0]["device"], DEVICE)
        self.assertEqual(resident[0]["recorded"], DEVICE != "cpu")
        self.assertEqual(sum(answer["groups"] for answer in trainer[1:]) > 0, DEVICE != "cpu")
        self.assertEqual([answer["groups"] for answer in alone[1:]], [0, 0])
        for answers in (resident, group, trainer, alone):
            self.assertEqual([len(answer["microseconds"]) for answer in answers[1:]], [2, 1])
            self.assertTrue(all(value > 0 for answer in answers[1:] for value in answer["microseconds"]))

    def test_writes_what_the_peers_read(self) -> None:
        for network, config in (("mlp", "bench/gpu/mlp.yaml"), ("lenet", "bench/peers/lenet.yaml")):
            with tempfile.TemporaryDirectory() as folder:
                told = self.run_step(["write", folder, config, "device=cpu"])[0]
                shapes = {one["name"]: tuple(one["shape"]) for one in told["written"]}
                self.assertEqual(shapes["features"][1:], (FEATURES[network],))
                self.assertEqual(shapes["label"], (shapes["features"][0], 1))
                expected = {name: shapes[name] for name in shapes if name not in ("features", "label")}
                self.assertEqual(expected, PARAMETERS[network])
                for name, shape in shapes.items():
                    values = array("f")
                    with open(f"{folder}/{name}.f32", "rb") as file:
                        values.frombytes(file.read())
                    self.assertEqual(len(values), self.product(shape), name)

    @staticmethod
    def product(shape: tuple[int, ...]) -> int:
        out = 1
        for axis in shape:
            out *= axis
        return out

    def test_says_what_is_wrong_with_a_setting(self) -> None:
        words = [PROGRAM, "resident", "1", "1", "bench/gpu/mlp.yaml", "precission=tf32"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 70)
        self.assertIn("unknown key precission", done.stderr)

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_measures_what_the_gpu_can_do(self) -> None:
        rates = self.run_step(["rates", "small"])[0]
        self.assertEqual(list(rates), list(UNITS))
        self.assertTrue(all(rate["value"] > 0 for rate in rates.values()), rates)

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_times_the_ways_to_the_products(self) -> None:
        products = self.run_step(["candidates", "small"])[0]["products"]
        self.assertEqual([one["precision"] for one in products], ["tf32", "fp32"] * 2)
        for product in products:
            self.assertEqual([one["taken"] for one in product["candidates"]], [True])  # the other one adds up in place
            self.assertGreater(product["candidates"][0]["us"], 0)

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_times_the_engines_of_the_convolutions(self) -> None:
        convolutions = self.run_step(["candidates", "small"])[0]["convolutions"]
        self.assertEqual(len(convolutions), 5)  # the first has no gradient of its input
        for one in convolutions:
            # Of the emulation's, one rounds and one is exact.
            taken = [(engine["engine"], engine.get("fp32"), engine.get("tf32")) for engine in one["engines"]]
            self.assertEqual(taken, [(2, None, True), (3, True, None)])

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_a_way_that_fails_is_listed_and_ends_nothing(self) -> None:
        with mock.patch.dict(os.environ, {"MILLRACE_EMULATED_FAULT": "sticky@6"}):
            told = self.run_step(["candidates", "small"])[0]
        first, *others = told["products"]
        self.assertGreater(first["candidates"][0]["us"], 0)
        for one in [*others, *told["convolutions"]]:
            reason = one if "failed" in one else one.get("candidates", one.get("engines"))[0]
            self.assertIn("an illegal memory access", reason["failed"])

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_a_rate_that_fails_says_why(self) -> None:
        with mock.patch.dict(os.environ, {"MILLRACE_EMULATED_FAULT": "sticky@1"}):
            rates = self.run_step(["rates", "small"])[0]
        self.assertIsNone(rates["fp32"]["value"])
        self.assertIn("an illegal memory access", rates["fp32"]["failed"])

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_tells_what_a_step_of_a_training_costs_the_host(self) -> None:
        told = self.run_step(["on_host", "bench/gpu/mlp.yaml", *SMALL, f"device={DEVICE}"])[0]
        self.assertGreater(told["us"], 0)

    @unittest.skipIf(DEVICE == "cpu", "needs a GPU")
    def test_knows_the_gpu_and_the_libraries(self) -> None:
        about = self.run_step(["about"])[0]
        self.assertEqual((about["compute_major"], about["compute_minor"]), (9, 0))
        for name in ("driver", "runtime", "cublaslt", "cudnn"):
            self.assertGreater(about[name], 1000, name)

    def test_trains_one_after_another_without_keeping_memory(self) -> None:
        used = self.run_step(["trainers", "3", "bench/gpu/mlp.yaml", *SMALL, f"device={DEVICE}"])[0]
        self.assertEqual([len(values) for values in used.values()], [3, 3])
        self.assertEqual(used["device_used"][1], used["device_used"][2])
        self.assertGreater(min(used["host_used"]), 2**20)


if __name__ == "__main__":
    unittest.main()
