"""A Triton kernel of one launch: what it is launched with, by the names of its parameters."""

from __future__ import annotations

import importlib.util
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

import assay

if importlib.util.find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)
import triton_launches as kernels

import assay.triton as gpu

README = Path(__file__).parents[2] / "README.md"
CASE = {"pool_pages": 3, "sequences": [{"q": 1, "k": 20, "pages": [2, 0]}, {"q": 1, "k": 5, "pages": [1]}]}
BATCH = {**CASE, "batching": "batch"}
SMALL = {"types": "f16", "head_dims": 64, "most_heads_q": 1, "most_keys": 64, "most_sequences": 4}


def test_the_readme_gets_from_pip_to_a_verdict_in_15_lines(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M) if "triton.jit" in b]
    lines = block.splitlines()
    assert "pip install" in text and 1 + len(lines) <= 15
    assert max(map(len, lines)) <= 125 and ";" not in block
    program, verdict = "\n".join(lines[:-1]), lines[-1]
    assert verdict == "print(decode.verify(cases=100))"
    file = tmp_path / "block.py"
    file.write_text(program + "\n", encoding="utf-8")
    decode = runpy.run_path(str(file))["decode"]
    result = decode.verify(cases=100, seed=5, jobs=2)
    assert result, result
    wrong = program.replace("j < tl.load(seqlens_k + s)", "j < tl.load(seqlens_k + s) - 1")
    assert wrong != program
    file.write_text(wrong + "\n", encoding="utf-8")
    decode = runpy.run_path(str(file))["decode"]
    result = decode.verify(cases=20, seed=5, jobs=2)
    assert result.verdict == "defect" and result.findings[0].origin == "enclosure"


def test_names_say_what_a_launch_gets() -> None:
    made = gpu.kernel(grid=("total_q", 2), supports=SMALL, constants={"BLOCK": 4})(kernels.all_that_it_gets)
    seen: dict[str, Any] = {}
    made.fn._jit = {(2, 2): seen.update}
    gpu.check(made, BATCH)
    k = assay.case(BATCH).inputs["k"]
    assert seen["q"].region.name == "q" and seen["lse"].region.name == "lse"
    assert seen["k_stride_1"] == k.strides[1] // k.itemsize and seen["bias_stride_0"] == 0  # there is no bias
    assert (seen["PAGE_SIZE"], seen["heads_q"], seen["BLOCK"]) == (16, 1, 4)
    assert "WIDTH" not in seen  # its default
    assert made.__name__ == "all_that_it_gets" and made.label == "triton_launches.py:all_that_it_gets"


def test_a_grid_may_be_a_function_of_the_arguments() -> None:
    made = gpu.kernel(kernels.zeros_of_rows, grid=lambda a: (len(a["o"]),), supports=SMALL)
    assert gpu.check(made, BATCH) == []
    fewer = gpu.kernel(kernels.zeros_of_rows, grid=lambda a: (len(a["o"]) + 1,), supports=SMALL)
    (fault,) = gpu.check(fewer, BATCH)
    assert fault.kind == "out of bounds" and "o[2, 0, 0]" in fault.what


def test_parameters_that_are_missing_say_what_a_kernel_does_not_take() -> None:
    few = gpu.kernel(kernels.zeros_of_rows, grid=("total_q",), supports=SMALL)
    for field in ('"most_rows": 1', '"no_lse": 1', '"no_q_transposed": 1', '"no_causal": 1', '"no_group": 1'):
        assert field in few.supports_json, few.supports_json
    said = gpu.kernel(kernels.zeros_of_rows, grid=("total_q",), supports={**SMALL, "most_rows": 3, "no_lse": 0})
    assert '"most_rows": 3' in said.supports_json and '"no_lse": 0' in said.supports_json
    more = gpu.kernel(grid=(1,), supports=SMALL, constants={"BLOCK": 4})(kernels.all_that_it_gets)
    for field in ("most_rows", "no_lse", "no_q_transposed", "no_group"):
        assert f'"{field}"' not in more.supports_json, more.supports_json


def test_parameters_that_an_autotuner_sets_are_left_to_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gpu.kernel(kernels.tuned(), grid=("total_q",), supports=SMALL)
        assert gpu.check(made, BATCH) == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"grid": ("sequences",)}, "grid: there is no 'sequences'"),
        ({"grid": (1,), "operation": "split"}, "operation: there is no 'split'"),
        ({"grid": (1,), "supports": {"no_lsee": 1}}, "did you mean no_lse?"),
        ({"grid": (1,), "operation": "append_kv"}, "append_kv: there is no 'block_table'"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        gpu.kernel(kernels.zeros_of_rows, **wrong)


def test_a_parameter_of_no_meaning_is_named() -> None:
    with pytest.raises(ValueError, match="there is no 'BLOCK'"):
        gpu.kernel(kernels.all_that_it_gets, grid=(1,), supports=SMALL)
    with pytest.raises(ValueError, match=r"is no kernel of triton\.jit"):
        gpu.kernel(3, grid=(1,))
