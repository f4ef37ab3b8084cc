"""Millrace: a trainer of neural networks that reads files while it trains.

::

    import millrace

    network = millrace.train("mlp.yaml", {"train.steps": 500})
    network.predict(rows)

`train` and `Trainer` train what a configuration says, `Network` predicts, `Input` gives the batches of a configuration
to other trainers, and `millrace.sklearn` has estimators for scikit-learn.
"""

from ._catalog import Metric
from ._columns import Field
from ._library import version as __version__
from .errors import (
    ArgumentError,
    CallError,
    ConfigError,
    DataError,
    DeviceError,
    Error,
    ForkError,
    InternalError,
    IoError,
    MissingError,
)
from .input import Input
from .network import Network, load
from .reports import Checkpoint, Result, Resume, Step, Validation
from .trainer import Trainer, train

__all__ = [
    "ArgumentError",
    "CallError",
    "Checkpoint",
    "ConfigError",
    "DataError",
    "DeviceError",
    "Error",
    "Field",
    "ForkError",
    "Input",
    "InternalError",
    "IoError",
    "Metric",
    "MissingError",
    "Network",
    "Result",
    "Resume",
    "Step",
    "Trainer",
    "Validation",
    "load",
    "train",
]
