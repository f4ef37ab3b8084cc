"""Forks: a child has none of the threads of its parent."""

from __future__ import annotations

import os
import pickle
import signal
import unittest
from collections.abc import Callable

import support
from support import CONFIG, POINTS, ROWS
import numpy as np

import millrace

INPUT = {"input": CONFIG["input"]}


def in_child(function: Callable[[], object]) -> object:
    """What the function returns or raises in a child that was forked."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a child that hangs dies
        try:
            found = function()
        except BaseException as error:
            found = error
        os.write(write, pickle.dumps(found))
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        found = pipe.read()
    status = os.waitpid(child, 0)[1]
    if status != 0:
        raise AssertionError(f"the child ended with {status}")
    return pickle.loads(found)


class ForkTest(support.TestCase):
    def check_refused(self, function: Callable[[], object]) -> None:
        found = in_child(function)
        self.assertIsInstance(found, millrace.ForkError)
        self.assertIn('multiprocessing.get_context("spawn")', str(found))

    # The first of these tests runs before anything had threads.
    def test_a_a_parent_without_threads(self) -> None:
        self.assertEqual(in_child(lambda: millrace.train(CONFIG, rows=ROWS).result.steps), 800)

    def test_threads_are_not_in_a_child(self) -> None:
        trainer = millrace.Trainer(CONFIG, rows=ROWS)
        data = millrace.Input(INPUT, rows=ROWS)
        next(data)
        self.check_refused(trainer.run)
        self.check_refused(lambda: next(data))
        self.check_refused(lambda: millrace.train(CONFIG, rows=ROWS))
        self.check_refused(lambda: millrace.Input(INPUT, rows=ROWS))
        trainer.run()
        network = trainer.network(threads=2)
        network.predict(POINTS)
        self.check_refused(lambda: network.predict(POINTS))
        self.check_refused(lambda: network.predict(POINTS[0]))

    def test_a_network_of_one_thread_predicts_in_a_child(self) -> None:
        network = millrace.train(CONFIG, rows=ROWS)
        network.save("m.safetensors")
        expected = network.outputs(POINTS)
        np.testing.assert_array_equal(in_child(lambda: network.outputs(POINTS)), expected)
        np.testing.assert_array_equal(in_child(lambda: network.outputs(POINTS[7])), expected[7:8])
        np.testing.assert_array_equal(in_child(lambda: millrace.load("m.safetensors").outputs(POINTS)), expected)

    def test_objects_end_in_a_child(self) -> None:
        objects = [millrace.Trainer(CONFIG, rows=ROWS), millrace.Input(INPUT, rows=ROWS)]
        next(objects[1])
        self.assertIsNone(in_child(objects.clear))


if __name__ == "__main__":
    unittest.main()
