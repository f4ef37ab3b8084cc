"""Estimators in the style of scikit-learn: MillraceClassifier and MillraceRegressor, dense networks for tables.

::

    from millrace.sklearn import MillraceClassifier

    model = MillraceClassifier(hidden_layer_sizes=(64,)).fit(X_train, y_train)
    model.score(X_test, y_test)
"""

from __future__ import annotations

import collections
import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d

from ._catalog import fields_of
from ._columns import numbers_of, text_of, to_array
from .trainer import Trainer

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6

    def validate_data(
        estimator: Any, X: Any, y: Any = "no_validation", skip_check_array: bool = False, **options: Any
    ) -> Any:
        reset = options.get("reset", True)
        if not skip_check_array:
            return estimator._validate_data(X, y, **options)
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
        return X


def _is_text(column: Any) -> bool:
    return fields_of({"x": column})[0].dtype is None


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share."""

    _texts: list[int]

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (100,),
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        learning_rate_init: float = 0.003,
        weight_decay: float = 0.01,
        batch_size: int | str = "auto",
        max_iter: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        max_categories: int = 128,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.max_categories = max_categories
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- The rows: numbers in one field, each column of texts in one of its own.

    def _read_columns(self, X: Any, reset: bool) -> dict[str, Any]:
        """The fields of rows, but the label. Columns of texts are only looked for in data frames."""
        texts: list[int] = []
        if hasattr(X, "columns") and reset:
            texts = [index for index, name in enumerate(X.columns) if _is_text(X[name])]
        elif hasattr(X, "columns"):
            texts = self._texts
        if reset:
            self._texts = texts
        if not texts and not (hasattr(X, "columns") and self._texts):
            return {"numbers": validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])}
        validate_data(self, X, reset=reset, skip_check_array=True)
        names = list(X.columns)
        fields = {f"text_{index}": X[names[index]] for index in texts}
        numbers = [
            numbers_of(to_array(X[name]), np.dtype("f8"), name)
            for index, name in enumerate(names)
            if index not in texts
        ]
        if numbers:
            fields["numbers"] = check_array(np.stack(numbers, axis=1), input_name="X")
        return fields

    def _transforms(self, fields: dict[str, Any]) -> tuple[list[Any], list[str]]:
        """Ops that make numbers of rows, and the fields that the model reads."""
        ops: list[Any] = []
        read: list[str] = []
        if "numbers" in fields:
            ops.append(_normalize("numbers", fields["numbers"]))
            read.append("numbers")
        for name, column in fields.items():
            if name == "numbers":
                continue
            counts = collections.Counter(filter(None, map(text_of, to_array(column).tolist())))
            most = sorted(counts, key=lambda text: (-counts[text], text))[: self.max_categories]
            texts = [text.decode() for text in sorted(most)] or [" "]
            ops.append({"vocabulary": {"field": name, "as": name + "_code", "texts": texts, "unknown": "code"}})
            ops.append({"one_hot": {"field": name + "_code", "classes": len(texts) + 1, "as": name + "_class"}})
            read.append(name + "_class")
        return ops, read

    # ---- The training.

    def _model(self, read: list[str], outputs: int) -> list[Any]:
        layers: list[Any] = [{"concat": {"from": read}}] if len(read) > 1 else []
        first = {"from": read[0]} if len(read) == 1 else {}
        for units in np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=int)):
            layers.append({"dense": {"units": int(units), "activation": self.activation, **first}})
            first = {}
            if self.dropout != 0:
                layers.append({"dropout": {"rate": self.dropout}})
        return [*layers, {"dense": {"units": outputs, **first}}]

    def _fit(self, fields: dict[str, Any], target: dict[str, Any], weight: Any, **task: Any) -> None:
        """Trains. `task` has outputs, loss, classes of the rows, and ops that make the label of the target."""
        count = len(next(iter(target.values())))
        ops, read = self._transforms(fields)
        ops += task["ops"]
        rows = {**fields, **target}
        loss: dict[str, Any] = {}
        if weight is not None:
            rows["weight"], loss = np.asarray(weight, np.float32), {"weight": "weight"}
        held_out = None
        if self.early_stopping:
            random = check_random_state(self.random_state)
            kept, held = train_test_split(
                np.arange(count), test_size=self.validation_fraction, stratify=task["classes"], random_state=random
            )
            held_out = {name: np.asarray(column)[held] for name, column in rows.items()}
            rows = {name: np.asarray(column)[kept] for name, column in rows.items()}
            count = len(kept)
        batch = max(8, min(200, count // 25)) if self.batch_size == "auto" else int(self.batch_size)
        size = {"batch_size": batch, "allow_smaller_final_batch": True}
        steps = max(1, math.ceil(count / max(batch, 1)))  # of an epoch
        jobs = self.n_jobs or 1
        config = {
            "device": "cpu",
            "seed": int(check_random_state(self.random_state).randint(2**31)),
            "threads": "auto" if jobs < 0 else jobs,
            "input": [
                {"rows": {"epochs": self.max_iter}},
                *ops,
                {"shuffle_batch": {**size, "min_after_dequeue": count}},
            ],
            "model": self._model(read, task["outputs"]),
            "loss": {task["loss"]: loss},
            "optimizer": {"adamw": {"learning_rate": self.learning_rate_init, "weight_decay": self.weight_decay}},
            "train": {"report_over": "window", "log_every": steps},
        }
        given = {"rows": rows}
        if held_out is not None:
            given["held_out"] = held_out
            config["validation"] = {
                "input": [{"held_out": {"epochs": 1}}, *ops, {"batch": size}],
                "every": steps,
                "keep_best": True,
                "patience": self.n_iter_no_change,
            }
        trainer = Trainer(config, rows=given)
        result = trainer.run(progress=bool(self.verbose))
        if not math.isfinite(result.loss):
            raise ValueError(f"the training diverged: its loss is {result.loss}; try a smaller learning_rate_init")
        self.network_ = trainer.network(threads=jobs if jobs > 0 else 0)
        trainer.close()
        self.n_iter_ = result.epochs
        self.loss_ = result.loss

    def _rows(self, X: Any) -> dict[str, Any]:
        check_is_fitted(self)
        return self._read_columns(X, reset=False)


def _normalize(field: str, values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Mean 0 and deviation 1. A column of equal values becomes 0."""
    numbers = values.astype(np.float64)
    deviation = numbers.std(axis=0)
    return {
        "normalize": {
            "fields": field,
            "mean": numbers.mean(axis=0),
            "std": np.where(deviation > 1e-12 * np.abs(numbers).max(axis=0, initial=0), deviation, 1.0),
        }
    }


class MillraceClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A classifier of dense layers.

    The rows are an array of numbers, or a data frame with columns of numbers and of texts. Numbers are normalised,
    texts become one-hot vectors; both belong to the model.

    Args:
        hidden_layer_sizes: units of each hidden layer; ``()`` is a linear model.
        activation: of the hidden layers.
        dropout: the share of their outputs that a step drops.
        learning_rate_init: of Adam with decoupled weight decay.
        weight_decay: of the weights.
        batch_size: rows of a step; "auto": a part in 25 of all rows, but at least 8 and at most 200.
        max_iter: how many epochs, at most.
        early_stopping: hold rows out, end when their loss no longer gets less, and keep the best model.
        validation_fraction: the share of rows that are held out.
        n_iter_no_change: epochs without a lesser loss, after which the training ends.
        max_categories: how many texts of a column are told apart, the most frequent ones; others count as one.
        random_state: of weights, order and held-out rows. A number decides the model, on any number of threads.
        n_jobs: threads; None: one, -1: all.
        verbose: show the progress.

    Attributes:
        classes_: the classes.
        network_: the trained `millrace.Network`; ``network_.save(file)`` writes it, with the classes as texts.
        n_iter_, loss_: how many epochs were trained, and the loss of the last one.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MillraceClassifier:
        fields = self._read_columns(X, reset=True)
        y = _column(y, len(next(iter(fields.values()))))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, got 1 class: {self.classes_[0]!r}")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, np.zeros((len(y), 1)))
        many = len(self.classes_) > 2
        loss = "softmax_cross_entropy" if many else "sigmoid_cross_entropy"
        outputs = len(self.classes_) if many else 1
        codes = codes.astype(np.int32)
        target: dict[str, Any] = {"label": codes}
        ops: list[Any] = []
        if self.classes_.tolist() != list(range(len(self.classes_))):  # numbers that need no names
            names = [(text_of(item) or b"").decode() for item in self.classes_.tolist()]
            target = {"class": np.array(names, object)[codes]}
            ops = [{"vocabulary": {"field": "class", "as": "label", "texts": names}}]
        self._fit(fields, target, weight, outputs=outputs, loss=loss, classes=codes, ops=ops)
        return self

    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        """The probability of each class, in the order of ``classes_``."""
        rows = self._rows(X)
        return self.network_.predict_proba(rows)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The most likely class of each row."""
        likely = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likely]  # type: ignore[no-any-return]


class MillraceRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A regressor of dense layers, for one amount or several. See MillraceClassifier for what it takes and has."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MillraceRegressor:
        fields = self._read_columns(X, reset=True)
        y = _amounts(y, len(next(iter(fields.values()))))
        self._flat = y.ndim == 1
        label = y.reshape(len(y), -1)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, np.zeros((len(y), 1)))
        ops = [_normalize("label", label)]
        self._fit(fields, {"label": label}, weight, outputs=label.shape[1], loss="mse", classes=None, ops=ops)
        return self

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The amount of each row, or (rows, amounts)."""
        rows = self._rows(X)
        amounts = self.network_.predict(rows)
        return amounts if self._flat else amounts.reshape(len(amounts), -1)


def _column(y: Any, rows: int) -> np.ndarray[Any, Any]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    check_consistent_length(np.empty(rows), y)
    return y  # type: ignore[no-any-return]


def _amounts(y: Any, rows: int) -> np.ndarray[Any, Any]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
    if y.ndim == 2 and y.shape[1] == 1:
        y = _column(y, rows)
    check_consistent_length(np.empty(rows), y)
    return y.astype(np.float64)  # type: ignore[no-any-return]
