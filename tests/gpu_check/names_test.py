"""scripts/gpu-check runs the suites whose names begin with Cuda: every test that touches a GPU is in one of them."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from fakes import ROOT

from machine import MARK

TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), *\w+\)", re.MULTILINE)
FIXTURE = re.compile(r"^class (\w+) : public (?:test::)?CudaTest\b", re.MULTILINE)
INSTANCE = re.compile(r"^INSTANTIATE_TEST_SUITE_P\((\w+), *(\w+)", re.MULTILINE)


def misnamed(text: str, of_cuda: bool = False) -> set[str]:
    """Suites of a source that touch a GPU under a name that does not say so. `of_cuda`: all of them do."""
    bodies = TEST.split(text)  # what comes before, suite, body, suite, body, ..
    touching = {suite for suite, body in zip(bodies[1::2], bodies[2::2]) if of_cuda or "kNoGpu" in body}
    touching |= set(FIXTURE.findall(text))
    # GoogleTest puts this name before the suite's.
    touching |= {prefix for prefix, suite in INSTANCE.findall(text) if suite.startswith("Cuda")}
    return {name for name in touching if not name.startswith("Cuda")}


def sources() -> list[Path]:
    return [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".cpp", ".cu", ".h")]


class NamesTest(unittest.TestCase):
    def test_every_suite_that_touches_a_gpu_begins_with_cuda(self) -> None:
        for path in sources():
            of_cuda = path.parent.name == "cuda" and path.name != "stub_test.cpp"
            self.assertEqual(misnamed(path.read_text(), of_cuda), set(), path)

    def test_all_say_in_one_way_that_there_is_no_gpu(self) -> None:
        self.assertIn(f'kNoGpu[] = "{MARK}"', (ROOT / "tests/support/cuda.h").read_text())
        spelt = [path.name for path in sources() if MARK.strip() in path.read_text()]
        self.assertEqual(spelt, ["cuda.h"])

    def test_a_forgotten_name_is_found(self) -> None:
        self.assertEqual(misnamed("class Head : public test::CudaTest {\n"), {"Head"})
        text = "TEST(Head, Adds) {\n  GTEST_SKIP() << test::kNoGpu;\n}\nTEST(Tail, Adds) {}\n"
        self.assertEqual(misnamed(text), {"Head"})
        self.assertEqual(misnamed(text, of_cuda=True), {"Head", "Tail"})
        self.assertEqual(misnamed("INSTANTIATE_TEST_SUITE_P(All, CudaHead,\n"), {"All"})


if __name__ == "__main__":
    unittest.main()
