"""The report of scripts/gpu-check: verdicts, what was left out, and what is wrong."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from typing import Any

from fakes import DESCRIBED, ROOT, FakeClock

import check
import report
import targets
from budget import Budget, Section


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
    contenders = [contender("ours", ours, recorded=True, versions={"millrace": "1"})]
    contenders += [contender("torch_eager", eager), contender("torch_compile", None), contender("torch_graph", graph)]
    sizes = {"steps": 100, "repeats": 10}
    return {"network": "mlp", "precision": precision, "sizes": sizes, "rounds": 5, "contenders": contenders}


def delivery(name: str, ms: float) -> dict[str, Any]:
    times = {"median": ms, "min": ms, "max": ms}
    return {"name": name, "ms_per_step": times, "bound_ms": None, "weights": "0123456789abcdef"}


def sections() -> dict[str, Section]:
    out = {name: Section(name, title) for name, title in check.TITLES.items()}
    out["tests"].data = {
        "programs": [{"program": "core_test", "passed": 400, "failed": 0, "skipped": 2, "unfinished": 0}],
        "skipped": {"needs two GPUs": 2},
        "failures": [],
    }
    run = {"device": "cuda:0", "steps": 174, "losses": [0.7, 0.3], "weights": "ab" * 32, "ms": 0.2}
    out["training"].data = {"runs": [run, run], "difference": 1e-6, "synthetic_ms": {"cuda:0": 0.4}}
    compared = {
        "command": "trainer compare ..",
        "machine": {"threads": 16, "device": "cuda:0"},
        "noise": 0.01,
        "deliveries": [delivery("feed", 1.0), delivery("native", 0.1)],
        "speedup_over_feed": {"feed": 1.0, "native": 10.0},
    }
    rates = {f"{name}_rows_per_s": 1e6 for name in ("decode", "input", "step", "together")}
    out["deliveries"].data = {"text": compared, "text_share": {**rates, "share": 0.7, "bound_by_step": False}}
    out["steps"].data = {
        "rates": {"fp32": {"unit": "TFLOP/s", "value": 50.0}, "tf32": {"unit": "TFLOP/s", "value": None}},
        "races": [race("fp32", 38.0, 320.0, 40.0), race("tf32", 25.0, 190.0, 32.0)],
    }
    tool = {"state": "clean", "errors": 0, "tests": 60, "parts": 8, "finished": 8, "excerpt": ""}
    out["sanitizers"].data = {"tools": {"memcheck": tool}, "filter": "Cuda*", "programs": ["core_test"]}
    return out


def whole(parts: dict[str, Section], rehearsed: bool = False, **machine: Any) -> dict[str, Any]:
    budget = Budget(540, check.SHARES, FakeClock())
    return check.gather({**DESCRIBED, **machine}, "abc123", parts, budget, rehearsed)


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
        parts = {name: Section(name, title).leave_out("no GPU: no driver") for name, title in check.TITLES.items()}
        self.assertEqual(set(self.verdicts(parts).values()), {("not measured", "no GPU: no driver")})
        self.assertEqual({verdict for verdict, _ in self.verdicts(sections(), True).values()}, {"not measured"})

    def test_a_slow_step_says_nothing_about_text(self) -> None:
        parts = sections()
        parts["deliveries"].data["text_share"]["bound_by_step"] = True
        self.assertEqual(self.verdicts(parts)["training on text over decoding alone"][0], "not measured")


class ReportTest(unittest.TestCase):
    def test_tells_everything_once_it_held(self) -> None:
        page = report.markdown(whole(sections()))
        for words in (
            "**everything held**",
            "- GPU: NVIDIA H100",
            "| a step in tf32 | <= 20 us | 25 | missed |",
            "| core_test | 400 | 0 | 2 | 0 |",
            "- skipped 2: needs two GPUs",
            "devices: 1.00e-06.",
            "| native | 0.1 | 0.1 to 0.1 | 10 |",
            "70 % of decoding alone",
            "somehow; recorded",
            "- name of torch_compile has no time: torch is not installed",
            "GFLOP take 21.5 us",
            "| memcheck | clean | 0 | 60 | 8 of 8 |",
            "millrace 1",
        ):
            self.assertIn(words, page)
        self.assertNotIn("\n\n\n", page)

    def test_names_what_was_left_out_and_why(self) -> None:
        parts = sections()
        for name in check.OF_A_GPU:
            parts[name] = Section(name, check.TITLES[name]).leave_out("no GPU: no driver")
        page = report.markdown(whole(parts, gpus=[], no_gpu="no driver"))
        self.assertEqual(page.count(" left out: no GPU: no driver |"), 3)
        self.assertEqual(page.count("\nleft out: no GPU: no driver"), 3)
        self.assertIn("**everything that was run held, without a GPU**", page)

    def test_shows_what_is_wrong(self) -> None:
        parts = sections()
        parts["training"].wrong = ["two trainings on cuda:0 ended with different weights"]
        parts["training"].data = {}
        page = report.markdown(whole(parts))
        self.assertIn("**FAILED: 1 wrong**", page)
        self.assertEqual(page.count("ended with different weights"), 2)

    def test_json_has_what_check_py_promises(self) -> None:
        parts = sections()
        parts["steps"].data["races"][0]["contenders"][0]["difference"] = float("inf")
        with tempfile.TemporaryDirectory() as folder:
            check.write(whole(parts), f"{folder}/gpu-report.md")
            self.assertEqual(sorted(os.listdir(folder)), ["gpu-report.json", "gpu-report.md"])
            with open(f"{folder}/gpu-report.json") as file:
                found = json.load(file, parse_constant=self.fail)
        keys = "v date commit command rehearsed machine versions budget result wrong complete targets sections"
        self.assertEqual(list(found), keys.split())
        for key in keys.split():
            self.assertRegex(check.__doc__, rf"\b{key}\b")
        self.assertEqual([section["name"] for section in found["sections"]], list(check.SHARES))

    def test_suggests_a_name_for_the_results(self) -> None:
        self.assertRegex(check.file_name(whole(sections())), r"^\d{4}-\d\d-\d\d-gpu-h100$")
        self.assertRegex(check.file_name(whole(sections(), gpus=[])), r"-gpu-none$")


class SectionsTest(unittest.TestCase):
    def run_sections(self, runs: dict[str, Any], left_out: dict[str, str]) -> dict[str, Section]:
        return check.run_sections(runs, left_out, Budget(60, dict.fromkeys(runs, 1.0), FakeClock()))

    def test_one_that_throws_is_wrong_and_stops_no_other(self) -> None:
        def throws(*_: Any) -> None:
            raise KeyError("noise")

        def sees(section: Section, work: str, deadline: Any) -> None:
            section.data["left"] = deadline.left()
            section.data["work"] = os.path.isdir(work)

        found = self.run_sections({"deliveries": throws, "steps": sees}, {"deliveries": "", "steps": ""})
        self.assertEqual(found["deliveries"].wrong, ["deliveries failed: KeyError: 'noise'"])
        self.assertEqual(found["steps"].data, {"left": 60, "work": True})

    def test_what_needs_a_gpu_is_left_out_without_one(self) -> None:
        why = {name: check.why_left_out(name, "no driver", False, []) for name in check.SHARES}
        self.assertEqual([name for name in why if not why[name]], ["tests", "training"])
        self.assertEqual(why["steps"], "no GPU: no driver")
        rehearsed = [name for name in check.SHARES if not check.why_left_out(name, "no driver", True, [])]
        self.assertEqual(rehearsed, ["training", "deliveries", "steps"])
        self.assertEqual(check.why_left_out("tests", "", False, ["steps"]), "not asked for")


class SourcesTest(unittest.TestCase):
    def test_files_are_short(self) -> None:
        for path in [*(ROOT / "bench/gpu").glob("*.py"), ROOT / "scripts/gpu-check"]:
            self.assertLessEqual(len(path.read_text().splitlines()), 400, path)

    def test_files_are_python(self) -> None:
        for path in (ROOT / "bench/gpu").glob("*.py"):  # those of the peers are imported nowhere here
            compile(path.read_text(), str(path), "exec")


if __name__ == "__main__":
    unittest.main()
