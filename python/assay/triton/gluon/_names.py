"""The names gl, tl and their parts, as a kernel sees them, and what a kernel's globals become."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.triton.gluon import _amd, _shared, _types
from assay.triton.gluon._faults import UnknownOperation
from assay.triton.gluon._language import functions, maximum, minimum, range_
from assay.triton.gluon._types import DType
from assay.triton.gluon._values import Value


class Layout:
    """A layout: it says which lane has which element, and so changes no value."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Keeps what it is made of."""
        self.args, self.kwargs = args, kwargs

    def __getattr__(self, name: str) -> Any:
        """What it is made of."""
        if name in self.__dict__.get("kwargs", {}):
            return self.kwargs[name]
        raise AttributeError(name)

    @classmethod
    def with_identity_for(cls, *args: Any, **kwargs: Any) -> Layout:
        """Another way to make one."""
        return cls(*args, **kwargs)


class Names:
    """A module of the language: its known names; others raise UnknownOperation."""

    def __init__(self, path: str, known: Mapping[str, Any]) -> None:
        """A dict among the known is a module within it."""
        self._path, self._known = path, known

    def __getattr__(self, name: str) -> Any:
        """A function, type or module of that name."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._known:
            found = self._known[name]
            return Names(f"{self._path}.{name}", found) if isinstance(found, Mapping) else found
        if name.endswith("Layout"):
            return Layout
        raise UnknownOperation(f"{self._path}.{name}: this evaluation does not know it")


class _Constexpr:
    """tl.constexpr: constants are plain numbers here."""

    __name__ = "constexpr"

    def __call__(self, value: Any) -> Any:
        return value


_shared_names: dict[str, Any] = {"allocate_shared_memory": _shared.allocate_shared_memory}
language: dict[str, Any] = {
    **functions,
    **_types.by_name,
    **_shared_names,
    "constexpr": _Constexpr(),
    "tensor": Value,
    "dtype": DType,
    "PropagateNan": {"ALL": "ALL", "NONE": "NONE"},
    "math": functions,
    "standard": functions,
    "amd": _amd.names,
}
gl = Names("gl", language)
tl = Names("tl", language)
_triton: dict[str, Any] = {"language": language, "cdiv": functions["cdiv"], "jit": lambda f: f}
_roots: dict[str, Names] = {
    "triton": Names("triton", _triton),
    "triton.language": tl,
    "triton.experimental.gluon": Names("gluon", {"language": language, "jit": lambda f: f}),
    "triton.experimental.gluon.language": gl,
}
_of_python: dict[str, Any] = {
    "range": range_,
    "min": lambda *xs: _folded(minimum, builtins.min, xs),
    "max": lambda *xs: _folded(maximum, builtins.max, xs),
    "abs": lambda x: functions["abs"](x) if isinstance(x, Value) else builtins.abs(x),
}


def _folded(f: Callable[[Any, Any], Any], plain: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    if not any(isinstance(x, Value) for x in xs):
        return plain(*xs)
    made = xs[0]
    for x in xs[1:]:
        made = f(made, x)
    return made


def _module(name: str) -> Names | None:
    """The names of a module of Triton."""
    for root in sorted(_roots, key=len, reverse=True):
        if name == root:
            return _roots[root]
        if name.startswith(f"{root}."):
            found: Any = _roots[root]
            for part in name[len(root) + 1 :].split("."):
                found = getattr(found, part)
            return found if isinstance(found, Names) else None
    return None


def underlying(kernel: Any) -> Callable[..., Any]:
    """The Python function of a kernel: of ``triton.jit``, ``gluon.jit``, an autotuner, or the function itself."""
    while not isinstance(kernel, types.FunctionType):
        inner = getattr(kernel, "fn", None)
        if inner is None:
            raise TypeError(f"{kernel!r} is no kernel: it has no Python function")
        kernel = inner
    return kernel


def _is_of_triton(x: Any) -> bool:
    return str(getattr(x, "__module__", "")).partition(".")[0] == "triton"


def translated(name: str, x: Any) -> Any:
    """What a kernel's global, or an argument that is a constant, becomes."""
    if isinstance(x, types.ModuleType):
        return (_module(x.__name__) or x) if x.__name__.partition(".")[0] == "triton" else x
    if type(x).__name__ == "constexpr" and hasattr(x, "value"):
        return x.value
    if type(x).__name__ == "dtype" and _is_of_triton(type(x)):
        return _types.by_name.get(getattr(x, "name", ""), x)
    if _is_of_triton(type(x)) and hasattr(x, "fn"):
        inside = _is_of_triton(underlying(x))
        return functions[x.__name__] if inside and x.__name__ in functions else Device(x)
    if isinstance(x, types.FunctionType) and _is_of_triton(x):
        return _function_of_triton(name, x)
    if isinstance(x, type) and _is_of_triton(x):
        return language.get(x.__name__, Layout if x.__name__.endswith("Layout") else x)
    return x


def _function_of_triton(name: str, x: types.FunctionType) -> Any:
    """A function that was imported by its name."""
    for part, known in _modules("", language):
        if x.__module__.endswith(part) and x.__name__ in known and not isinstance(known[x.__name__], Mapping):
            return known[x.__name__]
    if x.__name__ in functions:
        return functions[x.__name__]

    def unknown(*_: Any, **__: Any) -> Any:
        raise UnknownOperation(f"{name} ({x.__module__}.{x.__name__}): this evaluation does not know it")

    return unknown


def _modules(path: str, known: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All modules within, innermost first, with the ends of their names."""
    for name, found in known.items():
        if isinstance(found, Mapping):
            yield from _modules(f"{path}.{name}", found)
    if path:
        yield path, known


class Device:
    """A kernel's function that another one calls, or that is launched."""

    def __init__(self, kernel: Any) -> None:
        """Of what ``underlying`` takes."""
        self._function = underlying(kernel)
        self._bound: Callable[..., Any] | None = None
        self.__name__ = self._function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluates it: the function's own code, with the names of the language as they are here."""
        if self._bound is None:
            self._bound = _bound(self._function)
        return self._bound(*args, **kwargs)


def _bound(f: Callable[..., Any]) -> Callable[..., Any]:
    assert isinstance(f, types.FunctionType)
    seen = f.__globals__
    names = {"__builtins__": seen.get("__builtins__", builtins), "__name__": seen.get("__name__", "")}
    names |= {
        n: translated(n, seen[n]) if n in seen else _of_python[n]
        for n in _used(f.__code__)
        if n in seen or n in _of_python
    }
    cells = tuple(types.CellType(_cell(n, c)) for n, c in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    defaults = tuple(translated("", d) for d in f.__defaults__ or ())
    made = types.FunctionType(f.__code__, names, f.__name__, defaults, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def _cell(name: str, cell: types.CellType) -> Any:
    x = cell.cell_contents
    return Device(x) if isinstance(x, types.FunctionType) and not _is_of_triton(x) else translated(name, x)


def _used(code: types.CodeType) -> set[str]:
    used = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            used |= _used(inner)
    return used
