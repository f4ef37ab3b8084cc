"""`trainer serve`: new models, and its end, while clients ask."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

from server import SECONDS, TRAINER, ServeTest, Server, post, read_all, run

ROW = {"age": 31, "fare": 7.5, "city": "Rome", "day": "1/2/2024"}
BODY = json.dumps([ROW]).encode()


class Load:
    """Clients that ask without a pause, each on a connection that it keeps."""

    def __init__(self, server: Server, clients: int = 8, keeps: bool = True) -> None:
        self.server, self.keeps = server, keeps
        self.ends = threading.Event()
        self.answers: list[bytes] = []
        self.failed: list[str] = []
        self.refused = self.closed = 0
        self.threads = [threading.Thread(target=self.run) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self) -> None:
        connection = self.server.connect()
        while not self.ends.is_set():
            try:
                if not self.keeps or connection.sock is None:
                    connection.close()
                    connection.connect()
                connection.request("POST", "/predict", BODY)
            except OSError:  # no connection, or it was closed between two requests
                self.refused += 1
                connection.close()
                continue
            try:
                response = connection.getresponse()
                content = response.read()
                self.answers.append(content)
                if response.status != 200:
                    self.failed.append(f"{response.status}: {content!r}")
            except http.client.RemoteDisconnected:  # test_answers_what_it_has_read() says that it was not read
                self.closed += 1
                connection.close()
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(repr(error))
                connection.close()
        connection.close()

    def wait_for(self, answers: int) -> None:
        wanted, deadline = len(self.answers) + answers, time.monotonic() + 60
        while len(self.answers) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)

    def end(self) -> None:
        self.ends.set()
        for thread in self.threads:
            thread.join()


def wait_for_bytes(server: Server, wanted: int) -> None:
    """Until the server holds as many bytes of bodies, or more."""
    deadline = time.monotonic() + SECONDS
    while (held := server.metrics()["millrace_held_bytes"]) < wanted:
        assert time.monotonic() < deadline, f"{held} bytes are held"


class SignalsTest(ServeTest):
    def setUp(self) -> None:
        self.model = self.folder / "served.safetensors"
        shutil.copy(self.folder / "model.safetensors", self.model)

    def replace(self, other: Path) -> None:
        shutil.copy(other, self.folder / "next")
        (self.folder / "next").rename(self.model)

    def test_hangup_loads_the_model_anew(self) -> None:
        done = run(["--config", "numbers.yaml", "--set", "seed=2", "--set", "save=other.safetensors"], self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = self.serve("--threads", "2", model="served.safetensors")
        before = server.predict([ROW])[1]
        load = Load(server)
        for other in ("other.safetensors", "model.safetensors") * 5:
            self.replace(self.folder / other)
            server.process.send_signal(signal.SIGHUP)
            server.line_with("the model reads age, fare, city and day")
            load.wait_for(20)
        self.replace(self.folder / "other.safetensors")
        server.process.send_signal(signal.SIGHUP)
        server.line_with("the model reads")
        after = server.predict([ROW])[1]
        load.end()
        self.assertEqual((load.failed, load.refused, load.closed), ([], 0, 0))
        self.assertNotEqual(before, after)
        self.assertEqual({json.dumps(json.loads(answer)) for answer in load.answers},
                         {json.dumps(before), json.dumps(after)})
        self.assertEqual(server.metrics()['millrace_model_loads_total{result="ok"}'], 12)

    def test_a_broken_model_keeps_the_old_one(self) -> None:
        server = self.serve(model="served.safetensors")
        before = server.predict([ROW])
        for content in (b"", b"nothing", self.model.read_bytes()[:-100]):
            self.model.write_bytes(content)
            server.process.send_signal(signal.SIGHUP)
            self.assertIn("served.safetensors", server.line_with("error: the model that was loaded goes on: "))
            self.assertEqual(server.predict([ROW]), before)
        self.model.unlink()
        server.process.send_signal(signal.SIGHUP)
        server.line_with("error: the model that was loaded goes on: ")
        self.assertEqual(server.predict([ROW]), before)
        self.assertEqual(server.metrics()['millrace_model_loads_total{result="failed"}'], 4)

    def test_ends_when_requests_are_answered(self) -> None:
        for number, code, keeps in ((signal.SIGTERM, 143, True), (signal.SIGINT, 130, False)):
            server = self.serve("--threads", "2")
            load = Load(server, keeps=keeps)
            load.wait_for(100)
            with server.socket() as slow, server.socket() as idle:
                idle.sendall(post(BODY))
                idle.recv(10000)
                data = post(BODY)
                slow.sendall(data[:-10])
                wait_for_bytes(server, len(BODY) - 10)
                server.process.send_signal(number)
                with self.assertRaises(subprocess.TimeoutExpired, msg="it did not wait for a request"):
                    server.process.wait(0.5)
                slow.sendall(data[-10:])
                answer = read_all(slow)
                self.assertIn(b"HTTP/1.1 200", answer)
                self.assertIn(b"connection: close", answer.lower())
                self.assertEqual(read_all(idle), b"")
            self.assertEqual(server.process.wait(20), code)
            self.assertIn("ended", server.process.stderr.read())
            load.end()
            self.assertEqual(load.failed, [])
            self.assertGreater(load.refused, 0)

    def test_answers_what_it_has_read(self) -> None:
        server = self.serve("--threads", "2")
        data = post(BODY)
        clients = [server.socket() for _ in range(50)]
        for client in clients:
            client.sendall(data[:-10])
        wait_for_bytes(server, len(clients) * (len(BODY) - 10))
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            client.sendall(data[-10:])
        for client in clients:
            self.assertIn(b"HTTP/1.1 200", read_all(client))
            client.close()
        self.assertEqual(server.process.wait(20), 143)

    def test_requests_that_come_at_the_end(self) -> None:
        """Connections are closed 0.1 s after the signal: a request is answered, refused, or not read."""
        for turn in range(10):
            server = self.serve("--threads", "2")
            clients = [server.socket() for _ in range(40)]
            for client in clients:
                client.sendall(post(BODY))
                client.recv(10000)
            server.process.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            for number, client in enumerate(clients):
                time.sleep(max(0.0, begun + 0.09 + 0.0005 * number + 0.001 * turn - time.monotonic()))
                with contextlib.suppress(OSError):
                    client.sendall(post(BODY))
            for client in clients:
                self.assertIn(read_all(client)[:12], (b"", b"HTTP/1.1 200", b"HTTP/1.1 503"))
                client.close()
            self.assertEqual(server.process.wait(20), 143, server.process.stderr.read())

    def test_signals_while_it_begins(self) -> None:
        for number in (signal.SIGHUP, signal.SIGTERM):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            process = subprocess.Popen([TRAINER, "serve", "--model", "model.safetensors", "--port", str(port)],
                                       cwd=self.folder, text=True, stderr=subprocess.PIPE)
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.kill)
            # It takes connections from when it listens, and loads the model then.
            while process.poll() is None:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
            process.send_signal(number)
            if number == signal.SIGHUP:
                loads = 0
                while loads < 2:
                    line = process.stderr.readline()
                    self.assertNotEqual(line, "", "it ended")
                    loads += "the model reads" in line
                process.send_signal(signal.SIGTERM)
            self.assertIn("ended", process.stderr.read())
            self.assertEqual(process.wait(20), 143)

    def test_addresses(self) -> None:
        server = self.serve()
        done = run(["serve", "--model", "model.safetensors", "--port", str(server.port)], self.folder)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn(f"error: cannot listen at 127.0.0.1:{server.port}: Address already in use", done.stderr)
        self.assertIn("hint: another program listens there: choose another --port", done.stderr)
        done = run(["serve", "--model", "model.safetensors", "--bind", "no.such.host.invalid"], self.folder)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn('cannot listen at "no.such.host.invalid"', done.stderr)
        if socket.has_ipv6:
            try:
                socket.create_server(("::1", 0), family=socket.AF_INET6).close()
            except OSError:
                return
            other = Server(self.folder, "--bind", "::1")
            self.addCleanup(other.__exit__)
            self.assertIn("http://[::1]:", other.lines[-1])

    def test_systemd_says_the_port(self) -> None:
        done = run(["serve", "--model", "model.safetensors", "--bind", "systemd", "--port", "1"], self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("error: --port is not for --bind systemd", done.stderr)

    def test_quiet_leaves_errors(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen([TRAINER, "serve", "--model", "served.safetensors", "--quiet", "--port", str(port)],
                                  cwd=self.folder, text=True, stderr=subprocess.PIPE)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.kill)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        while server.poll() is None:
            with contextlib.suppress(ConnectionRefusedError):
                connection.connect()
                break
        connection.request("GET", "/healthz")  # answered when the model is there
        self.assertEqual(connection.getresponse().read(), b"ok\n")
        connection.close()
        self.model.unlink()
        server.send_signal(signal.SIGHUP)
        self.assertIn("error: the model that was loaded goes on: ", server.stderr.readline())
        server.terminate()
        self.assertEqual(server.stderr.read(), "")

    def test_a_missing_model_is_an_error(self) -> None:
        done = run(["serve", "--model", "none.safetensors"], self.folder)
        self.assertEqual(done.returncode, 66, done.stderr)


if __name__ == "__main__":
    unittest.main()
