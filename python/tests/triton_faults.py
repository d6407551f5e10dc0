"""The example kernels of Triton with one line changed: what each change breaks, and on which case."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "triton"
DECODE, LOGITS = "paged_decode", "mqa_logits"

# Two sequences, of which one ends with its page; tables with entries behind; gaps between rows.
DECODE_CASE: dict[str, Any] = {
    "pool_pages": 6,
    "heads_q": 4,
    "heads_kv": 2,
    "spare_table_entries": 3,
    "sequences": [{"q": 1, "k": 16, "pages": [4]}, {"q": 1, "k": 19, "pages": [0, 5]}],
}
LOGITS_CASE: dict[str, Any] = {
    "kernel": "mqa_logits",
    "batching": "batch",
    "q_type": "e4m3fn",
    "kv_type": "e4m3fn",
    "o_type": "f32",
    "heads_q": 5,
    "heads_kv": 1,
    "page_size": 16,
    "pool_pages": 6,
    "max_model_len": 100,
    "sequences": [{"q": 2, "k": 32, "pages": [4, 2]}, {"q": 2, "k": 19, "pages": [0, 5]}],
}


FILLED_CASE = {**LOGITS_CASE, "fills_hidden": True}


@dataclass(frozen=True)
class Planted:
    """A change of an example: ``old`` becomes ``new``; ``kind`` and ``tensor`` of the fault at the line with ``at``."""

    name: str
    module: str
    old: str
    new: str
    kind: str
    tensor: str
    at: str = ""


PLANTED = [
    Planted("missing store mask", DECODE, "o, mask=is_head[:, None])", "o)", "race", "part"),
    Planted("missing store mask past the end", DECODE, "tl.log2(total), mask=is_head)", "tl.log2(total))",
            "out of bounds", "part_lse"),
    Planted("missing load mask", DECODE, "tl.load(q_at, mask=is_head[:, None], other=0.0)", "tl.load(q_at)",
            "out of bounds", "q"),
    Planted("key mask with <=", DECODE, "seen = key < keys", "seen = key <= keys", "out of bounds", "k",
            "x = _scores(q, tl.load(k_at"),
    Planted("two programs, one row", DECODE, "o_ptr + row * o_row + head", "o_ptr + row * 0 + head", "race", "o"),
    Planted("unwritten partials", DECODE, "    h, d = tl.arange(0, BLOCK_H), tl.arange(0, DIM)\n    is_head = h < G",
            "    if split * tiles * BLOCK_K >= keys:\n        return\n"
            "    h, d = tl.arange(0, BLOCK_H), tl.arange(0, DIM)\n    is_head = h < G", "unwritten read", "part_lse",
            "lse = tl.load(part_lse_ptr"),
    Planted("stale page id", DECODE, "table_row + key // PAGE, mask=seen", "table_row + (key + 32) // PAGE, mask=seen",
            "out of bounds", "k", "x = _scores(q, tl.load(k_at"),
    Planted("store to an input", DECODE, "    tiles = tl.cdiv(",
            "    tl.store(seqlens_ptr + seq, keys)\n    tiles = tl.cdiv(", "input store", "seqlens_k",
            "tl.store(seqlens_ptr"),
    Planted("missing column mask", LOGITS, "tl.store(logits_at, tl.full([BLOCK_K], -float(\"inf\"), tl.float32), "
            "mask=key < columns)", "tl.store(logits_at, tl.full([BLOCK_K], -float(\"inf\"), tl.float32))",
            "out of bounds", "logits"),
    Planted("store to hidden keys", LOGITS, "logits, mask=seen & (key < columns))", "logits, mask=key < columns)",
            "dead store", "logits"),
    Planted("descale of the next slot", LOGITS, "slot * scale_slot, mask=seen", "(slot + 16) * scale_slot, mask=seen",
            "out of bounds", "k_row_scale"),
]  # fmt: skip


def load(module: str, folder: Path, old: str = "", new: str = "", name: str = "changed") -> tuple[Any, str]:
    """An example as a module of its own, with a change, and its text. AssertionError if it changes nothing."""
    text = (EXAMPLES / f"{module}.py").read_text(encoding="utf-8")
    changed = text.replace(old, new, 1) if old else text
    assert not old or changed != text, f"{old!r} is not in {module}.py"
    return module_of(changed, folder / f"{name}_{module}.py"), changed


def module_of(text: str, file: Path) -> Any:
    """A module of that text, in that file."""
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = made
    spec.loader.exec_module(made)
    return made
