"""torch's scaled_dot_product_attention on the CPU as a kernel over pages: judges one of its backends.

Exits with 0 if the backend is verified, with 1 if not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import assay
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.set_num_threads(1)  # workers are forks, which threads of OpenMP do not survive
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION, "flash_lse": SDPBackend.FLASH_ATTENTION}
Sequence = tuple[slice, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]


def sequences(n: dict[str, Any]) -> Iterator[Sequence]:
    """Of each sequence that has query rows: its rows; K and V, [keys, heads_kv, dim], of the keys that one of its rows
    sees ("as_is": of all keys); what the rows see, bool [rows, keys]; its bias, [heads, rows, keys].
    """
    ends = n["cu_seqlens_q"].tolist() if n["cu_seqlens_q"] is not None else None
    for s, keys in enumerate(n["seqlens_k"].tolist()):
        rows = slice(ends[s], ends[s + 1]) if ends else slice(s * n["max_q"], (s + 1) * n["max_q"])
        count = rows.stop - rows.start
        if count == 0:
            continue
        before = int(n["prefix_offset"][s]) if n["prefix_offset"] is not None else keys - count
        row, key = torch.arange(count)[:, None] + before, torch.arange(keys)
        visible = torch.ones(count, keys, dtype=torch.bool)
        if n["causal"]:
            visible &= key <= row
        if n["window"]:
            visible &= key > row - n["window"]
        seen = key if n.get("as_is") else visible.any(0).nonzero()[:, 0]
        first = int(n["page_indptr"][s]) if n["page_indptr"] is not None else 0
        pages = n["block_table"][s] if n["block_table"] is not None else n["page_indices"][first:]
        at = pages[seen // n["page_size"]].long(), seen % n["page_size"]
        bias = n["bias"][:, rows, seen] if n["bias"] is not None else None
        yield rows, n["k"][at], n["v"][at], visible[:, seen], bias


def attend(backend: str, n: dict[str, Any]) -> None:
    """All sequences of a problem; ``n`` has the kernel's arguments by name. o, and of "flash_lse" lse, is written."""
    scale = n["scale"] * n["q_scale"] * n["k_scale"]
    for rows, k, v, visible, bias in sequences(n):
        sees = visible.any(1)
        if not (sees.any() or n.get("as_is")):  # README.md says what torch does there
            n["o"][rows] = 0
            if backend == "flash_lse":
                n["lse"][rows] = -torch.inf
            continue
        q, k, v = (t.transpose(0, 1)[None] for t in (n["q"][rows], k, v))  # [1, heads, rows or keys, dim]
        mask = None if visible.all() else visible
        if bias is not None or (backend == "flash_lse" and mask is not None):
            added = torch.zeros(1, 1, 1, 1, dtype=q.dtype) if bias is None else bias[None]
            mask = added.masked_fill(~visible, -torch.inf)
        if backend == "flash_lse":  # the public function calls this operator and drops the second result
            k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
            flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
            o, lse = flash(q, k, v, attn_mask=mask, scale=scale)
            n["lse"][rows] = lse[0].T if n.get("as_is") else lse[0].T.masked_fill(~sees[:, None], -torch.inf)
        else:
            with sdpa_kernel(BACKENDS[backend]):
                o = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True)
        o = o if n.get("as_is") else o.masked_fill(~sees[:, None], 0.0)  # else -0 where V is negative
        n["o"][rows] = o[0].transpose(0, 1)


def declares(backend: str, type_: str) -> dict[str, Any]:
    """The contract: float32 in any order. The math backend converts to it; the flash kernel rounds P to the type."""
    if backend == "math":  # one maximum and one sum per row, P divided by it; lanes of 8 or 16 sum
        return {"recipe": "in_any_order", "tile_keys": 2048, "sum_roundings": 160, "normalises_p": 1}
    stated: dict[str, Any] = {"recipe": "in_any_order", "tile_keys": 512, "sum_roundings": 64, "p_type": type_}
    # exp of f16 and bf16 by a polynomial of degree 3, off by up to 1.12e-4; keys behind the last 16 by libm's.
    return stated if type_ == "f32" else {**stated, "exp2_relative_error": 1.2e-4}


def supports(backend: str, type_: str, bias: bool = False) -> dict[str, Any]:
    """What the adapter takes: all that torch can state. README.md says why NaN and infinities are left out."""
    taken: dict[str, Any] = {"types": [type_], "no_soft_cap": 1, "no_sinks": 1, "no_v_scale": 1, "no_page_descales": 1}
    taken |= {f"no_bias_{t}": int(not bias or t != type_) for t in ("f32", "f16", "bf16")}
    taken |= {"no_live_nan": 1, "no_live_infinity": 1, "no_lse": int(backend != "flash_lse")}
    taken |= {"most_pool_bytes": 1 << 26, "most_keys": 2048, "most_total_rows": 512}
    if backend != "math":
        taken |= {"no_unequal_head_dims": 1, "no_q_transposed": 1}  # it wants a stride of 1 along dim
    return taken


def main() -> int:
    """Runs, and prints the result, torch's version and the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backend", choices=BACKENDS)
    parser.add_argument("type", choices=["f32", "f16", "bf16"])
    for number, default in (("--cases", 300), ("--seed", None), ("--jobs", None)):
        parser.add_argument(number, type=int, default=default)
    parser.add_argument("--bias", action="store_true", help="with a bias as the mask")
    parser.add_argument("--as-is", action="store_true", help="torch gets dead keys, and rows that see none")
    parser.add_argument("--of-types", action="store_true", help="judge by the types alone, not by the contract")
    a = parser.parse_args()

    def sdpa(**n: Any) -> None:
        attend(a.backend, {**n, "as_is": a.as_is})

    stated = None if a.of_types else declares(a.backend, a.type)
    kernel = assay.Kernel(sdpa, supports=supports(a.backend, a.type, a.bias), declares=stated, arrays="torch")
    begin = time.perf_counter()
    result = kernel.verify(cases=a.cases, seed=a.seed, jobs=a.jobs)
    print(result)
    print(f"torch {torch.__version__}, {a.backend}, {a.type}: {result.verdict}, {time.perf_counter() - begin:.0f} s")
    return 0 if result else 1


if __name__ == "__main__":
    raise SystemExit(main())
