"""Cases: one run of a kernel as data, with its inputs, enclosures and exact values."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay import _assay, _names
from assay._arrays import Arrays, store, to_numpy
from assay._errors import CaseFailed

if TYPE_CHECKING:
    from assay._kernel import Kernel

Source: TypeAlias = "Case | str | os.PathLike[str] | Mapping[str, Any]"
# Of oracle::element_rule.
_kept, _nan = 1, 5


@dataclass(frozen=True)
class Enclosure:
    """The intervals that the elements of an output must lie in, before their last rounding.

    ``lo`` and ``hi`` are float64, of the output's shape. ``rules`` has an ``oracle::element_rule`` for each element
    (0: in its interval, 1: not written, 5: NaN, ...); None: all are 0. ``indices``: those along the first axis that
    ``lo`` and ``hi`` cover; None: all.
    """

    lo: NDArray[np.float64]
    hi: NDArray[np.float64]
    rules: NDArray[np.uint8] | None = None
    indices: list[int] | None = None


@dataclass(frozen=True)
class Verdict:
    """What the judge says of outputs: "pass", "fail", "discard" or "undecided", which check decided, and why."""

    outcome: str
    origin: str
    what: str

    def __bool__(self) -> bool:
        """Whether the outputs pass."""
        return self.outcome == "pass"

    def __str__(self) -> str:
        """One line."""
        return f"{self.outcome}: {self.origin}: {self.what}" if self.what else self.outcome


def _enclosures(found: dict[str, tuple[_assay.Array, _assay.Array | None, list[int] | None]]) -> dict[str, Enclosure]:
    made = {}
    for name, (ends, rules, indices) in found.items():
        both = to_numpy(ends)
        made[name] = Enclosure(both[..., 0], both[..., 1], None if rules is None else to_numpy(rules), indices)
    return made


class Case:
    """A case. Equal cases have equal JSON."""

    def __init__(self, json_text: str, origin: str = "case") -> None:
        """Reads the JSON form; ``origin`` begins the message of the ValueError of a bad one."""
        self._native = _assay.Case(json_text, origin)
        self.json = self._native.json()

    def __eq__(self, other: object) -> bool:
        """By the JSON form."""
        return isinstance(other, Case) and other.json == self.json

    def __hash__(self) -> int:
        """By the JSON form."""
        return hash(self.json)

    def __repr__(self) -> str:
        """The whole case: ``assay.case({...})``."""
        return f"assay.case({json.dumps(self.fields)})"

    def __str__(self) -> str:
        """The JSON form."""
        return self.json

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The JSON form as a dict."""
        fields: dict[str, Any] = json.loads(self.json)
        return fields

    @property
    def why(self) -> str:
        """The reason for the case."""
        return str(self.fields.get("why", ""))

    @property
    def kernel(self) -> str:
        """The operation: "split_kv"."""
        return str(self.fields.get("kernel", "split_kv"))

    @cached_property
    def problem(self) -> dict[str, Any]:
        """The problem's numbers, as a kernel gets them; with one split where the case leaves that to the kernel."""
        return self._native.problem()

    @cached_property
    def inputs(self) -> Arrays:
        """The inputs by name, read-only: those that ``kernels/problem.hpp`` describes."""
        return {name: to_numpy(a) for name, a in self._native.inputs().items()}

    def outputs(self) -> Arrays:
        """New outputs for a kernel to write; each byte is 0xFF. In-out tensors hold what they held before."""
        return {name: to_numpy(a) for name, a in self._native.outputs([]).arrays().items()}

    def enclosure(self, declares: Mapping[str, Any] | None = None) -> dict[str, Enclosure]:
        """The enclosures of the outputs by a contract. None: what the types alone allow."""
        return _enclosures(self._native.enclosure(None if declares is None else dict(declares)))

    def exact(self) -> dict[str, NDArray[np.float64]]:
        """The exact outputs, as the nearest float64; NaN where NaN is due and where nothing may be written."""
        values = {}
        for name, e in _enclosures(self._native.exact()).items():
            is_point = e.lo == e.hi
            with np.errstate(invalid="ignore"):
                middle = np.where(is_point, e.lo, e.lo + (e.hi - e.lo) / 2)
            values[name] = middle if e.rules is None else np.where(np.isin(e.rules, (_kept, _nan)), np.nan, middle)
        return values

    def judge(self, outputs: Mapping[str, Any], declares: Mapping[str, Any] | None = None) -> Verdict:
        """Judges outputs that somebody computed of :attr:`inputs`; those that are missing are not judged.

        Raises ValueError for a name that is no output, WrongOutput for a wrong shape or dtype.
        """
        there_are = self._native.outputs([]).arrays()
        for name in outputs:
            if name not in there_are:
                raise ValueError(f"{name!r} is no output of this case; there are {', '.join(there_are)}")
        left_out = [n for n in _names.outputs_of(self.kernel) if n in there_are and n not in outputs]
        if left_out and self.kernel == "append_kv":
            raise ValueError(f"{', '.join(left_out)}: missing, and what is changed in place is judged together")
        written = self._native.outputs(left_out)
        for name, target in written.arrays().items():
            store(name, target, outputs[name], (slice(None),))
        return Verdict(*self._native.judge(written, None if declares is None else dict(declares)))

    def check(self, judged: Kernel | Mapping[str, Any], *, limit: float = 60) -> None:
        """Fails, as an assertion does, unless the outputs, or those of a kernel in a process of its own, pass."""
        __tracebackhide__ = True
        if isinstance(judged, Mapping):
            verdict = self.judge(judged)
            if verdict.outcome == "fail":
                raise CaseFailed(verdict.origin, str(verdict))
            return
        from assay._findings import in_worker

        said = in_worker(judged, self, "output_enclosed", limit)
        if said.verdict.outcome == "fail":
            raise CaseFailed(said.verdict.origin, f"{said.verdict}\n{said.traceback}".rstrip())


def case(source: Source) -> Case:
    """A case of a file, of its JSON text (which begins with a brace), or of a dict of its fields.

    Raises ValueError that names the field that is wrong, OSError where the file cannot be read.
    """
    if isinstance(source, Case):
        return source
    if isinstance(source, Mapping):
        return Case(json.dumps({"version": 1, **source}), "case")
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return Case(source, "case")
    return Case(Path(source).read_text(encoding="utf-8"), os.fspath(source))


def enclosure(source: Source, declares: Mapping[str, Any] | None = None) -> dict[str, Enclosure]:
    """The enclosures of a case's outputs, by name; see :meth:`Case.enclosure`."""
    return case(source).enclosure(declares)


def exact(source: Source) -> dict[str, NDArray[np.float64]]:
    """The exact outputs of a case, by name; see :meth:`Case.exact`."""
    return case(source).exact()
