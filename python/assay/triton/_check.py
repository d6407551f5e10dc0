"""One case under the checker, in this process."""

from __future__ import annotations

from typing import Any

from assay._case import Case, Source, case
from assay._kernel import Kernel
from assay.triton._checker import Checker
from assay.triton._faults import Fault, MemoryFaults
from assay.triton._run import run, tensors_of


def check(kernel: Kernel, source: Source, *, keep_going: bool = True, dead_loads: bool = False) -> list[Fault]:
    """Runs a kernel on a case: what it did wrong to memory, one fault for each kind and line; empty if nothing.

    keep_going: after a fault the kernel goes on without the lanes at fault; else the first one ends it. The outputs
    are not judged. dead_loads: the lines that load dead elements of inputs are included (kind "dead load"). What the
    kernel raises itself is raised, unless there is a fault.
    """
    c: Case = case(source)
    outputs = c._native.outputs([])
    tensors = tensors_of(kernel.operation, c.problem, {**c._native.inputs(), **outputs.arrays()}, dead_loads)
    call = kernel._call
    arguments: dict[str, Any] = {n: tensors.get(n) for n in call.tensor_names() if call.takes(n)}
    arguments |= {n: v for n, v in c.problem.items() if call.takes(n)}
    checker = Checker((t.region for t in tensors.values()), keep_going=keep_going, tells_dead_loads=dead_loads)
    try:
        run(kernel.fn, arguments, c.problem, checker)
    except MemoryFaults as e:
        return e.faults
    return []


def loads_of_dead_memory(kernel: Kernel, c: Case) -> str:
    """The lines of a kernel that load dead elements on a case, for a reader who looks for a wrong value's cause."""
    try:
        found = [f for f in check(kernel, c, dead_loads=True) if f.kind == "dead load"]
    except BaseException:  # another finding has what it raises
        return ""
    return "\n".join(
        ["dead memory was loaded, which is no mistake unless it was used:", *map(str, found)] if found else []
    )
