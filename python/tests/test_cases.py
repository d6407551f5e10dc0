"""Cases as data: inputs, exact values, enclosures and verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest

import assay
from assay._program import corpus

SMALL: dict[str, Any] = {
    "heads_q": 4,
    "heads_kv": 2,
    "pool_pages": 5,
    "causal": True,
    "sequences": [{"q": 2, "k": 20, "pages": [4, 1]}, {"q": 1, "k": 37, "pages": [0, 2, 3]}],
}


def attended(case: assay.Case) -> dict[str, Any]:
    n = {**case.problem, **dict.fromkeys(["k_descale", "v_descale"]), **case.inputs, **case.outputs()}
    naive.split_kv(**n)
    return {"o": n["o"], "lse": n["lse"]}


def test_a_case_is_read_from_file_text_and_dict(tmp_path: Path) -> None:
    case = assay.case(SMALL)
    file = tmp_path / "case.json"
    file.write_text(case.json)
    assert assay.case(file) == assay.case(str(file)) == assay.case(case.json) == assay.case(case) == case
    assert len({case, assay.case(file)}) == 1
    assert eval(repr(case), {"assay": assay, "true": True, "false": False}) == case
    assert case.kernel == "split_kv" and case.why == ""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"heads": 3}, "heads"),
        ({"sequences": [{"k": 20, "pages": [0]}], "pool_pages": 1}, "pages"),
        ("{", "case"),
    ],
)
def test_a_wrong_case_is_refused(source: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assay.case(source)


def test_a_missing_file_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        assay.case("nowhere.json")


def test_right_outputs_pass_and_wrong_ones_fail() -> None:
    case = assay.case(SMALL)
    outputs = attended(case)
    assert case.judge(outputs)
    assert case.judge({"o": outputs["o"]}), "what is missing is not judged"
    wrong = outputs["lse"].copy()
    wrong[1, 2] += 1
    said = case.judge({**outputs, "lse": wrong})
    assert not said and said.origin == "enclosure"
    assert said.what.startswith("lse[1, 2] = ") and "fail: enclosure: lse[1, 2]" in str(said)
    with pytest.raises(assay.CaseFailed, match=r"lse\[1, 2\]"):
        case.check({"lse": wrong})
    case.check(outputs)


def test_what_is_changed_in_place_is_judged_together() -> None:
    case = assay.case({"kernel": "append_kv", "pool_pages": 1, "sequences": [{"k": 2, "pages": [0]}]})
    before = case.outputs()
    with pytest.raises(ValueError, match="v: missing"):
        case.judge({"k": before["k"]})
    assert not case.judge(before), "no row was appended"


def test_judged_names_shapes_and_types_are_checked() -> None:
    case = assay.case(SMALL)
    with pytest.raises(ValueError, match="'out' is no output of this case; there are o, lse"):
        case.judge({"out": 1})
    with pytest.raises(Exception, match=r"o has elements of float64, not of float16"):
        case.judge({"o": np.zeros((3, 4, 64))})
    with pytest.raises(Exception, match=r"o has the shape \(3, 4\), not \(3, 4, 64\)"):
        case.judge({"o": np.zeros((3, 4), np.float16)})


def test_exact_values_are_those_of_the_definition() -> None:
    case = assay.case(SMALL)
    exact, bounds = case.exact(), case.enclosure()
    x = case.inputs
    k = x["k"][x["block_table"][1][np.arange(37) // 16], np.arange(37) % 16].astype(np.float64)
    logits = k[:, 1] @ x["q"][2, 3].astype(np.float64) * float(np.float32(case.problem["scale"]))
    np.testing.assert_allclose(exact["lse"][2, 3], np.log(np.exp(logits - logits.max()).sum()) + logits.max(), 1e-12)
    for name in ("o", "lse"):
        assert (bounds[name].lo <= exact[name]).all() and (exact[name] <= bounds[name].hi).all()
    assert assay.exact(case)["lse"].tolist() == exact["lse"].tolist()
    assert assay.enclosure(case)["lse"].lo.tolist() == bounds["lse"].lo.tolist()


def test_a_row_without_keys_is_exactly_nothing() -> None:
    case = assay.case({"sequences": [{"k": 0}]})
    assert case.exact()["lse"].tolist() == [[-np.inf]]
    assert (case.exact()["o"] == 0).all()


def test_a_kernel_is_checked_in_its_own_process() -> None:
    case = assay.case({"sequences": [{"k": 101, "pages": [0, 1, 2, 3, 4, 5, 6]}], "pool_pages": 7})
    case.check(assay.kernel(naive.split_kv))
    with pytest.raises(assay.CaseFailed, match="crash") as failed:
        case.check(assay.kernel(naive.aborts))
    assert " in aborts" in str(failed.value)


def test_the_corpus_comes_with_the_package() -> None:
    files = list(corpus().glob("*/*.json"))
    assert len(files) > 50
    for file in files:
        assert assay.case(file).why == json.loads(file.read_text())["why"]
