"""What the project wants of a step on a GPU and of input beside it, and whether a run met it. The times are those
wanted of an NVIDIA H200; a miss is told, and fails nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict

from budget import Section
from steps import CONTENDERS

MET, MISSED, UNKNOWN = "met", "missed", "not measured"
STEP_US = {"tf32": 20.0, "fp32": 40.0}
RATIOS = {"torch_eager": 8.0, "torch_compile": 3.0, "torch_graph": 1.2}  # times as fast
TEXT_SHARE = 0.8  # of decoding alone
NETWORK = "mlp"


@dataclass
class Target:
    name: str
    wanted: str
    limit: float
    value: float | None = None
    verdict: str = UNKNOWN
    why: str = ""

    def judge(self, value: float | None, met: bool) -> Target:
        self.value = value
        self.verdict = MET if met else MISSED
        return self


Sections = Dict[str, Section]


def section_of(sections: Sections, name: str) -> Section:
    """An empty one where the part was not begun."""
    return sections.get(name) or Section(name, name)


def median_of(steps: Section, contenders: dict[str, dict[str, Any]], key: str) -> tuple[float | None, str]:
    """Microseconds of a step, or why there are none."""
    one = contenders.get(key)
    if one is None:
        return None, steps.why or "was not run"
    return one.get("median"), one.get("failed", "has no time")


def step_targets(sections: Sections, precision: str) -> list[Target]:
    steps = section_of(sections, f"race/{NETWORK}/{precision}")
    contenders = {one["key"]: one for one in steps.data.get("race", {}).get("contenders", [])}
    limit = STEP_US[precision]
    ours, why = median_of(steps, contenders, "ours")
    whole = Target(f"a step in {precision}", f"<= {limit:g} us", limit, why=why if ours is None else "")
    targets = [whole.judge(ours, ours <= limit) if ours is not None else whole]
    for key, times in RATIOS.items():
        name = next(one.name for one in CONTENDERS if one.key == key)
        target = Target(f"over {name}, {precision}", f">= {times:g}x", times)
        theirs, their_why = median_of(steps, contenders, key)
        if ours is None or theirs is None:
            target.why = their_why if ours is not None or why == their_why else f"ours: {why}"
        else:
            target.judge(theirs / ours, theirs / ours >= times)
            if contenders["ours"].get("tries") != contenders[key].get("tries"):
                target.why = "the two were timed by different commands"
        targets.append(target)
    return targets


def text_target(deliveries: Section) -> Target:
    target = Target("training on text over decoding alone", f">= {TEXT_SHARE:g}", TEXT_SHARE)
    share = deliveries.data.get("text_share")
    if share is None:
        target.why = deliveries.why or "was not run"
    elif share["bound_by_step"]:
        target.value = share["share"]
        target.why = "the step alone is slower than decoding alone"
    else:
        target.judge(share["share"], share["share"] >= TEXT_SHARE)
    return target


def judge(sections: Sections, rehearsed: bool) -> list[dict[str, Any]]:
    text = text_target(section_of(sections, "deliveries"))
    targets = [*step_targets(sections, "tf32"), *step_targets(sections, "fp32"), text]
    for target in targets if rehearsed else []:
        target.value, target.verdict, target.why = None, UNKNOWN, "a rehearsal"
    return [asdict(target) for target in targets]
