"""The results as a page of Markdown and a plot."""

from html import escape
from pathlib import Path
from typing import Any

from contenders import OURS, WORKS

Result = dict[str, Any]

WIDTH = 900
NAMES = 315  # where the bars begin
BARS = 440  # the longest
ROW = 24
BAR = 15
HEAD = 46
# Readable on white and on black.
TEXT = "#79828c"
OUR_BAR = "#e8590c"
BAR_COLOUR = "#8d9aa8"


def measured(part: Result) -> list[Result]:
    """Those who took part, best first."""
    able = [one for one in part["contenders"] if "failed" not in one]
    return sorted(able, key=lambda one: one["median"], reverse=not part["lower"])


def ratio(part: Result, one: Result) -> float:
    """How many times as fast ours is."""
    ours = part["contenders"][0]["median"]
    return one["median"] / ours if part["lower"] else ours / one["median"]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")


def cell(one: Result) -> str:
    name = f"**{one['name']}**" if one["peer"] == OURS else one["name"]
    return f"{name}: {one['how']}" if one["how"] else name


def table(part: Result) -> list[str]:
    shown = measured(part)
    bits = any(one.get("unequal") is not None for one in shown)
    memory = any("mib" in one for one in shown)
    heads = ["", part["unit"], "min", "max", "ours is"] + bits * ["other bits"] + memory * ["peak MiB"]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    for one in shown:
        faster = "" if one["peer"] == OURS else f"{ratio(part, one):.2f}x"
        cells = [cell(one), number(one["median"]), number(one["min"]), number(one["max"]), faster]
        cells += bits * [str(one.get("unequal"))] + [number(one["mib"]) for _ in range(memory)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def write_markdown(whole: Result, path: Path) -> None:
    machine = whole["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(whole["versions"].items()))
    lines = [
        f"# {OURS} beside other tools: {machine['cores']} cores of {machine['processor']}",
        "",
        f"{machine['memory_gib']} GiB, {machine['system']}. {versions}.",
        "",
        f"![]({path.with_suffix('.svg').name})",
        "",
        "Medians over the rounds of interleaved windows, best first. *ours is*: how many times as fast the first of ours",
        "is; below 1 the other is faster. [docs/performance.md](../../docs/performance.md#beside-other-tools) says how",
        "it is measured.",
    ]
    for name, work in WORKS.items():
        if name not in whole["works"]:
            continue
        part = whole["works"][name]
        lines += [
            "",
            f"## {work.title}",
            "",
            f"`{part['command']}`, {part['commit']}, load {part['load']:.1f}. {work.note}",
        ]
        threads = f"{part['threads']} thread{'s' * (part['threads'] > 1)}"
        lines += [
            f"{threads}, {part['rounds']} round{'s' * (part['rounds'] > 1)}; noise of ours against ours {100 * part['noise']:.1f} %.",
            "",
        ]
        lines += table(part)
        failed = [one for one in part["contenders"] if "failed" in one]
        lines += [""] * bool(failed) + [f"- {one['name']} is left out: {one['failed']}" for one in failed]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def panel(title: str, part: Result, top: float) -> tuple[list[str], float]:
    """A work's bars, and where they end."""
    better = "less is better" if part["lower"] else "more is better"
    out = [text(0, top + 20, title, 'font-weight="600" font-size="15"')]
    out.append(text(NAMES, top + 20, f"{part['unit']}, {better}"))
    shown = measured(part)
    most = max(one["median"] for one in shown)
    y = top + HEAD - 12
    for one in shown:
        ours = one["peer"] == OURS
        length = max(2, BARS * one["median"] / most)
        weight = f'font-weight="600" fill="{OUR_BAR}"' if ours else ""
        words = number(one["median"]) + (f", {number(one['mib'])} MiB" if "mib" in one else "")
        out.append(text(NAMES - 10, y + BAR - 3, one["name"], f'text-anchor="end" {weight}'))
        colour = OUR_BAR if ours else BAR_COLOUR
        out.append(f'<rect x="{NAMES}" y="{y:.1f}" width="{length:.1f}" height="{BAR}" rx="2" fill="{colour}"/>')
        out.append(text(NAMES + length + 8, y + BAR - 3, words, weight))
        y += ROW
    return out, y


def write_svg(whole: Result, path: Path) -> None:
    parts = [(WORKS[name].title, whole["works"][name]) for name in WORKS if name in whole["works"]]
    out: list[str] = []
    y = 0.0
    for title, part in parts:
        if not measured(part):
            continue
        shapes, y = panel(title, part, y)
        out += shapes
        y += 14
    machine = whole["machine"]
    out.append(
        text(0, y + 10, f"{machine['cores']} cores of {machine['processor']}, medians; {path.with_suffix('.md').name}")
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 22:.0f}" width="{WIDTH}" '
    head += (
        f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13" fill="{TEXT}">'
    )
    path.with_suffix(".svg").write_text("\n".join([head, *out, "</svg>"]) + "\n")
