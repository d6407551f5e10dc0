"""Which elements of a problem's tensors are dead (kernels/problem.hpp): neither written nor used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Dead = tuple[NDArray[np.bool_], str]


_most_elements = 1 << 25  # of larger tensors, dead elements are not marked


def dead_outputs(problem: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Dead]:
    """By output: the elements, of its shape, and what they are. ``arrays``: all tensors of the problem."""
    found: dict[str, Dead] = {}
    if "cu_seqlens_q" in arrays:
        rows = int(arrays["cu_seqlens_q"][-1])
        for name, axis in (("o", 0), ("lse", 0), ("o_partial", 1), ("lse_partial", 1)):
            if name in arrays and arrays[name].shape[axis] > rows:
                dead = np.zeros(arrays[name].shape, np.bool_)
                dead[(slice(None),) * axis + (slice(rows, None),)] = True
                found[name] = dead, "a padding row"
    if "logits" in arrays and not problem.get("fills_hidden"):
        keys, rows = arrays["seqlens_k"].astype(np.int64), int(problem["max_q"])
        last = (keys[:, None] - rows + np.arange(rows)).reshape(-1)  # of each query row: its last visible key
        columns = np.arange(arrays["logits"].shape[1])
        found["logits"] = columns > last[: arrays["logits"].shape[0], None], "a hidden key"
    return found


def dead_inputs(problem: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Dead]:
    """By input, as above: a kernel may load them if it does not use what it loaded. Of attention and logits."""
    if "seqlens_k" not in arrays:
        return {}
    found: dict[str, Dead] = {}
    keys, size = arrays["seqlens_k"].astype(np.int64), int(problem["page_size"])
    counts = -(-keys // size)
    live = np.zeros((int(problem["num_pages"]), size), np.bool_)
    if live.size > _most_elements:
        return {}
    for s, count in enumerate(counts.tolist()):
        for page, first in zip(_pages_of(s, count, arrays), range(0, int(keys[s]), size), strict=False):
            live[page, : int(keys[s]) - first] = True
    for name in ("k", "v", "k_row_scale"):
        if name in arrays and arrays[name].size <= _most_elements:
            of_slots = ~live.reshape(live.shape + (1,) * (arrays[name].ndim - 2))
            found[name] = np.broadcast_to(of_slots, arrays[name].shape), "a slot that no sequence owns"
    if "block_table" in arrays and len(keys):
        table = arrays["block_table"]
        found["block_table"] = np.arange(table.shape[1]) >= counts[:, None], "an entry behind the sequence's last page"
    if "cu_seqlens_q" in arrays and "q" in arrays:
        rows = np.arange(arrays["q"].shape[0]) >= arrays["cu_seqlens_q"][-1]
        found["q"] = np.broadcast_to(rows[:, None, None], arrays["q"].shape), "a padding row"
    return found


def _pages_of(s: int, count: int, arrays: Mapping[str, NDArray[Any]]) -> list[int]:
    if "block_table" in arrays:
        return [int(page) for page in arrays["block_table"][s, :count]]
    first = int(arrays["page_indptr"][s])
    return [int(page) for page in arrays["page_indices"][first : first + count]]
