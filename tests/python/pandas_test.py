"""Data frames."""

from __future__ import annotations

import datetime
import io
import sys
import unittest

import support
from support import CONFIG, PEOPLE, PEOPLE_CONFIG, POINTS, ROWS
import numpy as np

try:
    import pandas as pd
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(support.SKIPPED)

import millrace


class PandasTest(support.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.write("people.csv", PEOPLE)

    def test_predicts_frames_as_they_are_read(self) -> None:
        network = millrace.train(PEOPLE_CONFIG)
        frame = pd.read_csv("people.csv")
        expected = network.outputs(frame)
        self.assertEqual(network.predict(frame).tolist(), ["yes", "no", "yes", "no"])
        for other in (
            pd.read_csv("people.csv", parse_dates=["born"]),
            frame.convert_dtypes(),
            frame.astype({"city": "category"}),
            frame[["label", "born", "fare", "city", "age"]],
            frame.to_dict("records"),
            frame.to_dict("list"),
        ):
            np.testing.assert_array_equal(network.outputs(other), expected)
        with self.assertRaisesRegex(
            ValueError, "the column 'fare', which the rows lack; they have 'age', 'city', 'born', 'label'"
        ):
            network.predict(frame.drop(columns="fare"))

    def test_times_and_gaps_among_objects(self) -> None:
        network = millrace.train(PEOPLE_CONFIG)
        rows = {"age": [31, None], "fare": [1, 2], "city": ["Rome", ""], "born": [32503680000, 0]}
        expected = network.outputs(rows)
        rome = datetime.timezone(datetime.timedelta(hours=1))
        for other in (
            {"born": np.array(["3000-01-01", "1970-01-01"], "M8[D]")},
            {"born": ["3000-01-01", "1970-01-01"]},
            {"born": [datetime.datetime(3000, 1, 1, 1, tzinfo=rome), datetime.datetime(1970, 1, 1)]},
            {"age": [31, pd.NA], "city": ["Rome", pd.NA]},
            {"age": ["31", ""], "city": ["Rome", np.nan]},
            {"age": pd.Series([31, None], dtype="Int64"), "city": pd.Series(["Rome", None], dtype="string")},
        ):
            np.testing.assert_array_equal(network.outputs({**rows, **other}), expected)

    def test_columns_without_names_go_by_their_order(self) -> None:
        network = millrace.train(CONFIG, rows=ROWS)
        frame = pd.DataFrame(POINTS, columns=["x", "y"])
        np.testing.assert_array_equal(network.outputs(frame), network.outputs(POINTS))
        with self.assertRaisesRegex(
            ValueError, "reads 2 values in each row, whose columns have no names, got 3 columns"
        ):
            network.predict(frame.assign(z=1))

    def test_rows(self) -> None:
        frame = pd.read_csv(io.StringIO("x,when,name\n0.5,2024-01-02,a\n,2024-01-03,\n"), parse_dates=["when"])
        config = {"input": [{"frame": {"epochs": 1}}, {"batch": {"batch_size": 2}}]}
        for each in (frame, frame.convert_dtypes()):
            (batch,) = millrace.Input(config, rows={"frame": each})
            np.testing.assert_array_equal(batch["x"], np.array([[0.5], [np.nan]], np.float32))
            np.testing.assert_array_equal(batch["when"], [[1704153600.0], [1704240000.0]])
            self.assertEqual(batch["name"].tolist(), [["a"], [""]])


if __name__ == "__main__":
    unittest.main()
