"""How batches reach the step: `trainer compare` with made-up numbers and with text, and what of the speed of decoding
alone is left of a training on text."""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import dataclass
from typing import Any, Iterator

from budget import Deadline, Section
from machine import Broken, Machine, checked

DECODE = """seed: 23
input:
  - filename_queue: {{files: "data/sum/examples-*.csv", shuffle: false, epochs: {epochs}}}
  - csv_reader
  - decode_csv: {{fields: {{features: {{columns: 0-1023}}, label: {{columns: 1024}}}}}}
  - batch: {{batch_size: 256, threads: {threads}}}
"""


@dataclass(frozen=True)
class Sizes:
    rows: int = 1000  # of each of 20 files
    epochs: int = 100  # that are decoded: more than a second on many cores
    rounds: int = 3
    made_up_steps: int = 300
    text_steps: int = 1000


SMALL = Sizes(rows=200, epochs=1, rounds=1, made_up_steps=15, text_steps=15)


def compare(machine: Machine, work: str, config: str, steps: int, rounds: int, device: str, deadline: Deadline) -> Any:
    path = os.path.join(machine.source, "configs", config)
    command = ["trainer", "compare", "--config", path, "--json", "-", "-q"]
    for setting in (
        f"device={device}",
        f"train.steps={steps}",
        f"compare.rounds={rounds}",
        f"compare.warm_up={steps // 10}",
    ):
        command += ["--set", setting]
    out = checked(machine.run(command, work, deadline.within(240)), f"trainer compare of {config}", deadline)
    return {"command": " ".join(["trainer compare", *command[2:]]).replace(path, f"configs/{config}"), **last_json(out)}


def last_json(out: str) -> dict[str, Any]:
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if not lines:
        raise Broken(f"there is no JSON in {out[-300:]!r}")
    return json.loads(lines[-1])


def decode_rows_per_s(machine: Machine, work: str, epochs: int, deadline: Deadline) -> float:
    """Of files, decoding and batches alone, on all cores; the median of three passes over the text."""
    with open(os.path.join(work, "decode.yaml"), "w") as config:
        config.write(DECODE.format(epochs=epochs, threads=machine.cores))
    command = ["trainer", "input", "--config", "decode.yaml", "--format", "none", "--json"]
    rates = []
    for _ in range(3):
        done = last_json(checked(machine.run(command, work, deadline.within(60)), "trainer input", deadline))
        rates.append(done["rows"] / done["seconds"])
    return statistics.median(rates)


def text_share(decode: float, speed: dict[str, Any]) -> dict[str, Any]:
    """How much of decoding alone is left in a training; the step itself may be the slower one."""
    batch = speed["batch_size"]
    together = batch / (speed["together"]["ms"]["median"] / 1000)
    step = batch / (speed["step"]["ms"]["median"] / 1000)
    return {
        "decode_rows_per_s": decode,
        "input_rows_per_s": speed["input"]["rows_per_s"],
        "step_rows_per_s": step,
        "together_rows_per_s": together,
        "share": together / decode,
        "bound_by_step": step < decode,
        "speed": speed,
    }


def run_deliveries(machine: Machine, section: Section, deadline: Deadline) -> Iterator[None]:
    sizes = SMALL if machine.small else Sizes()
    work, device = os.path.join(machine.work, "deliveries"), machine.device
    os.makedirs(work, exist_ok=True)
    generate = [
        "trainer",
        "generate",
        "sum",
        "--out",
        "data/sum",
        "--files",
        "20",
        "--rows",
        str(sizes.rows),
        "--force",
    ]
    checked(machine.run(generate, work, deadline.within(120)), "trainer generate", deadline)
    for name, config, steps in (
        ("text", "queue_vs_feed_csv.yaml", sizes.text_steps),
        ("made_up", "queue_vs_feed.yaml", sizes.made_up_steps),
    ):
        section.data[name] = compare(machine, work, config, steps, sizes.rounds, device, deadline)
        if not section.data[name]["equal_weights"]:
            section.wrong.append(f"the deliveries of {config} ended with different weights")
        yield
    decode = decode_rows_per_s(machine, work, sizes.epochs, deadline)
    speed = ["trainer", "speed", "--config", os.path.join(machine.source, "configs/queue_vs_feed_csv.yaml")]
    speed += ["--json", "-q", "--rounds", str(sizes.rounds), "--set", f"device={device}"]
    out = checked(machine.run(speed, work, deadline.within(120)), "trainer speed", deadline)
    section.data["text_share"] = text_share(decode, last_json(out))
    yield
