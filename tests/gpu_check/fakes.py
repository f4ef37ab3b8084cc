"""What the tests of scripts/gpu-check have in common: its modules on the path, and a machine that is none."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/gpu"))

DESCRIBED = {
    "gpus": ["NVIDIA H100 80GB HBM3, 575.57.08, 81559 MiB"],
    "no_gpu": "",
    "processor": "a processor",
    "cores": 16,
    "system": "Linux",
    "glibc": "2.36",
    "libraries": ["/usr/local/cuda/lib64"],
    "python": "3.11.2",
}


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeMachine:
    """Runs nothing but what stands in its folder."""

    def __init__(self, folder: str, no_gpu: str = "") -> None:
        self.folder = folder
        self.source = str(ROOT)
        self.pythons = [sys.executable]
        self.cores = 4
        self.no_gpu = no_gpu
        self.environment: dict[str, str] = {}
        self.manifest = {"programs": ["core_test", "trainer", "gpu_step"]}

    def path(self, program: str) -> str:
        return str(Path(self.folder) / program)

    def has(self, program: str) -> bool:
        return program in self.manifest["programs"]


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
