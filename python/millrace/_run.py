"""How a training runs so that the program stays in control of it."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

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


class Run:
    """A run on a thread of its own, so that signals reach the thread that waits for it at any time. Functions of the
    program are called on the thread that waits.

    An exception may come out of a signal handler of the program between any two operations here. So a question stays
    where it is until it is answered.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._function: Callable[[], Any] | None = None
        self._answer: Any = None
        self._asked, self._answered = threading.Semaphore(0), threading.Semaphore(0)
        self._ended = False
        self.error: BaseException | None = None

    def ask(self, function: Callable[[], Any]) -> Any:
        """Calls it on the thread that waits, and returns what it returns; None after an exception, which ends all."""
        self._answer, self._function = None, function
        self._asked.release()
        while self._function is function:
            self._answered.acquire(timeout=0.2)
        return self._answer

    def _fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self._stop()

    def _answer_one(self) -> None:
        if self._function is None and not self._ended:
            self._asked.acquire()
        if self._function is not None:
            if self.error is None:
                self._answer = self._function()
            self._function = None
            self._answered.release()

    def _interrupt(self, number: int, frame: object) -> None:
        """Ends the run; the second time, what the program does now as well."""
        if self.error is not None:
            raise KeyboardInterrupt
        self._fail(KeyboardInterrupt())

    def wait(self, body: Callable[[], None]) -> None:
        """Runs `body` and waits for it. Raises the first exception of the program, else the body's."""
        failed: list[BaseException] = []

        def run() -> None:
            try:
                body()
            except BaseException as error:
                failed.append(error)
            self._ended = True
            self._asked.release()

        thread = threading.Thread(target=run, name="millrace training")
        handles = threading.current_thread() is threading.main_thread()
        handles = handles and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if handles:
            signal.signal(signal.SIGINT, self._interrupt)
        try:
            thread.start()
            while not self._ended or self._function is not None:
                try:
                    self._answer_one()
                except BaseException as error:
                    self._fail(error)
                    self._function = None
            thread.join()
        finally:
            if handles:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.error is not None:
            raise self.error from (failed[0] if failed else None)
        if failed:
            raise failed[0]
