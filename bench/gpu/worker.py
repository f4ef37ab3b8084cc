"""A contender's process: started, asked for repeats when it is its turn, and standing still otherwise. What it says is
in peer.py."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
from typing import Any, Iterable

import processes
from budget import Deadline


class Failed(Exception):
    """A contender that cannot take part, and why."""


class Late(Failed):
    """A contender that there was no time for, or too little."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"did not answer within {seconds:.0f} s" if seconds > 0 else "no time was left")
        self.seconds = seconds


class Worker:
    def __init__(self, command: list[str], cwd: str, environment: dict[str, str]) -> None:
        self.errors = tempfile.TemporaryFile("w+")
        self.unread = b""
        try:
            self.process = processes.start(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                bufsize=0,
            )
        except OSError as error:
            self.errors.close()
            raise Failed(str(error)) from None

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next line of JSON; what else it prints is left out."""
        deadline = Deadline.after(seconds)
        try:
            while not (line := self.line(deadline)).startswith(b"{"):
                pass
        except TimeoutError:
            raise Late(seconds) from None
        try:
            return json.loads(line)
        except ValueError:
            raise Failed(f"said what is no JSON: {line[:200]!r}") from None

    def line(self, deadline: Deadline) -> bytes:
        while b"\n" not in self.unread:
            # select() sees only what no buffer of Python's holds.
            if not select.select([self.process.stdout], [], [], deadline.left())[0]:
                raise TimeoutError
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failed(self.last_words())
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def ready(self, seconds: float) -> dict[str, Any]:
        """What it tells of itself; from then on it stands still."""
        answer = self.answer(seconds)
        self.signal(signal.SIGSTOP)
        return answer

    def repeats(self, count: int, seconds: float) -> dict[str, Any]:
        """What it tells of them, as peer.py says."""
        self.ask(count)
        answer = self.answer(seconds)
        self.signal(signal.SIGSTOP)
        return answer

    def ask(self, count: int) -> None:
        """Lets it go on, with so many repeats."""
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{count}\n".encode())
        except BrokenPipeError:
            raise Failed(self.last_words()) from None

    def check(self) -> None:
        """Throws Failed if it has ended."""
        if self.process.poll() is not None:
            raise Failed(self.last_words())

    def last_words(self) -> str:
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        return lines[-1][:500] if lines else f"ended with {self.process.returncode}"

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """May be called again."""
        end_all([self])


def end_all(workers: Iterable[Worker]) -> None:
    """May be called again."""
    workers = list(workers)
    processes.end(*(worker.process for worker in workers))
    for worker in workers:
        for file in (worker.process.stdin, worker.process.stdout, worker.errors):
            file.close()
