"""A `trainer serve` for tests, and models for it."""

from __future__ import annotations

import csv
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

TRAINER = os.environ.get("MILLRACE_TRAINER", str(Path(__file__).resolve().parents[2] / "build/release/trainer"))
SECONDS = 60  # the longest that anything may take

NUMBERS = """
seed: 1
threads: 1
input:
  - filename_queue: {files: train.csv}
  - csv_reader: {header: true}
  - decode_csv:
      fields:
        numbers: {columns: [age, fare], default: [30, 7.5], missing: ["?"]}
        city: {columns: city, type: string, default: ""}
        day: {columns: day, type: date, format: "%d/%m/%Y"}
        sold: {columns: sold, type: string}
  - vocabulary: {field: city, texts: [Rome, "Oslo, Norway", "K\u00f6ln"], as: place, unknown: code}
  - one_hot: {field: place, classes: 4, as: where}
  - vocabulary: {field: sold, texts: ["no", "yes"], as: label}
  - calendar: {field: day, as: when, features: [weekday, year]}
  - normalize: {fields: numbers, mean: 20, std: 10}
  - shuffle_batch: {batch_size: 16, capacity: 100, min_after_dequeue: 50}
model:
  - concat: {from: [numbers, where, when]}
  - dense: {units: 8, activation: tanh}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
optimizer: {adam: {learning_rate: 0.01}}
train: {steps: 20}
save: model.safetensors
"""

def run(words: list[str], folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TRAINER, *words], cwd=folder, text=True, capture_output=True, timeout=SECONDS, **more)


def library_is_missing() -> str:
    """Why there can be no server; empty if there can."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(["serve", "--model", "none"], Path(folder))
    words = ("libmicrohttpd", "MILLRACE_WITHOUT")
    return done.stderr.strip() if any(word in done.stderr for word in words) else ""


def cells(generator: random.Random, rows: int) -> list[dict[str, str]]:
    """Rows as the texts of CSV cells."""
    out = []
    for _ in range(rows):
        age = generator.choice(["", "?", "31", "12.5", "-0", "1e1", "+7", " 40 ", "0.1", "16777217", "3.0000000001"])
        out.append({
            "age": age,
            "fare": generator.choice(["", "7.25", "nan", "1e-3", f"{generator.gauss(10, 5):.7f}"]),
            "city": generator.choice(["", "Rome", "Oslo, Norway", "K\u00f6ln", "a \"b\"\nc", "31", " Rome"]),
            "day": f"{generator.randint(1, 28)}/{generator.randint(1, 12)}/{generator.randint(1970, 2040)}",
        })
    return out


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def train(folder: Path) -> None:
    generator = random.Random(1)
    rows = cells(generator, 200)
    for row in rows:
        row["fare"] = row["fare"].replace("nan", "1")
        row["sold"] = generator.choice(["yes", "no"])
    write_csv(folder / "train.csv", rows)
    (folder / "numbers.yaml").write_text(NUMBERS, encoding="utf-8")
    done = run(["--config", "numbers.yaml"], folder)
    assert done.returncode == 0, done.stderr


class Server:
    def __init__(self, folder: Path, *more: str, model: str = "model.safetensors") -> None:
        words = [TRAINER, "serve", "--model", model, "--port", "0", *more]
        self.process = subprocess.Popen(words, cwd=folder, text=True, stderr=subprocess.PIPE)
        self.lines: list[str] = []
        listening = self.line_with("listening at http://")
        self.port = int(re.search(r":(\d+),", listening).group(1))

    def line_with(self, words: str) -> str:
        """The next line of the log that has these words."""
        for line in self.process.stderr:
            self.lines.append(line)
            if words in line:
                return line
        raise AssertionError(f"no line with {words!r}: {self.lines}")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)

    def ask(self, method: str, path: str, body: bytes | str | None = None,
            headers: dict[str, str] | None = None) -> tuple[int, bytes, http.client.HTTPResponse]:
        connection = self.connect()
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content, response

    def predict(self, rows: Any) -> tuple[int, Any]:
        body = rows if isinstance(rows, (bytes, str)) else json.dumps(rows)
        status, content, _ = self.ask("POST", "/predict", body)
        return status, json.loads(content)

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def raw(self, data: bytes) -> bytes:
        """All that the server sends after `data`, until it closes."""
        with self.socket() as connection:
            connection.sendall(data)
            return read_all(connection)

    def metrics(self) -> dict[str, float]:
        lines = self.ask("GET", "/metrics")[1].decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        rest = self.process.stderr.read()
        return self.process.wait(SECONDS), rest


def read_all(connection: socket.socket) -> bytes:
    out = b""
    while True:
        try:
            piece = connection.recv(65536)
        except ConnectionError:
            return out
        if not piece:
            return out
        out += piece


def post(body: bytes, *headers: str) -> bytes:
    lines = ["POST /predict HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class ServeTest(unittest.TestCase):
    """With a folder that holds a model, once for all tests."""

    @classmethod
    def setUpClass(cls) -> None:
        if reason := library_is_missing():
            raise unittest.SkipTest(reason)
        cls.temporary = tempfile.TemporaryDirectory(prefix="millrace-serve-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        train(cls.folder)

    def serve(self, *more: str, **named: str) -> Server:
        server = Server(self.folder, *more, **named)
        self.addCleanup(server.__exit__)
        return server
