"""One case under the checker, in this process."""

from __future__ import annotations

import copy
from typing import Any

from assay._case import Case, Source, case
from assay._kernel import Kernel
from assay.triton._checker import Checker
from assay.triton._faults import Fault, MemoryFaults
from assay.triton._run import run, tensors_of


def check(kernel: Kernel, source: Source, *, keep_going: bool = True) -> list[Fault]:
    """Runs a kernel on a case: what it did wrong to memory, one fault for each kind and line; empty if nothing.

    keep_going: after a fault the kernel goes on without the lanes at fault; else the first one ends it. The outputs
    are not judged. What the kernel raises itself is raised, unless there is a fault.
    """
    c: Case = case(source)
    given = c._native.inputs()
    outputs = c._native.outputs([])
    every = {**given, **outputs.arrays()}
    tensors = tensors_of(kernel.operation, c.problem, every)
    named: dict[str, Any] = copy.copy(c.problem)
    call = kernel._call
    arguments = {n: tensors.get(n) for n in call.tensor_names() if call.takes(n)}
    arguments |= {n: v for n, v in named.items() if call.takes(n)}
    try:
        run(kernel.fn, arguments, c.problem, Checker((t.region for t in tensors.values()), keep_going=keep_going))
    except MemoryFaults as e:
        return e.faults
    return []
