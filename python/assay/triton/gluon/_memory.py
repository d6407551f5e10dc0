"""Global memory as kernels see it: tensors with their elements, and a check of each lane's address.

A pointer belongs to the tensor that it was made of. An address is right where it is one of that tensor's elements: gaps
between rows, and whatever lies behind the tensor, are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.triton.gluon import _types
from assay.triton.gluon._types import Array, DType

Mask = NDArray[np.bool_]


class Buffer:
    """A tensor in global memory: an array, the type of its elements, and a name for reports.

    array: any strides that are multiples of the element, none negative. Its dtype has the size of ``dtype``.
    is_output: the kernel may write it. is_fresh: nothing is in it before the kernel writes.
    """

    def __init__(
        self, name: str, array: Array, dtype: DType, *, is_output: bool = False, is_fresh: bool = False
    ) -> None:
        """Raises ValueError for an array that is not as above."""
        size = dtype.bytes
        if array.dtype.itemsize != size:
            raise ValueError(f"{name}: elements of {array.dtype} are not of {dtype}")
        steps = [(s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
        if any(s < 0 or s % size for s, _ in steps):
            raise ValueError(f"{name}: strides of {array.strides} bytes with elements of {size} bytes")
        self.name, self.dtype, self.shape, self.is_output = name, dtype, tuple(array.shape), is_output
        self._dims = [(i, s // size, n) for i, (s, n) in enumerate(zip(array.strides, array.shape, strict=True))]
        # From the largest stride on: what remains below the smallest must be 0. Dimensions of one element step nowhere.
        self._order = sorted((d for d in self._dims if d[2] > 1 and d[1] > 0), key=lambda d: -d[1])
        self.address = int(array.__array_interface__["data"][0])
        span = 1 + sum(s * (n - 1) for _, s, n in self._order) if array.size else 0
        self.span = span
        self._flat = np.lib.stride_tricks.as_strided(
            array.view(dtype.stored) if array.dtype.kind not in "V" else array, (span,), (size,), writeable=is_output
        )
        # Who wrote each element last: 0 for nobody. Pages of zeros cost nothing until they are written.
        self._stamps = np.zeros(span if is_output else 0, np.int32)
        # Who loaded it: a stamp, or below 0 that of the latest of several programs.
        self._readers = np.zeros(span if is_output else 0, np.int32)
        self._is_fresh, self._launch, self._latest = is_fresh, 0, 0

    def holds(self, offsets: NDArray[np.int64]) -> Mask:
        """Which of the offsets, in elements, are elements of the tensor."""
        inside = np.full(offsets.shape, self.span > 0)
        rest = offsets
        for _, stride, count in self._order:
            index = rest // stride
            inside &= (index >= 0) & (index < count)
            rest = rest - index * stride
        return np.asarray(inside & (rest == 0), np.bool_)

    def position(self, offset: int) -> str:
        """An offset in words: the element "[3, 2050] of [4, 2048]", its last dimension beyond its end."""
        if not self._order:
            return f"element {offset} of {list(self.shape)}"
        index = [0] * len(self.shape)
        rest = offset
        for at, (i, stride, count) in enumerate(self._order):
            part = rest // stride
            if at + 1 < len(self._order):
                part = min(max(part, 0), count - 1)
            index[i] = part
            rest -= part * stride
        return f"[{', '.join(map(str, index))}] of [{', '.join(map(str, self.shape))}]"

    def load(self, offsets: NDArray[np.int64]) -> Array:
        """Values of elements that it holds."""
        return _types.decode(self._flat[offsets], self.dtype)

    def store(self, offsets: NDArray[np.int64], values: Array, program: int) -> dict[str, NDArray[np.int64]]:
        """Writes elements that it holds; what is wrong, and the offsets where it is."""
        bits = np.asarray(_types.encode(values, self.dtype))
        pattern = f"u{self.dtype.bytes}"
        stamps = (self._stamps[offsets], np.abs(self._readers[offsets]))
        stored, loaded = ((s > self._launch) & (s != self._stamp(program)) for s in stamps)
        loaded |= self._readers[offsets] < -self._launch
        differ = self._flat[offsets].view(pattern) != bits.view(pattern)
        self._flat[offsets] = bits
        self._stamps[offsets] = self._stamp(program)
        two = self._flat[offsets].view(pattern) != bits.view(pattern)
        wrong = {
            "where another program has stored other bits": stored & differ,
            "which another program has loaded": loaded & differ,
            "where two lanes store other bits": two,
        }
        return {what: np.asarray(offsets[w]) for what, w in wrong.items() if w.any()}

    def note_load(self, offsets: NDArray[np.int64], program: int) -> None:
        """That the program has loaded these elements of an output."""
        me, before = self._stamp(program), self._readers[offsets]
        is_shared = (np.abs(before) > self._launch) & (before != me)
        self._readers[offsets] = np.where(is_shared, -me, me)

    def unwritten(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the offsets that nobody has written."""
        return offsets[self._stamps[offsets] == 0] if self._is_fresh else offsets[:0]

    def of_others(self, offsets: NDArray[np.int64], program: int) -> NDArray[np.int64]:
        """Those of the offsets that another program has written in this launch."""
        return offsets[self._is_of_others(offsets, program)]

    def _is_of_others(self, offsets: NDArray[np.int64], program: int) -> Mask:
        stamps = self._stamps[offsets]
        return np.asarray((stamps > self._launch) & (stamps != self._stamp(program)))

    def _stamp(self, program: int) -> int:
        self._latest = max(self._latest, self._launch + 1 + program)
        return self._launch + 1 + program

    def begin(self) -> None:
        """A launch begins: what was written before is complete."""
        self._launch = self._latest


def buffer_of(name: str, given: Any) -> Buffer:
    """The buffer of an argument: itself, one that it names by ``assay_buffer()``, or an array of NumPy."""
    if isinstance(given, Buffer):
        return given
    if hasattr(given, "assay_buffer"):
        made = given.assay_buffer(name)
        assert isinstance(made, Buffer)
        return made
    plain: Sequence[DType] = [t for t in _types.by_name.values() if t.held == t.stored]
    for t in plain:
        if given.dtype == t.stored:
            return Buffer(name, given, t, is_output=bool(given.flags.writeable))
    if given.dtype == np.float16:
        return Buffer(name, given, _types.float16, is_output=bool(given.flags.writeable))
    raise ValueError(f"{name}: {given.dtype}: say by a Buffer which type of Triton its bits are")
