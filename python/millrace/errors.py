"""The errors of Millrace. Each is also the built-in exception that a Python program expects for its cause."""

from __future__ import annotations


class Error(Exception):
    """Something that Millrace cannot do.

    ``str(error)`` is all of it in one line: ``FILE:LINE:COLUMN: MESSAGE; HINT``.

    Attributes:
        message: what is wrong.
        hint: how to correct it, or ``""``.
        file: the file at fault, or what stands for it (``--set KEY=VALUE`` for an override), or ``""``.
        line: its line, counted from 1; 0 if it is not known.
        column: the column in that line, counted from 1; 0 if it is not known.
    """

    def __init__(
        self, text: str, message: str = "", hint: str = "", file: str = "", line: int = 0, column: int = 0
    ) -> None:
        super().__init__(text)
        self.message = message or text
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[Error], tuple[object, ...]]:
        return type(self), (self.args[0], self.message, self.hint, self.file, self.line, self.column)


class ConfigError(Error, ValueError):
    """The configuration is wrong: a key, a value, shapes that do not fit."""


class DataError(Error, ValueError):
    """The data are wrong."""


class MissingError(Error, FileNotFoundError):
    """An input is not there, or not readable."""


class IoError(Error, OSError):
    """Reading or writing failed."""


class DeviceError(Error, RuntimeError):
    """A device, or one of its libraries, failed."""


class InternalError(Error, RuntimeError):
    """A promise of the library was broken, or memory ran out."""


class ArgumentError(Error, ValueError):
    """The arguments of a call are wrong."""


class CallError(Error, RuntimeError):
    """The call comes too late, or too early: a trainer runs once."""


class ForkError(RuntimeError):
    """This process was forked from one that ran threads of Millrace, and they are not in it."""


# By the numbers of millrace_status in millrace/c.h.
BY_STATUS: dict[int, type[Error]] = {
    1: ConfigError,
    2: DataError,
    3: MissingError,
    4: IoError,
    5: DeviceError,
    6: InternalError,
    7: ArgumentError,
    8: CallError,
}
