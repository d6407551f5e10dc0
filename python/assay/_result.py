"""The result of a run: verdict, teeth and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay._case import Case, Enclosure

if TYPE_CHECKING:
    from assay._kernel import Kernel


@dataclass(frozen=True)
class Tooth:
    """A standard fault: at how many places the run would have seen it, of those where it was asked for."""

    fault: str
    types: str
    seen: int
    asked: int


@dataclass(frozen=True)
class Finding:
    """A failure, shrunk: the property, what decided, one line on what is wrong and where, and the case.

    ``alike``: how many cases failed in this way; 0: only beside other ways. ``traceback``: Python's, of an exception, a
    crash or a hang; of wrong values of a Triton kernel, the lines that loaded dead memory; else empty. ``file``: where
    the case is stored.
    """

    property: str
    origin: str
    what: str
    hint: str
    case: Case
    file: Path | None
    alike: int
    traceback: str
    kernel: Kernel = field(repr=False)

    @cached_property
    def enclosure(self) -> dict[str, Enclosure]:
        """The enclosures of the case's outputs by the kernel's contract."""
        return self.case.enclosure(self.kernel.contract(self.case.problem) if self.kernel.declares else None)

    @cached_property
    def exact(self) -> dict[str, NDArray[np.float64]]:
        """The exact outputs of the case."""
        return self.case.exact()

    def __str__(self) -> str:
        """What is wrong, the case, and how to run it again."""
        lines = [f"FAIL {self.property}: {self.origin}: {self.what}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        lines.append(self.case.json.rstrip())
        if self.file:
            lines.append(replay_line(self.kernel, self.file))
        return "\n".join([*lines, *([self.traceback.rstrip()] if self.traceback else [])])


def replay_line(kernel: Kernel, file: Path | str) -> str:
    """The line of Python that runs a stored case again."""
    return f'assay.verify({kernel.__name__}, cases=["{file}"])'


@dataclass(frozen=True)
class Result:
    """What a run showed. True if the kernel is verified; ``print`` it to see why not.

    ``verdict`` is "verified", "defect" or "not verified" (no case failed, but too little was seen: ``shortfall`` says
    what). ``counts`` are the cases by outcome. ``report`` is all of it, as ``assay run --json`` writes it.
    """

    verdict: str
    seed: int
    counts: dict[str, int]
    teeth: list[Tooth]
    findings: list[Finding]
    shortfall: str
    verified_for: list[str]
    text: str
    report: Mapping[str, Any] = field(repr=False)

    def __bool__(self) -> bool:
        """Whether the kernel is verified."""
        return self.verdict == "verified"

    def __str__(self) -> str:
        """The report for people, and the tracebacks of the findings."""
        parts = [self.text.rstrip()]
        parts += [f"{f.origin}: {f.what}\n{f.traceback.rstrip()}" for f in self.findings if f.traceback]
        return "\n\n".join(parts) + "\n"
