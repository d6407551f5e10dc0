"""Who touched which element in a launch, and what atomics order before what: the races between programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from assay.triton._region import Region

Program = tuple[int, int, int]
_numbers = itertools.count(2)  # never the same again: regions outlive checkers. 1 is what the host wrote
Note = Callable[[NDArray[np.bool_], str, str], None]


class History:
    """The accesses of a launch's programs, by element.

    A stamp is a number for what a program did from one release to the next. Of each element a region has four
    numbers: of plain and of atomic stores, of plain and of atomic loads (an atomic that does both counts as a store).
    Each is a stamp, or the number of a group of stamps, of accesses of which none is ordered before another. Numbers
    below ``floor`` are of earlier launches.

    Two accesses of one element by two programs race if one stores and one is plain, unless atomics order them.
    """

    def __init__(self) -> None:
        self.floor = 0
        self._stamps: dict[Program, int] = {}  # the program's present stamp
        self._programs: dict[int, Program] = {}  # by stamp
        self._past: dict[Program, set[int]] = {}  # the stamps that are ordered before a program's present
        self._released: dict[int, set[int]] = {}  # by address: stamps that a release there published
        self._groups: dict[int, tuple[int, int]] = {}  # by number: another number, and one stamp more
        self._group_of: dict[tuple[int, int], int] = {}

    def begin_launch(self) -> None:
        """What was before is past."""
        self.floor = next(_numbers)
        for of_launch in (self._stamps, self._programs, self._past, self._released, self._groups, self._group_of):
            of_launch.clear()

    def touch(
        self, r: Region, at: NDArray[np.int64], program: Program, note: Note, *, loads: bool, stores: bool, atomic: bool
    ) -> None:
        """Compares an access of these elements with those of others, and remembers it.

        note: gets the lanes at fault, the kind of the fault, and what the others did.
        """
        me = self.stamp(program)
        written = r.writes[at]
        by_atomics = r.atomic_writes[at] if r.atomic_writes.size else None
        if loads:
            unwritten = written == 0
            if by_atomics is not None:
                unwritten &= by_atomics == 0
            if unwritten.any():
                note(unwritten, "unwritten read", "")
        self._race(written, "stored", me, program, note)
        if not atomic and by_atomics is not None:
            self._race(by_atomics, "stored", me, program, note)
        if stores:
            self._race(r.reads[at], "loaded", me, program, note)
            if not atomic and r.atomic_reads.size:
                self._race(r.atomic_reads[at], "loaded", me, program, note)
        if atomic:
            r.keep_atomics()
        if stores and not atomic:
            r.writes[at] = me  # it is ordered after all others, or a race was noted
            return
        kept = r.reads if not atomic else r.atomic_writes if stores else r.atomic_reads
        kept[at] = self._joined(kept[at], me, program)

    def order(self, picked: NDArray[np.uint64], program: Program, acquires: bool, releases: bool) -> None:
        """Atomics at these addresses: what others released there is past, and what this program did is released."""
        me = self.stamp(program)
        past = self._past.setdefault(program, set())
        for address in np.unique(picked).tolist():
            if acquires:
                past |= self._released.get(address, set())
            if releases:
                self._released.setdefault(address, set()).update(past, (me,))
        if releases:  # what the program does from now on has another stamp; what it did is its own past
            past.add(me)
            self._stamps[program] = self._new_stamp(program)

    def stamp(self, program: Program) -> int:
        """The program's present one."""
        stamp = self._stamps.get(program)
        if stamp is None:
            stamp = self._stamps[program] = self._new_stamp(program)
        return stamp

    def _new_stamp(self, program: Program) -> int:
        stamp = next(_numbers)
        self._programs[stamp] = program
        return stamp

    def _race(self, numbers: NDArray[np.int32], did: str, me: int, program: Program, note: Note) -> None:
        candidates = (numbers >= self.floor) & (numbers != me)
        if not candidates.any():
            return
        past = self._past.get(program, set())
        unordered = {
            n: next((s for s in self._stamps_of(n) if s != me and s not in past), None)
            for n in np.unique(numbers[candidates]).tolist()
        }
        guilty = [n for n, stamp in unordered.items() if stamp is not None]
        if not guilty:
            return
        wrong = candidates & np.isin(numbers, guilty)
        stamp = unordered[int(numbers[np.flatnonzero(wrong)[0]])]
        note(wrong, "race", f"{did} by program {self._programs[stamp or 0]}")

    def _stamps_of(self, number: int) -> Iterator[int]:
        while number in self._groups:
            number, stamp = self._groups[number]
            yield stamp
        yield number

    def _joined(self, numbers: NDArray[np.int32], me: int, program: Program) -> NDArray[np.int32] | int:
        """These numbers with one stamp more.

        Those that are ordered before it are left out: what is ordered after it, is ordered after those.
        """
        others = (numbers >= self.floor) & (numbers != me)
        if not others.any():
            return me
        made = np.full(numbers.shape, me, np.int32)
        past = self._past.get(program, set())
        for n in np.unique(numbers[others]).tolist():
            made[numbers == n] = self._with(n, me, past)
        return made

    def _with(self, number: int, me: int, past: set[int]) -> int:
        rest: int | None = number
        while rest is not None:
            group = self._groups.get(rest)
            last = group[1] if group else rest
            if last == me:
                return rest
            if last not in past:
                break
            rest = group[0] if group else None
        if rest is None:
            return me
        made = self._group_of.get((rest, me))
        if made is None:
            made = self._group_of[rest, me] = next(_numbers)
            self._groups[made] = rest, me
        return made
