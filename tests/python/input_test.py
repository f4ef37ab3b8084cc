from __future__ import annotations

import gc
import importlib.util
import os
import threading
import unittest

import support
from support import CONFIG, POINTS, ROWS
import numpy as np

import millrace

LISTS = """0.5,red,1 2,1
0.25,,3,0
0.125,blue grün,,1
"""
LISTS_CONFIG = """
threads: 2
input:
  - filename_queue: {files: lists.csv, epochs: 2}
  - csv_reader
  - decode_csv:
      fields:
        x: {columns: 0}
        colour: {columns: 1, type: string, default: none}
        tags: {columns: 2, type: int32, split: " ", default: []}
        words: {columns: 1, type: string, split: " ", default: []}
        label: {columns: 3, type: int64}
  - batch: {batch_size: 2, allow_smaller_final_batch: true}
"""


def shuffled(**options: object) -> millrace.Input:
    """400 rows, three times, in an order of their own each time."""
    config = {
        "seed": 5,
        "input": [
            {"filename_queue": {"files": "points.csv", "epochs": 3}},
            "csv_reader",
            {"decode_csv": {"fields": {"features": {"columns": "0-15"}, "label": {"columns": 16, "type": "int32"}}}},
            {"shuffle_batch": {"batch_size": 32, "min_after_dequeue": 100, "allow_smaller_final_batch": True}},
        ],
    }
    return millrace.Input(config, **options)


class BatchesTest(support.TestCase):
    def setUp(self) -> None:
        super().setUp()
        lines = [",".join([f"{row + column / 16}" for column in range(16)] + [str(row)]) for row in range(400)]
        self.write("points.csv", "\n".join(lines) + "\n")

    def test_batches_are_those_of_a_training(self) -> None:
        data = shuffled()
        self.assertEqual(data.batch_size, 32)
        self.assertEqual(data.fields[1], millrace.Field("label", np.dtype("i4"), 1))
        batches = list(data)
        self.assertEqual([len(batch["label"]) for batch in batches], [32] * 37 + [16])
        self.assertEqual(batches[0]["features"].shape, (32, 16))
        labels = np.concatenate([batch["label"] for batch in batches])
        np.testing.assert_array_equal(np.bincount(labels[:, 0]), [3] * 400)
        for batch in batches:
            np.testing.assert_array_equal(batch["features"][:, 0], batch["label"][:, 0])
        again = np.concatenate([batch["label"] for batch in shuffled(overrides={"threads": 1})])
        np.testing.assert_array_equal(labels, again)

    def test_arrays_are_the_programs(self) -> None:
        data = shuffled()
        first = next(data)
        kept = {name: array.copy() for name, array in first.items()}
        for _ in data:
            pass
        data.close()
        gc.collect()
        for name, array in first.items():
            np.testing.assert_array_equal(array, kept[name])
            array += 1
        self.assertFalse(first["features"].flags.owndata)  # 64 bytes a row: the memory of the batch
        self.assertTrue(first["label"].flags.owndata)  # a copy

    def test_tuples_and_tensors(self) -> None:
        class Tensor:
            def __init__(self, array: np.ndarray) -> None:
                self.array = np.from_dlpack(array)

        label, features = next(shuffled(fields=["label", "features"], convert=Tensor))
        self.assertEqual(label.array.shape, (32, 1))
        self.assertEqual(features.array.shape, (32, 16))
        with self.assertRaisesRegex(ValueError, "the rows have no field 'x'; they have features, label"):
            shuffled(fields=["x"])

    def test_tensors_of_other_libraries_share_the_memory(self) -> None:
        for library, module in (("torch", "torch"), ("jax", "jax.numpy")):
            if importlib.util.find_spec(library) is None:
                continue
            convert = importlib.import_module(module).from_dlpack
            kept = [(batch["features"], batch["label"]) for batch in shuffled(convert=convert)]
            for (features, label), batch in zip(kept, shuffled()):
                np.testing.assert_array_equal(np.asarray(features), batch["features"])
                np.testing.assert_array_equal(np.asarray(label), batch["label"])
            first = next(shuffled(fields=["features"]))[0]
            self.assertEqual(np.from_dlpack(convert(first)).ctypes.data, first.ctypes.data)

    def test_places_and_epochs(self) -> None:
        data = shuffled()
        with self.assertRaisesRegex(ValueError, "no batch was made yet"):
            data.places()
        epochs = set()
        for batch in data:
            places = data.places()
            self.assertEqual(places, [f"points.csv:{label + 1}" for label in batch["label"][:, 0]])
            epochs.add(data.epoch)
        self.assertEqual(epochs, {1, 2, 3})

    def test_state(self) -> None:
        data = shuffled()
        for _ in range(15):
            next(data)
        state = data.state()
        self.assertIsInstance(state, bytes)
        rest = [batch["label"] for batch in data]
        other = shuffled(overrides={"threads": 1})
        other.restore(state)
        np.testing.assert_array_equal(np.concatenate(rest), np.concatenate([batch["label"] for batch in other]))
        with self.assertRaisesRegex(millrace.CallError, "only be restored before the first batch; make another input"):
            data.restore(state)
        with self.assertRaises(millrace.DataError):
            shuffled(overrides={"seed": 6}).restore(state)
        with self.assertRaises(millrace.DataError):
            shuffled().restore(b"something else")

    def test_rows_that_are_held_out(self) -> None:
        config = {
            "input": [
                {"filename_queue": {"files": "points.csv", "epochs": 2}},
                "csv_reader",
                {"decode_csv": {"fields": {"label": {"columns": 16, "type": "int32"}}}},
                {"hold_out": {"share": 0.25}},
                {"shuffle_batch": {"batch_size": 32, "min_after_dequeue": 100, "allow_smaller_final_batch": True}},
            ]
        }
        trained = np.concatenate([batch["label"] for batch in millrace.Input(config)])[:, 0]
        held = np.concatenate([batch["label"] for batch in millrace.Input(config, held_out=True)])[:, 0]
        self.assertTrue((np.diff(held) > 0).all())
        self.assertEqual(sorted([*set(trained), *held]), list(range(400)))
        with self.assertRaisesRegex(millrace.ConfigError, "hold"):
            shuffled(held_out=True)

    def test_errors_have_a_place(self) -> None:
        self.write("points.csv", "1,2\n")
        with self.assertRaises(millrace.Error):
            shuffled()
        self.write("points.csv", ",".join(["1"] * 17) + "\n" + ",".join(["x"] * 17) + "\n")
        with self.assertRaises(millrace.DataError) as caught:
            list(shuffled())
        self.assertEqual((caught.exception.file, caught.exception.line), ("points.csv", 2))

    def test_closed(self) -> None:
        with shuffled() as data:
            next(data)
        with self.assertRaisesRegex(ValueError, "the input is closed"):
            next(data)

    def test_another_thread_stops(self) -> None:
        os.mkfifo("pipe")
        pipe = os.open("pipe", os.O_RDWR)
        self.addCleanup(os.close, pipe)
        os.write(pipe, b"1\n2\n")
        config = {
            "input": [
                {"filename_queue": {"files": "pipe"}},
                "csv_reader",
                {"decode_csv": {"fields": {"x": {"columns": 0}}}},
                {"batch": {"batch_size": 4}},
            ]
        }
        data = millrace.Input(config)
        threading.Timer(0.1, data.stop).start()
        self.assertEqual(list(data), [])


class VaryingTest(support.TestCase):
    def test_texts_and_lists(self) -> None:
        self.write("lists.csv", LISTS)
        data = millrace.Input(LISTS_CONFIG)
        first, second, third = data
        self.assertEqual(first["colour"].tolist(), [["red"], ["none"]])
        self.assertEqual(first["colour"].dtype, object)
        self.assertEqual([tags.tolist() for tags in first["tags"]], [[1, 2], [3]])
        self.assertEqual(first["tags"][0].dtype, np.int32)
        self.assertEqual([words.tolist() for words in second["words"]], [["blue", "grün"], ["red"]])
        self.assertEqual([tags.tolist() for tags in third["tags"]], [[3], []])
        self.assertEqual(data.fields[2], millrace.Field("tags", np.dtype("i4"), 0))

    def test_shapes(self) -> None:
        images = np.arange(24 * 6, dtype=np.uint8).reshape(6, 1, 4, 6)
        np.save("images.npy", images)
        data = millrace.Input(
            {
                "input": [
                    {"npy_reader": {"fields": {"features": "images.npy"}, "epochs": 1}},
                    {"batch": {"batch_size": 3}},
                ]
            }
        )
        first, second = (batch["features"] for batch in data)
        np.testing.assert_array_equal(np.concatenate([first, second]), images)


class LogTest(support.TestCase):
    def test_lines(self) -> None:
        self.write("lists.csv", LISTS + "x,red,1,1\n")
        lines: list[str] = []
        config = {"input.decode_csv.on_bad_row": "skip", "input.filename_queue.epochs": 1}
        list(millrace.Input(LISTS_CONFIG, config, on_log=lines.append))
        self.assertIn("left out lists.csv:4:1", lines[-1])

        def fails(text: str) -> None:
            raise KeyError(text)

        with self.assertRaises(KeyError):
            list(millrace.Input(LISTS_CONFIG, config, on_log=fails))


class RowsTest(support.TestCase):
    """Rows of the program."""

    CONFIG = {"input": [{"mine": {"epochs": 2}}, {"batch": {"batch_size": 4, "allow_smaller_final_batch": True}}]}

    def batches(self, source: object, **overrides: object) -> list[dict[str, np.ndarray]]:
        return list(millrace.Input(self.CONFIG, overrides, rows={"mine": source}))

    def test_types(self) -> None:
        columns = {
            "double": np.array([0.5, 1.5]),
            "half": np.array([1, 2], np.float16),
            "bool": [True, False],
            "short": np.array([1, 2], np.int16),
            "long": [2**40, 1],
            "byte": np.array([[1, 2], [3, 4]], np.uint8),
            "text": ["a", None],
            "time": np.array(["1970-01-02", "1970-01-01T00:00:01.5"], "datetime64[ms]"),
        }
        (batch,) = self.batches(columns, **{"input.mine.epochs": 1})
        found = {name: (array.dtype.str, array.tolist()) for name, array in batch.items()}
        self.assertEqual(found["double"], ("<f8", [[0.5], [1.5]]))
        self.assertEqual(found["half"], ("<f4", [[1], [2]]))
        self.assertEqual(found["bool"], ("<i4", [[1], [0]]))
        self.assertEqual(found["short"], ("<i4", [[1], [2]]))
        self.assertEqual(found["long"], ("<i8", [[2**40], [1]]))
        self.assertEqual(found["byte"], ("|u1", [[1, 2], [3, 4]]))
        self.assertEqual(found["text"], ("|O", [["a"], [""]]))
        self.assertEqual(found["time"], ("<f8", [[86400], [1.5]]))

    def test_columns_with_gaps_and_other_names(self) -> None:
        data = millrace.Input(
            {"input": [{"mine": {"epochs": 1}}, {"batch": {"batch_size": 2}}]},
            rows={"mine": {1: [40, None], "t": ["a", float("nan")], "m": np.ma.masked_array([1, 2], [0, 1])}},
            fields=["1", "t", "m", "1"],
        )
        numbers, texts, masked, again = next(data)
        np.testing.assert_array_equal(numbers, np.array([[40], [np.nan]], np.float32))
        np.testing.assert_array_equal(masked, np.array([[1], [np.nan]], np.float32))
        np.testing.assert_array_equal(again, numbers)
        self.assertEqual(texts.tolist(), [["a"], [""]])

    def test_a_function_gives_each_epoch(self) -> None:
        begun = []

        def epoch() -> object:
            begun.append(len(begun))
            for begin in range(0, 10, 3):
                numbers = np.arange(begin, min(begin + 3, 10)) + 100 * begun[-1]
                yield {"x": numbers, "name": [f"row {number}" for number in numbers]}

        batches = self.batches(epoch)
        self.assertEqual(begun, [0, 1])
        x = np.concatenate([batch["x"] for batch in batches])[:, 0]
        np.testing.assert_array_equal(x, [*range(10), *range(100, 110)])
        names = np.concatenate([batch["name"] for batch in batches])[:, 0]
        self.assertEqual(names.tolist(), [f"row {number}" for number in x])

    def test_iterables(self) -> None:
        chunks = [{"x": np.arange(3.0)}, {"x": np.arange(2.0)}]
        self.assertEqual(sum(len(batch["x"]) for batch in self.batches(chunks)), 10)
        self.assertEqual(sum(len(batch["x"]) for batch in self.batches(iter(chunks), **{"input.mine.epochs": 1})), 5)
        with self.assertRaisesRegex(ValueError, "an iterator gives its rows once"):
            self.batches(iter(chunks))

    def test_two_ops_cannot_share_rows_that_come_once(self) -> None:
        def chunks() -> object:
            yield {"x": np.arange(3.0)}

        def config(*kinds: str) -> dict[str, object]:
            ops = [{kind: {"name": name}} for kind, name in zip(kinds, "ab")]
            return {"input": [*ops, {"interleave": {"from": ["a", "b"]}}, {"batch": {"batch_size": 2}}]}

        with self.assertRaisesRegex(millrace.ConfigError, "a and b are the same callback.*; add the callback once"):
            millrace.Input(config("mine", "mine"), rows={"mine": chunks})
        with self.assertRaisesRegex(ValueError, "^mine and other are one iterator, .* give each its own$"):
            rows = chunks()
            millrace.Input(config("mine", "other"), rows={"mine": rows, "other": rows})
        batch = next(millrace.Input(config("mine", "other"), rows={"mine": chunks, "other": chunks}))
        self.assertEqual(batch["x"].tolist(), [[0], [0]])

    def test_exceptions_of_a_function(self) -> None:
        def epoch() -> object:
            yield {"x": np.arange(5.0)}
            raise KeyError("mine")

        with self.assertRaises(KeyError) as caught:
            self.batches(epoch)
        self.assertIsInstance(caught.exception.__cause__, millrace.DataError)
        with self.assertRaises(KeyError):
            overrides = {"model": [{"dense": {"units": 1, "from": "x"}}], "loss": {"mse": {"from": "x"}}, "metrics": []}
            millrace.train({**CONFIG, **self.CONFIG}, overrides, rows={"mine": epoch})

    def test_what_rows_must_be(self) -> None:
        for source, message in (
            ({}, "the rows have no columns"),
            ([], "the rows are empty"),
            ({"x": 3.0}, "the column 'x' is a single value"),
            (
                {"x": np.arange(3.0), "y": np.arange(2.0)},
                "all fields must have the same number of rows, got x: 3, y: 2",
            ),
            ({"x": np.zeros(2, complex)}, "rows cannot hold values of the type complex128"),
            ({"x": ["a\0b"]}, "a text holds a zero byte"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                self.batches(source)
        with self.assertRaisesRegex(TypeError, "rows must be a dict of arrays.*got int"):
            self.batches(3)

    def test_rows_train_as_files_do(self) -> None:
        def chunks() -> object:
            for begin in range(0, 400, 64):
                yield {name: column[begin : begin + 64] for name, column in ROWS["points"].items()}

        fed = millrace.train(CONFIG, rows={"points": chunks})
        self.assertEqual(fed.result.weights, millrace.train(CONFIG, rows=ROWS).result.weights)


if __name__ == "__main__":
    unittest.main()
