"""A Triton kernel as it is: its parameters' names say what it is launched with."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay import _assay, _names
from assay._errors import unknown
from assay._kernel import Declares, Kernel

Grid = Sequence[int | str] | Callable[[dict[str, Any]], Any]

# What one launch by names cannot tell a kernel, by the parameters that would.
_needs = {
    "most_rows": ({"cu_seqlens_q", "max_q"}, 1),  # else a row is a sequence
    "no_lse": ({"lse"}, 1),
    "no_q_transposed": ({"q_stride_2"}, 1),
}
# The interpreter is slow.
_small = {"most_sequences": 64}


class Launch:
    """Launches a Triton kernel on the tensors and numbers of a problem that its parameters name.

    A parameter is the name of a tensor or of a number of the problem, in capitals or not, or a tensor's stride in
    elements: ``k_stride_0`` (0 of a tensor that the problem lacks). All others are constants.
    """

    def __init__(self, jit: Any, grid: Grid, operation: str, constants: Mapping[str, Any]) -> None:
        """Raises ValueError for a parameter that is none of these."""
        if operation not in _assay.kernels:
            raise unknown("operation", operation, _assay.kernels)
        self._jit, self._grid, self._constants = jit, grid, dict(constants)
        fn, configured = _function_of(jit)
        self.__name__ = self.__qualname__ = fn.__name__
        self.__code__ = fn.__code__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        tensors = {*_names.inputs_of(operation), *_names.outputs_of(operation)}
        named = set()
        self.strides: dict[str, tuple[str, int]] = {}
        self._plain: dict[str, str] = {}  # the kernel's name for it, and ours
        for p in inspect.signature(fn).parameters.values():
            ours = p.name if p.name in tensors else p.name.lower()
            stride = re.fullmatch(r"(\w+)_stride_(\d)", ours)
            if p.name in self._constants or p.name in configured:
                continue
            if ours in tensors or ours in _assay.problem_fields:
                self._plain[p.name] = ours
                named.add(ours)
            elif stride and stride[1] in tensors:
                self.strides[p.name] = stride[1], int(stride[2])
                named.add(stride[1])
            elif p.default is p.empty:
                there_are = [*_names.parameters_of(operation), *(f"{t}_stride_0" for t in tensors)]
                raise unknown(f"the kernel's parameters: of {operation}", p.name, there_are)
        if not callable(grid):
            for extent in grid:
                if isinstance(extent, str) and extent not in _assay.problem_fields:
                    raise unknown("grid", extent, _assay.problem_fields)
                named |= {extent} if isinstance(extent, str) else set()
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in sorted(named)]
        )

    def __call__(self, **given: Any) -> None:
        """One launch, with the arguments that Kernel gives to functions."""
        arguments = {theirs: given[ours] for theirs, ours in self._plain.items()}
        for theirs, (tensor, dimension) in self.strides.items():
            t = given[tensor]
            arguments[theirs] = 0 if t is None else t.stride(dimension)
        grid: Any = self._grid
        if callable(grid):  # the interpreter would give it blocks in place of tensors
            grid = functools.partial(_with_tensors, grid, arguments)
        else:
            grid = tuple(given[extent] if isinstance(extent, str) else extent for extent in grid)
        self._jit[grid](**arguments, **self._constants)

    def inferred(self, operation: str) -> dict[str, int]:
        """Of ``supports``: what the parameters say that the kernel does not take, and small cases."""
        if operation not in ("split_kv", "batch_prefill"):
            return dict(_small)
        lower = {name.lower() for name in [*self._plain, *self.strides]}
        return _small | {field: value for field, (by, value) in _needs.items() if not by & lower}


def kernel(
    jit: Any = None, *, grid: Grid, operation: str = "split_kv", supports: Mapping[str, Any] | None = None,
    declares: Declares | None = None, constants: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Makes an :class:`assay.Kernel` of a Triton kernel, launched once, by the names of its parameters.

    >>> @assay.triton.kernel(grid=("num_seqs", "heads_q"), supports={"types": "f16"})  # doctest: +SKIP
    ... @triton.jit
    ... def decode(q, k, v, block_table, seqlens_k, o, q_stride_0, ..., PAGE_SIZE: tl.constexpr): ...
    >>> print(decode.verify(cases=100))  # doctest: +SKIP

    A parameter names a tensor (``q``), a number of the problem (``page_size``, ``HEAD_DIM_QK``), or a stride of a
    tensor, in elements (``k_stride_0`` is that of pages). Others have a default, or their value in ``constants``.

    grid: extents, each a number or the name of a number of the problem; or a function of the launch's arguments, as
        Triton takes it.
    supports, declares, operation: as :class:`assay.Kernel`. Unless ``supports`` says otherwise: a kernel without the
        parameter ``lse`` does not write it, one with neither ``cu_seqlens_q`` nor ``max_q`` takes one row of each
        sequence, one without ``q_stride_2`` takes no transposed Q; and cases have up to 64 sequences.

    Raises ValueError that names a wrong parameter, field or extent, and what there is.
    """

    def make(decorated: Any) -> Kernel:
        launch = Launch(decorated, grid, operation, constants or {})
        of_it = {**launch.inferred(operation), **(supports or {})}
        return Kernel(launch, operation, supports=of_it, declares=declares, arrays="triton")

    return make if jit is None else make(jit)


def _with_tensors(grid: Callable[[dict[str, Any]], Any], tensors: dict[str, Any], meta: Mapping[str, Any]) -> Any:
    return grid({**meta, **tensors})


def _function_of(jit: Any) -> tuple[Any, set[str]]:
    """The Python function under ``triton.jit``, ``autotune`` and ``heuristics``, and the parameters that these set."""
    configured: set[str] = set()
    while not inspect.isfunction(jit):
        for c in getattr(jit, "configs", ()):
            configured |= set(c.kwargs)
        configured |= set(getattr(jit, "values", ()) or ())
        if not hasattr(jit, "fn"):
            raise ValueError(f"{jit!r} is no kernel of triton.jit")
        jit = jit.fn
    return jit, configured
