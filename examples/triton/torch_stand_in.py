"""As much of PyTorch as the callers of the kernels use, on arrays of NumPy: views of memory, with sizes and strides."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.triton.gluon import Buffer
from assay.triton.gluon import types as element_types

DType = element_types.DType
float32, int32, uint8 = element_types.float32, element_types.int32, element_types.uint8


class Tensor:
    """An array with a type of Triton's. is_output: a kernel may write it. is_fresh: nothing is in it yet."""

    def __init__(self, array: NDArray[Any], dtype: DType, *, is_output: bool = False, is_fresh: bool = False) -> None:
        """The array's elements have the size of the type's."""
        self.array, self.dtype = array.view(dtype.stored), dtype
        self._is_output, self._is_fresh = is_output, is_fresh
        self._buffer: Buffer | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """As in PyTorch."""
        return tuple(self.array.shape)

    def size(self, dim: int | None = None) -> Any:
        """As in PyTorch."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """In elements."""
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]

    def view(self, *to: Any) -> Tensor:
        """Of another type, or of another shape on the same memory."""
        if len(to) == 1 and isinstance(to[0], DType):
            return Tensor(self.array.view(to[0].stored), to[0], is_output=self._is_output, is_fresh=self._is_fresh)
        shape = to[0] if len(to) == 1 and isinstance(to[0], Sequence) else to
        viewed = self.array.reshape(shape)
        if not np.shares_memory(viewed, self.array) and self.array.size:
            raise ValueError(f"a view of shape {list(shape)} of a tensor of shape {list(self.shape)} is a copy")
        return Tensor(viewed, self.dtype, is_output=self._is_output, is_fresh=self._is_fresh)

    def __getitem__(self, index: Any) -> Tensor:
        """Slices."""
        return Tensor(self.array[index], self.dtype, is_output=self._is_output, is_fresh=self._is_fresh)

    def assay_buffer(self, name: str) -> Buffer:
        """What the evaluation takes: one for all launches, for it knows what has been written."""
        if self._buffer is None:
            self._buffer = Buffer(name, self.array, self.dtype, is_output=self._is_output, is_fresh=self._is_fresh)
        self._buffer.name = name
        return self._buffer


def empty(shape: Sequence[int], device: str = "", dtype: DType = float32) -> Tensor:
    """A tensor that nobody has written: loads of it are reported."""
    return Tensor(np.zeros(shape, dtype.stored), dtype, is_output=True, is_fresh=True)


def module() -> types.ModuleType:
    """The module torch."""
    made = types.ModuleType("torch")
    made.Tensor, made.empty = Tensor, empty  # type: ignore[attr-defined]
    made.float32, made.int32, made.uint8 = float32, int32, uint8  # type: ignore[attr-defined]
    return made
