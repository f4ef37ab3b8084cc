"""The C interface, millrace/c.h, by ctypes: where the library is, its structures and functions, handles and forks."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from .errors import BY_STATUS, ForkError, InternalError

SONAME = "libmillrace.so.0.2"
TEXT = 5
ERROR_CALL = 8


class Field(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int32), ("width", c_int64)]


class Score(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Judged(ctypes.Structure):
    _fields_ = [
        ("rows", c_int64),
        ("outputs", c_int64),
        ("labels_of_a_row", c_int64),
        ("predictions", POINTER(c_double)),
        ("labels", POINTER(c_double)),
        ("weights", POINTER(c_double)),
    ]


class Step(ctypes.Structure):
    _fields_ = [
        ("step", c_int64),
        ("epoch", c_uint64),
        ("batch_size", c_int64),
        ("loss", c_double),
        ("rows_per_s", c_double),
        ("input_wait", c_double),
        ("seconds", c_double),
        ("done", c_double),
        ("scores", POINTER(Score)),
        ("score_count", c_size_t),
    ]


class Validation(ctypes.Structure):
    _fields_ = [
        ("step", c_int64),
        ("rows", c_uint64),
        ("loss", c_double),
        ("best", c_int),
        ("scores", POINTER(Score)),
        ("score_count", c_size_t),
    ]


class Resume(ctypes.Structure):
    _fields_ = [
        ("step", c_int64),
        ("file", c_char_p),
        ("notes", POINTER(c_char_p)),
        ("note_count", c_size_t),
        ("warnings", POINTER(c_char_p)),
        ("warning_count", c_size_t),
    ]


class Checkpoint(ctypes.Structure):
    _fields_ = [("step", c_int64), ("file", c_char_p)]


OnStep = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Step))
OnLog = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
OnValidation = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Validation))
OnResume = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Resume))
OnCheckpoint = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Checkpoint))
Fill = ctypes.CFUNCTYPE(c_int64, c_void_p, ctypes.c_uint32, c_int64, POINTER(c_void_p))
Metric = ctypes.CFUNCTYPE(c_double, c_void_p, POINTER(Judged))


class Callbacks(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("user", c_void_p),
        ("on_step", OnStep),
        ("on_log", OnLog),
        ("on_validation", OnValidation),
        ("on_resume", OnResume),
        ("on_checkpoint", OnCheckpoint),
        ("on_progress", OnStep),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("steps", c_int64),
        ("rows", c_uint64),
        ("epochs", c_uint64),
        ("seconds", c_double),
        ("loss", c_double),
        ("input_wait", c_double),
        ("weights", c_char * 65),
        ("reason", c_char * 31),
        ("resumed", c_int64),
        ("checkpoints", c_int64),
        ("late_checkpoints", c_int64),
        ("failed_checkpoints", c_int64),
    ]


class Values(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("values", c_void_p),
        ("row_bytes", c_int64),
        ("row_ends", POINTER(c_int64)),
        ("text_ends", POINTER(c_int64)),
    ]


_SETTINGS = (POINTER(c_char_p), c_size_t)
_FIELDS = (POINTER(Field), c_size_t)
_POINTERS = POINTER(c_void_p)

# What each function takes before `error`; all return a status.
_CALLS: dict[str, tuple[Any, ...]] = {
    "catalog_new": (_POINTERS,),
    "catalog_load_plugin": (c_void_p, c_char_p),
    "catalog_add_rows": (c_void_p, c_char_p, *_FIELDS, c_int64, _POINTERS),
    "catalog_add_callback": (c_void_p, c_char_p, *_FIELDS, c_int64, Fill, c_void_p),
    "catalog_add_metric": (c_void_p, c_char_p, c_int, Metric, c_void_p),
    "trainer_from_file": (c_char_p, *_SETTINGS, c_void_p, _POINTERS),
    "trainer_from_string": (c_char_p, c_char_p, *_SETTINGS, c_void_p, _POINTERS),
    "trainer_resume": (c_void_p, c_char_p, POINTER(c_int64)),
    "trainer_run": (c_void_p, POINTER(Callbacks), POINTER(Result)),
    "trainer_save": (c_void_p, c_char_p),
    "write_file": (c_char_p, c_char_p, c_size_t),
    "network_load": (c_char_p, c_int, c_void_p, _POINTERS),
    "network_load_best": (c_char_p, c_int, c_void_p, _POINTERS),
    "network_predict": (c_void_p, c_void_p, c_int64, c_void_p),
    "network_answer": (c_void_p, c_void_p, c_int64, c_void_p, c_void_p),
    "input_from_file": (c_char_p, *_SETTINGS, c_int, c_void_p, _POINTERS),
    "input_from_string": (c_char_p, c_char_p, *_SETTINGS, c_int, c_void_p, _POINTERS),
    "input_on_log": (c_void_p, OnLog, c_void_p),
    "input_next": (c_void_p, _POINTERS),
    "input_save": (c_void_p, _POINTERS, POINTER(c_size_t)),
    "input_restore": (c_void_p, c_char_p, c_size_t),
    "batch_values": (c_void_p, c_size_t, POINTER(Values)),
    "batch_place": (c_void_p, c_void_p, c_int64, POINTER(c_char_p)),
}
# What the other functions return and take.
_OTHERS: dict[str, tuple[Any, ...]] = {
    "version": (c_char_p,),
    "error_text": (c_char_p, c_void_p),
    "error_message": (c_char_p, c_void_p),
    "error_hint": (c_char_p, c_void_p),
    "error_file": (c_char_p, c_void_p),
    "error_line": (c_int64, c_void_p),
    "error_column": (c_int64, c_void_p),
    "error_free": (None, c_void_p),
    "catalog_free": (None, c_void_p),
    "trainer_free": (None, c_void_p),
    "trainer_stop": (None, c_void_p),
    "trainer_checkpoint": (None, c_void_p),
    "trainer_steps": (c_int64, c_void_p),
    "trainer_score": (c_int, c_void_p, c_size_t, POINTER(Score)),
    "trainer_checkpoint_failure": (c_char_p, c_void_p),
    "network_free": (None, c_void_p),
    "network_field_count": (c_size_t, c_void_p),
    "network_field": (Field, c_void_p, c_size_t),
    "network_column": (c_char_p, c_void_p, c_size_t, c_int64),
    "network_outputs": (c_int64, c_void_p),
    "network_class_count": (c_size_t, c_void_p),
    "network_class": (c_char_p, c_void_p, c_int64),
    "network_choices": (c_int64, c_void_p),
    "input_free": (None, c_void_p),
    "input_field_count": (c_size_t, c_void_p),
    "input_field": (Field, c_void_p, c_size_t),
    "input_shape": (c_size_t, c_void_p, c_size_t, POINTER(c_int64), c_size_t),
    "input_batch_size": (c_int64, c_void_p),
    "input_stop": (None, c_void_p),
    "batch_free": (None, c_void_p),
    "batch_rows": (c_int64, c_void_p),
    "batch_epoch": (c_uint64, c_void_p),
}


def _candidates() -> list[str]:
    """The files that may be the library, the first one first; a name without a folder is the system's."""
    here = Path(__file__).resolve().parent
    given = os.environ.get("MILLRACE_LIBRARY")
    if given:
        return [str(Path(given, "libmillrace.so") if os.path.isdir(given) else given)]
    inside = sorted((here / "lib").glob("libmillrace.so*"))
    if inside:
        return [str(inside[0])]
    builds = [file for file in here.parents[1].glob("build/*/libmillrace.so") if (here.parents[1] / "api/c.h").exists()]
    return [*map(str, sorted(builds, key=lambda file: -file.stat().st_mtime)), SONAME]


def _load() -> ctypes.CDLL:
    failures = []
    for file in _candidates():
        try:
            return ctypes.CDLL(file)
        except OSError as error:
            failures.append(str(error))
    raise ImportError(
        "the library of Millrace cannot be loaded: "
        + "; ".join(failures)
        + "; install Millrace or its wheel, or let the "
        "environment variable MILLRACE_LIBRARY name libmillrace.so or the folder of a build"
    )


library = _load()


def _declare() -> None:
    try:
        for name, arguments in _CALLS.items():
            getattr(library, "millrace_" + name).argtypes = [*arguments, _POINTERS]
        for name, (result, *others) in _OTHERS.items():
            function = getattr(library, "millrace_" + name)
            function.restype, function.argtypes = result, others
    except AttributeError as error:
        library.millrace_version.restype = c_char_p
        version = library.millrace_version().decode()
        raise ImportError(
            f"{library._name} is Millrace {version}, which is too old for this package: {error}"
        ) from None


_declare()
version: str = library.millrace_version().decode()


def load_plugin(catalog: Handle, file: str) -> None:
    """Plug-ins use the names of the library, which only then are known to what is loaded later."""
    ctypes.CDLL(library._name, ctypes.RTLD_GLOBAL)
    call("catalog_load_plugin", catalog, path(file))


def function(name: str) -> Callable[..., Any]:
    """The function millrace_NAME."""
    found: Callable[..., Any] = getattr(library, "millrace_" + name)
    return found


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status. Raises its error."""
    error = c_void_p()
    status = function(name)(*arguments, byref(error))
    if status == 0:
        return
    parts = ("text", "message", "hint", "file")
    text, message, hint, file = (function("error_" + part)(error).decode(errors="replace") for part in parts)
    line, column = (function("error_" + part)(error) for part in ("line", "column"))
    function("error_free")(error)
    raise BY_STATUS.get(status, InternalError)(text, message, hint, file, line, column)


# ---- Forks. A child has none of the threads of its parent, so what waits for them would wait forever.

_has_threads = False
_is_child = False


def _after_fork() -> None:
    global _is_child
    _is_child = _has_threads


os.register_at_fork(after_in_child=_after_fork)


def uses_threads() -> None:
    """To be called before anything that runs threads of the library. Raises ForkError in a child that lacks them."""
    global _has_threads
    check_fork()
    _has_threads = True


def check_fork() -> None:
    if _is_child:
        raise ForkError(
            "this process was forked from one that ran threads of Millrace, and they are not in it; start processes by "
            'multiprocessing.get_context("spawn"), or train and read only in the children'
        )


class Handle(c_void_p):
    """Owns an object of the library, and is the argument for it. The object is freed when nothing has its handle any
    more: not while a call uses it, whoever closes it meanwhile; and not in a child that was forked. Until then the
    handle keeps what the library may call."""

    def __init__(self, pointer: c_void_p, free: str, keeps: object = None) -> None:
        self._free = function(free)
        self._keeps = keeps
        self._process = os.getpid()
        super().__init__(pointer.value)

    def __del__(self, getpid: Callable[[], int] = os.getpid) -> None:
        # Another object in the same garbage may still use this one. The library knows NULL.
        pointer, self.value = self.value, None
        if pointer is not None and self._process == getpid():
            self._free(pointer)


class Closable:
    """Has an object of the library, `_handle`, until it is closed."""

    _handle: Handle | None

    @property
    def _open(self) -> Handle:
        check_fork()
        handle = self._handle
        if handle is None:
            raise ValueError(f"the {type(self).__name__.lower()} is closed")
        return handle


def text(value: str | bytes) -> bytes:
    """A text for the library, which ends texts at a zero byte."""
    out = value if isinstance(value, bytes) else value.encode(errors="surrogateescape")
    if b"\0" in out:
        raise ValueError(f"a text holds a zero byte: {value!r}")
    return out


def path(value: str | bytes | os.PathLike[Any]) -> bytes:
    return text(os.fsencode(value))


def texts(values: Sequence[str]) -> Any:
    """An array of texts for the library."""
    return (c_char_p * len(values))(*map(text, values))
