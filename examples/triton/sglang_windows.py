"""The windows that SGLang's Triton backend gives to decoded rows, by its own host code."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np


def of_backend(tree: Path, window: int, keys: list[int]) -> tuple[list[int], list[int]]:
    """Of each sequence, how many keys the backend's own host code gives to a decoded row, and from which on.

    Models give SGLang the keys of a window less the row's own.
    """
    file = tree / "sglang/srt/layers/attention/triton_backend.py"
    wanted = "update_sliding_window_buffer"
    found = [f for f in ast.parse(file.read_text(encoding="utf-8")).body if getattr(f, "name", "") == wanted]
    host = SimpleNamespace(
        minimum=np.minimum, tensor=np.array, cumsum=lambda a, dim: np.cumsum(a), int64=np.int64,
        empty=lambda n, dtype, device: np.empty(n, dtype),
    )  # fmt: skip
    names: dict[str, Any] = {"torch": host, "SWAKVPool": (), "BaseSWAKVPool": ()}
    exec(compile(ast.Module(found, []), str(file), "exec"), names)
    translator = SimpleNamespace(window_kv_kind=None, pack_read_stream=lambda plan, **named: True)
    _, _, lengths, first = names[wanted](
        np.zeros(len(keys) + 1, np.int64), translator, None, None, window - 1, np.array(keys), len(keys)
    )
    return lengths.tolist(), first.tolist()
