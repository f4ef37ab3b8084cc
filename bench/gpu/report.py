"""The report: what came of each part, kept in a file that the next command goes on with."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, fields
from typing import Any

import page
import targets
from budget import CUT_SHORT, DONE, FAILED, Section
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


class Report:
    """`folder` is where it is written, `bundle` where its copy is; `identity` is what no part finds out."""

    def __init__(self, folder: str, bundle: str, identity: dict[str, Any], command: str) -> None:
        self.path = os.path.join(os.path.abspath(folder), NAME)
        self.copy = os.path.join(bundle, NAME)
        self.identity = identity
        self.commands = [command]
        self.machines = [identity["machine"]]  # one a command
        self.sections: dict[str, Section] = {}
        self.under_way = ""
        self.stopped = False

    def resume(self, given: str) -> list[str]:
        """Takes over what an earlier command left; what there is to say of it."""
        path = given or next((one for one in (f"{self.path}.json", f"{self.copy}.json") if os.path.exists(one)), "")
        if not path:
            return []
        try:
            with open(path) as file:
                found = json.load(file)
            same = self.same_gpu(found["machine"]) and all(found[key] == self.identity[key] for key in SAME)
        except (OSError, ValueError, KeyError, TypeError) as error:
            return [f"{path} cannot be gone on with: {error}"]
        if not same:
            if os.path.exists(f"{self.path}.json"):
                os.replace(f"{self.path}.json", f"{self.path}-before.json")
            return [f"{path} is of another build, GPU or rehearsal: it is not gone on with"]
        known = {one.name for one in fields(Section)}
        for section in found["sections"]:
            if section["name"] in TITLES:
                kept = {key: value for key, value in section.items() if key in known}
                self.sections[section["name"]] = Section(**kept)
        self.commands = [*found["commands"], *self.commands]
        self.machines = [*found.get("machines", []), *self.machines]
        return [f"goes on with {path}"]

    def same_gpu(self, before: dict[str, Any]) -> bool:
        """Or none any more: what was found while there was one is kept."""
        now = self.identity["machine"]
        if now["no_gpu"]:
            return True
        return not before["no_gpu"] and before["gpus"] == now["gpus"]

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
        write_file(f"{self.path}.json", text)
        write_file(f"{self.path}.md", page.markdown(whole))
        if self.copy != self.path and os.access(os.path.dirname(self.copy), os.W_OK):
            write_file(f"{self.copy}.json", text)


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
