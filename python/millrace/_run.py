"""How a training runs so that the program stays in control of it."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._catalog import Calls

logger = logging.getLogger("millrace")


def log(text: str) -> None:
    """What is done with a line of the library that the program does not ask for."""
    if not text.startswith("warning: "):
        logger.warning("%s", text)
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        level, frame = level + 1, frame.f_back
    warnings.warn(text[len("warning: ") :], stacklevel=level)  # the program's call


def _handles_interrupts() -> bool:
    """Whether Ctrl-C raises KeyboardInterrupt in this thread."""
    this = threading.current_thread() is threading.main_thread()
    return this and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextlib.contextmanager
def interrupts_later(calls: Calls) -> Iterator[None]:
    """For a call of the library that may call the program. Python would lose a KeyboardInterrupt between the library
    and the first line of a function, and the library would go on. So one is raised inside an iterator of the program,
    or else after the call."""
    if not _handles_interrupts():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: object) -> None:
        came.append(number)
        if len(came) == 1 and calls.inside is threading.main_thread():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt


def interrupts_kill() -> None:
    """For the end of Python, where an exception would leave threads inside of the library."""
    if _handles_interrupts():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


_live: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_over = False
os.register_at_fork(after_in_child=_live.clear)


def end_before_python(thing: Any) -> None:
    """Calls thing._end_now() before Python ends, if the thing is still there. A thread that calls Python after that is
    killed, inside of the library, which crashes."""
    _live[id(thing)] = thing
    if _over:
        raise RuntimeError("Python is ending")


@atexit.register
def _end_all() -> None:
    global _over
    _over = True
    interrupts_kill()
    for reference in _live.valuerefs():
        while (thing := reference()) is not None:
            try:
                thing._end_now()
                break
            except BaseException:  # of a signal handler of the program
                pass


def _nothing() -> None:
    pass


class Run:
    """A run on a thread of its own, so that signals reach the thread that waits for it at any time. Functions of the
    program are called on the thread that waits.

    An exception may come out of a signal handler of the program between any two operations here. So a question stays
    where it is until it is answered, and there are no locks that it could leave locked.
    """

    def __init__(self, body: Callable[[], None], stop: Callable[[], None]) -> None:
        self._body, self._stop = body, stop
        self._function: Callable[[], Any] | None = None
        self._answer: Any = None
        self._asked, self._answered = queue.SimpleQueue[None](), queue.SimpleQueue[None]()
        self._ended = self._left = False
        self.error: BaseException | None = None
        self._failed: BaseException | None = None
        self._thread = threading.Thread(name="millrace training", target=self._run, daemon=True)

    def ask(self, function: Callable[[], Any]) -> Any:
        """Calls it on the thread that waits, and returns what it returns; None after an exception, which ends all."""
        self._answer, self._function = None, function
        self._asked.put(None)
        while self._function is function and not self._left:
            with contextlib.suppress(queue.Empty):
                self._answered.get(timeout=0.2)
        return self._answer

    def _end_now(self) -> None:
        """Waits without Thread.join(), which takes a thread for ended after an exception out of a signal handler."""
        self._left = True
        while self._thread.ident is not None and not self._ended:
            self._stop()
            time.sleep(0.01)

    def _fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self._stop()

    def _answer_one(self) -> None:
        if self._function is None and not self._ended:
            self._asked.get()
        if self._function is not None:
            if self.error is None:
                self._answer = self._function()
            self._function = None
            self._answered.put(None)

    def _interrupt(self, number: int, frame: object) -> None:
        """Ends the run; the second time, what the program does now as well."""
        if self.error is not None:
            raise KeyboardInterrupt
        self._fail(KeyboardInterrupt())

    def _run(self) -> None:
        try:
            if not self._left:
                self._body()
        except BaseException as error:
            self._failed = error
        self._ended = True
        self._asked.put(None)

    def wait(self) -> None:
        """Waits for the end. Raises the first exception of the program, else that of the body."""
        handles = _handles_interrupts()
        if handles:
            signal.signal(signal.SIGINT, self._interrupt)
        try:
            end_before_python(self)
            self._thread.start()
            while not self._ended or self._function is not None:
                try:
                    self._answer_one()
                except BaseException as error:
                    self._fail(error)
                    self._function = None
            self._thread.join()
            self._body = self._stop = _nothing  # whose objects may go now
        finally:
            # An exception out of a signal handler may also come while another one is dealt with.
            self._left = True
            self._stop()
            if handles:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.error is not None:
            raise self.error from self._failed
        if self._failed is not None:
            raise self._failed
