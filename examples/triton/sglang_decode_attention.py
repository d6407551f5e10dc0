"""SGLang's decode attention in Triton, unchanged: stage 1 over splits of the keys, normal or grouped, and stage 2.

ASSAY_SGLANG_TRITON_DIR names the folder that has the package sglang: `python` of a checkout, or an unpacked wheel.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sglang_windows
import stand_ins

import assay
import assay.triton as gpu

_places = ("sglang.kernels.ops.attention.decode_attention", "sglang.srt.layers.attention.triton_ops.decode_attention")
tree, module = stand_ins.tree_with("ASSAY_SGLANG_TRITON_DIR", _places)
_no = SimpleNamespace(get=lambda: False)
stand_ins.torch()
stand_ins.module("torch.cuda", get_device_capability=lambda: (9, 0))
stand_ins.module("sglang", __path__=[str(tree / "sglang")])
stand_ins.module("sglang.srt", __path__=[str(tree / "sglang/srt")])
stand_ins.module(
    "sglang.srt.environ",
    envs=SimpleNamespace(SGLANG_MLA_DECODE_TUNE=_no, SGLANG_TRITON_DECODE_ATTN_STATIC_KV_SPLITS=_no),
)
stand_ins.module(
    "sglang.srt.utils",
    get_device_core_count=lambda device=0: 132,
    is_cuda=lambda: True,
    is_gfx95_supported=lambda: False,
    is_gfx1250_supported=lambda: False,
    is_hip=lambda: False,
)
decoding = stand_ins.load(tree, module)

SUPPORTS: dict[str, Any] = {
    "types": ["f16", "bf16", "f16/e4m3fn", "bf16/e4m3fn", "bf16/e5m2"],
    "head_dims": {"least": 16, "most": 256, "multiple_of": 8},
    "page_sizes": 1,
    "group_sizes": {"least": 2, "most": 16},
    "most_rows": 1,
    "most_heads_q": 64,
    "most_keys": 400,
    "most_sequences": 6,
    "most_splits": 16,
    "no_split_count": 0,
    "no_partials": 1,
    "no_lse": 1,
    "no_block_table": 1,
    "no_prefix_offset": 1,
    "no_window": 1,  # a window is in kv_indptr and kv_indices
    "no_bias_f32": 1,
    "no_bias_f16": 1,
    "no_bias_bf16": 1,
    "no_page_descales": 1,
    "no_q_scale": 1,
    "no_q_transposed": 1,
    "no_empty_batch": 1,
    "no_sequences_without_rows": 1,
    "no_sequences_without_keys": 1,  # padding of CUDA graphs has one key
    "no_rows_without_keys": 1,
    "no_extreme_scale": 1,
    "no_nonpositive_scale": 1,
    "no_live_infinity": 1,  # where all logits are -inf, their differences are NaN
    "no_far_strides": 1,  # a head's stride times its number has 32 bits
}
NORMAL = {**SUPPORTS, "group_sizes": 1}
WIDE = {**SUPPORTS, "group_sizes": [20, 24, 32, 48], "most_heads_q": 128}  # more heads than a tile has
PAGED = {  # its pools have one row for each slot: the page's stride is that of its slots
    **SUPPORTS,
    "page_sizes": {"least": 2, "most": 128},
    "no_hnd": 1,
    "no_packing": 1,
    "no_input_margins": 1,
}
WINDOWED = {**SUPPORTS, "no_window": 0}


def declares(p: dict[str, Any]) -> dict[str, Any]:
    """Keys in any order. Grouped heads: Q and P in the type of the cache; else products of Q and K in that of Q."""
    shared = {"recipe": "in_any_order", "normalise_roundings": 6}
    if p["heads_q"] == p["heads_kv"]:
        return {**shared, "query_type": p["q_type"]}
    return {
        **shared,
        "tile_keys": 32,
        "p_type": p["v_type"],
        "query_type": p["k_type"] if p["k_type"] != p["q_type"] else "f32",
        "sum_roundings": 64,
    }


def attend(**n: Any) -> None:
    """Calls SGLang's launcher as its backend does: kv_indices has the slot of each key, 64 bits wide."""
    sequences, splits, page_size = n["num_seqs"], n["num_splits"], n["page_size"]
    keys, first, pages = n["seqlens_k"].tolist(), n["page_indptr"].tolist(), n["page_indices"].tolist()
    lengths, begin = keys, [0] * sequences
    if n["window"] == 1:  # the backend takes it for none
        lengths, begin = [1] * sequences, [k - 1 for k in keys]
    elif n["window"]:
        lengths, begin = sglang_windows.of_backend(tree, n["window"], keys)
    seen = [(s, begin[s] + j) for s in range(sequences) for j in range(lengths[s])]
    slots = [pages[first[s] + j // page_size] * page_size + j % page_size for s, j in seen]
    starts = [sum(lengths[:s]) for s in range(sequences + 1)]
    of_each = [1 + (splits - 1 + s) % splits for s in range(sequences)]  # the scheduler gives each its own
    k, v = (pool[:, 0] if page_size == 1 else pool.view(-1, *pool.shape[2:]) for pool in (n["k"], n["v"]))
    decoding.decode_attention_fwd(
        n["q"][:sequences],
        k,
        v,
        n["o"][:sequences],
        gpu.empty(sequences + 1, dtype=gpu.int32).copy_(starts),
        gpu.empty(len(slots), dtype=gpu.int64).copy_(slots),
        gpu.empty(sequences, n["heads_q"], splits, n["head_dim_v"], dtype=gpu.float32),
        gpu.empty(sequences, n["heads_q"], splits, dtype=gpu.float32),
        gpu.empty(sequences, dtype=gpu.int32).copy_(of_each),
        splits,
        n["scale"],
        n["k_scale"],
        n["v_scale"],
        logit_cap=n["soft_cap"],
        sinks=n["sinks"],
        page_size=page_size,
    )


kernel = assay.Kernel(attend, supports=SUPPORTS, declares=declares, arrays="triton")
normal = assay.Kernel(attend, supports=NORMAL, declares=declares, arrays="triton")
wide = assay.Kernel(attend, supports=WIDE, declares=declares, arrays="triton")
paged = assay.Kernel(attend, supports=PAGED, declares=declares, arrays="triton")
windowed = assay.Kernel(attend, supports=WINDOWED, declares=declares, arrays="triton")
