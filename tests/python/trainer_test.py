from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import support
from support import ABOVE, CONFIG, POINTS, ROWS
import numpy as np

import millrace

ENDLESS = {**CONFIG, "input": [{"points": {}}, {"batch": {"batch_size": 20}}]}


class TrainTest(support.TestCase):
    def test_trains(self) -> None:
        network = millrace.train(CONFIG, rows=ROWS, save="m.safetensors")
        result = network.result
        self.assertEqual((result.reason, result.steps, result.rows, result.epochs), ("end of data", 800, 16000, 40))
        self.assertGreater(result.metrics["accuracy"], 0.9)
        self.assertEqual(len(result.weights), 64)
        self.assertIsNone(result.resumed)
        self.assertTrue(os.path.exists("m.safetensors"))

    def test_same_seed_same_weights(self) -> None:
        def weights(**overrides: object) -> str:
            return millrace.train(CONFIG, overrides, rows=ROWS).result.weights

        self.assertEqual(weights(threads=1), weights(threads=2))
        self.assertNotEqual(weights(seed=2), weights())

    def test_configurations_are_files_texts_and_dicts(self) -> None:
        text = """
device: cpu
input: [synthetic: {features: 2, rows: 100}, batch: {batch_size: 20}]
model: [dense: {units: 1}]
loss: mse
optimizer: {sgd: {learning_rate: 0.1}}
"""
        config = {
            "device": "cpu",
            "input": [{"synthetic": {"features": np.int64(2), "rows": 100}}, {"batch": {"batch_size": 20}}],
            "model": [{"dense": {"units": 1}}],
            "loss": "mse",
            "optimizer": {"sgd": {"learning_rate": 0.1}},
        }
        file = self.folder / self.write("c.yaml", text)
        weights = {millrace.train(each).result.weights for each in (text, config, file, "c.yaml")}
        self.assertEqual(len(weights), 1)

    def test_overrides(self) -> None:
        for overrides in ({"train.steps": 3, "device": "cpu"}, ["train.steps=3", "device=cpu"], "train.steps=3"):
            self.assertEqual(millrace.train(ENDLESS, overrides, rows=ROWS).result.steps, 3)

    def test_errors_have_place_and_hint(self) -> None:
        self.write("c.yaml", "input:\n  - filename_queu: {files: a.csv}\n")
        with self.assertRaises(millrace.ConfigError) as caught:
            millrace.train("c.yaml")
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), ("c.yaml", 1, 1))
        with self.assertRaises(millrace.ConfigError) as caught:
            millrace.Input("c.yaml")
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), ("c.yaml", 2, 5))
        self.assertEqual(error.message, 'input[0]: unknown input op "filename_queu"')
        self.assertEqual(error.hint, "did you mean filename_queue?")
        self.assertEqual(str(error), f"c.yaml:2:5: {error.message}; {error.hint}")
        self.assertIsInstance(error, ValueError)

    def test_errors_of_a_dict_name_keys(self) -> None:
        with self.assertRaises(millrace.ConfigError) as caught:
            millrace.train({**CONFIG, "optimizer": {"adam": {"learning_rat": 1}}}, rows=ROWS)
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), ("config", 0, 0))
        self.assertEqual(str(error), "config: optimizer.adam: unknown key learning_rat; did you mean learning_rate?")
        with self.assertRaisesRegex(millrace.ConfigError, r"^config: input\[1\]\.batch\.batch_size: "):
            millrace.Input({"input": [{"points": {}}, {"batch": {"batch_size": 0}}]}, rows=ROWS)


class CallbacksTest(support.TestCase):
    def test_reports(self) -> None:
        steps, validations, threads = [], [], set()

        def on_step(report: millrace.Step) -> None:
            steps.append(report)
            threads.add(threading.current_thread())

        validation = {
            "validation": {"input": [{"points": {"epochs": 1}}, {"batch": {"batch_size": 100}}], "every": 400}
        }
        millrace.train(CONFIG, validation, rows=ROWS, on_step=on_step, on_validation=validations.append)
        self.assertEqual([report.step for report in steps], list(range(100, 801, 100)))
        self.assertEqual(set(steps[0].metrics), {"accuracy"})
        self.assertEqual(steps[-1].epoch, 40)
        self.assertEqual([(report.step, report.rows) for report in validations], [(400, 400), (800, 400)])
        self.assertTrue(validations[0].best)
        self.assertGreater(validations[1].metrics["accuracy"], 0.8)
        self.assertEqual(threads, {threading.current_thread()})

    def test_an_exception_of_a_callback_ends_the_training(self) -> None:
        def on_step(report: millrace.Step) -> None:
            raise KeyError("mine")

        trainer = millrace.Trainer(ENDLESS, {"train.log_every": 5}, rows=ROWS)
        with self.assertRaises(KeyError):
            trainer.run(on_step=on_step)
        self.assertLess(trainer.steps, 1000)
        self.assertEqual(trainer.result.reason, "stopped")

    def test_a_callback_may_stop_and_take_the_model(self) -> None:
        trainer = millrace.Trainer(ENDLESS, {"train.log_every": 10}, rows=ROWS)
        networks = []

        def on_step(report: millrace.Step) -> None:
            networks.append(trainer.network())
            if report.step == 20:
                trainer.stop()

        self.assertEqual(trainer.run(on_step=on_step).reason, "stopped")
        self.assertEqual(trainer.steps, 20)
        self.assertFalse(np.array_equal(networks[0].outputs(POINTS), networks[1].outputs(POINTS)))
        np.testing.assert_array_equal(networks[1].outputs(POINTS), trainer.network().outputs(POINTS))

    def test_lines_are_warnings_and_log(self) -> None:
        self.write("a.csv", "1,1\nx,1\n2,0\n")
        config = """
device: cpu
input:
  - filename_queue: {files: a.csv, epochs: 1}
  - csv_reader
  - decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}, unread: {columns: 0}}, on_bad_row: skip}
  - batch: {batch_size: 1}
model: [dense: {units: 1}]
loss: mse
optimizer: {sgd: {learning_rate: 0.1}}
"""
        with warnings.catch_warnings(record=True) as caught, self.assertLogs("millrace", logging.WARNING) as logged:
            warnings.simplefilter("always")
            millrace.train(config)
        self.assertIn("unread", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)
        self.assertIn("left out a.csv:2:1", logged.output[0])
        lines: list[str] = []
        millrace.train(config, on_log=lines.append)
        self.assertEqual(len(lines), 2)

    def test_progress(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            millrace.train(ENDLESS, {"train.steps": 30000}, rows=ROWS, progress=True)
            millrace.train(ENDLESS, {"train.steps": 30000}, rows=ROWS)
        self.assertRegex(
            shown.getvalue(), r"^\rstep \d+  epoch \d+  loss [0-9.e-]+  accuracy [0-9.]+  \d+ rows/s  \d+%.*\n$"
        )


class MetricsTest(support.TestCase):
    def test_a_metric_of_the_program(self) -> None:
        seen = []

        def share(labels: np.ndarray, predictions: np.ndarray) -> float:
            seen.append((labels.shape, predictions.shape, threading.current_thread()))
            return np.mean((predictions > 0) == labels)

        network = millrace.train(CONFIG, {"metrics": ["accuracy", "share"]}, rows=ROWS, metrics={"share": share})
        self.assertEqual(network.result.metrics["share"], network.result.metrics["accuracy"])
        self.assertEqual(seen[0], ((20,), (20,), threading.current_thread()))
        network.save("m.safetensors")
        with self.assertRaisesRegex(millrace.ConfigError, 'unknown metric "share"'):
            millrace.load("m.safetensors")
        self.assertEqual(millrace.load("m.safetensors", metrics={"share": share}).predict(POINTS).shape, (400,))

    def test_weights(self) -> None:
        rows = {"points": {**ROWS["points"], "w": np.arange(400.0)}}
        weights = []

        def note(labels: np.ndarray, predictions: np.ndarray, sample_weight: np.ndarray) -> float:
            weights.append(sample_weight)
            return 0

        overrides = {"metrics": ["note"], "loss": {"sigmoid_cross_entropy": {"weight": "w"}}}
        millrace.train(CONFIG, overrides, rows=rows, metrics={"note": millrace.Metric(note, less_is_better=True)})
        self.assertEqual(weights[0].shape, (20,))
        self.assertGreater(weights[0].max(), 1)

    def test_an_exception_of_a_metric_ends_the_training(self) -> None:
        def fails(labels: np.ndarray, predictions: np.ndarray) -> float:
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            millrace.train(
                ENDLESS, {"metrics": ["fails"]}, rows=ROWS, metrics={"fails": fails}, on_step=lambda report: None
            )


class PluginsTest(support.TestCase):
    def test_kinds_of_a_plug_in(self) -> None:
        plugin = os.environ.get("MILLRACE_TEST_PLUGIN")
        if plugin is None:
            self.skipTest("MILLRACE_TEST_PLUGIN names no plug-in")
        network = millrace.train(CONFIG, {"model": ["swish", {"dense": {"units": 1}}]}, rows=ROWS, plugins=[plugin])
        expected = network.outputs(POINTS)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(network)).outputs(POINTS), expected)
        network.save("m.safetensors")
        np.testing.assert_array_equal(millrace.load("m.safetensors", plugins=[plugin]).outputs(POINTS), expected)


class CheckpointsTest(support.TestCase):
    def test_resumes(self) -> None:
        overrides = {"checkpoint": {"dir": "c", "every": 200}}
        written = []
        first = millrace.Trainer(CONFIG, {**overrides, "train.steps": 300}, rows=ROWS)
        self.assertIsNone(first.resume())
        result = first.run(on_checkpoint=written.append)
        self.assertEqual([each.step for each in written], [200, 300])
        self.assertEqual(result.checkpoints, 2)
        first.close()
        resumed = []
        network = millrace.train(CONFIG, overrides, rows=ROWS, resume=True, on_resume=resumed.append)
        self.assertEqual((resumed[0].step, network.result.resumed), (300, 300))
        self.assertEqual(network.result.weights, millrace.train(CONFIG, rows=ROWS).result.weights)

    def test_a_trainer_runs_once(self) -> None:
        trainer = millrace.Trainer(CONFIG, {"checkpoint": {"dir": "c"}, "train.steps": 3}, rows=ROWS)
        trainer.run()
        weights = trainer.network().outputs(POINTS)
        for again in (trainer.run, trainer.resume):
            with self.assertRaises(millrace.CallError) as caught:
                again()
            self.assertIsInstance(caught.exception, RuntimeError)
            expected = "the training has begun already; make another trainer of the same configuration"
            self.assertEqual(str(caught.exception), expected)
        np.testing.assert_array_equal(trainer.network().outputs(POINTS), weights)

    def test_one_on_demand(self) -> None:
        trainer = millrace.Trainer(ENDLESS, {"checkpoint": {"dir": "c"}, "train.log_every": 5}, rows=ROWS)
        written = []

        def on_step(report: millrace.Step) -> None:
            trainer.checkpoint()
            if written:
                trainer.stop()

        trainer.run(on_step=on_step, on_checkpoint=written.append)
        self.assertTrue(os.path.exists(written[0].file))


class ThreadsTest(support.TestCase):
    def test_two_trainers_at_once(self) -> None:
        alone = millrace.train(CONFIG, rows=ROWS).result.weights
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(millrace.train(CONFIG, rows=ROWS).result.weights))
            for _ in "ab"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [alone, alone])

    def test_another_thread_stops(self) -> None:
        trainer = millrace.Trainer(ENDLESS, rows=ROWS)
        threading.Timer(0.2, trainer.stop).start()
        self.assertEqual(trainer.run().reason, "stopped")

    def test_other_threads_go_on_meanwhile(self) -> None:
        trainer = millrace.Trainer(ENDLESS, rows=ROWS)
        counted = []

        def count() -> None:
            for _ in range(1000):
                counted.append(time.perf_counter())
            trainer.stop()

        threading.Thread(target=count).start()
        trainer.run()
        self.assertEqual(len(counted), 1000)


INTERRUPTED = """
import sys
sys.path[:0] = [{tests!r}]
import support, millrace
trainer = millrace.Trainer({config!r}, {overrides!r}, rows=support.ROWS)
try:
    trainer.run(on_step=lambda report: report.step == 1 and print("runs", flush=True))
except KeyboardInterrupt:
    print(trainer.result.reason)
"""


class InterruptTest(support.TestCase):
    def interrupt(self, config: object, overrides: dict[str, object]) -> str:
        program = INTERRUPTED.format(tests=os.path.dirname(__file__), config=config, overrides=overrides)
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "runs\n")
        child.send_signal(signal.SIGINT)
        out = child.communicate(timeout=60)[0]
        self.assertEqual(child.returncode, 0)
        return out

    def test_ctrl_c_saves(self) -> None:
        overrides = {"train.log_every": 1, "save": "m.safetensors", "checkpoint": {"dir": "c"}}
        self.assertEqual(self.interrupt(ENDLESS, overrides), "stopped\n")
        self.assertEqual(millrace.load("m.safetensors").predict(POINTS).shape, (400,))
        self.assertEqual(len([name for name in os.listdir("c") if name.endswith(".safetensors")]), 1)

    def test_ctrl_c_while_the_data_are_waited_for(self) -> None:
        os.mkfifo("pipe")
        pipe = os.open("pipe", os.O_RDWR)
        self.addCleanup(os.close, pipe)
        os.write(pipe, b"1,1\n2,0\n")
        config = {
            **CONFIG,
            "metrics": [],
            "input": [
                {"filename_queue": {"files": "pipe"}},
                "csv_reader",
                {"decode_csv": {"fields": {"features": {"columns": 0}, "label": {"columns": 1}}}},
                {"batch": {"batch_size": 1}},
            ],
        }
        self.assertEqual(self.interrupt(config, {"train.log_every": 1}), "stopped\n")


if __name__ == "__main__":
    unittest.main()
