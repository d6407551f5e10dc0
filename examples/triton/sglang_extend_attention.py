"""SGLang's extend attention in Triton, unchanged: new rows attend to a cached prefix, then to their own keys.

ASSAY_SGLANG_TRITON_DIR names the folder that has the package sglang: `python` of a checkout, or an unpacked wheel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sglang_decode_attention as decode
import stand_ins

import assay
import assay.triton as gpu

extending = stand_ins.load(decode.tree, decode.module.replace("decode_", "extend_"))

SUPPORTS: dict[str, Any] = {
    **decode.SUPPORTS,
    "types": ["f16", "bf16"],  # the prefix alone is in a quantised cache
    "group_sizes": {"least": 1, "most": 32},
    "most_rows": 0,
    "most_heads_q": 16,
    "most_sequences": 4,
    "most_total_rows": 160,
    "no_split_count": 1,
    "no_sequences_without_rows": 0,
    "no_page_list": 1,
    "no_block_table": 0,
    "no_window": 0,
    "no_noncausal": 1,  # where it is not causal, its window has two sides
    "no_k_scale": 1,
    "no_v_scale": 1,
}
BOTH_WAYS = {**SUPPORTS, "no_noncausal": 0, "no_window": 1}
WITH_LSE = {**SUPPORTS, "no_lse": 0, "no_sinks": 1}  # of a sink that is 88 above all logits it is infinite


def declares(p: dict[str, Any]) -> dict[str, Any]:
    """Keys in any order, P in the type of V."""
    return {"recipe": "in_any_order", "tile_keys": 1, "p_type": p["v_type"], "normalise_roundings": 6}


def attend(**n: Any) -> None:
    """Calls SGLang's launcher as its backend does.

    The last keys of a sequence are those of its rows, in tensors of their own; kv_indices has the slots of the others.
    """
    sequences, keys = n["num_seqs"], n["seqlens_k"].tolist()
    if n["cu_seqlens_q"] is None:
        starts = [s * n["max_q"] for s in range(sequences + 1)]
    else:
        starts = n["cu_seqlens_q"].tolist()
    rows = starts[-1]
    table = n["block_table"].tolist()
    prefixes = [keys[s] - (starts[s + 1] - starts[s]) for s in range(sequences)]
    before = n["window"] - 1  # the keys that a row sees before its own; the backend cuts prefixes to as many
    first = [max(0, p - before) if n["window"] else 0 for p in prefixes]
    slots = [table[s][j] for s in range(sequences) for j in range(first[s], prefixes[s])]
    lengths = [p - f for p, f in zip(prefixes, first, strict=True)]
    mask = mask_starts = None
    if n["window"] == 1:  # 0 keys before means no window: such a mask is one of the caller's
        own = [np.eye(starts[s + 1] - starts[s], dtype=np.int8).reshape(-1) for s in range(sequences)]
        squares = [len(m) for m in own]
        mask = gpu.empty(sum(squares), dtype=gpu.int8).copy_(np.concatenate(own))
        mask_starts = gpu.empty(sequences + 1, dtype=gpu.int64).copy_([sum(squares[:s]) for s in range(sequences + 1)])
    k, v = n["k"][:, 0], n["v"][:, 0]
    k_new, v_new = (gpu.empty(rows, *pool.shape[1:], dtype=pool.dtype) for pool in (k, v))
    for s in range(sequences):
        for i in range(starts[s + 1] - starts[s]):
            page = table[s][prefixes[s] + i]
            k_new[starts[s] + i] = k[page]
            v_new[starts[s] + i] = v[page]
    extending.extend_attention_fwd(
        n["q"][:rows],
        k_new,
        v_new,
        n["o"][:rows],
        k,
        v,
        gpu.empty(sequences + 1, dtype=gpu.int32).copy_(starts),
        gpu.empty(sequences + 1, dtype=gpu.int32).copy_([sum(lengths[:s]) for s in range(sequences + 1)]),
        gpu.empty(len(slots), dtype=gpu.int64).copy_(slots),
        mask,
        bool(n["causal"]),
        mask_starts,
        n["max_q"],
        1.0,
        1.0,
        sm_scale=n["scale"],
        logit_cap=n["soft_cap"],
        sliding_window_size=before,
        sinks=n["sinks"],
        lse_extend=None if n["lse"] is None else n["lse"][:rows],
    )


kernel = assay.Kernel(attend, supports=SUPPORTS, declares=declares, arrays="triton")
both_ways = assay.Kernel(attend, supports=BOTH_WAYS, declares=declares, arrays="triton")
everything = assay.Kernel(attend, supports={**SUPPORTS, "no_lse": 0}, declares=declares, arrays="triton")
with_lse = assay.Kernel(attend, supports=WITH_LSE, declares=declares, arrays="triton")
