"""Catalog: rows, metrics and plug-ins of a program, by the names that a configuration has for them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import byref, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple

import numpy as np

from . import _library
from ._columns import DTYPES, Field, address, names_in, pointers_to, to_array, values_of

MetricFunction = Callable[..., float]


class Metric(NamedTuple):
    """A metric of the program. `function` is called as ``function(labels, predictions)``, and with ``sample_weight=..``
    if rows have weights. The predictions are what the loss reads, logits of a classifier. Both are float64 arrays of
    (rows,), or (rows, values)."""

    function: MetricFunction
    less_is_better: bool = False


class Catalog:
    """Keeps what the library calls as long as it may be called. The first exception of a function is in `error`."""

    def __init__(self) -> None:
        pointer = c_void_p()
        _library.call("catalog_new", byref(pointer))
        self._handle = _library.Handle(pointer, "catalog_free")
        self.pointer = pointer
        self.plugins: tuple[str, ...] = ()
        self.pickles = True
        self.error: BaseException | None = None
        self.ask: Callable[[Callable[[], Any]], Any] = lambda function: function()
        """Calls a function of the program on the thread where the program wants it; None if it raised an exception."""
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
            _library.load_plugin(self.pointer, plugin)
        for kind, metric in (metrics or {}).items():
            self._add_metric(kind, metric if isinstance(metric, Metric) else Metric(metric))
        for kind, source in (rows or {}).items():
            self._add_source(kind, source)
        return self

    def _add_metric(self, kind: str, metric: Metric) -> None:
        self.pickles = False

        def judge(judged: _library.Judged) -> float:
            def numbers(values: Any, width: int) -> np.ndarray[Any, Any]:
                array = np.ctypeslib.as_array(values, (judged.rows * width,)).copy()
                return array if width == 1 else array.reshape(judged.rows, width)

            labels = numbers(judged.labels, judged.labels_of_a_row)
            predictions = numbers(judged.predictions, judged.outputs)
            weights = {"sample_weight": numbers(judged.weights, 1)} if judged.weights else {}
            value = self.ask(lambda: float(metric.function(labels, predictions, **weights)))
            return float("nan") if value is None else value

        def call(user: Any, judged: Any) -> float:
            try:
                return judge(judged.contents)
            except BaseException as error:
                self.error = self.error or error
                return float("nan")

        function = _library.Metric(call)
        self._kept.append(function)
        _library.call("catalog_add_metric", self.pointer, kind.encode(), int(metric.less_is_better), function, None)

    def _add_source(self, kind: str, source: Any) -> None:
        if isinstance(source, Mapping) or hasattr(source, "columns"):
            fields = fields_of(source)
            count, arrays = values_of({field.name: source[field.name] for field in fields}, fields)
            values = pointers_to(arrays)
            _library.call(
                "catalog_add_rows", self.pointer, kind.encode(), *_fields_to_c(fields), c_int64(count), values
            )
            return
        feed = Feed(source, self)
        function = _library.Fill(feed)
        self._kept.append(function)
        room = max(1, min(4096, (1 << 20) // feed.row_bytes))
        _library.call(
            "catalog_add_callback",
            self.pointer,
            kind.encode(),
            *_fields_to_c(feed.fields),
            c_int64(room),
            function,
            None,
        )


def _stored_as(array: np.ndarray[Any, Any]) -> np.dtype[Any] | None:
    """The type of a field for values of a program: that of the array where the library has it, else the nearest one.
    Layers compute in float32, so float64 becomes float32; dates and times stay float64. None: texts."""
    if array.dtype.kind in "OSUT" or array.dtype.name in ("str", "category"):
        return None
    if array.dtype.kind == "M":
        return np.dtype("f8")
    if array.dtype.kind == "f":
        return np.dtype("f4")
    if array.dtype in DTYPES:
        found: np.dtype[Any] = array.dtype
        return found
    if array.dtype.kind in "biu":
        return np.dtype("i4" if array.dtype.itemsize < 4 else "i8")
    raise ValueError(f"rows cannot hold values of the type {array.dtype}")


def fields_of(columns: Any) -> list[Field]:
    """The fields of a dict of columns, or of a data frame: one for each column."""
    out = []
    for name in names_in(columns):
        array = to_array(columns[name])
        if array.ndim == 0:
            raise ValueError(f"the column {name!r} is a single value, expected one for each row")
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        out.append(Field(str(name), _stored_as(array), width))
    if not out:
        raise ValueError("the rows have no columns")
    return out


def _fields_to_c(fields: Sequence[Field]) -> tuple[Any, c_size_t]:
    array = (_library.Field * len(fields))()
    for field, to in zip(fields, array):
        number = _library.TEXT if field.dtype is None else DTYPES.index(field.dtype)
        to.name, to.type, to.width = field.name.encode(), number, field.width
    return array, c_size_t(len(fields))


class Feed:
    """Rows from batches of a program: from a function that returns an iterator of dicts of columns for each pass, or
    from an iterable of them, which is one pass unless it can be iterated again."""

    def __init__(self, source: Callable[[], Iterable[Any]] | Iterable[Any], catalog: Catalog) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise TypeError(
                f"rows must be a dict of arrays, a data frame, an iterable of these, or a function that returns one, "
                f"got {type(source).__name__}"
            )
        self._source, self._catalog = source, catalog
        self._pass = 0
        self._batches: Iterator[Any] | None = self._begin()
        try:
            self._first = next(self._batches)
        except StopIteration:
            raise ValueError("the rows are empty") from None
        self.fields = fields_of(self._first)
        self.row_bytes = sum((field.dtype.itemsize if field.dtype else 64) * field.width for field in self.fields)
        self._waits: tuple[int, list[Any]] | None = self._take(self._first)
        self._at = 0
        self._texts: list[Any] = []

    def _begin(self) -> Iterator[Any]:
        batches = self._source() if callable(self._source) else self._source
        if self._pass > 0 and batches is iter(batches) and not callable(self._source):
            raise ValueError(
                "an iterator gives its rows once; for further passes give a function that returns iterators"
            )
        return iter(batches)

    def _take(self, batch: Any) -> tuple[int, list[Any]]:
        return values_of({field.name: batch[field.name] for field in self.fields}, self.fields)

    def __call__(self, user: Any, number: int, room: int, values: Any) -> int:
        try:
            if number != self._pass:
                self._pass, self._waits = number, None
                self._batches = self._begin()
            elif self._batches is None:
                return 0
            return self._fill(room, values)
        except BaseException as error:
            self._catalog.error = self._catalog.error or error
            return -1

    def _fill(self, room: int, values: Any) -> int:
        assert self._batches is not None
        while self._waits is None or self._at == self._waits[0]:
            self._at = 0
            try:
                self._waits = self._take(next(self._batches))
            except StopIteration:
                self._batches = self._waits = None
                return 0
        count, arrays = self._waits
        rows = min(room, count - self._at)
        self._texts = [array for array in arrays if not isinstance(array, np.ndarray)]
        for index, (field, array) in enumerate(zip(self.fields, arrays)):
            from_ = address(array) if isinstance(array, np.ndarray) else ctypes.addressof(array)
            size = field.width * (field.dtype.itemsize if field.dtype else ctypes.sizeof(c_void_p))
            ctypes.memmove(values[index], from_ + self._at * size, rows * size)
        self._at += rows
        return rows
