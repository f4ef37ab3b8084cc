from __future__ import annotations

import concurrent.futures
import os
import pathlib
import pickle
import resource
import unittest

import support
from support import ABOVE, CONFIG, PEOPLE, PEOPLE_CONFIG, POINTS, ROWS
import numpy as np

import millrace


class Strided:
    """A tensor of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class PointsTest(support.TestCase):
    """A network of one field of numbers."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.network = millrace.train(CONFIG, rows=ROWS)

    def test_predicts_arrays(self) -> None:
        classes = self.network.predict(POINTS)
        self.assertEqual(classes.shape, (400,))
        self.assertGreater((classes == ABOVE).mean(), 0.95)
        probabilities = self.network.predict_proba(POINTS)
        self.assertEqual(probabilities.shape, (400, 2))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(probabilities[:, 1] > 0.5, classes == 1)
        self.assertEqual(self.network.outputs(POINTS).dtype, np.float32)
        np.testing.assert_allclose(
            1 / (1 + np.exp(-self.network.outputs(POINTS)[:, 0].astype(float))), probabilities[:, 1]
        )

    def test_layouts_and_types_give_the_same(self) -> None:
        expected = self.network.outputs(POINTS)
        wide = np.zeros((400, 4), np.float32)
        wide[:, ::2] = POINTS
        frozen = POINTS.copy()
        frozen.flags.writeable = False
        for rows in (
            POINTS.astype(float),
            np.asfortranarray(POINTS),
            wide[:, ::2],
            POINTS.tolist(),
            frozen,
            Strided(POINTS),
        ):
            np.testing.assert_array_equal(self.network.outputs(rows), expected)
        np.testing.assert_array_equal(self.network.outputs({"features": POINTS}), expected)

    def test_one_row(self) -> None:
        for row in (POINTS[7], POINTS[7:8], POINTS[7].astype(float), POINTS[7].tolist(), {"features": POINTS[7:8]}):
            self.assertEqual(self.network.outputs(row).shape, (1, 1))
            self.assertEqual(self.network.predict(row).shape, (1,))
            self.assertEqual(self.network.outputs(row)[0, 0], self.network.outputs(POINTS[7])[0, 0])
        first = self.network.outputs(POINTS[0])
        self.network.outputs(POINTS[399])
        self.assertEqual(first, self.network.outputs(POINTS[0]))

    def test_no_rows(self) -> None:
        self.assertEqual(self.network.predict(POINTS[:0]).shape, (0,))
        self.assertEqual(self.network.predict_proba(POINTS[:0]).shape, (0, 2))

    def test_out(self) -> None:
        out = np.empty((400, 1), np.float32)
        self.assertIs(self.network.outputs(POINTS, out=out), out)
        np.testing.assert_array_equal(out, self.network.outputs(POINTS))
        for wrong in (np.empty((400, 1)), np.empty((399, 1), np.float32), np.empty((400, 2), np.float32)[:, :1]):
            with self.assertRaisesRegex(ValueError, r"out must be a contiguous float32 array of the shape \(400, 1\)"):
                self.network.outputs(POINTS, out=wrong)

    def test_rows_that_do_not_fit(self) -> None:
        with self.assertRaisesRegex(
            ValueError, "the field features has 2 values in each row, got 3 values in each row"
        ):
            self.network.predict(np.zeros((5, 3)))
        with self.assertRaisesRegex(
            ValueError, "the model reads the column 'features', which the rows lack; they have 'x'"
        ):
            self.network.predict({"x": POINTS})
        with self.assertRaisesRegex(ValueError, "the field features takes numbers: could not convert"):
            self.network.predict([["a", "b"]])

    def test_gaps_are_not_numbers(self) -> None:
        expected = self.network.outputs([[2012, np.nan], [3, 4]])
        self.assertTrue(np.isnan(expected[0]))
        masked = np.ma.masked_array([[2012, 7], [3, 4]], [[0, 1], [0, 0]])
        for rows in (
            [["2012", ""], ["3", "4"]],
            [[2012, None], [3, 4]],
            masked,
            masked.astype("f4"),
            [{"features": [2012, None]}, {"features": [3, 4]}],
        ):
            np.testing.assert_array_equal(self.network.outputs(rows), expected)

    def test_what_is_no_number(self) -> None:
        for rows in (POINTS.astype("c8"), POINTS.astype("m8[s]"), [["2012-01-01", "1"]], [["x", "1"]]):
            with self.assertRaisesRegex(ValueError, "the field features takes numbers"):
                self.network.outputs(rows)

    def test_threads(self) -> None:
        self.network.save("m.safetensors")
        for threads in (-1, 4097, 2**32 + 1):
            with self.assertRaisesRegex(ValueError, "expected 0 .all. to 4096"):
                millrace.load("m.safetensors", threads=threads)

    def test_saves_over_the_file_that_it_was_loaded_from(self) -> None:
        self.network.save("m.safetensors")
        millrace.load("m.safetensors").save("m.safetensors")
        expected = self.network.outputs(POINTS)
        np.testing.assert_array_equal(millrace.load("m.safetensors").outputs(POINTS), expected)
        with self.assertRaisesRegex(ValueError, "zero byte"):
            millrace.load("m.safetensors\0")

    def test_a_file_that_cannot_be_written_stays_as_it_was(self) -> None:
        self.network.save("m.safetensors")
        before = pathlib.Path("m.safetensors").read_bytes()
        most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, most[1]))
        try:
            with self.assertRaises(millrace.IoError):
                self.network.save("m.safetensors")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        self.assertEqual(pathlib.Path("m.safetensors").read_bytes(), before)
        self.assertEqual(os.listdir(), ["m.safetensors"])

    def test_many_threads(self) -> None:
        expected = self.network.predict_proba(POINTS)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: self.network.predict_proba(POINTS), range(40)):
                np.testing.assert_array_equal(found, expected)
            for found in pool.map(lambda row: self.network.predict_proba(row), POINTS):
                self.assertEqual(found.shape, (1, 2))

    def test_pickles(self) -> None:
        self.network.save("m.safetensors")
        loaded = millrace.load("m.safetensors")
        for network in (self.network, loaded):
            copy = pickle.loads(pickle.dumps(network))
            np.testing.assert_array_equal(copy.outputs(POINTS), self.network.outputs(POINTS))
            self.assertEqual(copy.result, network.result)
        data = pickle.dumps(loaded)
        os.remove("m.safetensors")
        np.testing.assert_array_equal(pickle.loads(data).outputs(POINTS), self.network.outputs(POINTS))

    def test_pickling_refuses_another_file(self) -> None:
        self.network.save("m.safetensors")
        loaded = millrace.load("m.safetensors")
        with open("m.safetensors", "ab") as file:
            file.write(b" ")
        with self.assertRaisesRegex(RuntimeError, "m.safetensors was changed after it was loaded"):
            pickle.dumps(loaded)

    def test_errors_of_files(self) -> None:
        with self.assertRaises(millrace.MissingError) as caught:
            millrace.load("none.safetensors")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertEqual(caught.exception.file, "none.safetensors")
        self.write("text.safetensors", "no model")
        with self.assertRaises(millrace.DataError):
            millrace.load("text.safetensors")


class PeopleTest(support.TestCase):
    """A network of several fields, of texts among them."""

    def setUp(self) -> None:
        super().setUp()
        self.write("people.csv", PEOPLE)
        self.network = millrace.train(PEOPLE_CONFIG)

    def columns(self) -> dict[str, object]:
        return {
            "age": [31, None, 52, 18],
            "fare": np.array([2.5, 0.5, 7.25, 1.25]),
            "city": ["Rome", "Paris", float("nan"), "Rome"],
            "born": np.array(["1990-01-02", "1980-05-06", "1970-01-01", "2000-12-31"], "datetime64[D]"),
            "label": ["not read"] * 4,
        }

    def test_knows_its_columns(self) -> None:
        numbers, city, born = self.network.fields
        self.assertEqual(numbers, millrace.Field("numbers", np.dtype("f4"), 2, ("age", "fare")))
        self.assertEqual((city.dtype, city.columns), (None, ("city",)))
        self.assertEqual(born.dtype, np.dtype("f8"))
        self.assertEqual(self.network.classes.tolist(), ["no", "yes"])
        self.assertEqual(
            repr(self.network), "<millrace.Network (numbers: float32 (2), city: text (1), born: float64 (1)) -> 2>"
        )

    def test_columns_that_are_told_by_number_have_the_names_of_the_header(self) -> None:
        network = millrace.train(PEOPLE_CONFIG, {"input.decode_csv.fields.numbers.columns": "0-1"})
        self.assertEqual(network.fields[0].columns, ("age", "fare"))
        np.testing.assert_array_equal(network.outputs(self.columns()), self.network.outputs(self.columns()))

    def test_predicts_columns_by_name(self) -> None:
        self.assertEqual(self.network.predict(self.columns()).tolist(), ["yes", "no", "yes", "no"])
        self.assertEqual(self.network.predict_proba(self.columns()).shape, (4, 2))

    def test_predicts_dicts_of_rows(self) -> None:
        rows = [
            {"age": 31, "fare": 2.5, "city": "Rome", "born": "1990-01-02"},
            {"age": None, "fare": 0.5, "city": "Paris", "born": "1980-05-06"},
        ]
        self.assertEqual(self.network.predict(rows).tolist(), ["yes", "no"])
        self.assertEqual(self.network.predict(rows[0]).tolist(), ["yes"])
        np.testing.assert_array_equal(
            self.network.outputs(rows), self.network.outputs({k: v[:2] for k, v in self.columns().items()})
        )

    def test_missing_columns_are_named(self) -> None:
        columns = self.columns()
        del columns["fare"]
        with self.assertRaisesRegex(
            ValueError, "the model reads the column 'fare', which the rows lack; they have 'age', 'city'"
        ):
            self.network.predict(columns)
        with self.assertRaisesRegex(
            ValueError, "several fields: give a dict or a data frame with age, fare, city, born"
        ):
            self.network.predict(np.zeros((2, 4)))
        columns["fare"] = [1.0]
        with self.assertRaisesRegex(ValueError, "all"):
            self.network.predict(columns)

    def test_a_bad_row_is_named(self) -> None:
        columns = self.columns()
        columns["born"] = np.array(["1990-01-02"] * 3 + ["NaT"], "datetime64[D]")
        with self.assertRaises(millrace.DataError) as caught:
            self.network.predict(columns)
        self.assertIn("row 3", str(caught.exception))


class AmountsTest(support.TestCase):
    def test_amounts_have_no_probabilities(self) -> None:
        overrides = {"loss": "mse", "metrics": ["mae"]}
        network = millrace.train(CONFIG, overrides, rows={"points": {"features": POINTS, "label": POINTS.sum(axis=1)}})
        found = network.predict(POINTS)
        self.assertEqual(found.shape, (400,))
        self.assertLess(abs(found - POINTS.sum(axis=1)).mean(), 0.1)
        with self.assertRaisesRegex(TypeError, "the model predicts amounts"):
            network.predict_proba(POINTS)


if __name__ == "__main__":
    unittest.main()
