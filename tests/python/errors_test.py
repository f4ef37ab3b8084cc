from __future__ import annotations

import os
import pickle
import subprocess
import sys
import unittest

import support

import millrace

CLASSES = {
    millrace.ConfigError: ValueError,
    millrace.DataError: ValueError,
    millrace.MissingError: FileNotFoundError,
    millrace.IoError: OSError,
    millrace.DeviceError: RuntimeError,
    millrace.InternalError: RuntimeError,
    millrace.ArgumentError: ValueError,
    millrace.CallError: RuntimeError,
}


class ErrorsTest(support.TestCase):
    def test_they_are_what_python_expects(self) -> None:
        for error, builtin in CLASSES.items():
            made = error("a.csv:1:2: wrong; mend it", "wrong", "mend it", "a.csv", 1, 2)
            self.assertIsInstance(made, millrace.Error)
            self.assertIsInstance(made, builtin)
            for each in (made, pickle.loads(pickle.dumps(made))):
                self.assertIs(type(each), error)
                self.assertEqual(str(each), "a.csv:1:2: wrong; mend it")
                found = (each.message, each.hint, each.file, each.line, each.column)
                self.assertEqual(found, ("wrong", "mend it", "a.csv", 1, 2))

    def test_statuses_have_the_numbers_of_c(self) -> None:
        from millrace.errors import BY_STATUS

        header = (support.ROOT / "api/c.h").read_text()
        for number, error in BY_STATUS.items():
            name = error.__name__.replace("Error", "").upper()
            self.assertIn(f"MILLRACE_ERROR_{name} = {number}", header)


class LibraryTest(support.TestCase):
    def run_import(self, library: str) -> str:
        environment = {**os.environ, "MILLRACE_LIBRARY": library, "PYTHONPATH": str(support.ROOT / "python")}
        child = subprocess.run(
            [sys.executable, "-c", "import millrace"], env=environment, capture_output=True, text=True
        )
        self.assertNotEqual(child.returncode, 0)
        return child.stderr.splitlines()[-1]

    def test_a_library_that_is_not_there(self) -> None:
        said = self.run_import("/none/libmillrace.so")
        self.assertIn("ImportError: the library of Millrace cannot be loaded: /none/libmillrace.so:", said)
        self.assertIn("MILLRACE_LIBRARY", said)

    def test_every_function_of_the_header_is_declared_as_it_is(self) -> None:
        """By name and number of arguments."""
        import re

        from millrace import _library

        header = re.sub(r"/\*.*?\*/", "", (support.ROOT / "api/c.h").read_text(), flags=re.S)
        declared = dict(re.findall(r"MILLRACE_C_EXPORT [^;(]*?\bmillrace_(\w+)\((.*?)\);", header, flags=re.S))
        for name, arguments in {**_library._CALLS, **{k: v[1:] for k, v in _library._OTHERS.items()}}.items():
            # Commas inside of a pointer to a function do not count.
            wanted = re.sub(r"\(\*\w+\)\([^)]*\)", "", declared[name])
            count = 0 if wanted.strip() == "void" else wanted.count(",") + 1
            self.assertEqual(len(arguments) + (name in _library._CALLS), count, name)

    def test_the_version_is_that_of_the_build(self) -> None:
        built = (support.ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(Millrace VERSION {millrace.__version__} ", built)


if __name__ == "__main__":
    unittest.main()
