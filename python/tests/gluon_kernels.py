"""Small kernels whose results are known, as a file that imports Triton has them: loaded with stand-ins."""

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

try:
    from triton.experimental.gluon.language.amd.cdna3 import s_set_prio
except ImportError:  # not in each version

    @gluon.jit
    def s_set_prio(priority):
        """A hint."""
        pass


WIDE: gl.constexpr = 2**20


@triton.jit
def _add(a, b):
    return a + b


@gluon.jit
def row_sums(x, stride, out, n, COLUMNS: gl.constexpr):
    """out[row] = the sum of n columns of x's row."""
    layout: gl.constexpr = gl.BlockedLayout([1], [64], [4], [0])
    row = gl.program_id(0)
    s_set_prio(1)
    i = gl.arange(0, COLUMNS, layout=layout)
    values = gl.amd.cdna3.buffer_load(ptr=x, offsets=row * stride + i, mask=i < n, other=0.0)
    gl.store(out + row, gl.reduce(values, axis=0, combine_fn=_add))


@gluon.jit
def fill_rows(out, stride, columns, CHUNK: gl.constexpr, MASKED: gl.constexpr):
    """Stores a row in chunks; without the mask also behind its end."""
    row = gl.program_id(0)
    for start in range(0, columns, CHUNK):
        i = start + gl.arange(0, CHUNK, layout=gl.SliceLayout(0, gl.AutoLayout()))
        if MASKED:
            gl.amd.cdna3.buffer_store(i.to(gl.float32), ptr=out, offsets=row * stride + i, mask=i < columns)
        else:
            gl.amd.cdna3.buffer_store(i.to(gl.float32), ptr=out, offsets=row * stride + i)


@gluon.jit
def product(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    """c = a b through matrix units and shared memory; b is stored as [N, K]."""
    m, n, k = gl.arange(0, M), gl.arange(0, N), gl.arange(0, K)
    shared = gl.allocate_shared_memory(b.type.element_ty, [N, K], gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0]))
    shared.store(gl.load(b + n[:, None] * K + k[None, :]))
    gl.barrier()
    left = gl.convert_layout(gl.load(a + m[:, None] * K + k[None, :]), gl.DotOperandLayout(0, None, 16))
    acc = gl.amd.cdna3.mfma(left, shared.permute([1, 0]).load(layout=None), gl.zeros((M, N), dtype=gl.float32))
    gl.store(c + m[:, None] * N + n[None, :], acc)


@gluon.jit
def half_written(out, ROWS: gl.constexpr):
    """Writes half of shared memory, and reads all of it."""
    shared = gl.allocate_shared_memory(gl.float32, [ROWS, 16], None)
    shared.slice(0, ROWS // 2).store(gl.full((ROWS // 2, 16), 1.0, gl.float32))
    gl.store(out + gl.arange(0, 16), gl.sum(shared.load(None), axis=0))


@gluon.jit
def early_read(x, out, WAITS: gl.constexpr):
    """Reads what an asynchronous copy brings, before or after it waits."""
    shared = gl.allocate_shared_memory(gl.float32, [2, 16], None)
    i = gl.arange(0, 16)
    gl.amd.cdna4.async_copy.buffer_load_to_shared(shared.index(0), x, i)
    gl.amd.cdna4.async_copy.commit_group()
    gl.amd.cdna4.async_copy.buffer_load_to_shared(shared.index(1), x, i + 16)
    gl.amd.cdna4.async_copy.commit_group()
    gl.amd.cdna4.async_copy.wait_group(1 if WAITS else 2)
    gl.store(out + i, shared.index(0).load(None))


@gluon.jit
def descriptor(x, out, rows):
    """The last block of a tensor of rows x 16: what lies behind its shape is 0."""
    shared = gl.allocate_shared_memory(gl.float32, [4, 16], None)
    desc = gl.amd.gfx1250.tdm.make_tensor_descriptor(x, (rows, 16), (16, 1), (4, 16), None)
    gl.amd.gfx1250.tdm.async_load(desc, [rows - 2, 0], shared)
    gl.amd.gfx1250.tdm.async_wait(0)
    gl.store(out + gl.arange(0, 16), gl.sum(shared.load(None), axis=0))


@gluon.jit
def far_offsets(x, out, page, stride):
    """Page times stride in 32 bits, as offsets of a buffer operation, and in 64, as pointers."""
    i = gl.arange(0, 4)
    gl.store(out + i, gl.load(x + page.to(gl.int64) * stride + i))
    gl.store(out + i, gl.amd.cdna3.buffer_load(ptr=x, offsets=page * stride + i))


@gluon.jit
def numbers(out, a, b):
    """Integers as on a GPU: quotients toward 0, sums that wrap, min and max, a while loop, a condition."""
    gl.store(out, a // b)
    gl.store(out + 1, a % b)
    gl.store(out + 2, a * WIDE * 2048)
    gl.store(out + 3, min(a, b) + tl.cdiv(b, 2))
    n = 0
    while a < 0 and n < 10:
        a += 2
        n += 1
    gl.store(out + 4, n)
    gl.store(out + 5, 1 if a > 0 else 2)


@gluon.jit
def same_place(out):
    """Each program stores its own number at one place."""
    gl.store(out, gl.program_id(0))


@gluon.jit
def unknown(out):
    """An operation that no evaluation has."""
    gl.amd.cdna3.frobnicate(out)


@gluon.jit
def promises(n):
    """A condition that the compiler may rely on."""
    gl.assume(n % 16 == 0)


@triton.jit
def plain_triton(q, k, out, D: tl.constexpr, N: tl.constexpr):
    """A kernel of tl: logits of one query for N keys."""
    d, j = tl.arange(0, D), tl.arange(0, N)
    keys = tl.load(k + j[:, None] * D + d[None, :])
    logits = tl.dot(tl.load(q + d)[None, :], keys.T)
    tl.store(out + j, tl.sum(tl.where(logits > 0, logits, 0.0), axis=0))


@triton.jit
def quotients(out, a, b):
    """Integers as both evaluations must have them."""
    tl.store(out, a // b)
    tl.store(out + 1, a % b)
    tl.store(out + 2, a - b)
    tl.store(out + 3, (a > b).to(tl.int32))
    tl.store(out + 4, tl.cdiv(b, 4))
    tl.store(out + 5, tl.minimum(b, 0))


@gluon.jit
def load_before_store(out, seen):
    """The first program loads the element that the second one stores."""
    if gl.program_id(0) == 0:
        gl.store(seen, gl.load(out))
    else:
        gl.store(out, 1)


@gluon.jit
def lanes_at_one_place(out):
    """Each lane stores its own number to the same element."""
    i = gl.arange(0, 4)
    gl.store(out + i * 0, i)


@gluon.jit
def swallows_its_fault(out):
    """A store past the end, inside of what catches exceptions."""
    try:
        gl.store(out + 5, 1)
    except Exception:
        pass
