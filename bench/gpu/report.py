"""The report: what came of each part, kept in a file that the next command goes on with."""

from __future__ import annotations

import itertools
import json
import math
import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import page
import targets
from budget import CUT_SHORT, DONE, FAILED, Section
from machine import fail
from parts import COMMANDS, Part

NAME = "gpu-report"
TITLES = {part.name: part.title for parts in COMMANDS.values() for part in parts}
SAME = ("v", "build", "rehearsed")  # what a report has in common with the one before


def finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_file(path: str, text: str) -> None:
    """All of it or nothing."""
    with open(path + ".new", "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(path + ".new", path)


def set_aside(path: str) -> str:
    """Renames a report and its page, if it has one, so that neither is overwritten; the report's new name."""
    old = path[: -len(".json")]
    names = (f"{old}-before-{i}" for i in itertools.count(1))
    new = next(name for name in names if not os.path.exists(f"{name}.json"))
    for ending in (".md", ".json"):
        if os.path.exists(old + ending):
            os.replace(old + ending, new + ending)
    return f"{new}.json"


@dataclass
class Earlier:
    """A report that an earlier command wrote."""

    path: str
    unfit: str = ""  # why it is not gone on with
    commands: list[str] = field(default_factory=list)
    machines: list[dict[str, Any]] = field(default_factory=list)
    sections: dict[str, Section] = field(default_factory=dict)

    def continues(self, other: Earlier) -> bool:
        """Whether all commands that wrote the other report are among those that wrote this one."""
        return not (self.unfit or other.unfit) and self.machines[: len(other.machines)] == other.machines


class Report:
    """`folder` is where it is written, `bundle` where its copy is; `identity` is what no part finds out."""

    def __init__(self, folder: str, bundle: str, identity: dict[str, Any], command: str) -> None:
        self.path = os.path.join(os.path.abspath(folder), NAME)
        copy = os.path.join(bundle, NAME)
        self.files = [f"{self.path}.json"]
        if copy != self.path and os.access(bundle, os.W_OK):
            self.files.append(f"{copy}.json")
        self.identity = identity
        self.commands = [command]
        self.machines = [identity["machine"]]  # one a command
        self.sections: dict[str, Section] = {}
        self.under_way = ""
        self.stopped = False

    def resume(self, given: str) -> list[str]:
        """Takes over what earlier commands left; what there is to say of it. Of the report in the folder, its copy and
        `given` it takes the one that most commands wrote, but none that does not continue `given`. A report that would
        be overwritten and lost is renamed. If `given` does not fit, the program ends and no file is changed."""
        there = [self.read(path) for path in self.files if os.path.exists(path)]
        fit = [one for one in there if not one.unfit]
        if given:
            first = self.read(given)
            if first.unfit:
                fail(f"--resume {given}: it {first.unfit}")
            fit = [*(one for one in fit if one.continues(first)), first]
        taken = max(fit, key=lambda one: len(one.machines), default=Earlier(""))
        self.commands = [*taken.commands, *self.commands]
        self.machines = [*taken.machines, *self.machines]
        self.sections = taken.sections
        told = [f"goes on with {taken.path}"] if fit else []
        for one in there:
            if not taken.continues(one):
                why = one.unfit or f"is no part of {taken.path}"
                told.append(f"does not go on with {one.path}, which {why}; it is now {set_aside(one.path)}")
        return told

    def read(self, path: str) -> Earlier:
        known = {one.name for one in fields(Section)}
        try:
            with open(path) as file:
                found = json.load(file)
            if not self.same_gpu(found["machines"]) or any(found[key] != self.identity[key] for key in SAME):
                return Earlier(path, "is of another build, GPU or rehearsal")
            sections = [
                Section(**{key: value for key, value in section.items() if key in known})
                for section in found["sections"]
                if section["name"] in TITLES
            ]
            return Earlier(path, "", found["commands"], found["machines"], {one.name: one for one in sections})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return Earlier(path, f"cannot be read: {error!r}")

    def same_gpu(self, machines: list[dict[str, Any]]) -> bool:
        """Whether this machine's GPU is the one of the last machine that had one. Without a GPU all are the same: what
        was found while there was one is kept."""
        now = self.identity["machine"]
        had = [one["gpus"] for one in machines if not one["no_gpu"]]
        return bool(now["no_gpu"]) or had[-1:] == [now["gpus"]]

    def had_gpu(self) -> bool:
        """Whether a command had a GPU. Results without one do not belong into the same report."""
        return any(not machine["no_gpu"] for machine in self.machines)

    def is_done(self, name: str) -> bool:
        return name in self.sections and self.sections[name].state == DONE

    def begin(self, part: Part) -> Section:
        """The part's section: empty, unless it goes on with one that did not come to its end."""
        before = self.sections.get(part.name)
        section = Section(part.name, part.title, next(name for name, parts in COMMANDS.items() if part in parts))
        if part.goes_on and before is not None and before.state != DONE:
            section.data, section.seconds, section.wrong = before.data, before.seconds, before.wrong
        self.sections[part.name] = section
        self.under_way = part.name
        return section

    def end(self) -> None:
        self.under_way = ""

    def leave_out(self, part: Part, why: str) -> None:
        """What an earlier command found is not lost."""
        before = self.sections.get(part.name)
        if before is None or before.state not in (DONE, CUT_SHORT, FAILED):
            self.begin(part).leave_out(why)
            self.end()

    def whole(self) -> dict[str, Any]:
        """As the JSON has it."""
        told = {name: self.sections[name] for name in TITLES if name in self.sections}
        no_gpu = self.identity["machine"]["no_gpu"]
        wrong = [f"no GPU can be used here: {no_gpu}"] if no_gpu and not self.identity["rehearsed"] else []
        wrong += [text for section in told.values() for text in section.told_wrong()]
        needed = [part.name for parts in COMMANDS.values() for part in parts if not part.extra]
        complete = all(self.is_done(name) for name in needed)
        sections = [asdict(section) for section in told.values()]
        for section in sections:
            if section["name"] == self.under_way:
                section["state"], section["why"] = CUT_SHORT, "it was under way when this was written"
        return finite(
            {
                **self.identity,
                "commands": self.commands,
                "machines": self.machines,
                "versions": versions_of(told),
                "result": sentence(wrong, complete, no_gpu),
                "wrong": wrong,
                "complete": complete,
                "targets": targets.judge(told, self.identity["rehearsed"]),
                "sections": sections,
            }
        )

    def write(self) -> None:
        whole = self.whole()
        text = json.dumps(whole, indent=1, allow_nan=False) + "\n"
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        for path in self.files:
            write_file(path, text)
        write_file(f"{self.path}.md", page.markdown(whole))


def sentence(wrong: list[str], complete: bool, no_gpu: str) -> str:
    if wrong:
        return f"FAILED: {len(wrong)} wrong"
    held = "everything that was run held" if not complete else "everything held"
    return held + (", without a GPU" if no_gpu else "")


def versions_of(sections: dict[str, Section]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for section in sections.values():
        for one in section.data.get("race", {}).get("contenders", []):
            versions = {**versions, **one.get("versions", {})}
    return versions
