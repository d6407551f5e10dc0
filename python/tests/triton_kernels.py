"""Small kernels of Triton, each for one thing that its interpreter, or the checker, must do right."""

from __future__ import annotations

from typing import Any

import assay.triton  # before triton
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def dot(a, b, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def convert(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + i).to(o.dtype.element_ty))


@triton.jit
def _twice(x, n: tl.constexpr):
    return x * n


@triton.jit
def arithmetic(a, b, o, N: tl.constexpr):
    """a + 2 b, the larger of both where a is negative: each operation rounds to the type."""
    i = tl.arange(0, N)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.store(o + i, tl.where(x < 0, tl.maximum(x, y), x + _twice(y, 2)))


@triton.jit
def reduced(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o, tl.sum(x, 0))
    tl.store(o + 1, tl.max(x, 0))


@triton.jit
def functions(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o + i, tl.exp2(x))
    tl.store(o + N + i, libdevice.tanh(x))
    tl.store(o + 2 * N + i, tl.math.rsqrt(tl.abs(x) + 1))


@triton.jit
def copy_described(d, o, rows, columns, R: tl.constexpr, C: tl.constexpr):
    """Through a descriptor: what is past its shape is 0."""
    to = tl.make_tensor_descriptor(o, shape=[rows, columns], strides=[columns, 1], block_shape=[R, C])
    to.store([tl.program_id(0) * R, 0], d.load([tl.program_id(0) * R, 0]))


@triton.jit
def copy_blocks(a, o, rows, columns, R: tl.constexpr, C: tl.constexpr, CHECK: tl.constexpr):
    """Through block pointers."""
    at = (tl.program_id(0) * R, 0)
    source = tl.make_block_ptr(a, (rows, columns), (columns, 1), at, (R, C), (1, 0))
    target = tl.make_block_ptr(o, (rows, columns), (columns, 1), at, (R, C), (1, 0))
    if CHECK:
        tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))
    else:
        tl.store(target, tl.load(source))


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (16, 32) for w in (2, 4)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(a, o, used, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i) if EVEN else tl.load(a + i, mask=i < n)
    tl.store(o + i, x, mask=i < n)
    tl.store(used, BLOCK, mask=tl.program_id(0) == 0)


@triton.jit
def sum_of_all(a, parts, ticket, o, n, BLOCK: tl.constexpr, SEM: tl.constexpr):
    """The last program adds the sums of all: what it reads of others, their tickets order."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(a + i, mask=i < n, other=0.0), 0))
    if tl.atomic_add(ticket, 1, sem=SEM) == tl.num_programs(0) - 1:
        p = tl.arange(0, BLOCK)
        tl.store(o, tl.sum(tl.load(parts + p, mask=p < tl.num_programs(0), other=0.0), 0))
        tl.store(ticket, 0)


@triton.jit
def shift_left(a, o, n, BLOCK: tl.constexpr):
    """Each program reads what the next one writes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(a + i, tl.load(a + i + 1, mask=i + 1 < n, other=0.0), mask=i < n)


@triton.jit
def scatter(a, o, step, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i // step, tl.load(a + i))


@triton.jit
def locked_sum(a, lock, o, BLOCK: tl.constexpr):
    """One program at a time adds to one place."""
    x = tl.sum(tl.load(a + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(o, tl.load(o) + x)
    tl.atomic_xchg(lock, 0)


@triton.jit
def across_tensors(a, o, distance):
    """Reaches a tensor by the pointer of another."""
    tl.store(o + 0, tl.load(a + distance))


@triton.jit
def strides(o, wide: tl.int64, narrow, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, (i * wide).to(tl.int64))
    tl.store(o + N + i, (i * narrow).to(tl.int64))


@triton.jit
def either(a, b, o, N: tl.constexpr):
    """Reads one of two tensors, each lane on its own."""
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(tl.where(i % 2 == 0, a + i, b + i)))


@triton.jit
def lines(
    a,
    o,
    n,
):
    """Its mistake is in the middle of a statement of many lines."""
    i = tl.arange(0, 16)
    x = (
        tl.load(a + i, mask=i < n, other=0.0)
        + tl.load(
            a + i + 1,  # the mistake
        )
        * 2
    )
    tl.store(o + i, x, mask=i < n)


def launch(kernel: Any, grid: Any, *arguments: Any, keep_going: bool = True, **named: Any) -> list[Any]:
    """The faults of a launch."""
    checker = assay.triton.Checker(keep_going=keep_going)
    with assay.triton.checking(checker):
        kernel[grid](*arguments, **named)
    return checker.faults


@triton.jit
def without_other(a, o, n, N: tl.constexpr):
    """What the mask leaves out is stored."""
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + i, mask=i < n))


@triton.jit
def looked_up(table, a, o, n, N: tl.constexpr):
    """An index that the mask left out is used."""
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + tl.load(table + i, mask=i < n)))


@triton.jit
def _sum_to(n):
    """In a function that a kernel calls."""
    total = 0
    for i in range(n):
        total += (i - 1) % 3
    return total


@triton.jit
def loops(o, n, S: tl.constexpr):
    """What loop variables are: of i, (i - 1) % S and i * 2^30, which wraps in 32 bits, or of 64-bit bounds does not."""
    for i in range(n):
        tl.store(o + i, (i - 1) % S)
    for i in tl.range(n, 2 * n, num_stages=2):
        tl.store(o + i, (i * 1073741824).to(tl.int64))
    for i in range(n.to(tl.int64)):
        tl.store(o + 2 * n + i, i * 1073741824)
    for i in range(2 * n - 1, n - 1, -1):
        if i == n:
            tl.store(o + 3 * n, i - 5)
    for i in tl.static_range(S):
        tl.store(o + 3 * n + 1 + tl.arange(0, 2 ** (i % 2)), i)
    tl.store(o + 4 * n, _sum_to(n))


@triton.jit
def init_then_add(o):
    """Program 0 sets to 0 what others may have added to."""
    if tl.program_id(0) == 0:
        tl.store(o, 0.0)
    tl.atomic_add(o, 1.0, sem="relaxed")


@triton.jit
def last_loads(o, total):
    """The last one of the grid is not the last one to run."""
    tl.atomic_add(o, 1.0, sem="relaxed")
    if tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(total, tl.load(o))


@triton.jit
def last_stores(o):
    tl.atomic_add(o, 1.0, sem="relaxed")
    if tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(o, 5.0)


@triton.jit
def reset(flag, ticket, o, SEM: tl.constexpr):
    """All look at the flag, and who comes last sets it back."""
    p = tl.program_id(0)
    tl.store(o + p, tl.load(flag))
    if tl.atomic_add(ticket, 1, sem=SEM) == tl.num_programs(0) - 1:
        tl.store(flag, 0.0)


@triton.jit
def joined(o, n, m, HOW: tl.constexpr, N: tl.constexpr):
    """Masks of blocks, by Python's operators and by Triton's."""
    i = tl.arange(0, N)
    if HOW == "and":
        tl.store(o + i, 1.0, mask=(i < n) and (i < m))
    elif HOW == "or":
        tl.store(o + i, 1.0, mask=(i < n) or (i < m))
    elif HOW == "not":
        tl.store(o + i, 1.0, mask=not (i >= n))
    elif HOW == "if":
        if i < n:
            tl.store(o + i, 1.0)
    elif n > 3 and not m > 99:
        assert i < N
        tl.store(o + i, 1.0, mask=(i < n) & (i < m))


@triton.jit
def add_by_scope(o, SCOPE: tl.constexpr):
    tl.atomic_add(o, 1.0, sem="relaxed", scope=SCOPE)


@triton.jit
def scatter_rows(o, rows, columns, R: tl.constexpr, C: tl.constexpr):
    """Through a descriptor: what is past its shape is left out."""
    to = tl.make_tensor_descriptor(o, shape=[rows, columns], strides=[columns, 1], block_shape=[1, C])
    i = tl.arange(0, R)
    to.scatter((i[:, None] + tl.arange(0, C)[None, :]).to(tl.float32), i, 0)


@triton.jit
def wide_store(o, at):
    """Two elements of 16 bits at once."""
    tl.store(o.to(tl.pointer_type(tl.int32)) + at, 7)


@triton.jit
def one_or_other(a, o, is_on):
    """A load of one element, not of a block."""
    tl.store(o, tl.load(a, mask=is_on > 0, other=0.0))
    tl.store(o + 1, tl.load(a, mask=is_on > 0))


@triton.jit
def numbers(o, of_int, n, x, small: tl.int8, half: tl.float16, wide: tl.float64):
    """What a parameter's type makes of numbers."""
    tl.store(of_int, (n + n) // 1073741824)
    tl.store(of_int + 1, small)
    tl.store(o, (x * x) / x)
    tl.store(o + 1, 1.0 / (x - x))
    tl.store(o + 2, half)
    tl.store(o + 3, (wide * wide) / wide)
    tl.store(o + 4 + tl.arange(0, 1), tl.zeros((1,), tl.float16) + x)  # a block of f16 and a parameter are f32


@triton.jit
def extremes(a, values, indices, N: tl.constexpr):
    """The largest and the least element, and where they are."""
    x = tl.load(a + tl.arange(0, N))
    largest, at = tl.max(x, 0, return_indices=True)
    tl.store(values, largest)
    tl.store(indices, at)
    least, at_least = tl.min(x, 0, return_indices=True)
    tl.store(values + 1, least)
    tl.store(indices + 1, at_least)


@triton.jit
def added_in_pairs(a, o, before, n, N: tl.constexpr):
    """Even lanes add to the first element, odd ones to the second, or, from the fifth on, two behind."""
    i = tl.arange(0, N)
    was = tl.atomic_add(o + i % 2 + i // 4 * 2, tl.load(a + i), mask=i < n)
    tl.store(before + i, was, mask=i < n)
