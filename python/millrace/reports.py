"""What a training reports."""

from __future__ import annotations

import dataclasses
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class Step:
    """The report of a step, every ``train.log_every`` steps."""

    step: int  # counted from 1
    epoch: int  # counted from 1
    batch_size: int
    loss: float
    metrics: dict[str, float]
    rows_per_s: float
    input_wait: float  # the share of the time in which the step waited for input
    seconds: float  # since the start
    done: float  # the share of the training, from 0 to 1; NaN if it is not known


@dataclasses.dataclass(frozen=True)
class Validation:
    """The report of a validation."""

    step: int  # the last step before it
    rows: int
    loss: float
    metrics: dict[str, float]
    best: bool  # better than every validation before


@dataclasses.dataclass(frozen=True)
class Resume:
    """A training went on from a checkpoint."""

    step: int
    file: str
    notes: list[str]  # allowed differences from the saved training
    warnings: list[str]  # about newer checkpoints that cannot be used


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint is on the disk."""

    step: int
    file: str


@dataclasses.dataclass(frozen=True)
class Result:
    """What a finished training reports."""

    reason: str  # "end of data", "steps", "no improvement" or "stopped"
    steps: int
    rows: int
    epochs: int
    seconds: float
    loss: float  # of the last batch or window; NaN if there was no step
    metrics: dict[str, float]
    input_wait: float  # the share of the time in which steps waited for input
    weights: str  # SHA-256 of the parameters
    resumed: int | None  # the step that the run went on from
    checkpoints: int  # checkpoints that were written
    late_checkpoints: int  # that fell due while another was being written
    failed_checkpoints: int
    checkpoint_failure: str  # why the last failed one failed


def scores(report: Any) -> dict[str, float]:
    return {score.name.decode(): score.value for score in report.scores[: report.score_count]}


def step_of(report: Any) -> Step:
    names = ("step", "epoch", "batch_size", "loss", "rows_per_s", "input_wait", "seconds", "done")
    return Step(metrics=scores(report), **{name: getattr(report, name) for name in names})


def validation_of(report: Any) -> Validation:
    return Validation(report.step, report.rows, report.loss, scores(report), bool(report.best))


def resume_of(report: Any) -> Resume:
    notes = [text.decode() for text in report.notes[: report.note_count]]
    return Resume(
        report.step,
        os.fsdecode(report.file),
        notes,
        [text.decode() for text in report.warnings[: report.warning_count]],
    )


def checkpoint_of(report: Any) -> Checkpoint:
    return Checkpoint(report.step, os.fsdecode(report.file))
