"""The processes that gpu-check starts. Each is a session of its own, so that what it starts ends with it, and none
outlives gpu-check: a watchdog ends those that are left, also after SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from budget import Deadline

LATE = -1
PATIENCE = 10  # seconds for killed processes to go; with a driver that hangs it never does
WATCHDOG = """import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Stopped(Exception):
    """gpu-check itself is to end."""


@dataclass
class Ran:
    status: int  # LATE: it did not end in time
    out: str
    errors: str

    @property
    def last_words(self) -> str:
        return (self.out + self.errors).strip()[-1500:]


class _Alive:
    """What runs now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.groups: set[int] = set()
        self.stopping = False
        self.watchdog: subprocess.Popen[str] | None = None

    def tell(self, sign: str, group: int) -> None:
        """REQUIRES: the lock."""
        if self.watchdog is None:
            command = [sys.executable, "-I", "-S", "-c", WATCHDOG]
            self.watchdog = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
        (self.groups.add if sign == "+" else self.groups.discard)(group)
        try:
            self.watchdog.stdin.write(f"{sign}{group}\n")
            self.watchdog.stdin.flush()
        except OSError:
            pass  # somebody ended the watchdog; the groups are still ended by this process


_alive = _Alive()


def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """As subprocess.Popen. Throws OSError, and Stopped after stop_all()."""
    with _alive.lock:
        if _alive.stopping:
            raise Stopped
        process = subprocess.Popen(command, start_new_session=True, **options)
        _alive.tell("+", process.pid)
    return process


def end(*processes: subprocess.Popen[bytes]) -> bool:
    """Ends them with all that they started; whether all are gone. May be called again."""
    for process in processes:
        kill(process.pid)
    patience = Deadline.after(PATIENCE)
    gone = True
    for process in processes:
        try:
            process.wait(patience.left())
        except subprocess.TimeoutExpired:
            gone = False
            continue
        with _alive.lock:
            _alive.tell("-", process.pid)
    return gone


def kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass


def stop_all() -> None:
    """Ends all processes, and lets none be started. For a signal's handler, so it takes no lock."""
    _alive.stopping = True
    for group in list(_alive.groups):
        kill(group)


def run(command: list[str], cwd: str, environment: dict[str, str], timeout: float) -> Ran:
    # Files, not pipes: what was said before a process hung can be read, and nobody waits for what it left running.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = start(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        except OSError as error:
            return Ran(-2, "", str(error))
        late = ""
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            late = f"did not end within {timeout:.0f} s"
        finally:
            if not end(process):
                late += ", nor when it was killed: the driver may hang"
        said = [os.pread(file.fileno(), 2**24, 0).decode(errors="replace") for file in (out, errors)]
    return Ran(LATE, said[0], f"{said[1]}\n{late}".strip()) if late else Ran(process.returncode, *said)
