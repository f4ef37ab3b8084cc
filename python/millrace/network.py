"""Network: a trained model that predicts rows."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _library
from ._catalog import Catalog, Metric, MetricFunction
from ._columns import Field, address, field_of, pointers_to, values_of
from ._run import interrupts_kill

if TYPE_CHECKING:
    from .reports import Result

_predict = _library.function("network_predict")
_answer = _library.function("network_answer")


def _never(*arguments: Any) -> int:
    threading.Event().wait()
    return 0


def _is_inside(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code not in (_never.__code__, _end_calls.__code__):
        if frame.f_globals is globals():
            return True
        frame = frame.f_back
    return False


@atexit.register
def _end_calls() -> None:
    """A thread that is inside of the library when the process ends would crash: waits for it, and lets none in."""
    global _predict
    _predict = _never
    interrupts_kill()
    while any(map(_is_inside, sys._current_frames().values())):
        time.sleep(0.001)


class _OneRow:
    """Memory for the calls of one thread with one row. To copy a row costs less than to find out where it lies."""

    def __init__(self, network: _library.Handle, dtype: np.dtype[Any], width: int, outputs: int, choices: int) -> None:
        self.row = np.empty((1, width), dtype)
        self.outputs = np.empty((1, outputs), np.float32)
        self.classes = np.empty((1, choices), np.int64)
        self.values = np.empty((1, outputs))
        self._rows = pointers_to([self.row])
        to = address(self.outputs)
        classes = address(self.classes) if choices > 0 else None
        self.predict = (network, ctypes.addressof(self._rows), 1, to, None)
        self.answer = (network, to, 1, classes, address(self.values), None)


class Network:
    """A trained model, from a model file or a checkpoint.

    Rows are given as the training read them, before `vocabulary`, `normalize` and the like, and without the label:

    * an array or a tensor, if the model reads one field of numbers: (rows, values), (rows, 1, 28, 28), or one row;
    * a data frame, or a dict of columns, by the names of the columns or of the fields;
    * a list of dicts, one for each row.

    None and NaN are missing values: they become what the configuration says of them (``default``). Dates and times are
    ``datetime64`` or seconds since 1970. Rows that are contiguous and have the type of the field (``fields``) are read
    where they lie; others are copied.

    Any thread may call a network, also while others do, and other Python threads go on meanwhile. It can be pickled:
    the pickle holds the bytes of the model file. A network with `threads` 1 may also be used in a process that is
    forked later.

    Args:
        path: the file.
        threads: how many threads work on one call, the calling one included; 0: all.
        best: of a checkpoint, the model of the best validation, instead of the last one.
        metrics: the metrics of the program that the configuration names, as for `Trainer`.
        plugins: plug-ins with kinds that the configuration names.
    """

    result: Result | None = None
    """What the training reported, if `train()` made this network."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threads: int = 1,
        best: bool = False,
        metrics: Mapping[str, MetricFunction | Metric] | None = None,
        plugins: Sequence[str | os.PathLike[str]] = (),
        _catalog: Catalog | None = None,
    ) -> None:
        catalog = _catalog or Catalog.of(metrics=metrics, plugins=plugins)
        self._threads, self._best, self._catalog = threads, best, catalog
        self._local = threading.local()
        if not 0 <= threads <= 4096:
            raise ValueError(f"threads is {threads}, expected 0 (all) to 4096")
        if threads != 1:
            _library.uses_threads()
        made = ctypes.c_void_p()
        function = "network_load_best" if best else "network_load"
        given = catalog.handle if catalog else None
        _library.call(function, _library.path(path), threads, given, ctypes.byref(made))
        self._handle = pointer = _library.Handle(made, "network_free", catalog)
        self._outputs = int(_library.function("network_outputs")(pointer))
        self._choices = int(_library.function("network_choices")(pointer))
        self.fields = self._read_fields(pointer)
        """The fields of a row, in order."""
        classes = _library.function("network_class")
        count = _library.function("network_class_count")(pointer)
        texts = [classes(pointer, number).decode() for number in range(count)]
        # The text of class -1, which stands for a NaN, is empty.
        self._texts = np.array([*texts, ""]) if texts else None
        only = self.fields[0] if len(self.fields) == 1 else None
        self._plain = (only.dtype, only.width) if only and only.dtype is not None and only.width > 0 else (None, 0)
        self._shapes_of_one = ((1, self._plain[1]), (self._plain[1],))
        self._file, self._found = os.path.abspath(path), _identity(os.stat(path))
        self._bytes: bytes | None = None  # if the file need not be there any more

    @classmethod
    def from_bytes(cls, model: bytes, **options: Any) -> Network:
        """A network from the contents of a model file. The options are those of ``Network(path, ..)``."""
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            file.write(model)
            file.flush()
            made = cls(file.name, **options)
        made._bytes = model
        return made

    @staticmethod
    def _read_fields(pointer: _library.Handle) -> tuple[Field, ...]:
        out = []
        column = _library.function("network_column")
        for index in range(_library.function("network_field_count")(pointer)):
            found = _library.function("network_field")(pointer, index)
            named = range(max(found.width, 1)) if column(pointer, index, 0) else ()  # all values have names, or none
            out.append(field_of(found, [column(pointer, index, value).decode() for value in named]))
        return tuple(out)

    @property
    def classes(self) -> np.ndarray[Any, Any] | None:
        """The texts of the classes, in the order of the probabilities; None if the label is numbers."""
        return None if self._texts is None else self._texts[:-1]

    def outputs(self, rows: Any, *, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """What the model gives, as the loss reads it: (rows, outputs) of float32. Of a classifier these are logits.

        Args:
            rows: see `Network`.
            out: a contiguous float32 array of that shape, which then receives the outputs.
        """
        one = self._one_row(rows) if out is None else None
        if one is not None:
            return one.outputs.copy()
        dtype, width = self._plain
        plain = type(rows) is np.ndarray and rows.dtype == dtype and rows.shape[1:] == (width,)
        count, keep = (len(rows), [rows]) if plain and rows.flags.c_contiguous else values_of(rows, self.fields)
        values = pointers_to(keep)
        if out is None:
            out = np.empty((count, self._outputs), np.float32)
        elif (
            not isinstance(out, np.ndarray)
            or out.dtype != np.float32
            or out.shape != (count, self._outputs)
            or not out.flags.carray
        ):
            raise ValueError(f"out must be a contiguous float32 array of the shape ({count}, {self._outputs})")
        if self._threads != 1:
            _library.check_fork()
        if _predict(self._handle, values, count, address(out), None) != 0:
            _library.call("network_predict", self._handle, values, count, address(out))  # the same, with its error
        return out

    def _one_row(self, rows: Any) -> _OneRow | None:
        """Predicts if `rows` is an array of one row that needs no conversion."""
        if type(rows) is not np.ndarray or rows.shape not in self._shapes_of_one or rows.dtype != self._plain[0]:
            return None
        one: _OneRow
        try:
            one = self._local.one
        except AttributeError:
            dtype, width = self._plain
            assert dtype is not None
            one = self._local.one = _OneRow(self._handle, dtype, width, self._outputs, self._choices)
        if self._threads != 1:
            _library.check_fork()
        one.row[...] = rows
        if _predict(*one.predict) != 0:
            _library.call("network_predict", *one.predict[:-1])  # the same, with its error
        return one

    def predict(self, rows: Any) -> np.ndarray[Any, Any]:
        """The answers, as ``trainer predict`` gives them: of a classifier the class of each row, as its text if it has
        one, else as its number (-1 if a NaN leaves it open), else amounts, as the label was before ops of the input
        list changed it. There is an array of (rows,), or (rows, labels) if the model predicts several labels.
        """
        classes, values = self._answers(rows)
        if self._choices == 0:
            return values[:, 0] if self._outputs == 1 else values
        if self._choices > 1:
            return classes
        return classes[:, 0] if self._texts is None else self._texts[classes[:, 0]]

    def predict_proba(self, rows: Any) -> np.ndarray[Any, Any]:
        """The probability of each class: (rows, classes). If the model says yes or no for several labels, the
        probability of yes for each of them: (rows, labels). Raises TypeError if the label is an amount."""
        if self._choices == 0:
            raise TypeError("the model predicts amounts, which have no probabilities; predict() gives them")
        values = self._answers(rows)[1]
        if self._outputs == 1:
            return np.concatenate([1 - values, values], axis=1)
        return values

    def _answers(self, rows: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        one = self._one_row(rows)
        if one is not None:
            _answer(*one.answer)
            return one.classes.copy(), one.values.copy()
        outputs = self.outputs(rows)
        count = len(outputs)
        classes = np.empty((count, self._choices), np.int64)
        values = np.empty((count, self._outputs))
        _library.call("network_answer", self._handle, address(outputs), count, address(classes), address(values))
        return classes, values

    def to_bytes(self) -> bytes:
        """The contents of the model file. Raises RuntimeError if the file was changed after it was loaded."""
        if self._bytes is not None:
            return self._bytes
        with open(self._file, "rb") as file:
            model = file.read()
            found = _identity(os.fstat(file.fileno()))
        if found != self._found:
            raise RuntimeError(f"{self._file} was changed after it was loaded; load it again to pickle or save it")
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file: whole or not at all."""
        model = self.to_bytes()
        _library.call("write_file", _library.path(path), model, len(model))

    def __getstate__(self) -> dict[str, Any]:
        if self._catalog is not None and not self._catalog.pickles:
            raise TypeError("a network whose configuration names metrics of the program cannot be pickled")
        plugins = self._catalog.plugins if self._catalog else ()
        return {
            "model": self.to_bytes(),
            "threads": self._threads,
            "best": self._best,
            "plugins": plugins,
            "result": self.result,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        catalog = Catalog.of(plugins=state["plugins"])
        made = Network.from_bytes(state["model"], threads=state["threads"], best=state["best"], _catalog=catalog)
        self.__dict__.update(made.__dict__)
        self.result = state["result"]

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name}: {field.dtype or 'text'} ({field.width})" for field in self.fields)
        return f"<millrace.Network ({fields}) -> {self._outputs}>"


def _identity(file: os.stat_result) -> tuple[int, ...]:
    """What is another one after a file was changed."""
    return file.st_ino, file.st_mtime_ns, file.st_size


load = Network
