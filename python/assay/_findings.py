"""What happens when a case runs in a process of its own, with the traceback of what ends it."""

from __future__ import annotations

import faulthandler
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay import _assay
from assay._case import Case, Verdict

if TYPE_CHECKING:
    from assay._kernel import Kernel

# A hang is looked at after so many seconds: it had its whole limit before.
_seconds_of_a_hang = 3.0


@dataclass(frozen=True)
class Said:
    """A verdict, and Python's traceback where it is about the function: else empty."""

    verdict: Verdict
    traceback: str


def again(kernel: Kernel, case: Case, prop: str, origin: str, limit: float) -> str:
    """The traceback of a failure of this origin: of another run of the case."""
    return in_worker(kernel, case, prop, min(limit, _seconds_of_a_hang) if origin == "hang" else limit).traceback


def in_worker(kernel: Kernel, case: Case, prop: str, limit: float) -> Said:
    """Checks a property on a case in a worker. A crash, or a hang by the clock, is a failure."""
    with tempfile.TemporaryFile() as log:

        def work() -> str:
            faulthandler.disable()  # a worker has the signals' own handlers: what was enabled before is not
            faulthandler.enable(log, all_threads=False)
            faulthandler.dump_traceback_later(limit, exit=True, file=log)
            said = "\0".join(_assay.check(kernel._native, case.json, prop))
            faulthandler.cancel_dump_traceback_later()
            return said

        reply, death, last_words = _assay.isolate(work, 2 * limit)
        if reply is not None:
            outcome, origin, what, trace = reply.split("\0")
            return Said(Verdict(outcome, origin, what), trace)
        log.seek(0)
        trace = log.read().decode(errors="replace")
    if trace.startswith("Timeout"):
        return Said(Verdict("fail", "hang", f"it did not end within {limit:g} s"), _of_the_kernel(trace))
    said = Verdict("fail", "memory" if last_words else "crash", last_words or f"the process {death}")
    return Said(said, _of_the_kernel(trace))


def _of_the_kernel(trace: str) -> str:
    """The frames of the kernel; those of the package that called it are left out."""
    kept = []
    for line in trace.splitlines():
        if "/assay/_call.py" in line or line.startswith("Extension modules"):
            break
        kept.append(line)
    return "\n".join(kept).strip()
