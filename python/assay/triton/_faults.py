"""What a kernel did wrong to memory, and where."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A line of a kernel's source. ``callers``: the lines of the kernel that called it, the nearest first."""

    file: str = ""
    line: int = 0
    callers: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """The line itself, without the spaces around it; empty where there is no file."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        """File and line ("decode.py:31"), and where the function was called from."""
        if not self.file:
            return "a place unknown"
        at = [f"{f.rpartition('/')[2]}:{n}" for f, n in ((self.file, self.line), *self.callers)]
        return ", called from ".join(at)


@dataclass
class Fault:
    """One mistake of one line.

    kind: "out of bounds", "unwritten read", "input store", "dead store", "race", "misaligned" or "two values".
    what: the access and the element: "store outside of o of shape [2, 8, 64]: o[2, 0, 0]".
    tensor: its name, or None where it is none. program: (x, y, z). lane: its index in the block of addresses.
    times: how many accesses of that line were at fault in this way; lanes: how many lanes of the first one.
    """

    kind: str
    what: str
    tensor: str | None
    kernel: str
    program: tuple[int, int, int]
    lane: tuple[int, ...]
    place: Place
    lanes: int = 1
    times: int = 1

    def __str__(self) -> str:
        """Two lines: what, program and lane; then the line of the source."""
        lane = self.lane[0] if len(self.lane) == 1 else list(self.lane)
        more = f" and {self.lanes - 1} more" if self.lanes > 1 else ""
        who = f"program {self.program} lane {lane}{more}" if self.lane else f"program {self.program}"
        return f"{self.what}, {who} of {self.kernel}\n  {self.place}: {self.place.text}"


class MemoryFaults(Exception):  # noqa: N818  each of them is a fault
    """A kernel accessed memory as it must not. ``faults``: one for each kind and line, in the order of their times."""

    one_line = True  # its first line says the place: see _call.py

    def __init__(self, faults: Sequence[Fault]) -> None:
        """There is at least one."""
        self.faults = list(faults)
        first, place = str(self.faults[0]).split("\n", 1)
        lines = {(f.place.file, f.place.line) for f in self.faults}
        more = f" (and {len(lines) - 1} more line{'s' if len(lines) > 2 else ''} at fault)" if len(lines) > 1 else ""
        super().__init__(f"{first}, {place.strip()}{more}")

    @property
    def others(self) -> list[str]:
        """One line on the first fault of each line of the source but that of the first."""
        by_place = {(f.place.file, f.place.line, f.place.callers): f for f in reversed(self.faults)}
        first = self.faults[0].place
        by_place.pop((first.file, first.line, first.callers))
        return [", ".join(part.strip() for part in str(f).split("\n", 1)) for f in reversed(by_place.values())]

    @property
    def report(self) -> str:
        """All of them, two lines each."""
        return "\n".join(map(str, self.faults))
