"""Hunts for what no single training shows: dependencies that are missing between pieces of work on the GPU, memory that
is not given back, a step that never ends, an error that hides, and the text of the kernels that other GPUs compile."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from typing import Any, Iterator

from budget import Deadline, Section
from machine import FIRST_KERNEL, Machine
from processes import LATE
from steps import settings_of
from suite import run_one, run_suites
from trainings import make_data, train
from worker import Failed, Late, Worker

# Ways to run that may change the order of work on the GPU, and no weight.
WAYS: dict[str, dict[str, str]] = {
    "as usual": {},
    "each launch waited for": {"CUDA_LAUNCH_BLOCKING": "1"},
    "one queue": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    "32 queues": {"CUDA_DEVICE_MAX_CONNECTIONS": "32"},
    "a busy neighbour": {},
}
LEAK = 32 * 2**20
OF_A_LIBRARY = ("cuBLASLt", "cuDNN")


def neighbour(machine: Machine) -> Worker:
    """Keeps the GPU busy until it is ended."""
    command = [machine.path("gpu_step"), "resident", "100", "1", *settings_of(machine, "mlp", "fp32")]
    worker = Worker(command, machine.source, machine.environment)
    try:
        worker.answer(60)
        worker.process.stdin.write(b"1000000000\n")
    except (Failed, OSError):
        worker.end()
        raise
    return worker


def run_dependencies(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """The same training again and again: all end with the same weights."""
    rounds, threads = (1, (1, 2)) if machine.small else (3, (1, 16))
    runs: list[dict[str, Any]] = []
    section.data["runs"] = runs
    make_data(machine, machine.work, deadline)
    for _ in range(rounds):
        for way, extra in WAYS.items():
            busy = neighbour(machine) if way == "a busy neighbour" else None
            try:
                for count in threads:
                    if deadline.left() < 1:
                        section.cut(f"{len(runs)} of {rounds * len(WAYS) * len(threads)} trainings were made")
                        return
                    options = ["--set", f"threads={count}"]
                    run = train(machine, machine.work, "hunt", machine.device, deadline, options, extra)
                    runs.append({"way": way, "threads": count, "weights": run["weights"], "ms": run["ms"]})
            finally:
                if busy:
                    busy.end()
        yield
    section.wrong += odd_ones(runs)


def odd_ones(runs: list[dict[str, Any]]) -> list[str]:
    """Ways to other weights than most."""
    usual = Counter(run["weights"] for run in runs).most_common(1)[0][0] if runs else ""
    odd = {f"{run['way']}, {run['threads']} threads" for run in runs if run["weights"] != usual}
    return [f"trainings ended with other weights than most: {'; '.join(sorted(odd))}"] if odd else []


def run_trainers(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """One trainer after another in one process: memory of the device and of the host stays as it was."""
    count = 12 if machine.small else 200
    command = ["gpu_step", "trainers", str(count), *settings_of(machine, "mlp", "fp32")]
    ran = machine.run(command, machine.source, deadline.within(180))
    if ran.status != 0:
        section.wrong.append(f"{count} trainers, one after another, ended with status {ran.status}: {ran.last_words}")
        return
    section.data |= json.loads(ran.out)
    # The first ones load libraries and fill caches.
    for what, least in (("device_used", LEAK), ("host_used", 2 * LEAK)):
        used = section.data[what]
        grown = used[-1] - used[len(used) // 2]
        if grown > least:
            section.wrong.append(f"{what} grew by {grown / 2**20:.0f} MiB in the last {count // 2} of {count} trainers")
    yield


def run_long(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """A million steps of each kind: none hangs."""
    steps, repeats = (10, 2) if machine.small else (10_000, 100)
    section.data["seconds"] = {}
    for mode in ("resident", "resident_group", "trainer"):
        begin, limit = time.monotonic(), deadline.within(120)
        try:
            command = [machine.path("gpu_step"), mode, str(steps), "1", *settings_of(machine, "mlp", "tf32")]
            worker = Worker(command, machine.source, machine.environment)
            try:
                worker.ready(deadline.within(60))
                worker.repeats(repeats, limit)
            finally:
                worker.end()
            section.data["seconds"][mode] = time.monotonic() - begin
        except Failed as failure:
            if isinstance(failure, Late) and limit < 60:
                section.cut(f"{mode}: {failure}")
            else:
                section.wrong.append(f"{steps * repeats} steps of {mode}: {failure}")
        yield


def run_bad_address(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """A kernel that writes to no memory: the program says so, and ends."""
    if machine.emulated:
        section.leave_out("on the emulated GPU it would end the program")
        return
    ran = machine.run(["gpu_step", "bad_address"], machine.source, deadline.within(60))
    section.data["message"] = ran.errors.strip()[-1000:]
    if ran.status == LATE:
        section.wrong.append(f"a program whose kernel wrote to a bad address {ran.errors.splitlines()[-1]}")
    elif ran.status != 70 or "gpu_step: " not in ran.errors:
        section.wrong.append(f"a bad address ended a program with status {ran.status}: {ran.last_words}")
    yield


def run_text(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """The kernels as the driver compiles their text (PTX), which is what GPUs run that the build has no code for."""
    cache = os.path.join(machine.work, "compiled")
    shutil.rmtree(cache, ignore_errors=True)
    text = {"CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_PATH": cache, "CUDA_CACHE_MAXSIZE": str(2**30)}
    starts = (("its code", {}), ("text, compiled", text), ("text, from the cache", text))
    section.data["start_seconds"] = {}
    for name, extra in starts:
        begin = time.monotonic()
        extra = {**extra, "CUDA_MODULE_LOADING": "EAGER"}
        _, wrong = run_one(machine, "core_test", FIRST_KERNEL, deadline.within(120), extra)
        section.data["start_seconds"][name] = time.monotonic() - begin
        section.wrong += [f"the first kernel, {name}: {one}" for one in wrong]
    yield
    if not section.wrong:
        # NVIDIA's libraries bring text for the newest GPUs alone, so they may have no kernel to run here.
        yield from run_suites(machine, section, deadline, 60, text, pardoned=OF_A_LIBRARY)
