"""The processes of the chaos test: workers in their slots, and trainings."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shutil
import socket
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

MARK = "MILLRACE_CHAOS"  # in the environment of every process that the test starts


class Worker:
    """A worker in a slot: a process, and its standard error, a terminal that shows its counts."""

    STATUS = re.compile(r"(\d+) connections?, (\d+) requests?, ([\d.e+]+) rows/s, ")

    def __init__(self, slot: Slot, program: str, root: Path, good: bool, words: list[str],
                 environment: dict[str, str]) -> None:
        self.good, self.root = good, root
        self.changed = False  # while it runs
        self.peers = self.requests = 0
        self.rows = 0.0
        self.told: list[str] = []
        master, terminal = pty.openpty()
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 240, 0, 0))
        self.process = subprocess.Popen(
            [program, "worker", "--bind", f"tcp://127.0.0.1:{slot.port}", "--root", str(root), "--threads", "2",
             *words], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, env=environment, cwd="/",
            start_new_session=True)
        os.close(terminal)
        self.reader = threading.Thread(target=self.read, args=(master,), daemon=True)
        self.reader.start()

    def read(self, master: int) -> None:
        rest = ""
        while True:
            try:
                got = os.read(master, 65536)
            except OSError:  # nobody has the other end
                break
            *lines, rest = re.split(r"[\r\n]+", rest + got.decode(errors="replace"))
            # The live line has no end; the next one begins with a carriage return.
            for line in [*lines, rest] if rest.endswith("\x1b[K") else lines:
                self.take(line.replace("\x1b[K", ""))
            if rest.endswith("\x1b[K"):
                rest = ""
        os.close(master)

    def take(self, line: str) -> None:
        if found := self.STATUS.match(line):
            self.peers, self.requests = int(found[1]), int(found[2])
            self.rows += float(found[3])
        elif line:
            self.told.append(line)

    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, number: int) -> None:
        if self.alive():
            self.process.send_signal(number)

    def memory(self) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) * 1024

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Slot:
    def __init__(self, number: int, port: int, relay_port: int | None) -> None:
        self.number, self.port, self.relay_port = number, port, relay_port
        self.worker: Worker | None = None
        self.later: list[tuple[float, Callable[[], None]]] = []  # what happens to it, and when

    def endpoint(self, relayed: bool) -> str:
        return f"tcp://127.0.0.1:{self.relay_port if relayed and self.relay_port else self.port}"

    def alive(self) -> bool:
        return self.worker is not None and self.worker.alive()


def free_ports(count: int, draw: random.Random) -> list[int]:
    """Ports that no connection of this machine takes by chance, so that they stay free while no worker listens."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    out: list[int] = []
    while len(out) < count:
        port = draw.randrange(10000, lowest)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in out:
            out.append(port)
    return out


class Training:
    """One training, with all its attempts."""

    def __init__(self, number: int, kind: str, folder: Path) -> None:
        self.number, self.kind, self.folder = number, kind, folder
        self.process: subprocess.Popen[bytes] | None = None
        self.continue_at = 0.0
        folder.mkdir()

    def events(self) -> Iterator[dict[str, Any]]:
        for line in (self.folder / "events.jsonl").read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:  # cut by a kill
                pass

    def error(self) -> str:
        text = (self.folder / "stderr.txt").read_text(errors="replace").strip()
        at = text.rfind("error: ")
        return " / ".join(text[at:].splitlines() if at >= 0 else text.splitlines()[-3:])


def processes_with(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and wanted in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                yield int(entry)
        except OSError:  # not ours, or gone
            pass


def command_of(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def stacks(process: int, folder: Path) -> str:
    """Writes down where its threads are."""
    if shutil.which("gdb") is None:
        return "no gdb to look into it"
    path = folder / f"stacks-{process}.txt"
    with path.open("wb") as out:
        subprocess.run(["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt"], stdout=out, stderr=out,
                       timeout=120)
    return f"its threads are in {path}"
