"""Names and times of a step's kernels, by Nsight Compute, where it is and may read the GPU's counters."""

from __future__ import annotations

import csv
import os
import statistics
import tempfile
from typing import Any, Iterator

from budget import Deadline, Section
from machine import Machine, find_tool
from processes import LATE, Ran
from steps import settings_of

STEPS = 4  # that are looked at, of which the first few are not yet a graph
METRICS = {
    "us": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "compute": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
}


def number_in(text: str | None) -> float | None:
    """Of what ncu prints: nothing for "n/a"."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def read_profile(text: str) -> list[dict[str, Any]]:
    """Every launch, of ncu's raw page as CSV in base units; its first row of values holds the units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    launches = []
    for row in csv.DictReader(lines):
        if not row.get("Kernel Name"):
            continue
        values = {key: value for key, name in METRICS.items() if (value := number_in(row.get(name))) is not None}
        if "us" in values:
            values["us"] /= 1000  # of nanoseconds
        shape = {"grid": row.get("Grid Size", ""), "block": row.get("Block Size", "")}
        launches.append({"kernel": row["Kernel Name"], **shape, **values})
    return launches


def of_each_step(launches: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """Those that every step makes, with medians, in the order of their first launch; what only prepares is none."""
    same: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for launch in launches:
        same.setdefault((launch["kernel"], launch["grid"], launch["block"]), []).append(launch)
    out = []
    for (kernel, grid, block), mine in same.items():
        if len(mine) >= steps:
            medians = {key: statistics.median(one[key] for one in mine) for key in METRICS if key in mine[-1]}
            out.append({"kernel": kernel, "grid": grid, "block": block, "times": len(mine) // steps, **medians})
    return out


def run_kernels(machine: Machine, section: Section, deadline: Deadline, network: str, precision: str) -> Iterator[None]:
    ncu = find_tool("ncu", machine.pythons)
    if not ncu:
        section.leave_out("there is no ncu on this machine")
        return
    # A kernel runs once for its time, and again and again for the rest, which may not fit.
    for keys in (("us", "registers"), tuple(METRICS)):
        ran, text = profile(machine, ncu, [METRICS[key] for key in keys], network, precision, deadline.within(600))
        found = of_each_step(read_profile(text), STEPS)
        if found:
            section.data["kernels"] = found
        if ran.status == LATE:
            section.cut(f"ncu, asked for {', '.join(keys)}, {ran.errors.splitlines()[-1]}")
            return
        if not found:
            told = [line for line in text.splitlines() if line.startswith("==")] + [ran.last_words]
            why = f"ncu, asked for {', '.join(keys)}, saw no kernel: {' '.join(told)[-500:]}"
            section.cut(why) if "kernels" in section.data else section.leave_out(why)
            return
        yield


def profile(
    machine: Machine, ncu: str, metrics: list[str], network: str, precision: str, seconds: float
) -> tuple[Ran, str]:
    """How ncu ended, and what it wrote."""
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        log = os.path.join(folder, "log")
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--log-file", log, "--clock-control", "none"]
        command += ["--cache-control", "none", "--graph-profiling", "node", "--metrics", ",".join(metrics)]
        command += [machine.path("gpu_step"), "resident", "1", str(STEPS), *settings_of(machine, network, precision)]
        ran = machine.run(command, machine.source, seconds)
        try:
            with open(log, errors="replace") as file:
                return ran, file.read()
        except OSError:
            return ran, ""
