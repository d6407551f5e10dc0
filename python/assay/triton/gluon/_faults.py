"""What an evaluation reports, and what it does not know."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_here = str(Path(__file__).parent)


@dataclass(frozen=True)
class Place:
    """A line of a kernel's source, and the program that was there."""

    file: str
    line: int
    program: tuple[int, ...]

    def __str__(self) -> str:
        """As "file.py:12 (program 3)"."""
        ids = ", ".join(map(str, self.program))
        return f"{self.file}:{self.line} (program {ids})"


class KernelFault(Exception):  # noqa: N818
    """What a kernel did wrong, and where. ``kind``: "out of bounds", "unwritten", "race", "undefined"."""

    one_line = True  # its line says the place: see assay/_call.py

    def __init__(self, kind: str, what: str, place: Place) -> None:
        """One line that says all of it."""
        super().__init__(f"{what} at {place}")
        self.kind = kind
        self.what = what
        self.place = place

    def __reduce__(self) -> tuple[type[KernelFault], tuple[str, str, Place]]:
        """So that it passes between processes."""
        return KernelFault, (self.kind, self.what, self.place)


class UnknownOperation(NotImplementedError):  # noqa: N818
    """The kernel uses something that the evaluation does not know; the message names it."""


def source_line() -> tuple[str, int]:
    """File name and line of the innermost frame that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_here):
        frame = frame.f_back
    return frame.f_code.co_filename.rpartition("/")[2], frame.f_lineno
