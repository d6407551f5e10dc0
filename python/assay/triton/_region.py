"""A tensor's memory: where its rows are, and who wrote which element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["input", "output", "in_out", "scratch", "foreign"]
_always_has_memory = 1 << 25  # bytes; larger pools of a case may have memory only for the pages in use
_unwritten_at_first = ("output", "scratch")


class Region:
    """The elements of a tensor, by address.

    base: the address of the first element. shape, strides: in elements. itemsize: bytes of an element.
    role: "input" may be read; "output" and "scratch" may be written, and read where they were written; "in_out" and
        "foreign" (memory of other libraries, with unknown content) may be read and written.
    dead: elements that may not be written (of inputs: not be used), of the tensor's shape, or None. why_dead: what they
        are, for messages.
    may_lack_memory: a large one may have memory only at the pages in use, which is looked up at each access.
    owner: what must live as long as the memory.
    """

    def __init__(
        self,
        name: str,
        base: int,
        shape: Sequence[int],
        strides: Sequence[int],
        itemsize: int,
        role: Role = "input",
        *,
        dead: NDArray[np.bool_] | None = None,
        why_dead: str = "",
        may_lack_memory: bool = False,
        owner: Any = None,
    ) -> None:
        self.name, self.base, self.itemsize, self.role = name, int(base), int(itemsize), role
        self.shape, self.strides = tuple(map(int, shape)), tuple(map(int, strides))
        self.why_dead, self.owner = why_dead, owner
        is_empty = 0 in self.shape
        self.span = 0 if is_empty else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        self.end = self.base + self.span * self.itemsize
        wide = [d for d, n in enumerate(self.shape) if n > 1 and self.strides[d] > 0]
        self._by_stride = sorted(wide, key=lambda d: -self.strides[d])
        self._joined: list[tuple[int, int]] = []  # extent and stride, widest first; gapless neighbours are one
        for d in self._by_stride:
            extent, stride = self.shape[d], self.strides[d]
            if self._joined and self._joined[-1][1] == extent * stride:
                self._joined[-1] = (self._joined[-1][0] * extent, stride)
            else:
                self._joined.append((extent, stride))
        self.is_dense = is_empty or self._has_no_gaps()
        self.may_lack_memory = may_lack_memory and self.end - self.base > _always_has_memory
        self.is_writable = role != "input"
        elements = math.prod(n for n, _ in self._joined)
        self._is_sparse = self.is_dense is False and self.span > 4 * elements + 4096  # rows that lie far apart
        self._places = 0 if is_empty else elements if self._is_sparse else self.span
        self.grain = self.itemsize  # bytes that a number below stands for: of an element, or 1
        self.dead: NDArray[np.bool_] | None = None
        if dead is not None and dead.any():
            at = np.zeros((), np.int64)
            for d, (n, s) in enumerate(zip(self.shape, self.strides, strict=True)):
                at = at + (np.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(self.shape))])
            self.dead = np.zeros(self._places, np.bool_)
            self.dead[self.place_of(at[dead] * self.itemsize)] = True
        # By place: numbers of the stores and of the loads (see History), 0 for none. Pages of zeros cost nothing until
        # they are written. Those of atomics are empty until there is one.
        self.writes = self.reads = self.atomic_writes = self.atomic_reads = np.zeros(0, np.int32)
        self._scratch: NDArray[np.int32] | None = None
        if self.is_writable:
            self.writes, self.reads = np.zeros(self._places, np.int32), np.zeros(self._places, np.int32)
            if role not in _unwritten_at_first:
                self.writes.fill(1)

    def _has_no_gaps(self) -> bool:
        """Where dimensions overlap, gaps are not known: then it counts as dense."""
        inner = distinct = 1
        for d in reversed(self._by_stride):
            if self.strides[d] < inner:
                return True
            inner += (self.shape[d] - 1) * self.strides[d]
            distinct *= self.shape[d]
        return distinct == self.span

    def holds(self, offsets: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
        """Whether `size` bytes at these offsets from the base all belong to elements."""
        inside = (offsets >= 0) & (offsets <= self.span * self.itemsize - size)
        if self.is_dense:
            return inside
        first = offsets // self.itemsize
        inside &= self._are_elements(first)
        for more in range(1, -(-size // self.itemsize)):
            inside &= self._are_elements(first + more)
        last = (offsets + (size - 1)) // self.itemsize
        if size != self.itemsize or (last != first).any():
            inside &= self._are_elements(last)
        return inside

    def _are_elements(self, rest: NDArray[np.int64]) -> NDArray[np.bool_]:
        are = np.ones(rest.shape, np.bool_)
        for extent, stride in self._joined:
            index = rest // stride
            are &= index < extent
            rest = rest - index * stride
        are &= rest == 0
        return are

    def place_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the numbers of elements at these offsets stand; all are inside. Neighbours in a row are neighbours."""
        rest = offsets // self.itemsize if self.itemsize > 1 else offsets
        if not self._is_sparse:
            return rest
        place = np.zeros(rest.shape, np.int64)
        for extent, stride in self._joined:
            index = rest // stride
            place = place * extent + index
            rest = rest - index * stride
        return place

    def are_dead(self, offsets: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
        """Whether an access of that size has a part in a dead element; all are inside, and there are dead ones."""
        assert self.dead is not None
        dead: NDArray[np.bool_] = self.dead[self.place_of(offsets)]
        for more in {*range(self.itemsize, size, self.itemsize), size - 1} - {0}:
            dead = dead | self.dead[self.place_of(offsets + more)]
        return dead

    def grain_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """As :meth:`place_of`, of the stamps."""
        place = self.place_of(offsets)
        return place if self.grain > 1 or self.itemsize == 1 else place * self.itemsize + offsets % self.itemsize

    def describe(self, offset: int) -> str:
        """The element at that offset, as "o[1, 0, 3]". Outside of the tensor, an index is past its extent."""
        if offset < 0:
            return f"{self.name}, {-offset} bytes before its start"
        rest, more = divmod(offset, self.itemsize)
        index = [0] * len(self.shape)
        for d in self._by_stride:
            index[d], rest = divmod(rest, self.strides[d])
        if rest and len(self.shape) and self.strides[-1] == 1 and self.shape[-1] <= 1:
            index[-1], rest = rest, 0  # a last dimension of one element
        text = f"{self.name}[{', '.join(map(str, index))}]"
        text += f" + {rest} elements" if rest else ""
        return text + (f" + {more} bytes" if more else "")

    def in_words(self) -> str:
        """Name and shape, and the strides where gaps lie between the elements."""
        text = f"{self.name} of shape {list(self.shape)}"
        return text if self.is_dense else f"{text} and strides {list(self.strides)}"

    def set_written(
        self,
        base: int,
        shape: Sequence[int],
        strides: Sequence[int],
        itemsize: int,
        which: NDArray[np.bool_] | None = None,
    ) -> None:
        """The host wrote these elements: of a view of this memory; strides in elements of that size.

        which: of the view's shape: of them the host knew what it wrote; the others hold what nothing has written.
        """
        if not self.is_writable or 0 in tuple(shape):
            return
        at = self._grains_of_view(base, shape, strides, itemsize)
        known = 1 if which is None else which.reshape(-1).astype(np.int32)
        for more in range(itemsize // self.grain):
            self.writes[at + more] = known
            self.reads[at + more] = 0
            if self.atomic_writes.size:
                self.atomic_writes[at + more] = self.atomic_reads[at + more] = 0

    def are_written(
        self, base: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
    ) -> NDArray[np.bool_] | None:
        """Which elements of a view, as above, were written; None: all."""
        if self.role not in _unwritten_at_first or 0 in tuple(shape):
            return None
        at = self._grains_of_view(base, shape, strides, itemsize)
        are = np.ones(at.shape, np.bool_)
        for more in range(itemsize // self.grain):
            written = self.writes[at + more] != 0
            if self.atomic_writes.size:
                written |= self.atomic_writes[at + more] != 0
            are &= written
        return None if are.all() else are.reshape(tuple(shape))

    def _grains_of_view(
        self, base: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
    ) -> NDArray[np.int64]:
        at = np.full((), base - self.base, np.int64)
        for n, s in zip(shape, strides, strict=True):
            at = at[..., None] + np.arange(n) * (s * itemsize)
        if itemsize < self.grain:
            self.split_grains()
        return self.grain_of(at.reshape(-1))

    def keep_atomics(self) -> None:
        """From now on atomics have numbers, too."""
        if not self.atomic_writes.size:
            self.atomic_writes, self.atomic_reads = np.zeros_like(self.writes), np.zeros_like(self.writes)

    def split_grains(self) -> None:
        """From now on each byte has its own numbers: accesses are narrower than elements, or lie across them."""
        self.writes, self.reads, self.atomic_writes, self.atomic_reads = (
            np.repeat(a, self.grain) for a in (self.writes, self.reads, self.atomic_writes, self.atomic_reads)
        )
        self.grain, self._scratch = 1, None

    def scratch(self) -> NDArray[np.int32]:
        """A number for each grain of the span, for short use."""
        if self._scratch is None:
            self._scratch = np.zeros(self.writes.size, np.int32)
        return self._scratch

    def forget(self) -> None:
        """Nothing is written any more."""
        self.writes.fill(0 if self.role in _unwritten_at_first else 1)
        for others in (self.reads, self.atomic_writes, self.atomic_reads):
            others.fill(0)
