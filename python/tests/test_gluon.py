"""The evaluation of Gluon: results that are known, and each report for its own reason."""

from __future__ import annotations

import importlib.util
import inspect
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay import triton
from assay.triton import gluon
from assay.triton.gluon import Buffer, Kernel, KernelFault, UnknownOperation, collect, installed
from assay.triton.gluon import types as element


def _loaded() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("gluon_kernels", Path(__file__).with_name("gluon_kernels.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with installed():
        spec.loader.exec_module(module)
    return module


kernels = _loaded()


def line_of(kernel: Any, text: str) -> int:
    """The line of a kernel's source that has the text."""
    source, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(source) if text in line)


def f32(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def test_sums_of_rows() -> None:
    x = np.arange(3 * 40, dtype=np.float32).reshape(3, 40)
    out = f32(3)
    Kernel(kernels.row_sums)[(3,)](x, 40, out, 37, 64, num_warps=4)
    assert (out == x[:, :37].sum(axis=1)).all()


def test_store_past_a_row_is_reported_at_its_line() -> None:
    pool = f32(3, 24)
    rows = pool[:, :20]  # columns 20 to 23 are no part of it
    Kernel(kernels.fill_rows)[(3,)](rows, 24, 20, 16, True)
    assert (rows == np.arange(20)).all() and (pool[:, 20:] == 0).all()
    with pytest.raises(KernelFault) as raised:
        Kernel(kernels.fill_rows)[(3,)](rows, 24, 20, 16, False)
    fault = raised.value
    assert fault.kind == "out of bounds" and "store of out" in fault.what
    assert "lane 4: [0, 20] of [3, 20]; 4 of 16 active lanes" in fault.what
    assert fault.place.line == line_of(kernels.fill_rows, "offsets=row * stride + i)")
    assert fault.place.program == (0,)


def test_dense_rows_overflow_into_the_next_one() -> None:
    dense = f32(2, 20)
    with pytest.raises(KernelFault, match=r"another program has stored other bits: \[1, 0\]"):
        Kernel(kernels.fill_rows)[(2,)](dense, 20, 20, 16, False)


def test_collect_goes_on_and_keeps_one_fault_of_a_line() -> None:
    pool = f32(3, 48)
    with collect() as runs:
        Kernel(kernels.fill_rows)[(3,)](pool[:, :20], 48, 20, 16, False)
    assert [f.kind for f in runs[0].faults.values()] == ["out of bounds"]
    assert (pool[:, :20] == np.arange(20)).all() and (pool[:, 20:] == 0).all()
    (access, _, line), count = next(iter(runs[0].lines.items()))
    assert access == "store" and count == 6 and line == line_of(kernels.fill_rows, "offsets=row * stride + i)")


@pytest.mark.parametrize("name", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
def test_products_of_fp8_are_exact(name: str) -> None:
    rng = np.random.default_rng(5)
    t = element.of_assay[name]
    a, b = (rng.integers(0, 0x78, (32, 64), dtype=np.uint8) + rng.choice([0, 0x80], (32, 64)) for _ in "ab")
    a, b = a.astype(np.uint8), b.astype(np.uint8)
    a[a == 0x80] = b[b == 0x80] = 0
    c = f32(32, 32)
    Kernel(kernels.product)[(1,)](Buffer("a", a, t), Buffer("b", b, t), c, 32, 32, 64)
    exact = element.codes(t)[a].astype(np.float64) @ element.codes(t)[b].astype(np.float64).T
    assert (c == exact.astype(np.float32)).all() and np.abs(c).max() > 0


@pytest.mark.parametrize("name", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
def test_codes_of_fp8_are_those_of_ml_dtypes(name: str) -> None:
    theirs = getattr(pytest.importorskip("ml_dtypes"), f"float8_{name}")
    t = element.of_assay[name]
    code = np.arange(256, dtype=np.uint8)
    assert np.array_equal(code.view(theirs).astype(np.float32), element.codes(t), equal_nan=True)
    values = np.random.default_rng(1).normal(size=4096).astype(np.float32) * 30
    assert (element.encode(values, t) == values.astype(theirs).view(np.uint8)).all()
    finite = element.codes(t)[np.isfinite(element.codes(t))]
    between = ((np.sort(finite)[1:].astype(np.float64) + np.sort(finite)[:-1]) / 2).astype(np.float32)
    assert (element.rounded(between, t) == between.astype(theirs).astype(np.float32)).all()


def test_bf16_and_f16_round_to_the_nearest() -> None:
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 65519.0, -1e-8, np.inf], np.float32)
    assert element.rounded(values, element.bfloat16)[:2].tolist() == [1.0, 1 + 2**-6]
    assert (element.rounded(values, element.float16) == values.astype(np.float16).astype(np.float32)).all()


def test_unwritten_shared_memory_is_reported() -> None:
    said = r"shared memory that nobody has written: \[4, 0\] of \[8, 16\]; 64 of 128"
    with pytest.raises(KernelFault, match=said) as raised:
        Kernel(kernels.half_written)[(1,)](f32(16), 8)
    assert raised.value.kind == "unwritten"
    assert raised.value.place.line == line_of(kernels.half_written, "shared.load")


def test_copies_must_be_waited_for() -> None:
    x, out = np.arange(32, dtype=np.float32), f32(16)
    Kernel(kernels.early_read)[(1,)](x, out, True)
    assert (out == x[:16]).all()
    with pytest.raises(KernelFault, match="shared memory that nobody has written"):
        Kernel(kernels.early_read)[(1,)](x, out, False)


def test_blocks_behind_a_descriptors_shape_are_zero() -> None:
    x, out = np.ones((5, 16), np.float32), f32(16)
    Kernel(kernels.descriptor)[(1,)](x, out, 5)
    assert (out == 2).all()
    with pytest.raises(KernelFault, match="load of x out of bounds"):
        Kernel(kernels.descriptor)[(1,)](x, out, 6)  # its shape says more rows than there are


def test_what_a_tensor_holds() -> None:
    with pytest.raises(ValueError, match="strides"):
        Buffer("x", f32(4, 4)[:, ::-1], element.float32)
    sparse = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (5, 4), (2**30, 1))
    x = Buffer("x", sparse, element.uint8)
    assert x.holds(np.array([3 * 2**30 + 3, 2**30 + 4, -(2**30)])).tolist() == [True, False, False]


def test_far_pages_need_64_bits() -> None:
    import mmap

    memory = mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    x = np.frombuffer(memory, np.uint8).reshape(3, 1 << 30)
    x.flags.writeable = False
    out = np.zeros(4, np.uint8)
    Kernel(kernels.far_offsets)[(1,)](x, out, 1, 1 << 30)
    with pytest.raises(KernelFault, match=r"load of x out of bounds: lane 0: \[0, -2147483648\]") as raised:
        Kernel(kernels.far_offsets)[(1,)](x, out, 2, 1 << 30)
    assert raised.value.place.line == line_of(kernels.far_offsets, "buffer_load")


def test_integers_are_those_of_a_gpu() -> None:
    out = np.zeros(6, np.int32)
    Kernel(kernels.numbers)[(1,)](out, -7, 3)
    wrapped = (-7 * 2**31 + 2**31) % 2**32 - 2**31
    assert out.tolist() == [-2, -1, wrapped, -7 + 2, 4, 1]
    with pytest.raises(KernelFault, match="divided by 0"):
        Kernel(kernels.numbers)[(1,)](out, 1, 0)
    with pytest.raises(OverflowError, match="b = 4294967296 does not fit int32"):
        Kernel(kernels.numbers, signature={"b": "i32"})[(1,)](out, 1, 2**32)


def test_programs_race() -> None:
    out = np.zeros(1, np.int32)
    Kernel(kernels.same_place)[(1,)](out)
    with pytest.raises(KernelFault) as raised:
        Kernel(kernels.same_place)[(2,)](out)
    assert raised.value.kind == "race" and raised.value.place.program == (1,)


def test_a_store_races_with_the_load_of_a_program_before() -> None:
    out, seen = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with pytest.raises(KernelFault, match="which another program has loaded") as raised:
        Kernel(kernels.load_before_store)[(2,)](out, seen)
    assert raised.value.kind == "race" and raised.value.place.program == (1,)
    Kernel(kernels.load_before_store)[(1,)](out, seen)
    assert seen[0] == 1  # of a launch before: no race


def test_lanes_that_store_other_values_to_one_element_race() -> None:
    with pytest.raises(KernelFault, match="where two lanes store other bits"):
        Kernel(kernels.lanes_at_one_place)[(1,)](np.zeros(1, np.int32))


def test_a_fault_that_the_kernel_catches_is_raised_after_it() -> None:
    with pytest.raises(KernelFault, match="out of bounds"):
        Kernel(kernels.swallows_its_fault)[(1,)](np.zeros(4, np.int32))


def test_inputs_are_not_written_and_fresh_outputs_not_read() -> None:
    x = np.zeros(4, np.int32)
    x.flags.writeable = False
    with pytest.raises(KernelFault, match="store to out, which is an input"):
        Kernel(kernels.same_place)[(1,)](x)
    fresh = Buffer("x", f32(1, 8), element.float32, is_output=True, is_fresh=True)
    with pytest.raises(KernelFault, match="load of x, which nobody has written"):
        Kernel(kernels.row_sums)[(1,)](fresh, 8, f32(1), 8, 8)


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(UnknownOperation, match=r"gl\.amd\.cdna3\.frobnicate"):
        Kernel(kernels.unknown)[(1,)](f32(1))
    with pytest.raises(UnknownOperation, match=r"tensor\.frobnicate"):
        _ = gluon.tl.arange(0, 4).frobnicate


def test_promises_are_checked() -> None:
    Kernel(kernels.promises)[(1,)](32)
    with pytest.raises(KernelFault, match="assumes"):
        Kernel(kernels.promises)[(1,)](33)
    with pytest.raises(KernelFault, match="n = 24 is promised to be a multiple of 16"):
        Kernel(kernels.promises, multiples={"n": 16})[(1,)](24)


def test_a_kernel_of_plain_triton() -> None:
    rng = np.random.default_rng(2)
    q, k, out = rng.normal(size=16).astype(np.float32), rng.normal(size=(8, 16)).astype(np.float32), f32(8)
    Kernel(kernels.plain_triton)[(1,)](q, k, out, 16, 8)
    exact = np.maximum(k.astype(np.float64) @ q, 0)
    assert (out == exact.astype(np.float32)).all() and (out > 0).any()


def test_values_behind_a_mask_are_undefined() -> None:
    def kernel(x: Any, out: Any) -> None:
        i = gluon.gl.arange(0, 4)
        gluon.gl.store(out + i, gluon.gl.load(x + i, mask=i < 2))

    out = f32(4)
    Kernel(kernel)[(1,)](np.ones(4, np.float32), out)
    assert out[:2].tolist() == [1, 1] and np.isnan(out[2:]).all()


def test_a_run_says_how_many_lanes_were_checked() -> None:
    def sums(**_: Any) -> None:
        Kernel(kernels.row_sums)[(3,)](f32(3, 40), 40, f32(3), 37, 64)

    result = assay.verify(sums, "mqa_logits", cases=4, seed=1, jobs=1, properties=["output_enclosed"], shrink=0)
    checked = result.report["accesses_checked"]
    assert checked >= 4 * 3 * (37 + 1) and checked % (3 * (37 + 1)) == 0
    assert "loads and stores checked" in result.text


def test_a_fault_is_a_finding_with_the_line_of_the_kernel() -> None:
    def far(**_: Any) -> None:
        Kernel(kernels.swallows_its_fault)[(1,)](np.zeros(4, np.int32))

    result = assay.verify(far, "mqa_logits", cases=4, seed=1, jobs=1, properties=["output_enclosed"], shrink=0)
    assert result.verdict == "defect"
    what = result.findings[0].what
    line = line_of(kernels.swallows_its_fault, "gl.store")
    assert "KernelFault: store of out out of bounds" in what and f"gluon_kernels.py:{line}" in what, what
    assert "swallows_its_fault" in result.findings[0].traceback


def _of_triton() -> types.ModuleType:
    """The same file with the Triton that is installed; assay.triton has asked it for its interpreter."""
    pytest.importorskip("triton.experimental.gluon.language")
    spec = importlib.util.spec_from_file_location("kernels_of_triton", Path(__file__).with_name("gluon_kernels.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kernels_of_the_installed_triton_are_taken() -> None:
    x, out = np.ones((2, 40), np.float32), f32(2)
    Kernel(_of_triton().row_sums)[(2,)](x, 40, out, 37, 64)
    assert out.tolist() == [37, 37]


def test_tritons_own_interpreter_agrees() -> None:
    module = _of_triton()
    rng = np.random.default_rng(3)
    q, k = (rng.integers(-8, 8, shape).astype(np.float32) for shape in (16, (8, 16)))  # their sums are exact
    ours, theirs = f32(8), triton.zeros(8)
    Kernel(module.plain_triton)[(1,)](q, k, ours, 16, 8)
    given = [triton.wrap(name, x, "float32", "input") for name, x in (("q", q), ("k", k))]
    module.plain_triton[(1,)](*given, theirs, 16, 8)
    assert (ours == theirs.array).all() and (ours > 0).any()
    numbers = np.zeros((2, 6), np.int32)
    Kernel(module.quotients)[(1,)](numbers[0], -7, 3)
    module.quotients[(1,)](triton.wrap("out", numbers[1], "int32", "in_out"), -7, 3)
    assert numbers[0].tolist() == numbers[1].tolist() == [-2, -1, -10, 0, 1, 0]
