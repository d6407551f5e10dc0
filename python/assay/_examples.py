"""Failing cases of tests: how they are shrunk, stored and shown."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay import _assay
from assay._case import Case


@dataclass
class Example:
    """The smallest case found on which a test fails as it did before, and what it raises there."""

    case: Case
    error: BaseException
    steps: int = 0
    tries: int = 0


def shrink(
    test: Callable[[Case], BaseException | None], case: Case, error: BaseException, supports: str, seconds: float
) -> Example:
    """Descends to simpler cases, as the suite does. ``test`` returns what a test raises, or None."""
    found = Example(case, error)
    end = time.monotonic() + seconds
    seen = {case.json}

    def step() -> bool:
        for text in _assay.simpler(found.case.json, supports):
            if time.monotonic() > end:
                return False
            if text in seen:
                continue
            seen.add(text)
            found.tries += 1
            candidate = Case(text)
            raised = test(candidate)
            if raised is not None and _kind(raised) == _kind(error):
                found.case, found.error = candidate, raised
                found.steps += 1
                return True
        return False

    while step():
        pass
    return found


def _kind(error: BaseException) -> tuple[type, str]:
    """Failures of one kind are one failure."""
    return type(error), str(getattr(error, "origin", ""))


class Store:
    """Failing cases in a folder, by test. A case is written by rename, never half."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, test: str) -> Path:
        """The folder of a test, by its node id without parameters."""
        return self.folder / re.sub(r"[^A-Za-z0-9_.-]+", "-", test)

    def snapshot(self) -> dict[str, dict[str, str]]:
        """All cases: by folder, then by file."""
        found: dict[str, dict[str, str]] = {}
        for file in sorted(self.folder.glob("*/*.json")):
            found.setdefault(file.parent.name, {})[file.name] = file.read_text(encoding="utf-8")
        return found

    def keep(self, test: str, case: Case, error: BaseException) -> Path:
        """Writes a case, with the error as its reason."""
        first = str(error).splitlines()[:1]
        why = ": ".join([type(error).__name__, *first])[:500]
        kept = Case(json.dumps({**case.fields, "why": why}))
        name = hashlib.sha256(json.dumps({**case.fields, "why": ""}).encode()).hexdigest()[:12]
        file = self.place(test) / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(f".{time.monotonic_ns()}.half")
        half.write_text(kept.json, encoding="utf-8")
        half.replace(file)
        return file


def text_of(name: str, found: Example, came_from: str, file: Path) -> str:
    """The example for people."""
    lines = found.case.json.rstrip().replace("\n", "\n    ")
    return (
        f"Falsifying example: {name}(\n    case={lines},\n)\n"
        f"shrunk in {found.steps} steps ({found.tries} tries) from {came_from}\n"
        f"stored in {file}; it runs first the next time"
    )
