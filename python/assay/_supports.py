"""What a kernel takes, as a dict by the fields of kernels/support.h."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay import _assay
from assay._errors import unknown

_sizes = ("head_dims", "head_dims_v", "page_sizes", "group_sizes")
_size_keys = ("values", "least", "most", "multiple_of")
# Of a function: nothing checks what it is called with, it has one split and no budget; and array libraries choose the
# order of a sum by strides and alignment, so that relations want each run in its enclosure, not the same bits.
_of_functions = {"no_refusals": 1, "no_split_count": 1, "no_partials": 1, "no_workspace_budget": 1, "no_same_bits": 1}
# What a function cannot take if none of its parameters is the tensor or number.
_taken_by = {
    "bias": ("no_bias_f32", "no_bias_f16", "no_bias_bf16"),
    "block_table": ("no_block_table",),
    "causal": ("no_causal",),
    "cu_seqlens_q": ("no_group",),
    "k_descale": ("no_page_descales",),
    "k_scale": ("no_k_scale",),
    "page_indices": ("no_page_list",),
    "prefix_offset": ("no_prefix_offset",),
    "q_scale": ("no_q_scale",),
    "scale": ("no_other_scale",),
    "sinks": ("no_sinks",),
    "soft_cap": ("no_soft_cap",),
    "v_scale": ("no_v_scale",),
    "window": ("no_window",),
}


# A pool above that is sparse: only the pages in use have memory.
_dense_bytes = 1 << 26


def to_json(
    supports: Mapping[str, Any] | None,
    operation: str,
    named: frozenset[str],
    takes_all: bool,
    copies: bool = False,
) -> str:
    """The fields as JSON, as the module takes it. ``named``: the kernel's parameters; ``takes_all``: others, too.

    ``copies``: its arrays may be copies, so that no pool may be sparse.

    Unless it is said otherwise, a function refuses no problem, may sum in another order when called again, has no
    splits if it does not name ``o_partial``, and takes no bias, window, ... that it does not name.
    Raises ValueError which names a wrong field or value.
    """
    fields: dict[str, Any] = dict(_of_functions)
    if "o_partial" in named:
        fields |= {"no_split_count": 0, "no_partials": 0}
    if copies:
        fields["most_pool_bytes"] = _dense_bytes
    if not takes_all and operation in ("split_kv", "batch_prefill"):
        fields |= {lacks: 1 for name, all_of_it in _taken_by.items() if name not in named for lacks in all_of_it}
    for name, value in (supports or {}).items():
        if name not in _assay.support_fields:
            raise unknown("supports", name, _assay.support_fields)
        if name == "types":
            fields[name] = [_types(t) for t in ([value] if isinstance(value, str) else value)]
        elif name in _sizes:
            fields[name] = _size(name, value)
        else:
            fields[name] = _number(name, value)
    return json.dumps(fields)


def _types(stated: Any) -> list[int]:
    """Types of Q, of K and V if they differ, of O if Q does not say it: "f16", "f16/e4m3fn", "e4m3fn:bf16"."""
    if isinstance(stated, str):
        before, _, o = stated.partition(":")
        q, _, kv = before.partition("/")
        stated = (q, kv or q, o or q)
    if not isinstance(stated, Sequence) or len(stated) != 3:
        raise ValueError(f"supports: types: {stated!r} is not Q, Q/K, Q:O or Q/K:O, nor three types")
    for name in stated:
        if name not in _assay.types or name == "none":
            raise unknown("supports: types", name, set(_assay.types) - {"none"})
    return [_assay.types[name] for name in stated]


def _number(name: str, value: Any) -> int:
    if isinstance(value, bool | int):
        return int(value)
    raise ValueError(f"supports: {name}: {value!r} is not a whole number")


def _size(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"values": [value]}
    if isinstance(value, range) and len(value) > 0:
        return {"least": value.start, "most": value[-1], "multiple_of": value.step}
    if isinstance(value, Mapping):
        for key in value:
            if key not in _size_keys:
                raise unknown(f"supports: {name}", key, _size_keys)
        return {k: list(v) if k == "values" else _number(f"{name}: {k}", v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str) and 0 < len(value) <= 16:
        return {"values": [_number(name, v) for v in value]}
    raise ValueError(f"supports: {name}: {value!r} is not a size, a list of at most 16, a range, or a dict")
