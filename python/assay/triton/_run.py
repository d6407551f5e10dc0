"""A kernel's function on a case's tensors, under the interpreter, with the checker."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import triton

from assay import _assay
from assay.triton._checker import Checker
from assay.triton._dtypes import of_assay
from assay.triton._faults import MemoryFaults
from assay.triton._interpreter import checking
from assay.triton._live import dead_inputs, dead_outputs
from assay.triton._tensor import Tensor, wrap

if TYPE_CHECKING:
    from assay.triton._region import Role


def tensors_of(
    operation: str, problem: Mapping[str, Any], given: Mapping[str, _assay.Array], with_dead_inputs: bool = False
) -> dict[str, Tensor]:
    """A case's tensors by name, each with what the checker must know of it."""
    arrays = {name: np.asarray(memoryview(a)) for name, a in given.items()}
    dead = dead_outputs(problem, arrays) | (dead_inputs(problem, arrays) if with_dead_inputs else {})
    written: Role = "in_out" if operation == "append_kv" else "output"
    made = {}
    for name, a in given.items():
        which, why = dead.get(name, (None, ""))
        made[name] = wrap(name, arrays[name], of_assay[a.type], "input" if a.read_only else written, shape=a.shape,
                          strides=a.strides, dead=which, why_dead=why, may_lack_memory=True)  # fmt: skip
    return made


def run_call(
    fn: Callable[..., Any],
    operation: str,
    problem: Mapping[str, Any],
    given: Mapping[str, _assay.Array],
    arguments: Mapping[str, Any],
    checker: Checker,
) -> Any:
    """Calls a kernel's function; of its arguments, a case's tensors become :class:`Tensor`."""
    tensors = tensors_of(operation, problem, given)
    made = {name: tensors[name] if isinstance(a, _assay.Array) else a for name, a in arguments.items()}
    for t in tensors.values():
        checker.add(t.region)
    return run(fn, made, problem, checker)


def run(fn: Callable[..., Any], arguments: Mapping[str, Any], problem: Mapping[str, Any], checker: Checker) -> Any:
    """Calls a function under a checker. Raises MemoryFaults of all lines at fault, else what the function raised."""
    # An autotuned kernel takes the configuration that the problem's numbers choose: the same when a case is replayed.
    chosen = zlib.crc32(json.dumps(dict(problem), sort_keys=True, default=str).encode())
    try:
        with checking(checker, chosen=chosen):
            returned = fn(**arguments)
    except BaseException as e:
        if checker.faults:
            raise MemoryFaults(checker.faults) from None
        raise _inner(e) from None
    if checker.faults:
        raise MemoryFaults(checker.faults)
    return returned


def _inner(e: BaseException) -> BaseException:
    """The interpreter wraps what a kernel raises, once for each function."""
    while isinstance(e, triton.runtime.errors.InterpreterError) and e.__cause__ is not None:
        e = e.__cause__
    return e
