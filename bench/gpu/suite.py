"""The test suite: every test program of the bundle.

Tests that use the GPU run one program at a time, beside all others, of which several run at a time, in parts."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from budget import Deadline, Section
from machine import MARK, Machine, Ran

PARTS = 4  # of each program's other tests
GPU_TESTS = "Cuda*"  # of suites whose names begin so; tests/support/cuda.h


@dataclass
class Job:
    program: str
    name: str
    options: list[str]
    parts: dict[str, str] = field(default_factory=dict)


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)  # by reason
    failures: list[str] = field(default_factory=list)
    cut: bool = False  # ran out of time, or had none


def jobs_of(programs: list[str], parts: int) -> tuple[list[Job], list[Job]]:
    """Those for the GPU, one behind the other, and the others."""
    gpu = [Job(name, f"{name}-gpu", [f"--gtest_filter={GPU_TESTS}"]) for name in programs]
    others = [
        Job(
            program,
            f"{program}-{part}",
            [f"--gtest_filter=-{GPU_TESTS}"],
            {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)},
        )
        for part in range(parts)
        for program in programs
    ]
    return gpu, others


def read_result(program: str, ran: Ran, results: str) -> Result:
    """Of one job, from its status and the JSON that GoogleTest wrote."""
    out = Result()
    try:
        with open(results) as file:
            cases = [case for suite in json.load(file)["testsuites"] for case in suite["testsuite"]]
    except (OSError, ValueError, KeyError):
        cases = []
    reasons = iter(reasons_of([case for case in cases if case.get("result") == "SKIPPED"], ran.out))
    for case in cases:
        if case.get("failures"):
            out.failed += 1
            out.failures.append(f"{program}: {case['classname']}.{case['name']}\n{case['failures'][0]['failure']}")
        elif case.get("result") == "SKIPPED":
            out.skipped[next(reasons)] += 1
        else:
            out.passed += 1
    if ran.status != 0 and not out.failed:
        out.failures.append(f"{program} ended with status {ran.status}\n{ran.last_words}")
    return out


def reasons_of(skipped: list[dict[str, Any]], out: str) -> list[str]:
    """Why each test was skipped. The JSON of older versions of GoogleTest does not say; their output does, in order."""
    told = re.findall(r"^\S+:\d+: Skipped\n(.*)", out, re.MULTILINE)
    if len(told) == len(skipped):
        return [reason.strip() or "no reason given" for reason in told]
    messages = [[skip.get("message", "").strip() for skip in case.get("skipped", [])] for case in skipped]
    return [lines[-1].splitlines()[-1] if any(lines) else "no reason given" for lines in messages]


def run_job(machine: Machine, job: Job, folder: str, deadline: Deadline) -> Result:
    if deadline.left() < 1:
        return Result(cut=True)
    results = os.path.join(folder, f"{job.name}.json")
    command = [job.program, f"--gtest_output=json:{results}", "--gtest_brief=1", *job.options]
    ran = machine.run(command, machine.source, deadline.left(), job.parts)
    if ran.status == -1:
        return Result(failures=[f"{job.name} {ran.errors}\n{ran.last_words}"], cut=True)
    return read_result(job.program, ran, results)


def summed(
    programs: list[str], jobs: list[Job], results: list[Result], no_gpu: str
) -> tuple[dict[str, Any], list[str]]:
    """The section's data, and what is wrong."""
    table = []
    skipped: Counter[str] = Counter()
    wrong: list[str] = []
    for program in programs:
        mine = [result for job, result in zip(jobs, results) if job.program == program]
        for result in mine:
            skipped += result.skipped
            wrong += result.failures
        table.append(
            {
                "program": program,
                "passed": sum(result.passed for result in mine),
                "failed": sum(result.failed for result in mine),
                "skipped": sum(sum(result.skipped.values()) for result in mine),
                "unfinished": sum(result.cut for result in mine),
            }
        )
    unmet = sum(count for reason, count in skipped.items() if MARK in reason)
    if not no_gpu and unmet:
        wrong.append(f"{unmet} tests were skipped for want of a GPU although there is one")
    return {"programs": table, "skipped": dict(skipped), "failures": [text[:4000] for text in wrong]}, wrong


def run_suite(machine: Machine, section: Section, folder: str, deadline: Deadline) -> Section:
    programs = machine.tests()
    workers = max(1, machine.cores - 1)
    gpu, others = jobs_of(programs, PARTS)  # without a GPU its tests skip by themselves, and say why

    def one_by_one() -> list[Result]:
        return [run_job(machine, job, folder, deadline) for job in gpu]

    with ThreadPoolExecutor(workers + 1) as pool:
        on_gpu = pool.submit(one_by_one)
        beside = list(pool.map(lambda job: run_job(machine, job, folder, deadline), others))
        results = on_gpu.result() + beside
    section.data, section.wrong = summed(programs, gpu + others, results, machine.no_gpu)
    unfinished = sum(row["unfinished"] for row in section.data["programs"])
    if unfinished:
        section.cut(f"{unfinished} of {len(results)} parts of the suite did not end in time")
        section.wrong.append(f"{section.why}; --minutes gives more")
    return section
