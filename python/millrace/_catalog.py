"""Catalog: rows, metrics and plug-ins of a program, by the names that a configuration has for them."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import byref, c_int64, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _library
from ._columns import DTYPES, Field, address, is_table, names_in, pointers_to, to_array, values_of

if TYPE_CHECKING:
    from ._run import Run

MetricFunction = Callable[..., float]


class Metric(NamedTuple):
    """A metric of the program. `function` is called as ``function(labels, predictions)``, and with ``sample_weight=..``
    if rows have weights. The predictions are what the loss reads, logits of a classifier. Both are float64 arrays of
    (rows,), or (rows, values)."""

    function: MetricFunction
    less_is_better: bool = False


class Calls:
    """How the library calls functions of the program."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        """The first exception of a function."""
        self.run: Run | None = None
        """The training that runs now."""
        self.iterate = False
        """Whether rows come from iterators."""
        self.inside: threading.Thread | None = None
        """The thread that runs code of an iterator now."""

    def ask(self, function: Callable[[], Any]) -> Any:
        """Calls it on the thread where the program wants it; None if it raised an exception."""
        return function() if self.run is None else self.run.ask(function)

    def failed(self, error: BaseException) -> None:
        self.error = self.error or error


class Catalog:
    """Keeps what the library calls. The handles that the library makes with it keep it in turn."""

    def __init__(self) -> None:
        made = c_void_p()
        _library.call("catalog_new", byref(made))
        self.handle = _library.Handle(made, "catalog_free")
        self.plugins: tuple[str, ...] = ()
        self.pickles = True
        self.calls = Calls()
        self._kept: list[Any] = []

    @classmethod
    def of(
        cls,
        rows: Mapping[str, Any] | None = None,
        metrics: Mapping[str, MetricFunction | Metric] | None = None,
        plugins: Sequence[str | os.PathLike[str]] = (),
    ) -> Catalog | None:
        """None if there is nothing besides the built-in kinds."""
        if not rows and not metrics and not plugins:
            return None
        self = cls()
        self.plugins = tuple(os.path.abspath(plugin) for plugin in plugins)
        for plugin in self.plugins:
            _library.load_plugin(self.handle, plugin)
        for kind, metric in (metrics or {}).items():
            self._add_metric(kind, metric if isinstance(metric, Metric) else Metric(metric))
        rows = rows or {}
        for kind, source in rows.items():
            same = " and ".join(name for name, other in rows.items() if other is source)
            if same != kind and isinstance(source, Iterator):
                raise ValueError(f"{same} are one iterator, so each would get a part of its rows; give each its own")
            self._add_source(kind, source)
        return self

    def _add_metric(self, kind: str, metric: Metric) -> None:
        self.pickles = False
        calls = self.calls

        def judge(judged: _library.Judged) -> float:
            def numbers(values: Any, width: int) -> np.ndarray[Any, Any]:
                array = np.ctypeslib.as_array(values, (judged.rows * width,)).copy()
                return array if width == 1 else array.reshape(judged.rows, width)

            labels = numbers(judged.labels, judged.labels_of_a_row)
            predictions = numbers(judged.predictions, judged.outputs)
            weights = {"sample_weight": numbers(judged.weights, 1)} if judged.weights else {}
            value = calls.ask(lambda: float(metric.function(labels, predictions, **weights)))
            return float("nan") if value is None else value

        def call(user: Any, judged: Any) -> float:
            try:
                return judge(judged.contents)
            except BaseException as error:
                calls.failed(error)
                return float("nan")

        function = _library.Metric(call)
        self._kept.append(function)
        name = _library.text(kind)
        _library.call("catalog_add_metric", self.handle, name, int(metric.less_is_better), function, None)

    def _add_source(self, kind: str, source: Any) -> None:
        name = _library.text(kind)
        if is_table(source):
            columns = columns_of(source)
            fields = fields_of(columns)
            count, arrays = values_of(columns, fields)
            values = pointers_to(arrays)
            _library.call("catalog_add_rows", self.handle, name, *_fields_to_c(fields), c_int64(count), values)
            return
        self.calls.iterate = True
        feed = Feed(source, self.calls)
        function = _library.Fill(feed)
        self._kept.append(function)
        room = c_int64(max(1, min(4096, (1 << 20) // feed.row_bytes)))
        _library.call("catalog_add_callback", self.handle, name, *_fields_to_c(feed.fields), room, function, None)


def _stored_as(array: np.ndarray[Any, Any]) -> np.dtype[Any] | None:
    """The type of a field for values of a program: that of the array where the library has it, else the nearest one.
    None: texts."""
    if array.dtype.kind in "OSUT":
        return None
    if array.dtype.kind in "fM":
        return np.dtype("f8" if array.dtype.itemsize >= 8 else "f4")
    if array.dtype in DTYPES:
        found: np.dtype[Any] = array.dtype
        return found
    if array.dtype.kind in "biu":
        return np.dtype("i4" if array.dtype.itemsize < 4 else "i8")
    raise ValueError(f"rows cannot hold values of the type {array.dtype}")


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of rows of the program, by the names of their fields."""
    if not is_table(table):
        raise TypeError(f"rows must be dicts of columns or data frames, got {type(table).__name__}")
    names = names_in(table)
    out = {str(name): table[name] for name in names}
    if len(out) < len(names):
        raise ValueError("two columns have the same name")
    return out


def fields_of(columns: Mapping[str, Any]) -> list[Field]:
    """One for each column."""
    out = []
    for name, column in columns.items():
        array = to_array(column)
        if array.ndim == 0:
            raise ValueError(f"the column {name!r} is a single value, expected one for each row")
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        out.append(Field(name, _stored_as(array), width))
    if not out:
        raise ValueError("the rows have no columns")
    return out


def _fields_to_c(fields: Sequence[Field]) -> tuple[Any, c_size_t]:
    array = (_library.Field * len(fields))()
    for field, to in zip(fields, array):
        number = _library.TEXT if field.dtype is None else DTYPES.index(field.dtype)
        to.name, to.type, to.width = _library.text(field.name), number, field.width
    return array, c_size_t(len(fields))


class Feed:
    """Rows from batches of a program: from a function that returns an iterator of dicts of columns for each pass, or
    from an iterable of them, which is one pass unless it can be iterated again."""

    def __init__(self, source: Callable[[], Iterable[Any]] | Iterable[Any], calls: Calls) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise TypeError(
                f"rows must be a dict of arrays, a data frame, an iterable of these, or a function that returns one, "
                f"got {type(source).__name__}"
            )
        self._source, self._calls = source, calls
        self._pass = 0
        self._batches: Iterator[Any] | None = self._begin()
        try:
            first = columns_of(next(self._batches))
        except StopIteration:
            raise ValueError("the rows are empty") from None
        self.fields = fields_of(first)
        self.row_bytes = sum((field.dtype.itemsize if field.dtype else 64) * field.width for field in self.fields)
        self._waits: tuple[int, list[Any]] | None = values_of(first, self.fields)
        self._at = 0

    def _begin(self) -> Iterator[Any]:
        batches = self._source() if callable(self._source) else self._source
        if self._pass > 0 and batches is iter(batches) and not callable(self._source):
            raise ValueError(
                "an iterator gives its rows once; for further passes give a function that returns iterators"
            )
        return iter(batches)

    def __call__(self, user: Any, number: int, room: int, values: Any) -> int:
        try:
            self._calls.inside = threading.current_thread()
            if number != self._pass:
                self._pass, self._waits = number, None
                self._batches = self._begin()
            elif self._batches is None:
                return 0
            return self._fill(room, values)
        except BaseException as error:
            self._calls.failed(error)
            return -1
        finally:
            self._calls.inside = None

    def _fill(self, room: int, values: Any) -> int:
        assert self._batches is not None
        while self._waits is None or self._at == self._waits[0]:
            self._at = 0
            try:
                self._waits = values_of(columns_of(next(self._batches)), self.fields)
            except StopIteration:
                self._batches = self._waits = None
                return 0
        count, arrays = self._waits
        rows = min(room, count - self._at)
        for index, (field, array) in enumerate(zip(self.fields, arrays)):
            size = field.width * (field.dtype.itemsize if field.dtype else ctypes.sizeof(c_void_p))
            ctypes.memmove(values[index], address(array) + self._at * size, rows * size)
        self._at += rows
        return rows
