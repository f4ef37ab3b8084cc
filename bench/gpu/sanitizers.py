"""compute-sanitizer's tools over the suites that touch a GPU. Only a tool that ran to the end of all of them, and found
nothing, is counted as clean."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import asdict, dataclass
from typing import Iterator

from budget import DONE, Deadline, Section
from machine import FIRST_KERNEL, Machine, find_tool
from processes import LATE, Ran
from suite import CORES_A_SUITE, Suite, device_suites, each_as_it_ends, in_turn, put_last, read_outcome

TOOLS = ("racecheck", "memcheck", "initcheck", "synccheck")
FOUND = 86  # --error-exitcode
# Tests ask the runtime for what it must refuse, on purpose.
OPTIONS = {"memcheck": ["--report-api-errors", "no"]}
TOO_LONG = "CudaLaunch.VisitsEveryIndexOnce"  # 4e9 indices
SLOWED = 5  # times as long as without a tool, before it hangs
NO_CALL = "before first instrumented API call"
CLEAN, ERRORS, FAILED = "clean", "errors", "failed"
ENDLESS, UNFINISHED, NOT_BEGUN = "did not end", "not finished", "no time was left"
NO_CUDA, SKIPPED, EMPTY = "makes no call of CUDA", "all tests were skipped", "there was no test to run"


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
    outcome = read_outcome(ran.out)
    if ran.status == LATE:
        where = f"in {outcome.running}: " if outcome.running else ""
        said = excerpt_of(log) if found else where + ran.errors.strip()[-300:]
        return Verdict(ERRORS if found else ENDLESS, found or 0, outcome.passed, said)
    if not found and ran.status != FOUND and NO_CALL in log + ran.out + ran.errors:
        return Verdict(NO_CUDA)
    if found or ran.status == FOUND:
        return Verdict(ERRORS, found or 1, outcome.passed, excerpt_of(log))
    if ran.status != 0 or found is None:
        # If no test failed, the program crashed under the tool, or the tool itself failed.
        state = FAILED if outcome.failed else UNFINISHED
        return Verdict(state, 0, outcome.passed, (excerpt_of(log) + "\n" + ran.last_words)[-1500:].strip())
    if outcome.passed:
        return Verdict(CLEAN, 0, outcome.passed)
    return Verdict(SKIPPED if outcome.skipped else EMPTY, 0, 0, ran.last_words[-300:])


def run_tool(
    machine: Machine, sanitizer: str, tool: str, program: str, pattern: str, seconds: float
) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        log = os.path.join(folder, "log")
        command = [sanitizer, "--tool", tool, "--error-exitcode", str(FOUND), "--log-file", log, *OPTIONS.get(tool, [])]
        command += [machine.path(program), f"--gtest_filter={pattern}"]
        ran = machine.run(command, machine.source, seconds)
        try:
            with open(log, errors="replace") as file:
                return judge(ran, file.read())
        except OSError:
            return judge(ran, "")


def why_not(verdict: Verdict) -> str:
    """Why the tool cannot attach; empty when it can."""
    if verdict.state in (CLEAN, ERRORS) and verdict.tests == 1:
        return ""
    words = " ".join(verdict.excerpt.split())[:400]
    return f"could not attach: {words or 'it said nothing'}"


def run_sanitizer(machine: Machine, section: Section, deadline: Deadline, tool: str) -> Iterator[None]:
    """One tool. Goes on with the suites that an earlier run left."""
    sanitizer = find_tool("compute-sanitizer", machine.pythons)
    if not sanitizer:
        section.leave_out("there is no compute-sanitizer on this machine; not counted as clean")
        return
    first = run_tool(machine, sanitizer, tool, "core_test", FIRST_KERNEL, deadline.within(60))
    if why := why_not(first):
        section.leave_out(f"compute-sanitizer {why}; not counted as clean")
        return
    done = section.data.setdefault("suites", {})

    def run_job(suite: Suite) -> tuple[Suite, Verdict, bool]:
        """And whether it had all the time that it may take."""
        if deadline.left() < 1:
            return suite, Verdict(NOT_BEGUN), False
        seconds = SLOWED * suite.seconds(machine)
        pattern = f"{suite.name}.*-{TOO_LONG}"
        limit = deadline.within(seconds)
        return suite, run_tool(machine, sanitizer, tool, suite.program, pattern, limit), limit >= seconds

    left = in_turn(section, device_suites(machine, section))
    for suite, verdict, in_full in each_as_it_ends(max(1, machine.cores // CORES_A_SUITE), run_job, left):
        told = f"{suite.key}: {verdict.state}" + (f": {verdict.excerpt[-300:]}" if verdict.excerpt else "")
        if verdict.state == EMPTY:
            section.fail(told)
        elif verdict.state == UNFINISHED:
            put_last(section, suite.key)
            section.fail(told)
        elif verdict.state == NOT_BEGUN:
            section.cut(told)
        elif verdict.state == ENDLESS and not in_full:
            put_last(section, suite.key)
            section.cut(told)
        else:
            done[suite.key] = asdict(verdict)
            if verdict.state == ERRORS:
                section.wrong.append(f"{tool} found {verdict.errors} errors in {suite.key}\n{verdict.excerpt}")
            elif verdict.state == FAILED:
                section.wrong.append(f"{suite.key}: tests fail under {tool}\n{verdict.excerpt}")
            elif verdict.state == ENDLESS:
                section.wrong.append(f"{suite.key} hangs under {tool}\n{verdict.excerpt}")
        yield
    if section.state != DONE:
        section.why = f"not counted as clean: {section.why}"
