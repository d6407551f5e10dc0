"""Launches: a kernel's function for each program of a grid."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.triton.gluon import _types
from assay.triton.gluon._faults import KernelFault
from assay.triton.gluon._memory import Buffer, buffer_of
from assay.triton.gluon._names import Device, translated, underlying
from assay.triton.gluon._state import Run, current, enter
from assay.triton.gluon._values import Pointer, Value

# What a launch says to the compiler alone.
_options = {
    "num_warps", "num_stages", "num_ctas", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "maxnreg", "cluster_dims",
    "enable_fp_fusion", "warmup", "instruction_sched_variant", "schedule_hint",
}  # fmt: skip
_collectors: list[list[Run]] = []


@contextmanager
def collect() -> Iterator[list[Run]]:
    """Launches within go on after faults of memory; the list has their runs, with ``faults`` and ``lines``."""
    seen: list[Run] = []
    _collectors.append(seen)
    try:
        yield seen
    finally:
        _collectors.remove(seen)


class Kernel:
    """A kernel that is launched as Triton's are: ``Kernel(f)[grid](arguments)``; f is not changed.

    signature: the types of arguments as the compiler is told them, by parameter: "i32", "i64", "fp32", "*fp32",
        "constexpr". Without one they are those that Triton would choose.
    multiples: by parameter: what its number, or the address of its tensor, is promised to be a multiple of.
    constants: by parameter: what it was compiled with. A launch's own values for these mean nothing.
    """

    def __init__(
        self,
        kernel: Any,
        signature: Mapping[str, str] | None = None,
        multiples: Mapping[str, int] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        """Of a function of ``triton.jit`` or ``gluon.jit``, or a plain one."""
        self._device = Device(kernel)
        self._parameters = inspect.signature(underlying(kernel)).parameters
        self._signature, self._multiples = dict(signature or {}), dict(multiples or {})
        self._constants = dict(constants or {})
        self.__name__ = self._device.__name__
        self.hash = self.__name__

    def __getitem__(self, grid: Any) -> Callable[..., Run]:
        """With a grid of up to three numbers, or a function of the arguments that returns it."""

        def launched(*args: Any, **kwargs: Any) -> Run:
            return self._launch(grid, args, kwargs)

        return launched

    def _launch(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Run:
        given = {k: v for k, v in kwargs.items() if k in self._parameters or k not in _options}
        bound = inspect.Signature(list(self._parameters.values())).bind(*args, **given)
        bound.apply_defaults()
        raw = dict(bound.arguments) | self._constants
        shape = grid(raw) if callable(grid) else grid
        counts = tuple(operator.index(n) for n in (shape if isinstance(shape, Sequence) else (shape,)))
        run = Run(counts, goes_on=bool(_collectors))
        for seen in _collectors:
            seen.append(run)
        before = enter(run)
        try:
            values = {name: self._argument(name, x) for name, x in raw.items()}
            buffers = [x.buffer for x in values.values() if isinstance(x, Pointer)]
            for b in buffers:
                b.begin()
            with np.errstate(all="ignore"):
                self._programs(run, counts, values)
        finally:
            enter(before)
        if run.faults and not run.goes_on:
            raise next(iter(run.faults.values()))
        return run

    def _programs(self, run: Run, counts: tuple[int, ...], values: dict[str, Any]) -> None:
        for number, ids in enumerate(itertools.product(*(range(n) for n in reversed(counts)))):
            run.program, run.number = tuple(reversed(ids)), number
            run.in_flight.clear()
            run.open_group.clear()
            try:
                self._device(**values)
            except KernelFault:
                raise
            except Exception as e:
                e.add_note(f"in program {run.program} of {self.__name__}")
                raise

    def _argument(self, name: str, x: Any) -> Any:
        stated = self._signature.get(name, "")
        annotation = self._parameters[name].annotation
        told = str(getattr(annotation, "__name__", annotation))
        if stated == "constexpr" or "constexpr" in told:
            return translated(name, x)
        if x is None or isinstance(x, tuple | str):
            return x
        if isinstance(x, bool | int | float | np.integer | np.floating):
            return self._number(name, x, stated or _annotated(annotation))
        buffer = buffer_of(name, x)
        if stated and stated.lstrip("*") not in _names_of(buffer.dtype):
            raise TypeError(f"{name}: elements of {buffer.dtype} where the signature has {stated}")
        if buffer.address % self._multiples.get(name, 1):
            current().report(
                "undefined", f"the address of {name} is promised to be a multiple of {self._multiples[name]}"
            )
        return Pointer(buffer, 0)

    def _number(self, name: str, x: Any, stated: str) -> Value:
        dtype = _types.by_name.get(stated) or _types.of_number(x if isinstance(x, float) else int(x))
        if not dtype.is_float and dtype.kind != "bool":
            info = np.iinfo(dtype.held)
            if not info.min <= x <= info.max:
                raise OverflowError(f"{name} = {x} does not fit {dtype}")
            if int(x) % self._multiples.get(name, 1):
                current().report("undefined", f"{name} = {x} is promised to be a multiple of {self._multiples[name]}")
        return Value(x, dtype)


def _annotated(annotation: Any) -> str:
    name = getattr(annotation, "name", annotation)
    return name if isinstance(name, str) and name in _types.by_name else ""


def _names_of(dtype: _types.DType) -> set[str]:
    return {name for name, t in _types.by_name.items() if t is dtype}


def launch(kernel: Any, grid: Any, *args: Any, **kwargs: Any) -> Run:
    """``Kernel(kernel)[grid](*args, **kwargs)``."""
    return Kernel(kernel)[grid](*args, **kwargs)


__all__ = ["Buffer", "Kernel", "Run", "collect", "launch"]
