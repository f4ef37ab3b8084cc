"""The machine that is checked: where its CUDA is, and how the bundle's programs are run on it."""

from __future__ import annotations

import glob
import itertools
import json
import os
import platform
import re
import shutil
import signal
import sys
from typing import Any, NoReturn

import processes
from budget import Deadline
from processes import LATE, Ran

MARK = "needs a GPU: "  # tests/support/cuda.h
FIRST_KERNEL = "CudaLaunch.ComputesWhatTheCpuComputes"
WANTED = {"cuBLASLt": "libcublasLt.so.1[23]", "cuDNN": "libcudnn.so.9"}
ASKED_SECONDS = 20  # for nvidia-smi or an interpreter to answer, before it hangs
# Of NVIDIA's Python packages: nvidia/cublas/lib, nvidia/cu13/lib, and what may lie deeper.
DEPTHS = ("lib", "*/lib", "*/*/lib", "*/*/*/lib", "*/lib/*-linux*")


def fail(message: str) -> NoReturn:
    sys.exit(f"gpu-check: {message}")


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
    asked = [processes.run([python, "-c", find], ".", dict(os.environ), ASKED_SECONDS) for python in interpreters]
    return [line for ran in asked for line in ran.out.splitlines() if line]


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
    return [root for root in dict.fromkeys(map(os.path.realpath, roots)) if len(missing([root])) < len(WANTED)]


def missing(folders: list[str]) -> list[str]:
    """Names of the libraries that none of the folders has."""
    return [name for name, file in WANTED.items() if not any(glob.glob(f"{folder}/{file}") for folder in folders)]


def processor() -> str:
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def find_tool(name: str, interpreters: list[str]) -> str:
    """One of NVIDIA's programs: on the path, the toolkit's, or of a Python package; empty where there is none."""
    places = [shutil.which(name) or ""]
    for root in ("/usr/local/cuda*", "/opt/cuda", "/opt/nvidia/nsight-compute/*"):
        for pattern in (name, f"bin/{name}", f"{name}/{name}", f"host/*/sanitizer/{name}"):
            places += sorted(glob.glob(f"{root}/{pattern}"))
    for package in package_folders(interpreters, "nvidia"):
        places += sorted(glob.glob(f"{package}/**/{name}", recursive=True))
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), "")


class Broken(Exception):
    """A program that failed, and how."""


def checked(ran: Ran, what: str, deadline: Deadline) -> str:
    """What it printed. Throws Broken, or TimeoutError where it was given less time than it might need."""
    if ran.status == LATE and deadline.left() < 1:
        raise TimeoutError(f"{what} did not end in time")
    if ran.status != 0:
        raise Broken(f"{what} ended with status {ran.status}: {ran.errors.strip()[-1000:]}")
    return ran.out


QUERY = (
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "pstate",
    "power.draw",
    "temperature.gpu",
    "clocks_event_reasons.active",
)
OLD_NAMES = {"clocks_event_reasons.active": "clocks_throttle_reasons.active"}  # of drivers before 535
VARIABLES = re.compile(
    r"(CUDA|CUBLAS|CUDNN|NVIDIA(?!_REQUIRE_)|MILLRACE|LD_LIBRARY_PATH)"
)  # that may change what is computed, or how; NVIDIA_REQUIRE_* say which drivers a container accepts


def smi(*options: str) -> Ran:
    try:
        return processes.run(["nvidia-smi", *options], "/", dict(os.environ), ASKED_SECONDS)
    except processes.Stopped:
        return Ran(LATE, "", "")


def queried(*fields: str) -> list[str]:
    """What nvidia-smi says, a line a GPU; nothing where it is not there, or hangs with its driver. A field that it does
    not know is empty."""
    ran = smi(f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    if ran.status == 0:
        return [line.strip() for line in ran.out.splitlines() if line.strip()]
    if ran.status < 0:  # not there, late, or killed
        return []
    if len(fields) == 1:
        return queried(OLD_NAMES[fields[0]]) if fields[0] in OLD_NAMES else []
    rows = itertools.zip_longest(*(queried(field) for field in fields), fillvalue="")
    return [", ".join(row) for row in rows]


class Machine:
    """`work` is a folder for files. `rehearse`: numbers are small, and without a GPU the CPU is used."""

    def __init__(self, folder: str, manifest: dict[str, Any], python: str, rehearse: bool, work: str) -> None:
        self.folder = folder
        self.work = work
        self.source = os.path.join(folder, "source")
        self.manifest = manifest
        self.small = rehearse
        self.emulated = bool(manifest.get("emulated"))
        self.pythons = pythons(python)
        self.libraries = [self.path("emulated_gpu")] if self.emulated else library_folders(self.pythons)
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
        )
        if self.emulated:
            self.environment.setdefault("MILLRACE_EMULATED_GPUS", "1")
        self.gpus = ["emulated"] if self.emulated else queried("name", "memory.total")
        self.driver = "" if self.emulated else "".join(queried("driver_version")[:1])
        self.no_gpu = self.probe()
        self.device = "cpu" if self.no_gpu else "cuda:0"
        self.about = self.about_gpu()

    def path(self, program: str) -> str:
        return os.path.join(self.folder, program)

    def tests(self) -> list[str]:
        return [program for program in self.manifest["programs"] if program.endswith("_test")]

    def run(self, command: list[str], cwd: str, timeout: float, extra: dict[str, str] | None = None) -> Ran:
        """Runs one of the bundle's programs, or another one that is given by its whole path."""
        command = [os.path.join(self.folder, command[0]), *command[1:]]
        return processes.run(command, cwd, {**self.environment, **(extra or {})}, timeout)

    def probe(self) -> str:
        """Why no GPU can be used; empty when one can."""
        ran = self.run(["core_test", f"--gtest_filter={FIRST_KERNEL}"], self.folder, 120)
        if re.search(r"^\[  PASSED  \] 1 test", ran.out, re.MULTILINE) and MARK not in ran.out:
            return ""
        found = re.search(re.escape(MARK) + "(.*)", ran.out)
        return found[1] if found else "the first kernel failed: " + ran.last_words

    def told(self) -> list[str]:
        """Lines that say what was found: the GPU, and the libraries."""
        gpu = f"GPU: {'; '.join(self.gpus)}, driver {self.driver or 'unknown'}"
        return [
            f"no GPU can be used here: {self.no_gpu}" if self.no_gpu else gpu,
            f"cuBLASLt, cuDNN: {', '.join(self.libraries) or 'not found'}",
            *(f"no {name} found; MILLRACE_CUDA_LIBRARIES can name its folder" for name in missing(self.libraries)),
        ]

    def clocks(self) -> str:
        """Those of now, with what holds them down."""
        return "" if self.no_gpu or self.emulated else "; ".join(queried(*QUERY))

    def about_gpu(self) -> dict[str, Any]:
        """What CUDA and its libraries say of themselves and of the GPU; empty without one."""
        ran = self.run(["gpu_step", "about"], self.source, 60) if not self.no_gpu else Ran(1, "", "")
        try:
            about = json.loads(ran.out) if ran.status == 0 else {"failed": ran.last_words} if ran.errors else {}
        except ValueError:
            about = {"failed": ran.last_words}
        modes = re.findall(r"Addressing Mode\s*:\s*(\S+)", smi("-q").out)
        return {**about, **({"addressing_mode": modes[0]} if modes else {})}

    def described(self) -> dict[str, Any]:
        return {
            "gpus": self.gpus,
            "driver_version": self.driver,
            "no_gpu": self.no_gpu,
            "about": self.about,
            "processor": processor(),
            "cores": self.cores,
            "system": platform.platform(),
            "glibc": self.glibc,
            "libraries": self.libraries,
            "python": platform.python_version(),
            "variables": {name: value for name, value in sorted(os.environ.items()) if VARIABLES.match(name)},
        }
