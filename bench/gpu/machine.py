"""The machine that is checked: where its CUDA is, and how the bundle's programs are run on it."""

from __future__ import annotations

import glob
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

MARK = "needs a GPU: "  # tests/support/cuda.h
WANTED = ("libcublasLt.so.1[23]", "libcudnn.so.9")
# Of NVIDIA's Python packages: nvidia/cublas/lib, nvidia/cu13/lib, and what may lie deeper.
DEPTHS = ("lib", "*/lib", "*/*/lib", "*/*/*/lib", "*/lib/*-linux*")


def fail(message: str) -> NoReturn:
    sys.exit(f"gpu-check: {message}")


def output_of(command: list[str], **options: Any) -> str:
    """Standard output of a command, or an empty text when it is not there."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options).stdout
    except OSError:
        return ""


def give_back_signals() -> None:
    """Programs that are run get a signal as usual where this one was told to ignore it, as nohup and & do: tests send
    themselves some."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # not inherited, unlike SIG_IGN


def pythons(given: str = "") -> list[str]:
    """Interpreters whose packages may bring CUDA, PyTorch or JAX; `given` comes first."""
    found = [given, sys.executable, shutil.which("python3") or "", shutil.which("python") or ""]
    return list(dict.fromkeys(filter(None, found)))


def package_folders(interpreters: list[str], package: str) -> list[str]:
    find = f"import importlib.util as u; s = u.find_spec({package!r}); " + (
        "print('\\n'.join(s.submodule_search_locations or []) if s else '')"
    )
    return [line for python in interpreters for line in output_of([python, "-c", find]).splitlines() if line]


def python_with(interpreters: list[str], package: str) -> str:
    """The first interpreter that has the package; empty where none has."""
    return next((python for python in interpreters if package_folders([python], package)), "")


def library_folders(interpreters: list[str]) -> list[str]:
    """Folders that hold cuBLASLt or cuDNN: the ones named by the user, the toolkit's, and those of Python packages."""
    roots = [folder for folder in os.environ.get("MILLRACE_CUDA_LIBRARIES", "").split(":") if folder]
    roots += sorted(glob.glob("/usr/local/cuda*/lib64")) + sorted(
        glob.glob("/usr/local/cuda*/targets/x86_64-linux/lib")
    )
    roots += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/opt/cuda/lib64"]
    for package in package_folders(interpreters, "nvidia"):
        for depth in DEPTHS:
            roots += sorted(glob.glob(f"{package}/{depth}"))
    # PyTorch's own folder, where a build has them beside itself.
    roots += [f"{package}/lib" for package in package_folders(interpreters, "torch")]
    return [root for root in dict.fromkeys(map(os.path.realpath, roots)) if holds_wanted(root)]


def holds_wanted(folder: str) -> bool:
    return any(glob.glob(f"{folder}/{name}") for name in WANTED)


def processor() -> str:
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


@dataclass
class Ran:
    status: int  # -1: it did not end in time
    out: str
    errors: str

    @property
    def last_words(self) -> str:
        return (self.out + self.errors).strip()[-1500:]


class Machine:
    def __init__(self, folder: str, manifest: dict[str, Any], python: str = "") -> None:
        self.folder = folder
        self.source = os.path.join(folder, "source")
        self.manifest = manifest
        self.pythons = pythons(python)
        self.libraries = library_folders(self.pythons)
        self.cores = len(os.sched_getaffinity(0))
        self.glibc = platform.libc_ver()[1] or "0"
        if tuple(map(int, self.glibc.split("."))) < tuple(map(int, manifest["glibc"].split("."))):
            fail(f"the programs need glibc {manifest['glibc']}, this machine has {self.glibc}; build on an older one")
        self.environment = dict(
            os.environ,
            LD_LIBRARY_PATH=":".join(
                filter(None, [os.path.join(folder, "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
            ),
            MILLRACE_CUDA_LIBRARIES=":".join(self.libraries),
            MILLRACE_SOURCE_DIR=self.source,
            MILLRACE_BINARY_DIR=folder,
            MILLRACE_TRAINER=os.path.join(folder, "trainer"),
        )
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        self.gpus = [line.strip() for line in output_of(query).splitlines() if line.strip()]
        self.no_gpu = self.probe()

    def path(self, program: str) -> str:
        return os.path.join(self.folder, program)

    def has(self, program: str) -> bool:
        return program in self.manifest["programs"]

    def tests(self) -> list[str]:
        return [program for program in self.manifest["programs"] if program.endswith("_test")]

    def run(self, command: list[str], cwd: str, timeout: float, extra: dict[str, str] | None = None) -> Ran:
        """Runs one of the bundle's programs, or another one that is given by its whole path."""
        command = [os.path.join(self.folder, command[0]), *command[1:]]
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**self.environment, **(extra or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return Ran(-2, "", str(error))
        with process:
            try:
                out, errors = process.communicate(timeout=timeout)
                return Ran(process.returncode, out, errors)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what it started
                return Ran(-1, process.communicate()[0], f"did not end within {timeout:.0f} s")
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise

    def probe(self) -> str:
        """Why no GPU can be used; empty when one can."""
        ran = self.run(["core_test", "--gtest_filter=CudaLaunch.TakesNoIndices"], self.folder, 120)
        if re.search(r"^\[  PASSED  \] 1 test", ran.out, re.MULTILINE) and MARK not in ran.out:
            return ""
        found = re.search(re.escape(MARK) + "(.*)", ran.out)
        return found[1] if found else "the first kernel failed: " + ran.last_words

    def described(self) -> dict[str, Any]:
        return {
            "gpus": self.gpus,
            "no_gpu": self.no_gpu,
            "processor": processor(),
            "cores": self.cores,
            "system": platform.platform(),
            "glibc": self.glibc,
            "libraries": self.libraries,
            "python": platform.python_version(),
        }
