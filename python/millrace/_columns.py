"""Values of Python as the library takes and gives them: arrays, one for each field, and arrays of texts."""

from __future__ import annotations

import ctypes
import datetime
import decimal
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from . import _library

# By the numbers of millrace_type.
DTYPES: tuple[np.dtype[Any], ...] = tuple(np.dtype(name) for name in ("f4", "f8", "i4", "i8", "u1"))


class Field(NamedTuple):
    """A field of a row."""

    name: str
    dtype: np.dtype[Any] | None
    """The type of its numbers; None: texts."""
    width: int
    """How many values a row has; 0: any number."""
    columns: tuple[str, ...] = ()
    """The columns in the data of the training that the values come from, where the configuration names them."""


def field_of(found: _library.Field, columns: Sequence[str] = ()) -> Field:
    dtype = None if found.type == _library.TEXT else DTYPES[found.type]
    return Field(found.name.decode(), dtype, found.width, tuple(columns))


def address(array: Any) -> int:
    """Where the values of a contiguous array lie. For arrays that may be written this takes less time."""
    if not isinstance(array, np.ndarray):
        return ctypes.addressof(array)
    if array.flags.writeable and array.size > 0:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return int(array.__array_interface__["data"][0])


def _is_gap(item: Any) -> bool:
    """None, NaN and the like are missing values."""
    return item is None or (not isinstance(item, (str, bytes)) and str(item) in ("nan", "<NA>", "NaT"))


def text_of(item: Any) -> bytes | None:
    """A whole number is a text without a point, as it is in a file."""
    if isinstance(item, (str, bytes)):
        return _library.text(item)
    if _is_gap(item):
        return None
    if isinstance(item, (float, np.floating)) and float(item).is_integer():
        item = int(item)
    return _library.text(str(item))


def to_array(value: Any) -> np.ndarray[Any, Any]:
    """An array of NumPy; a tensor of another library that lies in memory is not copied."""
    if isinstance(value, np.ma.MaskedArray):
        value = _without_mask(value)
    elif hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        return np.from_dlpack(value)
    elif hasattr(value, "to_numpy"):
        value = _of_column(value)
    array = np.asarray(value)
    if isinstance(value, (list, tuple)) and array.dtype.kind in "US":
        array = np.asarray(value, object)  # NumPy would make texts of gaps
    return _typed(array) if array.dtype.kind == "O" else array


def _without_mask(array: np.ma.MaskedArray[Any, Any]) -> np.ndarray[Any, Any]:
    """What is masked is missing."""
    out: np.ndarray[Any, Any] = array.data
    if np.ma.is_masked(array):
        gap = {"f": np.nan, "M": np.datetime64("NaT")}.get(array.dtype.kind)
        out = out.astype(out.dtype if gap is not None else object)
        out[np.ma.getmaskarray(array)] = gap
    return out


def _of_column(column: Any) -> Any:
    """Of a column of pandas or polars."""
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "na_value") and dtype.kind in "iufb" and column.isna().any():
        return column.to_numpy(dtype="float64", na_value=np.nan)
    if hasattr(dtype, "na_value") and dtype.kind == "M":
        return column.to_numpy(dtype="datetime64[us]")
    return column.to_numpy()


def _typed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers with and without gaps that NumPy holds as objects."""
    items = array.reshape(-1).tolist()
    numbers = False
    for index, item in enumerate(items):
        if isinstance(item, (Real, decimal.Decimal)) and not isinstance(item, bool):
            numbers = True
        elif not _is_gap(item):
            return array
        else:
            items[index] = np.nan
    typed = np.array(items).reshape(array.shape) if numbers else array
    return typed.astype("f8") if numbers and typed.dtype.kind == "O" else typed


def _parsed(array: np.ndarray[Any, Any], dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """Numbers of texts, or in a field of float64 seconds of dates and times: objects, or texts as ISO 8601 writes them.
    An empty text is missing, as in a file."""
    items = [None if _is_gap(item) or item in ("", b"") else item for item in array.reshape(-1).tolist()]
    try:
        numbers = np.array([np.nan if item is None else float(item) for item in items])
    except (TypeError, ValueError) as error:
        try:
            if dtype != np.float64:
                raise
            numbers = _seconds(np.array(["NaT" if item is None else _in_utc(item) for item in items], "M8[us]"))
        except (TypeError, ValueError):
            raise ValueError(f"the field {name} takes numbers: {error}") from None
    return numbers.reshape(array.shape)


def _in_utc(item: Any) -> Any:
    """NumPy knows no time zones."""
    zone = getattr(item, "tzinfo", None)
    return item if zone is None else item.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def _seconds(times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Since the beginning of 1970, UTC; NaN if there is no time."""
    seconds = times.astype("M8[us]").astype("i8") / 1e6
    return np.where(np.isnat(times), np.nan, seconds)


def numbers_of(array: np.ndarray[Any, Any], dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """A contiguous array of the type; the array itself where it is one."""
    if array.dtype == dtype:
        return np.ascontiguousarray(array)
    if array.dtype.kind == "M":
        numbers = _seconds(array)
    elif array.dtype.kind in "OSUT":
        numbers = _parsed(array, dtype, name)
    elif array.dtype.kind in "fiub":
        numbers = array
    else:
        raise ValueError(f"the field {name} takes numbers, got {array.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        out = np.ascontiguousarray(numbers, dtype)
    if dtype.kind != "f" and not np.can_cast(numbers.dtype, dtype) and not np.array_equal(out, numbers):
        raise ValueError(f"the field {name} takes {dtype}, which cannot hold all values")
    return out


def _rows_of(value: Any, field: Field) -> tuple[int, Any]:
    """How many rows there are, and their values in one contiguous array."""
    array = to_array(value)
    width = field.width
    if array.ndim == 0:
        array = array.reshape(1)
    rows = array.shape[0] if width == 1 or array.ndim > 1 else 1
    if array.size != rows * width:
        per_row = array.size // max(rows, 1)
        raise ValueError(f"the field {field.name} has {_count(width)} in each row, got {_count(per_row)} in each row")
    if field.dtype is None:
        return rows, (ctypes.c_char_p * array.size)(*map(text_of, array.reshape(-1).tolist()))
    return rows, numbers_of(array, field.dtype, field.name)


def _count(values: int) -> str:
    return f"{values} value" + ("" if values == 1 else "s")


def is_table(rows: Any) -> bool:
    return isinstance(rows, Mapping) or (hasattr(rows, "columns") and hasattr(rows, "__getitem__"))


def names_in(table: Any) -> list[Any]:
    return list(table.keys() if isinstance(table, Mapping) else table.columns)


def _from_columns(table: Any, field: Field) -> Any:
    """The columns of a field side by side."""
    columns = [table[name] for name in field.columns]
    if len(columns) == 1:
        return columns[0]
    if field.dtype is None:
        return np.stack([np.atleast_1d(np.asarray(column, object)) for column in columns], axis=1)
    arrays = [np.atleast_1d(to_array(column)) for column in columns]
    return np.stack([numbers_of(array, field.dtype, field.name) for array in arrays], axis=1)


def _from_table(table: Any, fields: Sequence[Field]) -> list[Any]:
    names = names_in(table)
    known = set(names)
    out = []
    for field in fields:
        if field.name in known:
            out.append(table[field.name])
        elif field.columns and known.issuperset(field.columns):
            out.append(_from_columns(table, field))
        elif len(fields) == 1 and not field.columns and len(names) == field.width and hasattr(table, "to_numpy"):
            out.append(table.to_numpy())  # a data frame without names that the model knows
        elif len(fields) == 1 and not field.columns and hasattr(table, "to_numpy"):
            raise ValueError(
                f"the model reads {_count(field.width)} in each row, whose columns have no names, "
                f"got {len(names)} columns; select those columns, in the order of the training"
            )
        else:
            wanted = [name for name in field.columns if name not in known] or [field.name]
            raise ValueError(
                f"the model reads the column {wanted[0]!r}, which the rows lack; they have "
                + (", ".join(repr(name) for name in names[:10]) or "none")
                + (", .." if len(names) > 10 else "")
            )
    return out


def values_of(rows: Any, fields: Sequence[Field]) -> tuple[int, list[Any]]:
    """The number of rows and, for each field, an array or an array of texts."""
    if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], Mapping):
        names = dict.fromkeys(name for row in rows for name in row)
        rows = {name: [row.get(name) for row in rows] for name in names}
    for field in fields:
        if field.width == 0:
            raise ValueError(f"the field {field.name} takes any number of values in a row, which Python cannot give")
    if is_table(rows):
        values = _from_table(rows, fields)
    elif len(fields) == 1:
        values = [rows]
    else:
        wanted = [name for field in fields for name in (field.columns or [field.name])]
        raise ValueError(f"the model reads several fields: give a dict or a data frame with {', '.join(wanted)}")
    counts, arrays = zip(*(_rows_of(value, field) for value, field in zip(values, fields)))
    if len(set(counts)) != 1:
        lengths = ", ".join(f"{field.name}: {count}" for field, count in zip(fields, counts))
        raise ValueError(f"all fields must have the same number of rows, got {lengths}")
    return counts[0], list(arrays)


def pointers_to(arrays: Iterable[Any]) -> Any:
    """For the argument `values` of the C interface. The arrays must outlive it."""
    places = [address(each) for each in arrays]
    return (ctypes.c_void_p * len(places))(*places)
