"""What GPUs do with NaN, infinities and bf16, where Triton's interpreter does otherwise; and copies of the host."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)
import triton_kernels as kernels

from assay.triton import empty, zeros

NAN, INF = float("nan"), float("inf")


def of(numbers: list[float], dtype: str = "float32") -> Any:
    return empty(len(numbers), dtype=dtype, name="a").copy_(np.array(numbers))


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("int32", [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 2, -2, 2**31 - 128]),
        ("int64", [0, 2**63 - 1, -(2**63), 2**40, -(2**40), 2, -2, 2**31 - 128]),
        ("uint8", [0, 255, 0, 255, 0, 2, 254, 128]),  # the last bits of 32
    ],
)
def test_floats_become_integers_as_on_gpus(dtype: str, wanted: list[int]) -> None:
    given = of([NAN, INF, -INF, 2.0**40, -(2.0**40), 2.9, -2.9, 2.0**31 - 128])
    made = zeros(8, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.launch(kernels.convert, (1,), given, made, N=8) == []
    assert made.tolist() == wanted


@pytest.mark.parametrize(
    ("numbers", "largest", "at", "least", "at_least"),
    [
        ([1, 3, 2, 3], 3, 1, 1, 0),
        ([NAN] * 4, NAN, 3, NAN, 3),
        ([9, NAN, 1, 2], 2, 3, 1, 2),  # what follows the last NaN
        ([9, 1, 2, NAN], NAN, 3, NAN, 3),
        ([9, NAN, -INF, -INF], -INF, 2, -INF, 2),
        ([-INF, NAN, INF, INF], INF, 2, INF, 2),
    ],
)
def test_extremes_with_an_index_take_nan_as_comparisons_do(
    numbers: list[float], largest: float, at: int, least: float, at_least: int
) -> None:
    values, indices = zeros(2), zeros(2, dtype="int32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.launch(kernels.extremes, (1,), of(numbers), values, indices, N=4) == []
    np.testing.assert_array_equal(values.numpy(), np.array([largest, least], np.float32))
    assert indices.tolist() == [at, at_least]


def test_the_largest_of_nan_alone_is_nan_without_a_warning() -> None:
    o = zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels.launch(kernels.reduced, (1,), of([NAN, NAN]), o, N=2)
        assert np.isnan(o.numpy()).all()
        kernels.launch(kernels.reduced, (1,), of([NAN, 3]), o, N=2)
    assert o.numpy()[1] == 3


def test_atomics_add_bf16_as_numbers() -> None:
    """Several lanes at one element, one of them masked off: each sum is rounded."""
    o, before = of([1.0, 256.0], "bfloat16"), zeros(4, dtype="bfloat16")
    found = kernels.launch(kernels.added_in_pairs, (1,), of([0.5, 1, 0.25, 1], "bfloat16"), o, before, 3, N=4)
    assert found == []
    assert o.tolist() == [1.75, 256.0]  # 257 is a tie between 256 and 258
    assert before.tolist()[:3] == [1.0, 256.0, 1.5]
    o = of([1.0, 1.0], "bfloat16")
    (fault,) = kernels.launch(kernels.added_in_pairs, (1,), zeros(8, dtype="bfloat16"), o, zeros(8, dtype="bfloat16"),
                              8, N=8)  # fmt: skip
    assert fault.kind == "out of bounds" and fault.lanes == 4


def test_a_copy_of_what_nothing_has_written_is_not_written() -> None:
    part = empty(8, name="part")
    part[2:6].fill_(1)
    for copied in (part.clone(), part.to("float16"), zeros(8).copy_(part), part.view(2, 4).clone().view(8)):
        (fault,) = kernels.launch(kernels.convert, (1,), copied, zeros(8), N=8)
        assert fault.kind == "unwritten read" and fault.lanes == 4
        assert kernels.launch(kernels.convert, (1,), copied[2:6], zeros(4), N=4) == []
    wide = zeros(2, 8).copy_(part)  # each row
    (fault,) = kernels.launch(kernels.convert, (1,), wide, zeros(16), N=16)
    assert fault.lanes == 8
    whole = part.clone()
    whole.fill_(2)
    assert kernels.launch(kernels.convert, (1,), whole, zeros(8), N=8) == []
    halves = part.view("int16").clone()  # of narrower elements
    (fault,) = kernels.launch(kernels.convert, (1,), halves, zeros(16, dtype="int16"), N=16)
    assert fault.lanes == 8
