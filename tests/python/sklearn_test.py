"""The estimators for scikit-learn, also by scikit-learn's own checks."""

from __future__ import annotations

import pickle
import sys
import unittest
import warnings

import support
import numpy as np

try:
    import pandas as pd
    import sklearn
    from sklearn.base import clone
    from sklearn.datasets import load_diabetes, load_iris
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.utils.estimator_checks import check_estimator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(support.SKIPPED)

import millrace
from millrace.sklearn import MillraceClassifier, MillraceRegressor

# A batch holds other rows if rows are repeated, so the steps are others.
OTHER_STEPS = "a row of weight 2 and the same row twice make other batches"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": OTHER_STEPS,
    "check_sample_weights_invariance": OTHER_STEPS,
}


def people(rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 80, rows),
            "a city": random.choice(["Rome", "Paris", "Bonn, Rhein"], rows),
            "fare": random.uniform(0, 10, rows),
            "member": random.choice([True, False], rows),
        }
    )
    y = np.where((frame["a city"] == "Rome") ^ (frame["age"] > 50), "stays", "goes")
    return frame, y


class ChecksTest(support.TestCase):
    def check(self, estimator: object) -> None:
        if sys.version_info >= (3, 10) and hasattr(sklearn.utils, "get_tags"):
            done = check_estimator(estimator, expected_failed_checks=EXPECTED, on_skip=None, on_fail="raise")
            self.assertGreater(sum(each["status"] == "passed" for each in done), 40)
            return
        for case, check in check_estimator(estimator, generate_only=True):
            if check.func.__name__ not in EXPECTED:
                check(case)

    def test_classifier(self) -> None:
        self.check(MillraceClassifier(random_state=0))

    def test_regressor(self) -> None:
        self.check(MillraceRegressor(random_state=0))


class ClassifierTest(support.TestCase):
    def test_learns(self) -> None:
        X, y = load_iris(return_X_y=True)
        scores = cross_val_score(MillraceClassifier(random_state=0), X, y)
        self.assertGreater(scores.mean(), 0.93)

    def test_is_deterministic(self) -> None:
        X, y = load_iris(return_X_y=True)
        first, second, other = (
            MillraceClassifier(random_state=seed, n_jobs=jobs, max_iter=5).fit(X, y).predict_proba(X)
            for seed, jobs in ((1, None), (1, 2), (2, None))
        )
        np.testing.assert_array_equal(first, second)
        self.assertFalse(np.array_equal(first, other))

    def test_data_frames_with_texts(self) -> None:
        frame, y = people()
        model = MillraceClassifier(random_state=0, early_stopping=True).fit(frame[:200], y[:200])
        self.assertGreater(model.score(frame[200:], y[200:]), 0.85)
        self.assertEqual(model.feature_names_in_.tolist(), ["age", "a city", "fare", "member"])
        self.assertEqual(model.classes_.tolist(), ["goes", "stays"])
        self.assertEqual(model.predict_proba(frame[:5]).shape, (5, 2))
        unknown = frame[:2].assign(**{"a city": ["Oslo", None]})
        self.assertEqual(model.predict(unknown).shape, (2,))
        with self.assertRaisesRegex(ValueError, "feature names"):
            model.predict(frame[["fare", "a city", "age", "member"]])
        frame.loc[3, "fare"] = np.nan
        with self.assertRaisesRegex(ValueError, "NaN"):
            model.fit(frame, y)

    def test_every_text_is_known_again(self) -> None:
        odd = [
            "a\u2028b",
            "a\x85b",
            "\x7f",
            "\ufeff",
            " a",
            "a\nb",
            "[1]",
            "{a: b}",
            "null",
            "~",
            '"q"',
            "a,b",
            "#c",
            "😀",
            1.0,
        ]
        columns = {"text": [*odd, None, pd.NA, None], "number": [1] * 18}
        frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})
        model = MillraceClassifier((), random_state=0, max_iter=5).fit(frame, [0, 1] * 9)
        outputs = model.network_.outputs({"text_0": [*odd, "new"], "numbers": np.zeros((16, 1))})
        self.assertEqual(len(np.unique(outputs)), 16)

    def test_what_cannot_be_trained(self) -> None:
        X, y = np.array([[1.0], [2.0]] * 10), np.array([0, 1] * 10)
        for options in ({"dropout": -1.0}, {"batch_size": 0}, {"activation": "relux"}):
            with self.assertRaises(millrace.ConfigError):
                MillraceClassifier(**options).fit(X, y)
        with self.assertRaisesRegex(ValueError, "the training diverged"):
            MillraceRegressor(learning_rate_init=1e18, random_state=0).fit(X, y)

    def test_most_frequent_texts(self) -> None:
        frame = pd.DataFrame({"name": ["a"] * 5 + ["b"] * 3 + ["c"] * 2})
        model = MillraceClassifier(max_categories=2, max_iter=1, random_state=0).fit(frame, [0, 1] * 5)
        outputs = model.predict_proba(pd.DataFrame({"name": ["a", "b", "c", "d"]}))
        np.testing.assert_array_equal(outputs[2], outputs[3])
        self.assertFalse(np.array_equal(outputs[1], outputs[2]))

    def test_tools_of_scikit_learn(self) -> None:
        X, y = load_iris(return_X_y=True)
        search = GridSearchCV(
            make_pipeline(MinMaxScaler(), MillraceClassifier(random_state=0, max_iter=20)),
            {"millraceclassifier__hidden_layer_sizes": [(), (20,)]},
            cv=2,
        )
        search.fit(X, y)
        self.assertGreater(search.best_score_, 0.8)
        model = MillraceClassifier(dropout=0.5, activation="tanh")
        self.assertEqual(clone(model).get_params(), model.get_params())
        self.assertEqual(model.set_params(dropout=0.25).dropout, 0.25)

    def test_pickles_and_saves(self) -> None:
        frame, y = people()
        model = MillraceClassifier(random_state=0, max_iter=5).fit(frame, y)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict_proba(frame), model.predict_proba(frame))
        model.network_.save("m.safetensors")
        self.assertEqual([field.name for field in millrace.load("m.safetensors").fields], ["text_1", "numbers"])

    def test_a_saved_model_knows_the_classes(self) -> None:
        X, y = load_iris(return_X_y=True)
        names = np.array(["setosa", "versi, color", ""])
        for classes in (names, np.array([7, -1, 3]), np.arange(3)):
            for count in (2, 3):  # sigmoid, softmax
                rows = y < count
                model = MillraceClassifier(random_state=0, max_iter=20, early_stopping=True)
                model.fit(X[rows], classes[y[rows]])
                self.assertGreater(model.score(X[rows], classes[y[rows]]), 0.8)
                model.network_.save("m.safetensors")
                found = millrace.load("m.safetensors").predict(X[rows])
                self.assertEqual([str(each) for each in found], [str(each) for each in model.predict(X[rows])])

    def test_large_numbers_that_differ_little(self) -> None:
        random = np.random.default_rng(0)
        seconds = 1.7e9 + random.uniform(0, 600, (500, 1))  # of ten minutes; float32 knows five of them
        y = seconds[:, 0] - 1.7e9 > 300
        frame = pd.DataFrame({"at": seconds[:, 0], "who": random.choice(["a", "b"], 500)})
        for X in (seconds, seconds.astype("i8"), frame, 1e60 * seconds):
            for early_stopping in (False, True):
                model = MillraceClassifier(random_state=0, early_stopping=early_stopping).fit(X, y)
                self.assertGreater(model.score(X, y), 0.98)
        model = MillraceRegressor(random_state=0, early_stopping=True).fit(seconds, seconds[:, 0] + 1e9)
        self.assertGreater(model.score(seconds, seconds[:, 0] + 1e9), 0.98)

    def test_weights(self) -> None:
        X, y = np.zeros((20, 1)), np.array([0] * 10 + [1] * 10)
        model = MillraceClassifier(hidden_layer_sizes=(), learning_rate_init=0.1, random_state=0)
        model.fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
        self.assertAlmostEqual(model.predict_proba(X[:1])[0, 1], 0.75, delta=0.05)

    def test_early_stopping(self) -> None:
        X, y = load_iris(return_X_y=True)
        model = MillraceClassifier(random_state=0, early_stopping=True, n_iter_no_change=3, max_iter=1000).fit(X, y)
        self.assertLess(model.n_iter_, 1000)
        self.assertGreater(model.score(X, y), 0.9)

    def test_one_class(self) -> None:
        with self.assertRaisesRegex(ValueError, "at least 2 classes, got 1 class"):
            MillraceClassifier().fit([[0.0], [1.0]], ["a", "a"])


class RegressorTest(support.TestCase):
    def test_learns(self) -> None:
        X, y = load_diabetes(return_X_y=True)
        scores = cross_val_score(MillraceRegressor(hidden_layer_sizes=(16,), random_state=0), X, y)
        self.assertGreater(scores.mean(), 0.4)

    def test_several_amounts(self) -> None:
        X = np.random.default_rng(0).normal(size=(200, 3))
        y = X[:, :2] * [10, 1000] + [5, -5]
        model = MillraceRegressor(random_state=0).fit(X, y)
        self.assertEqual(model.predict(X).shape, (200, 2))
        self.assertGreater(model.score(X, y), 0.98)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
