"""Triton kernels under its interpreter: memory, values, and what differs between the interpreter and GPUs."""

from __future__ import annotations

import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay

if importlib.util.find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)
import triton_faults as planted
import triton_kernels as kernels
from triton.runtime import interpreter

from assay.triton import _formats as formats
from assay.triton import empty, full, wrap, zeros

NARROW = {"bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5",
          "float8_e5m2fnuz": "fp8e5b16"}  # fmt: skip
has_types = importlib.util.find_spec("ml_dtypes") is not None


def kernel_of(module: str, folder: Path, *change: str) -> tuple[assay.Kernel, str]:
    made, text = planted.load(module, folder, *change, name="changed" if change else "sound")
    return (made.decode if module == planted.DECODE else made.logits), text


def case_of(p: planted.Planted) -> dict[str, Any]:
    if p.module == planted.DECODE:
        return planted.DECODE_CASE
    return planted.FILLED_CASE if "column" in p.name else planted.LOGITS_CASE


def random(*shape: int, dtype: str = "float32", seed: int = 1, scale: float = 1) -> Any:
    return empty(shape, dtype=dtype, name="a").copy_(np.random.default_rng(seed).standard_normal(shape) * scale)


@pytest.mark.parametrize("module", [planted.DECODE, planted.LOGITS])
def test_a_sound_kernel_verifies(module: str, tmp_path: Path) -> None:
    kernel, _ = kernel_of(module, tmp_path)
    result = kernel.verify(cases=40, seed=2, jobs=2, properties=["output_enclosed"])
    assert result and "verified (order-free)" in str(result), result
    assert result.report["accesses_checked"] > 10000
    assert "loads and stores checked" in str(result)


@pytest.mark.parametrize("p", planted.PLANTED, ids=lambda p: p.name)
def test_a_planted_fault_is_reported_by_line(p: planted.Planted, tmp_path: Path) -> None:
    kernel, text = kernel_of(p.module, tmp_path, p.old, p.new)
    found = assay.triton.check(kernel, case_of(p))
    wanted = [f for f in found if f.kind == p.kind and f.tensor == p.tensor]
    assert wanted, found
    at = p.at or p.new.strip().splitlines()[0]
    line = next(i for i, line in enumerate(text.splitlines(), 1) if at in line)
    assert wanted[0].place.line == line, str(wanted[0])
    assert assay.triton.check(kernel_of(p.module, tmp_path)[0], case_of(p)) == []


def test_a_fault_is_a_finding_with_its_line(tmp_path: Path) -> None:
    p = next(p for p in planted.PLANTED if p.name == "unwritten partials")
    kernel, _ = kernel_of(p.module, tmp_path, p.old, p.new)
    result = kernel.verify(cases=12, seed=1, jobs=2, properties=["output_enclosed"])
    finding, beside = result.findings  # one for each line
    assert finding.origin == "exception" and "MemoryFaults: load of 4 bytes of part_lse[" in finding.what
    assert "changed_paged_decode.py:" in finding.what and "lse = tl.load(part_lse_ptr" in finding.what
    assert "(and 1 more line at fault)" in finding.what
    assert "part[" in finding.traceback  # all lines
    assert beside.origin == "exception" and "MemoryFaults: load of 4 bytes of part[" in beside.what
    assert "part = tl.load(part_ptr" in beside.what and beside.alike == 0
    assert assay.verify(kernel, cases=[beside.case]).findings[0].traceback.count("tl.load(part") == 2


def test_all_lines_at_fault_are_reported_or_the_first(tmp_path: Path) -> None:
    text = (planted.EXAMPLES / f"{planted.LOGITS}.py").read_text(encoding="utf-8")
    module = planted.module_of(text.replace("mask=key < columns)", "mask=key < columns + 1)"), tmp_path / "all.py")
    case = {**planted.FILLED_CASE, "max_model_len": 130, "row_margin": 2, "pool_pages": 9,
            "sequences": [{"q": 2, "k": 130, "pages": list(range(9))}, {"q": 2, "k": 19, "pages": [0, 5]}]}  # fmt: skip
    found = assay.triton.check(module.logits, case)
    assert [f.kind for f in found] == ["out of bounds"] * 2 and len({f.place.line for f in found}) == 2, found
    assert "logits[0, 130]" in found[0].what and found[0].times == 2
    assert len(assay.triton.check(module.logits, case, keep_going=False)) == 1


def test_lines_that_load_dead_memory_are_reported(tmp_path: Path) -> None:
    """A key too many, on the tail of the last page: the values are wrong, and the report names the load."""
    kernel, _ = kernel_of(planted.DECODE, tmp_path, "seen = key < keys", "seen = key <= keys")
    case = {"pool_pages": 2, "sequences": [{"q": 1, "k": 19, "pages": [0, 1]}]}
    result = assay.verify(kernel, cases=[case])
    (finding,) = [f for f in result.findings if f.origin != "exception"][:1]
    assert "k[1, 3, 0, 0], a slot that no sequence owns" in finding.traceback, finding
    assert "x = _scores(q, tl.load(k_at" in finding.traceback
    assert "dead memory was loaded" in str(result)


def test_programs_of_one_launch_race_unless_atomics_order_them() -> None:
    a = random(64)
    for sem, wrong in (("acq_rel", []), ("relaxed", ["race"])):
        parts, ticket, o = empty(4), zeros(1, dtype="int32"), empty(1)
        found = kernels.launch(kernels.sum_of_all, (4,), a, parts, ticket, o, 64, BLOCK=16, SEM=sem)
        assert sorted({f.kind for f in found}) == wrong
        np.testing.assert_allclose(o.item(), a.numpy().sum(), rtol=1e-5)
    found = kernels.launch(kernels.shift_left, (4,), a, None, 64, BLOCK=16)
    assert [(f.kind, f.tensor) for f in found] == [("race", "a")]
    o = zeros(1)
    assert kernels.launch(kernels.locked_sum, (4,), a, zeros(1, dtype="int32"), o, BLOCK=16) == []
    unset = kernels.launch(kernels.locked_sum, (1,), a, zeros(1, dtype="int32"), empty(1), BLOCK=16)
    assert [f.kind for f in unset] == ["unwritten read"]


def test_two_lanes_at_one_element() -> None:
    a, same = random(16), full((16,), 3)
    assert [f.kind for f in kernels.launch(kernels.scatter, (1,), a, empty(16), 2, N=16)] == ["two values"]
    assert kernels.launch(kernels.scatter, (1,), same, empty(16), 2, N=16) == []
    assert kernels.launch(kernels.scatter, (1,), a, empty(16), 1, N=16) == []


def test_a_pointer_belongs_to_its_tensor() -> None:
    a, b, o = random(16), random(16, seed=2), empty(16)
    distance = (b.data_ptr() - a.data_ptr()) // 4
    (fault,) = kernels.launch(kernels.across_tensors, (1,), a, empty(1), distance)
    assert fault.kind == "out of bounds" and fault.tensor == "a"
    assert kernels.launch(kernels.either, (1,), a, b, o, N=16) == []
    np.testing.assert_array_equal(o.numpy()[1::2], b.numpy()[1::2])


@pytest.mark.skipif(not hasattr(interpreter, "BlockPointerHandle"), reason="this Triton has no block pointers")
def test_block_pointers() -> None:
    a = random(6, 8)
    for check in (True, False):
        o = empty(6, 8)
        found = kernels.launch(kernels.copy_blocks, (2,), a, o, 6, 8, R=4, C=8, CHECK=check)
        assert {f.kind for f in found} == (set() if check else {"out of bounds"})
        np.testing.assert_array_equal(o.numpy(), a.numpy())


def test_descriptors() -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, o = random(6, 16), empty(6, 16)
    found = kernels.launch(kernels.copy_described, (2,), TensorDescriptor.from_tensor(a, [4, 16]), o, 6, 16, R=4, C=16)
    assert found == []
    np.testing.assert_array_equal(o.numpy(), a.numpy())
    wrong = TensorDescriptor(a, [7, 16], [16, 1], [4, 16])
    found = kernels.launch(kernels.copy_described, (2,), wrong, empty(6, 16), 6, 16, R=4, C=16)
    assert [(f.kind, f.tensor, f.what.partition(": ")[2]) for f in found] == [("out of bounds", "a", "a[6, 0]")]


def test_an_autotuned_kernel_takes_a_configuration_that_the_case_chooses() -> None:
    a, seen = random(40), set()
    for chosen in range(8):
        o, used = empty(40), empty(1, dtype="int32")
        checker = assay.triton.Checker()
        with assay.triton.checking(checker, chosen=chosen):
            kernels.tuned[lambda meta: (-(-40 // meta["BLOCK"]),)](a, o, used, 40)
        assert checker.faults == []
        np.testing.assert_array_equal(o.numpy(), a.numpy())
        seen.add(used.item())
    assert seen == {16, 32}


def test_the_line_of_a_statement_of_many() -> None:
    (fault,) = kernels.launch(kernels.lines, (1,), random(16), empty(16), 16)
    text, first = inspect.getsourcelines(kernels.lines.fn)
    mistake = first + next(i for i, line in enumerate(text) if "the mistake" in line)
    assert fault.place.line in (mistake - 1, mistake) and fault.what.endswith("a[16]")
    assert fault.place.text.startswith("+ tl.load(") and fault.lane == (15,)


def test_a_fault_in_a_helper_names_the_caller(tmp_path: Path) -> None:
    text = (planted.EXAMPLES / f"{planted.DECODE}.py").read_text(encoding="utf-8")
    text = text.replace("    return tl.where(seen[None", "    tl.load(scale_at + 5)\n    return tl.where(seen[None")
    text = text.replace("seen, scale_log2):", "seen, scale_log2, scale_at):", 1)
    text = text.replace("other=0.0), seen, scale_log2)", "other=0.0), seen, scale_log2, seqlens_ptr)", 1)
    module = planted.module_of(text, tmp_path / "helped.py")
    (fault,) = assay.triton.check(module.decode, planted.DECODE_CASE)
    assert fault.place.text == "tl.load(scale_at + 5)" and len(fault.place.callers) == 1
    assert "called from helped.py:" in str(fault) and fault.tensor == "seqlens_k"


@pytest.mark.parametrize("name", NARROW)
def test_narrow_types_are_rounded_once(name: str) -> None:
    """The interpreter's own arithmetic takes bf16 and FP8 as integers."""
    n, form = 16, NARROW[name]
    a, b, o = random(n, n, dtype=name), random(n, n, dtype=name, seed=2), empty(n, n)
    assert kernels.launch(kernels.dot, (1,), a, b, o, N=n) == []
    np.testing.assert_allclose(o.numpy(), a.numbers() @ b.numbers(), rtol=1e-5, atol=1e-5)
    if name == "bfloat16":  # of FP8, Triton takes it for none of the others
        x, y, z, two = a.view(-1), b.view(-1), empty(n * n, dtype=name), empty(2)
        assert kernels.launch(kernels.arithmetic, (1,), x, y, z, N=n * n) == []

        def rounded(values: Any) -> Any:
            return formats.decode(formats.encode(values, form), form)

        p, q = x.numbers(), y.numbers()
        np.testing.assert_array_equal(z.numbers(), np.where(p < 0, np.maximum(p, q), rounded(p + rounded(q * 2))))
        assert kernels.launch(kernels.reduced, (1,), x, two, N=n * n) == []
        np.testing.assert_allclose(two.numpy(), [p.sum(), p.max()], rtol=1 / 256)
    wide = np.concatenate([np.random.default_rng(3).standard_normal(2040) * 2.0 ** np.arange(-10, 10).repeat(102),
                           [np.nan, np.inf, -np.inf, 0, -0.0, 1e9, 3e-9, -1e9]]).astype(np.float32)  # fmt: skip
    source, target = full((2048,), 0).copy_(wide), empty(2048, dtype=name)
    assert kernels.launch(kernels.convert, (1,), source, target, N=2048) == []
    np.testing.assert_array_equal(target.numpy(), formats.encode(wide, form))
    back = empty(2048)
    assert kernels.launch(kernels.convert, (1,), target, back, N=2048) == []
    np.testing.assert_array_equal(back.numpy(), target.numbers())


@pytest.mark.skipif(not has_types, reason="ml_dtypes is not installed")
@pytest.mark.parametrize("name", NARROW)
def test_formats_are_those_of_ml_dtypes(name: str) -> None:
    import ml_dtypes

    theirs, form = getattr(ml_dtypes, name), NARROW[name]
    codes = np.arange(1 << 8 * np.dtype(theirs).itemsize).astype(f"u{np.dtype(theirs).itemsize}")
    values = codes.view(theirs).astype(np.float32)
    np.testing.assert_array_equal(formats.decode(codes, form), values)
    finite = np.sort(np.unique(values[np.isfinite(values)]))
    middle = (finite[1:] / 2 + finite[:-1] / 2)[1:-1]
    below, above = np.nextafter(middle, np.float32(-np.inf)), np.nextafter(middle, np.float32(np.inf))
    probes = np.concatenate([finite, middle, below, above])
    probes = probes[probes != 0]  # whether 0 has a sign is checked below
    np.testing.assert_array_equal(formats.encode(probes, form), probes.astype(theirs).view(codes.dtype))
    np.testing.assert_array_equal(formats.encode(probes.astype(np.float64), form), formats.encode(probes, form))
    signs = formats.encode(np.array([0.0, -0.0], np.float32), form)
    np.testing.assert_array_equal(signs, np.array([0, -0.0], np.float32).astype(theirs).view(codes.dtype))
    largest = formats.decode(formats.encode(np.array([1e30, -np.inf]), form), form)
    if form != "bf16":  # FP8 saturates
        np.testing.assert_array_equal(largest, [finite[-1], -finite[-1]])


def test_functions_of_libdevice() -> None:
    a, o = random(64), empty(3, 64)
    assert kernels.launch(kernels.functions, (1,), a, o, N=64) == []
    x = a.numpy().astype(np.float64)
    np.testing.assert_allclose(o.numpy(), [np.exp2(x), np.tanh(x), 1 / np.sqrt(np.abs(x) + 1)], rtol=3e-7)


def test_each_access_of_the_interpreter_passes_the_checker() -> None:
    """A version that accesses memory elsewhere, too, must not slip through."""
    source = inspect.getsource(interpreter)
    for name in ("load", "store", "atomic_cas", "atomic_rmw"):
        assert source.count(f"_interpreter.{name}(") == 1, name


def test_the_interpreter_is_as_it_was_afterwards() -> None:
    before = dict(vars(interpreter.interpreter_builder)), dict(vars(interpreter)), dict(vars(interpreter.GridExecutor))
    with pytest.raises(ZeroDivisionError), assay.triton.checking(assay.triton.Checker()):
        raise ZeroDivisionError
    after = vars(interpreter.interpreter_builder), vars(interpreter), vars(interpreter.GridExecutor)
    for was, now in zip(before, after, strict=True):
        for name in ("create_masked_load", "create_dot", "_implicit_cvt", "_patch_lang", "__call__"):
            assert was.get(name) is now.get(name), name


def test_what_a_kernel_raises_is_reported_with_its_line(tmp_path: Path) -> None:
    kernel, _ = kernel_of(planted.DECODE, tmp_path, "        slot = key % PAGE", "        slot = key % absent")
    result = assay.verify(kernel, cases=[planted.DECODE_CASE])
    assert (
        "NameError: name 'absent' is not defined (in decode_partial, changed_paged_decode.py:"
        in result.findings[0].what
    )


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import triton, assay.triton", "triton was imported without TRITON_INTERPRET=1"),
        ("import os; os.environ['TRITON_INTERPRET'] = '0'; import assay.triton", "and TRITON_INTERPRET=0"),
        ("import assay.triton; assay.triton.nothing", "assay.triton has no nothing"),
        ("import sys, assay; assert 'triton' not in sys.modules; assert 'assay.triton' not in sys.modules; "
         "import assay.triton; assay.triton.Checker(); assert 'triton' not in sys.modules; 1 // 0", "ZeroDivision"),
    ],
)  # fmt: skip
def test_when_triton_is_imported(program: str, said: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 1 and said in ran.stderr, ran.stderr


def test_a_parameter_of_int64_has_64_bits_and_others_have_those_they_need() -> None:
    o = empty(8, dtype="int64")
    assert kernels.launch(kernels.strides, (1,), o, 1 << 30, 1 << 30, N=4) == []
    assert o.tolist() == [0, 1 << 30, 1 << 31, 3 << 30, 0, 1 << 30, -(1 << 31), -(1 << 30)]
    assert kernels.launch(kernels.strides, (1,), o, narrow=1 << 30, wide=1 << 30, N=4) == []
    assert o.tolist()[3] == 3 << 30


@pytest.mark.parametrize("name", ["float32", "float16", *NARROW])
def test_a_masked_load_without_other_gives_nothing_to_rely_on(name: str) -> None:
    a, o = full((4,), 1.0, dtype=name), empty(16, dtype=name)
    assert kernels.launch(kernels.without_other, (1,), a, o, 4, N=16) == []
    assert (o.numbers()[:4] == 1).all() and np.isnan(o.numbers()[4:]).all()


def test_a_masked_load_of_one_element_has_its_other() -> None:
    o = empty(2)
    assert kernels.launch(kernels.one_or_other, (1,), full((1,), 3.0), o, 1) == [] and o.tolist() == [3, 3]
    assert kernels.launch(kernels.one_or_other, (1,), full((1,), 3.0), o, 0) == []
    np.testing.assert_array_equal(o.numpy(), [0, np.nan])


def test_an_index_that_a_mask_left_out_is_no_index() -> None:
    table, o = zeros(4, dtype="int32"), empty(16)
    (fault,) = kernels.launch(kernels.looked_up, (1,), table, zeros(4, name="a"), o, 4, N=16)
    assert (fault.kind, fault.tensor, fault.lanes, fault.lane) == ("out of bounds", "a", 12, (4,))
    assert kernels.launch(kernels.looked_up, (1,), zeros(16, dtype="int32"), zeros(4), o, 16, N=16) == []
    found = kernels.launch(kernels.looked_up, (1,), table, zeros(4), o, 16, N=16)  # a fault has no others in its train
    assert [f.kind for f in found] == ["out of bounds"] and found[0].lanes == 12


def test_a_loop_variable_has_32_bits_unless_a_bound_has_64() -> None:
    o = full((17,), -7, dtype="int64")
    assert kernels.launch(kernels.loops, (1,), o, 4, S=3) == []
    found = o.tolist()
    assert found[:4] == [-1, 0, 1, 2]  # the remainder of a quotient rounded toward zero
    assert found[4:8] == [0, 1 << 30, -(1 << 31), -(1 << 30)]
    assert found[8:12] == [0, 1 << 30, 1 << 31, 3 << 30]
    assert found[12:16] == [-1, 2, 1, -7]  # the variable of static_range makes a shape
    assert found[16] == -1 + 0 + 1 + 2
    assert "range" not in vars(kernels)
    with assay.triton.checking(assay.triton.Checker()), pytest.raises(Exception, match="whole numbers, not fp32"):
        kernels.loops[(1,)](o, 4.0, S=3)
    assert "range" not in vars(kernels)


def test_atomics_race_with_plain_accesses() -> None:
    for kernel, arguments in (
        (kernels.init_then_add, ()),
        (kernels.last_loads, (empty(1),)),
        (kernels.last_stores, ()),
    ):
        for programs, wrong in ((1, []), (2, ["race"]), (5, ["race"])):
            found = kernels.launch(kernel, (programs,), zeros(1, name="o"), *arguments)
            assert [f.kind for f in found] == wrong, (kernel, found)
            assert all((f.tensor == "o" and "by program (0, 0, 0)" in f.what) or programs == 5 for f in found), found


def test_readers_that_atomics_order_before_a_store_are_no_race() -> None:
    for programs in (2, 3, 8):
        for sem in ("acq_rel", "relaxed", "acquire", "release"):
            o, ticket = empty(programs), zeros(1, dtype="int32")
            found = kernels.launch(kernels.reset, (programs,), zeros(1, name="flag"), ticket, o, SEM=sem)
            assert [(f.kind, f.tensor) for f in found] == ([] if sem == "acq_rel" else [("race", "flag")]), sem


def test_a_block_has_no_truth_value() -> None:
    o = zeros(16)
    for how in ("and", "or", "not", "if"):
        with pytest.raises(Exception, match=r"a block of shape \[16\] has no truth value: write & for `and`"):
            kernels.launch(kernels.joined, (1,), o, 8, 4, HOW=how, N=16)
    assert kernels.launch(kernels.joined, (1,), o, 8, 4, HOW="&", N=16) == []
    assert o.tolist() == [1.0] * 4 + [0.0] * 12


def test_an_atomic_of_one_programs_scope_is_none_for_others() -> None:
    for scope, programs, wrong in (("gpu", 2, []), ("sys", 2, []), ("cta", 1, []), ("cta", 2, ["race"])):
        found = kernels.launch(kernels.add_by_scope, (programs,), zeros(1), SCOPE=scope)
        assert [f.kind for f in found] == wrong, scope


def test_a_descriptor_scatters_what_is_inside() -> None:
    o = empty(6, 16)
    assert kernels.launch(kernels.scatter_rows, (1,), o, 6, 16, R=8, C=32) == []
    np.testing.assert_array_equal(o.numpy(), np.add.outer(np.arange(6), np.arange(16)))


def test_a_wide_store_may_not_reach_into_dead_elements() -> None:
    dead = np.arange(8) >= 5
    for at, wrong in ((1, []), (2, ["dead store"]), (3, ["dead store"])):
        o = wrap("o", np.zeros(8, np.float16), "float16", "output", dead=dead, why_dead="a padding row")
        assert [f.kind for f in kernels.launch(kernels.wide_store, (1,), o, at)] == wrong, at


def test_numbers_have_the_types_that_compiled_kernels_take_them_in() -> None:
    o, of_int = empty(5), empty(2, dtype="int64")
    assert kernels.launch(kernels.numbers, (1,), o, of_int, 3 << 30, 1e30, 200, 0.1, wide=1e30) == []
    assert of_int.tolist() == [6, 200 - 256]  # n has 64 bits from 2^31 on
    wanted = [np.inf, np.inf, np.float16(0.1), np.float32(1e30), np.float32(1e30)]  # float32 overflows, float64 not
    np.testing.assert_array_equal(o.numpy(), np.array(wanted, np.float32))
