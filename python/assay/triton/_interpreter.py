"""Triton's interpreter with the checker at each of its accesses, and with the hardware's arithmetic."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter, jit
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

from assay.triton import _loops, _numerics
from assay.triton._checker import Checker
from assay.triton._faults import Place
from assay.triton._region import Region
from assay.triton._tensor import Tensor

_not_kernels = (str(Path(triton.__file__).parent), str(Path(__file__).parent))
_types_of_numbers = (*(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)), "fp16", "bf16", "fp32", "fp64")
_acquiring, _releasing = ("ACQUIRE", "ACQUIRE_RELEASE"), ("RELEASE", "ACQUIRE_RELEASE")


class _Patches:
    """Attributes that are set, and set back in the other order."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any, bool]] = []

    def set(self, on: Any, name: str, value: Any) -> None:
        """As setattr."""
        own = name in vars(on)
        self._before.append((on, name, vars(on).get(name), own))
        setattr(on, name, value)

    def undo(self) -> None:
        """All is as before."""
        while self._before:
            on, name, value, own = self._before.pop()
            setattr(on, name, value) if own else delattr(on, name)


@contextlib.contextmanager
def checking(checker: Checker, *, chosen: int = 0) -> Iterator[Checker]:
    """Checks the launches of kernels within it, which run under the interpreter.

    chosen: which configuration an autotuned kernel takes, modulo their number.
    """
    patches = _Patches()
    hooks = _Hooks(checker, interpreter.interpreter_builder)
    try:
        hooks.install(patches)
        _without_driver(patches, chosen)
        with np.errstate(all="ignore"):
            yield checker
    finally:
        patches.undo()


def place_of_kernel() -> Place:
    """The line of the kernel that runs, and the lines that called its functions."""
    lines: list[tuple[str, int]] = []
    frame: Any = sys._getframe(1)
    launched = False
    while frame and not launched:
        name = frame.f_code.co_filename
        launched = frame.f_code is _launch_code
        if not name.startswith(_not_kernels) and not launched:
            lines.append((name, frame.f_lineno))
        frame = frame.f_back
    return Place(*lines[0], tuple(lines[1:])) if lines else Place()


_launch_code: Any = interpreter.GridExecutor.__call__.__code__


class _Hooks:
    """What stands before the builder's functions."""

    def __init__(self, checker: Checker, builder: Any) -> None:
        self.checker, self.builder = checker, builder
        self.program = (0, 0, 0)
        self.patched: set[int] | None = None  # modules that are patched for the launch that runs
        self.scopes: list[Any] = []  # what sets them back
        self.shadowed: list[dict[str, Any]] = []  # the kernels' modules in which ``range`` is that of kernels
        self.foreign: dict[int, Region] = {}
        self.atomic: tuple[str, bool] | None = None  # of the atomic load or store that runs: see _as_atomic

    def install(self, patches: _Patches) -> None:
        b = self.builder
        for name, function in _numerics.corrections(b).items():
            patches.set(b, name, function)
        for name in ("create_masked_load", "create_masked_store", "create_atomic_rmw", "create_atomic_cas",
                     "set_grid_idx"):  # fmt: skip
            patches.set(b, name, getattr(self, name)(getattr(b, name)))
        for name in ("create_atomic_load", "create_atomic_store", "create_atomic_poll"):  # of newer versions
            if hasattr(b, name):
                patches.set(b, name, self._atomically(getattr(b, name)))
        patches.set(interpreter.GridExecutor, "__call__", self._launch(interpreter.GridExecutor.__call__))
        reducing = interpreter.ReduceScanOpInterface
        patches.set(reducing, "apply", _numerics.reduced_as_numbers(reducing.apply))
        patches.set(interpreter.ReduceOps, "min_max", _numerics.extremes(interpreter.ReduceOps.min_max))
        patches.set(interpreter, "_implicit_cvt", self._convert(interpreter._implicit_cvt))
        patches.set(interpreter, "_patch_lang", self._patch_lang(interpreter._patch_lang))
        # Without debug its assertions do nothing, and cost a third of the time.
        patches.set(b, "options", dataclasses.replace(b.options, sanitize_overflow=False))
        with contextlib.suppress(ImportError):
            module = importlib.import_module("triton.language.extra.libdevice")
            for name in _numerics.libdevice:
                if hasattr(module, name):
                    patches.set(module, name, _numerics.libdevice_call(name))

    def _access(self, kind: Any, ptrs: Any, mask: Any, size: int, **more: Any) -> Any:
        home: Region | None = getattr(ptrs.dtype, "assay_region", None)
        return self.checker.access(
            kind, np.asarray(ptrs.data), mask, size, self.program, place_of_kernel, home=home, **more
        )

    def _order(self) -> dict[str, bool]:
        return {} if self.atomic is None else _as_atomic(*self.atomic)

    def create_masked_load(self, old: Any) -> Callable[..., Any]:
        def load(ptrs: Any, mask: Any, other: Any, *more: Any, **named: Any) -> Any:
            lanes = _lanes(mask)
            size = _get_np_dtype(ptrs.get_element_ty()).itemsize
            ok = self._access("load", ptrs, lanes, size, **self._order())
            if other is None and not lanes.all():
                other = _numerics.undefined(np.broadcast_to(lanes, np.shape(ptrs.data)), ptrs.get_element_ty())
            return old(ptrs, mask if ok is None else _like(mask, ok), other, *more, **named)

        return load

    def create_masked_store(self, old: Any) -> Callable[..., Any]:
        def store(ptrs: Any, value: Any, mask: Any, *more: Any, **named: Any) -> Any:
            wanted = _get_np_dtype(ptrs.get_element_ty())
            if value.data.dtype.itemsize != wanted.itemsize:  # NumPy promoted it; the store would be as wide
                value = TensorHandle(value.data.astype(wanted), value.dtype)
            ok = self._access("store", ptrs, _lanes(mask), wanted.itemsize, values=value.data, **self._order())
            return old(ptrs, value, mask if ok is None else _like(mask, ok), *more, **named)

        return store

    def create_atomic_rmw(self, old: Any) -> Callable[..., Any]:
        def rmw(op: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
            ok = self._atomic(ptr, _lanes(mask), sem, scope, "XCHG" not in str(op))
            if _last(op) == "FADD" and str(val.dtype.scalar) == "bf16":
                return _numerics.atomic_add_of_bf16(ptr, val, _lanes(mask) if ok is None else ok)
            return old(op, ptr, val, mask if ok is None else TensorHandle(ok, tl.int1), sem, scope)

        return rmw

    def create_atomic_cas(self, old: Any) -> Callable[..., Any]:
        def cas(ptr: Any, cmp: Any, val: Any, sem: Any, scope: Any) -> Any:
            ok = self._atomic(ptr, None, sem, scope, True)
            if ok is None:
                return old(ptr, cmp, val, sem, scope)
            result = np.zeros(ok.shape, cmp.data.dtype)
            parts = [TensorHandle(np.broadcast_to(h.data, ok.shape)[ok], h.dtype) for h in (ptr, cmp, val)]
            if ok.any():
                result[ok] = old(*parts, sem, scope).data
            return TensorHandle(result, cmp.dtype.scalar)

        return cas

    def _atomic(self, ptr: Any, mask: Any, sem: Any, scope: Any, reads: bool) -> Any:
        size = _get_np_dtype(ptr.get_element_ty()).itemsize
        return self._access("atomic", ptr, mask, size, reads=reads, **_as_atomic(_last(sem), _last(scope) != "CTA"))

    def _atomically(self, old: Any) -> Callable[..., Any]:
        def access(*arguments: Any, **named: Any) -> Any:
            said = [str(a) for a in (*arguments, *named.values()) if type(a).__name__.startswith("MEM_")]
            sem = next((_last(a) for a in said if "MEM_SEMANTIC" in a), "RELAXED")
            self.atomic = sem, all(_last(a) != "CTA" for a in said)
            try:
                return old(*arguments, **named)
            finally:
                self.atomic = None

        return access

    def set_grid_idx(self, old: Any) -> Callable[..., Any]:
        def begin(x: int, y: int, z: int) -> None:
            self.program = (x, y, z)
            old(x, y, z)

        return begin

    def _launch(self, old: Any) -> Callable[..., Any]:
        checker = self.checker

        def launch(executor: Any, *arguments: Any, **named: Any) -> Any:
            checker.begin_launch(getattr(executor.fn, "__name__", "a kernel"))
            for argument in (*arguments, *named.values()):
                for region in self._regions_of(argument):
                    checker.add(region)
            self.patched = set()
            try:
                return old(executor, *_as_annotated(executor, arguments), **_as_annotated(executor, named))
            finally:
                self.patched = None
                while self.scopes:
                    self.scopes.pop().restore()
                while self.shadowed:
                    self.shadowed.pop().pop("range", None)

        return launch

    def _patch_lang(self, old: Any) -> Callable[..., Any]:
        """What the interpreter sets in the language: with what older versions lack, and once for a launch.

        It sets it again for each call of a kernel's function, which takes a third of the time.
        """

        def patch(fn: Any) -> Any:
            if self.patched is not None and "range" not in fn.__globals__:  # a module's own stays
                fn.__globals__["range"] = _loops.kernel_range
                self.shadowed.append(fn.__globals__)
            modules = {id(m) for m in fn.__globals__.values() if m is tl or m is tl.core}
            if self.patched is not None and modules and modules <= self.patched:
                return _Patched()
            scope = old(fn)
            set_ = setattr if scope is None else scope.set_attr  # of 3.5: what it sets, stays set
            set_(tl, "range", _loops.language_range)
            set_(tl.dtype, "to_ir", _numerics.to_ir(tl.dtype.to_ir))
            set_(tl.core.tensor, "__bool__", _truth)
            set_(tl.core.tensor, "__index__", lambda self: int(np.asarray(self.handle.data).reshape(-1)[0]))
            if self.patched is None:
                return scope
            self.patched |= modules  # until the launch ends
            if scope is not None:
                self.scopes.append(scope)
            return _Patched()

        return patch

    def _regions_of(self, argument: Any) -> list[Region]:
        """The memory of a launch's argument: of tensors, also in tuples and descriptors, and of those of PyTorch."""
        if isinstance(argument, tuple | list):
            return [r for part in argument for r in self._regions_of(part)]
        if isinstance(argument, Tensor):
            return [argument.region]
        if hasattr(argument, "base") and not hasattr(argument, "untyped_storage"):  # a descriptor or a TensorWrapper
            return self._regions_of(argument.base)
        if hasattr(argument, "data_ptr") and hasattr(argument, "untyped_storage"):
            t = argument if getattr(argument, "_base", None) is None else argument._base
            if t.data_ptr() not in self.foreign:
                self.foreign[t.data_ptr()] = Region(
                    f"a tensor of {type(t).__module__}", t.data_ptr(), t.shape, t.stride(), t.element_size(), "foreign",
                    owner=t
                )  # fmt: skip
            return [self.foreign[t.data_ptr()]]
        return []

    def _convert(self, old: Any) -> Callable[..., Any]:
        def convert(argument: Any) -> Any:
            if isinstance(argument, float):
                return _number(argument, tl.float32)  # as a parameter of a compiled kernel: its sums overflow
            made = old(argument)
            if isinstance(argument, int) and isinstance(made, tl.tensor) and not isinstance(argument, bool):
                return _number(argument, made.dtype)  # between 2^31 and 2^32 it had 32 bits, and the type of 64
            t = argument.base if isinstance(argument, jit.TensorWrapper) else argument
            if isinstance(t, Tensor) and isinstance(made, tl.tensor):
                pointer = tl.pointer_type(made.dtype.element_ty)
                pointer.assay_region = t.region  # goes along with all that is computed of the pointer
                made.handle.dtype = pointer
            return made

        return convert


def _as_annotated(executor: Any, given: Any) -> Any:
    """Arguments of a launch: numbers of annotated parameters (``tl.int64``) in that type, as in compiled kernels."""
    if isinstance(given, tuple):
        return tuple(_as_annotated(executor, dict(zip(executor.arg_names, given, strict=False))).values())
    types = {n: str(jit._normalize_ty(t)) for n, t in inspect.get_annotations(executor.fn).items()}
    return {
        n: _number(v, tl.str_to_ty(types[n], None))
        if types.get(n) in _types_of_numbers and isinstance(v, int | float) and not isinstance(v, bool)
        else v
        for n, v in given.items()
    }


def _number(value: float, dtype: Any) -> Any:
    return tl.tensor(_numerics.number(value, dtype), dtype)


def _last(name: Any) -> str:
    return str(name).rpartition(".")[2]


def _as_atomic(sem: str, is_wide: bool) -> dict[str, bool]:
    """What the checker gets of an atomic. One whose scope is a program is none for the others, and orders nothing."""
    return {"atomic": is_wide, "acquires": is_wide and sem in _acquiring, "releases": is_wide and sem in _releasing}


def _truth(self: Any) -> bool:
    """A tensor in ``if``, ``and``, ``or``, ``not``. Of a block the interpreter says True, and drops an operand."""
    frame = sys._getframe(1)
    code = frame.f_code
    is_kernel = _loops.is_of_kernel(code)
    if not is_kernel and str(frame.f_globals.get("__name__")).startswith("triton.language."):
        return True  # Triton asks so whether it got one: of an ``other`` of 0, too
    data = np.asarray(self.handle.data)
    if data.size == 1 or not is_kernel:
        return data.size > 1 or bool(data.reshape(-1)[0])
    after = [i for i in dis.get_instructions(code) if i.offset > frame.f_lasti and i.opname != "CACHE"][:1]
    if after and "ASSERTION" in f"{after[0].opname} {after[0].argrepr}".upper():  # ``assert block`` asks all lanes
        return bool(data.all())
    raise ValueError(
        f"a block of shape {list(data.shape)} has no truth value: write & for `and`, | for `or`, ~ or == 0 for `not`, "
        "tl.where for `if`"
    )


class _Patched:
    """A scope in which nothing was set."""

    def restore(self) -> None:
        """Nothing to set back."""


def _lanes(mask: Any) -> Any:
    return mask if isinstance(mask, np.ndarray) else np.asarray(mask.data)


def _like(mask: Any, lanes: Any) -> Any:
    return lanes if isinstance(mask, np.ndarray) else TensorHandle(lanes, tl.int1)


def _without_driver(patches: _Patches, chosen: int) -> None:
    """Autotuned kernels are not timed; and a kernel that was compiled says why it cannot run."""

    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, arguments, strict=False))
        configs = self.prune_configs(named) if len(self.configs) > 1 else self.configs
        config = configs[chosen % len(configs)]
        given = {**self.nargs, **named, **config.all_kwargs()}
        if len(self.configs) > 1:
            self.pre_hook(given, reset_only=True)
        if config.pre_hook is not None:
            config.pre_hook(given)
        self.best_config = config
        return self.fn.run(*arguments, **named, **config.all_kwargs())

    def compiled(self: Any, *arguments: Any, **named: Any) -> Any:
        raise RuntimeError(
            f"{self.__name__} was made by triton.jit without TRITON_INTERPRET=1: import assay.triton before its module"
        )

    patches.set(Autotuner, "run", run)
    patches.set(jit.JITFunction, "run", compiled)
