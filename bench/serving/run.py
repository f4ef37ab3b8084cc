"""Rows a second and latencies of `trainer serve` and of a Python service, measured in turn by wrk; or, with --readers,
of `trainer serve` for bodies that its fast reader of JSON reads, and for ones that only the general reader reads.

Usage: see scripts/bench-serving."""

from __future__ import annotations

import argparse
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import models

ROOT = Path(__file__).resolve().parents[2]
TRAINER = os.environ.get("MILLRACE_TRAINER", str(ROOT / "build/release/trainer"))
MODELS = [(32, 64), (256, 256)]
LOADS = [(1, 1), (32, 1), (8, 64)]  # clients, and rows of a request
SCRIPT = 'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = [=[{body}]=]\n'
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def wait_for(port: int, body: str) -> None:
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/predict", body)
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing answers at port {port}")


def milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * UNITS[unit]


def measure(port: int, script: Path, clients: int, seconds: float) -> tuple[float, float, float]:
    """Requests a second, and the median and the 99th percentile of their milliseconds."""
    done = subprocess.run(["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency", "-s", script,
                           f"http://127.0.0.1:{port}/predict"], text=True, capture_output=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise SystemExit(done.stdout)
    found = {key: re.search(rf"{key}:?\s+(\S+)", done.stdout).group(1) for key in ("50%", "99%", "Requests/sec")}
    return float(found["Requests/sec"]), milliseconds(found["50%"]), milliseconds(found["99%"])


def bench(folder: Path, features: int, hidden: int, args: argparse.Namespace) -> None:
    models.make(TRAINER, folder, features, hidden)
    ports = {"trainer serve": args.port, "Python": args.port + 1}
    if args.readers:
        ports = {"fast reader": args.port, "general reader": args.port}
    environment = {**os.environ, "MODEL": str(folder / "model.onnx"), "FEATURES": str(features)}
    servers = [subprocess.Popen([TRAINER, "serve", "--model", "model.safetensors", "--port", str(args.port),
                                 "--threads", str(args.threads), "--quiet"], cwd=folder)]
    if not args.readers:
        servers.append(subprocess.Popen([sys.executable, "-m", "uvicorn", "python_service:app", "--port",
                                         str(args.port + 1), "--log-level", "warning", "--workers", str(args.threads)],
                                        cwd=Path(__file__).parent, env=environment))
    try:
        for clients, rows in LOADS:
            scripts = {}
            for name in ports:
                scripts[name] = folder / f"{name}.lua"
                scripts[name].write_text(SCRIPT.format(body=models.body(features, rows, name == "general reader")))
            for port in ports.values():
                wait_for(port, models.body(features, rows))
            results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ports}
            for _ in range(args.rounds):
                for name, port in ports.items():
                    results[name].append(measure(port, scripts[name], clients, args.seconds))
            medians = {name: [statistics.median(column) for column in zip(*got)] for name, got in results.items()}
            for name, (requests, half, most) in medians.items():
                times = next(iter(medians.values()))[0] / requests
                print(f"| {features}-{hidden}-1 | {clients} | {rows} | {name} | {requests * rows:,.0f} | {half:.3f} | "
                      f"{most:.3f} | {times:.1f} |", flush=True)
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of trainer serve, and processes of the Python service")
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--readers", action="store_true", help="compare the two readers of trainer serve")
    args = parser.parse_args()
    print("| model | clients | rows a request | server | rows/s | median ms | 99% ms | times as fast |")
    print("|---|--:|--:|---|--:|--:|--:|--:|")
    for features, hidden in MODELS:
        with tempfile.TemporaryDirectory(prefix="millrace-serving-") as folder:
            bench(Path(folder), features, hidden, args)


if __name__ == "__main__":
    main()
