"""The pytest plugin: tests on cases (:func:`assay.cases`).

Options: ``--assay-seed`` and ``--assay-seconds``; ``--assay-findings`` is where failing cases are stored.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from assay import _assay
from assay._case import Case
from assay._examples import Store, shrink, text_of
from assay._program import corpus

_seconds_to_shrink = 20.0
_seed = pytest.StashKey[int]()
_stored = pytest.StashKey[dict[str, dict[str, str]]]()
_spent = pytest.StashKey[dict[str, float]]()
_example = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("assay", "tests on cases of attention kernels (assay)")
    group.addoption(
        "--assay-seed", type=int, default=None, metavar="N", help="seed of generated cases; default: the clock"
    )
    group.addoption(
        "--assay-seconds",
        type=float,
        default=None,
        metavar="S",
        help="skip the generated cases of a test that it has not begun after so many seconds",
    )
    group.addoption(
        "--assay-findings",
        default=".assay",
        metavar="DIR",
        help="folder for failing cases, from the root folder (default: %(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Chooses the seed, and reads what is stored; xdist's workers get both from the controller."""
    config.addinivalue_line("markers", "assay_cases(operation, n, corpus, supports): made by assay.cases")
    given: dict[str, Any] = getattr(config, "workerinput", {})
    seed = config.getoption("--assay-seed")
    config.stash[_seed] = given.get("assay_seed", seed if seed is not None else time.time_ns() % 1_000_000_000)
    config.stash[_stored] = given.get("assay_stored") or _store(config).snapshot()
    config.stash[_spent] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hands both to a worker of xdist: all must collect the same tests."""
    node.workerinput["assay_seed"] = node.config.stash[_seed]
    node.workerinput["assay_stored"] = node.config.stash[_stored]


def pytest_report_header(config: pytest.Config) -> str:
    """Says the seed."""
    return f"assay: --assay-seed={config.stash[_seed]}"


def _store(config: pytest.Config) -> Store:
    return Store(config.rootpath / str(config.getoption("--assay-findings")))


def _test_of(item: Any) -> str:
    """The node id without the parameters."""
    return str(item.nodeid).partition("[")[0]


def _is_generated(case_id: str) -> bool:
    return case_id.isdigit()


@functools.lru_cache
def _generated(operation: str, supports: str, n: int, seed: int) -> tuple[str, ...]:
    return tuple(_assay.cases(operation, supports, n, seed))


@functools.lru_cache
def _of_corpus(operation: str, supports: str) -> tuple[tuple[str, str], ...]:
    """Names and texts of the stored cases within the support. Splits are no part of what a function computes."""
    found = []
    for file in sorted(Path(corpus(), operation).glob("*.json")):
        fields = json.loads(file.read_text(encoding="utf-8"))
        if json.loads(supports)["no_split_count"]:
            fields.pop("num_splits", None)
        text = json.dumps(fields)
        if not _assay.beyond(text, supports):
            found.append((f"corpus-{file.stem}", text))
    return tuple(found)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives the cases to the tests that ask for them."""
    mark = metafunc.definition.get_closest_marker("assay_cases")
    if mark is None:
        return
    operation, n, has_corpus, supports = mark.args
    config = metafunc.config
    stored = config.stash[_stored].get(_store(config).place(_test_of(metafunc.definition)).name, {})
    named = [(f"stored-{Path(file).stem}", text) for file, text in stored.items()]
    named += _of_corpus(operation, supports) if has_corpus else ()
    named += [(f"{i}", text) for i, text in enumerate(_generated(operation, supports, n, config.stash[_seed]))]
    metafunc.parametrize("case", [Case(text, name) for name, text in named], ids=[name for name, _ in named])


def _raised(test: Any, arguments: dict[str, Any]) -> BaseException | None:
    """What a test raises, but for what says that it is skipped or expected to fail."""
    try:
        test(**arguments)
    except (Exception, pytest.fail.Exception) as e:
        return e
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test on its case. If it fails, shrinks the case, and raises what the test raises on the smallest one."""
    mark = pyfuncitem.get_closest_marker("assay_cases")
    if mark is None:
        return None
    config, case_id = pyfuncitem.config, pyfuncitem.callspec.id
    test, spent = _test_of(pyfuncitem), config.stash[_spent]
    most = config.getoption("--assay-seconds")
    if most is not None and _is_generated(case_id) and spent.get(test, 0) > most:
        pytest.skip(f"--assay-seconds={most:g} are over")
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    case = arguments["case"]
    begin = time.monotonic()
    error = _raised(pyfuncitem.obj, arguments)
    spent[test] = spent.get(test, 0) + time.monotonic() - begin
    place = _store(config).place(test)
    if error is None:
        if case_id.startswith("stored-"):
            (place / f"{case_id.removeprefix('stored-')}.json").unlink(missing_ok=True)
        return True
    __tracebackhide__ = True
    seconds = _seconds_to_shrink if most is None else min(most, _seconds_to_shrink)
    found = shrink(lambda c: _raised(pyfuncitem.obj, arguments | {"case": c}), case, error, mark.args[3], seconds)
    file = _store(config).keep(test, found.case, found.error)
    if case_id.startswith("stored-") and file.stem != case_id.removeprefix("stored-"):
        (place / f"{case_id.removeprefix('stored-')}.json").unlink(missing_ok=True)
    came_from = f"case {case_id} of seed {config.stash[_seed]}" if _is_generated(case_id) else case_id
    shown = file.relative_to(config.rootpath) if file.is_relative_to(config.rootpath) else file
    pyfuncitem.stash[_example] = text_of(pyfuncitem.originalname, found, came_from, shown)
    raise found.error


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Shows the example below the failure."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and _example in item.stash:
        report.sections.append(("assay", item.stash[_example]))
