"""The tests: every suite of the bundle whose name begins with Cuda, each in a process of its own, so that a crash or an
error that sticks to the process spoils one suite alone; several at a time where there are many cores, as a suite spends
most of its time on the host."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Sequence

from budget import FAILED, Deadline, Section
from machine import MARK, Broken, Machine, checked
from processes import LATE

OF_A_GPU = "Cuda"  # how names of suites begin that touch a GPU; tests/gpu_check/names_test.py
# For one suite, and more for each of its tests: on a GPU one may train ten times, and plan with cuDNN each time. A hang
# must not take the time of all.
SECONDS, SECONDS_A_TEST = 60, 15
SLOWER = 20  # on a GPU that is emulated
CORES_A_SUITE = 4  # that a test's threads may keep busy
PARTS = 4  # of each program's other tests
HOST_SECONDS = 600  # for one of these parts
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


@dataclass(frozen=True)
class Suite:
    program: str
    name: str
    tests: int

    @property
    def key(self) -> str:
        return f"{self.program} {self.name}"

    def seconds(self, machine: Machine) -> float:
        """How long it may take before it hangs."""
        return (SECONDS + self.tests * SECONDS_A_TEST) * (SLOWER if machine.emulated else 1)


def device_suites(machine: Machine, section: Section) -> list[Suite]:
    """As --gtest_list_tests tells them. A program that cannot tell fails the section, and hides no other's."""
    found = []
    for program in machine.tests():
        try:
            out = checked(machine.run([program, "--gtest_list_tests"], machine.source, 60), program, Deadline.after(60))
        except Broken as error:
            section.fail(str(error))
            continue
        for name, tests in re.findall(r"^(\S+)\.(?: .*)?$((?:\n .*)*)", out, re.MULTILINE):
            if name.startswith(OF_A_GPU):
                found.append(Suite(program, name, tests.count("\n")))
    if not found and section.state != FAILED:
        section.fail(f"the bundle has no suite that begins with {OF_A_GPU}")
    return found


def in_turn(section: Section, suites: list[Suite]) -> list[Suite]:
    """Those that are left. One that did not end in an earlier run comes last, so that it takes no other's time."""
    late = section.data.get("late", [])
    return sorted((one for one in suites if one.key not in section.data["suites"]), key=lambda one: one.key in late)


def put_last(section: Section, key: str) -> None:
    section.data["late"] = [*(one for one in section.data.get("late", []) if one != key), key]


def run_one(
    machine: Machine, program: str, pattern: str, seconds: float, extra: dict[str, str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The tests that `pattern` names, and what is wrong; how the program ended is the last."""
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
        state = "empty"
        wrong.append(f"{where}: there was no test to run\n{ran.last_words}")
    told = {"program": program, "suite": pattern, "state": state, "passed": outcome.passed}
    return {**told, "failed": list(outcome.failed), "skipped": outcome.skipped, "pardoned": []}, wrong


def run_in_time(
    machine: Machine,
    section: Section,
    deadline: Deadline,
    what: tuple[str, str, str],  # its name here, the program, the tests' pattern
    seconds: float,
    extra: dict[str, str] | None = None,
) -> tuple[dict[str, Any] | None, list[str]]:
    """As run_one(); no result where the tests lacked time, which is no hang: the next run does them."""
    name, program, pattern = what
    limit = deadline.within(seconds)
    result, wrong = run_one(machine, program, pattern, limit, extra)
    if result["state"] == "hung" and limit < seconds:
        section.cut(f"{name}: {wrong[-1].splitlines()[0]}")
        return None, wrong[:-1]
    return result, wrong


def without_gpu(skipped: dict[str, str]) -> list[str]:
    return [test for test, reason in skipped.items() if MARK in reason]


def cause(text: str, pardoned: re.Pattern[str] | None) -> str:
    """The line that says why a failure is none of ours; empty where it may be."""
    return next((line.strip() for line in text.splitlines()[1:] if pardoned and pardoned.search(line)), "")


def run_suites(
    machine: Machine,
    section: Section,
    deadline: Deadline,
    extra: dict[str, str] | None = None,
    without: Sequence[str] = (),
    pardoned: re.Pattern[str] | None = None,
) -> Iterator[None]:
    """Goes on with the suites that an earlier run left. Those with a word of `without` in their names are not run.
    Failures with a line that `pardoned` finds are not wrong."""
    done = section.data.setdefault("suites", {})
    late = []

    def run_suite(suite: Suite) -> tuple[Suite, tuple[dict[str, Any] | None, list[str]] | None]:
        if deadline.left() < 1:
            return suite, None
        what = (suite.key, suite.program, f"{suite.name}.*")
        return suite, run_in_time(machine, section, deadline, what, suite.seconds(machine), extra)

    wanted = [one for one in device_suites(machine, section) if not any(word in one.name for word in without)]
    left = in_turn(section, wanted)
    for suite, ran in each_as_it_ends(max(1, machine.cores // CORES_A_SUITE), run_suite, left):
        if ran is None:
            late.append(suite.key)
            continue
        result, wrong = ran
        if result is None:
            put_last(section, suite.key)
        elif result["state"] == "empty":
            section.fail(wrong.pop())
        else:
            failures = wrong[: len(result["failed"])]
            theirs = {text: why for text in failures if (why := cause(text, pardoned))}
            wrong = [text for text in wrong if text not in theirs]
            unmet = without_gpu(result["skipped"])
            if unmet and not machine.no_gpu:
                wrong.append(f"{suite.program}: skipped for want of a GPU although there is one: {', '.join(unmet)}")
            done[suite.key] = {**result, "pardoned": [f"{text.splitlines()[0]}: {theirs[text]}" for text in theirs]}
        section.wrong += [text for text in wrong if text not in section.wrong]
        yield
    if late:
        section.cut(f"no time was left for {len(late)} suites, the first is {late[0]}")


def run_host_tests(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """All others of the same programs, several at a time, where no GPU can be seen."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "MILLRACE_EMULATED_GPUS": "0"}
    done = section.data.setdefault("suites", {})
    jobs = {f"{program} {part}": (program, part) for part in range(PARTS) for program in machine.tests()}

    def run_job(name: str) -> tuple[str, dict[str, Any] | None, list[str]]:
        program, part = jobs[name]
        if deadline.left() < 1:
            section.cut(f"no time was left for {name}")
            return name, None, []
        extra = {**hidden, "GTEST_TOTAL_SHARDS": str(PARTS), "GTEST_SHARD_INDEX": str(part)}
        what = (name, program, f"-{OF_A_GPU}*")
        result, wrong = run_in_time(machine, section, deadline, what, HOST_SECONDS, extra)
        # A part may have no test.
        return name, result, [] if result and result["state"] == "empty" else wrong

    left = [name for name in jobs if name not in done]
    for name, result, wrong in each_as_it_ends(max(1, machine.cores - 1), run_job, left):
        if result is not None:
            done[name] = result
            for test in without_gpu(result["skipped"]):
                wrong.append(f"{jobs[name][0]}: {test} needs a GPU, so its suite's name must begin with {OF_A_GPU}")
        section.wrong += [text for text in wrong if text not in section.wrong]
        yield


def each_as_it_ends(count: int, run: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
    with ThreadPoolExecutor(count) as pool:
        for future in as_completed([pool.submit(run, job) for job in jobs]):
            yield future.result()


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
