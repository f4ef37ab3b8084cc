"""compute-sanitizer's tools over the kernel tests. Only a tool that ran to the end of all of them, and found nothing,
is counted as clean."""

from __future__ import annotations

import glob
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from budget import Deadline, Section
from machine import Machine, Ran, package_folders
from suite import GPU_TESTS

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PROGRAMS = ("core_test", "layers_test")  # the tests of kernels
FOUND = 86  # --error-exitcode
# Tests ask the runtime for what it must refuse, on purpose.
OPTIONS = {"memcheck": ["--report-api-errors", "no"]}
TINY = "CudaLaunch.TakesNoIndices"
CLEAN, ERRORS, UNFINISHED, FAILED = "clean", "errors", "not finished", "failed"


def find_sanitizer(interpreters: list[str]) -> str:
    """Empty where there is none."""
    places = [shutil.which("compute-sanitizer") or ""]
    for pattern in ("bin/compute-sanitizer", "compute-sanitizer/compute-sanitizer"):
        places += sorted(glob.glob(f"/usr/local/cuda*/{pattern}") + glob.glob(f"/opt/cuda/{pattern}"))
    places += sorted(glob.glob("/opt/nvidia/nsight-compute/*/host/*/sanitizer/compute-sanitizer"))
    for package in package_folders(interpreters, "nvidia"):
        places += sorted(glob.glob(f"{package}/**/compute-sanitizer", recursive=True))
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), "")


@dataclass
class Verdict:
    state: str
    errors: int = 0
    tests: int = 0  # that passed
    excerpt: str = ""


def errors_in(log: str) -> int | None:
    """What the tool's summaries add up to, warnings of racecheck included; None where there is no summary."""
    counts = [int(count) for count in re.findall(r"ERROR SUMMARY: (\d+) error", log)]
    counts += [int(count) for count in re.findall(r"RACECHECK SUMMARY: (\d+) hazard", log)]
    return sum(counts) if counts else None


def excerpt_of(log: str) -> str:
    """The first things that the tool complains of."""
    lines = [re.sub(r"^=+ ?", "", line).rstrip() for line in log.splitlines() if line.startswith("===")]
    first = next(
        (i for i, line in enumerate(lines) if line and not line.startswith(("COMPUTE-SANITIZER", "ERROR SUM"))), 0
    )
    return "\n".join(lines[first : first + 12])


def judge(ran: Ran, log: str) -> Verdict:
    """Of one run of one tool."""
    found = errors_in(log)
    passed = re.search(r"^\[  PASSED  \] (\d+) test", ran.out, re.MULTILINE)
    tests = int(passed[1]) if passed else 0
    if ran.status == -1:
        return Verdict(ERRORS if found else UNFINISHED, found or 0, tests, excerpt_of(log) if found else "")
    if found or ran.status == FOUND:
        return Verdict(ERRORS, found or 1, tests, excerpt_of(log))
    if ran.status != 0 or found is None:
        # Where no test failed, the tool itself did.
        state = FAILED if "[  FAILED  ]" in ran.out else UNFINISHED
        return Verdict(state, 0, tests, (excerpt_of(log) + "\n" + ran.last_words)[-1500:].strip())
    return Verdict(CLEAN, 0, tests)


def joined(verdicts: list[Verdict]) -> dict[str, Any]:
    """Of all parts of a tool's run; the worst counts, and a run without tests is none."""
    states = [verdict.state for verdict in verdicts]
    state = next((state for state in (ERRORS, FAILED, UNFINISHED) if state in states), CLEAN)
    tests = sum(verdict.tests for verdict in verdicts)
    return {
        "state": UNFINISHED if state == CLEAN and tests == 0 else state,
        "errors": sum(verdict.errors for verdict in verdicts),
        "tests": tests,
        "parts": len(states),
        "finished": len(states) - states.count(UNFINISHED),
        "excerpt": next((verdict.excerpt for verdict in verdicts if verdict.excerpt), ""),
    }


@dataclass
class Job:
    tool: str
    program: str
    filter: str
    part: int = 0
    parts: int = 1


def run_tool(machine: Machine, sanitizer: str, job: Job, folder: str, deadline: Deadline) -> Verdict:
    if deadline.left() < 1:
        return Verdict(UNFINISHED)
    log = os.path.join(folder, f"{job.tool}-{job.program}-{job.part}.log")
    command = [sanitizer, "--tool", job.tool, "--error-exitcode", str(FOUND), "--log-file", log]
    command += [
        *OPTIONS.get(job.tool, []),
        machine.path(job.program),
        f"--gtest_filter={job.filter}",
        "--gtest_brief=1",
    ]
    parts = {"GTEST_TOTAL_SHARDS": str(job.parts), "GTEST_SHARD_INDEX": str(job.part)}
    ran = machine.run(command, machine.source, deadline.left(), parts)
    try:
        with open(log, errors="replace") as file:
            written = file.read()
    except OSError:
        written = ""
    return judge(ran, written)


def why_not(verdict: Verdict) -> str:
    """Why the tool cannot attach; empty when it can."""
    if verdict.state in (CLEAN, ERRORS) and verdict.tests == 1:
        return ""
    words = " ".join(verdict.excerpt.split())[:400]
    return f"could not attach: {words or 'it said nothing'}"


def run_sanitizers(machine: Machine, section: Section, folder: str, deadline: Deadline) -> Section:
    section.data = {"tools": {}, "filter": GPU_TESTS, "programs": list(PROGRAMS)}
    sanitizer = find_sanitizer(machine.pythons)
    if not sanitizer:
        return section.leave_out("there is no compute-sanitizer on this machine; not counted as clean")
    tiny = Job("memcheck", "core_test", TINY)
    if why := why_not(run_tool(machine, sanitizer, tiny, folder, Deadline.after(deadline.within(60)))):
        return section.leave_out(f"compute-sanitizer {why}; not counted as clean")
    parts = max(1, machine.cores // 4)
    jobs = [Job(tool, program, GPU_TESTS, i, parts) for i in range(parts) for program in PROGRAMS for tool in TOOLS]
    with ThreadPoolExecutor(max(1, machine.cores // 2)) as pool:
        verdicts = list(pool.map(lambda job: run_tool(machine, sanitizer, job, folder, deadline), jobs))
    for tool in TOOLS:
        result = joined([verdict for job, verdict in zip(jobs, verdicts) if job.tool == tool])
        section.data["tools"][tool] = result
        if result["state"] == ERRORS:
            section.wrong.append(f"{tool} found {result['errors']} errors")
        elif result["state"] == FAILED:
            section.wrong.append(f"tests fail under {tool}: {result['excerpt'][:500]}")
        elif result["state"] == UNFINISHED:
            section.cut(f"{tool} finished {result['finished']} of {result['parts']} parts, not counted as clean")
    return section
