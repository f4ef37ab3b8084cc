"""Training: `train` does all of it in one call, `Trainer` lets a program take part."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_int64
from typing import Any

from . import _library
from ._catalog import Calls, Catalog, Metric, MetricFunction
from ._config import Config, Overrides, open_config
from ._progress import Progress
from ._run import Run, log
from .network import Network
from .reports import Checkpoint, Result, Resume, Step, Validation, checkpoint_of, resume_of, step_of, validation_of


class Trainer(_library.Closable):
    """A training of a configuration. It is read and checked, and everything built, when the Trainer is made.

    One thread uses a Trainer; `stop()` and `checkpoint()` may be called from any thread. Several may run at once.

    Args:
        config: the configuration: the path of a YAML file, a YAML text of several lines, or a dict.
        overrides: what to change in it: ``{"train.steps": 100}`` or ``["train.steps=100"]``.
        rows: rows of the program, by the names of ops: ``{"mine": rows}`` makes ``input: [mine: {epochs: 5}, ..]`` give
            them. They are a dict of arrays or a data frame, which is copied; or a function that returns, for each
            epoch, an iterator of such batches, which is asked while the training runs.
        metrics: metrics of the program, by the names that the configuration has for them: functions, or `Metric`.
        plugins: paths of plug-ins.
    """

    result: Result | None = None
    """What `run()` returned, also if it raised KeyboardInterrupt."""

    def __init__(
        self,
        config: Config,
        overrides: Overrides = None,
        *,
        rows: Mapping[str, Any] | None = None,
        metrics: Mapping[str, MetricFunction | Metric] | None = None,
        plugins: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        _library.uses_threads()
        self._catalog = Catalog.of(rows, metrics, plugins)
        self._handle = open_config("trainer", config, overrides, self._catalog)

    def resume(self, file: str | os.PathLike[str] | None = None) -> int | None:
        """Makes `run()` go on from the newest whole checkpoint of the key ``checkpoint``, or from `file`. Returns the
        last step before it; None if there is no checkpoint, and the run begins."""
        step = c_int64()
        _library.call("trainer_resume", self._open, None if file is None else _library.path(file), byref(step))
        return None if step.value < 0 else step.value

    def run(
        self,
        *,
        on_step: Callable[[Step], object] | None = None,
        on_validation: Callable[[Validation], object] | None = None,
        on_log: Callable[[str], object] | None = None,
        on_resume: Callable[[Resume], object] | None = None,
        on_checkpoint: Callable[[Checkpoint], object] | None = None,
        on_progress: Callable[[Step], object] | None = None,
        progress: bool | None = None,
    ) -> Result:
        """Trains until the data end, ``train.steps`` are done, ``validation.patience`` has run out or `stop()` is
        called; then saves the model if the configuration has the key ``save``. A trainer runs once.

        Ctrl-C ends the training after the step that runs now, as `stop()` does, with model and checkpoint saved; then
        KeyboardInterrupt is raised. So does any exception of a callback.

        Args:
            on_step: called every ``train.log_every`` steps, on the thread of `run()`, like all that follow.
            on_validation: called after each validation.
            on_log: called with warnings, rows that are left out and lines of the op ``print``. By default the first are
                warnings of Python, the others go to the logger ``millrace``.
            on_resume: called once if the run goes on from a checkpoint.
            on_checkpoint: called soon after a checkpoint is on the disk.
            on_progress: called at most about ten times a second.
            progress: whether to show a line of progress; None: if standard error is a terminal or a notebook.
        """
        handle = self._open
        shown = Progress.wanted(progress)
        kept: list[Any] = []

        def callback(kind: Any, function: Callable[[Any], object] | None, read: Callable[[Any], Any]) -> Any:
            if function is None:
                return kind()

            def call(user: Any, report: Any) -> None:
                report = report.decode(errors="replace") if isinstance(report, bytes) else read(report.contents)
                run.ask(lambda: function(report))

            kept.append(kind(call))
            return kept[-1]

        def all_progress(report: Step) -> None:
            if shown is not None:
                shown.show(report)
            if on_progress is not None:
                on_progress(report)

        callbacks = _library.Callbacks(
            ctypes.sizeof(_library.Callbacks),
            None,
            callback(_library.OnStep, on_step, step_of),
            callback(_library.OnLog, on_log or log, str),
            callback(_library.OnValidation, on_validation, validation_of),
            callback(_library.OnResume, on_resume, resume_of),
            callback(_library.OnCheckpoint, on_checkpoint, checkpoint_of),
            callback(_library.OnStep, all_progress if shown is not None or on_progress else None, step_of),
        )
        result = _library.Result(ctypes.sizeof(_library.Result))

        def body() -> None:
            _library.call("trainer_run", handle, byref(callbacks), byref(result))
            self.result = self._read(handle, result)

        run = Run(body, lambda: _library.function("trainer_stop")(handle))
        calls = self._catalog.calls if self._catalog is not None else Calls()
        calls.run = run
        try:
            run.wait()
        except Exception as error:
            if run.error is None and calls.error is not None:
                raise calls.error from error
            raise
        finally:
            calls.run = None
            if shown is not None:
                shown.close()
        if calls.error is not None:
            raise calls.error
        assert self.result is not None
        return self.result

    @staticmethod
    def _read(handle: _library.Handle, result: _library.Result) -> Result:
        score, metrics = _library.Score(), dict[str, float]()
        while _library.function("trainer_score")(handle, len(metrics), byref(score)):
            metrics[score.name.decode()] = score.value
        names = "steps rows epochs seconds loss input_wait checkpoints late_checkpoints failed_checkpoints".split()
        return Result(
            reason=result.reason.decode(),
            weights=result.weights.decode(),
            resumed=None if result.resumed < 0 else result.resumed,
            metrics=metrics,
            checkpoint_failure=_library.function("trainer_checkpoint_failure")(handle).decode(errors="replace"),
            **{name: getattr(result, name) for name in names},
        )

    def stop(self) -> None:
        """Ends the run after the step that runs now. From any thread, also from callbacks."""
        _library.function("trainer_stop")(self._open)

    def checkpoint(self) -> None:
        """With the key ``checkpoint``: the run writes one after this step, and goes on. From any thread."""
        _library.function("trainer_checkpoint")(self._open)

    @property
    def steps(self) -> int:
        """How many steps were finished, even if the run failed."""
        return int(_library.function("trainer_steps")(self._open))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as it is now."""
        _library.call("trainer_save", self._open, _library.path(path))

    def network(self, *, threads: int = 1) -> Network:
        """A copy of the model as it is now, to predict with."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.safetensors")
            self.save(file)
            network = Network(file, threads=threads, _catalog=self._catalog)
            network._bytes = network.to_bytes()
        network.result = self.result
        return network

    def close(self) -> None:
        """Ends a run, and frees everything after it."""
        if self._handle is not None:
            self.stop()
        self._handle = None


def train(
    config: Config,
    overrides: Overrides = None,
    *,
    rows: Mapping[str, Any] | None = None,
    metrics: Mapping[str, MetricFunction | Metric] | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
    resume: bool = False,
    save: str | os.PathLike[str] | None = None,
    **callbacks: Any,
) -> Network:
    """Trains and returns the model; ``train(..).result`` says how it went.

    Args:
        config, overrides, rows, metrics, plugins: see `Trainer`.
        resume: go on from the newest checkpoint, if there is one.
        save: a file for the model, as the key ``save``.
        **callbacks: what `Trainer.run` takes: on_step, on_validation, on_log, .., progress.
    """
    trainer = Trainer(config, overrides, rows=rows, metrics=metrics, plugins=plugins)
    try:
        if resume:
            trainer.resume()
        trainer.run(**callbacks)
        if save is not None:
            trainer.save(save)
        return trainer.network()
    finally:
        trainer.close()
