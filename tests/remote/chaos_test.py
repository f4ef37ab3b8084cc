"""Trainings whose workers are killed, added, paused, given other versions of the files and cut off, every second: each
must end with the weights, counts and files of the same training without workers.

Usage: tests/remote/chaos_test.py [--seconds S] [--keys] [--seed S] [--program FILE] [--keep DIR]
Ten minutes: --seconds 600. Prints a line for each finding, and a summary; the exit code is 1 if something was found."""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos_data import EQUAL, KINDS, OTHERS, configuration, judged, write_data
from chaos_processes import MARK, Slot, Training, Worker, command_of, free_ports, processes_with, stacks

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ.get("MILLRACE_TRAINER", str(HERE.parents[1] / "build/release/trainer"))
SLOTS = 6  # the worker of the first one is never disturbed
END_LIMIT = 15  # seconds in which a worker ends after SIGTERM
WARM, GROWTH = 0.4, 16 << 20  # share of the time that warms a worker up; bytes that it may grow after that
CALM, ENOUGH = 20, 200  # seconds after the end: of events, and until trainings that go on slowly are given up
SKIPPED = 77
GIVEN_UP = -1000  # in place of an exit code
EVENTS = {"kill": 4, "terminate": 1, "start": 4, "pause": 3, "other": 3, "replace": 1, "remove": 1, "sleep": 1,
          "delay": 2, "stall": 2, "cut": 2, "reset": 2, "refuse": 1}  # and how often they happen
WORDS = {"kill": "workers killed", "terminate": "workers terminated", "start": "workers added",
         "pause": "workers paused", "other": "workers restarted with another version of the data",
         "replace": "workers whose files were replaced", "remove": "workers whose files were removed",
         "sleep": "trainers put to sleep", "delay": "connections delayed", "stall": "connections stalled",
         "cut": "connections cut", "reset": "connections reset", "refuse": "connections refused"}  # in the summary


class Skipped(Exception):
    pass


class Findings:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.lock = threading.Lock()
        self.start = time.monotonic()

    def add(self, line: str) -> None:
        with self.lock:
            self.lines.append(line)
            print(f"finding at {time.monotonic() - self.start:.1f} s: {line}", flush=True)


class Chaos:
    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options, self.scratch = options, scratch
        self.draw = random.Random(options.seed)
        self.findings = Findings()
        self.counts: collections.Counter[str] = collections.Counter()
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, MARK: self.mark, "TERM": "dumb"}
        self.lock = threading.RLock()
        self.calm = 0  # trainings that begin, and would rightly refuse workers that see different files
        self.running: set[Training] = set()
        self.next_training = 0
        self.old_requests, self.old_rows = 0, 0.0
        self.memory: list[tuple[float, int]] = []
        self.end = 0.0
        self.key_words: list[str] = []
        self.expected: dict[str, tuple[dict[str, Any], dict[int, Any], bytes | None]] = {}

    def prepare(self) -> None:
        """The same trainings without workers."""
        for kind in self.options.kinds:
            folder = self.scratch / f"local-{kind}"
            folder.mkdir()
            config = configuration(kind)
            if kind == "bad":
                config["input"][2]["decode_csv"]["bad_rows_file"] = str(folder / "bad-rows.jsonl")
            (folder / "config.json").write_text(json.dumps(config))
            start = time.monotonic()
            ended = subprocess.run([self.options.program, str(folder / "config.json"), "--json", "--quiet"],
                                   cwd=self.scratch / "data", capture_output=True, text=True, env=self.environment,
                                   timeout=self.options.limit)
            if ended.returncode != 0:
                raise RuntimeError(f"the local training of {kind} fails: {ended.stdout[-2000:]}{ended.stderr}")
            (folder / "events.jsonl").write_text(ended.stdout)
            events = [json.loads(line) for line in ended.stdout.splitlines()]
            done = events[-1]
            bad = folder / "bad-rows.jsonl"
            self.expected[kind] = ({key: done[key] for key in EQUAL}, judged(events),
                                   bad.read_bytes() if bad.exists() else None)
            print(f"{kind}: {done['steps']} steps, {done['bad']} bad rows, {time.monotonic() - start:.1f} s locally",
                  flush=True)

    def make_keys(self) -> None:
        (self.scratch / "clients").mkdir()
        for name in ("worker", "clients/trainer"):
            subprocess.run([self.options.program, "keys", "--out", str(self.scratch / name)], check=True,
                           env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.key_words = ["--key", str(self.scratch / "worker.key"), "--clients", str(self.scratch / "clients")]

    def start_all(self) -> None:
        write_data(self.scratch / "data")
        for other in range(OTHERS):
            write_data(self.scratch / f"other-{other}", other)
        if self.options.keys:
            self.make_keys()
        ports = free_ports(2 * SLOTS, self.draw)
        self.slots = [Slot(number, ports[number], ports[SLOTS + number] if number > 0 else None)
                      for number in range(SLOTS)]
        routes = [f"{slot.relay_port}:{slot.port}" for slot in self.slots[1:]]
        self.relay = subprocess.Popen([sys.executable, "-B", str(HERE / "relay.py"), *routes], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env=self.environment, start_new_session=True)
        assert self.relay.stdout.readline() == "ready\n", "the relay does not start"
        for slot in self.slots[:4]:
            self.start_worker(slot, good=True)
        self.steady = self.slots[0].worker
        while self.steady.alive() and not self.steady.told:
            time.sleep(0.02)
        told = "".join(self.steady.told)
        if "libzmq" in told or "is not in this build" in told:
            raise Skipped(told)
        self.descriptors = self.steady.descriptors()

    def start_worker(self, slot: Slot, good: bool) -> None:
        """Each has a folder of its own, whose files may change while it runs."""
        self.retire(slot)
        root = self.scratch / f"root-{slot.number}"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.scratch / ("data" if good else f"other-{self.draw.randrange(OTHERS)}"), root)
        slot.worker = Worker(slot, self.options.program, root, good, self.key_words, self.environment)
        self.note(f"a worker begins at {slot.port}, its data are {'good' if good else 'another version'}")

    def retire(self, slot: Slot) -> None:
        """Takes the counts of a worker that has ended."""
        worker, slot.worker = slot.worker, None
        if worker is None:
            return
        worker.process.wait(END_LIMIT)
        worker.reader.join(END_LIMIT)
        self.old_requests += worker.requests
        self.old_rows += worker.rows
        if not worker.good and not worker.changed and worker.rows > 0:
            self.findings.add(f"a worker with another version of the data decoded {worker.rows:.0f} rows; it listened "
                              f"at port {slot.port}, relayed from {slot.relay_port}")
        code = worker.process.returncode
        if code in (-signal.SIGKILL, 128 + signal.SIGTERM) or (code == -signal.SIGTERM and not worker.told):
            return  # the last one had hardly begun
        told = " / ".join(worker.told[-3:])
        self.findings.add(f"a worker ended by itself with {code}: {told}")

    def kill(self, slot: Slot) -> None:
        if slot.worker is not None:
            self.note(f"the worker at {slot.port} is killed")
            slot.worker.send(signal.SIGKILL)
            self.retire(slot)

    def end_worker(self, slot: Slot) -> None:
        worker = slot.worker
        if worker is None:
            return
        worker.send(signal.SIGCONT)
        worker.send(signal.SIGTERM)
        try:
            worker.process.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            self.findings.add(f"a worker has not ended {END_LIMIT} s after SIGTERM: "
                              f"{stacks(worker.process.pid, self.scratch)}")
            worker.send(signal.SIGKILL)
        self.retire(slot)

    def note(self, line: str) -> None:
        """For whoever looks for the cause of a finding."""
        with self.lock, (self.scratch / "chaos.log").open("a") as out:
            out.write(f"{time.monotonic() - self.findings.start:.2f} {line}\n")

    def event(self) -> None:
        names = [name for name in EVENTS if name not in self.options.without]
        for _ in range(20):
            what = self.draw.choices(names, [EVENTS[name] for name in names])[0]
            slot = self.draw.choice(self.slots[1:])
            seconds = self.draw.choice([0.2, 0.7, 1.5, 3, 8])
            happens = self.connection_event if what in ("delay", "stall", "cut", "reset", "refuse") else (
                self.sleep_event if what == "sleep" else self.worker_event)
            if happens(what, slot, seconds):
                self.counts[WORDS[what]] += 1
                self.note(f"{WORDS[what]}, port {slot.port}, relayed from {slot.relay_port}, {seconds} s")
                return

    def connection_event(self, what: str, slot: Slot, seconds: float) -> bool:
        words = {"delay": [str(self.draw.choice([0.02, 0.1, 0.5])), str(seconds)],
                 "stall": [self.draw.choice(["in", "out", "both"]), str(seconds)],
                 "refuse": [str(min(seconds, 3))]}.get(what, [])
        self.relay.stdin.write(" ".join([str(slot.number - 1), what, *words]) + "\n")
        self.relay.stdin.flush()
        return True

    def sleep_event(self, what: str, slot: Slot, seconds: float) -> bool:
        awake = [one for one in self.running if one.process.poll() is None and not one.continue_at]
        if not awake:
            return False
        training = self.draw.choice(sorted(awake, key=lambda one: one.number))
        training.continue_at = time.monotonic() + seconds
        training.process.send_signal(signal.SIGSTOP)
        return True

    def worker_event(self, what: str, slot: Slot, seconds: float) -> bool:
        """False if it cannot happen to this worker now."""
        now = time.monotonic()
        if slot.later or slot.alive() == (what == "start"):
            return False  # it is paused, or about to come back or to end
        if what == "start":
            self.start_worker(slot, good=True)
        elif what == "kill":
            self.kill(slot)
            if self.draw.random() < 0.7:
                slot.later.append((now + self.draw.uniform(0, 2), lambda: self.start_worker(slot, good=True)))
        elif what == "terminate":
            self.end_worker(slot)
        elif what == "pause":
            paused = slot.worker
            paused.send(signal.SIGSTOP)
            slot.later.append((now + seconds, lambda: paused.send(signal.SIGCONT)))
        elif self.calm > 0:
            return False
        else:
            if what == "other":
                self.kill(slot)
                self.start_worker(slot, good=False)
            else:
                self.change(slot, what)
            slot.later.append((now + self.draw.uniform(2, 6), lambda: self.kill(slot)))
        return True

    def change(self, slot: Slot, what: str) -> None:
        """The files of a worker that runs."""
        slot.worker.good, slot.worker.changed = False, True
        if what == "remove":
            shutil.rmtree(slot.worker.root)
            return
        for path in (self.scratch / f"other-{self.draw.randrange(OTHERS)}").iterdir():
            beside = slot.worker.root / f"{path.name}.new"
            shutil.copyfile(path, beside)
            beside.rename(slot.worker.root / path.name)

    def tick(self) -> None:
        """What is due."""
        now = time.monotonic()
        for slot in self.slots:
            due = [do for when, do in slot.later if when <= now]
            slot.later = [one for one in slot.later if one[0] > now]
            for do in due:
                do()
            if slot.worker is not None and not slot.worker.alive():
                self.retire(slot)
        for training in self.running:
            if training.continue_at and training.continue_at <= now:
                training.continue_at = 0.0
                self.wake(training)
        if not self.steady.alive():
            raise RuntimeError("the worker that nobody disturbs has ended")

    def wake(self, training: Training) -> None:
        try:
            training.process.send_signal(signal.SIGCONT)
        except ProcessLookupError:
            pass

    def train_until_end(self) -> None:
        try:
            while time.monotonic() < self.end:
                with self.lock:
                    number = self.next_training
                    self.next_training += 1
                self.train(number)
        except Exception:
            self.findings.add(f"the test fails: {traceback.format_exc()}")

    def train(self, number: int) -> None:
        draw = random.Random(f"{self.options.seed}/{number}")
        kind = self.options.kinds[number % len(self.options.kinds)]
        training = Training(number, kind, self.scratch / f"training-{number}")
        fallback = draw.choice(self.options.fallbacks)
        kills = draw.choice([0, 0, 1, 2, 4])
        config = configuration(kind)
        if kills > 0:
            config["checkpoint"] = {"dir": "checkpoints", "every": draw.choice([37, 150])}
        if kind == "bad":
            config["input"][2]["decode_csv"]["bad_rows_file"] = str(training.folder / "bad-rows.jsonl")
        name = f"training {number} ({kind}, {fallback}, {kills} kills)"
        attempts = killed = 0
        start = time.monotonic()
        while True:
            attempts += 1
            config["workers"] = self.workers(draw, fallback)
            (training.folder / f"config-{attempts}.json").write_text(json.dumps(config, indent=1))
            lives = draw.uniform(0.3, 4) if killed < kills and time.monotonic() < self.end else None
            code = self.attempt(training, attempts, fallback, lives, resume=attempts > 1)
            if code is None:
                self.findings.add(f"{name} hangs, attempt {attempts}; {training.folder}")
                return
            if code == GIVEN_UP:
                self.counts["trainings given up, as the machine is too slow"] += 1
                return
            if code != -signal.SIGKILL:
                break
            killed += 1
        self.counts["trainings"] += 1
        self.counts[f"trainings of {kind}"] += 1
        self.counts["trainers killed"] += killed
        found = self.differences(training, kind, code)
        if found:
            self.findings.add(f"{name}, attempt {attempts}: {found}; {training.folder}")
        elif self.options.verbose:
            print(f"{name}: equal after {attempts} attempts, {time.monotonic() - start:.1f} s", flush=True)

    def workers(self, draw: random.Random, fallback: str) -> dict[str, Any]:
        """Some of the slots; without a fallback the one that is never disturbed, too."""
        slots = draw.sample(self.slots[1:], draw.randrange(2, SLOTS))
        if fallback != "local" or draw.random() < 0.5:
            slots.append(self.slots[0])
        draw.shuffle(slots)
        out = {"connect": [slot.endpoint(draw.random() < 0.6) for slot in slots], "fallback": fallback}
        if self.options.keys:
            out |= {"key": str(self.scratch / "clients/trainer.key"), "server_key": str(self.scratch / "worker.pub")}
        if draw.random() < 0.5:
            out["ahead"] = draw.choice([1, 2, 4])
        return out

    def attempt(self, training: Training, attempt: int, fallback: str, lives: float | None,
                resume: bool) -> int | None:
        """The exit code; null if it hung. Without a fallback it runs where no data are."""
        calm = fallback != "local"
        with self.lock:
            self.calm += calm
            for slot in self.slots[1:] if calm else []:
                if slot.worker is not None and not slot.worker.good:
                    slot.later.clear()
                    self.kill(slot)
        words = [self.options.program, str(training.folder / f"config-{attempt}.json"), "--json"]
        if resume:
            words.append("--resume")
        config = json.loads((training.folder / f"config-{attempt}.json").read_text())
        if "checkpoint" in config:
            words += ["--set", f"checkpoint.dir={training.folder / 'checkpoints'}"]
        events = training.folder / "events.jsonl"
        begin = events.stat().st_size if events.exists() else 0
        with events.open("ab") as out, (training.folder / "stderr.txt").open("ab") as errors:
            process = subprocess.Popen(words, stdout=out, stderr=errors, stdin=subprocess.DEVNULL,
                                       env=self.environment, start_new_session=True,
                                       cwd=training.folder if calm else self.scratch / "data")
        self.note(f"training {training.number}, attempt {attempt}: begins as process {process.pid}")
        with self.lock:
            training.process = process
            self.running.add(training)
        start = last = time.monotonic()
        size = begin
        code = None
        while code is None and time.monotonic() - last < self.options.limit:
            time.sleep(0.02)
            code = process.poll()
            if training.continue_at or events.stat().st_size > size:
                last, size = time.monotonic(), events.stat().st_size
            if calm and (code is not None or self.has_begun(events, begin)):
                calm = False
                with self.lock:
                    self.calm -= 1
            if code is None and lives is not None and time.monotonic() - start > lives:
                process.kill()
                code = process.wait()
            if code is None and time.monotonic() > self.end + ENOUGH:
                process.kill()
                process.wait()
                code = GIVEN_UP
        with self.lock:
            self.running.discard(training)
            if calm:
                self.calm -= 1
            training.continue_at = 0.0
        self.note(f"training {training.number}, attempt {attempt}: ended with {code}")
        if code is None:
            self.wake(training)
            print(stacks(process.pid, self.scratch), flush=True)
            process.kill()
            process.wait()
        return code

    def has_begun(self, events: Path, begin: int) -> bool:
        with events.open("rb") as text:
            text.seek(begin)
            return b'"event":"step"' in text.read()

    def differences(self, training: Training, kind: str, code: int) -> str:
        if code != 0:
            return f"exit code {code}: {training.error()}"
        events = list(training.events())
        done = events[-1]
        if done["event"] != "done":
            return f"the last event is {done['event']}"
        expected, validations, bad_rows = self.expected[kind]
        out = [f"{key} is {done[key]} and not {expected[key]}" for key in EQUAL if done[key] != expected[key]]
        out += [f"the validation at step {step} is {values} and not {validations.get(step)}"
                for step, values in judged(events).items() if values != validations.get(step)]
        if bad_rows is not None and (training.folder / "bad-rows.jsonl").read_bytes() != bad_rows:
            out.append("the file of bad rows differs")
        return ", ".join(out)

    def run(self) -> None:
        self.end = time.monotonic() + self.options.seconds
        start = time.monotonic()
        threads = [threading.Thread(target=self.train_until_end) for _ in range(self.options.parallel)]
        for thread in threads:
            thread.start()
        next_event = start + 1
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.05)
                with self.lock:
                    self.tick()
                    if time.monotonic() < next_event:
                        continue
                    next_event += self.options.every
                    if time.monotonic() < self.end + CALM:
                        self.event()
                    self.memory.append((time.monotonic() - start, self.steady.memory()))
        finally:
            self.end = min(self.end, time.monotonic() - ENOUGH if any(one.is_alive() for one in threads) else self.end)
            with self.lock:
                for training in self.running:
                    self.wake(training)
            for thread in threads:
                thread.join()

    def check_after(self) -> None:
        """Workers idle, have not grown, end when they are told to; and no process is left."""
        length = max((when for when, _ in self.memory), default=0.0)
        early = [size for when, size in self.memory if WARM * length <= when < (WARM + 0.3) * length]
        late = [size for when, size in self.memory if when >= (WARM + 0.3) * length]
        if early and late:
            self.counts["MiB of the undisturbed worker"] = max(late) >> 20
            if max(late) > max(early) + GROWTH:
                self.findings.add(f"a worker grows from {max(early) >> 20} to {max(late) >> 20} MiB")
        if self.options.seconds >= 300:
            self.check_idle()
        with self.lock:
            for slot in self.slots:
                slot.later.clear()
                self.end_worker(slot)
        routes = self.relay.communicate(timeout=END_LIMIT)[0].splitlines()
        self.counts["relayed connections"] = sum(int(line.split()[0]) for line in routes)
        self.counts["relayed MiB"] = sum(int(line.split()[2]) for line in routes) >> 20
        if self.old_rows == 0 or self.counts["trainings"] == 0:
            self.findings.add(f"{self.counts['trainings']} trainings ended, workers decoded {self.old_rows:.0f} rows")
        for process in processes_with(self.mark):
            self.findings.add(f"process {process} is left: {command_of(process)}")
            os.kill(process, signal.SIGKILL)

    def check_idle(self) -> None:
        """A worker forgets trainings that were killed."""
        end = time.monotonic() + 60
        while self.steady.peers > 0 and time.monotonic() < end:
            time.sleep(0.2)
        if self.steady.peers > 0:
            self.findings.add(f"a worker has {self.steady.peers} connections 60 s after all trainings ended")
        descriptors = self.steady.descriptors()
        if descriptors > self.descriptors:
            self.findings.add(f"a worker had {self.descriptors} descriptors at its start, and has {descriptors} when "
                              "nobody uses it any more")

    def summary(self) -> None:
        print("summary: seed", self.options.seed)
        for key, value in sorted(self.counts.items()):
            print(f"  {value} {key}")
        print(f"  {self.old_requests} requests answered by workers, about {self.old_rows:.0f} rows decoded there")
        found = len(self.findings.lines)
        print(f"chaos: {found} finding{'' if found == 1 else 's'}", flush=True)


def words_of(all_words: tuple[str, ...]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        words = text.split(",")
        if not set(words) <= set(all_words):
            raise argparse.ArgumentTypeError(f"expected some of {', '.join(all_words)}")
        return words
    return read


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=50, help="how long trainings are begun")
    parser.add_argument("--every", type=float, default=1, help="seconds between two events")
    parser.add_argument("--parallel", type=int, default=2, help="trainings at the same time")
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds without any event after which a training hangs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=PROGRAM, type=os.path.abspath)
    parser.add_argument("--keep", metavar="DIR", help="a new folder for everything, which stays")
    parser.add_argument("--kinds", type=words_of(KINDS), default=list(KINDS), help="of data")
    parser.add_argument("--fallbacks", type=words_of(("local", "wait", "fail")), default=["local", "wait", "fail"])
    parser.add_argument("--without", type=words_of(tuple(EVENTS)), default=[], help="events that do not happen")
    parser.add_argument("--keys", action="store_true", help="encrypt all connections")
    parser.add_argument("--verbose", action="store_true", help="a line for each training")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("interrupted"))
    with tempfile.TemporaryDirectory(prefix="millrace-chaos-") as name:
        if options.keep:
            Path(options.keep).mkdir(parents=True)
        chaos = Chaos(options, Path(os.path.abspath(options.keep)) if options.keep else Path(name))
        try:
            chaos.start_all()
            chaos.prepare()
            chaos.run()
            chaos.check_after()
        except Skipped as why:
            print(f"skipped: {why}")
            return SKIPPED
        finally:
            for process in processes_with(chaos.mark):
                os.kill(process, signal.SIGKILL)
        chaos.summary()
    return 1 if chaos.findings.lines else 0


if __name__ == "__main__":
    sys.exit(main())
