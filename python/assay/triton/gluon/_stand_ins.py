"""Modules named triton, for files of kernels where Triton is not installed, or must not matter."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assay.triton.gluon._faults import UnknownOperation
from assay.triton.gluon._launch import Kernel
from assay.triton.gluon._names import Layout, language


class _Unknown:
    """A name that was imported; whoever uses it is told that it is not known."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _tell(self) -> UnknownOperation:
        return UnknownOperation(f"{self._path}: this evaluation does not know it")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self._tell()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._tell()


class Jitted:
    """What ``triton.jit`` and ``gluon.jit`` make: a kernel to launch, or a function that kernels call."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        """Keeps the function as it is."""
        self.fn = fn
        self.__name__, self.__module__ = fn.__name__, "triton.stand_in"
        self._kernel: Kernel | None = None

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Launches it."""
        if self._kernel is None:
            self._kernel = Kernel(self.fn)
        launched = self._kernel[grid]

        def run(*args: Any, **kwargs: Any) -> Kernel:
            launched(*args, **kwargs)
            assert self._kernel is not None
            return self._kernel

        return run


Jitted.__module__ = "triton.stand_in"  # so that a kernel's global of this type is known as Triton's


def jit(fn: Callable[..., Any] | None = None, **_: Any) -> Any:
    """``@jit`` or ``@jit(options)``."""
    return Jitted(fn) if fn is not None else Jitted


def compiled(src: Any, target: Any = None, options: Any = None) -> Kernel:
    """``triton.compile`` of a source with ``fn``, ``signature`` and ``attrs``."""
    names = list(src.signature)
    multiples = {
        names[index[0]]: int(value)
        for index, attributes in (src.attrs or {}).items()
        for kind, value in attributes
        if kind == "tt.divisibility"
    }
    return Kernel(src.fn, signature=src.signature, multiples=multiples, constants=src.constexprs)


class Source:
    """``ASTSource`` and ``GluonASTSource``."""

    def __init__(self, fn: Any, signature: Mapping[str, str], constexprs: Any = None, attrs: Any = None) -> None:
        """Keeps what it is made of."""
        self.fn, self.signature, self.constexprs, self.attrs = fn, signature, constexprs, attrs


def _module(path: str, known: Mapping[str, Any], made: dict[str, types.ModuleType]) -> types.ModuleType:
    module = types.ModuleType(path)
    module.__path__ = []
    made[path] = module
    for name, x in known.items():
        is_part = isinstance(x, Mapping)
        setattr(module, name, _module(f"{path}.{name}", x, made) if is_part else x)

    def other(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Layout if name.endswith("Layout") else _Unknown(f"{path}.{name}")

    module.__getattr__ = other  # type: ignore[method-assign]
    return module


def modules(version: str = "3.6.0") -> dict[str, types.ModuleType]:
    """Stand-ins for triton and its modules by name, for ``sys.modules``."""
    made: dict[str, types.ModuleType] = {}
    cache = {"get_cache_manager": lambda key: types.SimpleNamespace(key=key)}
    gluon = {"jit": jit, "language": language, "_runtime": {"GluonASTSource": Source}}
    known = {
        "__version__": version,
        "jit": jit,
        "compile": compiled,
        "cdiv": language["cdiv"],
        "next_power_of_2": lambda n: 1 << (int(n) - 1).bit_length(),
        "language": language,
        "experimental": {"gluon": gluon},
        "compiler": {"ASTSource": Source},
        "backends": {"compiler": {"GPUTarget": tuple_of}},
        "runtime": {"cache": cache},
    }
    _module("triton", known, made)
    return made


def tuple_of(*args: Any) -> tuple[Any, ...]:
    """What describes a target: it means nothing here."""
    return args


@contextmanager
def installed(more: Mapping[str, types.ModuleType] | None = None, version: str = "3.6.0") -> Iterator[None]:
    """Imports within get the stand-ins, and these other modules; what was there comes back."""
    new = {**modules(version), **(more or {})}
    roots = {name.partition(".")[0] for name in new}
    hidden = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in roots}
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(new)
    try:
        yield
    finally:
        for name in [n for n in sys.modules if n.partition(".")[0] in roots]:
            del sys.modules[name]
        sys.modules.update(hidden)
