"""The tests: every suite of the bundle whose name begins with Cuda, each in a process of its own, one after another, so
that a crash or an error that sticks to the process spoils one suite alone."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

from budget import Deadline, Section
from machine import MARK, Machine, checked
from processes import LATE

OF_A_GPU = "Cuda"  # how names of suites begin that touch a GPU; tests/gpu_check/names_test.py
SUITE_SECONDS = 120  # for one suite; a hang must not take the time of all
PARTS = 4  # of each program's other tests
BEGIN = re.compile(r"^\[ RUN      \] (\S+)")
END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \(\d+ ms\)$")


@dataclass
class Outcome:
    """What a test program said."""

    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # test: what it said
    skipped: dict[str, str] = field(default_factory=dict)  # test: why
    running: str = ""  # the test that did not end
    last: str = ""  # what that one said

    @property
    def tests(self) -> int:
        return self.passed + len(self.failed) + len(self.skipped)


def read_outcome(out: str) -> Outcome:
    outcome, body = Outcome(), []
    for line in out.splitlines():
        begin, end = BEGIN.search(line), END.search(line)
        if begin:
            outcome.running, body = begin[1], []
        elif end and outcome.running:
            outcome.running = ""
            if end[1] == "OK":
                outcome.passed += 1
            elif end[1] == "FAILED":
                outcome.failed[end[2]] = "\n".join(body)
            else:
                outcome.skipped[end[2]] = next((text.strip() for text in reversed(body) if text.strip()), "no reason")
        else:
            body.append(line)
    outcome.last = "\n".join(body) if outcome.running else ""
    return outcome


def device_suites(machine: Machine) -> list[tuple[str, str]]:
    """Program and suite, as --gtest_list_tests tells them. Throws Broken."""
    found = []
    for program in machine.tests():
        out = checked(machine.run([program, "--gtest_list_tests"], machine.source, 60), program, Deadline.after(60))
        suites = re.findall(r"^(\S+)\.(?:\s.*)?$", out, re.MULTILINE)
        found += [(program, suite) for suite in suites if suite.startswith(OF_A_GPU)]
    return found


def run_one(
    machine: Machine, program: str, pattern: str, seconds: float, extra: dict[str, str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The tests that `pattern` names, and what is wrong."""
    ran = machine.run([program, f"--gtest_filter={pattern}"], machine.source, seconds, extra)
    outcome = read_outcome(ran.out)
    wrong = [f"{program}: {test}\n{text}" for test, text in outcome.failed.items()]
    where = f"{program}, {pattern}" + (f", in {outcome.running}" if outcome.running else "")
    said = (outcome.last + "\n" + ran.errors).strip()[-1500:] if outcome.running else ran.last_words
    state = "done"
    if ran.status == LATE:
        state = "hung"
        wrong.append(f"{where}: {ran.errors.splitlines()[-1]}\n{said}")
    elif ran.status not in (0, 1) or (ran.status == 1 and not outcome.failed):
        state = "crashed"
        wrong.append(f"{where}: ended with status {ran.status}\n{said}")
    elif outcome.tests == 0:
        wrong.append(f"{where}: there was no test to run\n{ran.last_words}")
    told = {"program": program, "suite": pattern, "state": state, "passed": outcome.passed}
    return {**told, "failed": list(outcome.failed), "skipped": outcome.skipped, "pardoned": []}, wrong


def without_gpu(skipped: dict[str, str]) -> list[str]:
    return [test for test, reason in skipped.items() if MARK in reason]


def run_suites(
    machine: Machine,
    section: Section,
    deadline: Deadline,
    seconds: float = SUITE_SECONDS,
    extra: dict[str, str] | None = None,
    pardoned: Sequence[str] = (),
) -> Iterator[None]:
    """Goes on with the suites that an earlier run left. Failures that name one of `pardoned` are not wrong."""
    done = section.data.setdefault("suites", {})
    suites = device_suites(machine)
    if not suites:
        section.wrong.append(f"the bundle has no suite that begins with {OF_A_GPU}")
    if machine.emulated:
        seconds = 3600  # what takes long is no sign of a hang there
    late = []
    for program, suite in suites:
        name = f"{program} {suite}"
        if name in done:
            continue
        if deadline.left() < 1:
            late.append(name)
            continue
        limit = deadline.within(seconds)
        result, wrong = run_one(machine, program, f"{suite}.*", limit, extra)
        if result["state"] == "hung" and limit < seconds:
            section.cut(f"{name} had {limit:.0f} s, and did not end")
            continue
        unmet = without_gpu(result["skipped"])
        if unmet and not machine.no_gpu:
            wrong.append(f"{program}: skipped for want of a GPU although there is one: {', '.join(unmet)}")
        theirs = [text for text in wrong if any(word in text for word in pardoned)]
        done[name] = {**result, "pardoned": [text.splitlines()[0] for text in theirs]}
        section.wrong += [text for text in wrong if text not in theirs]
        yield
    if late:
        section.cut(f"no time was left for {len(late)} suites, the first is {late[0]}")


def run_host_tests(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """All others of the same programs, several at a time, where no GPU can be seen."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "MILLRACE_EMULATED_GPUS": "0"}
    jobs = [(program, part) for part in range(PARTS) for program in machine.tests()]

    def run_job(job: tuple[str, int]) -> tuple[dict[str, Any], list[str]]:
        program, part = job
        shard = {"GTEST_TOTAL_SHARDS": str(PARTS), "GTEST_SHARD_INDEX": str(part)}
        return run_one(machine, program, f"-{OF_A_GPU}*", deadline.within(600), {**hidden, **shard})

    section.data["suites"] = {}
    with ThreadPoolExecutor(max(1, machine.cores - 1)) as pool:
        for (program, part), (result, wrong) in zip(jobs, pool.map(run_job, jobs)):
            section.data["suites"][f"{program} {part}"] = result
            section.wrong += wrong
            for test in without_gpu(result["skipped"]):
                section.wrong.append(f"{program}: {test} needs a GPU, so its suite's name must begin with {OF_A_GPU}")
    if deadline.left() < 1:
        section.cut("the tests had no time to end")
    yield


def summary(suites: dict[str, dict[str, Any]]) -> tuple[list[list[str]], Counter[str]]:
    """Rows of the report, one a program and others that are not done, and reasons of skips."""
    reasons: Counter[str] = Counter(reason for one in suites.values() for reason in one["skipped"].values())
    programs: dict[str, list[dict[str, Any]]] = {}
    for one in suites.values():
        programs.setdefault(one["program"], []).append(one)
    rows = []
    for program, mine in programs.items():
        counts = [
            sum(one["passed"] for one in mine),
            *(sum(len(one[key]) for one in mine) for key in ("failed", "skipped")),
        ]
        ended = [one for one in mine if one["state"] == "done"]
        rows.append([program, *map(str, counts), f"{len(ended)} of {len(mine)}"])
    return rows, reasons
