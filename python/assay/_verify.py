"""assay.verify: the suite on a function."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from assay import _assay
from assay._case import Case, Source, case
from assay._errors import unknown
from assay._findings import again
from assay._kernel import Declares, Kernel
from assay._result import Finding, Result, Tooth, replay_line

_usage, _environment = 2, 3
_of_functions = ("exception", "launch", "crash", "hang")  # origins that have a traceback


def verify(
    fn: Callable[..., Any] | Kernel,
    operation: str = "split_kv",
    *,
    declares: Declares | None = None,
    supports: Mapping[str, Any] | None = None,
    arrays: str = "numpy",
    cases: int | Source | Iterable[Source] | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    properties: Iterable[str] = (),
    limit: float = 60,
    shrink: float = 20,
    accept_blunt: bool = False,
    findings: str | os.PathLike[str] = "out/findings",
) -> Result:
    """Checks a kernel on generated cases, or on stored ones, in worker processes.

    fn, operation, declares, supports, arrays: see :class:`assay.Kernel`; of a Kernel they are its own.
    cases: how many generated ones (default 500), or stored ones: files, dicts or :class:`assay.Case`.
    seconds: the duration of the run, in place of a number of cases.
    seed: the same seed gives the same cases. Default: the clock; the result has it.
    jobs: worker processes. Default: one for each processor.
    properties: check only these (``assay list properties``).
    limit: processor seconds after which a case counts as hung; by the clock it may take four times as long.
    shrink: seconds to spend on shrinking each kind of failure.
    accept_blunt: a run that reached little, or would miss standard faults, counts as verified.
    findings: the folder for the shrunk cases.

    An exception, a crash or a hang of the function is a finding, and the run goes on. Raises ValueError where an
    argument is wrong.
    """
    k = fn if isinstance(fn, Kernel) else Kernel(fn, operation, supports=supports, declares=declares, arrays=arrays)
    if isinstance(fn, Kernel) and (declares is not None or supports is not None):
        raise ValueError("declares and supports are the Kernel's own: state them where it is made")
    shared = [f"--jobs={jobs or os.cpu_count() or 1}", f"--limit={limit}", "--unchecked"]
    shared += [f"--property={name}" for name in properties]
    if cases is None or isinstance(cases, int):
        arguments = ["run", f"--kernel={k.operation}", f"--shrink={shrink}", *shared]
        arguments += [f"--findings={os.fspath(findings)}"]
        arguments += [f"--seconds={seconds}"] if seconds is not None else [f"--cases={500 if cases is None else cases}"]
        arguments += [f"--seed={seed}"] if seed is not None else []
        arguments += ["--accept-blunt"] if accept_blunt else []
        return _result(k, *_program(k, arguments), limit)
    if seconds is not None or seed is not None:
        raise ValueError("seconds and seed: not with stored cases")
    return _replayed(k, cases, shared, limit)


def _program(k: Kernel, arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """Runs a command: what it printed, and its report."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = Path(folder, "report.json")
        status, out, err = _assay.program([*arguments, f"--json={file}"], k._native)
        if status == _usage:
            raise ValueError(_without_prefix(err))
        if status == _environment:
            raise RuntimeError(_without_prefix(err))
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return _in_python(out, k), report


def _without_prefix(err: str) -> str:
    return err.strip().removeprefix("assay: ").replace(" (see --help)", "")


def _in_python(text: str, k: Kernel) -> str:
    """The lines that replay a case, as Python has them."""
    return re.sub(r"^( *)\./assay replay (?:-\S+ )*(\S+).*$", lambda m: m[1] + replay_line(k, m[2]), text, flags=re.M)


def _result(k: Kernel, text: str, report: dict[str, Any], limit: float) -> Result:
    found = [_finding(k, f, Case(json.dumps(f["case"])), limit) for f in report["findings"]]
    teeth = [Tooth(t["fault"], t["types"], t["seen"], t["asked"]) for t in report["teeth"]]
    verdict = "defect" if report["total"]["fail"] else "verified" if report["verified"] else "not verified"
    return Result(
        verdict,
        report["seed"],
        report["total"],
        teeth,
        found,
        "" if verdict != "not verified" else report["shortfall"],
        report["verified_for"],
        text,
        report,
    )


def _finding(k: Kernel, f: dict[str, Any], c: Case, limit: float) -> Finding:
    trace = again(k, c, f["property"], f["origin"], limit) if f["origin"] in _of_functions else k.hint(c, limit)
    file = Path(f["file"]) if f["file"] else None
    return Finding(f["property"], f["origin"], f["what"], f["hint"], c, file, f.get("alike", 1), trace, k)


def _replayed(k: Kernel, given: Source | Iterable[Source], shared: list[str], limit: float) -> Result:
    """The cases one by one, by all properties; they are not shrunk, for they are stored."""
    sources = [given] if isinstance(given, Case | str | os.PathLike | Mapping) else list(given)
    if not sources:
        raise ValueError("cases: there is none")
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        files: dict[str, tuple[Case, Path | None]] = {}
        for i, source in enumerate(sources):
            is_text = isinstance(source, str) and source.lstrip().startswith("{")
            is_file = isinstance(source, str | os.PathLike) and not is_text
            c = case(source)
            if c.kernel != k.operation:
                raise unknown(f"cases: kernel of case {i}", c.kernel, [k.operation])
            file = Path(source) if is_file else Path(folder, f"case-{i}.json")  # type: ignore[arg-type]
            if not is_file:
                file.write_text(c.json, encoding="utf-8")
            files[str(file)] = (c, file if is_file else None)
        text, report = _program(k, ["replay", *files, *shared])
    found = []
    for f in report["findings"]:
        c, stored = files[f["file"]]
        found.append(_finding(k, {**f, "file": str(stored or "")}, c, limit))
    verdict = "defect" if report["total"]["fail"] else "verified" if report["verified"] else "not verified"
    shortfall = "" if verdict != "not verified" else "no case passed, or too many are discarded or undecided"
    return Result(verdict, 0, report["total"], [], found, shortfall, [], text, report)
