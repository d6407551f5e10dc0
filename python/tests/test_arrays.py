"""How tensors reach a kernel: as arrays of NumPy, PyTorch and JAX, on the same memory."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest

import assay
from assay import _assay, _names
from assay._arrays import numpy_dtype, to_jax, to_numpy, to_torch

has_torch = importlib.util.find_spec("torch") is not None
has_jax = importlib.util.find_spec("jax") is not None
has_types = importlib.util.find_spec("ml_dtypes") is not None
TYPES = ["f32", "f16", "bf16", "i32", "i64", "i8", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "f64", "u8"]


def cases(operation: str, count: int = 40) -> list[assay.Case]:
    return [assay.case(text) for text in _assay.cases(operation, "{}", count, 5)]


@pytest.mark.parametrize("operation", _assay.kernels)
def test_every_tensor_and_number_has_a_name_that_kernels_may_use(operation: str) -> None:
    for case in cases(operation):
        assert set(case.inputs) <= set(_names.inputs_of(operation)) | set(_names.outputs_of(operation))
        assert set(case.outputs()) <= set(_names.outputs_of(operation))
        assert list(case.problem) == _assay.problem_fields


def test_strides_and_types_are_those_of_the_case() -> None:
    strides = set()
    for case in cases("split_kv", 60):
        for name, array in case._native.inputs().items():
            a = to_numpy(array)
            assert a.shape == array.shape
            assert a.dtype == numpy_dtype(array.type)
            if a.size:
                assert tuple(s // a.itemsize for s in a.strides) == array.strides
            assert not a.flags.writeable, name
            strides.add(a.flags.c_contiguous)
    assert strides == {True, False}


def test_outputs_are_new_and_writable() -> None:
    case = cases("split_kv", 1)[0]
    one, two = case.outputs(), case.outputs()
    one["lse"][...] = 1
    assert np.isnan(two["lse"]).all()


def test_arrays_outlive_their_case() -> None:
    k = assay.case({"sequences": [{"k": 3, "pages": [0]}], "pool_pages": 1}).inputs["k"]
    others = [cases("split_kv", 5) for _ in range(3)]
    again = assay.case({"sequences": [{"k": 3, "pages": [0]}], "pool_pages": 1}).inputs["k"]
    assert others and (k.view("u2") == again.view("u2")).all()


@pytest.mark.skipif(not has_types, reason="ml_dtypes is not installed")
def test_narrow_types_are_those_of_ml_dtypes() -> None:
    import ml_dtypes

    assert numpy_dtype("bf16") == ml_dtypes.bfloat16
    assert numpy_dtype("e5m2fnuz") == ml_dtypes.float8_e5m2fnuz


@pytest.mark.skipif(has_types, reason="ml_dtypes is installed")
def test_narrow_types_are_their_bits_without_ml_dtypes() -> None:
    assert numpy_dtype("bf16") == np.uint16
    assert numpy_dtype("e4m3fn") == np.uint8


def narrow(operation: str, **fields: Any) -> assay.Case:
    return assay.case({"kernel": operation, "sequences": [{"q": 2, "k": 5, "pages": [0]}], "pool_pages": 1, **fields})


def test_bits_are_taken_for_narrow_outputs() -> None:
    case = narrow("split_kv", q_type="bf16", kv_type="bf16", o_type="bf16")
    exact = case.exact()
    bits = (exact["o"].astype(np.float32).view(np.uint32) + 0x8000 >> 16).astype(np.uint16)
    assert case.judge({"o": bits})
    assert not case.judge({"o": bits ^ 0x8000})
    assert case.judge({"o": bits.view(numpy_dtype("bf16")), "lse": exact["lse"].astype(np.float32)})


@pytest.mark.skipif(not has_torch, reason="torch is not installed")
def test_torch_sees_the_same_memory() -> None:
    for case, names in itertools.product(cases("split_kv", 30), [("q", "lse")]):
        outputs = case._native.outputs([])
        arrays = outputs.arrays()
        t = to_torch(arrays[names[1]])
        t.fill_(2)
        assert (to_numpy(arrays[names[1]]) == 2).all()
        q = case._native.inputs()[names[0]]
        if q.type in ("f16", "f32"):
            np.testing.assert_array_equal(to_torch(q).numpy(), to_numpy(q))


@pytest.mark.skipif(not has_torch, reason="torch is not installed")
@pytest.mark.parametrize("returns", [False, True])
def test_a_kernel_of_torch(returns: bool) -> None:
    torch = importlib.import_module("torch")

    def kernel(q: Any, k: Any, v: Any, o: Any, lse: Any, block_table: Any, cu_seqlens_q: Any, seqlens_k: Any,
               scale: float, causal: bool) -> Any:  # fmt: skip
        assert isinstance(q, torch.Tensor)
        outs = (torch.zeros(o.shape, dtype=o.dtype), torch.zeros(lse.shape)) if returns else (o, lse)
        for s in range(len(seqlens_k)):
            rows, n = slice(int(cu_seqlens_q[s]), int(cu_seqlens_q[s + 1])), int(seqlens_k[s])
            j = torch.arange(n)
            page, slot, group = block_table[s][j // k.shape[1]].long(), j % k.shape[1], q.shape[1] // k.shape[2]
            ks, vs = (t[page, slot].float().repeat_interleave(group, dim=1) for t in (k, v))
            x = torch.einsum("rhd,khd->rhk", q[rows].float(), ks) * scale
            if causal:
                r = x.shape[0]
                x.masked_fill_((j > torch.arange(r)[:, None] + n - r)[:, None], -float("inf"))
            outs[1][rows] = torch.logsumexp(x, -1)
            p = torch.softmax(x, -1)
            outs[0][rows] = torch.einsum("rhk,khd->rhd", torch.nan_to_num(p), vs).to(o.dtype)
        return {"o": outs[0], "lse": outs[1]} if returns else None

    supports = {**naive.SUPPORTS, "no_v_scale": 1, "types": ["bf16"]}
    result = assay.verify(kernel, supports=supports, arrays="torch", cases=30, seed=2, jobs=2, accept_blunt=True,
                          properties=["output_enclosed"])  # fmt: skip
    assert result, result


@pytest.mark.skipif(not has_jax, reason="jax is not installed")
@pytest.mark.parametrize("name", TYPES[:10])
def test_jax_gets_the_same_numbers(name: str) -> None:
    kinds = {"i8": ("i8", "i8"), "f16": ("f16", "f16"), "bf16": ("bf16", "bf16")}
    if name not in ("f16", "bf16", "i8", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"):
        pytest.skip("no K has this type")
    q, kv = kinds.get(name, ("f16", name))
    case = narrow("split_kv", q_type=q, kv_type=kv)
    k = case._native.inputs()["k"]
    assert k.type == name
    j = to_jax(k)
    np.testing.assert_array_equal(np.asarray(j).view("u1"), to_numpy(k).view("u1"))
    assert np.asarray(j).dtype == numpy_dtype(name)


@pytest.mark.skipif(not has_jax, reason="jax is not installed")
def test_a_kernel_of_jax() -> None:
    """In a process of its own: JAX's threads, once there, do not survive a fork."""
    script = Path(__file__).parent / "jax_kernel.py"
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert said.stdout.splitlines()[-1:] == ["verified"], said.stdout + said.stderr


def test_the_raw_view_has_dlpack_and_the_buffer_protocol() -> None:
    seen = []

    def kernel(q: Any, o: Any, **n: Any) -> None:
        assert q.read_only and not o.read_only
        assert q.__dlpack_device__() == (1, 0)
        seen.append(np.from_dlpack(o))
        assert memoryview(q).readonly

    result = assay.verify(kernel, supports=naive.SUPPORTS, arrays="dlpack", cases=2, properties=["output_enclosed"])
    assert {f.origin for f in result.findings} == {"enclosure"}, result
