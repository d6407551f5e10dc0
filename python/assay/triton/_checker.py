"""The checker of memory accesses: of lanes at addresses. It knows nothing of Triton, and needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.triton._faults import Fault, MemoryFaults, Place
from assay.triton._history import History, Program
from assay.triton._readable import are_readable
from assay.triton._region import Region

Kind = Literal["load", "store", "atomic"]
_has_memory = ("unwritten read", "race", "two values", "dead load")  # what these do wrong may be done
_nearby = 1 << 40  # an address that is farther from each tensor belongs to none


class Checker:
    """Checks each lane's address against the tensors that it knows.

    regions: the tensors; :meth:`add` takes more.
    tells_dead_loads: loads of dead elements of inputs are faults of the kind "dead load". They are no mistake by
        themselves: a kernel may load such an element if it does not use it.
    keep_going: an access at fault is noted in :attr:`faults`, one for each kind and line, and its lanes are to be left
        out; else :meth:`access` raises :class:`MemoryFaults`.

    What counts: an address outside of all rows, or on a page of a large pool that no sequence uses; a store to an input
    or to dead elements; a load of outputs or scratch that nothing wrote; two programs of one launch at one element, of
    which one stores, unless both are atomic or atomics order them (the first releases, the second acquires at the same
    address later); an address that is no multiple of the access's size; two lanes that store different values to one
    element.
    """

    def __init__(
        self, regions: Iterable[Region] = (), *, keep_going: bool = True, tells_dead_loads: bool = False
    ) -> None:
        self.keep_going, self.tells_dead_loads = keep_going, tells_dead_loads
        self.faults: list[Fault] = []
        self.accesses = 0  # of lanes
        self._seen: dict[tuple[str, str | None, str, int], Fault] = {}
        self._regions: list[Region] = []
        self._kernel = ""
        self._history = History()
        self.begin_launch("")
        for r in regions:
            self.add(r)

    def add(self, region: Region) -> None:
        """Learns of a tensor. One that it knows already is left as it is."""
        if region.span and all(r is not region for r in self._regions):
            self._regions.append(region)

    def begin_launch(self, kernel: str) -> None:
        """A kernel starts: what was written before is past. ``kernel``: its name, for messages."""
        self._kernel = kernel
        self._history.begin_launch()

    def access(
        self,
        kind: Kind,
        addresses: NDArray[np.uint64],
        mask: NDArray[np.bool_] | None,
        size: int,
        program: Program = (0, 0, 0),
        place: Place | Callable[[], Place] | None = None,
        *,
        home: Region | None = None,
        values: NDArray[Any] | None = None,
        atomic: bool | None = None,
        reads: bool = True,
        acquires: bool = False,
        releases: bool = False,
    ) -> NDArray[np.bool_] | None:
        """Checks one access of a block of lanes. Returns the lanes that may do it, or None where all (of the mask) may.

        addresses: one for each lane, of any shape; mask: of the same shape, None for all; masked-off lanes do nothing.
        size: bytes of each lane's element. place: the line of the source, or what returns it: asked on a fault only.
        home: the tensor that the pointers were made of; None: any tensor may be meant.
        values: what a store writes, of the same shape, to see whether lanes disagree.
        kind "atomic": reads, modifies and writes; with ``reads=False`` it writes only (an exchange). ``atomic``:
        whether other programs' atomics may be at the element, too; None: of kind "atomic", they may.
        """
        if mask is not None and mask.all():
            mask = None
        picked = addresses.reshape(-1) if mask is None else addresses[mask]
        if picked.size == 0:
            return None
        self.accesses += picked.size
        bad: list[tuple[NDArray[np.bool_], str, str, Region | None]] = []
        if mask is not None and values is not None:
            values = values.reshape(mask.shape)[mask]
        as_atomic = kind == "atomic" if atomic is None else atomic
        self._check(kind, picked, size, program, home, values, bad, as_atomic, reads)
        if acquires or releases:
            self._history.order(picked, program, acquires, releases)
        if not bad:
            return None
        where = np.arange(picked.size) if mask is None else np.flatnonzero(mask)
        ok = np.ones(addresses.size, np.bool_) if mask is None else np.array(mask, np.bool_).reshape(-1)
        at = place() if callable(place) else place or Place()
        found = []
        for lanes, name, what, region in bad:
            if name not in _has_memory:
                ok[where[lanes]] = False
            first = int(np.flatnonzero(lanes)[0])
            lane = (
                tuple(int(i) for i in np.unravel_index(int(where[first]), addresses.shape)) if addresses.shape else ()
            )
            text = self._text(kind, name, what, region, int(picked[first]), int(size), program)
            found.append(Fault(name, text, region.name if region else None, self._kernel, program, lane, at,
                               int(lanes.sum())))  # fmt: skip
        self._note(found)
        return ok.reshape(addresses.shape)

    def _note(self, found: list[Fault]) -> None:
        for f in found:
            key = (f.kind, f.tensor, f.place.file, f.place.line)
            if key in self._seen:
                self._seen[key].times += 1
            else:
                self._seen[key] = f
                self.faults.append(f)
        if not self.keep_going:
            raise MemoryFaults(found)

    def _check(
        self, kind: Kind, picked: NDArray[np.uint64], size: int, program: Program, home: Region | None,
        values: NDArray[Any] | None, bad: list[tuple[NDArray[np.bool_], str, str, Region | None]], atomic: bool,
        reads: bool,
    ) -> None:  # fmt: skip
        low, high = int(picked.min()), int(picked.max())
        whole = home
        if whole is None:
            whole = next((r for r in self._regions if r.base <= low and high < r.end), None)
        if whole is not None and low >= whole.base and high + size <= whole.end:
            offsets = (picked - np.uint64(whole.base)).view(np.int64)
            inside = None if whole.is_dense else whole.holds(offsets, size)
            if inside is None or inside.all():
                self._check_inside(kind, whole, picked, offsets, None, size, program, values, bad, atomic, reads)
                return
        left = np.ones(picked.size, np.bool_)
        for r in [home] if home is not None else self._regions:
            if r.base > high or r.end <= low:
                continue
            offsets = (picked - np.uint64(r.base)).view(np.int64)
            inside = r.holds(offsets, size) & left
            if inside.any():
                part = None if values is None else values.reshape(-1)[inside]
                self._check_inside(kind, r, picked, offsets[inside], inside, size, program, part, bad, atomic, reads)
                left &= ~inside
        if left.any():
            bad.append((left, "out of bounds", "", home or self._nearest(picked, left)))

    def _nearest(self, picked: NDArray[np.uint64], left: NDArray[np.bool_]) -> Region | None:
        """The tensor that most of the lanes are in, else that nearest to the first lane outside."""
        counts = [int(((picked >= np.uint64(r.base)) & (picked < np.uint64(r.end))).sum()) for r in self._regions]
        if any(counts):
            return self._regions[int(np.argmax(counts))]
        a = int(picked[np.flatnonzero(left)[0]])
        far = [max(r.base - a, a - r.end, 0) for r in self._regions]
        nearest = int(np.argmin(far)) if far else 0
        return self._regions[nearest] if far and far[nearest] < _nearby else None

    def _check_inside(
        self, kind: Kind, r: Region, picked: NDArray[np.uint64], offsets: NDArray[np.int64],
        lanes: NDArray[np.bool_] | None, size: int,
        program: Program, values: NDArray[Any] | None,
        bad: list[tuple[NDArray[np.bool_], str, str, Region | None]], atomic: bool, reads: bool,
    ) -> None:  # fmt: skip
        """Of lanes that are inside of a tensor's rows. ``lanes``: which of ``picked`` those are; None: all are."""

        def note(wrong: NDArray[np.bool_], name: str, what: str = "") -> None:
            if lanes is not None:
                spread = np.zeros(lanes.size, np.bool_)
                spread[np.flatnonzero(lanes)[wrong]] = True
                wrong = spread
            bad.append((wrong, name, what, r))

        def leave_out(wrong: NDArray[np.bool_], name: str) -> None:
            """These lanes are at fault; the others are checked on."""
            note(wrong, name)
            good = ~wrong
            if good.any():
                rest = good if lanes is None else lanes.copy()
                if lanes is not None:
                    rest[np.flatnonzero(lanes)[wrong]] = False
                some = None if values is None else values.reshape(-1)[good]
                self._check_inside(kind, r, picked, offsets[good], rest, size, program, some, bad, atomic, reads)

        if size > 1 and (r.base % size or (offsets & (size - 1)).any()) and size & (size - 1) == 0:
            wrong = ((offsets + r.base) & (size - 1)) != 0
            if wrong.any():
                return leave_out(wrong, "misaligned")
        if r.may_lack_memory and not (readable := are_readable(picked if lanes is None else picked[lanes])).all():
            return leave_out(~readable, "unused page")
        if not r.is_writable:
            if kind != "load":
                note(np.ones(offsets.size, np.bool_), "input store")
            elif self.tells_dead_loads and r.dead is not None and (wrong := r.are_dead(offsets, size)).any():
                note(wrong, "dead load")
            return
        if kind != "load" and r.dead is not None and (wrong := r.are_dead(offsets, size)).any():
            return leave_out(wrong, "dead store")
        if size < r.grain or (r.grain > 1 and (offsets % r.grain).any()):
            r.split_grains()
        first = r.grain_of(offsets)
        loads, stores = kind == "load" or (kind == "atomic" and reads), kind != "load"
        for more in range(size // r.grain):
            self._history.touch(
                r, first + more if more else first, program, note, loads=loads, stores=stores, atomic=atomic
            )
        if kind == "store" and values is not None and offsets.size > 1:
            wrong = _disagreeing(first, values.reshape(-1), r)
            if wrong is not None:
                note(wrong, "two values")

    def _text(
        self, kind: Kind, name: str, what: str, r: Region | None, address: int, size: int, program: Program
    ) -> str:
        bytes_ = f"{kind} of {size} byte{'s' if size > 1 else ''}"
        if r is None:
            return f"{bytes_} at an address outside of all tensors"
        element = r.describe(address - r.base)
        if name == "out of bounds":
            return f"{bytes_} outside of {r.in_words()}: {element}"
        if name == "unwritten read":
            return f"{bytes_} of {element}, which nothing has written"
        if name == "input store":
            return f"{bytes_} to the input {element}"
        if name == "dead store":
            return f"{bytes_} to {element}, {r.why_dead}: nothing may be written there"
        if name == "unused page":
            return f"{bytes_} of {element}, on a page that no sequence uses"
        if name == "dead load":
            return f"{bytes_} of {element}, {r.why_dead}"
        if name == "race":
            return f"race: {bytes_} of {element}, {what} in the same launch"
        if name == "two values":
            return f"{bytes_} of different values by two lanes to {element}"
        return f"{bytes_} at {element}, an address that is no multiple of {size}"


def _disagreeing(at: NDArray[np.int64], values: NDArray[Any], r: Region) -> NDArray[np.bool_] | None:
    """Lanes that store another value than a later lane to the same element, or None."""
    if at.size > 1 and (np.diff(at) > 0).all():
        return None  # mostly they ascend
    last = r.scratch()
    last[at] = np.arange(at.size, dtype=np.int32)
    winner = last[at]
    doubled = winner != np.arange(at.size)
    if not doubled.any():
        return None
    bits = np.ascontiguousarray(values).view(f"u{values.itemsize}")
    wrong: NDArray[np.bool_] = doubled & (bits != bits[winner])
    return wrong if wrong.any() else None
