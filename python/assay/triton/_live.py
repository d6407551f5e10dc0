"""Which elements of a problem's outputs nobody may write (kernels/problem.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Dead = tuple[NDArray[np.bool_], str]


def dead_elements(problem: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Dead]:
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
