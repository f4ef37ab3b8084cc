"""The step benchmark: one training step on a batch that lies on the device, of this library and of its peers.

All get the same initial weights, the same batch and the same learning rate, and train the same first steps, whose
losses must be those of our step on the CPU before any time is believed. Then they are timed in turn, round after round;
who has no turn is a stopped process (SIGSTOP)."""

from __future__ import annotations

import json
import math
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Iterator

from budget import Deadline, Section
from losses import worst_difference
from machine import Machine, checked, python_with
from networks import NETWORKS
from processes import LATE
from worker import Failed, Late, Worker, end_all

OURS = "ours"
WALL = "the wall's clock"
TOLERANCES = {"fp32": 1e-4, "tf32": 1e-2}  # of a loss, relative
ASTRAY = 10  # times the tolerance: a peer that differs more trains something else, and does not just round differently
PRECISIONS = ("fp32", "tf32")
TIMING_SECONDS = 15  # of a race's time, at most; the rest is for imports and compilation
HANGS_SECONDS = 60  # until ours is ready
TURN_SECONDS = 20  # a turn, of a second or less
TRIES = 2  # of a contender that is late
BUSY_SECONDS = 2  # for the clocks of a GPU that works
NOT_AVAILABLE = "this build has no key precision"


@dataclass(frozen=True)
class Contender:
    key: str
    name: str
    program: str  # of this folder, or OURS
    mode: str
    how: str = ""
    package: str = ""  # of Python, that must be there
    clock: str = "CUDA events"
    slow: bool = False  # to start, for which it wants the machine to itself


CONTENDERS = (
    Contender("ours", "Millrace", OURS, "resident", "the batch stays on the device; one CUDA graph a step"),
    Contender("ours_group", "Millrace, four steps a launch", OURS, "resident_group", "the same, four steps a graph"),
    Contender("ours_trainer", "Millrace, trainer", OURS, "trainer", "delivery: constant; some go together", clock=WALL),
    Contender(
        "ours_trainer_alone",
        "Millrace, trainer, one step a launch",
        OURS,
        "trainer_alone",
        "the same, each launched by itself",
        clock=WALL,
    ),
    Contender("torch_eager", "PyTorch, eager", "torch_step.py", "eager", "fused SGD", "torch"),
    Contender("torch_compile", "PyTorch, torch.compile", "torch_step.py", "compile", "fused SGD", "torch"),
    Contender("torch_graph", "PyTorch, CUDA graph by hand", "torch_step.py", "graph", "fused SGD", "torch"),
    Contender("jax", "JAX, jit", "jax_step.py", "jit", "parameters donated", package="jax", clock=WALL),
    Contender(
        "torch_compile_max",
        "PyTorch, torch.compile, max-autotune",
        "torch_step.py",
        "compile_max",
        "fused SGD",
        "torch",
        slow=True,
    ),
)


@dataclass(frozen=True)
class Sizes:
    steps: int = 100  # between two looks at the clock
    losses: int = 10  # of the first steps, that are compared
    repeats: int = 10  # a round
    rounds: int = 5
    start_seconds: float = 120  # for a contender to get ready


SMALL = Sizes(steps=2, losses=6, repeats=2, rounds=2)


def quartiles(values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return {"median": values[0], "lower": values[0], "upper": values[0]}
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": middle, "lower": lower, "upper": upper}


def settings_of(machine: Machine, network: str, precision: str) -> list[str]:
    """The configuration, and what of it is set anew."""
    of_network = NETWORKS[network]
    tiny = of_network["tiny"] if machine.emulated else ()
    tf32 = ["precision=tf32"] if precision == "tf32" else []
    return [of_network["config"], *of_network["settings"], *tiny, f"device={machine.device}", *tf32]


class Race:
    """One network in one precision."""

    def __init__(self, machine: Machine, network: str, precision: str, folder: str, sizes: Sizes) -> None:
        self.machine = machine
        self.network = network
        self.precision = precision
        self.device = machine.device.partition(":")[0]
        self.folder = folder
        self.sizes = sizes
        self.workers: dict[str, Worker] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.tries: dict[str, int] = {}  # of earlier runs
        self.clocks = ""  # while our step ran, in whichever run timed it

    def go_on(self, before: dict[str, Any]) -> None:
        """Keeps the contenders that an earlier run has done with; `before` is its part()."""
        self.clocks = before.get("clocks", "")
        contenders = before.get("contenders", [])
        self.tries = {one["key"]: one["tries"] for one in contenders}
        self.results = {one["key"]: one for one in contenders if not self.lacks(one)}

    def lacks(self, one: dict[str, Any]) -> bool:
        """Whether the contender is tried again. Ours is until it has a time: a race without it is not done."""
        if "failed" in one:
            return one.get("late", False) and (one["program"] == OURS or one["tries"] < TRIES)
        return one["rounds"] < self.sizes.rounds and one["tries"] < TRIES

    def settings(self, precision: str) -> list[str]:
        return settings_of(self.machine, self.network, precision)

    def command(self, contender: Contender) -> list[str]:
        sizes = [str(self.sizes.steps), str(self.sizes.losses)]
        if contender.program != OURS and self.machine.emulated:
            raise Failed("the GPU is emulated")
        if contender.program == OURS:
            return [self.machine.path("gpu_step"), contender.mode, *sizes, *self.settings(self.precision)]
        python = python_with(self.machine.pythons, contender.package)
        if not python:
            raise Failed(f"{contender.package} is not installed")
        program = os.path.join(self.machine.source, "bench/gpu", contender.program)
        return [python, program, self.network, contender.mode, self.precision, self.device, self.folder, *sizes]

    def environment(self, contender: Contender) -> dict[str, str]:
        if contender.program == OURS:
            return self.machine.environment
        # Theirs come with their own libraries.
        extra = {
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.folder, "cache"),
        }
        if self.device == "cpu":
            extra["CUDA_VISIBLE_DEVICES"] = ""
        return {**os.environ, **extra}

    def start(self, contender: Contender, deadline: Deadline) -> None:
        tries = self.tries.get(contender.key, 0) + 1
        result: dict[str, Any] = {**asdict(contender), "values": [], "rounds": 0, "tries": tries}
        self.results[contender.key] = result
        try:
            if deadline.left() < 1:
                raise Late(0)
            worker = Worker(self.command(contender), self.machine.source, self.environment(contender))
            self.workers[contender.key] = worker
            result |= worker.ready(deadline.within(self.sizes.start_seconds))
            if self.device == "cpu":
                result["clock"] = WALL
        except Failed as failure:
            self.drop(contender.key, failure, HANGS_SECONDS)

    def drop(self, key: str, why: Failed, patience: float = math.inf) -> None:
        result = self.results[key]
        result["failed"] = NOT_AVAILABLE if "unknown key precision" in str(why) else str(why)
        # Ours takes seconds to start, and less to answer: where it had as long as `patience`, it hangs.
        hangs = result["program"] == OURS and isinstance(why, Late) and why.seconds >= patience
        result["late"] = isinstance(why, Late) and not hangs
        if key in self.workers:
            self.workers.pop(key).end()

    def end(self) -> None:
        end_all(self.workers.values())
        self.workers.clear()

    def compare(self, reference: list[float | None]) -> list[str]:
        """Drops those whose losses differ; what is wrong: a peer may round in its own way."""
        wrong = []
        for key in list(self.workers):
            result = self.results[key]
            result["difference"] = worst_difference(result["losses"], reference)
            allowed = TOLERANCES[self.precision]
            if not result["difference"] <= allowed:
                told = f"{result['difference']:.1e}, allowed are {allowed:.0e}"
                self.drop(key, Failed(f"its losses differ from ours on the CPU by {told}"))
                # own_failures() tells ours.
                if result["program"] != OURS and not result["difference"] <= ASTRAY * allowed:
                    wrong.append(f"{self.network}, {self.precision}: {result['name']}: {result['failed']}")
        return wrong

    def drop_unchanged(self, strict: list[float | None] | None) -> None:
        """Whose TF32 is full precision under another name."""
        has_units = self.machine.about.get("compute_major", 0) >= 8
        if self.precision != "tf32" or self.device == "cpu" or not has_units:
            return
        for key in list(self.workers):
            if self.results[key]["program"] == OURS and self.results[key]["losses"] == strict:
                self.drop(key, Failed("precision: tf32 changed no bit of any loss, so it did nothing"))

    def own_failures(self, contenders: list[Contender]) -> list[str]:
        mine = [self.results[one.key] for one in contenders if one.program == OURS]
        return [
            f"{self.network}, {self.precision}: {one['name']}: {one['failed']}"
            for one in mine
            if one.get("failed", NOT_AVAILABLE) != NOT_AVAILABLE and not one["late"]
        ]

    def time(self, deadline: Deadline) -> None:
        for _ in range(self.sizes.rounds):
            for key in list(self.workers) if deadline.left() >= 1 else []:
                result = self.results[key]
                try:
                    answer = self.workers[key].repeats(self.sizes.repeats, deadline.within(TURN_SECONDS))
                    result["values"] += answer["microseconds"]
                    result["rounds"] += 1
                    if "groups" in answer:
                        result["groups"] = result.get("groups", 0) + answer["groups"]
                except Failed as failure:
                    self.drop(key, failure, TURN_SECONDS)
        for key in list(self.workers):
            if self.results[key]["rounds"] == 0:
                self.drop(key, Late(0))

    def busy_clocks(self, deadline: Deadline) -> str:
        """Those of the GPU while our step runs, after all times: asking for them takes time on the GPU."""
        worker, values = self.workers.get("ours"), self.results["ours"]["values"]
        if worker is None or self.machine.emulated or self.device == "cpu" or deadline.left() < 2 * BUSY_SECONDS:
            return ""
        try:
            worker.ask(1 + int(1e6 * BUSY_SECONDS / statistics.median(values) / self.sizes.steps))
            clocks = self.machine.clocks()
            worker.answer(deadline.within(5 * BUSY_SECONDS))
            return clocks
        except Late:
            return clocks
        except Failed as failure:
            self.drop("ours", failure)
            return ""

    def part(self) -> dict[str, Any]:
        for result in self.results.values():
            if result["values"] and "failed" not in result:
                result |= quartiles(result["values"])
        ordered = [self.results[one.key] for one in CONTENDERS if one.key in self.results]
        return {
            "network": self.network,
            "precision": self.precision,
            "rounds": max(one["rounds"] for one in ordered),
            "sizes": asdict(self.sizes),
            "clocks": self.clocks,
            "contenders": ordered,
        }


@dataclass
class Known:
    """Of a network: our losses on the CPU, and on the device in full precision."""

    reference: list[float | None]
    strict: list[float | None] | None = None


def first_losses(race: Race, settings: list[str], seconds: float) -> list[float | None]:
    """Of our step. Throws Failed."""
    command = ["gpu_step", "resident", "1", str(race.sizes.losses), *settings]
    ran = race.machine.run(command, race.machine.source, seconds)
    if ran.status != 0:
        raise Failed(f"{race.network}: our step with {settings[-1]} failed: {ran.last_words}")
    return json.loads(ran.out.splitlines()[0])["losses"]


def prepare(race: Race, deadline: Deadline) -> Known:
    """Writes weights and batch for the peers. Throws Failed."""
    machine, strict = race.machine, race.settings("fp32")
    written = machine.run(
        ["gpu_step", "write", race.folder, *strict, "device=cpu"], machine.source, deadline.within(60)
    )
    if written.status != 0:
        raise Failed(f"{race.network}: no weights were written: {written.last_words}")
    known = Known(first_losses(race, [*strict, "device=cpu"], deadline.within(120)))
    if race.precision == "tf32" and race.device != "cpu":
        known.strict = first_losses(race, strict, deadline.within(120))
    return known


def run_race(race: Race, slow: bool, section: Section, deadline: Deadline) -> None:
    """Of all contenders that have no result yet. Throws Failed."""
    known = prepare(race, deadline)
    lacking = [one for one in CONTENDERS if one.key not in race.results and (slow or not one.slow)]
    jobs = 1 if race.device == "cpu" else max(1, race.machine.cores // 2)
    try:
        starting = Deadline(deadline.end - min(TIMING_SECONDS, deadline.left() / 3))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda one: race.start(one, starting), [one for one in lacking if not one.slow]))
        for contender in lacking:
            if contender.slow:  # where there is time
                race.start(contender, starting)
        race.drop_unchanged(known.strict)
        section.wrong += race.compare(known.reference)
        race.time(deadline)
        race.clocks = section.clocks = race.busy_clocks(deadline) or race.clocks
        section.wrong += race.own_failures(lacking)
        section.data["race"] = race.part()
    finally:
        race.end()


def run_rates(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    command = ["gpu_step", "rates", *["small"] * (machine.small or machine.emulated)]
    out = checked(machine.run(command, machine.source, deadline.within(600)), "gpu_step rates", deadline)
    rates = section.data["rates"] = json.loads(out)
    yield
    for network in NETWORKS:
        command = ["gpu_step", "on_host", *settings_of(machine, network, "fp32")]
        ran = machine.run(command, machine.source, deadline.within(600))
        if ran.status == LATE:
            section.cut(f"what a step of {network} costs the host: gpu_step {ran.errors.splitlines()[-1]}")
            continue
        told = {"value": json.loads(ran.out)["us"]} if ran.status == 0 else {"value": None, "failed": ran.last_words}
        rates[f"a step of a training of {network}, on the host"] = {"unit": "us", **told}
    failed = {name: one["failed"] for name, one in rates.items() if "failed" in one}
    section.wrong += [f"{name} could not be measured: {why}" for name, why in failed.items()]
    yield


def run_candidates(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    command = ["gpu_step", "candidates", *["small"] * (machine.small or machine.emulated)]
    out = checked(machine.run(command, machine.source, deadline.within(600)), "gpu_step candidates", deadline)
    section.data |= json.loads(out)
    for one in section.data["products"] + section.data.get("convolutions", []):
        ways = one.get("candidates", one.get("engines"))
        if not any(way["us"] is not None for way in ways):
            reasons = [one.get("failed", ""), *(way.get("failed", "") for way in ways)]
            section.wrong.append(f"no way to {one['name']}: {next(filter(None, reasons), 'the library knows none')}")
    yield


def run_steps(machine: Machine, section: Section, deadline: Deadline, network: str, precision: str) -> Iterator[None]:
    sizes = SMALL if machine.small else Sizes()
    # Kept for the other precision: torch.compile finds there what it compiled.
    folder = os.path.join(machine.work, network)
    os.makedirs(folder, exist_ok=True)
    race = Race(machine, network, precision, folder, sizes)
    race.go_on(section.data.get("race", {}))
    section.clocks = race.clocks
    try:
        # Mode max-autotune takes long to start: for the network that the targets are about, on a GPU.
        slow = network == "mlp" and race.device == "cuda" and not machine.small
        run_race(race, slow, section, deadline)
    except Failed as failure:
        if deadline.left() < 1:
            section.cut(str(failure))
        else:
            section.wrong.append(str(failure))
        return
    late = [one for one in section.data["race"]["contenders"] if race.lacks(one) and not one["slow"]]
    if late:
        told = ", ".join(f"{one['name']} ({one['rounds']} of {sizes.rounds} rounds)" for one in late)
        section.cut(f"no time was left for {told}")
    for one in late:
        if one["tries"] >= TRIES:
            section.cut(f"{one['name']} is not measured: it was late in each of {one['tries']} commands")
    yield
