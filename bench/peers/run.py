"""Compares this library with its peers; see scripts/bench-peers. Of every work the contenders work in turn, a window of
time each, round after round, and stand still while it is not theirs."""

import argparse
import datetime
import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contenders import OURS, WORKS, Contender, Work
from data import make_data
from report import ratio, write_markdown, write_svg
from store_peer import make_store

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
DATA = BUILD / "peers-data"
PROGRAMS = BUILD / "bench"
PATIENCE = 600  # seconds for a worker to answer
Result = dict[str, Any]


class Failed(Exception):
    """A contender that cannot take part, and why."""


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def peak_mib(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise Failed("no memory to read")


class Worker:
    """A process in a session of its own, on the first processors of this one."""

    def __init__(self, command: list[str], contender: Contender, threads: int) -> None:
        processors = sorted(os.sched_getaffinity(0))[:threads]
        self.errors = tempfile.TemporaryFile("w+")
        self.unread = b""
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(contender, threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            bufsize=0,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
        )

    def answer(self) -> Result:
        """The next line of JSON."""
        while not (line := self.line()).startswith(b"{"):
            pass
        return json.loads(line)

    def line(self) -> bytes:
        """The next line; select() sees only what no buffer of Python's holds."""
        while b"\n" not in self.unread:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise Failed(f"no answer for {PATIENCE} s")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failed(self.last_words())
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def ready(self) -> Result:
        """What it tells of itself, or why it cannot take part; from then on it stands still."""
        try:
            answer = self.answer()
        except Failed as failure:
            self.end()
            return {"failed": str(failure)}
        self.signal(signal.SIGSTOP)
        return answer

    def last_words(self) -> str:
        self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        return lines[-1] if lines else f"ended with {self.process.returncode}"

    def window(self, seconds: float) -> Result:
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{seconds}\n".encode())
        except BrokenPipeError:
            raise Failed(self.last_words()) from None
        answer = self.answer()
        self.signal(signal.SIGSTOP)
        return answer

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """May be called again."""
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.errors.close()


def environment(contender: Contender, threads: int) -> dict[str, str]:
    count = str(threads)
    out = os.environ | {
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "POLARS_MAX_THREADS": count,
        "TF_NUM_INTRAOP_THREADS": count,
        "TF_NUM_INTEROP_THREADS": count,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TORCHINDUCTOR_CACHE_DIR": str(BUILD / "peers-cache"),
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
    }
    if contender.mkl:
        out["LD_PRELOAD"] = str(BUILD / "peers-mkl.so")
    return out


def command(contender: Contender, work: str, threads: int) -> list[str]:
    if contender.peer == OURS:
        program = [str(PROGRAMS / "peer")]
    else:
        program = [sys.executable, str(ROOT / "bench" / "peers" / f"{contender.peer}_peer.py")]
    return [*program, work, contender.variant, str(DATA), str(threads)]


def left_out(contender: Contender) -> str | None:
    if contender.mkl and "GenuineIntel" in Path("/proc/cpuinfo").read_text():
        return "the processor is Intel's, so this is what PyTorch does by itself"
    return None


def in_windows(name: str, work: Work, threads: int, rounds: int, seconds: float) -> tuple[list[Result], list[float]]:
    """What each contender came to, and ours once more at the end of every round."""
    results: list[Result] = [{"values": []} for _ in work.contenders]
    again: list[float] = []
    workers: list[Worker | None] = []
    for contender, result in zip(work.contenders, results, strict=True):
        if why := left_out(contender):
            result["failed"] = why
        words = command(contender, name.split("-")[0], threads)
        workers.append(None if why else Worker(words, contender, threads))

    def window(which: int, values: list[float]) -> None:
        if "failed" in results[which]:
            return
        try:
            answer = workers[which].window(seconds)
            values.append(work.value(answer["amount"], answer["seconds"]))
        except Failed as failure:
            workers[which].end()
            results[which]["failed"] = str(failure)

    try:
        for worker, result in zip(workers, results, strict=True):
            if worker:
                result |= worker.ready()
        for _ in range(rounds):
            for which, result in enumerate(results):
                window(which, result["values"])
            window(0, again)
    finally:
        for worker in filter(None, workers):
            worker.end()
    return results, again


def start_once(contender: Contender, threads: int) -> Result:
    """One process from nothing to its first finished step."""
    if contender.peer == OURS:
        words = [str(PROGRAMS / "trainer"), "--config", "bench/peers/training.yaml", "--json"]
        settings = [f"threads={threads}", f"input.shuffle_batch.threads={threads}", "train.log_every=1"]
        words += [word for setting in settings for word in ("--set", setting)]
    else:
        words = command(contender, "start", threads)
    begin = time.perf_counter()
    worker = Worker(words, contender, threads)
    try:
        answer = worker.answer()
        while answer.get("event", "step") != "step":
            answer = worker.answer()
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "mib": peak_mib(worker.process.pid), "versions": answer.get("versions", {})}
    finally:
        worker.end()


def starts(work: Work, threads: int, rounds: int) -> tuple[list[Result], list[float]]:
    results: list[Result] = [{"values": [], "mib": []} for _ in work.contenders]
    again: list[float] = []
    start_once(work.contenders[0], threads)
    for _ in range(rounds):
        for contender, result in zip(work.contenders, results, strict=True):
            try:
                once = start_once(contender, threads)
            except Failed as failure:
                result["failed"] = str(failure)
                continue
            result["values"].append(once["seconds"])
            result["mib"].append(once["mib"])
            result["versions"] = once["versions"]
        again.append(start_once(work.contenders[0], threads)["seconds"])
    for result in results:
        if "failed" not in result:
            result["mib"] = statistics.median(result["mib"])
    return results, again


def measure(name: str, rounds: int, seconds: float) -> tuple[Result, dict[str, str]]:
    """A work's part of the JSON, and the versions of who took part."""
    work = WORKS[name]
    threads = 1 if work.one_thread else len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if name == "start":
        results, again = starts(work, threads, rounds)
    else:
        results, again = in_windows(name, work, threads, rounds, seconds)
    versions: dict[str, str] = {}
    for result in results:
        versions |= result.pop("versions", {})
        if values := result["values"]:
            result |= {"median": statistics.median(values), "min": min(values), "max": max(values)}
    if "failed" in results[0]:
        raise Failed(f"{OURS}: {results[0]['failed']}")
    both = zip(results[0]["values"], again, strict=True)
    return {
        "unit": work.unit,
        "lower": work.lower,
        "threads": threads,
        "rounds": rounds,
        "seconds": seconds,
        "load": load,
        "noise": statistics.median(abs(second / first - 1) for first, second in both),
        "contenders": [asdict(contender) | result for contender, result in zip(work.contenders, results, strict=True)],
    }, versions


def show(part: Result, wanted: float | None) -> None:
    """A line for each contender, with how many times as fast ours is."""
    for result in part["contenders"]:
        line = result.get("failed") or f"{result['median']:.4g} {part['unit']}"
        if "median" in result and result["peer"] != OURS:
            faster = ratio(part, result)
            line += f", {OURS} is {faster:.2f}x as fast"
            if wanted:
                line += f" (wanted: {wanted}x, {'met' if faster >= wanted else 'missed'})"
        if result.get("unequal"):
            line += f", {result['unequal']} numbers have other bits"
        print(f"  {result['name']:44} {line}")
    print(f"  {'noise of ours against ours':44} {100 * part['noise']:.1f} %")


def machine() -> Result:
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.platform(),
    }


def commit() -> str:
    """Of the sources, where they are a checkout."""
    try:
        words = ["git", "describe", "--always", "--dirty"]
        return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def file_name() -> str:
    """2026-11-22-epyc-peers"""
    words = processor().lower().replace("(r)", " ").replace("(tm)", " ").split()
    dull = {"amd", "intel", "core", "cpu", "processor", "with"}
    kept = [word for word in words if word.isalnum() and word not in dull and not word.endswith("ghz")][:2]
    return "-".join([datetime.date.today().isoformat(), *kept, "peers"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench-peers")
    parser.add_argument("--only", choices=[*WORKS, "store", "row"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    options = parser.parse_args()

    make_data(PROGRAMS / "trainer", DATA)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{file_name()}.json"
    whole = json.loads(path.read_text()) if path.exists() else {"versions": {}, "works": {}}
    whole["machine"] = machine()
    built_from = commit()
    stores = [name for name in WORKS if name.startswith("store-")]
    group = [name for name in WORKS if name.startswith(f"{options.only}-")]
    for name in [options.only] if options.only in WORKS else group or WORKS:
        print(f"{WORKS[name].title} ...", flush=True)
        try:
            if name in stores:
                make_store(PROGRAMS / "trainer", DATA / "store", name.removeprefix("store-"))
            part, versions = measure(name, options.rounds, options.seconds)
        except (Failed, ImportError) as error:
            print(f"  left out: {error}")
            continue
        part |= {"commit": built_from, "command": " ".join(["scripts/bench-peers", *sys.argv[1:]])}
        whole["works"][name] = part
        whole["versions"] |= versions | {"python": platform.python_version()}
        path.write_text(json.dumps(whole, indent=1) + "\n")
        show(part, WORKS[name].wanted)
    if not whole["works"]:
        sys.exit("nothing could be measured")
    write_markdown(whole, path)
    write_svg(whole, path)
    print(path.with_suffix(".md"))


if __name__ == "__main__":
    main()
