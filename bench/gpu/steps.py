"""The step benchmark: one training step on a batch that lies on the device, of this library and of its peers.

All get the same initial weights, the same batch and the same learning rate, and train the same first steps, whose
losses must be those of our step on the CPU before any time is believed. Then they are timed in turn, round after round;
who has no turn is a stopped process (SIGSTOP)."""

from __future__ import annotations

import json
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Iterator

from budget import Deadline, Section
from losses import worst_difference
from machine import Machine, checked, python_with
from networks import NETWORKS
from worker import Failed, Late, Worker

OURS = "ours"
WALL = "the wall's clock"
TOLERANCES = {"fp32": 1e-4, "tf32": 1e-2}  # of a loss, relative
PRECISIONS = ("fp32", "tf32")
TIMING_SECONDS = 15  # of a race's time, at most; the rest is for imports and compilation
HANGS_SECONDS = 20
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
        result: dict[str, Any] = {**asdict(contender), "values": []}
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
            self.drop(contender.key, failure)

    def drop(self, key: str, why: Failed) -> None:
        result = self.results[key]
        result["failed"] = NOT_AVAILABLE if "unknown key precision" in str(why) else str(why)
        # Ours takes seconds to start, and less to answer: where it had this long, it hangs.
        hangs = result["program"] == OURS and isinstance(why, Late) and why.seconds >= HANGS_SECONDS
        result["late"] = isinstance(why, Late) and not hangs
        if key in self.workers:
            self.workers.pop(key).end()

    def end(self) -> None:
        for worker in self.workers.values():
            worker.end()
        self.workers.clear()

    def compare(self, reference: list[float | None]) -> list[str]:
        """Drops who trains something else; what is wrong."""
        wrong = []
        for key in list(self.workers):
            result = self.results[key]
            result["difference"] = worst_difference(result["losses"], reference)
            if not result["difference"] <= TOLERANCES[self.precision]:
                allowed = f"{result['difference']:.1e}, allowed are {TOLERANCES[self.precision]:.0e}"
                self.drop(key, Failed(f"its losses differ from ours on the CPU by {allowed}"))
                if result["program"] != OURS:  # own_failures() tells these
                    wrong.append(f"{self.network}, {self.precision}: {result['name']}: {result['failed']}")
        return wrong

    def drop_unchanged(self, strict: list[float | None] | None) -> None:
        """Whose TF32 is full precision under another name."""
        if self.precision != "tf32" or self.device == "cpu":
            return
        for key in list(self.workers):
            if self.results[key]["program"] == OURS and self.results[key]["losses"] == strict:
                self.drop(key, Failed("precision: tf32 changed no bit of any loss, so it did nothing"))

    def own_failures(self) -> list[str]:
        return [
            f"{self.network}, {self.precision}: {one['name']}: {one['failed']}"
            for one in self.results.values()
            if one["program"] == OURS and one.get("failed", NOT_AVAILABLE) != NOT_AVAILABLE and not one["late"]
        ]

    def time(self, deadline: Deadline) -> int:
        """Rounds that were made."""
        for made in range(self.sizes.rounds):
            if deadline.left() < 1:
                return made
            for key in list(self.workers):
                try:
                    answer = self.workers[key].repeats(self.sizes.repeats, deadline.within(60))
                    self.results[key]["values"] += answer["microseconds"]
                    if "groups" in answer:
                        self.results[key]["groups"] = self.results[key].get("groups", 0) + answer["groups"]
                except Failed as failure:
                    self.drop(key, failure)
        return self.sizes.rounds

    def part(self, rounds: int) -> dict[str, Any]:
        for result in self.results.values():
            if result["values"] and "failed" not in result:
                result |= quartiles(result["values"])
        ordered = [self.results[one.key] for one in CONTENDERS if one.key in self.results]
        return {
            "network": self.network,
            "precision": self.precision,
            "rounds": rounds,
            "sizes": asdict(self.sizes),
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


def run_race(race: Race, slow: bool, deadline: Deadline) -> tuple[dict, list[str]]:
    """The part's data, and what is wrong. Throws Failed."""
    known = prepare(race, deadline)
    jobs = 1 if race.device == "cpu" else max(1, race.machine.cores // 2)
    try:
        starting = Deadline(deadline.end - min(TIMING_SECONDS, deadline.left() / 3))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda one: race.start(one, starting), [one for one in CONTENDERS if not one.slow]))
        for contender in CONTENDERS:
            if contender.slow and slow:  # where there is time
                race.start(contender, starting)
        race.drop_unchanged(known.strict)
        wrong = race.compare(known.reference)
        part = race.part(race.time(deadline))
        return part, wrong + race.own_failures()
    finally:
        race.end()


def run_rates(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    ran = machine.run(["gpu_step", "rates", *["small"] * machine.small], machine.source, deadline.within(120))
    section.data["rates"] = json.loads(ran.out) if ran.status == 0 else {}
    if ran.status != 0:
        section.wrong.append(f"the rates could not be measured: {ran.last_words}")
    yield


def run_candidates(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    command = ["gpu_step", "candidates", *["small"] * machine.small]
    out = checked(machine.run(command, machine.source, deadline.within(60)), "gpu_step candidates", deadline)
    section.data |= json.loads(out)
    yield


def run_steps(machine: Machine, section: Section, deadline: Deadline, network: str, precision: str) -> Iterator[None]:
    sizes = SMALL if machine.small else Sizes()
    # Kept for the other precision: torch.compile finds there what it compiled.
    folder = os.path.join(machine.work, network)
    os.makedirs(folder, exist_ok=True)
    race = Race(machine, network, precision, folder, sizes)
    try:
        # Mode max-autotune takes long to start: for the network that the targets are about, on a GPU.
        slow = network == "mlp" and race.device == "cuda" and not machine.small
        section.data["race"], wrong = run_race(race, slow, deadline)
    except Failed as failure:
        if deadline.left() < 1:
            section.cut(str(failure))
        else:
            section.wrong.append(str(failure))
        return
    part = section.data["race"]
    section.wrong += wrong
    if part["rounds"] < sizes.rounds:
        section.cut(f"it had {part['rounds']} of {sizes.rounds} rounds")
    late = [one["name"] for one in part["contenders"] if one.get("late") and not one["slow"]]
    if late:
        section.cut(f"no time was left for {', '.join(late)}")
    yield
