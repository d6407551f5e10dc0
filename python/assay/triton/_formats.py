"""bf16 and FP8 as numbers: decoding by table, and encoding as hardware rounds."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

# By Triton's names: bits of exponent and fraction, bias, and which codes are no numbers: "ieee" has infinities and NaN
# where the exponent is all ones, "fn" has NaN where all bits but the sign are ones, "fnuz" only at the code of -0.
_fp8 = {
    "fp8e4nv": (4, 3, 7, "fn"),
    "fp8e4b8": (4, 3, 8, "fnuz"),
    "fp8e4b15": (4, 3, 15, ""),
    "fp8e5": (5, 2, 15, "ieee"),
    "fp8e5b16": (5, 2, 16, "fnuz"),
}
narrow = frozenset({"bf16", *_fp8})


@functools.cache
def values_of(name: str) -> NDArray[np.float32]:
    """The values of the 256 codes of an FP8 type."""
    exponent_bits, fraction_bits, bias, specials = _fp8[name]
    code = np.arange(256)
    magnitude = code & 127
    exponent, fraction = magnitude >> fraction_bits, magnitude & ((1 << fraction_bits) - 1)
    scaled = fraction / 2.0**fraction_bits
    value = np.where(exponent == 0, scaled * 2.0 ** (1 - bias), (1 + scaled) * 2.0 ** (exponent - bias))
    if specials == "ieee":
        top = exponent == (1 << exponent_bits) - 1
        value = np.where(top, np.where(fraction == 0, np.inf, np.nan), value)
    elif specials == "fn":
        value = np.where(magnitude == 127, np.nan, value)
    value = np.where(code > 127, -value, value)
    if specials == "fnuz":
        value[128] = np.nan
    return value.astype(np.float32)


@functools.cache
def _finite_of(name: str) -> NDArray[np.float64]:
    """The finite values from 0 on; the index is the code."""
    up = values_of(name)[:128].astype(np.float64)
    return up[np.isfinite(up)]


def decode(bits: NDArray[Any], name: str) -> NDArray[np.float32]:
    """Codes of bf16 or FP8 as f32, exactly."""
    if name == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    values: NDArray[np.float32] = values_of(name)[bits]
    return values


def encode(x: NDArray[Any], name: str, toward_zero: bool = False) -> NDArray[Any]:
    """The codes of numbers: rounded to the nearest, ties to even, or toward zero.

    FP8 saturates, as the conversions of the hardware do that Triton uses: what is beyond the largest finite value,
    infinities included, becomes that value. NaN becomes NaN.
    """
    return _encode_bf16(x, toward_zero) if name == "bf16" else _encode_fp8(x, name, toward_zero)


def _encode_bf16(x: NDArray[Any], toward_zero: bool) -> NDArray[np.uint16]:
    if x.dtype == np.float64 and not toward_zero:
        x = _to_odd(x)
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    nan = np.isnan(x)
    if not toward_zero:
        bits = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    codes: NDArray[np.uint16] = (bits >> np.uint32(16)).astype(np.uint16).reshape(np.shape(x))
    return np.where(nan, np.uint16(0x7FC0), codes) if nan.any() else codes


def _to_odd(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """f64 to f32, rounded to odd, so that the next rounding is as if it were the only one."""
    near = x.astype(np.float32)
    low = np.where(np.abs(near) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    inexact = np.isfinite(x) & (low.astype(np.float64) != x)
    odd: NDArray[np.float32] = (low.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)
    return odd


def _encode_fp8(x: NDArray[Any], name: str, toward_zero: bool) -> NDArray[np.uint8]:
    finite = _finite_of(name)
    size = np.minimum(np.abs(np.asarray(x, np.float64)), finite[-1])
    below = np.searchsorted(finite, size, "right") - 1  # NaN comes last
    code = np.minimum(below, len(finite) - 1)
    if not toward_zero:
        next_up = finite[np.minimum(code + 1, len(finite) - 1)]
        up, down = next_up - size, size - finite[code]
        code = code + ((up < down) | ((up == down) & (code % 2 == 1) & (next_up > finite[code])))
    negative = np.signbit(x)
    is_fnuz = _fp8[name][3] == "fnuz"
    codes = np.where(negative & ~(is_fnuz & (code == 0)), code | 128, code)
    nan = 128 if is_fnuz else 127
    return np.where(np.isnan(x), nan, codes).astype(np.uint8)
