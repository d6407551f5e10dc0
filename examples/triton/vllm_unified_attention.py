"""vLLM's unified attention in Triton, unchanged: 2D, and 3D over segments with reduce_segments.

ASSAY_VLLM_TRITON_DIR names a checkout of vLLM, or its source distribution, unpacked.
"""

from __future__ import annotations

import enum
import functools
import inspect
import logging
from types import SimpleNamespace
from typing import Any

import stand_ins
import triton
import triton.language

import assay
import assay.triton as gpu

stand_ins.torch()
_places = ("vllm.v1.attention.ops.triton_unified_attention", "vllm.attention.ops.triton_unified_attention")  # now, 0.11
_tree, _module = stand_ins.tree_with("ASSAY_VLLM_TRITON_DIR", _places)
_Mode = enum.IntEnum(
    "_Mode",
    {"NONE": 0, "FP8_PER_TENSOR": 1, "INT8_PER_TOKEN_HEAD": 2, "FP8_PER_TOKEN_HEAD": 3, "INT4_PER_TOKEN_HEAD": 4},
)
_platform = SimpleNamespace(fp8_dtype=lambda: gpu.float8_e4m3fn, is_device_capability_family=lambda family: False)
stand_ins.module("vllm", __path__=[str(_tree / "vllm")])
stand_ins.module("vllm.envs", VLLM_BATCH_INVARIANT=False)
stand_ins.module("vllm.logger", init_logger=logging.getLogger)
stand_ins.module("vllm.platforms", current_platform=_platform)
stand_ins.module("vllm.triton_utils", tl=triton.language, triton=triton)
stand_ins.module("vllm.v1", __path__=[str(_tree / "vllm/v1")])
stand_ins.module("vllm.v1.kv_cache_interface", KVQuantMode=_Mode)
unified = stand_ins.load(_tree, _module)
_takes = inspect.signature(unified.unified_attention).parameters

SUPPORTS: dict[str, Any] = {
    "types": ["f16", "bf16", "f32", "f16/e4m3fn", "bf16/e4m3fn"]
    + (["e4m3fn:bf16", "e4m3fn:f16"] if "kv_quant_mode" in _takes else []),
    "head_dims": {"least": 32, "most": 256, "multiple_of": 8},
    "page_sizes": {"least": 16, "most": 256, "multiple_of": 16},
    "group_sizes": [1, 2, 4, 8, 16],  # of others, rows of the next block are stored twice
    "most_heads_q": 16,
    "most_keys": 400,
    "most_sequences": 4,
    "most_total_rows": 48,
    "most_splits": 16,
    "no_split_count": 0,  # more than one: the 3D kernel
    "no_partials": 1,
    "no_lse": 1,
    "no_page_list": 1,
    "no_prefix_offset": 1,
    "no_bias_f32": 1,
    "no_bias_f16": 1,
    "no_bias_bf16": 1,
    "no_page_descales": 1,
    "no_unequal_head_dims": 1,
    "no_q_transposed": 1,
    "no_rows_without_keys": 1,  # vLLM counts the rows of a call among the keys
    "no_empty_batch": 1,
    "no_extreme_scale": 1,  # K and V times their descales are rounded to the type of Q
    "no_nonpositive_scale": 1,
    "no_live_infinity": 1,  # where all logits are -inf, O is 0 / 0
    "no_noncausal": 1,  # where it is not causal, its window has two sides
}
ANY_GROUP = {**SUPPORTS, "group_sizes": {}}
DECODING = {**ANY_GROUP, "most_rows": 1}
BOTH_WAYS = {**SUPPORTS, "no_noncausal": 0, "no_window": 1}


def declares(p: dict[str, Any]) -> dict[str, Any]:
    """Tiles of 16 or 32 keys in any order, P in the type of Q, FP8 caches scaled and rounded to it."""
    is_cast = p["k_type"] != p["q_type"]
    is_fp8 = p["q_type"] == "e4m3fn"
    return {
        "recipe": "in_any_order",
        "tile_keys": 16,
        "p_type": p["q_type"],
        "p_shift": 8 if is_fp8 else 0,
        "cache_type": p["q_type"] if is_cast else "f32",
        "sum_roundings": 32,
    }


def attend(spare: int = 4, **n: Any) -> None:
    """Calls vLLM's launcher as its backend does."""
    rows = n["total_q"]
    if n["cu_seqlens_q"] is None:
        cu_seqlens_q = gpu.empty(n["num_seqs"] + 1, dtype=gpu.int32).copy_(
            [s * n["max_q"] for s in range(n["num_seqs"] + 1)]
        )
    else:
        cu_seqlens_q = n["cu_seqlens_q"]
    segments = {}
    if n["num_splits"] > 1:
        count = triton.next_power_of_2(n["num_splits"])
        shape = (rows, n["heads_q"], count)
        segments = {
            "seq_threshold_3D": 1 << 20,
            "num_par_softmax_segments": count,
            "softmax_segm_output": gpu.empty((*shape, triton.next_power_of_2(n["head_dim_qk"])), dtype=gpu.float32),
            "softmax_segm_max": gpu.empty(shape, dtype=gpu.float32),
            "softmax_segm_expsum": gpu.empty(shape, dtype=gpu.float32),
        }
    q_is_fp8 = n["q_type"] == "e4m3fn"
    arguments = {
        "q": n["q"],
        "k": n["k"],
        "v": n["v"],
        "out": n["o"],
        "cu_seqlens_q": cu_seqlens_q,
        "max_seqlen_q": n["max_q"],
        "seqused_k": n["seqlens_k"],
        "max_seqlen_k": n["max_k"],
        "softmax_scale": n["scale"],
        "causal": bool(n["causal"]),
        "window_size": (n["window"] - 1, 0 if n["window"] else -1),
        "block_table": stand_ins.spare_columns(n["block_table"], spare) if spare else n["block_table"],
        "softcap": n["soft_cap"],
        "q_descale": gpu.full((1,), n["q_scale"], dtype=gpu.float32) if q_is_fp8 else None,
        "k_descale": gpu.full((1,), n["k_scale"], dtype=gpu.float32),
        "v_descale": gpu.full((1,), n["v_scale"], dtype=gpu.float32),
        "sinks": n["sinks"],
        "kv_quant_mode": _Mode.FP8_PER_TENSOR if n["k_type"] == "e4m3fn" else _Mode.NONE,
        **segments,
    }
    unified.unified_attention(**{name: value for name, value in arguments.items() if name in _takes})


kernel = assay.Kernel(attend, supports=SUPPORTS, declares=declares, arrays="triton")
both_ways = assay.Kernel(attend, supports=BOTH_WAYS, declares=declares, arrays="triton")
bare_table = assay.Kernel(functools.partial(attend, spare=0), supports=SUPPORTS, declares=declares, arrays="triton")
any_group = assay.Kernel(attend, supports=ANY_GROUP, declares=declares, arrays="triton")
decoding = assay.Kernel(attend, supports=DECODING, declares=declares, arrays="triton")
