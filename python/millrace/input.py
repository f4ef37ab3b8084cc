"""Input: the batches of a configuration, exactly as a training sees them."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import byref, c_char_p, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np

from . import _library
from ._catalog import Calls, Catalog
from ._columns import Field, field_of
from ._config import Config, Overrides, open_config
from .errors import Error
from ._run import end_before_python, interrupts_later, log


class _Memory:
    """The memory of a field in a batch, for NumPy: an array over it keeps the batch."""

    def __init__(
        self, batch: _library.Handle, values: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ):
        self._batch = batch
        self.__array_interface__ = {
            "version": 3,
            "data": (values, False),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
        }


class Input(_library.Closable):
    """Iterates over the batches of a configuration's ``input`` list; it needs no model.

    ::

        for batch in millrace.Input("mlp.yaml"):
            step(batch["features"], batch["label"])

    A batch is a dict with an array for each field, of (rows, ...). With `fields` it is a tuple of these arrays. They
    belong to the program: they keep their values when the next batch comes. Batches depend on configuration, seed and
    data only. An Input goes through its data once, for as many epochs as the configuration says; `epoch` is the one of
    the newest batch. Texts are arrays of str objects; a field with any number of values in a row is a list of arrays.

    One thread uses an Input; `stop()` may be called from any thread.

    Args:
        config, overrides, rows, plugins: see `Trainer`.
        fields: the names of the fields that make a tuple, in this order.
        convert: called with each array of numbers, for tensors of other libraries: ``torch.from_dlpack``,
            ``jax.numpy.from_dlpack``.
        held_out: give the rows that the op ``hold_out`` keeps from the training: once, in order, to judge a model by.
        on_log: called with warnings, rows that are left out and lines of the op ``print``; see `Trainer.run`.
    """

    def __init__(
        self,
        config: Config,
        overrides: Overrides = None,
        *,
        rows: Mapping[str, Any] | None = None,
        plugins: Sequence[str | os.PathLike[str]] = (),
        fields: Sequence[str] | None = None,
        convert: Callable[[np.ndarray[Any, Any]], Any] | None = None,
        held_out: bool = False,
        on_log: Callable[[str], object] | None = None,
    ) -> None:
        _library.uses_threads()
        self._catalog = Catalog.of(rows, None, plugins)
        self._handle = open_config("input", config, overrides, self._catalog, int(held_out))
        count = _library.function("input_field_count")(self._open)
        self._shapes = [self._shape(index) for index in range(count)]
        self.fields = tuple(field_of(_library.function("input_field")(self._open, index)) for index in range(count))
        """The fields of a row."""
        names = [field.name for field in self.fields]
        for name in fields or ():
            if name not in names:
                raise ValueError(f"the rows have no field {name!r}; they have {', '.join(names)}")
        self._as_tuple = fields is not None
        self._wanted = [(name, names.index(name)) for name in (names if fields is None else fields)]
        self._convert = convert
        self._batch: _library.Handle | None = None
        self._saves = threading.Lock()
        self._log_calls = Calls()
        self._on_log = _library.OnLog(_note_log(on_log or log, self._log_calls))
        _library.call("input_on_log", self._open, self._on_log, None)
        end_before_python(self)

    def _next(self) -> _library.Handle:
        """The next batch; it is NULL at the end."""
        made = c_void_p()
        _library.call("input_next", self._open, byref(made))
        return _library.Handle(made, "batch_free")

    def _shape(self, index: int) -> tuple[int, ...]:
        room = (c_int64 * 8)()
        rank = _library.function("input_shape")(self._open, index, room, len(room))
        return tuple(room[:rank])

    @property
    def batch_size(self) -> int:
        """The most rows of a batch."""
        return int(_library.function("input_batch_size")(self._open))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        calls = self._catalog.calls if self._catalog is not None else None
        if calls is None or not calls.iterate:
            batch = self._next()
        else:
            try:
                with interrupts_later(calls):
                    batch = self._next()
            except Error as error:
                if calls.error is not None:
                    raise calls.error from error
                raise
        if self._log_calls.error is not None:
            error_of_log, self._log_calls.error = self._log_calls.error, None
            raise error_of_log
        if batch.value is None:
            raise StopIteration
        self._batch = batch
        rows = int(_library.function("batch_rows")(batch))
        arrays = ((name, self._array(batch, index, rows)) for name, index in self._wanted)
        return tuple(array for _, array in arrays) if self._as_tuple else dict(arrays)

    def _array(self, batch: _library.Handle, index: int, rows: int) -> Any:
        found = _library.Values(ctypes.sizeof(_library.Values))
        _library.call("batch_values", batch, index, byref(found))
        field = self.fields[index]
        if field.dtype is None:
            values = _texts(found, rows * field.width if field.width > 0 else found.row_ends[rows - 1])
            if field.width > 0:
                return values.reshape(rows, *self._shapes[index])
            return _split(values, found, rows)
        if field.width == 0:
            count = found.row_ends[rows - 1]
            memory = _Memory(batch, found.values or 0, (count,), (field.dtype.itemsize,), field.dtype)
            return _split(np.asarray(memory) if count else np.empty(0, field.dtype), found, rows)
        shape = (rows, *self._shapes[index])
        strides = [field.dtype.itemsize]
        for size in reversed(shape[2:]):
            strides.insert(0, strides[0] * size)
        memory = _Memory(batch, found.values, shape, (found.row_bytes, *strides), field.dtype)
        array = np.ascontiguousarray(memory)  # rows with gaps between them are copied
        return array if self._convert is None else self._convert(array)

    @property
    def epoch(self) -> int:
        """The pass over the data that the newest row of the newest batch comes from, counted from 1."""
        return int(_library.function("batch_epoch")(self._newest()))

    def places(self) -> list[str]:
        """Where each row of the newest batch comes from: ``a.csv:17``."""
        batch, place, out = self._newest(), c_char_p(), []
        for row in range(_library.function("batch_rows")(batch)):
            _library.call("batch_place", batch, self._open, row, byref(place))
            out.append((place.value or b"").decode(errors="surrogateescape"))
        return out

    def _newest(self) -> _library.Handle:
        if self._batch is None:
            raise ValueError("no batch was made yet")
        return self._batch

    def state(self) -> bytes:
        """The state after the newest batch. It holds names and places, and no rows."""
        data, size = c_void_p(), c_size_t()
        with self._saves:  # the bytes live until the next call
            _library.call("input_save", self._open, byref(data), byref(size))
            return ctypes.string_at(data, size.value)

    def restore(self, state: bytes) -> None:
        """Makes a new Input of the same configuration go on after a state, also with another number of threads."""
        _library.call("input_restore", self._open, bytes(memoryview(state)), len(state))

    def stop(self) -> None:
        """Ends the batches, even if a thread waits for one. From any thread."""
        _library.function("input_stop")(self._open)

    def close(self) -> None:
        """Frees threads and files now, or when the batch that is being made is there. Arrays of batches stay."""
        self._handle = None

    def _end_now(self) -> None:
        """Closes it, and waits until no thread is inside of the library."""
        handle, self._handle, made = self._handle, None, c_void_p()
        if handle is not None:
            _library.function("input_stop")(handle)
            while _library.function("input_next")(handle, byref(made), None) == _library.ERROR_CALL:
                time.sleep(0.01)

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _note_log(on_log: Callable[[str], object], calls: Calls) -> Callable[[Any, bytes], None]:
    def call(user: Any, text: bytes) -> None:
        try:
            on_log(text.decode(errors="replace"))
        except BaseException as error:
            calls.failed(error)

    return call


def _texts(found: _library.Values, count: int) -> np.ndarray[Any, Any]:
    ends = np.ctypeslib.as_array(found.text_ends, (count,)) if count else np.empty(0, np.int64)
    size = int(ends[-1]) if count else 0
    joined = ctypes.string_at(found.values, size) if size else b""
    out = np.empty(count, object)
    begin = 0
    for index, end in enumerate(ends.tolist()):
        out[index] = joined[begin:end].decode(errors="surrogateescape")
        begin = end
    return out


def _split(values: np.ndarray[Any, Any], found: _library.Values, rows: int) -> list[Any]:
    ends = [0, *found.row_ends[:rows]]
    return [values[begin:end] for begin, end in zip(ends, ends[1:])]
