"""Attention over a paged KV cache in NumPy, as one writes it to check a faster one; and the same with planted bugs."""

from __future__ import annotations

import functools
import os
import time
from typing import Any

import numpy as np

SUPPORTS = {
    "types": ["f16"],
    "no_window": 1,
    "no_soft_cap": 1,
    "no_sinks": 1,
    "no_prefix_offset": 1,
    "no_bias_f32": 1,
    "no_bias_f16": 1,
    "no_bias_bf16": 1,
    "no_page_list": 1,
    "no_batch": 1,
    "no_live_nan": 1,
    "no_live_infinity": 1,
    "most_keys": 512,
    "most_sequences": 64,
    "most_total_rows": 512,
}
PREFILL = {**SUPPORTS, "types": ["e4m3fn:f16"]}


@functools.cache
def e4m3fn() -> Any:
    """The values of the 256 codes, f32."""
    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, code & 7
    value = np.where(exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0 ** (exponent - 7))
    value[code & 127 == 127] = np.nan
    return np.where(code > 127, -value, value).astype(np.float32)


def numbers(pool: Any) -> Any:
    """Keys or values as f32: f16, or codes of e4m3fn."""
    return pool.astype(np.float32) if pool.dtype == np.float16 else e4m3fn()[pool.view(np.uint8)]


def gather(pool: Any, descale: Any, pages: Any, keys: int, scale_of: Any = lambda pages: pages) -> Any:
    """The rows of a sequence's keys, [keys, heads, dim], from its pages."""
    page_size, j = pool.shape[1], np.arange(keys)
    pages = pages[: -(-keys // page_size)]
    rows = numbers(pool[pages[j // page_size], j % page_size])
    return rows if descale is None else rows * descale[scale_of(pages)[j // page_size]][..., None]


def attend(q: Any, k: Any, v: Any, scale: Any, v_scale: Any, causal: bool) -> tuple[Any, Any]:
    """O and LSE of the rows of one sequence: q [rows, heads, dim], k and v [keys, heads, dim], f32."""
    rows, keys, group = len(q), len(k), q.shape[1] // k.shape[1]
    q, k, v = (np.ascontiguousarray(t.transpose(1, 0, 2)) for t in (q, k, v))  # [heads, rows or keys, dim]
    k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
    with np.errstate(all="ignore"):
        x = q @ k.transpose(0, 2, 1) * scale
        if causal:
            x = np.where(np.arange(keys) <= np.arange(rows)[:, None] + keys - rows, x, np.float32(-np.inf))
        m = x.max(axis=-1, keepdims=True, initial=-np.inf)
        p = np.exp(x - np.where(np.isneginf(m), np.float32(0), m))
        z = p.sum(axis=-1, keepdims=True)
        o = np.where(z > 0, p @ v / z * v_scale, np.float32(0))
        lse = np.where(z > 0, m + np.log(z), np.float32(-np.inf))
    return o.transpose(1, 0, 2), lse[..., 0].T


def run(n: dict[str, Any], gather_k: Any = gather, gather_v: Any = gather, attend: Any = attend) -> None:
    """All sequences of a problem; ``n`` has the kernel's arguments by name."""
    scale = np.float32(n["scale"] * n["q_scale"] * n["k_scale"])
    for s, keys in enumerate(n["seqlens_k"]):
        rows = slice(n["cu_seqlens_q"][s], n["cu_seqlens_q"][s + 1])
        k = gather_k(n["k"], n["k_descale"], n["block_table"][s], keys)
        v = gather_v(n["v"], n["v_descale"], n["block_table"][s], keys)
        n["o"][rows], n["lse"][rows] = attend(numbers(n["q"][rows]), k, v, scale, np.float32(n["v_scale"]), n["causal"])


def split_kv(**n: Any) -> None:
    """A right kernel."""
    run(n)


def wrong_page(**n: Any) -> None:
    """Reads the last page of a sequence where its second one should be."""

    def gather_k(pool: Any, descale: Any, pages: Any, keys: int) -> Any:
        pages = pages.copy()
        count = -(-keys // pool.shape[1])
        pages[1:2] = pages[max(0, count - 1)] if count > 1 else pages[1:2]
        return gather(pool, descale, pages, keys)

    run(n, gather_k=gather_k)


def stale_scale(**n: Any) -> None:
    """Multiplies V by the descale of the page before: of batch_prefill, whose pages have descales."""
    run(n, gather_v=functools.partial(gather, scale_of=lambda pages: np.roll(pages, 1)))


def missing_mask(**n: Any) -> None:
    """Forgets the causal mask."""
    run(n, attend=lambda q, k, v, scale, v_scale, causal: attend(q, k, v, scale, v_scale, False))


def aborts(**n: Any) -> None:
    """Ends its process where a sequence has more than 100 keys."""
    if n["max_k"] > 100:
        os.abort()
    run(n)


def hangs(**n: Any) -> None:
    """Never ends where a sequence has more than 100 keys."""
    while n["max_k"] > 100:
        time.sleep(0.01)
    run(n)


def raises(**n: Any) -> None:
    """Divides by zero where a sequence has more than 100 keys."""
    1 // int(n["max_k"] <= 100)
    run(n)


def gives_nan(**n: Any) -> None:
    """Puts a NaN into the first element of O."""
    run(n)
    if n["o"].size and n["max_k"] > 0 and n["cu_seqlens_q"][-1] > 0:
        n["o"][0, 0, 0] = np.nan


def returned(**n: Any) -> dict[str, Any]:
    """A right kernel that returns its outputs."""
    o, lse = np.zeros(n["o"].shape, np.float16), np.zeros(n["lse"].shape, np.float32)
    run({**n, "o": o, "lse": lse})
    return {"o": o, "lse": lse}


def wrong_dtype(**n: Any) -> dict[str, Any]:
    """Returns O in f32."""
    outputs = returned(**n)
    return {**outputs, "o": outputs["o"].astype(np.float32)}


def wrong_shape(**n: Any) -> dict[str, Any]:
    """Returns LSE as [heads, rows]."""
    outputs = returned(**n)
    return {**outputs, "lse": outputs["lse"].T[None]}


def writes_input(**n: Any) -> None:
    """Scales q in place."""
    n["q"] *= np.float16(2)
    run(n)
