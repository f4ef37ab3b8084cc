"""Values of Python as the library takes and gives them: arrays, one for each field, and arrays of texts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
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


def address(array: np.ndarray[Any, Any]) -> int:
    """Where the values of a contiguous array lie. For arrays that may be written this takes less time."""
    if array.flags.writeable and array.size > 0:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return int(array.__array_interface__["data"][0])


def _texts_of(value: Any) -> list[bytes | None]:
    """None, NaN and the like are missing values. A whole number is a text without a point, as it is in a file."""
    out: list[bytes | None] = []
    for item in value:
        if isinstance(item, str):
            out.append(item.encode())
        elif isinstance(item, bytes):
            out.append(item)
        elif item is None or str(item) in ("nan", "<NA>", "NaT"):
            out.append(None)
        elif isinstance(item, (float, np.floating)) and float(item).is_integer():
            out.append(str(int(item)).encode())
        else:
            out.append(str(item).encode())
    if any(text is not None and b"\0" in text for text in out):
        raise ValueError("a text holds a zero byte, which ends texts for Millrace")
    return out


def to_array(value: Any) -> np.ndarray[Any, Any]:
    """An array of NumPy; a tensor of another library that lies in memory is not copied."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if hasattr(value, "to_numpy"):
        dtype: Any = getattr(value, "dtype", None)
        if hasattr(dtype, "na_value") and dtype.kind in "iufb":  # pandas has such numbers with gaps
            return value.to_numpy(dtype="float64", na_value=np.nan)  # type: ignore[no-any-return]
        if hasattr(dtype, "na_value") and dtype.kind == "M":
            return value.to_numpy(dtype="datetime64[ns]")  # type: ignore[no-any-return]
        return value.to_numpy()  # type: ignore[no-any-return]
    return np.asarray(value)


def _parsed(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Numbers of objects and texts: numbers, or else dates and times as ISO 8601 writes them. None is NaN."""
    try:
        return array.astype("f8")
    except (TypeError, ValueError) as error:
        try:
            return _seconds(array.astype("datetime64[ns]"))
        except (TypeError, ValueError):
            raise ValueError(f"the field {name} takes numbers: {error}") from None


def _seconds(times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Since the beginning of 1970, UTC; NaN if there is no time."""
    seconds = times.astype("datetime64[ns]").astype("i8") / 1e9
    return np.where(np.isnat(times), np.nan, seconds)


def _numbers_of(array: np.ndarray[Any, Any], dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """A contiguous array of the type; the array itself where it is one."""
    if array.dtype == dtype:
        return np.ascontiguousarray(array)
    if array.dtype.kind == "M":  # dates and times are seconds since 1970
        array = _seconds(array)
    numbers = array if array.dtype.kind in "fiub" else _parsed(array, name)
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
        return rows, (ctypes.c_char_p * array.size)(*_texts_of(array.reshape(-1).tolist()))
    return rows, _numbers_of(array, field.dtype, field.name)


def _count(values: int) -> str:
    return f"{values} value" + ("" if values == 1 else "s")


def _is_table(rows: Any) -> bool:
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
    return np.stack([_numbers_of(array, field.dtype, field.name) for array in arrays], axis=1)


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
        rows = {name: [row.get(name) for row in rows] for name in rows[0]}
    for field in fields:
        if field.width == 0:
            raise ValueError(f"the field {field.name} takes any number of values in a row, which Python cannot give")
    if _is_table(rows):
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
    places = [address(each) if isinstance(each, np.ndarray) else ctypes.addressof(each) for each in arrays]
    return (ctypes.c_void_p * len(places))(*places)
