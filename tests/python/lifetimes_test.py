"""Objects that end while they are used, and programs that end while they run. None of it may crash the interpreter."""

from __future__ import annotations

import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref

import support
from support import CONFIG, POINTS, ROWS
import numpy as np

import millrace

ENDLESS = {**CONFIG, "input": [{"points": {}}, {"batch": {"batch_size": 20}}], "train": {"log_every": 1}}
INPUT = {"threads": 2, "input": [{"points": {"epochs": 40}}, {"batch": {"batch_size": 5}}]}


class Garbage:
    """Uses objects when it is collected."""

    errors: list[str] = []

    def __init__(self, *functions: object) -> None:
        self.functions, self.itself = functions, self

    def __del__(self) -> None:
        for function in self.functions:
            try:
                function()
            except millrace.Error as error:
                self.errors.append(str(error))


class ClosedTest(support.TestCase):
    def test_a_trainer_in_a_callback(self) -> None:
        trainer = millrace.Trainer(ENDLESS, rows=ROWS)
        result = trainer.run(on_step=lambda report: trainer.close(), on_log=str)
        self.assertEqual(result.reason, "stopped")
        with self.assertRaisesRegex(ValueError, "the trainer is closed"):
            trainer.network()

    def test_a_trainer_by_another_thread(self) -> None:
        trainer = millrace.Trainer(ENDLESS, rows=ROWS)
        threading.Timer(0.1, trainer.close).start()
        self.assertEqual(trainer.run(on_log=str).reason, "stopped")

    def test_an_input_by_its_log(self) -> None:
        self.write("a.csv", "1,1\nx,1\n2,0\n" * 100)
        config = """
input:
  - filename_queue: {files: a.csv, epochs: 1}
  - csv_reader
  - decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}}, on_bad_row: skip}
  - batch: {batch_size: 1}
"""
        data = millrace.Input(config, on_log=lambda line: data.close())
        with self.assertRaisesRegex(ValueError, "the input is closed"):
            list(data)

    def test_an_input_by_another_thread(self) -> None:
        data = millrace.Input(INPUT, {"input.points.epochs": 10**6}, rows=ROWS)
        threading.Timer(0.1, data.close).start()
        with self.assertRaisesRegex(ValueError, "the input is closed"):
            for _ in data:
                pass


class ThreadsTest(support.TestCase):
    def test_one_thread_at_a_time_uses_an_input(self) -> None:
        asked, given = threading.Event(), threading.Event()

        def chunks() -> object:
            yield {"x": np.ones(1)}
            asked.set()
            given.wait(30)
            yield {"x": np.ones(1)}

        data = millrace.Input({"input": [{"mine": {}}, {"batch": {"batch_size": 2}}]}, rows={"mine": chunks})
        batches: list[object] = []
        thread = threading.Thread(target=lambda: batches.extend(data))
        thread.start()
        asked.wait(30)
        for use in (lambda: next(data), data.state):
            with self.assertRaisesRegex(millrace.CallError, "the input is in use"):
                use()
        given.set()
        thread.join()
        self.assertEqual(len(batches), 1)


class GarbageTest(support.TestCase):
    def test_objects_go_without_a_search_for_garbage(self) -> None:
        gc.disable()
        self.addCleanup(gc.enable)
        data = millrace.Input(INPUT, rows=ROWS)
        array = next(data)["features"]
        trainer = millrace.Trainer(CONFIG, rows=ROWS, metrics={"mine": lambda labels, predictions: 0})
        trainer.run(on_step=lambda report: None)
        handles = [weakref.ref(data._handle), weakref.ref(trainer._handle)]
        del data
        trainer.close()
        self.assertEqual([handle() for handle in handles], [None, None])
        self.assertEqual(array.shape, (5, 2))

    def test_objects_that_other_garbage_uses(self) -> None:
        network = millrace.train(CONFIG, {"train.steps": 1}, rows=ROWS)
        data = millrace.Input(INPUT, rows=ROWS)
        data.other = network.other = Garbage(data.__next__, functools.partial(network.outputs, POINTS))
        # The library's objects are in the same garbage, and their order is not known.
        for each in (data, network):
            each._handle.itself = each._handle
        del data, network, each
        gc.collect()
        self.assertLessEqual(set(Garbage.errors), {"input is NULL", "network is NULL"})


ENDS = """
import sys
sys.path[:0] = [{tests!r}]
import threading, support, millrace
started = threading.Event()
trainer = millrace.Trainer({config!r}, rows=support.ROWS)
run = lambda: trainer.run(on_step=lambda report: started.set(), on_log=str)
threading.Thread(target=run, daemon=True).start()
started.wait()
print("ends")
"""

# The library asks for rows until the program ends, on threads of its own.
ENDS_INSIDE = """
import builtins, sys
sys.path[:0] = [{tests!r}]
import support, millrace
def chunks():
    while True:
        yield support.ROWS["points"]
builtins.data = [millrace.Input({config!r}, rows={{"points": chunks}}) for _ in range(8)]  # outlive all modules
for _ in range(5):
    for data in builtins.data:
        next(data)
"""

PREDICTS = """
import sys
sys.path[:0] = [{tests!r}]
import threading, support, millrace, numpy
network = millrace.train({config!r}, {{"train.steps": 1}}, rows=support.ROWS)
rows, started = numpy.tile(support.POINTS, (1000, 1)), threading.Event()
def predict():
    while True:
        network.predict(rows)
        started.set()
threading.Thread(target=predict, daemon=True).start()
started.wait()
"""

# At the end of the program a training waits for rows that never come.
INTERRUPTED_END = """
import sys
sys.path[:0] = [{tests!r}]
import threading, support, millrace
inside = threading.Event()
def chunks():
    yield support.ROWS["points"]
    inside.set()
    threading.Event().wait()
trainer = millrace.Trainer({config!r}, rows={{"points": chunks}})
threading.Thread(target=trainer.run, daemon=True).start()
inside.wait()
print("ends", flush=True)
"""

INTERRUPTED = """
import itertools, sys
sys.path[:0] = [{tests!r}]
import support, millrace
chunks = lambda: ({{"x": [float(number)] * 4}} for number in itertools.count())
config = {{"threads": 1, "input": [{{"mine": {{}}}}, {{"batch": {{"batch_size": 400}}}}]}}
data = millrace.Input(config, rows={{"mine": chunks}})
try:
    for number, batch in enumerate(data):
        assert len(batch["x"]) == 400 and batch["x"][0] == 100 * number
        if number == 0:
            print("runs", flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""


class ProgramsTest(support.TestCase):
    def test_ends_while_a_thread_trains(self) -> None:
        program = ENDS.format(tests=os.path.dirname(__file__), config=ENDLESS)
        ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout), (0, "ends\n"))

    def test_ends_while_the_library_calls_it(self) -> None:
        config = {**INPUT, "input": [{"points": {"epochs": 1000}}, {"queue": {"capacity": 2000}}, INPUT["input"][1]]}
        program = ENDS_INSIDE.format(tests=os.path.dirname(__file__), config=config)
        for _ in range(3):
            self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=60).returncode, 0)

    def test_ends_while_a_thread_predicts(self) -> None:
        program = PREDICTS.format(tests=os.path.dirname(__file__), config=CONFIG)
        for _ in range(3):
            self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=60).returncode, 0)

    def test_ctrl_c_at_the_end_ends_the_process(self) -> None:
        program = INTERRUPTED_END.format(tests=os.path.dirname(__file__), config={**ENDLESS, "threads": 1})
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ends\n")
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            time.sleep(0.05)
        child.communicate()
        self.assertEqual(child.returncode, -signal.SIGINT)

    def test_ctrl_c_among_rows_of_an_iterator_is_heard(self) -> None:
        program = INTERRUPTED.format(tests=os.path.dirname(__file__))
        for _ in range(5):
            child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline(), "runs\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.communicate(timeout=60)[0], "interrupted\n")
            self.assertEqual(child.returncode, 0)


if __name__ == "__main__":
    unittest.main()
