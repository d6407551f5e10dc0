"""Element types of Triton's languages: how their values lie in memory, and how numbers become values of them.

Values are held in arrays that arithmetic can use: integers and bools as NumPy's own, f32 and f64 too. f16, bf16 and FP8
values are held in f32, which has all of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class DType:
    """An element type: its name in Triton, what holds a value, what holds its bits in memory, and what it is."""

    name: str
    held: Any
    stored: Any
    kind: str  # "bool", "int", "uint", "float"
    fraction_bits: int = 0  # of floats that f32 holds: 0 for f32 and f64

    @property
    def bytes(self) -> int:
        """Bytes of an element in memory."""
        return int(np.dtype(self.stored).itemsize)

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return 1 if self.kind == "bool" else 8 * self.bytes

    primitive_bitwidth = bits

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"

    @property
    def is_fp8(self) -> bool:
        """Whether values have eight bits of floating point."""
        return self.is_float and self.bytes == 1

    @property
    def scalar(self) -> DType:
        """Itself, as Triton has it."""
        return self

    def __repr__(self) -> str:
        """The name in Triton."""
        return self.name


int1 = DType("int1", np.bool_, np.bool_, "bool")
int8, int16, int32, int64 = (
    DType(f"int{n}", np.dtype(f"i{n // 8}"), np.dtype(f"i{n // 8}"), "int") for n in (8, 16, 32, 64)
)
uint8, uint16, uint32, uint64 = (
    DType(f"uint{n}", np.dtype(f"u{n // 8}"), np.dtype(f"u{n // 8}"), "uint") for n in (8, 16, 32, 64)
)
float16 = DType("fp16", np.float32, np.float16, "float", 10)
bfloat16 = DType("bf16", np.float32, np.uint16, "float", 7)
float32 = DType("fp32", np.float32, np.float32, "float")
float64 = DType("fp64", np.float64, np.float64, "float")
float8e4nv = DType("fp8e4nv", np.float32, np.uint8, "float", 3)
float8e4b8 = DType("fp8e4b8", np.float32, np.uint8, "float", 3)
float8e5 = DType("fp8e5", np.float32, np.uint8, "float", 2)
float8e5b16 = DType("fp8e5b16", np.float32, np.uint8, "float", 2)

_all = (
    int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, float8e4nv, float8e4b8, float8e5, float8e5b16,
)  # fmt: skip
by_name: dict[str, DType] = {t.name: t for t in _all}
by_name |= {f"{t.name[0]}{t.bits}": t for t in _all if not t.is_float}
by_name |= {"float16": float16, "bfloat16": bfloat16, "float32": float32, "float64": float64}
by_name |= {"float8e4nv": float8e4nv, "float8e4b8": float8e4b8, "float8e5": float8e5, "float8e5b16": float8e5b16}
# The names of assay.case(...).problem.
of_assay: dict[str, DType] = {
    "f64": float64, "f32": float32, "f16": float16, "bf16": bfloat16, "i64": int64, "i32": int32, "i8": int8,
    "u8": uint8,
    "e4m3fn": float8e4nv, "e4m3fnuz": float8e4b8, "e5m2": float8e5, "e5m2fnuz": float8e5b16,
}  # fmt: skip


@functools.cache
def codes(t: DType) -> NDArray[np.float32]:
    """The values of the 256 codes of an FP8 type, f32."""
    fraction_bits, is_fnuz = t.fraction_bits, t.name.endswith(("b8", "b16"))
    code = np.arange(128)
    exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
    exponent_bits = 7 - fraction_bits
    bias = (1 << (exponent_bits - 1)) - (0 if is_fnuz else 1)
    part = fraction / float(1 << fraction_bits)
    value = np.where(exponent == 0, part * 2.0 ** (1 - bias), (1 + part) * 2.0 ** (exponent.astype(float) - bias))
    if t is float8e4nv:
        value[127] = np.nan
    elif t is float8e5:
        value[124], value[125:] = np.inf, np.nan
    both = np.concatenate([value, -value])
    if is_fnuz:
        both[128] = np.nan
    return both.astype(np.float32)


@functools.cache
def _finite(t: DType) -> NDArray[np.float64]:
    """The finite values of codes 0, 1, ... of an FP8 type, ascending."""
    positive = codes(t)[:128].astype(np.float64)
    return positive[: int(np.isfinite(positive).sum())]


def _nearest_code(values: Array, t: DType) -> NDArray[np.uint8]:
    """The codes of the nearest values of an FP8 type, ties to the even code; what is larger saturates."""
    table = _finite(t)
    magnitude = np.abs(values.astype(np.float64))
    middle = (table[1:] + table[:-1]) / 2
    low, high = np.searchsorted(middle, magnitude, "left"), np.searchsorted(middle, magnitude, "right")
    code = np.where(low == high, low, np.where(low % 2 == 0, low, high)).astype(np.int64)
    is_fnuz = t.name.endswith(("b8", "b16"))
    negative = np.signbit(values) & ~(is_fnuz & (code == 0))
    nan = 128 if is_fnuz else 127
    return np.where(np.isnan(values), nan, code + 128 * negative).astype(np.uint8)


def _bf16_bits(values: Array) -> NDArray[np.uint16]:
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def decode(stored: Array, t: DType) -> Array:
    """Values of what lies in memory."""
    if t.is_fp8:
        return np.asarray(codes(t)[stored.view(np.uint8)])
    if t is bfloat16:
        return np.asarray((stored.view(np.uint16).astype(np.uint32) << 16).view(np.float32))
    return stored.view(t.stored).astype(t.held, copy=False)


def encode(values: Array, t: DType) -> Array:
    """What lies in memory for numbers, which are rounded to the type: to the nearest, ties to even."""
    if t.is_fp8:
        return _nearest_code(values, t)
    if t is bfloat16:
        return _bf16_bits(values)
    return values.astype(t.stored, copy=False)


def rounded(values: Array, t: DType) -> Array:
    """Numbers as values of the type: floats to the nearest, integers modulo their range; of floats truncated ones."""
    if t.kind == "bool":
        return values.astype(np.bool_)
    if not t.is_float:
        if values.dtype.kind == "f":
            return np.trunc(values).astype(np.int64).astype(t.held)
        return values.astype(t.held)
    if t.fraction_bits == 0:
        return values.astype(t.held)
    return decode(np.asarray(encode(values.astype(np.float32), t)), t)


def undefined(shape: tuple[int, ...], t: DType) -> Array:
    """What a kernel must not depend on: NaN, or a number that is far from all indices."""
    if t.is_float:
        return np.full(shape, np.nan, dtype=t.held)
    if t.kind == "bool":
        return np.ones(shape, dtype=np.bool_)
    return np.full(shape, np.iinfo(t.held).max // 3, dtype=t.held)


def _promoted_floats(a: DType, b: DType) -> DType:
    for t in (float64, float32):
        if t in (a, b):
            return t
    return a if a is b else float32


def promoted(a: DType, b: DType) -> DType:
    """The type of an operation on both, as in Triton: floats before integers, the wider, unsigned of equal widths."""
    if a is b:
        return a
    if a.is_float or b.is_float:
        if a.is_float and b.is_float:
            return _promoted_floats(a, b)
        return a if a.is_float else b
    if a.kind == "bool" or b.kind == "bool":
        return b if a.kind == "bool" else a
    if a.bits == b.bits:
        return a if a.kind == "uint" else b
    return a if a.bits > b.bits else b


def of_number(number: Any, beside: DType | None = None) -> DType:
    """The type of a Python number, beside a value of that type or alone."""
    if isinstance(number, bool | np.bool_):
        return int1
    if isinstance(number, int | np.integer):
        if beside is not None and beside.is_float:
            return beside
        if beside is not None and beside.kind != "bool":
            info = np.iinfo(beside.held)
            if info.min <= int(number) <= info.max:
                return beside
        return int32 if -(2**31) <= int(number) < 2**31 else int64
    return beside if beside is not None and beside.is_float else float32
