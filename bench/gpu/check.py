"""Checks the CUDA side on a machine with a GPU, which need not be the one that builds.

  scripts/gpu-check            builds the preset cuda and gathers what another machine needs in build/gpu-check
  gpu-check --run [FOLDER]     there: tests, trainings, deliveries, step benchmark, sanitizers; writes a report

FOLDER is where the first form put it (default: the folder of this script). The other machine needs x86-64 Linux, Python
3.9, an NVIDIA driver, CUDA's cuBLAS and cuDNN 9, from the toolkit or from Python packages; PyTorch and JAX are compared
with where they are installed. Without a GPU the check says so and does the rest. --rehearse does, on the CPU and with
small numbers, also what needs one, so that the peers' agreement with ours is looked at.

The exit status is 1 where a result is wrong, or the tests did not end in time. Targets that are missed, peers that are
not there, and whatever else did not fit into --minutes are told in the report; --require-gpu makes a missing GPU fail,
too.

The report is written twice, gpu-report.md and gpu-report.json. The JSON is one object, to which keys may be added:

  v            1, the version of this contract
  date, commit, command, rehearsed
  machine      gpus (name, driver, memory), no_gpu (why none can be used, else ""), processor, cores, system, glibc,
               libraries (folders), python
  versions     name: version, of this library and its peers
  budget       seconds, taken
  result       a sentence
  wrong        results that must not be, as texts
  complete     whether every section is done
  targets      a list: name, wanted, limit, value or null, verdict ("met", "missed", "not measured"), why
  sections     a list: name, title, state ("done", "cut short", "left out"), why, wrong, seconds, data

data of `tests`: programs (program, passed, failed, skipped, unfinished parts), skipped (reason: count), failures.
Of `training`: runs (device, steps, losses [first, last], weights, ms), difference, synthetic_ms (device: ms).
Of `deliveries`: text and made_up, as trainer compare --json says (docs/json.md), and text_share: *_rows_per_s of
decode, input, step and together, share, bound_by_step, speed (as trainer speed --json).
Of `steps`: rates (name: unit, value) and races: network, precision, sizes, rounds, contenders, each with key, name,
how, clock, losses, difference, values, median, lower and upper quartile in microseconds a step, or failed: why it has
none; recorded says of ours whether its steps were a CUDA graph.
Of `sanitizers`: tools (tool: state, errors, tests, parts, finished, excerpt), filter, programs."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any, Callable

import report
import targets
from budget import DONE, Budget, Deadline, Section
from bundle import bundle
from deliveries import run_deliveries
from machine import Machine, fail, give_back_signals
from sanitizers import run_sanitizers
from steps import run_steps
from suite import run_suite
from trainings import run_trainings

Run = Callable[[Section, str, Deadline], Section]
SHARES = {"tests": 28.0, "training": 6.0, "deliveries": 12.0, "steps": 34.0, "sanitizers": 20.0}
TITLES = {
    "tests": "Tests",
    "training": "Trainings",
    "deliveries": "Deliveries",
    "steps": "Steps",
    "sanitizers": "Sanitizers",
}
OF_A_GPU = ("deliveries", "steps", "sanitizers")
REHEARSED = ("training", "deliveries", "steps")
MINUTES = 8.7  # what is left of 9 is for the programs that are ended when their time is over


def runners(machine: Machine, rehearse: bool) -> dict[str, Run]:
    cpu = {"device": "cpu"} if rehearse else {}
    return {
        "tests": lambda section, work, deadline: run_suite(machine, section, work, deadline),
        "training": lambda section, work, deadline: run_trainings(machine, section, work, deadline),
        "deliveries": lambda section, work, deadline: run_deliveries(machine, section, work, deadline, **cpu),
        "steps": lambda section, work, deadline: run_steps(machine, section, work, deadline, **cpu),
        "sanitizers": lambda section, work, deadline: run_sanitizers(machine, section, work, deadline),
    }


def why_left_out(name: str, no_gpu: str, rehearse: bool, only: list[str]) -> str:
    if only and name not in only:
        return "not asked for"
    if rehearse:
        return "" if name in REHEARSED else "a rehearsal"
    return f"no GPU: {no_gpu}" if no_gpu and name in OF_A_GPU else ""


def run_sections(runs: dict[str, Run], left_out: dict[str, str], budget: Budget) -> dict[str, Section]:
    """All sections, one after another, each in its share of the time."""
    for name, why in left_out.items():
        if why:
            budget.skip(name)
    sections = {}
    for name, run in runs.items():
        section = Section(name, TITLES[name])
        sections[name] = section
        if left_out[name]:
            section.leave_out(left_out[name])
            continue
        deadline = budget.begin(name)
        begin = budget.taken()
        print(f"gpu-check: {section.title} ({deadline.left():.0f} s) ...", flush=True)
        with tempfile.TemporaryDirectory(prefix="gpu-check-", ignore_cleanup_errors=True) as work:
            try:
                run(section, work, deadline)
            except Exception as error:  # what one section meets must not hide what the others found
                section.wrong.append(f"{name} failed: {type(error).__name__}: {error}")
        section.seconds = budget.taken() - begin
        told = section.state if section.state == DONE else f"{section.state}: {section.why}"
        print(f"gpu-check: {section.title}: {len(section.wrong)} wrong, {told}", flush=True)
    return sections


def sentence(wrong: list[str], complete: bool, no_gpu: str) -> str:
    if wrong:
        return f"FAILED: {len(wrong)} wrong"
    held = "everything that was run held" if not complete else "everything held"
    return held + (", without a GPU" if no_gpu else "")


def versions_of(sections: dict[str, Section]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for race in sections["steps"].data.get("races", []):
        for one in race["contenders"]:
            versions |= one.get("versions", {})
    return versions


def gather(
    machine: dict[str, Any], commit: str, sections: dict[str, Section], budget: Budget, rehearsed: bool
) -> dict[str, Any]:
    """The whole, as the JSON has it."""
    wrong = [text for section in sections.values() for text in section.wrong]
    complete = all(section.state == DONE for section in sections.values())
    return {
        "v": 1,
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "command": " ".join(["gpu-check", *sys.argv[1:]]),
        "rehearsed": rehearsed,
        "machine": machine,
        "versions": versions_of(sections),
        "budget": {"seconds": budget.seconds, "taken": budget.taken()},
        "result": sentence(wrong, complete, machine["no_gpu"]),
        "wrong": wrong,
        "complete": complete,
        "targets": targets.judge(sections, rehearsed),
        "sections": [asdict(section) for section in sections.values()],
    }


def file_name(whole: dict[str, Any]) -> str:
    """2026-11-23-gpu-h100"""
    name = whole["machine"]["gpus"][0].split(",")[0] if whole["machine"]["gpus"] else "none"
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word not in ("nvidia", "geforce", "tesla", "")]
    return "-".join([whole["date"], "gpu", *words[:1]])


def finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(whole: dict[str, Any], path: str) -> None:
    with open(path, "w") as out:
        out.write(report.markdown(whole))
    with open(os.path.splitext(path)[0] + ".json", "w") as out:
        json.dump(finite(whole), out, indent=1, allow_nan=False)
        out.write("\n")


def check(folder: str, options: argparse.Namespace) -> int:
    started = time.monotonic()
    give_back_signals()
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    machine = Machine(folder, manifest, options.python)
    no_gpu = machine.no_gpu
    print(
        "gpu-check: "
        + (f"no GPU can be used here: {no_gpu}" if no_gpu else f"GPU: {'; '.join(machine.gpus) or 'unnamed'}")
    )
    budget = Budget(60 * options.minutes, SHARES)
    budget.started = started
    left_out = {name: why_left_out(name, no_gpu, options.rehearse, options.only) for name in SHARES}
    sections = run_sections(runners(machine, options.rehearse), left_out, budget)
    whole = gather(machine.described(), manifest["commit"], sections, budget, options.rehearse)
    write(whole, options.report)
    for name, section in sections.items():
        if section.state != DONE:
            print(f"gpu-check: {TITLES[name]}: {section.state}: {section.why}")
    for target in whole["targets"]:
        if target["verdict"] == targets.MISSED:
            print(f"gpu-check: missed: {target['name']}: {target['value']:.3g}, wanted {target['wanted']}")
    print(f"gpu-check: {whole['result']}; see {options.report}, for bench/results/{file_name(whole)}.md and .json")
    if no_gpu and options.require_gpu:
        fail(f"a GPU is required: {no_gpu}")
    return 1 if whole["wrong"] else 0


def main(script: str) -> int:
    here = os.path.dirname(script)
    arguments = argparse.ArgumentParser(
        prog="gpu-check",
        description=__doc__.partition("\n\nThe report is")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("--run", nargs="?", const=here, metavar="FOLDER", help="check on this machine")
    arguments.add_argument("--preset", default="cuda", metavar="NAME", help="what is built and bundled (default cuda)")
    arguments.add_argument("--report", default="gpu-report.md", metavar="FILE.md", help="where --run writes its report")
    arguments.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="N", help=f"that it may take (default {MINUTES})"
    )
    arguments.add_argument("--only", action="append", default=[], choices=SHARES, help="a part; may be repeated")
    arguments.add_argument("--python", default="", metavar="FILE", help="an interpreter that has PyTorch or JAX")
    arguments.add_argument("--rehearse", action="store_true", help="on the CPU, with small numbers")
    arguments.add_argument("--require-gpu", action="store_true", help="fail where no GPU can be used")
    options = arguments.parse_args()
    options.report = os.path.abspath(options.report)
    if options.run is None:
        bundle(os.path.dirname(here), options.preset)
        return 0
    folder = os.path.abspath(options.run)
    if not os.path.exists(os.path.join(folder, "manifest.json")):
        folder = os.path.join(os.path.dirname(here), "build/gpu-check")
    if not os.path.exists(os.path.join(folder, "manifest.json")):
        fail("there is no bundle to run; make one with scripts/gpu-check")
    return check(folder, options)
