"""The report as Markdown, from the whole that report.py writes as JSON."""

from __future__ import annotations

import json
from typing import Any, Callable

from kernels import METRICS
from machine import QUERY
from networks import NETWORKS
from steps import PRECISIONS, TOLERANCES
from suite import summary

Whole = dict[str, Any]
LENGTH_SHOWN = 1600  # of a failure; the JSON has all of it
UNITS = {
    "copy": "device to device, read and written",
    "fp32": "product of 8192 x 8192 x 8192, strict fp32",
    "tf32": "the same in TF32",
    "node": "a small kernel in a graph of 1000",
    "launch": "a graph of one small kernel",
    "to_device_1": "1 MiB from pinned memory to the device",
    "to_host_1": "1 MiB back",
    "to_device_2": "2 MiB to the device",
    "to_host_2": "2 MiB back",
    "to_device_64": "64 MiB to the device",
    "to_host_64": "64 MiB back",
    "copy_node": "a copy of 16 bytes to the host, in a graph of 100",
    "graph_straight": "a graph of four small kernels and such a copy, in a chain",
    "graph_forked": "the same, the copy beside the kernels",
    "graph_on_host": "that graph's launch, on the host",
    "event_on_host": "an event recorded and waited for, on the host",
}


def cell(text: str) -> str:
    """On one line, and in one column."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: list[str], rows: list[list[str]], right_from: int = 1) -> list[str]:
    rule = ["---" if i < right_from else "--:" for i in range(len(head))]
    return ["| " + " | ".join(map(cell, cells)) + " |" for cells in [head, rule, *rows]]


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def quoted(text: str) -> list[str]:
    return ["```", *text.strip().splitlines(), "```"]


def suites(data: dict[str, Any]) -> list[str]:
    rows, reasons = summary(data["suites"])
    lines = table(["program", "passed", "failed", "skipped", "suites that ended"], rows)
    if reasons:
        lines += [""] + [f"- skipped {count}: {reason}" for reason, count in sorted(reasons.items())]
    pardoned = [text for one in data["suites"].values() for text in one["pardoned"]]
    return lines + [""] + [f"- not judged, as a library of NVIDIA's failed: {text}" for text in pardoned]


def trainings(data: dict[str, Any]) -> list[str]:
    rows = [
        [
            run["device"],
            str(run["steps"]),
            f"{run['losses'][0]:.6f}",
            f"{run['losses'][1]:.6f}",
            f"{run['ms']:.3f}",
            run["weights"][:16],
        ]
        for run in data["runs"]
    ]
    lines = ["configs/mlp.yaml, each device twice:", ""]
    lines += table(["device", "steps", "first loss", "last loss", "ms a step", "weights"], rows)
    if data["difference"] is not None:
        lines += ["", f"Largest relative difference of a step's loss between the devices: {data['difference']:.2e}."]
    lines += ["", "configs/synthetic.yaml, batches of 256 made on the way:", ""]
    return lines + [f"- {device}: {ms:.3f} ms a step" for device, ms in data["synthetic_ms"].items()]


def delivered(part: dict[str, Any]) -> list[str]:
    rows = []
    for one in part["deliveries"]:
        ms, over = one["ms_per_step"], part["speedup_over_feed"].get(one["name"])
        bound = ms["median"] / one["bound_ms"] if one["bound_ms"] else None
        spread = f"{number(ms['min'])} to {number(ms['max'])}"
        rows.append([one["name"], number(ms["median"]), spread, number(over), number(bound), one["weights"][:8]])
    head = ["delivery", "ms a step", "min to max", "times feed", "of its bound", "weights"]
    machine = part["machine"]
    lines = [
        f"`{part['command']}`, {machine['threads']} threads, {machine['device']}, noise {100 * part['noise']:.1f} %:",
        "",
    ]
    return lines + table(head, rows)


def deliveries(data: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name in ("text", "made_up"):
        if name in data:
            lines += delivered(data[name]) + [""]
    if share := data.get("text_share"):
        lines += table(
            ["rows a second", ""],
            [
                ["decoding alone, into batches", number(share["decode_rows_per_s"])],
                ["the whole input alone, shuffled", number(share["input_rows_per_s"])],
                ["the step alone", number(share["step_rows_per_s"])],
                ["training", f"{number(share['together_rows_per_s'])}, {100 * share['share']:.0f} % of decoding alone"],
            ],
        )
    return lines


def race(data: dict[str, Any]) -> list[str]:
    told = data["race"]
    contenders = told["contenders"]
    ours = next((one.get("median") for one in contenders if one["key"] == "ours"), None)
    rows, failed = [], []
    for one in contenders:
        if "median" not in one:
            failed.append(f"- {one['name']} has no time: {one.get('failed', 'no round was made')}")
            continue
        times = number(one["median"] / ours) if ours else ""
        spread = f"{number(one['lower'])} to {number(one['upper'])}"
        difference = f"{one['difference']:.0e}" if "difference" in one else ""
        recorded = {True: "; recorded", False: "; not recorded"}.get(one.get("recorded"), "")
        recorded += f"; {one['groups']} groups of steps" if "groups" in one else ""
        rows.append(
            [one["name"], one["how"] + recorded, one["clock"], number(one["median"]), spread, times, difference]
        )
    lines = [NETWORKS[told["network"]]["title"] + ":", ""]
    if rows:
        head = ["", "how", "clock", "us a step", "quartiles", "times ours", "losses differ"]
        lines += table(head, rows, 3)
        sizes = told["sizes"]
        lines += ["", f"{told['rounds']} rounds of {sizes['repeats']} times {sizes['steps']} steps."]
    timed = {one["name"]: one.get("tries", 1) for one in contenders if "median" in one}
    later = [name for name, tries in timed.items() if tries > min(timed.values())]
    if later:
        lines += ["", f"A later command than the others' timed {', '.join(later)}: the GPU's clocks may have differed."]
    return lines + [""] + failed


ABOUT_RACES = """In a race all have the same initial weights, the same batch on the device, and plain SGD; the losses
of the first steps must be those of our step on the CPU within {fp32:.0e}, in TF32 within {tf32:.0e}, before a time is
believed. They are timed in turn, round after round, and are stopped processes while it is not their turn. Medians and
quartiles of all repeats.""".format(**TOLERANCES)


def rates(data: dict[str, Any]) -> list[str]:
    rows = [
        [UNITS.get(name, name), number(rate["value"]) or f"failed: {rate.get('failed', '')[:200]}", rate["unit"]]
        for name, rate in data["rates"].items()
    ]
    lines = ["What the GPU can do at best, the fastest of five tries:", "", *table(["", "", ""], rows)]
    floors = []
    for network in NETWORKS.values():
        for precision in PRECISIONS:
            rate = (data["rates"].get(precision) or {}).get("value")
            if rate:
                floors.append(
                    f"- {network['title']}: at the rate of {precision} its {network['flop'] / 1e9:.2f} GFLOP take "
                    f"{network['flop'] / rate / 1e6:.1f} us"
                )
    return [*lines, "", *floors]


def kernels(data: dict[str, Any]) -> list[str]:
    rows = [
        [f"`{one['kernel'][:120]}`", one["grid"], one["block"], str(one["times"])]
        + [number(one.get(key)) for key in METRICS]
        for one in data["kernels"]
    ]
    return table(["kernel", "grid", "block", "times a step", "us", "registers", "compute, %", "memory, %"], rows, 3)


def candidates(data: dict[str, Any]) -> list[str]:
    lines = ["In the order of cuBLASLt's own list, without those that add up in place; the first is taken."]
    for product in data["products"]:
        found = product["candidates"]
        keys = list(dict.fromkeys(key for one in found for key in one if key not in ("us", "taken", "failed")))
        rows = [[number(one["us"]) or one["failed"], *(number(one[key]) for key in keys)] for one in found]
        lines += ["", f"{product['name']}, {product['precision']}:", "", *table(["us", *keys], rows, 0)]
        lines += [product["failed"]] if "failed" in product else []
    lines += ["", "Of cuDNN's own lists; taken is the first whose sums are exact and in order, in TF32 as rounded."]
    for one in data.get("convolutions", []):
        rows = []
        for engine in one["engines"]:
            taken = " and ".join(name for name in PRECISIONS if engine.get(name))
            us = number(engine["us"]) or engine["failed"]
            rows.append([us, str(engine["engine"]), str(engine["place"]), str(engine["workspace"]), taken])
        lines += ["", f"{one['name']}:", "", *table(["us", "engine", "place", "workspace", "taken in"], rows, 0)]
        lines += [one["failed"]] if "failed" in one else []
    return lines


def dependencies(data: dict[str, Any]) -> list[str]:
    rows = [
        [run["training"], run["way"], str(run["threads"]), run["weights"][:16] or "failed", number(run["ms"])]
        for run in data["runs"]
    ]
    lines = table(["training", "way", "threads", "weights", "ms a step"], rows, 4)
    return lines + (["", f"There was no busy neighbour: {data['no_neighbour']}"] if "no_neighbour" in data else [])


def trainers(data: dict[str, Any]) -> list[str]:
    rows = []
    for name in ("device_used", "host_used"):
        used = [f"{data[name][i] / 2**20:.0f}" for i in (0, len(data[name]) // 2, -1)]
        rows.append([name.replace("_", " ") + ", MiB", *used])
    return table([f"{len(data['device_used'])} trainers", "first", "middle", "last"], rows)


def sanitizer(data: dict[str, Any]) -> list[str]:
    rows = [[name, one["state"], str(one["errors"]), str(one["tests"])] for name, one in data["suites"].items()]
    return table(["suite", "", "errors", "tests that passed"], rows, 2)


def text(data: dict[str, Any]) -> list[str]:
    starts = data.get("start_seconds", {})
    lines = [*(f"- start with {name}: {seconds:.1f} s" for name, seconds in starts.items()), ""]
    return lines + (suites(data) if "suites" in data else [])


# By the first word of a part's name.
RENDERERS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "suites": suites,
    "host": suites,
    "trainings": trainings,
    "rates": rates,
    "race": race,
    "kernels": kernels,
    "candidates": candidates,
    "dependencies": dependencies,
    "trainers": trainers,
    "long": lambda data: [
        f"- {mode}: {one['steps']} steps in {one['seconds']:.0f} s" for mode, one in data["modes"].items()
    ],
    "bad_address": lambda data: quoted(data["message"]),
    "text": text,
    "deliveries": deliveries,
    "sanitizer": sanitizer,
}


def body(section: dict[str, Any]) -> list[str]:
    if not section["data"]:
        return []
    try:
        return RENDERERS[section["name"].partition("/")[0]](section["data"])
    except (KeyError, IndexError, TypeError, ValueError):  # it ended before all of it was there
        return quoted(json.dumps(section["data"])[:2000])


def target_rows(targets: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [one["name"], one["wanted"], number(one["value"]), one["verdict"] + (f": {one['why']}" if one["why"] else "")]
        for one in targets
    ]


def head(whole: Whole) -> list[str]:
    machine = whole["machine"]
    gpu = f"none, {machine['no_gpu']}" if machine["no_gpu"] else "; ".join(machine["gpus"]) or "unnamed"
    lines = ["# Millrace on this machine" + (", a rehearsal" if whole["rehearsed"] else ""), ""]
    lines += [f"- build: {whole['commit'] or 'unknown'}", f"- GPU: {gpu}"]
    lines += [f"- processor: {machine['processor']}, {machine['cores']} usable"]
    lines += [f"- system: {machine['system']}, glibc {machine['glibc']}"]
    lines += [f"- cuBLASLt, cuDNN: {', '.join(machine['libraries']) or 'not found'}"]
    versions = [f"{name} {version}" for name, version in sorted(whole["versions"].items())]
    lines += [f"- versions: {', '.join(versions)}"] if versions else []
    lines += [f"- {name}: {value}" for name, value in machine["about"].items()]
    lines += [f"- {name}={value}" for name, value in machine["variables"].items()]
    for command, one in zip(whole["commands"], whole["machines"]):
        lines.append(f"- {one['began']}, driver {one['driver_version'] or 'unknown'}: `{command}`")
    return lines


def markdown(whole: Whole) -> str:
    lines = [*head(whole), "", "## Result", "", f"**{whole['result']}**", ""]
    lines += [f"- {text.strip().splitlines()[0]}" for text in whole["wrong"]] + [""] * bool(whole["wrong"])
    rows = []
    for section in whole["sections"]:
        state = section["state"] + (f": {section['why']}" if section["why"] else "")
        seconds = f"{section['seconds']:.0f}"
        rows.append([section["title"], state, str(len(section["wrong"])), seconds, section["clocks"]])
    lines += table(["part", "", "wrong", "seconds", ", ".join(QUERY)], rows, 2)
    lines += ["", "## Targets", "", "Times are those wanted of an H200. A miss fails nothing.", ""]
    lines += table(["", "wanted", "found", ""], target_rows(whole["targets"]), 1)
    lines += ["", *ABOUT_RACES.splitlines()]
    for section in whole["sections"]:
        lines += ["", f"## {section['title']}", ""]
        if section["state"] != "done":
            lines += [f"{section['state']}: {section['why']}", ""]
        lines += body(section)
        for failure in section["wrong"]:
            lines += ["", *quoted(failure[:LENGTH_SHOWN])]
    out: list[str] = []
    for line in lines:  # never two empty lines
        if line or (out and out[-1]):
            out.append(line)
    return "\n".join(out).rstrip("\n") + "\n"
