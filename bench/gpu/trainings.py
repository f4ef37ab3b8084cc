"""Whole trainings: the notebook's configuration on the CPU and on the GPU, each twice. Two on one device must end with
the same weights; the losses of the two devices must agree."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Iterator, Sequence

from budget import Deadline, Section
from losses import worst_difference
from machine import Broken, Machine, checked

TIMED_STEPS, FEW_STEPS = (20, 220), (2, 4)
TOLERANCE = 1e-2  # of a step's loss between devices, relative


def make_data(machine: Machine, work: str, deadline: Deadline) -> None:
    rows = "10" if machine.small else "100"
    command = ["trainer", "generate", "sum", "--out", "data/sum", "--files", "20", "--rows", rows, "--force"]
    checked(machine.run(command, work, deadline.within(120)), "trainer generate", deadline)


def train(
    machine: Machine,
    work: str,
    name: str,
    device: str,
    deadline: Deadline,
    settings: Sequence[str] = ("train.log_every=1",),
    extra: dict[str, str] | None = None,
    config: str = "configs/mlp.yaml",
) -> dict[str, Any]:
    path = os.path.join(machine.source, config)
    command = ["trainer", "--config", path, "--json", "--save", f"{name}.safetensors", "--set", f"device={device}"]
    command += [word for setting in settings for word in ("--set", setting)]
    out = checked(machine.run(command, work, deadline.within(120), extra), f"training on {device}", deadline)
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if not events or events[-1].get("event") != "done":
        raise Broken(f"training on {device} did not say that it is done: {out[-500:]}")
    with open(os.path.join(work, f"{name}.safetensors"), "rb") as model:
        file_hash = hashlib.sha256(model.read()).hexdigest()
    done = events[-1]
    return {
        "device": device,
        "steps": done["steps"],
        "losses": [event["loss"] for event in events if event.get("event") == "step"],
        "weights": done.get("weights", file_hash),
        "ms": 1000 * done["seconds"] / done["steps"],
    }


def compare(runs: list[dict[str, Any]]) -> tuple[float | None, list[str]]:
    """The largest relative difference of a step's loss between the devices, and what is wrong."""
    wrong = []
    by_device: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        by_device.setdefault(run["device"], []).append(run)
    for device, same in by_device.items():
        if len({run["weights"] for run in same}) > 1:
            wrong.append(f"two trainings on {device} ended with different weights")
    if len(by_device) != 2:
        return None, wrong
    first, second = (same[0]["losses"] for same in by_device.values())
    if len(first) != len(second):
        return None, [*wrong, f"the devices made {len(first)} and {len(second)} steps"]
    worst = worst_difference(first, second, 1e-3)
    if not worst <= TOLERANCE:
        wrong.append(f"the losses of the devices differ by {worst:.2e}, allowed are {TOLERANCE:.0e}")
    return worst, wrong


def step_ms(machine: Machine, work: str, device: str, deadline: Deadline) -> float:
    """What one more step of 256 made-up rows takes, its rows included: of two lengths, so that the start cancels."""
    config = os.path.join(machine.source, "configs/synthetic.yaml")
    seconds = []
    lengths = FEW_STEPS if machine.small else TIMED_STEPS
    for steps in lengths:
        command = ["trainer", "--config", config, "--json", "--set", f"device={device}"]
        command += ["--set", "train.log_every=1000000", "--set", f"input.synthetic.rows={256 * steps}"]
        out = checked(machine.run(command, work, deadline.within(120)), " ".join(command), deadline)
        seconds.append(json.loads(out.strip().splitlines()[-1])["seconds"])
    return 1000 * (seconds[1] - seconds[0]) / (lengths[1] - lengths[0])


def run_trainings(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    devices = ["cpu", "cpu"] + ([] if machine.no_gpu else [machine.device] * 2)
    make_data(machine, machine.work, deadline)
    runs = [train(machine, machine.work, f"run{i}", device, deadline) for i, device in enumerate(devices)]
    worst, section.wrong = compare(runs)
    section.data = {
        "runs": [{**run, "losses": [run["losses"][0], run["losses"][-1]]} for run in runs],
        "difference": worst,
        "synthetic_ms": {},
    }
    yield
    for device in dict.fromkeys(devices):
        section.data["synthetic_ms"][device] = step_ms(machine, machine.work, device, deadline)
