"""Triton kernels of one launch, for test_triton_launch.py."""

from __future__ import annotations

from typing import Any

import assay.triton  # before triton
import triton
import triton.language as tl


@triton.jit
def all_that_it_gets(
    q, k, block_table, cu_seqlens_q, bias, o, lse, heads_q, k_stride_1, q_stride_2, bias_stride_0,
    PAGE_SIZE: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr = 8,
):  # fmt: skip
    """Is not run."""


@triton.jit
def zeros_of_rows(block_table, o, o_stride_0):
    """One head of 64."""
    tl.store(o + tl.program_id(0) * o_stride_0 + tl.arange(0, 64), tl.zeros([64], tl.float32))


@triton.jit
def _zeros_in_blocks(block_table, o, o_stride_0, BLOCK: tl.constexpr, HALF: tl.constexpr):
    for first in range(0, HALF * 2, BLOCK):
        tl.store(o + tl.program_id(0) * o_stride_0 + first + tl.arange(0, BLOCK), tl.zeros([BLOCK], tl.float32))


def tuned() -> Any:
    """As zeros_of_rows, with a size that triton.autotune sets, and one of triton.heuristics."""
    halved = triton.heuristics({"HALF": lambda a: 32})(_zeros_in_blocks)
    return triton.autotune(configs=[triton.Config({"BLOCK": n}) for n in (16, 64)], key=[])(halved)


__all__ = ["all_that_it_gets", "assay", "tuned", "zeros_of_rows"]
