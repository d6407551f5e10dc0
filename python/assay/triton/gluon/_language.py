"""The functions of gl and tl that carry values. Layouts are accepted and mean nothing here."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from assay.triton.gluon import _access, _types
from assay.triton.gluon._faults import UnknownOperation
from assay.triton.gluon._state import current
from assay.triton.gluon._types import Array, DType
from assay.triton.gluon._values import Pointer, Value, sizes, together, value_of

F = TypeVar("F", bound=Callable[..., Any])
functions: dict[str, Callable[..., Any]] = {}


def _known(f: F) -> F:
    functions[f.__name__.rstrip("_")] = f
    return f


@_known
def program_id(axis: Any) -> Value:
    """The program's number along an axis of the grid."""
    ids = (*current().program, 0, 0)
    return Value(ids[operator.index(axis)], _types.int32)


@_known
def num_programs(axis: Any) -> Value:
    """The grid's size along an axis."""
    return Value((*current().grid, 1, 1)[operator.index(axis)], _types.int32)


@_known
def arange(start: Any, end: Any, layout: Any = None) -> Value:
    """Start .. end - 1, i32."""
    return Value(np.arange(operator.index(start), operator.index(end)), _types.int32)


@_known
def full(shape: Any, value: Any, dtype: DType, layout: Any = None) -> Value:
    """One number everywhere."""
    return Value(np.broadcast_to(value_of(value, dtype).to(dtype).a, sizes((shape,))), dtype)


@_known
def zeros(shape: Any, dtype: DType, layout: Any = None) -> Value:
    """0 everywhere."""
    return full(shape, 0, dtype)


@_known
def zeros_like(x: Value, shape: Any = None, dtype: DType | None = None, layout: Any = None) -> Value:
    """0 in the shape and type of another."""
    return full(x.shape if shape is None else shape, 0, dtype or x.dtype)


@_known
def full_like(x: Value, value: Any, shape: Any = None, dtype: DType | None = None, layout: Any = None) -> Value:
    """One number in the shape and type of another."""
    return full(x.shape if shape is None else shape, value, dtype or x.dtype)


@_known
def where(condition: Any, x: Any, y: Any) -> Any:
    """X where the condition is true, else y."""
    chosen = value_of(condition)
    if isinstance(x, Pointer) or isinstance(y, Pointer):
        if not (isinstance(x, Pointer) and isinstance(y, Pointer) and x.buffer is y.buffer):
            raise UnknownOperation("where: pointers into two tensors")
        return Pointer(x.buffer, np.where(chosen.a, x.offsets, y.offsets))
    if isinstance(x, Value) and isinstance(y, Value) and x.dtype is y.dtype:
        return Value(np.where(chosen.a, x.a, y.a), x.dtype)
    a, b, dtype = together(x, y)
    return Value(np.where(chosen.a, a, b), dtype)


@_known
def load(pointer: Any, mask: Any = None, other: Any = None, **hints: Any) -> Value:
    """Elements at addresses; hints on caches mean nothing here."""
    _hints("load", hints, "cache_modifier", "eviction_policy", "volatile", "boundary_check", "padding_option")
    return _access.load(_pointer(pointer), mask, other)


@_known
def store(pointer: Any, value: Any, mask: Any = None, **hints: Any) -> None:
    """Elements to addresses."""
    _hints("store", hints, "cache_modifier", "eviction_policy", "boundary_check")
    _access.store(_pointer(pointer), value, mask)


def _pointer(x: Any) -> Pointer:
    if not isinstance(x, Pointer):
        raise TypeError(f"a {type(x).__name__} where a pointer is needed")
    return x


def _hints(name: str, given: dict[str, Any], *known: str) -> None:
    for hint, value in given.items():
        if hint not in known or (hint in ("boundary_check", "padding_option") and value):
            raise UnknownOperation(f"{name}({hint}={value!r})")


def _same(name: str) -> None:
    """A function that changes layouts or hints alone."""

    def f(x: Any, *_: Any, **__: Any) -> Any:
        return x

    f.__name__ = name
    functions[name] = f


for _name in ("convert_layout", "set_auto_layout", "max_contiguous", "max_constancy", "to_tensor"):
    _same(_name)


@_known
def multiple_of(x: Any, values: Any) -> Any:
    """A promise that is checked."""
    given = x.offsets if isinstance(x, Pointer) else value_of(x).a
    step = sizes((values,)) if not isinstance(values, int) else (values,)
    if len(step) == 1 and given.ndim == 0 and int(given) % step[0]:
        current().report("undefined", f"{int(given)} is promised to be a multiple of {step[0]}")
    return x


@_known
def assume(condition: Any) -> None:
    """A promise that is checked."""
    if not value_of(condition):
        current().report("undefined", "what the kernel assumes is not so")


@_known
def device_assert(condition: Any, message: Any = "", mask: Any = None) -> None:
    """A promise that is checked."""
    holds = value_of(condition).a if mask is None else value_of(condition).a | ~value_of(mask).a
    if not np.all(holds):
        current().report("undefined", f"the kernel's assertion fails: {message}")


@_known
def static_assert(condition: Any, message: Any = "") -> None:
    """Of constants."""
    if not condition:
        raise AssertionError(f"static_assert: {message}")


for _name in ("static_print", "device_print", "debug_barrier", "barrier", "thread_barrier"):
    functions[_name] = lambda *_, **__: None


@_known
def cdiv(x: Any, y: Any) -> Any:
    """(x + y - 1) / y, truncated."""
    if isinstance(x, int) and isinstance(y, int):
        return -(-x // y)
    return (value_of(x, getattr(y, "dtype", None)) + y - 1) // y


def _pairwise(name: str, f: Callable[[Array, Array], Array]) -> Callable[..., Any]:
    def of(x: Any, y: Any, propagate_nan: Any = None) -> Any:
        if not isinstance(x, Value) and not isinstance(y, Value):
            return min(x, y) if name == "minimum" else max(x, y)
        a, b, dtype = together(x, y)
        keeps_nan = propagate_nan is not None and "ALL" in str(propagate_nan)
        return Value((f if keeps_nan else {"minimum": np.fmin, "maximum": np.fmax}[name])(a, b), dtype)

    of.__name__ = name
    return _known(of)


minimum = _pairwise("minimum", np.minimum)
maximum = _pairwise("maximum", np.maximum)


@_known
def clamp(x: Any, least: Any, most: Any, propagate_nan: Any = None) -> Value:
    """Between two bounds."""
    bounded: Value = minimum(maximum(x, least), most)
    return bounded


def _elementwise(name: str, f: Callable[[Array], Array], *, floats: bool = True) -> None:
    def of(x: Any) -> Value:
        v = value_of(x)
        if floats and not v.dtype.is_float:
            raise TypeError(f"{name} of {v.dtype}")
        exact = f(v.a.astype(np.float64)) if v.dtype.is_float else f(v.a)
        return Value(_types.rounded(exact, v.dtype), v.dtype)

    of.__name__ = name
    _known(of)


_of_floats: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt, "sqrt_rn": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "floor": np.floor, "ceil": np.ceil,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
for _name, _f in _of_floats.items():
    _elementwise(_name, _f)
_elementwise("abs", np.abs, floats=False)


@_known
def fma(x: Any, y: Any, z: Any) -> Value:
    """X y + z, rounded once: exact in f64 but for the sum's own rounding."""
    a, b, dtype = together(x, y)
    c = value_of(z, dtype).to(dtype).a
    if not dtype.is_float:
        return Value(a * b + c, dtype)
    return Value(_types.rounded(a.astype(np.float64) * b + c, dtype), dtype)


@_known
def div_rn(x: Any, y: Any) -> Value:
    """The nearest quotient."""
    return value_of(x) / value_of(y)


@_known
def reduce(x: Any, axis: Any, combine_fn: Callable[..., Any], keep_dims: Any = False) -> Any:
    """By a function of two values, in a tree that joins halves."""
    parts = x if isinstance(x, tuple) else (x,)
    along = operator.index(axis) if axis is not None else 0
    if axis is None:
        parts = tuple(p.reshape(p.a.size) for p in parts)
    while (n := parts[0].shape[along]) > 1:
        if n % 2:
            raise ValueError(f"reduce of {n} elements: they are no power of two")
        first, second = ([_half(p, along, i) for p in parts] for i in (0, 1))
        joined = combine_fn(*first, *second)
        parts = joined if isinstance(joined, tuple) else (joined,)
    if not keep_dims:
        parts = tuple(Value(np.squeeze(p.a, along), p.dtype) for p in parts)
    return parts if isinstance(x, tuple) else parts[0]


def _half(x: Value, axis: int, which: int) -> Value:
    middle = x.shape[axis] // 2
    return Value(np.take(x.a, range(which * middle, (which + 1) * middle), axis), x.dtype)


def _reduction(name: str, f: Callable[[Any, Any], Any]) -> None:
    def of(x: Any, axis: Any = None, keep_dims: Any = False, dtype: DType | None = None) -> Any:
        v = value_of(x)
        if dtype is not None:
            v = v.to(dtype)
        elif not v.dtype.is_float and v.dtype.bits < 32:
            v = v.to(_types.int32)
        return reduce(v, axis, f, keep_dims)

    of.__name__ = name
    _known(of)


_reduction("sum", operator.add)
_reduction("max", maximum)
_reduction("min", minimum)
_reduction("xor_sum", operator.xor)


@_known
def dot(a: Value, b: Value, acc: Any = None, *_: Any, out_dtype: DType = _types.float32, **__: Any) -> Value:
    """A matrix product plus acc: products and sums in f64, rounded once to the type of acc. FP8 sums are exact so."""
    if a.dtype.is_float != b.dtype.is_float or a.shape[-1] != b.shape[-2]:
        raise TypeError(f"a product of {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}")
    if not a.dtype.is_float:
        whole = a.a.astype(np.int64) @ b.a.astype(np.int64)
        return Value(whole if acc is None else whole + acc.a, _types.int32)
    dtype = acc.dtype if isinstance(acc, Value) else out_dtype
    exact = a.a.astype(np.float64) @ b.a.astype(np.float64)
    if acc is not None:
        exact = exact + value_of(acc).a
    return Value(_types.rounded(exact, dtype), dtype)


@_known
def broadcast(x: Value, y: Value) -> tuple[Value, Value]:
    """Both in their common shape."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    return x.broadcast_to(shape), y.broadcast_to(shape)


def _of_method(name: str) -> None:
    def f(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    f.__name__ = name
    functions[name] = f


for _name in ("reshape", "view", "permute", "trans", "broadcast_to", "expand_dims", "cast"):
    _of_method(_name)


@_known
def join(x: Value, y: Value) -> Value:
    """Along a new last dimension of two elements."""
    return Value(np.stack([x.a, y.a], axis=-1), x.dtype)


@_known
def split(x: Value) -> tuple[Value, Value]:
    """The two elements of the last dimension."""
    return Value(x.a[..., 0], x.dtype), Value(x.a[..., 1], x.dtype)


_loop_hints = (
    "num_stages",
    "loop_unroll_factor",
    "disallow_acc_multi_buffer",
    "flatten",
    "warp_specialize",
    "disable_licm",
)


def range_(*bounds: Any, **hints: Any) -> Iterator[Value]:
    """Python's range of a kernel: its numbers are i32 scalars, as they are in Triton."""
    _hints("range", hints, *_loop_hints)
    wide = any(isinstance(b, Value) and b.dtype.bits == 64 for b in bounds)
    for i in range(*(operator.index(b) for b in bounds)):
        yield Value(i, _types.int64 if wide else _types.int32)


def static_range(*bounds: Any, **_: Any) -> Iterator[int]:
    """Numbers that are constants of the kernel."""
    yield from range(*(operator.index(b) for b in bounds))


functions |= {"range": range_, "static_range": static_range}
