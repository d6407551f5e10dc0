"""How the suite calls a kernel: names in, outputs or a finding out. Runs in worker processes."""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from assay import _accesses, _assay, _names
from assay._arrays import maker, store, to_numpy
from assay._errors import Unsupported, WrongOutput, unknown

_own = ("assay", "assay.triton")  # packages whose frames say nothing about a kernel
# Of assay_status_code (kernels/library.h); exceptions have no code there.
_exception, _unsupported, _failed = -1, 2, 3
Answer = tuple[int, str, str] | None


class Call:
    """Calls a function with those tensors and numbers of a problem that its parameters name.

    A tensor that the problem does not have is None.
    """

    def __init__(self, fn: Callable[..., Any], operation: str, arrays: str) -> None:
        """Raises ValueError for a parameter that names nothing of the operation."""
        self._fn = fn
        self._make = maker(arrays)
        self._operation = operation
        self.accesses = 0  # loads and stores of the last call that were checked
        # Kernels of Triton: its interpreter takes the whole call.
        self._interpreter = importlib.import_module("assay.triton._run") if arrays == "triton" else None
        self.copies = arrays == "jax"  # for there each array is dense
        self._inputs = _names.inputs_of(operation)
        self._outputs = _names.outputs_of(operation)
        self.named, self.takes_all = _parameters(fn, operation)

    def __call__(self, problem: dict[str, Any], tensors: Mapping[str, _assay.Array]) -> Answer:
        """Runs the function on a call's tensors: None, or a status, a line on each fault, and a traceback."""
        try:
            self._take(self._run(problem, tensors), problem, tensors)
        except Unsupported as e:
            return _unsupported, str(e), ""
        except WrongOutput as e:
            return _failed, f"the kernel returned wrong outputs: {e}", ""
        except BaseException as e:  # whatever it is, it is a finding
            return _exception, "\n".join([_line_of(e), *_others_of(e)]), _trace_of(e)
        return None

    def _run(self, problem: dict[str, Any], tensors: Mapping[str, _assay.Array]) -> Any:
        arguments = self._arguments(problem, tensors)
        if self._interpreter is None:
            before = _accesses.total()
            try:
                return self._fn(**arguments)
            finally:
                self.accesses = _accesses.total() - before
        checker = self._interpreter.Checker()
        try:
            return self._interpreter.run_call(self._fn, self._operation, problem, tensors, arguments, checker)
        finally:
            self.accesses = checker.accesses

    def _arguments(self, problem: dict[str, Any], tensors: Mapping[str, _assay.Array]) -> dict[str, Any]:
        arguments = {n: self._make(tensors[n]) if n in tensors else None for n in self.tensor_names() if self.takes(n)}
        return arguments | {n: v for n, v in problem.items() if self.takes(n)}

    def tensor_names(self) -> list[str]:
        """Of the operation, those included that not every problem has."""
        return [*self._inputs, *self._outputs]

    def takes(self, name: str) -> bool:
        """Whether the function gets what has this name."""
        return self.takes_all or name in self.named

    def _take(self, returned: Any, problem: dict[str, Any], tensors: Mapping[str, _assay.Array]) -> None:
        if returned is None:
            return
        if not isinstance(returned, Mapping):
            raise WrongOutput(f"a {type(returned).__name__}, neither None nor a dict of outputs")
        there_are = [n for n in self._outputs if n in tensors]
        for name, value in returned.items():
            if name not in there_are:
                raise WrongOutput(f"{name!r}, which is no output of this problem; there are {', '.join(there_are)}")
            store(name, tensors[name], value, _rows(name, problem, tensors))


def _rows(name: str, problem: dict[str, Any], tensors: Mapping[str, _assay.Array]) -> tuple[slice, ...]:
    """Padding rows, which a kernel must not write, are left out of what is stored."""
    if name not in ("o", "lse", "o_partial", "lse_partial") or "cu_seqlens_q" not in tensors:
        return (slice(None),)
    rows = slice(int(to_numpy(tensors["cu_seqlens_q"])[-1]))
    return (slice(None), rows) if name.endswith("_partial") else (rows,)


def _parameters(fn: Callable[..., Any], operation: str) -> tuple[frozenset[str], bool]:
    """Names of the parameters, and whether it takes all others, too."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return frozenset(), True
    known = _names.parameters_of(operation)
    named = set()
    takes_all = False
    for p in parameters:
        if p.kind is p.VAR_KEYWORD:
            takes_all = True
        elif p.kind is p.POSITIONAL_ONLY:
            raise ValueError(f"the kernel's parameter {p.name!r} is positional only: tensors come by name")
        elif p.name in known:
            named.add(p.name)
        elif p.kind is not p.VAR_POSITIONAL and p.default is p.empty:
            raise unknown(f"the kernel's parameters: of {operation}", p.name, known)
    return frozenset(named), takes_all


def _line_of(e: BaseException) -> str:
    """One line that says what was raised, and where."""
    lines = str(e).splitlines()
    text = f"{type(e).__name__}: {lines[0]}" if lines else type(e).__name__
    if getattr(e, "one_line", False):  # it says itself where it was
        return text
    frames = [f for f in traceback.extract_tb(e.__traceback__) if "/site-packages/triton/" not in f.filename]
    if len(frames) < 2:
        return text
    last = frames[-1]
    return f"{text} (in {last.name}, {last.filename.rpartition('/')[2]}:{last.lineno})"


def _others_of(e: BaseException) -> list[str]:
    """One line for each further fault that the exception tells of, at other lines of the kernel."""
    return [f"{type(e).__name__}: {line}" for line in getattr(e, "others", [])]


def _trace_of(e: BaseException) -> str:
    """The traceback from the kernel on, or the exception's own report, if it has one."""
    report = getattr(e, "report", None)
    if getattr(e, "one_line", False) and report is not None:
        return str(report)
    inner = e.__traceback__
    while inner is not None and inner.tb_next is not None and inner.tb_frame.f_globals.get("__package__") in _own:
        inner = inner.tb_next
    return "".join(traceback.format_exception(type(e), e, inner))
