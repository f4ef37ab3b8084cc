"""A line that shows how far a training is, in a terminal or a notebook."""

from __future__ import annotations

import math
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reports import Step


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")


class Progress:
    @classmethod
    def wanted(cls, progress: bool | None) -> Progress | None:
        if progress is None:
            progress = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
        return cls() if progress else None

    def __init__(self) -> None:
        self._width = 0

    def show(self, report: Step) -> None:
        """Writes over the line from before."""
        parts = [f"step {report.step}", f"epoch {report.epoch}", f"loss {report.loss:.4g}"]
        parts += [f"{name} {value:.4g}" for name, value in report.metrics.items()]
        parts.append(f"{report.rows_per_s:.0f} rows/s")
        if not math.isnan(report.done):
            left = report.seconds * (1 - report.done) / report.done if report.done > 0 else math.inf
            parts.append(f"{report.done:.0%}" + (f", {left:.0f} s left" if math.isfinite(left) else ""))
        text = "  ".join(parts)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width > 0:
            sys.stderr.write("\n")
            sys.stderr.flush()
