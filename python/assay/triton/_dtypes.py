"""Element types by the names that Triton's interpreter takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    """An element type. ``str`` of it is a name that Triton knows.

    name: as PyTorch has it. bits: the NumPy type that holds an element: an unsigned one for bf16 and FP8.
    """

    name: str
    bits: str
    is_floating_point: bool = True

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.numpy.itemsize

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the bits."""
        return np.dtype(self.bits)

    def __str__(self) -> str:
        """The name."""
        return self.name


float64 = DType("float64", "f8")
float32 = DType("float32", "f4")
float16 = DType("float16", "f2")
bfloat16 = DType("bfloat16", "u2")
float8_e4m3fn = DType("float8_e4m3fn", "u1")
float8_e4m3fnuz = DType("float8_e4m3fnuz", "u1")
float8_e5m2 = DType("float8_e5m2", "u1")
float8_e5m2fnuz = DType("float8_e5m2fnuz", "u1")
int64 = DType("int64", "i8", False)
int32 = DType("int32", "i4", False)
int16 = DType("int16", "i2", False)
int8 = DType("int8", "i1", False)
uint8 = DType("uint8", "u1", False)
bool_ = DType("bool", "?", False)

of_assay: dict[str, DType] = {
    "f64": float64,
    "f32": float32,
    "f16": float16,
    "bf16": bfloat16,
    "e4m3fn": float8_e4m3fn,
    "e4m3fnuz": float8_e4m3fnuz,
    "e5m2": float8_e5m2,
    "e5m2fnuz": float8_e5m2fnuz,
    "i64": int64,
    "i32": int32,
    "i8": int8,
    "u8": uint8,
}
every = (*of_assay.values(), int16, bool_)


def dtype_of(given: Any) -> DType:
    """The type of that name: a DType, PyTorch's, NumPy's, or any whose last word is a name. Raises ValueError."""
    if isinstance(given, DType):
        return given
    try:
        name = np.dtype(given).name
    except TypeError:
        name = str(given).rpartition(".")[2]
    for t in every:
        if t.name == name:
            return t
    raise ValueError(f"there is no element type {given!r}; there are: {', '.join(t.name for t in every)}")
