"""Configurations, settings and catalogs, as the library takes them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from ctypes import byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _library

if TYPE_CHECKING:
    from ._catalog import Catalog

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Overrides = Union[Mapping[str, Any], Iterable[str], None]


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"a configuration cannot hold {value!r}")


def _yaml(value: Any) -> str:
    """JSON is YAML, but for characters that YAML wants escaped."""
    text = json.dumps(value, default=_plain, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def settings_of(overrides: Overrides) -> list[str]:
    """The texts PATH=VALUE."""
    if overrides is None:
        return []
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Mapping):
        return [f"{path}={_yaml(value)}" for path, value in overrides.items()]
    return list(overrides)


def open_config(
    kind: str, config: Config, overrides: Overrides, catalog: Catalog | None, *more: Any
) -> _library.Handle:
    """A trainer or an input, which takes `more`. A text of several lines is YAML; other texts and paths are files."""
    settings = settings_of(overrides)
    options = (_library.texts(settings), c_size_t(len(settings)), *more, catalog.handle if catalog else None)
    made = c_void_p()
    if isinstance(config, Mapping):  # errors name keys, but no lines
        _library.call(kind + "_from_string", _library.text(_yaml(config)), None, *options, byref(made))
    elif isinstance(config, str) and "\n" in config:
        _library.call(kind + "_from_string", _library.text(config), b"config", *options, byref(made))
    else:
        _library.call(kind + "_from_file", _library.path(config), *options, byref(made))
    return _library.Handle(made, kind + "_free", catalog)
