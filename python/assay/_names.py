"""The names that a kernel's parameters may have."""

from __future__ import annotations

from assay import _assay

_paging = ["seqlens_k", "block_table", "page_indptr", "page_indices"]
_attention = ["q", "k", "v", "k_descale", "v_descale", "cu_seqlens_q", *_paging, "prefix_offset", "bias", "sinks"]
_of_attention = (_attention, ["o", "lse", "o_partial", "lse_partial"])
_of_logits = (["q", "weights", "k", "k_row_scale", *_paging], ["logits"])
_of_append = (
    ["k_new", "v_new", "slots", "positions", "rope_cos", "rope_sin"],
    ["k", "v", "k_descale", "v_descale"],
)
_tensors: dict[str, tuple[list[str], list[str]]] = {
    "split_kv": _of_attention,
    "batch_prefill": _of_attention,
    "mqa_logits": _of_logits,
    "append_kv": _of_append,
}


def inputs_of(operation: str) -> list[str]:
    """Tensors that a kernel only reads, those included that not every problem has."""
    return _tensors[operation][0]


def outputs_of(operation: str) -> list[str]:
    """Tensors that a kernel writes."""
    return _tensors[operation][1]


def parameters_of(operation: str) -> list[str]:
    """All names that a kernel's parameters may have."""
    return [*inputs_of(operation), *outputs_of(operation), *_assay.problem_fields]
