"""`assay export` and `assay check`, with NumPy on the other side."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest

import assay
from assay._program import program

CASES: list[dict[str, Any]] = [
    {"heads_q": 4, "heads_kv": 2, "pool_pages": 5, "causal": True, "input_margin": 3, "row_margin": 5,
     "sequences": [{"q": 2, "k": 20, "pages": [4, 1]}, {"q": 1, "k": 37, "pages": [0, 2, 3]}]},
    {"kernel": "batch_prefill", "q_type": "e4m3fn", "kv_type": "e4m3fn", "page_size": 64, "pool_pages": 1,
     "kv_descale": "per_page", "sequences": [{"q": 1, "k": 5, "pages": [0]}]},
]  # fmt: skip


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    files = []
    for i, fields in enumerate(CASES):
        files.append(tmp_path / f"case{i}.json")
        files[-1].write_text(assay.case(fields).json)
    said = run("export", *files, "--to", tmp_path / "made")
    assert said.returncode == 0, said.stderr
    return tmp_path / "made"


def load(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Of each case the tensors by name; "file" becomes the array where it is there."""
    manifest = json.loads((folder / "manifest.json").read_text())
    return [entry[kind] for entry in manifest["cases"]]


def test_numpy_reads_what_is_exported(exported: Path) -> None:
    for fields, inputs, outputs, problem in zip(
        CASES, load(exported, "inputs"), load(exported, "outputs"), load(exported, "problem"), strict=True
    ):
        case = assay.case(fields)
        assert problem == case.problem
        assert set(inputs) == set(case.inputs)
        for name, t in inputs.items():
            a = np.load(exported / t["file"])
            assert a.dtype.str == t["descr"] and list(a.shape) == t["shape"]
            assert a.tobytes() == np.ascontiguousarray(case.inputs[name]).tobytes()
        exact, bounds = case.exact(), case.enclosure()
        for name, t in outputs.items():
            np.testing.assert_array_equal(np.load(exported / t["exact"]), exact[name])
            np.testing.assert_array_equal(np.load(exported / t["lo"]), bounds[name].lo)
            np.testing.assert_array_equal(np.load(exported / t["hi"]), bounds[name].hi)


def test_outputs_of_numpy_are_judged(exported: Path) -> None:
    assert run("check", exported).returncode == 1, "nothing is written yet"
    for inputs, outputs, problem in zip(
        load(exported, "inputs"), load(exported, "outputs"), load(exported, "problem"), strict=True
    ):
        n: dict[str, Any] = {**problem, "k_descale": None, "v_descale": None}
        n |= {name: np.load(exported / t["file"]) for name, t in inputs.items()}
        n["lse"] = np.load(exported / outputs["lse"]["initial"])
        o = np.zeros(outputs["o"]["shape"], np.float32)
        naive.split_kv(**{**n, "o": o})
        if outputs["o"]["type"] == "bf16":
            o = (o.view(np.uint32) + 0x7FFF + (o.view(np.uint32) >> 16 & 1) >> 16).astype(np.uint16)
        np.save(exported / outputs["o"]["file"], o.astype(outputs["o"]["descr"]))
        np.save(exported / outputs["lse"]["file"], n["lse"])
    said = run("check", exported)
    assert said.returncode == 0, said.stdout
    assert "2 cases: 2 pass" in said.stdout
    lse = exported / load(exported, "outputs")[0]["lse"]["file"]
    np.save(lse, np.load(lse) + np.float32(1))
    said = run("check", exported)
    assert said.returncode == 1
    assert "FAIL      case0 (o, lse)\n  enclosure: lse[" in said.stdout


def test_bad_arguments_are_usage_errors(exported: Path, tmp_path: Path) -> None:
    for arguments in (["export", "nowhere.json", "--to", "x"], ["export", tmp_path / "case0.json", "--to", exported],
                      ["check", "nowhere"], ["export", tmp_path / "case0.json"]):  # fmt: skip
        said = run(*arguments)
        assert said.returncode == 2, arguments
        assert said.stderr.startswith("assay: ") and said.stderr.count("\n") == 1
