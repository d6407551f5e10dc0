"""Logits of DeepSeek's sparse attention indexer over a paged FP8 key cache in Triton; Assay verifies it on the CPU."""

import sys

import assay
import assay.triton  # before triton: it chooses the interpreter
import triton
import triton.language as tl


@triton.jit
def mqa_logits(
    q_ptr, weights_ptr, k_ptr, k_scale_ptr, table_ptr, seqlens_ptr, logits_ptr, columns, next_n,
    q_row, q_head, q_dim, weights_row, weights_head, k_page, k_slot, scale_page, scale_slot, table_row, logits_row,
    HEADS: tl.constexpr, PAGE: tl.constexpr, DIM: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_K: tl.constexpr,
    FILLS_HIDDEN: tl.constexpr,
):  # fmt: skip
    """Program (r, b): columns [b * BLOCK_K, (b + 1) * BLOCK_K) of query row r."""
    row, block = tl.program_id(0), tl.program_id(1)
    seq = row // next_n
    seen_keys = tl.load(seqlens_ptr + seq) - next_n + row % next_n + 1
    key = block * BLOCK_K + tl.arange(0, BLOCK_K)
    logits_at = logits_ptr + row.to(tl.int64) * logits_row + key
    if block * BLOCK_K >= seen_keys:
        if FILLS_HIDDEN:
            tl.store(logits_at, tl.full([BLOCK_K], -float("inf"), tl.float32), mask=key < columns)
        return
    h, d = tl.arange(0, BLOCK_H), tl.arange(0, DIM)
    is_head, seen = h < HEADS, key < seen_keys
    q_at = q_ptr + row.to(tl.int64) * q_row + h[:, None] * q_head + d[None, :] * q_dim
    q = tl.load(q_at, mask=is_head[:, None], other=0.0)
    weights = tl.load(weights_ptr + row * weights_row + h * weights_head, mask=is_head, other=0.0)
    page = tl.load(table_ptr + seq * table_row + key // PAGE, mask=seen, other=0).to(tl.int64)
    slot = key % PAGE
    k = tl.load(k_ptr + page[None, :] * k_page + slot[None, :] * k_slot + d[:, None], mask=seen[None, :], other=0.0)
    k_scale = tl.load(k_scale_ptr + page * scale_page + slot * scale_slot, mask=seen, other=0.0)
    x = tl.maximum(tl.dot(q, k), 0.0) * weights[:, None]
    logits = tl.sum(x, 0) * k_scale
    if FILLS_HIDDEN:
        tl.store(logits_at, tl.where(seen, logits, -float("inf")), mask=key < columns)
    else:
        tl.store(logits_at, logits, mask=seen & (key < columns))


@assay.kernel(
    operation="mqa_logits",
    arrays="triton",
    supports={
        "types": ["e4m3fn:f32", "e4m3fnuz:f32"], "head_dims": [64, 128], "page_sizes": [16, 32, 64],
        "most_sequences": 4, "most_rows": 3, "most_keys": 400, "most_columns": 512, "most_heads_q": 64,
        "no_page_list": 1, "no_live_nan": 1, "no_live_infinity": 1, "no_far_strides": 1, "no_preshuffled_keys": 1,
    },
)  # fmt: skip
def logits(q, weights, k, k_row_scale, seqlens_k, block_table, logits, max_q, heads_q, page_size, max_model_len,
           fills_hidden):  # fmt: skip
    """The host's part, as around a launch on a GPU."""
    if 0 in logits.shape:
        return
    mqa_logits[lambda meta: (q.shape[0], triton.cdiv(max_model_len, meta["BLOCK_K"]))](
        q, weights, k, k_row_scale, block_table, seqlens_k, logits, max_model_len, max_q,
        *q.stride(), *weights.stride(), *k.stride()[:2], *k_row_scale.stride(), block_table.stride(0), logits.stride(0),
        HEADS=heads_q, PAGE=page_size, DIM=q.shape[2], BLOCK_H=max(16, triton.next_power_of_2(heads_q)), BLOCK_K=64,
        FILLS_HIDDEN=bool(fills_hidden), num_warps=4,
    )  # fmt: skip


if __name__ == "__main__":
    result = logits.verify(cases=100, seed=1)
    print(result)
    sys.exit(0 if result else 1)
