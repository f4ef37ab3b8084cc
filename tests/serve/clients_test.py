"""`trainer serve` and clients that are slow, large, many, or gone."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
import unittest

from server import SECONDS, ServeTest, Server, post, read_all

ROW = {"age": 31, "fare": 7.5, "city": "Rome", "day": "1/2/2024"}
BODY = json.dumps([ROW]).encode()
MOST_BODY = 8 << 20


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


class ClientsTest(ServeTest):
    def check_serves(self, server: Server) -> None:
        self.assertEqual(server.predict([ROW])[0], 200)

    def test_paths_and_methods(self) -> None:
        server = self.serve()
        for method, path, status in (("GET", "/healthz", 200), ("HEAD", "/healthz", 200), ("HEAD", "/metrics", 200),
                                     ("GET", "/", 404), ("POST", "/predict/", 404), ("POST", "/predict?x=1", 200),
                                     ("GET", "/predict", 405), ("HEAD", "/predict", 405), ("PUT", "/predict", 405),
                                     ("GET", "http://a.b/healthz", 200), ("GET", "http://a.b", 404),
                                     ("POST", "/healthz", 405), ("OPTIONS", "/predict", 405), ("BREW", "/predict", 405)):
            got, body, response = server.ask(method, path, BODY if method in ("POST", "PUT", "BREW") else None)
            self.assertEqual(got, status, f"{method} {path}: {body!r}")
            if status == 405:
                self.assertEqual(response.headers["Allow"], "POST" if path == "/predict" else "GET, HEAD")
            if status >= 400 and method != "HEAD":
                self.assertIn("error", json.loads(body))
        metrics = server.metrics()
        self.assertEqual(metrics['millrace_requests_total{path="other",code="404"}'], 3)
        self.assertEqual(metrics['millrace_model_loads_total{result="ok"}'], 1)
        self.assertEqual(metrics["millrace_rows_total"], 1)
        self.assertEqual(metrics["millrace_held_bytes"], 0)

    def test_headers(self) -> None:
        server = self.serve()
        for header, status in (("Content-Type: text/html", 200), ("Content-Encoding: gzip", 415),
                               ("Transfer-Encoding: chunked", 400), ("Transfer-Encoding: gzip", 400),
                               ("Content-Length: 1", 400),
                               ("X-Long: " + "a" * 9000, 431), ("X-Long: " + "a" * 100000, 431),
                               ("Expect: 100-continue", 100)):
            answer = server.raw(post(BODY, header, "Connection: close"))
            self.assertEqual(status_of(answer), status, f"{header[:40]}: {answer[:200]!r}")
        head = b"POST /predict HTTP/1.1\r\nHost: a\r\n"
        self.assertEqual(status_of(server.raw(head + b"Content-Length: -1\r\n\r\n")), 400)
        self.assertEqual(status_of(server.raw(head + b"Transfer-Encoding: gzip\r\n\r\n")), 501)
        self.assertIn(status_of(server.raw(b"nonsense\r\n\r\n")), (0, 400))
        self.check_serves(server)

    def test_bodies_that_are_too_large(self) -> None:
        server = self.serve()
        largest = BODY[:-1] + b" " * (MOST_BODY - len(BODY)) + b"]"
        self.assertEqual(server.ask("POST", "/predict", largest)[0], 200)
        status, body, _ = server.ask("POST", "/predict", largest + b" ")
        self.assertEqual((status, json.loads(body)["hint"]), (413, "send fewer rows at once"))
        # Without a length.
        pieces = (largest[i:i + 65536] for i in range(0, MOST_BODY, 65536))
        self.assertEqual(server.ask("POST", "/predict", pieces)[0], 200)  # type: ignore
        more = iter([largest, b"  "])
        self.assertEqual(server.ask("POST", "/predict", more)[0], 413)  # type: ignore
        # A client that waits for leave is told before it sends.
        with server.socket() as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n"
                               b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(status_of(connection.recv(1000)), 413)
        self.check_serves(server)

    def test_many_rows(self) -> None:
        server = self.serve()
        rows = MOST_BODY // (len(json.dumps(ROW)) + 2)
        status, answers = server.predict([ROW] * rows)
        self.assertEqual((status, len(answers)), (200, rows))
        self.assertEqual({json.dumps({**answer, "row": 0}) for answer in answers},
                         {json.dumps({**answers[0], "row": 0})})
        self.assertEqual(answers[-1]["row"], rows - 1)

    def test_pipelined_and_half_closed(self) -> None:
        server = self.serve()
        with server.socket() as connection:
            connection.sendall(post(BODY) * 20 + post(b"[") + post(BODY))
            connection.shutdown(socket.SHUT_WR)
            answers = read_all(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 200"), 21, answers[:300])
        self.assertEqual(answers.count(b"HTTP/1.1 400"), 1)
        for part in (post(BODY)[:-5], b"POST /pre"):  # of a request
            with server.socket() as connection:
                begun = time.monotonic()
                connection.sendall(part)
                connection.shutdown(socket.SHUT_WR)
                self.assertNotIn(b"200", read_all(connection))
                self.assertLess(time.monotonic() - begun, 5)
        self.check_serves(server)

    def test_half_closed_after_a_slow_body(self) -> None:
        server = self.serve()
        row = json.dumps(ROW).replace("age", "\\u0061ge")  # which takes the reader longer
        request = post(f"[{','.join([row] * (MOST_BODY // (len(row) + 1) - 1))}]".encode(), "Connection: close")
        for _ in range(3):
            with server.socket() as connection:
                connection.sendall(request[:-1])
                time.sleep(1.2)
                connection.sendall(request[-1:])
                connection.shutdown(socket.SHUT_WR)
                self.assertEqual(status_of(read_all(connection)), 200)

    def test_idle_clients_block_nobody(self) -> None:
        server = self.serve("--threads", "2")
        idle = [server.connect() for _ in range(200)]
        for connection in idle:  # each has kept its connection after a request
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        self.assertGreaterEqual(server.metrics()["millrace_connections"], 200)
        begun = time.monotonic()
        for _ in range(20):
            self.check_serves(server)
        self.assertLess(time.monotonic() - begun, 5)
        for connection in idle:
            connection.request("POST", "/predict", BODY)
            self.assertEqual(connection.getresponse().read()[:8], b'[{"v":1,')
            connection.close()

    def test_slow_clients_are_ended(self) -> None:
        server = self.serve()

        def trickle(data: bytes, answers: list[tuple[bytes, float]]) -> None:
            begun = time.monotonic()
            with server.socket() as connection:
                connection.settimeout(0.5)
                answer = b""
                try:
                    for i in range(len(data)):
                        if time.monotonic() - begun > SECONDS:
                            break
                        connection.sendall(data[i:i + 1])
                        try:
                            answer = connection.recv(1000)
                            break
                        except TimeoutError:
                            pass
                except ConnectionError:
                    pass
                answers.append((answer, time.monotonic() - begun))

        def silent(data: bytes, answers: list[tuple[bytes, float]]) -> None:
            begun = time.monotonic()
            with server.socket() as connection:
                connection.sendall(data)
                answer = read_all(connection)
                answers.append((answer, time.monotonic() - begun))

        head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n"
        cases = [(trickle, head + b"X-A: b\r\n" * 500), (trickle, b"G" * 500), (silent, head), (silent, head + b"\r\n[")]
        answers: list[list[tuple[bytes, float]]] = [[] for _ in cases]
        threads = [threading.Thread(target=case, args=(data, got)) for (case, data), got in zip(cases, answers)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            self.check_serves(server)
        for thread in threads:
            thread.join()
        for got in answers:
            answer, seconds = got[0]
            self.assertEqual(status_of(answer), 408, got)
            self.assertTrue(9 < seconds < 15, got)
        # The next request of a connection that was used before.
        with server.socket() as connection:
            connection.sendall(post(BODY))
            self.assertEqual(status_of(connection.recv(10000)), 200)
            time.sleep(0.5)
            connection.sendall(b"POST")
            self.assertEqual(status_of(read_all(connection)), 408)

    def test_clients_that_are_gone(self) -> None:
        server = self.serve("--threads", "2")
        rows = json.dumps([ROW] * 2000).encode()
        generator = random.Random(5)
        for _ in range(200):
            data = post(rows)
            with server.socket() as connection:
                linger = b"\1\0\0\0\0\0\0\0"  # closed with a reset
                if generator.random() < 0.5:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.sendall(data[:generator.choice([10, 100, len(data) // 2, len(data), len(data)])])
        self.check_serves(server)
        deadline = time.monotonic() + SECONDS
        while (held := server.metrics()["millrace_held_bytes"]) > 0:
            self.assertLess(time.monotonic(), deadline, f"{held} bytes are held")
            time.sleep(0.1)
        self.assertLess(server.metrics()["millrace_connections"], 5)


if __name__ == "__main__":
    unittest.main()
