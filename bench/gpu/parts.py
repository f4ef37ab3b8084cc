"""What the three commands do, part by part, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Callable, Iterable

from budget import Deadline, Section
from deliveries import run_deliveries
from hunts import run_bad_address, run_dependencies, run_long, run_text, run_trainers
from kernels import run_kernels
from machine import Machine
from networks import NETWORKS
from sanitizers import TOOLS, run_sanitizer
from steps import run_candidates, run_rates, run_steps
from suite import run_host_tests, run_suites
from trainings import run_trainings

# Where a part can be run.
ANYWHERE, ON_A_GPU, REHEARSED = "anywhere", "on a GPU", "on a GPU, or on the CPU in a rehearsal"


@dataclass(frozen=True)
class Part:
    """`run` yields where the report is to be written; what it throws is told as wrong, a TimeoutError as cut short."""

    name: str
    title: str
    share: float  # of the command's time
    run: Callable[[Machine, Section, Deadline], Iterable[None]]
    where: str = ON_A_GPU
    extra: bool = False  # only with --all
    goes_on: bool = False  # with the data of an earlier run that was cut short


def of_steps() -> list[Part]:
    """TF32 of the perceptron first: it is what most of the targets are about."""
    parts = []
    for network in NETWORKS:
        for precision in ("tf32", "fp32"):
            named = {"network": network, "precision": precision}
            share = 30 if network == "mlp" else 16
            what = f"{network} in {precision}"
            race, seen = partial(run_steps, **named), partial(run_kernels, **named)
            parts.append(Part(f"race/{network}/{precision}", f"Steps of {what}", share, race, REHEARSED, goes_on=True))
            parts.append(Part(f"kernels/{network}/{precision}", f"Kernels of {what}", 8, seen))
    return parts


COMMANDS: dict[str, list[Part]] = {
    "tests": [
        Part("suites", "Tests", 60, run_suites, ANYWHERE, goes_on=True),
        Part("trainings", "Trainings", 12, run_trainings, ANYWHERE),
        Part("host", "Tests of the CPU", 40, run_host_tests, ANYWHERE, extra=True, goes_on=True),
    ],
    "steps": [
        Part("rates", "Rates", 6, run_rates),
        *of_steps(),
        Part("candidates", "Ways to products and convolutions", 8, run_candidates),
    ],
    "hunts": [
        # 40 trainings of two seconds; a million steps of 30 us three times.
        Part("dependencies", "Missing dependencies", 24, run_dependencies, REHEARSED, goes_on=True),
        Part("trainers", "Trainers one after another", 5, run_trainers, REHEARSED),
        Part("long", "A million steps", 28, run_long, REHEARSED, goes_on=True),
        Part("bad_address", "A bad address", 1, run_bad_address),
        Part("text", "The kernels' text", 12, run_text, goes_on=True),
        Part("deliveries", "Deliveries", 14, run_deliveries, REHEARSED),
        *(
            Part(f"sanitizer/{tool}", f"Sanitizer {tool}", 12, partial(run_sanitizer, tool=tool), goes_on=True)
            for tool in TOOLS
        ),
    ],
}


def why_left_out(part: Part, machine: Machine, only: list[str], everything: bool) -> str:
    """Empty where it is run."""
    if only:
        if part.name not in only:
            return "not asked for"
    elif part.extra and not everything:
        return "not asked for"
    if machine.no_gpu and (part.where == ON_A_GPU or (part.where == REHEARSED and not machine.small)):
        return f"no GPU: {machine.no_gpu}"
    return ""
