"""Loads single modules of a source tree that is not installed, with stand-ins for what they import beside."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import assay.triton as gpu  # before triton: it sets TRITON_INTERPRET


def tree_with(variable: str, modules: Sequence[str]) -> tuple[Path, str]:
    """The folder that an environment variable names, and the first of these modules that it has.

    Exits, status 3, where it names no folder with one of them.
    """
    named = os.environ.get(variable, "")
    for name in modules if named else ():
        if Path(named, name.replace(".", "/") + ".py").is_file():
            return Path(named), name
    print(f"{variable}={named}: names no folder that has a module {' or '.join(modules)}", file=sys.stderr)
    raise SystemExit(3)


def module(name: str, **attributes: Any) -> None:
    """Makes the module ``name`` one with these attributes alone."""
    made = ModuleType(name)
    made.__dict__.update(attributes)
    sys.modules[name] = made
    _into_parent(name, made)


def load(root: Path, name: str) -> ModuleType:
    """Imports a module from below ``root``; of its packages no ``__init__`` runs.

    Raises ImportError for an import that neither the tree nor a stand-in has.
    """
    parts = name.split(".")[:-1]
    for i in range(1, len(parts) + 1):
        package = ".".join(parts[:i])
        if package not in sys.modules:
            made = ModuleType(package)
            made.__path__ = [str(root.joinpath(*parts[:i]))]
            sys.modules[package] = made
            _into_parent(package, made)
        elif not hasattr(sys.modules[package], "__path__"):
            sys.modules[package].__path__ = [str(root.joinpath(*parts[:i]))]
    return importlib.import_module(name)


def _into_parent(name: str, made: ModuleType) -> None:
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, made)


def torch() -> None:
    """Makes ``torch`` what launchers need of it, on :mod:`assay.triton`."""
    largest = {"float8_e4m3fn": 448.0, "float8_e4m3fnuz": 240.0, "float8_e5m2": 57344.0, "float8_e5m2fnuz": 57344.0}
    types = {str(getattr(gpu, n)): getattr(gpu, n) for n in gpu.__all__ if isinstance(getattr(gpu, n), gpu.DType)}

    def finfo(dtype: Any) -> Any:
        most = largest.get(str(dtype)) or float(np.finfo(dtype.numpy).max)
        return SimpleNamespace(min=-most, max=most)

    makers = {"empty": gpu.empty, "zeros": gpu.zeros, "full": gpu.full}
    module("torch", Tensor=gpu.Tensor, dtype=gpu.DType, finfo=finfo, **makers, **types)


def spare_columns(table: Any, count: int) -> Any:
    """A copy of a block table with zeros behind each row: kernels load entries there whose pages they do not use."""
    wide = gpu.zeros(table.shape[0], table.shape[1] + count, dtype=gpu.int32)
    wide[:, : table.shape[1]] = table
    return wide
