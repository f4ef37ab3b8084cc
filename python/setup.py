"""A wheel with the library of Millrace in millrace/lib is for this platform, and for every Python 3."""

import sysconfig
from pathlib import Path

from setuptools import Distribution, setup

HAS_LIBRARY = any(Path(__file__).parent.glob("millrace/lib/libmillrace.so*"))


class Binary(Distribution):
    def has_ext_modules(self):
        return HAS_LIBRARY


platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
commands = {}
if HAS_LIBRARY:
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:  # before setuptools 70.1
        from wheel.bdist_wheel import bdist_wheel

    class Wheel(bdist_wheel):
        def get_tag(self):
            return "py3", "none", platform

    commands["bdist_wheel"] = Wheel

setup(distclass=Binary, cmdclass=commands)
