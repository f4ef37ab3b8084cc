#!/usr/bin/env python3
"""The least that each kernel of a step can take on a GPU: its operations and bytes over what the chip can do.

  bench/gpu/floors.py [REPORT.json]

The step is that of bench/gpu/mlp.yaml: 1024 -> 1024 ReLU -> 1 in batches of 256 with plain SGD. Without a report of
gpu-check the rates are those of an H200's data sheet, with one they are those that were measured; then the measured time
of the step stands beside its floor.
"""
from __future__ import annotations

import json
import sys

BATCH, INPUTS, UNITS = 256, 1024, 1024
FLOAT = 4
# An H200's, dense: operations a second, and bytes a second.
DATA_SHEET = {"fp32": 67e12, "tf32": 494e12, "copy": 4.8e12}

# (what, operations, bytes read and written, whether tensor cores may do it). Each value is counted once, wherever it
# comes from: what the one kernel leaves in the second cache, the next one reads faster.
ROWS, WEIGHT = BATCH * UNITS, UNITS * INPUTS
KERNELS = [
    ("product and bias", 2 * BATCH * WEIGHT, BATCH * INPUTS + WEIGHT + UNITS + ROWS, True),
    ("rectifier, head, loss, its mean and gradient", 3 * ROWS + 8 * BATCH, 2 * ROWS + UNITS + 3 * BATCH, False),
    ("gradients of head, rectifier and bias, updates", 5 * ROWS, 2 * ROWS + BATCH + 4 * UNITS, False),
    ("weight's gradient and update", 2 * BATCH * WEIGHT, ROWS + BATCH * INPUTS + 2 * WEIGHT, True),
]


def measured_rates(report: dict) -> dict[str, float]:
    """Of a report's part on rates; what is not there is the data sheet's."""
    rates = next((s["data"].get("rates") or {} for s in report["sections"] if s["name"] == "rates"), {})
    scale = {"TFLOP/s": 1e12, "GFLOP/s": 1e9, "TB/s": 1e12, "GB/s": 1e9}
    measured = {name: rate for name, rate in rates.items() if name in DATA_SHEET and rate["value"]}
    return {**DATA_SHEET, **{name: rate["value"] * scale[rate["unit"]] for name, rate in measured.items()}}


def measured_steps(report: dict) -> dict[str, float]:
    """Microseconds of our step by precision."""
    found = {}
    for race in (section["data"].get("race") for section in report["sections"]):
        if race and race["network"] == "mlp":
            ours = [one["median"] for one in race["contenders"] if one["key"] == "ours" and "median" in one]
            found.update({race["precision"]: median for median in ours})
    return found


def floor_us(kernel: tuple, precision: str, rates: dict[str, float]) -> float:
    _, operations, values, tensor = kernel
    return 1e6 * max(operations / rates[precision if tensor else "fp32"], FLOAT * values / rates["copy"])


def main() -> None:
    report = json.load(open(sys.argv[1])) if len(sys.argv) > 1 else None
    rates = measured_rates(report) if report else DATA_SHEET
    print("| kernel | million operations | MB | floor, us | in TF32 |")
    print("| --- | --: | --: | --: | --: |")
    for kernel in KERNELS:
        what, operations, values, _ = kernel
        floors = " | ".join(f"{floor_us(kernel, precision, rates):.2f}" for precision in ("fp32", "tf32"))
        print(f"| {what} | {operations / 1e6:.4g} | {FLOAT * values / 1e6:.3g} | {floors} |")
    total = {p: sum(floor_us(kernel, p, rates) for kernel in KERNELS) for p in ("fp32", "tf32")}
    print(f"| together | {sum(k[1] for k in KERNELS) / 1e6:.4g} | {sum(k[2] for k in KERNELS) * FLOAT / 1e6:.3g} "
          f"| {total['fp32']:.1f} | {total['tf32']:.1f} |")
    for precision, taken in (measured_steps(report) if report else {}).items():
        print(f"\nmeasured, {precision}: {taken:.1f} us, {taken / total[precision]:.2f} times the floor")


if __name__ == "__main__":
    main()
