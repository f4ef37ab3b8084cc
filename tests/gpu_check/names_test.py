"""scripts/gpu-check runs the suites whose names begin with Cuda: every test that touches a GPU is in one of them."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from fakes import ROOT

from machine import MARK

TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+), *\w+\)", re.MULTILINE)
# A class or struct that has bases, or another name of one.
CLASS = re.compile(r"^ *(?:class|struct) (\w+)(?: +final)? *:([^{;]+)\{", re.MULTILINE)
ALIAS = re.compile(r"^ *using (\w+) *= *([^;]+);", re.MULTILINE)
INSTANCE = re.compile(r"^INSTANTIATE_(?:TYPED_)?TEST_SUITE_P\((\w+), *(\w+)", re.MULTILINE)


def fixtures(texts: list[str]) -> set[str]:
    """Names of all classes that are a CudaTest, by however many steps."""
    named = [pair for text in texts for rule in (CLASS, ALIAS) for pair in rule.findall(text)]
    bases = {name: set(re.findall(r"\w+", of)) for name, of in named}
    found = {"CudaTest"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def misnamed(text: str, of_cuda: bool = False, known: frozenset[str] = frozenset()) -> set[str]:
    """Suites of a source that touch a GPU under a name that does not say so. `of_cuda`: all of them do; `known`: the
    fixtures of other sources that do."""
    bodies = TEST.split(text)  # what comes before, suite, body, suite, body, ..
    mine = fixtures([text, *(f"using {name} = CudaTest;" for name in known)])
    touching = {
        suite for suite, body in zip(bodies[1::2], bodies[2::2]) if of_cuda or "kNoGpu" in body or suite in mine
    }
    # GoogleTest puts this name before the suite's.
    touching |= {prefix for prefix, suite in INSTANCE.findall(text) if suite.startswith("Cuda")}
    return {name for name in touching if not name.startswith("Cuda")}


def sources() -> list[Path]:
    return [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".cpp", ".cu", ".h")]


class NamesTest(unittest.TestCase):
    def test_every_suite_that_touches_a_gpu_begins_with_cuda(self) -> None:
        shared = frozenset(fixtures([path.read_text() for path in sources() if path.suffix == ".h"]))
        for path in sources():
            of_cuda = path.parent.name == "cuda" and path.name != "stub_test.cpp"
            self.assertEqual(misnamed(path.read_text(), of_cuda, shared), set(), path)

    def test_all_say_in_one_way_that_there_is_no_gpu(self) -> None:
        self.assertIn(f'kNoGpu[] = "{MARK}"', (ROOT / "tests/support/cuda.h").read_text())
        spelt = [path.name for path in sources() if MARK.strip() in path.read_text()]
        self.assertEqual(spelt, ["cuda.h"])

    def test_a_forgotten_name_is_found(self) -> None:
        adds = "TEST_F(Head, Adds) {}\n"
        for fixture in (
            "class Head : public test::CudaTest {\n",
            "class Head final : public test::CudaTest {\n",
            "struct Head : test::CudaTest {\n",
            "class Head : public Other,\n             public test::CudaTest {\n",
            "class Head : public Between<int> {\n};\ntemplate <class T>\nclass Between : public CudaTest {\n",
            "using Head = test::CudaTest;\n",
        ):
            self.assertEqual(misnamed(fixture + adds), {"Head"}, fixture)
        self.assertEqual(misnamed("class Head : public Fixture {\n" + adds, known=frozenset(["Fixture"])), {"Head"})
        self.assertEqual(misnamed("class Base : public test::CudaTest {\n"), set())  # a suite of no test
        self.assertEqual(misnamed("class Base : public Other {\n" + adds), set())
        text = "TEST(Head, Adds) {\n  GTEST_SKIP() << test::kNoGpu;\n}\nTEST(Tail, Adds) {}\n"
        self.assertEqual(misnamed(text), {"Head"})
        self.assertEqual(misnamed(text, of_cuda=True), {"Head", "Tail"})
        self.assertEqual(misnamed("INSTANTIATE_TEST_SUITE_P(All, CudaHead,\n"), {"All"})


if __name__ == "__main__":
    unittest.main()
