"""The report as Markdown, from the whole that check.py writes as JSON."""

from __future__ import annotations

from typing import Any

from networks import NETWORKS
from steps import TOLERANCES

Whole = dict[str, Any]
UNITS = {
    "copy": "device to device, read and written",
    "fp32": "product of 8192 x 8192 x 8192, strict fp32",
    "tf32": "the same in TF32",
    "node": "a small kernel in a graph of 1000",
    "launch": "a graph of one small kernel",
}


def table(head: list[str], rows: list[list[str]], right_from: int = 1) -> list[str]:
    rule = ["---" if i < right_from else "--:" for i in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in [head, rule, *rows]]


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def quoted(text: str) -> list[str]:
    return ["```", *text.strip().splitlines(), "```"]


def tests(data: dict[str, Any]) -> list[str]:
    names = ["passed", "failed", "skipped", "unfinished"]
    rows = [[row["program"], *(str(row[name]) for name in names)] for row in data["programs"]]
    lines = table(["program", *names], rows)
    if data["skipped"]:
        lines += [""] + [f"- skipped {count}: {reason}" for reason, count in sorted(data["skipped"].items())]
    return lines


def training(data: dict[str, Any]) -> list[str]:
    if not data:
        return []
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


def raced(race: dict[str, Any], title: str, flop: float, rates: dict[str, Any]) -> list[str]:
    contenders = race["contenders"]
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
        rows.append(
            [one["name"], one["how"] + recorded, one["clock"], number(one["median"]), spread, times, difference]
        )
    sizes = race["sizes"]
    lines = [f"### {title}, {race['precision']}", ""]
    if rows:
        head = ["", "how", "clock", "us a step", "quartiles", "times ours", "losses differ"]
        lines += table(head, rows, 3)
        lines += ["", f"{race['rounds']} rounds of {sizes['repeats']} times {sizes['steps']} steps."]
        rate = (rates.get(race["precision"]) or {}).get("value")
        if rate:
            lines += [f"At the measured rate its {flop / 1e9:.2f} GFLOP take {flop / rate / 1e6:.1f} us."]
    return lines + [""] + failed + [""] * bool(failed)


def steps(data: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    rates = data.get("rates") or {}
    if rates:
        rows = [
            [UNITS.get(name, name), number(rate["value"]) or "failed", rate["unit"]] for name, rate in rates.items()
        ]
        lines += ["What the GPU can do at best, the fastest of five tries:", "", *table(["", "", ""], rows), ""]
    strict, tf32 = (f"{TOLERANCES[name]:.0e}" for name in ("fp32", "tf32"))
    lines += [
        "All have the same initial weights, the same batch on the device, and plain SGD; the losses of the first steps",
        f"must be those of our step on the CPU within {strict}, in TF32 within {tf32}, before a time is believed. They",
        "are timed in turn, round after round, and are stopped processes while it is not their turn. Medians and",
        "quartiles of all repeats.",
        "",
    ]
    for race in data.get("races", []):
        network = NETWORKS[race["network"]]
        lines += raced(race, network["title"], network["flop"], rates)
    return lines[:-1] if lines[-1] == "" else lines


def sanitizers(data: dict[str, Any]) -> list[str]:
    if not data.get("tools"):
        return []
    rows = [
        [tool, one["state"], str(one["errors"]), str(one["tests"]), f"{one['finished']} of {one['parts']}"]
        for tool, one in data["tools"].items()
    ]
    lines = [f"`{data['filter']}` of {', '.join(data['programs'])}:", ""]
    lines += table(["tool", "", "errors", "tests that passed", "parts that ended"], rows, 2)
    for tool, one in data["tools"].items():
        if one["excerpt"]:
            lines += ["", f"{tool}:", "", *quoted(one["excerpt"])]
    return lines


RENDERERS = {"tests": tests, "training": training, "deliveries": deliveries, "steps": steps, "sanitizers": sanitizers}


def target_rows(targets: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [one["name"], one["wanted"], number(one["value"]), one["verdict"] + (f": {one['why']}" if one["why"] else "")]
        for one in targets
    ]


def head(whole: Whole) -> list[str]:
    machine, budget = whole["machine"], whole["budget"]
    gpu = f"none, {machine['no_gpu']}" if machine["no_gpu"] else "; ".join(machine["gpus"]) or "unnamed"
    lines = ["# Millrace on this machine" + (", a rehearsal" if whole["rehearsed"] else ""), ""]
    lines += [f"- build: {whole['commit'] or 'unknown'}", f"- GPU: {gpu}"]
    lines += [f"- processor: {machine['processor']}, {machine['cores']} usable"]
    lines += [f"- system: {machine['system']}, glibc {machine['glibc']}"]
    lines += [f"- cuBLASLt, cuDNN: {', '.join(machine['libraries']) or 'not found'}"]
    versions = [f"{name} {version}" for name, version in sorted(whole["versions"].items())]
    lines += [f"- versions: {', '.join(versions)}"] if versions else []
    return lines + [
        f"- {whole['date']}, `{whole['command']}`, took {budget['taken']:.0f} s of {budget['seconds']:.0f} s"
    ]


def markdown(whole: Whole) -> str:
    lines = [*head(whole), "", "## Result", "", f"**{whole['result']}**", ""]
    lines += [f"- {text.strip().splitlines()[0]}" for text in whole["wrong"]] + [""] * bool(whole["wrong"])
    rows = []
    for section in whole["sections"]:
        state = section["state"] + (f": {section['why']}" if section["why"] else "")
        rows.append([section["title"], state, str(len(section["wrong"])), f"{section['seconds']:.0f}"])
    lines += table(["part", "", "wrong", "seconds"], rows, 2)
    lines += ["", "## Targets", "", "Times are those wanted of an H200. A miss fails nothing.", ""]
    lines += table(["", "wanted", "found", ""], target_rows(whole["targets"]), 1)
    for section in whole["sections"]:
        lines += ["", f"## {section['title']}", ""]
        if section["state"] != "done":
            lines += [f"{section['state']}: {section['why']}", ""]
        body = RENDERERS[section["name"]](section["data"]) if section["data"] else []
        lines += body
        for text in section["wrong"]:
            lines += ["", *quoted(text)]
    out: list[str] = []
    for line in lines:  # never two empty lines
        if line or (out and out[-1]):
            out.append(line)
    return "\n".join(out).rstrip("\n") + "\n"
