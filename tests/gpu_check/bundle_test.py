"""Bundles of scripts/gpu-check: what a new one may replace, and what it must hold."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from fakes import write_program

import bundle


class ReplaceTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.target, self.made = Path(folder.name) / "target", Path(folder.name) / "made"
        self.made.mkdir()
        (self.made / "trainer").touch()

    def replaced(self) -> list[str]:
        bundle.put_in_place(str(self.made), str(self.target))
        return [path.name for path in self.target.iterdir()]

    def test_a_bundle_is_made_where_nothing_is(self) -> None:
        self.assertEqual(self.replaced(), ["trainer"])

    def test_an_empty_folder_is_replaced(self) -> None:
        self.target.mkdir()
        self.assertEqual(self.replaced(), ["trainer"])

    def test_a_bundle_is_replaced(self) -> None:
        self.target.mkdir()
        (self.target / "manifest.json").write_text(json.dumps({"programs": [], "glibc": "2.36", "build": "0123"}))
        (self.target / "lib").mkdir()
        self.assertEqual(self.replaced(), ["trainer"])

    def test_nothing_else_is_replaced_and_nothing_is_built_for_it(self) -> None:
        def a_folder(manifest: str) -> None:
            self.target.unlink()
            self.target.mkdir()
            (self.target / "manifest.json").write_text(manifest)

        for make in (
            lambda: self.target.write_text("a file"),
            lambda: a_folder("no JSON"),
            lambda: (self.target / "manifest.json").write_text('{"name": "of a page"}'),
            lambda: (self.target / "manifest.json").write_text("[]"),
            lambda: (self.target / "manifest.json").rename(self.target / "thesis.tex"),
        ):
            make()
            with self.assertRaisesRegex(SystemExit, "target is not a bundle, and .* another folder with --bundle"):
                self.replaced()
            with self.assertRaisesRegex(SystemExit, "target is not a bundle"):
                bundle.bundle("/nowhere", "cuda", "", str(self.target))
        self.assertTrue((self.target / "thesis.tex").exists())


class SourcesTest(unittest.TestCase):
    def copied(self, git: str) -> list[str]:
        """The sources of a folder with two files, where git is this program or, if it is empty, is not there."""
        with tempfile.TemporaryDirectory() as folder:
            root, target = Path(folder) / "root", Path(folder) / "target"
            (root / "bench").mkdir(parents=True)
            (root / "README.md").touch()
            (root / "bench/check.py").touch()
            if git:
                write_program(Path(folder) / "git", git)
            with mock.patch.dict(os.environ, {"PATH": folder}):
                bundle.copy_sources(str(root), str(target))
            return sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())

    def test_the_files_that_git_knows_are_copied(self) -> None:
        self.assertEqual(self.copied("print('README.md', 'bench/check.py', 'gone', '', sep=chr(0), end='')"),
                         ["README.md", "bench/check.py"])  # fmt: skip

    def test_no_bundle_is_made_without_git(self) -> None:
        for git, why in (
            ("", "`git ls-files .*` failed: .*No such file"),
            ("raise SystemExit('fatal: dubious ownership')", "`git ls-files .*` failed: fatal: dubious ownership"),
            ("pass", "git knows no file of .*root"),
        ):
            with self.assertRaisesRegex(SystemExit, f"no bundle is made, as {why}"):
                self.copied(git)


if __name__ == "__main__":
    unittest.main()
