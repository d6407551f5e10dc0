"""Values of a kernel: tensors and scalars with Triton's types and arithmetic, and pointers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.triton.gluon import _types
from assay.triton.gluon._faults import UnknownOperation
from assay.triton.gluon._memory import Buffer
from assay.triton.gluon._state import current
from assay.triton.gluon._types import Array, DType


class Value:
    """A tensor, or a scalar (no dimensions), of numbers. Its array is never changed."""

    if TYPE_CHECKING:  # _install() makes them

        def __add__(self, other: Any) -> Value: ...
        def __sub__(self, other: Any) -> Value: ...
        def __truediv__(self, other: Any) -> Value: ...
        def __floordiv__(self, other: Any) -> Value: ...

    def __init__(self, array: Any, dtype: DType) -> None:
        """The array holds values of the type: see _types."""
        self.a: Array = np.asarray(array, dtype=dtype.held)
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """As of arrays."""
        return tuple(self.a.shape)

    @property
    def type(self) -> DType:
        """Its element type: shapes and layouts of types are not known here."""
        return self.dtype

    @property
    def T(self) -> Value:  # noqa: N802  Triton's name
        """The last two dimensions swapped."""
        return self.trans()

    def to(self, dtype: DType, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Value:
        """Of another type: rounded to it, or the same bits."""
        if fp_downcast_rounding not in (None, "rtne"):
            raise UnknownOperation(f"rounding {fp_downcast_rounding!r} of a conversion")
        if bitcast:
            bits = np.ascontiguousarray(_types.encode(self.a, self.dtype))
            if dtype.bytes != self.dtype.bytes:
                raise ValueError(f"a bitcast of {self.dtype} to {dtype}: their sizes differ")
            return Value(_types.decode(bits.view(dtype.stored).reshape(self.shape), dtype), dtype)
        return self if dtype is self.dtype else Value(_types.rounded(self.a, dtype), dtype)

    cast = to

    def __getitem__(self, index: Any) -> Value:
        """With None and full slices, which make new dimensions of one element."""
        return Value(self.a[_new_axes(index)], self.dtype)

    def reshape(self, *shape: Any) -> Value:
        """Elements in the order of rows."""
        return Value(self.a.reshape(sizes(shape)), self.dtype)

    view = reshape

    def permute(self, *order: Any) -> Value:
        """Dimensions in another order."""
        return Value(self.a.transpose(sizes(order)), self.dtype)

    def trans(self, *order: Any) -> Value:
        """Dimensions in another order; without one, the last two swapped."""
        return self.permute(*order) if order else Value(np.swapaxes(self.a, -1, -2), self.dtype)

    def broadcast_to(self, *shape: Any) -> Value:
        """Repeated along dimensions of one element."""
        return Value(np.broadcast_to(self.a, sizes(shape)), self.dtype)

    def expand_dims(self, axis: Any) -> Value:
        """A new dimension of one element, or several."""
        return Value(np.expand_dims(self.a, axis if isinstance(axis, int) else sizes((axis,))), self.dtype)

    def item(self) -> Any:
        """The number of a scalar, or of a tensor of one element."""
        return self.a.reshape(-1)[0].item() if self.a.size == 1 else self._not_scalar()

    def _not_scalar(self) -> Any:
        raise TypeError(f"a tensor of shape {list(self.shape)} where a scalar is needed")

    def __index__(self) -> int:
        """Of integer scalars."""
        if self.dtype.is_float:
            raise TypeError(f"a {self.dtype} where an integer is needed")
        return int(self.item())

    def __int__(self) -> int:
        """Of integer scalars."""
        return self.__index__()

    def __bool__(self) -> bool:
        """Of scalars: whether it is not 0."""
        return bool(self.item())

    def __iter__(self) -> Any:
        """Not of tensors."""
        raise TypeError("a kernel cannot go over the elements of a tensor")

    def __neg__(self) -> Value:
        """Floats: the other sign; integers: 0 - x."""
        return Value(-self.a, self.dtype) if self.dtype.is_float else _operations["sub"](0, self)

    def __pos__(self) -> Value:
        """Itself."""
        return self

    def __invert__(self) -> Value:
        """Bits of integers, or not."""
        return Value(~self.a, self.dtype)

    def __hash__(self) -> int:
        """By identity: comparisons make tensors."""
        return id(self)

    def __repr__(self) -> str:
        """Type, shape and numbers."""
        return f"<{self.dtype}{list(self.shape)} {self.a}>"

    def __getattr__(self, name: str) -> Any:
        """Functions of the language that are methods, too: ``x.sum(axis=0)``."""
        if name.startswith("_"):
            raise AttributeError(name)
        from assay.triton.gluon._language import functions

        if name in functions:
            return lambda *args, **kwargs: functions[name](self, *args, **kwargs)
        raise UnknownOperation(f"tensor.{name}")


def sizes(given: Sequence[Any]) -> tuple[int, ...]:
    """Of ``f(2, 3)`` as of ``f([2, 3])``: whole numbers."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = given[0]
    return tuple(operator.index(n) for n in given)


def _new_axes(index: Any) -> tuple[Any, ...]:
    parts = index if isinstance(index, tuple) else (index,)
    for p in parts:
        if p is not None and p != slice(None):
            raise UnknownOperation(f"a tensor's element or part ([{p}]): only None and : are known")
    return parts


@dataclass(frozen=True)
class PointerType:
    """The type of a pointer."""

    element_ty: DType

    def is_ptr(self) -> bool:
        """It is one."""
        return True

    @property
    def scalar(self) -> PointerType:
        """Itself, as Triton has it."""
        return self


class Pointer:
    """A pointer, or a tensor of them, into one buffer: offsets in elements from its first one, i64."""

    def __init__(self, buffer: Buffer, offsets: Any) -> None:
        """Any offsets: what is outside is reported when it is accessed."""
        self.buffer = buffer
        self.offsets = np.asarray(offsets, dtype=np.int64)

    @property
    def type(self) -> PointerType:
        """With the element type."""
        return PointerType(self.buffer.dtype)

    dtype = type

    @property
    def shape(self) -> tuple[int, ...]:
        """As of arrays."""
        return tuple(self.offsets.shape)

    def __add__(self, other: Any) -> Pointer:
        """Further by so many elements."""
        return Pointer(self.buffer, self.offsets + _steps(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pointer:
        """Back by so many elements."""
        return Pointer(self.buffer, self.offsets - _steps(other))

    def __getitem__(self, index: Any) -> Pointer:
        """With None and full slices."""
        return Pointer(self.buffer, self.offsets[_new_axes(index)])

    def __getattr__(self, name: str) -> Any:
        """What is not known of pointers."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnknownOperation(f"pointer.{name}")


def _steps(other: Any) -> Any:
    if isinstance(other, Value):
        if other.dtype.is_float:
            raise TypeError(f"a pointer plus a {other.dtype}")
        return other.a.astype(np.int64)
    return operator.index(other)


def value_of(x: Any, beside: DType | None = None) -> Value:
    """A value as it is, a Python number as a scalar of the type that it has beside that type."""
    if isinstance(x, Value):
        return x
    if isinstance(x, bool | int | float | np.integer | np.bool_ | np.floating):
        return Value(x, _types.of_number(x, beside))
    raise TypeError(f"a {type(x).__name__} where a number or tensor is needed")


def together(x: Any, y: Any) -> tuple[Array, Array, DType]:
    """Two operands in the type of their operation."""
    if not isinstance(x, Value):
        x = value_of(x, y.dtype if isinstance(y, Value) else None)
    if not isinstance(y, Value):
        y = value_of(y, x.dtype)
    dtype = _types.promoted(x.dtype, y.dtype)
    if x.dtype.is_fp8 or y.dtype.is_fp8:
        raise UnknownOperation("arithmetic on FP8 values: convert them first")
    return x.to(dtype).a, y.to(dtype).a, dtype


def _result(array: Array, dtype: DType) -> Value:
    return Value(_types.rounded(array, dtype), dtype)


def divided(x: Array, y: Array) -> Array:
    """Whole quotients that truncate toward 0, as in C."""
    remainder = _remainder(x, y)
    return (x - remainder) // np.where(y == 0, 1, y)


def _remainder(x: Array, y: Array) -> Array:
    if np.any(y == 0):
        current().report("undefined", "an integer is divided by 0")
    return np.asarray(np.fmod(x, np.where(y == 0, 1, y)))


def _whole(f: Callable[[Array, Array], Array], name: str) -> Callable[[Any, Any], Value]:
    def of(x: Any, y: Any) -> Value:
        a, b, dtype = together(x, y)
        if dtype.is_float:
            if name != "%":
                raise TypeError(f"{name} of {dtype}")
            return _result(np.fmod(a, b), dtype)
        if dtype.kind == "bool":
            a, b, dtype = a.astype(np.int32), b.astype(np.int32), _types.int32
        return _result(f(a, b), dtype)

    return of


def _true_division(x: Any, y: Any) -> Value:
    a, b, dtype = together(x, y)
    if not dtype.is_float:
        dtype = _types.float32
        a, b = a.astype(np.float32), b.astype(np.float32)
    return _result(a / b, dtype)


def _arithmetic(f: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Value]:
    def of(x: Any, y: Any) -> Value:
        a, b, dtype = together(x, y)
        if dtype.kind == "bool":
            a, b, dtype = a.astype(np.int32), b.astype(np.int32), _types.int32
        return _result(f(a, b), dtype)

    return of


def _bitwise(f: Callable[[Array, Array], Array], symbol: str) -> Callable[[Any, Any], Value]:
    def of(x: Any, y: Any) -> Value:
        a, b, dtype = together(x, y)
        if dtype.is_float:
            raise TypeError(f"{symbol} of {dtype}")
        return _result(f(a, b), dtype)

    return of


def _comparison(f: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Value]:
    def of(x: Any, y: Any) -> Value:
        a, b, _ = together(x, y)
        return Value(f(a, b), _types.int1)

    return of


_operations: dict[str, Callable[[Any, Any], Value]] = {
    "add": _arithmetic(np.add),
    "sub": _arithmetic(np.subtract),
    "mul": _arithmetic(np.multiply),
    "truediv": _true_division,
    "floordiv": _whole(divided, "//"),
    "mod": _whole(_remainder, "%"),
    "and": _bitwise(np.bitwise_and, "&"),
    "or": _bitwise(np.bitwise_or, "|"),
    "xor": _bitwise(np.bitwise_xor, "^"),
    "lshift": _bitwise(np.left_shift, "<<"),
    "rshift": _bitwise(np.right_shift, ">>"),
}
_comparisons: dict[str, Callable[[Any, Any], Value]] = {
    "lt": _comparison(np.less),
    "le": _comparison(np.less_equal),
    "gt": _comparison(np.greater),
    "ge": _comparison(np.greater_equal),
    "eq": _comparison(np.equal),
    "ne": _comparison(np.not_equal),
}


def _install() -> None:
    """Python's operators of Value."""

    def forward(f: Callable[[Any, Any], Value]) -> Callable[[Any, Any], Any]:
        def of(self: Any, other: Any) -> Any:
            return NotImplemented if isinstance(other, Pointer) else f(self, other)

        return of

    for name, f in _operations.items():
        setattr(Value, f"__{name}__", forward(f))
        setattr(Value, f"__r{name}__", lambda self, other, f=f: f(other, self))
    for name, f in _comparisons.items():
        setattr(Value, f"__{name}__", forward(f))


_install()
