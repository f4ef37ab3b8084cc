"""The examples of docs/python.md, run one after another in one folder: a block `text` is what the block before prints.
Without scikit-learn its examples are left out."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import unittest

import support

BLOCK = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class DocsTest(support.TestCase):
    def test_examples_print_what_the_page_says(self) -> None:
        page = (support.ROOT / "docs/python.md").read_text()
        names: dict[str, object] = {}
        printed = None
        shown = 0
        for file, kind, text in BLOCK.findall(page):
            if file:
                self.write(file, text)
            elif kind == "python" and "sklearn" in text and importlib.util.find_spec("sklearn") is None:
                printed = None
            elif kind == "python":
                self.assertIn(printed, (None, ""), "an example prints what the page does not show")
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(text, "docs/python.md", "exec"), names)
                printed = out.getvalue()
            elif kind == "text":
                if printed is not None:
                    self.assertEqual(printed, text)
                printed, shown = None, shown + 1
        self.assertGreaterEqual(shown, 6)


if __name__ == "__main__":
    unittest.main()
