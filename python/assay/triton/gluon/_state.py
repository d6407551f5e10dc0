"""The launch and the program that is running, and the reports of what goes wrong in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from assay.triton.gluon._faults import KernelFault, Place, source_line


@dataclass
class Run:
    """One launch.

    goes_on: faults of memory are kept in ``faults``, one for each line and kind, and the access is left out; else the
    first one is raised, and again at the end of the launch if the kernel caught it.
    """

    grid: tuple[int, ...]
    goes_on: bool = False
    program: tuple[int, ...] = (0,)
    number: int = 0
    faults: dict[tuple[str, str, int], KernelFault] = field(default_factory=dict)
    lines: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    in_flight: list[Callable[[], None]] = field(default_factory=list)
    open_group: list[Callable[[], None]] = field(default_factory=list)

    def place(self) -> Place:
        """Where the kernel is."""
        return Place(*source_line(), self.program)

    def report(self, kind: str, what: str) -> None:
        """Keeps a fault at the line where the kernel is, and raises it unless the run goes on."""
        fault = KernelFault(kind, what, self.place())
        self.faults.setdefault((kind, fault.place.file, fault.place.line), fault)
        if not self.goes_on:
            raise fault

    def reached(self, access: str) -> None:
        """Counts an access ("load", "store") at the line where the kernel is."""
        self.lines[(access, *source_line())] += 1


_current: ContextVar[Run | None] = ContextVar("run", default=None)


def current() -> Run:
    """The launch that is running; outside of one RuntimeError."""
    run = _current.get()
    if run is None:
        raise RuntimeError("this works in a kernel alone: launch it")
    return run


def enter(run: Run | None) -> Run | None:
    """Makes it the current one; the one before."""
    before = _current.get()
    _current.set(run)
    return before
