"""The pytest plugin, run on small test files."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

TEST = """
    import assay, naive, numpy as np

    SUPPORTS = {"types": ["f16"], "no_window": 1, "no_soft_cap": 1, "no_sinks": 1, "no_prefix_offset": 1,
                "no_bias_f32": 1, "no_bias_f16": 1, "no_bias_bf16": 1, "no_page_list": 1, "no_batch": 1,
                "no_live_nan": 1, "no_live_infinity": 1, "most_keys": 200, "most_heads_q": 4}

    def outputs(case, fn):
        n = {**case.problem, "k_descale": None, "v_descale": None, **case.inputs, **case.outputs()}
        fn(**n)
        return {"o": n["o"], "lse": n["lse"]}
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    # What these runs load beside the plugin is none of their business.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p assay.pytest_plugin")

    def run(body: str, *arguments: str) -> Any:
        lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
        pytester.makepyfile(test_mine=TEST + "\n" + lines)
        return pytester.runpytest_subprocess("--assay-seed=3", *arguments)

    return run


RIGHT = """
@assay.cases("split_kv", n=15, supports=SUPPORTS)
def test_right(case):
    case.check(outputs(case, naive.split_kv))
"""
WRONG = RIGHT.replace("test_right", "test_wrong").replace("naive.split_kv", "naive.missing_mask")
FIRST_ONLY = WRONG.replace("n=15", "n=30, corpus=False")


def stored_in(folder: Path) -> list[Path]:
    return sorted(folder.glob(".assay/*/*.json"))


def test_generated_and_corpus_cases_run(suite: Any) -> None:
    result = suite(RIGHT, "-v")
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] > 15, "the corpus, too"
    result.stdout.fnmatch_lines(["assay: --assay-seed=3", "*test_right?corpus-*", "*test_right?14?*"])


def test_the_corpus_can_be_left_out(suite: Any) -> None:
    suite(RIGHT.replace("n=15", "n=6, corpus=False")).assert_outcomes(passed=6)


def test_a_failure_is_shrunk_shown_stored_and_replayed_first(suite: Any, pytester: pytest.Pytester) -> None:
    result = suite(FIRST_ONLY)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*fail: enclosure: *",
            "*- assay -*",
            "Falsifying example: test_wrong(",
            "    case={",
            '*"causal": true,',
            "shrunk in * steps (* tries) from case * of seed 3",
            "stored in .assay/*.json; it runs first the next time",
        ]
    )
    files = stored_in(pytester.path)
    assert files
    smallest = json.loads(files[0].read_text())
    assert len(smallest["sequences"]) == 1
    assert smallest["why"].startswith("CaseFailed: fail: enclosure: ")

    again = suite(FIRST_ONLY, "-v", "-x", "--assay-seed=4")
    first = next(line for line in again.stdout.lines if "::test_wrong[" in line)
    assert f"test_wrong[stored-{files[0].stem}] FAILED" in first

    mended = suite(FIRST_ONLY.replace("missing_mask", "split_kv"), "-v")
    assert set(mended.parseoutcomes()) == {"passed"}
    assert not stored_in(pytester.path), "what passes is no longer kept"


def test_any_exception_is_a_failure_and_is_shrunk_as_one_kind(suite: Any) -> None:
    body = """
@assay.cases("split_kv", n=12, corpus=False)
def test_raises(case, tmp_path):
    if case.problem["max_k"] > 10:
        raise KeyError("long")
    if case.problem["total_q"] > 3:
        raise IndexError("many")
"""
    result = suite(body)
    text = result.stdout.str()
    assert "KeyError: 'long'" in text
    assert re.search(r'"k": 11\b', text), "the smallest case of that kind"


def test_skips_and_expected_failures_stay(suite: Any, pytester: pytest.Pytester) -> None:
    body = """
import pytest
@assay.cases("split_kv", n=3, corpus=False)
def test_skips(case):
    pytest.skip("not here")
@pytest.mark.xfail
@assay.cases("split_kv", n=2, corpus=False)
def test_xfails(case):
    assert case.problem["heads_q"] < 0
"""
    suite(body).assert_outcomes(skipped=3, xfailed=2)


def test_seconds_bound_the_generated_cases(suite: Any) -> None:
    body = """
import time
@assay.cases("split_kv", n=10, corpus=False)
def test_slow(case):
    time.sleep(0.3)
"""
    outcomes = suite(body, "--assay-seconds=0.5", "-rs").parseoutcomes()
    assert outcomes["passed"] >= 2
    assert outcomes["skipped"] >= 5


def test_a_wrong_argument_is_named_at_collection(suite: Any) -> None:
    result = suite("@assay.cases('split_kv', supports={'no_lsee': 1})\ndef test_it(case): pass")
    result.stdout.fnmatch_lines(["*ValueError: supports: there is no 'no_lsee' (did you mean no_lse?)*"])
    assert result.ret == 2


def test_junit_is_pytests_own(suite: Any, pytester: pytest.Pytester) -> None:
    suite(FIRST_ONLY, "--junitxml=report.xml")
    text = (pytester.path / "report.xml").read_text()
    assert 'tests="30"' in text and "CaseFailed: fail: enclosure" in text


def test_tests_without_cases_are_left_alone(suite: Any) -> None:
    suite("def test_plain(tmp_path): assert True\ndef test_fails(): assert False").assert_outcomes(passed=1, failed=1)


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_xdist_collects_and_stores_alike(suite: Any, pytester: pytest.Pytester) -> None:
    body = FIRST_ONLY.replace("missing_mask", "gives_nan")
    pytester.makeini("[pytest]")
    for _ in range(2):  # without a seed: the clock's, the same for all workers; then with stored cases
        result = suite(body, "-n2", "-p", "xdist")
        assert result.parseoutcomes()["failed"] > 3
        assert "Different tests were collected" not in result.stdout.str()
    assert stored_in(pytester.path)
