"""Hunts for what no single training shows: dependencies that are missing between pieces of work on the GPU, memory that
is not given back, a step that never ends, an error that hides, and the text of the kernels that other GPUs compile."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import time
from collections import Counter
from functools import partial
from typing import Any, Callable, Iterator

from budget import Deadline, Section
from machine import FIRST_KERNEL, Broken, Machine, checked
from processes import LATE
from steps import settings_of
from suite import run_in_time, run_suites
from trainings import make_data, train
from worker import Failed, Late, Worker

# Each training is a configuration and its settings. Together they use our kernels, cuBLASLt's and cuDNN's.
LENET = "bench/peers/lenet.yaml"
OF_LENET = ("train.steps=200", "delivery=auto", "input.synthetic.constant=false")
TRAININGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "the perceptron in fp32": ("configs/mlp.yaml", ()),
    "the perceptron in tf32": ("configs/mlp.yaml", ("precision=tf32",)),
    "LeNet in fp32": (LENET, OF_LENET),
    "LeNet in tf32": (LENET, (*OF_LENET, "precision=tf32")),
}
TINY = {LENET: ("train.steps=10", "input.batch.batch_size=2")}
# If nobody looks at a step, steps go together and batches lie in flight.
UNWATCHED = "train.log_every=1000000"
# Ways to run that may change the order of work on the GPU, and no weight.
NEIGHBOUR = "a busy neighbour"
WAYS: dict[str, dict[str, str]] = {
    "as usual": {},
    "each launch waited for": {"CUDA_LAUNCH_BLOCKING": "1"},
    "one queue": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    "32 queues": {"CUDA_DEVICE_MAX_CONNECTIONS": "32"},
    NEIGHBOUR: {},
}
THREADS = (16, 1)
LONG_MODES = ("resident", "resident_group", "trainer")
LEAK = 32 * 2**20
READY_SECONDS = 60  # until a program that makes steps is ready, before it hangs
PATIENCE = 20  # times as long as the steps before them, and as many seconds, before steps hang
# NVIDIA's libraries bring text for the newest GPUs alone. Without any, their calls fail with whatever status, or crash.
# The part Tests judges them.
OF_LIBRARIES = ("Cublas", "Cudnn", "Gemm", "Convolution")  # in the name of a suite that is about them alone
LIBRARY_FAILS = re.compile(r"(cuBLASLt|cuDNN): .* failed: |(cuBLASLt|cuDNN) has no way to")


def neighbour(machine: Machine, seconds: float) -> Worker:
    """Keeps the GPU busy until it is ended. Throws Failed."""
    command = [machine.path("gpu_step"), "resident", "100", "1", *settings_of(machine, "mlp", "fp32")]
    worker = Worker(command, machine.source, machine.environment)
    try:
        worker.answer(seconds)
        worker.ask(1_000_000_000)
    except Failed:
        worker.end()
        raise
    return worker


def run_dependencies(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """The same trainings again and again, of which nobody looks at a step: all of one end with the same weights. Goes
    on with those that an earlier run made."""
    runs: list[dict[str, Any]] = section.data.setdefault("runs", [])
    made = {tuple(run[key] for key in ("training", "way", "threads")) for run in runs}
    make_data(machine, machine.work, deadline)
    jobs = [
        (name, way, count)
        for count in (THREADS[:1] if machine.small else THREADS)
        for way in WAYS
        for name in TRAININGS
    ]
    left = [job for job in jobs if job not in made]
    for way, of_way in itertools.groupby(left, key=lambda job: job[1]):
        busy = None
        try:
            if way == NEIGHBOUR:
                busy = neighbour(machine, deadline.within(30))
                section.data.pop("no_neighbour", None)
            for name, _, count in of_way:
                if deadline.left() < 1:
                    section.cut(f"{len(runs)} of {len(jobs)} trainings were made")
                    return
                run = hunted(machine, deadline, name, way, count)
                if busy:
                    busy.check()  # a training next to one that ended is not counted
                runs.append(run)
                section.wrong[:] = odd_ones(runs)
                yield
        except Failed as failure:  # of the neighbour, without which its trainings are left for the next run
            section.data["no_neighbour"] = str(failure)
            told = f"there was no busy neighbour: {failure}"
            section.cut(told) if isinstance(failure, Late) else section.fail(told)
        finally:
            if busy:
                busy.end()


def hunted(machine: Machine, deadline: Deadline, name: str, way: str, threads: int) -> dict[str, Any]:
    """Throws TimeoutError."""
    config, settings = TRAININGS[name]
    settings = (*settings, f"threads={threads}", UNWATCHED, *(TINY.get(config, ()) if machine.small else ()))
    told = {"training": name, "way": way, "threads": threads}
    try:
        run = train(machine, machine.work, "hunt", machine.device, deadline, settings, WAYS[way], config)
    except Broken as error:
        return {**told, "weights": "", "ms": None, "failed": str(error)}
    return {**told, "weights": run["weights"], "ms": run["ms"]}


def odd_ones(runs: list[dict[str, Any]]) -> list[str]:
    """Ways to other weights than most, and those that failed."""
    wrong = []
    for name in TRAININGS:
        mine = [run for run in runs if run["training"] == name]
        said = [(f"{run['way']}, {run['threads']} threads", run) for run in mine]
        usual = Counter(run["weights"] for run in mine if run["weights"]).most_common(1)
        odd = [way for way, run in said if run["weights"] and run["weights"] != usual[0][0]]
        if odd:
            wrong.append(f"trainings of {name} ended with other weights than most: {'; '.join(sorted(odd))}")
        wrong += [f"a training of {name}, {way}: {run['failed']}" for way, run in said if "failed" in run]
    return wrong


def run_trainers(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """One trainer after another in one process: memory of the device and of the host stays as it was."""
    count = 12 if machine.small else 100
    command = ["gpu_step", "trainers", str(count), *settings_of(machine, "mlp", "fp32")]
    ran = machine.run(command, machine.source, deadline.within(600))
    section.data |= json.loads(checked(ran, f"{count} trainers, one after another", deadline))
    # The first ones load libraries and fill caches.
    for what, least in (("device_used", LEAK), ("host_used", 2 * LEAK)):
        used = section.data[what]
        grown = used[-1] - used[len(used) // 2]
        if grown > least:
            section.wrong.append(f"{what} grew by {grown / 2**20:.0f} MiB in the last {count // 2} of {count} trainers")
    yield


def run_long(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    """A million steps of each kind: none hangs. Goes on where an earlier run had no more time."""
    steps, wanted = (10, 20) if machine.small else (10_000, 1_000_000)
    modes = section.data.setdefault("modes", {})
    for number, mode in enumerate(LONG_MODES):
        told = modes.setdefault(mode, {"steps": 0, "seconds": 0.0})
        if told["steps"] >= wanted or told.get("failed"):
            continue
        share = Deadline.after(deadline.left() / (len(LONG_MODES) - number))
        try:
            many_steps(machine, mode, steps, wanted, told, share)
        except Failed as failure:
            told["failed"] = str(failure)
            section.wrong.append(f"{mode}, after {told['steps']} steps: {failure}")
        if told["steps"] < wanted and "failed" not in told:
            section.cut(f"{mode}: there was time for {told['steps']} of {wanted} steps")
        yield


def many_steps(machine: Machine, mode: str, steps: int, wanted: int, told: dict[str, Any], share: Deadline) -> None:
    """Until `wanted` are made or the time is over. Throws Failed, also if the program is not ready in time, or if steps
    take ever so much longer than those before them."""
    command = [machine.path("gpu_step"), mode, str(steps), "1", *settings_of(machine, "mlp", "tf32")]
    worker = Worker(command, machine.source, machine.environment)
    try:
        if not is_in_time(worker.ready, share, READY_SECONDS, "it hangs before its first step"):
            return
        took = 0.0
        while told["steps"] < wanted and share.left() > 0:
            begin = time.monotonic()
            repeat, hang = partial(worker.repeats, 1), f"the next {steps} steps hang"
            if not is_in_time(repeat, share, PATIENCE * (1 + took), hang):
                return
            took = time.monotonic() - begin
            told["steps"] += steps
            told["seconds"] += took
    finally:
        worker.end()


def is_in_time(act: Callable[[float], object], share: Deadline, patience: float, hang: str) -> bool:
    """Whether `act` ended before the share of time did. Throws Failed if it had all of its patience."""
    limit = share.within(patience)
    try:
        act(limit)
    except Late as late:
        if limit >= patience:
            raise Failed(f"{hang}: it {late}") from None
        return False
    return True


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
    if "start_seconds" not in section.data:
        seconds = {}
        for name, extra in starts:
            begin = time.monotonic()
            what = (f"the first kernel, {name},", "core_test", FIRST_KERNEL)
            result, wrong = run_in_time(machine, section, deadline, what, 240, extra)
            section.wrong += [f"the first kernel, {name}: {one}" for one in wrong]
            if result is None:
                break
            seconds[name] = time.monotonic() - begin
        else:
            section.data["start_seconds"] = seconds
        yield
    yield from run_suites(machine, section, deadline, text, OF_LIBRARIES, LIBRARY_FAILS)
