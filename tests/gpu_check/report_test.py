"""The report of scripts/gpu-check: verdicts, what was left out, and what is wrong."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any, Iterator
from unittest import mock

from fakes import DESCRIBED, ROOT, FakeClock, FakeMachine

import check
import page
import report
import targets
from budget import Budget, Section
from parts import ANYWHERE, COMMANDS, Part, why_left_out


def contender(key: str, median: float | None, **more: Any) -> dict[str, Any]:
    times = (
        {"failed": "torch is not installed"}
        if median is None
        else {"median": median, "lower": median - 1, "upper": median + 1}
    )
    return {
        "key": key,
        "name": f"name of {key}",
        "how": "somehow",
        "clock": "CUDA events",
        "difference": 1e-7,
        **times,
        **more,
    }


def race(precision: str, ours: float, eager: float | None, graph: float | None) -> dict[str, Any]:
    contenders = [contender("ours", ours, recorded=True, groups=15, versions={"millrace": "1"})]
    contenders += [contender("torch_eager", eager), contender("torch_compile", None), contender("torch_graph", graph)]
    sizes = {"steps": 100, "repeats": 10}
    return {"race": {"network": "mlp", "precision": precision, "sizes": sizes, "rounds": 5, "contenders": contenders}}


def delivery(name: str, ms: float) -> dict[str, Any]:
    times = {"median": ms, "min": ms, "max": ms}
    return {"name": name, "ms_per_step": times, "bound_ms": None, "weights": "0123456789abcdef"}


def data() -> dict[str, dict[str, Any]]:
    """Of every part."""
    suites = {"core_test CudaGemm": {"program": "core_test", "suite": "CudaGemm.*", "state": "done", "passed": 400}}
    suites["core_test CudaGemm"] |= {"failed": [], "skipped": {"CudaGemm.A": "needs two GPUs"}, "pardoned": ["B"]}
    run = {"device": "cuda:0", "steps": 174, "losses": [0.7, 0.3], "weights": "ab" * 32, "ms": 0.2}
    compared = {
        "command": "trainer compare ..",
        "machine": {"threads": 16, "device": "cuda:0"},
        "noise": 0.01,
        "deliveries": [delivery("feed", 1.0), delivery("native", 0.1)],
        "speedup_over_feed": {"feed": 1.0, "native": 10.0},
    }
    rates = {f"{name}_rows_per_s": 1e6 for name in ("decode", "input", "step", "together")}
    kernel = {"kernel": "sm90_gemm", "grid": "(32, 1, 1)", "block": "(128, 1, 1)", "times": 1, "us": 6.0}
    failed = {"unit": "TFLOP/s", "value": None, "failed": "no way to it"}
    ways = [{"us": 5.25, "taken": True, "tile": 20}]
    ways += [{"us": None, "failed": "NOT_SUPPORTED", "taken": False, "tile": 21}]
    engine = {"place": 2, "engine": 34, "workspace": 0, "us": 7.5, "fp32": True, "tf32": True}
    convolution = {"name": "1 to 20 channels, forward", "engines": [engine]}
    memory = {"device_used": [2**20] * 3, "host_used": [2**30] * 3}
    clean = {"core_test CudaGemm": {"state": "clean", "errors": 0, "tests": 60, "excerpt": ""}}
    out: dict[str, dict[str, Any]] = {name: {} for name in report.TITLES}
    return out | {
        "suites": {"suites": suites},
        "trainings": {"runs": [run, run], "difference": 1e-6, "synthetic_ms": {"cuda:0": 0.4}},
        "rates": {"rates": {"fp32": {"unit": "TFLOP/s", "value": 50.0}, "tf32": failed}},
        "race/mlp/fp32": race("fp32", 38.0, 320.0, 40.0),
        "race/mlp/tf32": race("tf32", 25.0, 190.0, 32.0),
        "candidates": {
            "products": [{"name": "product", "precision": "tf32", "candidates": ways}],
            "convolutions": [convolution],
        },
        "kernels/mlp/tf32": {"kernels": [kernel]},
        "dependencies": {
            "runs": [{"training": "LeNet", "way": "one queue", "threads": 16, "weights": "ab" * 32, "ms": 0.2}],
            "no_neighbour": "it is late",
        },
        "trainers": memory,
        "long": {"modes": {"resident": {"steps": 1000000, "seconds": 33.0}}},
        "bad_address": {"message": "gpu_step: illegal address"},
        "text": {"start_seconds": {"text, compiled": 9.0}, "suites": suites},
        "deliveries": {"text": compared, "text_share": {**rates, "share": 0.7, "bound_by_step": False}},
        "sanitizer/memcheck": {"suites": clean},
    }


def sections() -> dict[str, Section]:
    return {name: Section(name, report.TITLES[name], data=one) for name, one in data().items()}


def identity(rehearsed: bool = False, **machine: Any) -> dict[str, Any]:
    same = {"v": 3, "date": "2026-11-23", "commit": "abc123", "build": "0123", "rehearsed": rehearsed}
    return {**same, "machine": {**DESCRIBED, **machine}}


class Folder(unittest.TestCase):
    """With a folder for reports and one of a bundle."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out, self.bundle = Path(folder.name) / "out", Path(folder.name) / "bundle"
        self.bundle.mkdir()

    def report(self, sections: dict[str, Section] | None = None, **machine: Any) -> report.Report:
        made = report.Report(str(self.out), str(self.bundle), identity(**machine), "gpu-check tests")
        made.sections = sections or {}
        return made


class TargetsTest(unittest.TestCase):
    def verdicts(self, parts: dict[str, Section], rehearsed: bool = False) -> dict[str, tuple[str, str]]:
        return {one["name"]: (one["verdict"], one["why"]) for one in targets.judge(parts, rehearsed)}

    def test_says_what_was_met_and_what_was_missed(self) -> None:
        verdicts = self.verdicts(sections())
        self.assertEqual(verdicts["a step in fp32"], ("met", ""))
        self.assertEqual(verdicts["a step in tf32"], ("missed", ""))
        self.assertEqual(verdicts["over PyTorch, eager, fp32"], ("met", ""))
        self.assertEqual(verdicts["over PyTorch, eager, tf32"], ("missed", ""))
        self.assertEqual(verdicts["over PyTorch, CUDA graph by hand, fp32"], ("missed", ""))
        self.assertEqual(verdicts["over PyTorch, CUDA graph by hand, tf32"], ("met", ""))
        self.assertEqual(verdicts["over PyTorch, torch.compile, fp32"], ("not measured", "torch is not installed"))
        self.assertEqual(verdicts["training on text over decoding alone"], ("missed", ""))

    def test_judges_nothing_that_was_not_measured(self) -> None:
        parts = {name: Section(name, title).leave_out("no GPU: no driver") for name, title in report.TITLES.items()}
        self.assertEqual(set(self.verdicts(parts).values()), {("not measured", "no GPU: no driver")})
        self.assertEqual(set(self.verdicts({}).values()), {("not measured", "was not run")})
        self.assertEqual({verdict for verdict, _ in self.verdicts(sections(), True).values()}, {"not measured"})

    def test_a_ratio_of_times_of_two_commands_says_so(self) -> None:
        parts = sections()
        for number, one in enumerate(parts["race/mlp/fp32"].data["race"]["contenders"]):
            one["tries"] = 1 + number % 2
        verdicts = self.verdicts(parts)
        told = "the two were timed by different commands"
        self.assertEqual(verdicts["over PyTorch, eager, fp32"], ("met", told))
        self.assertEqual(verdicts["over PyTorch, eager, tf32"], ("missed", ""))
        text = page.markdown({**identity(), "sections": [], **{"result": "", "wrong": [], "versions": {}, "commands": [],
                              "machines": [], "targets": targets.judge(parts, False)}})  # fmt: skip
        self.assertIn(f"| met: {told} |", text)
        lines = page.race(parts["race/mlp/fp32"].data)
        late = "A later command than the others' timed name of torch_eager, name of torch_graph: the GPU's clocks may"
        self.assertIn(late, "\n".join(lines))
        self.assertNotIn("A later command", "\n".join(page.race(parts["race/mlp/tf32"].data)))

    def test_a_slow_step_says_nothing_about_text(self) -> None:
        parts = sections()
        parts["deliveries"].data["text_share"]["bound_by_step"] = True
        self.assertEqual(self.verdicts(parts)["training on text over decoding alone"][0], "not measured")


class PageTest(Folder):
    def page(self, parts: dict[str, Section], **machine: Any) -> str:
        return page.markdown(self.report(parts, **machine).whole())

    def test_tells_everything_once_it_held(self) -> None:
        text = self.page(sections())
        for words in (
            "**everything held**",
            "- GPU: NVIDIA H100",
            "- cudnn: 91900",
            "- NVIDIA_TF32_OVERRIDE=0",
            "- 2026-11-23T10:00:00, driver 575.57.08: `gpu-check tests`",
            "| a step in tf32 | <= 20 us | 25 | missed |",
            "| core_test | 400 | 0 | 1 | 1 of 1 |",
            "- skipped 1: needs two GPUs",
            "- not judged, as a library of NVIDIA's failed: B",
            "devices: 1.00e-06.",
            "| native | 0.1 | 0.1 to 0.1 | 10 |",
            "70 % of decoding alone",
            "somehow; recorded; 15 groups of steps",
            "- name of torch_compile has no time: torch is not installed",
            "GFLOP take 21.5 us",
            "| `sm90_gemm` | (32, 1, 1) | (128, 1, 1) | 1 | 6 |",
            "product, tf32:\n\n| us | tile |\n| --: | --: |\n| 5.25 | 20 |\n| NOT_SUPPORTED | 21 |",
            "| 7.5 | 34 | 2 | 0 | fp32 and tf32 |",
            "| the same in TF32 | failed: no way to it | TFLOP/s |",
            "There was no busy neighbour: it is late",
            "| LeNet | one queue | 16 | abababababababab | 0.2 |",
            "| device used, MiB | 1 | 1 | 1 |",
            "- resident: 1000000 steps in 33 s",
            "gpu_step: illegal address",
            "- start with text, compiled: 9.0 s",
            "| core_test CudaGemm | clean | 0 | 60 |",
            "millrace 1",
        ):
            self.assertIn(words, text)
        self.assertNotIn("\n\n\n", text)

    def test_names_what_was_left_out_and_why(self) -> None:
        parts = sections()
        for name in ("rates", "deliveries", "text"):
            parts[name] = Section(name, report.TITLES[name]).leave_out("no GPU: no driver")
        text = self.page(parts, gpus=[], no_gpu="no driver")
        self.assertEqual(text.count(" left out: no GPU: no driver |"), 3)
        self.assertEqual(text.count("\nleft out: no GPU: no driver"), 3)
        self.assertIn("- no GPU can be used here: no driver", text)
        rehearsal = page.markdown(self.report(parts, rehearsed=True, gpus=[], no_gpu="no driver").whole())
        self.assertIn("**everything that was run held, without a GPU**", rehearsal)

    def test_what_a_program_said_tears_no_table(self) -> None:
        parts = sections()
        parts["suites"].fail("it said:\n  a | b\n")
        self.assertIn("\n| Tests | failed: it said: a \\| b | 0 | 0 |  |\n", self.page(parts))

    def test_shows_what_is_wrong_and_data_that_are_not_whole(self) -> None:
        parts = sections()
        parts["trainings"].wrong = ["two trainings on cuda:0 ended with different weights\n" + "x" * 5000]
        parts["trainings"].data = {"runs": [{"device": "cpu"}]}
        text = self.page(parts)
        self.assertIn("**FAILED: 1 wrong**", text)
        self.assertEqual(text.count("ended with different weights"), 2)
        self.assertLess(text.count("x" * 500), 4)
        self.assertIn('{"runs": [{"device": "cpu"}]}', text)


class ReportTest(Folder):
    def test_json_has_what_check_py_promises(self) -> None:
        parts = sections()
        parts["race/mlp/fp32"].data["race"]["contenders"][0]["difference"] = float("inf")
        self.report(parts).write()
        self.assertEqual(sorted(os.listdir(self.out)), ["gpu-report.json", "gpu-report.md"])
        with open(self.out / "gpu-report.json") as file:
            found = json.load(file, parse_constant=self.fail)
        keys = "v date commit build rehearsed machine commands machines versions result wrong complete targets sections"
        self.assertEqual(list(found), keys.split())
        for key in [*keys.split(), *found["machine"]]:
            self.assertRegex(check.__doc__, rf"\b{key}\b")
        self.assertEqual([section["name"] for section in found["sections"]], list(report.TITLES))
        for name in report.TITLES:
            self.assertIn(f"`{name.partition('/')[0]}", check.__doc__)

    def test_suggests_a_name_for_the_results(self) -> None:
        self.assertEqual(check.file_name(self.report().whole()), "2026-11-23-gpu-h100")
        self.assertEqual(check.file_name(self.report(gpus=[]).whole()), "2026-11-23-gpu-none")

    def test_the_next_command_goes_on_with_it(self) -> None:
        parts = {
            "suites": Section("suites", "Tests", "tests", wrong=["a"]),
            "rates": Section("rates", "Rates", "steps"),
        }
        parts["rates"].cut("it was under way")
        self.report(parts).write()
        after = self.report(python="3.12")
        self.assertEqual(after.resume(""), [f"goes on with {self.out}/gpu-report.json"])
        self.assertTrue(after.is_done("suites"))
        self.assertFalse(after.is_done("rates"))
        self.assertEqual(after.whole()["wrong"], ["a"])
        self.assertEqual(after.whole()["commands"], ["gpu-check tests"] * 2)
        self.assertEqual([one["python"] for one in after.whole()["machines"]], ["3.11.2", "3.12"])

    def test_a_machine_with_another_driver_goes_on_with_it(self) -> None:
        self.report({"suites": Section("suites", "Tests", "tests")}).write()
        after = self.resumed(driver_version="580.12")
        self.assertTrue(after.is_done("suites"))
        self.assertIn(", driver 580.12: `", page.markdown(after.whole()))

    def test_a_copy_stays_with_the_bundle(self) -> None:
        self.report({"suites": Section("suites", "Tests", "tests")}).write()
        shutil.rmtree(self.out)
        after = self.report()
        after.resume("")
        self.assertTrue(after.is_done("suites"))

    def test_goes_on_with_no_other_build_or_gpu(self) -> None:
        self.report({"suites": Section("suites", "Tests", "tests")}).write()
        other = self.report(gpus=["another"])
        told = other.resume("")
        self.assertIn("gpu-report.json, which is of another build, GPU or rehearsal; it is now ", told[0])
        self.assertFalse(other.is_done("suites"))
        self.assertEqual(sorted(os.listdir(self.out)), ["gpu-report-before-1.json", "gpu-report-before-1.md"])
        self.assertEqual(os.listdir(self.bundle), ["gpu-report-before-1.json"])

    def test_what_skipped_without_a_gpu_is_run_again_with_one(self) -> None:
        self.report({"suites": Section("suites", "Tests", "tests")}, no_gpu="no driver").write()
        self.assertFalse(self.resumed().is_done("suites"))
        self.report({"suites": Section("suites", "Tests", "tests")}).write()
        without = self.resumed(no_gpu="it fell off the bus", gpus=[])
        self.assertTrue(without.is_done("suites"))
        without.write()
        self.assertTrue(self.resumed().is_done("suites"))
        self.assertFalse(self.resumed(gpus=["another"]).is_done("suites"))

    def resumed(self, given: Any = "", **machine: Any) -> report.Report:
        after = self.report(**machine)
        self.told = after.resume(str(given))
        return after

    def write(self, part: str, began: str, given: Any = "") -> Path:
        """As a command that did one part: its report, and another copy of it."""
        made = self.resumed(given, began=began)
        made.sections[part] = Section(part, part)
        made.write()
        return Path(shutil.copy(self.out / "gpu-report.json", self.out.parent / f"{began}.json"))

    def files(self) -> dict[str, str]:
        paths = [*self.out.glob("*"), *self.bundle.glob("*")]
        return {str(path.relative_to(self.out.parent)): path.read_text() for path in paths}

    def test_an_older_report_that_is_given_takes_nothing_back(self) -> None:
        first = self.write("suites", "first")
        self.write("rates", "second", first)
        after = self.resumed(first, began="third")
        self.assertEqual(list(after.sections), ["suites", "rates"])
        shutil.rmtree(self.out)
        after = self.resumed(first, began="third")
        self.assertEqual((list(after.sections), len(after.commands)), (["suites", "rates"], 3))
        self.assertEqual(self.told, [f"goes on with {self.bundle}/gpu-report.json"])

    def test_a_newer_copy_comes_before_the_report(self) -> None:
        first = self.write("suites", "first")
        self.write("rates", "second")
        shutil.copy(first, self.out / "gpu-report.json")
        self.assertEqual(list(self.resumed().sections), ["suites", "rates"])
        self.assertEqual(len(self.files()), 3)

    def test_a_given_report_that_does_not_fit_ends_the_command_and_changes_nothing(self) -> None:
        self.write("suites", "first")
        (self.out.parent / "cut.json").write_text('{"v": 3, "sections"')
        (self.out.parent / "list.json").write_text("[]")
        other = self.out.parent / "other.json"
        other.write_text((self.out / "gpu-report.json").read_text().replace("H100", "L4"))
        before = self.files()
        for name, why in (
            ("cut.json", "cannot be read: JSONDecodeError"),
            ("list.json", "cannot be read: TypeError"),
            ("mistyped.json", "cannot be read: FileNotFoundError"),
            ("other.json", "is of another build, GPU or rehearsal"),
        ):
            with self.assertRaisesRegex(SystemExit, f"gpu-check: --resume .*/{name}: it {why}"):
                self.resumed(self.out.parent / name)
        self.assertEqual(self.files(), before)

    def test_a_report_that_the_given_one_does_not_know_is_kept(self) -> None:
        given = self.write("suites", "first")
        shutil.rmtree(self.out)
        (self.bundle / "gpu-report.json").unlink()
        self.write("rates", "second")
        before = self.files()
        after = self.resumed(given, began="third")
        self.assertEqual(list(after.sections), ["suites"])
        self.assertIn(f"gpu-report.json, which is no part of {given}; it is now", self.told[1])
        after.write()
        for name, text in before.items():
            self.assertEqual(self.files()[name.replace("report.", "report-before-1.")], text)

    def test_a_report_that_does_not_fit_hides_no_copy_and_is_kept(self) -> None:
        self.write("suites", "first")
        for text in ('{"v": 3, "sections"', "{}"):
            (self.out / "gpu-report.json").write_text(text)
            after = self.resumed(began="second")
            self.assertTrue(after.is_done("suites"))
            self.assertEqual(self.told[0], f"goes on with {self.bundle}/gpu-report.json")
            after.write()
        self.assertEqual((self.out / "gpu-report-before-1.json").read_text(), '{"v": 3, "sections"')
        self.assertEqual((self.out / "gpu-report-before-2.json").read_text(), "{}")

    def test_a_part_that_was_cut_short_keeps_its_data_if_it_can_go_on(self) -> None:
        for name, kept in (("suites", {"suites": 1}), ("rates", {})):
            section = Section(name, name, data={"suites": 1}, wrong=["a"])
            section.cut("late")
            part = next(part for parts in COMMANDS.values() for part in parts if part.name == name)
            self.assertEqual(self.report({name: section}).begin(part).data, kept)

    def test_a_part_under_way_is_not_done(self) -> None:
        made = self.report()
        made.begin(COMMANDS["tests"][0])
        self.assertIn("under way", made.whole()["sections"][0]["why"])
        made.end()
        self.assertEqual(made.whole()["sections"][0]["state"], "done")


class CommandTest(Folder):
    def run_parts(
        self, parts: list[Part], made: report.Report | None = None, no_gpu: str = "", **options: Any
    ) -> report.Report:
        made = made or self.report()
        names = {part.name: part.share for part in parts}
        chosen = argparse.Namespace(**{"only": [], "all": False, **options})
        with mock.patch.object(report, "TITLES", names), mock.patch.object(report, "COMMANDS", {"tests": parts}):
            machine = FakeMachine(str(self.bundle), no_gpu)
            check.run_command(machine, parts, made, Budget(60, names, FakeClock()), chosen)
        return made

    def test_one_that_throws_is_wrong_and_stops_no_other(self) -> None:
        def throws(*_: Any) -> None:
            raise KeyError("noise")

        def is_late(*_: Any) -> None:
            raise TimeoutError("it did not end")

        def sees(_: Any, section: Section, deadline: Any) -> list[None]:
            section.data["left"] = deadline.left()
            return []

        found = self.run_parts(
            [Part("a", "A", 1, throws), Part("b", "B", 1, is_late), Part("c", "C", 1, sees)]
        ).sections
        self.assertEqual((found["a"].state, found["a"].told_wrong()), ("failed", ["a: KeyError: 'noise'"]))
        self.assertEqual((found["b"].state, found["b"].why, found["b"].wrong), ("cut short", "it did not end", []))
        self.assertEqual(found["c"].data, {"left": 60})

    def test_one_that_threw_is_run_again_and_then_it_is_not_wrong(self) -> None:
        part = Part("a", "A", 1, lambda _, section, __: section.data["of the first run"], goes_on=True)
        made = self.run_parts([part])
        self.assertEqual(made.sections["a"].told_wrong(), ["a: KeyError: 'of the first run'"])
        self.assertFalse(made.is_done("a"))
        made.sections["a"].data["of the first run"] = []
        made = self.run_parts([part], made)
        self.assertEqual((made.sections["a"].told_wrong(), made.is_done("a")), ([], True))

    def test_what_is_wrong_is_told_at_once(self) -> None:
        told: list[str] = []

        def finds(_: Any, section: Section, __: Any) -> Iterator[None]:
            section.wrong += ["one " + "x" * 1000, "two", "three", "four"]
            yield
            told.append(out.getvalue())
            section.wrong.append("five")
            yield

        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.run_parts([Part("a", "A", 1, finds)])
        self.assertEqual(told[0].count("WRONG"), 3)
        self.assertLess(max(map(len, told[0].splitlines())), 640)
        self.assertEqual(out.getvalue().count("WRONG: five"), 1)
        self.assertEqual(out.getvalue().count("WRONG"), 4)

    def test_what_is_done_is_kept_unless_it_is_asked_for(self) -> None:
        ran: list[str] = []

        def counts(_: Any, section: Section, __: Any) -> list[None]:
            ran.append(section.name)
            return []

        parts = [Part("a", "A", 1, counts), Part("b", "B", 1, counts)]
        made = self.report({"a": Section("a", "A")})
        self.run_parts(parts, made)
        self.assertEqual(ran, ["b"])
        self.run_parts(parts, made, only=["a"])
        self.assertEqual(ran, ["b", "a"])
        self.assertEqual(made.sections["b"].state, "done")

    def test_without_a_gpu_nothing_is_added_to_results_of_one(self) -> None:
        parts = [Part("a", "A", 1, lambda *_: [], ANYWHERE), Part("b", "B", 1, lambda *_: [], ANYWHERE)]
        made = self.report({"a": Section("a", "A")})
        made.machines.append({**DESCRIBED, "no_gpu": "no driver"})
        self.run_parts(parts, made, "no driver")
        self.assertEqual((made.sections["a"].state, made.sections["b"].state), ("done", "left out"))
        self.assertEqual(made.sections["b"].why, "no GPU any more: no driver")
        made.machines = made.machines[1:]
        self.assertEqual(self.run_parts(parts, made, "no driver").sections["b"].state, "done")

    def test_it_is_written_while_a_part_goes_on(self) -> None:
        def looks(_: Any, section: Section, __: Any) -> Iterator[None]:
            section.data["first"] = 1
            yield
            with open(self.out / "gpu-report.json") as file:
                section.data["seen"] = json.load(file)["sections"][0]

        seen = self.run_parts([Part("a", "A", 1, looks)]).sections["a"].data["seen"]
        self.assertEqual((seen["data"], seen["state"]), ({"first": 1}, "cut short"))

    def test_what_needs_a_gpu_is_left_out_without_one(self) -> None:
        machine = FakeMachine("/nowhere", no_gpu="no driver")
        parts = [part for command in COMMANDS.values() for part in command if not part.extra]
        why = {part.name: why_left_out(part, machine, [], False) for part in parts}
        self.assertEqual([name for name in why if not why[name]], ["suites", "trainings"])
        self.assertEqual(why["rates"], "no GPU: no driver")
        machine.small = True
        rehearsed = [part.name for part in parts if not why_left_out(part, machine, [], False)]
        self.assertIn("race/lenet/fp32", rehearsed)
        self.assertNotIn("sanitizer/memcheck", rehearsed)
        self.assertEqual(why_left_out(parts[0], machine, ["rates"], False), "not asked for")


class SourcesTest(unittest.TestCase):
    def test_files_are_short(self) -> None:
        for path in [*(ROOT / "bench/gpu").glob("*.py"), ROOT / "scripts/gpu-check"]:
            self.assertLessEqual(len(path.read_text().splitlines()), 400, path)

    def test_files_are_python(self) -> None:
        for path in (ROOT / "bench/gpu").glob("*.py"):  # those of the peers are imported nowhere here
            compile(path.read_text(), str(path), "exec")


if __name__ == "__main__":
    unittest.main()
