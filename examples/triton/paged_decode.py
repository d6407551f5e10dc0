"""Decoding attention over a paged KV cache in Triton, each sequence cut into splits; Assay verifies it on the CPU."""

import sys

import assay
import assay.triton  # before triton: it chooses the interpreter
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def _scores(q, k_tile, seen, scale_log2):
    return tl.where(seen[None, :], tl.dot(q, tl.trans(k_tile)) * scale_log2, -float("inf"))


@triton.jit
def decode_partial(
    q_ptr, k_ptr, v_ptr, table_ptr, seqlens_ptr, rows_ptr, o_ptr, lse_ptr, scale_log2,
    q_row, q_head, q_dim, k_page, k_slot, k_head, v_page, v_slot, v_head, table_row, o_split, o_row, lse_split, lse_row,
    GROUP: tl.constexpr, PAGE: tl.constexpr, DIM: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Program (s, h, i): split i of sequence s, for the query heads of kv head h; O in f32, LSE to the base 2."""
    seq, head_kv, split = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2)
    keys, row = tl.load(seqlens_ptr + seq), tl.load(rows_ptr + seq).to(tl.int64)
    tiles = tl.cdiv(tl.cdiv(keys, BLOCK_K), tl.num_programs(2))
    h, d = tl.arange(0, BLOCK_H), tl.arange(0, DIM)
    is_head = h < GROUP
    heads = head_kv * GROUP + h
    q_at = q_ptr + row * q_row + heads[:, None] * q_head + d[None, :] * q_dim
    q = tl.load(q_at, mask=is_head[:, None], other=0.0)
    m = tl.full([BLOCK_H], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK_H], tl.float32)
    acc = tl.zeros([BLOCK_H, DIM], tl.float32)
    for first in range(split * tiles * BLOCK_K, tl.minimum((split + 1) * tiles * BLOCK_K, keys), BLOCK_K):
        key = first + tl.arange(0, BLOCK_K)
        seen = key < keys
        page = tl.load(table_ptr + seq * table_row + key // PAGE, mask=seen, other=0).to(tl.int64)
        slot = key % PAGE
        k_at = k_ptr + head_kv * k_head + page * k_page + slot * k_slot
        v_at = v_ptr + head_kv * v_head + page * v_page + slot * v_slot
        x = _scores(q, tl.load(k_at[:, None] + d[None, :], mask=seen[:, None], other=0.0), seen, scale_log2)
        m_new = tl.maximum(m, tl.max(x, 1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp2(x - base[:, None])
        alpha = tl.exp2(m - base)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(v_at[:, None] + d[None, :], mask=seen[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    o = acc / tl.where(total > 0, total, 1.0)[:, None]
    o_at = o_ptr + split * o_split + row * o_row + heads * DIM
    tl.store(o_at[:, None] + d[None, :], o, mask=is_head[:, None])
    tl.store(lse_ptr + split * lse_split + row * lse_row + heads, m + tl.log2(total), mask=is_head)


@triton.jit
def decode_combine(
    part_ptr, part_lse_ptr, rows_ptr, o_ptr, lse_ptr, part_split, part_row, part_lse_split, part_lse_row,
    o_row, o_head, lse_row, lse_head, SPLITS: tl.constexpr, DIM: tl.constexpr, LN2: tl.constexpr,
):  # fmt: skip
    """Program (s, h): joins the splits of a sequence's row, for one head."""
    row, head = tl.load(rows_ptr + tl.program_id(0)).to(tl.int64), tl.program_id(1)
    i, d = tl.arange(0, SPLITS), tl.arange(0, DIM)
    lse = tl.load(part_lse_ptr + i * part_lse_split + row * part_lse_row + head)
    top = tl.max(lse, 0)
    weight = tl.exp2(lse - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(weight, 0)
    part = tl.load(part_ptr + i[:, None] * part_split + row * part_row + head * DIM + d[None, :])
    o = tl.sum(part * weight[:, None], 0) / tl.where(total > 0, total, 1.0)
    tl.store(o_ptr + row * o_row + head * o_head + d, o.to(o_ptr.dtype.element_ty))
    tl.store(lse_ptr + row * lse_row + head * lse_head, (top + tl.log2(total)) * LN2)


@assay.kernel(
    arrays="triton",
    declares={"recipe": "flash_attention_2", "tile_keys": 32},
    supports={
        "types": ["f16", "bf16"], "head_dims": [64, 128], "page_sizes": [16, 32, 64],
        "group_sizes": {"least": 1, "most": 16}, "most_heads_q": 16, "most_rows": 1, "most_keys": 512,
        "most_sequences": 6, "no_batch": 1, "no_sequences_without_rows": 1, "no_unequal_head_dims": 1,
        "no_live_nan": 1, "no_live_infinity": 1, "no_extreme_scale": 1, "no_far_strides": 1,
    },
)  # fmt: skip
def decode(q, k, v, block_table, seqlens_k, cu_seqlens_q, o, lse, scale, page_size, heads_q, heads_kv, splits=4):
    """The host's part, as around a launch on a GPU."""
    seqs, group, dim = len(seqlens_k), heads_q // heads_kv, q.shape[2]
    if seqs == 0:
        return
    part = assay.triton.empty(splits, q.shape[0], heads_q, dim, name="part")
    part_lse = assay.triton.empty(splits, q.shape[0], heads_q, name="part_lse")
    decode_partial[(seqs, heads_kv, splits)](
        q, k, v, block_table, seqlens_k, cu_seqlens_q, part, part_lse, scale * LOG2E,
        *q.stride(), *k.stride()[:3], *v.stride()[:3], block_table.stride(0),
        *part.stride()[:2], *part_lse.stride()[:2],
        GROUP=group, PAGE=page_size, DIM=dim, BLOCK_H=max(16, triton.next_power_of_2(group)), BLOCK_K=32, num_warps=4,
    )  # fmt: skip
    decode_combine[(seqs, heads_q)](
        part, part_lse, cu_seqlens_q, o, lse, *part.stride()[:2], *part_lse.stride()[:2], *o.stride()[:2],
        *lse.stride(), SPLITS=splits, DIM=dim, LN2=1 / LOG2E,
    )  # fmt: skip


if __name__ == "__main__":
    result = decode.verify(cases=100, seed=1)
    print(result)
    sys.exit(0 if result else 1)
