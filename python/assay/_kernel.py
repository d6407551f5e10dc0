"""A kernel: a function, what it takes, and what it declares of its arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

from assay import _assay, _supports
from assay._call import Call
from assay._errors import unknown

if TYPE_CHECKING:
    from assay._case import Case
    from assay._result import Result

Declares = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]


class Kernel:
    """A function as a kernel of an operation.

    fn: gets keyword arguments: tensors as arrays and the problem's numbers, those that its parameters name, or all
        with ``**kwargs``. A tensor that a problem lacks is None. It writes outputs in place, or returns them in a dict.
        Arrays live as long as the call.
    operation: the name that ``assay list kernels`` prints: "split_kv", "batch_prefill", "mqa_logits", "append_kv".
    supports: what it takes, by the fields of kernels/support.h: ``{"types": ["f16"], "no_sinks": 1}``. What its
        parameters do not name (``bias``, ``window``, ``causal``, ...) it does not take.
    declares: its contract by the fields of kernels/contract.hpp, or a function of the problem's numbers that returns
        them. None: the types alone are known.
    arrays: "numpy", "torch", "jax", "dlpack" or "triton" (see :mod:`assay.triton`).

    Raises ValueError that names a wrong field, value or parameter, and what there is.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        operation: str = "split_kv",
        *,
        supports: Mapping[str, Any] | None = None,
        declares: Declares | None = None,
        arrays: str = "numpy",
    ) -> None:
        if operation not in _assay.kernels:
            raise unknown("operation", operation, _assay.kernels)
        self.fn = fn
        self.operation = operation
        self.declares = declares
        self._arrays = arrays
        functools.update_wrapper(self, fn, updated=())
        self.__name__: str = getattr(fn, "__name__", type(fn).__name__)
        self._call = call = Call(fn, operation, arrays)
        self.supports_json = _supports.to_json(supports, operation, call.named, call.takes_all, call.copies)
        self.label = _label(fn)
        self._native = _assay.Kernel(
            operation, self.label, call, None if declares is None else self.contract, self.supports_json
        )
        _assay.cases(operation, self.supports_json, 0, 1)  # raises where no case is within the support
        if declares is not None and not callable(declares):
            self._check_contract()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        """Function and operation."""
        return f"<assay.Kernel {self.label} of {self.operation}>"

    def verify(self, **options: Any) -> Result:
        """As :func:`assay.verify`."""
        from assay._verify import verify

        return verify(self, **options)

    def contract(self, problem: dict[str, Any]) -> dict[str, Any]:
        """What it declares of a problem."""
        stated = self.declares(problem) if callable(self.declares) else self.declares
        if not isinstance(stated, Mapping):
            raise ValueError(f"declares: {stated!r} is not a dict of a contract's fields")
        return dict(stated)

    def hint(self, c: Case, limit: float) -> str:
        """What may have led to wrong values on a case; empty but for kernels of Triton."""
        if self._arrays != "triton":
            return ""
        from assay.triton._check import loads_of_dead_memory

        reply, _, _ = _assay.isolate(lambda: loads_of_dead_memory(self, c), 2 * limit)
        return reply or ""

    def _check_contract(self) -> None:
        """Raises ValueError where a field or its value is wrong, before any case runs."""
        from assay._case import Case

        first = _assay.cases(self.operation, self.supports_json, 1, 1)[0]
        Case(first, "a case").enclosure(self.contract({}))


@overload
def kernel(fn: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(fn: None = None, **options: Any) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a :class:`Kernel` of a function: ``@assay.kernel`` or ``@assay.kernel(supports=..., declares=...)``."""
    if fn is not None:
        return Kernel(fn, **options)
    return lambda decorated: Kernel(decorated, **options)


def _label(fn: Callable[..., Any]) -> str:
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__qualname__", type(fn).__name__)
    return f"{code.co_filename.rpartition('/')[2]}:{name}" if code is not None else name
