"""The C interface from Python, with nothing but ctypes: what train.py and texts.py need of it. The first argument of
the program may name the library."""

import ctypes
import sys
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p

FLOAT32, TEXT = 0, 5


class Field(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int32), ("width", c_int64)]


class Step(ctypes.Structure):
    _fields_ = [("step", c_int64), ("epoch", c_uint64), ("batch_size", c_int64), ("loss", c_double),
                ("rows_per_s", c_double), ("input_wait", c_double), ("seconds", c_double)]


OnStep = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(Step))
OnLog = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Callbacks(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("on_step", OnStep), ("on_log", OnLog)]


class Result(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("steps", c_int64), ("rows", c_uint64), ("epochs", c_uint64),
                ("seconds", c_double), ("loss", c_double), ("input_wait", c_double),
                ("weights", ctypes.c_char * 65), ("reason", ctypes.c_char * 31)]


library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libmillrace.so")
library.millrace_error_text.restype = c_char_p
library.millrace_network_class.restype = c_char_p
library.millrace_network_class.argtypes = [c_void_p, c_int64]
for name in ("error_text", "error_free", "network_free", "trainer_free", "catalog_free"):
    getattr(library, "millrace_" + name).argtypes = [c_void_p]


def call(name, *arguments):
    """Calls a function that takes an error last; what it tells becomes an exception."""
    error = c_void_p()
    if getattr(library, "millrace_" + name)(*arguments, byref(error)) != 0:
        text = library.millrace_error_text(error).decode()
        library.millrace_error_free(error)
        raise RuntimeError(text)


def floats(values):
    values = list(values)
    return (ctypes.c_float * len(values))(*values)


def texts(values):
    """None is a missing text."""
    values = [None if value is None else value.encode() for value in values]
    return (c_char_p * len(values))(*values)


def pointers(*arrays):
    """The addresses of the values of each field. The result keeps the arrays alive, which plain addresses would not."""
    return (c_void_p * len(arrays))(*[ctypes.cast(values, c_void_p) for values in arrays])


def add_rows(catalog, kind, rows, fields, values):
    """Adds the op `kind`; a field is (name, type, width)."""
    described = (Field * len(fields))(*[Field(name.encode(), kind_of, width) for name, kind_of, width in fields])
    call("catalog_add_rows", catalog, kind.encode(), described, c_size_t(len(fields)), c_int64(rows), pointers(*values))
