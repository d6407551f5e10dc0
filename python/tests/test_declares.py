"""What a kernel declares and supports, and how wrong words are refused."""

from __future__ import annotations

from typing import Any

import naive
import pytest

import assay
from assay import _assay


def verify(fn: Any = naive.split_kv, **options: Any) -> assay.Result:
    given = {"supports": naive.SUPPORTS, "cases": 20, "seed": 1, "jobs": 2, "accept_blunt": True, **options}
    return assay.verify(fn, properties=["output_enclosed"], **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operation": "splitkv"}, "operation: there is no 'splitkv' .did you mean split_kv.."),
        ({"supports": {"no_lsee": 1}}, r"supports: there is no 'no_lsee' \(did you mean no_lse\?\); there are: "),
        ({"supports": {"no_lse": 2}}, "supports: no_lse: 2 is not 0 or 1"),
        ({"supports": {"no_lse": "yes"}}, "supports: no_lse: 'yes' is not a whole number"),
        ({"supports": {"types": ["f17"]}}, r"supports: types: there is no 'f17' \(did you mean f16\?\)"),
        ({"supports": {"types": [3]}}, "supports: types: 3 is not Q, Q/K"),
        ({"supports": {"head_dims": "64"}}, "supports: head_dims: '64' is not a size"),
        ({"supports": {"head_dims": {"from": 64}}}, "supports: head_dims: there is no 'from'; there are: least"),
        ({"supports": {"head_dims": -1}}, "supports: head_dims: -1 is negative"),
        ({"supports": {"head_dims": {"least": 64, "most": 16}}}, "least 64 is above most 16"),
        ({"declares": {"tile_key": 64}}, "declares: a contract has no 'tile_key'; it has "),
        ({"declares": {"order": "sideways"}}, "declares: order: 'sideways' is not one of ascending, descending, any"),
        ({"declares": {"p_type": "f17"}}, "declares: p_type: 'f17' is not one of none, f32, f16"),
        ({"declares": {"tile_keys": 1.5}}, "declares: tile_keys: 1.5 is not a whole number"),
        ({"declares": {"recipe": "mine"}}, "declares: recipe: 'mine' is not one of of_types"),
        ({"declares": {"recipe": "flash_attention_2"}}, "flash_attention_2 needs tile_keys"),
        ({"declares": {"qk": {"product": 1}}}, "declares: qk: 'product' is not one of products"),
        ({"declares": {"qk": 3}}, "declares: qk: 3 is not a dict"),
        ({"declares": {"qk_atom": "tpu"}}, "declares: qk_atom: 'tpu' is not one of hopper"),
        ({"declares": {"head_tree": 3}}, "declares: head_tree: 3 is not a list"),
        ({"declares": {"exp2_relative_error": 0.5}}, "declares: the contract cannot bound the outputs"),
        ({"arrays": "cupy"}, "arrays: there is no 'cupy'"),
        ({"fn": lambda query: None}, "the kernel's parameters: of split_kv: there is no 'query'"),
        ({"fn": lambda q, /: None}, "positional only"),
        ({"fn": lambda q: None}, "supports: .*no case is within what it declares: each one has block tables"),
        ({"cases": 0}, "--cases"),
        ({"seconds": -1.0}, "--seconds"),
        ({"jobs": -1}, "--jobs"),
        ({"cases": []}, "cases: there is none"),
        ({"cases": [{"heads_q": -1}]}, "heads_q"),
        (
            {"cases": {"kernel": "batch_prefill", "q_type": "e4m3fn", "kv_type": "e4m3fn"}},
            "cases: kernel of case 0: there is no 'batch_prefill'",
        ),
    ],
)
def test_a_wrong_argument_is_named(options: dict[str, Any], message: str) -> None:
    options = {"cases": 3, **options}
    fn = options.pop("fn", naive.split_kv)
    with pytest.raises(ValueError, match=message):
        assay.verify(fn, **options)


def test_a_wrong_property_is_named() -> None:
    with pytest.raises(ValueError, match="no property 'speed'"):
        assay.verify(naive.split_kv, supports=naive.SUPPORTS, cases=3, properties=["speed"])


def test_a_contract_makes_enclosures_sharper() -> None:
    case = assay.case({"sequences": [{"q": 2, "k": 40, "pages": [2, 0, 1]}], "pool_pages": 3})
    wide = case.enclosure()["o"]
    sharp = case.enclosure({"recipe": "in_any_order"})["o"]
    assert ((sharp.hi - sharp.lo) < (wide.hi - wide.lo)).mean() > 0.9
    assert (sharp.lo >= wide.lo).all() and (sharp.hi <= wide.hi).all()


def test_a_contract_judges_the_kernel() -> None:
    assert verify(declares={"recipe": "in_any_order"})
    rounded = verify(declares={"order": "ascending", "tile_keys": 64, "p_type": "f32"})
    assert rounded.report["total"]["undecided"] == 0

    def cut(**n: Any) -> None:
        """The last bits of O are lost."""
        naive.run(n)
        n["o"][...] = (n["o"].view("u2") & 0xFFE0).view("f2")

    assert verify(cut, declares={"recipe": "in_any_order"}).verdict == "defect"


def test_a_contract_of_the_problem() -> None:
    asked = []

    def declares(problem: dict[str, Any]) -> dict[str, Any]:
        asked.append(problem)
        return {"recipe": "flash_attention_2", "tile_keys": problem["page_size"]}

    assert verify(declares=declares)

    def broken(problem: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("tile")

    result = verify(declares=broken)
    assert result.findings[0].origin == "launch"
    assert "declares: KeyError: 'tile'" in result.findings[0].what


def test_supports_decide_which_cases_are_drawn() -> None:
    supports = {**naive.SUPPORTS, "head_dims": [64, 128], "page_sizes": 16, "most_rows": 1, "group_sizes": range(1, 5)}
    seen = []
    for text in _assay.cases("split_kv", assay.Kernel(naive.split_kv, supports=supports).supports_json, 60, 1):
        seen.append(assay.case(text).problem)
    assert {p["head_dim_qk"] for p in seen} == {64, 128}
    assert {p["page_size"] for p in seen} == {16}
    assert {p["max_q"] for p in seen} <= {0, 1}
    assert {p["heads_q"] // p["heads_kv"] for p in seen} <= {1, 2, 3, 4}


def test_what_a_function_does_not_name_it_does_not_take() -> None:
    def fn(q: Any, k: Any, v: Any, block_table: Any, seqlens_k: Any, window: Any, scale: Any, **kw: Any) -> None: ...

    def narrow(q: Any, k: Any, v: Any, block_table: Any, seqlens_k: Any, window: Any) -> None: ...

    wide = [assay.case(c) for c in _assay.cases("split_kv", assay.Kernel(fn).supports_json, 80, 1)]
    few = [assay.case(c) for c in _assay.cases("split_kv", assay.Kernel(narrow).supports_json, 80, 1)]
    for name in ("bias", "sinks", "prefix_offset", "page_indices", "cu_seqlens_q"):
        assert any(name in c.inputs for c in wide), name
        assert not any(name in c.inputs for c in few), name
    assert any(c.problem["soft_cap"] for c in wide) and not any(c.problem["soft_cap"] for c in few)
    assert any(c.problem["window"] for c in few)
    taken = assay.Kernel(narrow, supports={"no_sinks": 0})
    assert any("sinks" in assay.case(c).inputs for c in _assay.cases("split_kv", taken.supports_json, 80, 1))


def test_a_kernel_with_splits() -> None:
    """Each split is one run on a part of the keys; the kernel names o_partial, so that splits are asked of it."""

    def splits(o_partial: Any, lse_partial: Any, num_splits: int, **n: Any) -> None:
        naive.run(n)
        assert (o_partial is None) == (num_splits == 1)
        if num_splits > 1:
            o_partial[...], lse_partial[...] = 0, -float("inf")
            rows = n["cu_seqlens_q"][-1]
            o_partial[0, :rows], lse_partial[0, :rows] = n["o"][:rows], n["lse"][:rows]

    result = verify(splits, cases=60, supports={**naive.SUPPORTS, "no_padding_rows": 1})
    assert max(assay.case(c).problem["num_splits"] for c in
               _assay.cases("split_kv", assay.Kernel(splits).supports_json, 60, 1)) > 1  # fmt: skip
    assert result.counts["pass"] > 40, result
