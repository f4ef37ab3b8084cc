"""The time of a command, shared out over its parts, and what came of each."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable

DONE, CUT_SHORT, LEFT_OUT, FAILED = "done", "cut short", "left out", "failed"
Clock = Callable[[], float]
# Guards the states of sections. One for all: a section is data that is copied and written.
_states = threading.RLock()


@dataclass
class Section:
    """What came of one part. `data` is JSON; check.py says what each part's holds."""

    name: str
    title: str
    command: str = ""
    state: str = DONE
    why: str = ""  # of a state that is not DONE
    wrong: list[str] = field(default_factory=list)  # results that must not be; each fails the check
    seconds: float = 0
    clocks: str = ""  # of the GPU, under the part's work or when it ended
    data: dict[str, Any] = field(default_factory=dict)

    def leave_out(self, why: str) -> Section:
        self.state, self.why = LEFT_OUT, why
        return self

    def cut(self, what: str) -> None:
        """Part of it did not fit, and is done by the next run; may be called again, by any thread."""
        with _states:
            self.state = FAILED if self.state == FAILED else CUT_SHORT
            self.why = f"{self.why}; {what}" if self.why else what

    def fail(self, what: str) -> None:
        """Part of it could not be done, which says nothing about the results. It fails the check, until the next run
        does it; may be called again, by any thread."""
        with _states:
            self.cut(what)
            self.state = FAILED

    def told_wrong(self) -> list[str]:
        return [*self.wrong, *([f"{self.name}: {self.why}"] if self.state == FAILED else [])]


class Deadline:
    def __init__(self, end: float, clock: Clock = time.monotonic) -> None:
        self.end = end
        self.clock = clock

    @staticmethod
    def after(seconds: float) -> Deadline:
        return Deadline(time.monotonic() + seconds)

    def left(self) -> float:
        return max(0.0, self.end - self.clock())

    def within(self, seconds: float) -> float:
        """So many seconds, or what is left; never 0, which would be no limit to some."""
        return max(0.1, min(seconds, self.left()))


class Budget:
    """Parts come in the order of `shares`. Each has its share of the time that is left for it and those after it, so
    that what one does not use is the others'."""

    def __init__(self, seconds: float, shares: dict[str, float], clock: Clock = time.monotonic) -> None:
        self.seconds = seconds
        self.shares = dict(shares)
        self.clock = clock
        self.started = clock()

    def taken(self) -> float:
        return self.clock() - self.started

    def skip(self, name: str) -> None:
        """The part takes no time; its share is the others'."""
        self.shares.pop(name, None)

    def begin(self, name: str) -> Deadline:
        left = max(0.0, self.seconds - self.taken())
        share = self.shares[name] / sum(self.shares.values())
        del self.shares[name]
        return Deadline(self.clock() + left * share, self.clock)
