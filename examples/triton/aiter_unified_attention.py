"""aiter's unified attention in Triton, unchanged, as for gfx950: 2D, and 3D over segments with reduce_segments.

ASSAY_AITER_TRITON_DIR names a checkout of aiter.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import stand_ins

import assay
import assay.triton as gpu

_tree, _module = stand_ins.tree_with("ASSAY_AITER_TRITON_DIR", ["aiter.ops.triton.attention.unified_attention"])
_units = SimpleNamespace(count=0)
stand_ins.torch()
stand_ins.module("aiter", __path__=[str(_tree / "aiter")])
stand_ins.module("aiter.ops", __path__=[str(_tree / "aiter/ops")])
stand_ins.module("aiter.ops.triton", __path__=[str(_tree / "aiter/ops/triton")])
stand_ins.module("aiter.ops.triton.utils", __path__=[])
stand_ins.module("aiter.ops.triton.utils._triton", __path__=[])
stand_ins.module("aiter.ops.triton.utils._triton.arch_info", get_arch=lambda: "gfx950")
stand_ins.module("aiter.ops.triton.utils._triton.kernel_repr", make_kernel_repr=lambda name, keys: None)
stand_ins.module("aiter.ops.triton.utils.device_info", get_num_sms=lambda: _units.count)
stand_ins.module("aiter.ops.triton.utils.types", e4m3_dtype=gpu.float8_e4m3fn)
stand_ins.module(
    "aiter.ops.triton._triton_kernels.flash_attn_triton_amd.utils",
    get_arch=lambda: SimpleNamespace(name="gfx950", is_rdna=False),
)
unified = stand_ins.load(_tree, _module)

SUPPORTS: dict[str, Any] = {
    "types": ["f16", "bf16", "f16/e4m3fn", "bf16/e4m3fn", "e4m3fn:bf16", "e4m3fn:f16"],
    "head_dims": {"least": 32, "most": 256, "multiple_of": 8},
    "page_sizes": [16, 32, 64, 128],
    "group_sizes": [1, 2, 4, 8, 16],  # of others, rows of the next block are stored twice
    "most_heads_q": 16,
    "most_keys": 400,
    "most_sequences": 4,
    "most_total_rows": 48,
    "most_splits": 2,
    "no_split_count": 0,  # more than one: the 3D kernel, where there is no window
    "no_partials": 1,
    "no_lse": 1,
    "no_noncausal": 1,
    "no_page_list": 1,
    "no_prefix_offset": 1,
    "no_bias_f32": 1,
    "no_bias_f16": 1,
    "no_bias_bf16": 1,
    "no_page_descales": 1,
    "no_unequal_head_dims": 1,
    "no_q_transposed": 1,
    "no_padding_rows": 1,  # the caller passes the rows that there are
    "no_rows_without_keys": 1,  # vLLM counts the rows of a call among the keys
    "no_empty_batch": 1,
    "no_sequences_without_rows": 1,  # with one row at most, sequence s has row s, whatever cu_seqlens_q says
    "no_extreme_scale": 1,
    "no_nonpositive_scale": 1,
    "no_live_infinity": 1,  # where all logits are -inf, O is 0 / 0
    "no_dead_nan": 1,  # P = 0 of a slot without a key is multiplied by what the slot holds,
    "no_live_nan": 1,  # which may be another sequence's key
}
SOUND = {**SUPPORTS, "types": ["f16", "bf16", "f16/e4m3fn", "bf16/e4m3fn"], "no_soft_cap": 1}  # without known defects
ANY_MEMORY = {**SUPPORTS, "no_dead_nan": 0, "no_live_nan": 0}
ANY_GROUP = {**SUPPORTS, "group_sizes": {}}
ANY_ROWS = {**SUPPORTS, "no_sequences_without_rows": 0}
DECODING = {**ANY_GROUP, "most_rows": 1}


def declares(p: dict[str, Any]) -> dict[str, Any]:
    """Tiles of 16 to 64 keys in any order, P in the type of Q."""
    return {"recipe": "in_any_order", "tile_keys": 16, "p_type": p["q_type"], "sum_roundings": 72}


def attend(spare: int = 4, **n: Any) -> None:
    """Calls aiter's launcher as vLLM does. It takes 3D where there are few programs and more than 512 keys may be."""
    is_3d = n["num_splits"] > 1
    _units.count = 304 if is_3d else 0
    if n["cu_seqlens_q"] is None:
        starts = [s * n["max_q"] for s in range(n["num_seqs"] + 1)]
        cu_seqlens_q = gpu.empty(len(starts), dtype=gpu.int32).copy_(starts)
    else:
        cu_seqlens_q = n["cu_seqlens_q"]
    is_fp8 = n["k_type"] == "e4m3fn"
    q_is_fp8 = n["q_type"] == "e4m3fn"
    unified.unified_attention(
        q=n["q"],
        k=n["k"],
        v=n["v"],
        out=n["o"],
        cu_seqlens_q=cu_seqlens_q,
        max_seqlen_q=n["max_q"],
        seqused_k=n["seqlens_k"],
        max_seqlen_k=max(n["max_k"], 513) if is_3d else n["max_k"],
        softmax_scale=n["scale"],
        causal=True,
        window_size=(n["window"] - 1, 0 if n["window"] else -1),
        block_table=stand_ins.spare_columns(n["block_table"], spare) if spare else n["block_table"],
        softcap=n["soft_cap"],
        q_descale=gpu.full((1,), n["q_scale"]) if q_is_fp8 else None,
        k_descale=gpu.full((1,), n["k_scale"]) if is_fp8 else None,
        v_descale=gpu.full((1,), n["v_scale"]) if is_fp8 else None,
        sinks=n["sinks"],
    )


kernel = assay.Kernel(attend, supports=SUPPORTS, declares=declares, arrays="triton")
any_memory = assay.Kernel(attend, supports=ANY_MEMORY, declares=declares, arrays="triton")
bare_table = assay.Kernel(functools.partial(attend, spare=0), supports=SUPPORTS, declares=declares, arrays="triton")
any_group = assay.Kernel(attend, supports=ANY_GROUP, declares=declares, arrays="triton")
decoding = assay.Kernel(attend, supports=DECODING, declares=declares, arrays="triton")
any_rows = assay.Kernel(attend, supports=ANY_ROWS, declares=declares, arrays="triton")
sound = assay.Kernel(attend, supports=SOUND, declares=declares, arrays="triton")
