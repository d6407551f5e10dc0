"""aiter's paged MQA logits, Gluon and Triton kernels, unchanged, on Assay's cases: see README.md.

ASSAY_AITER_DIR=CHECKOUT python aiter_pa_mqa_logits.py [KERNEL ...] [--cases N] [--seed N] [--chunk N] [--gfx GPU]
"""

from __future__ import annotations

import argparse
import mmap
import sys
import time
from typing import Any

import aiter_modules
import numpy as np
from numpy.typing import NDArray
from torch_stand_in import Tensor

import assay
from assay import _assay
from assay.triton.gluon import collect
from assay.triton.gluon import types as element_types

Array = NDArray[Any]
_no_reserve = 0x4000  # MAP_NORESERVE of Linux, which Python 3.11 does not name
_dense_bytes = 1 << 26  # pools above that are sparse: the pages in use alone have memory

# What the callers in vLLM and SGLang pass: dense q, weights and block tables; rows of logits may lie apart. Rows are
# filled with -inf before the call, or the hidden columns are never read.
_shared: dict[str, Any] = {
    "types": ["e4m3fnuz:f32", "e4m3fn:f32"],
    "head_dims": 128,
    "group_sizes": [32, 64, 128],  # the layouts of q have at least 32 heads
    "most_keys": 4096,
    "most_columns": 4224,
    "most_sequences": 64,
    "most_total_rows": 96,
    "no_kept_columns": 1,
    "no_page_list": 1,
    "no_input_margins": 1,
    "no_q_heads_outermost": 1,
    "no_q_transposed": 1,
    "no_empty_batch": 1,
    "input_alignment": 16,
}
_fixed = {**_shared, "no_variable_contexts": 1}
_preshuffled = {**_shared, "no_plain_keys": 1, "page_sizes": [16, 32, 64, 128, 256, 512]}
_plain = {**_fixed, "no_preshuffled_keys": 1, "page_sizes": 1}
_pages = {**_plain, "page_sizes": [16, 64]}
_small = {"most_total_rows": 16, "most_keys": 1200, "most_columns": 1300}  # there are logits of each head
SUPPORTS: dict[str, dict[str, Any]] = {
    "preshuffle": {**_preshuffled, "no_variable_contexts": 1},
    "varctx": {**_preshuffled, "no_fixed_contexts": 1},
    "gluon": _plain,
    "gluon_pages": _pages,
    "triton": _plain,
    "triton_pages": _pages,
    "ragged_k": _plain,
    "stage1": {**_plain, **_small},
    "stage1_pages": {**_pages, **_small},
    "stage1_ragged_k": {**_plain, **_small},
}
# 128 products of a dot product in groups of 32 (CDNA3) or 128; sums over heads in trees that layouts decide.
DECLARES = {"recipe": "in_any_order", "sum_roundings": 16}


class Setting:
    """A kernel of a checkout, with what the caller chooses.

    kernel: a key of SUPPORTS. gfx: the GPU; else what the type of FP8 says. chunk, waves: ChunkK and WavePerEU.
    padded: rows of logits have room up to a multiple of the page size, as SGLang allocates them, and max_model_len is
        that number; else they end at max_model_len, as in vLLM.
    near: no pool has more than 1 GiB.
    """

    def __init__(
        self, kernel: str, chunk: int = 256, gfx: str = "", waves: int = 1, padded: bool = False, near: bool = False
    ) -> None:
        """As above."""
        self.kernel, self.chunk, self.gfx, self.waves, self.padded, self.near = kernel, chunk, gfx, waves, padded, near

    def run(self, p: dict[str, Any], t: dict[str, Array]) -> None:
        """Runs aiter's own wrapper on a problem's numbers and tensors; it writes logits."""
        gfx = self.gfx or ("gfx942" if p["q_type"] == "e4m3fnuz" else "gfx950")
        aiter = aiter_modules.load(aiter_modules.folder(), gfx, not self.kernel.startswith("triton"))
        t = {**t, "block_table": np.array(t["block_table"], order="C")}
        columns = p["max_model_len"]
        if columns == 0:  # nobody calls with that: then the schedule of varctx writes nothing
            return
        if self.padded:
            columns = -(-columns // p["page_size"]) * p["page_size"]
        logits = np.full((p["total_q"], columns), -np.inf, np.float32) if self.padded else t["logits"]
        logits[...] = -np.inf
        if self.kernel.startswith("stage1"):
            logits[...] = self._first_stage(aiter, p, t, columns).sum(axis=0)
        else:
            self._whole(aiter, p, t, logits)
        t["logits"][...] = logits[:, : p["max_model_len"]]

    def _inputs(self, p: dict[str, Any], t: dict[str, Array], out: Array) -> list[Tensor]:
        """The tensors of all of aiter's functions, in their order."""
        q = t["q"].reshape(-1, p["max_q"], p["heads_q"], p["head_dim_qk"])
        cache = packed_cache(t["k"], t["k_row_scale"], t["block_table"], t["seqlens_k"])
        lengths, table = t["seqlens_k"], t["block_table"]
        if self.kernel.endswith("ragged_k"):
            lengths, table = ragged(lengths, table)
            cache = cache.view(cache.shape[0], cache.shape[3])  # a token each, no pages
        return [
            Tensor(
                np.array(q, order="C"), element_types.of_assay[p["q_type"]]
            ),  # copies have the strides of dense ones
            cache,
            Tensor(np.array(t["weights"], order="C"), element_types.float32),
            Tensor(out, element_types.float32, is_output=True),
            Tensor(lengths, element_types.int32),
            Tensor(table, element_types.int32),
        ]

    def _first_stage(self, aiter: Any, p: dict[str, Any], t: dict[str, Array], columns: int) -> Array:
        """The logits of each head, [heads, rows, columns], as vLLM allocates, fills and adds them."""
        out = np.full((p["heads_q"], p["total_q"], columns), -np.inf, np.float32)
        given = self._inputs(p, t, out)
        if self.kernel == "stage1_ragged_k":
            aiter.deepgemm_fp8_paged_mqa_logits_stage1_ragged_k(*given, columns)
        else:
            sizes = {"ChunkQ": p["heads_q"], "ChunkK": self.chunk, "TotalCuCount": 1, "WavePerEU": self.waves}
            aiter.deepgemm_fp8_paged_mqa_logits_stage1(*given, columns, **sizes)
        return out

    def _whole(self, aiter: Any, p: dict[str, Any], t: dict[str, Array], logits: Array) -> None:
        given = self._inputs(p, t, logits)
        columns = logits.shape[1]
        if self.kernel == "ragged_k":
            aiter.deepgemm_fp8_paged_mqa_logits_ragged_k(*given, columns, ChunkK=64)
            return
        # The fewest workers that the wrapper takes: so splits are long, and loops run.
        workers = {"TotalCuCount": p["max_q"] * (p["num_seqs"] + 1), "WavePerEU": self.waves, "ChunkK": self.chunk}
        schedule = None
        if self.kernel == "varctx":
            schedule = aiter.deepgemm_fp8_paged_mqa_logits_schedule(
                p["num_seqs"], p["max_q"], given[4], columns, **workers
            )
        aiter.deepgemm_fp8_paged_mqa_logits(
            *given,
            columns,
            Preshuffle=self.kernel in ("preshuffle", "varctx"),
            KVBlockSize=p["page_size"],
            VarCtxSchedule=schedule,
            **workers,
        )

    def assay_kernel(self) -> assay.Kernel:
        """As Assay checks it."""

        def pa_mqa_logits(
            q: Array,
            k: Array,
            k_row_scale: Array,
            weights: Array,
            seqlens_k: Array,
            block_table: Array,
            logits: Array,
            **p: Any,
        ) -> None:
            names = ("q", "k", "k_row_scale", "weights", "seqlens_k", "block_table", "logits")
            self.run(p, dict(zip(names, (q, k, k_row_scale, weights, seqlens_k, block_table, logits), strict=True)))

        pa_mqa_logits.__qualname__ = f"aiter {self.kernel}"
        supports = SUPPORTS[self.kernel] | ({"most_pool_bytes": 2**30} if self.near else {})
        if self.gfx:
            supports |= {"types": ["e4m3fnuz:f32" if self.gfx == "gfx942" else "e4m3fn:f32"]}
        if self.gfx == "gfx1250" and self.kernel == "preshuffle":
            supports |= {"page_sizes": [16, 32, 64, 128]}  # the wrapper wants chunks of whole pages
        return assay.Kernel(pa_mqa_logits, "mqa_logits", supports=supports, declares=DECLARES)


def packed_cache(k: Array, scale: Array, table: Array, lengths: Array) -> Tensor:
    """Aiter's cache, [pages, page_size, 1, dim + 4] bytes: in each page all keys, then all scales as f32.

    Of a sparse pool only the pages in use are there; other pages read as 0.
    """
    pages, page_size, _, dim = k.shape
    width = page_size * (dim + 4)
    there_are = max(1, pages)  # a cache has pages, also where no sequence has keys
    memory = mmap.mmap(-1, there_are * width, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _no_reserve)
    cache = np.frombuffer(memory, np.uint8).reshape(there_are, width)
    used: Any = range(pages)
    if pages * page_size * dim > _dense_bytes:
        counts = -(-lengths // page_size)
        used = {int(page) for s, n in enumerate(counts) for page in table[s, :n]}
    for page in used:
        cache[page, : page_size * dim] = k[page].view(np.uint8).reshape(-1)
        cache[page, page_size * dim :] = np.ascontiguousarray(scale[page]).view(np.uint8)
    return Tensor(cache.reshape(there_are, page_size, 1, dim + 4), element_types.uint8)


def ragged(lengths: Array, table: Array) -> tuple[Array, Array]:
    """Where each sequence's keys begin in the list of all keys, and that list: pages have one key."""
    prefix = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    keys = [table[s, :n] for s, n in enumerate(lengths)]
    return prefix, np.concatenate(keys).astype(np.int32) if keys else np.zeros(0, np.int32)


def lines(setting: Setting, cases: int, seed: int) -> None:
    """Prints each faulty line of the kernels once, with the first case that reached it, and how often lines ran."""
    kernel = setting.assay_kernel()
    faults: dict[tuple[str, str, int], str] = {}
    stores: dict[str, int] = {}
    for text in _assay.cases(kernel.operation, kernel.supports_json, cases, seed):
        case = assay.case(text)
        with collect() as runs:
            outputs = case.outputs()
            setting.run(case.problem, {**case.inputs, **outputs})
        for run in runs:
            for (access, file, line), count in run.lines.items():
                if access == "store":
                    stores[f"{file}:{line}"] = stores.get(f"{file}:{line}", 0) + count
            for key, fault in run.faults.items():
                if key not in faults:
                    faults[key] = str(fault)
                    print(f"{fault}\n  {case.json}")
    print("stores that ran:", ", ".join(f"{at} ({n})" for at, n in sorted(stores.items())))


def main() -> int:
    """The command; 0 if all is verified, 1 with a defect, 2 for bad usage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=list(SUPPORTS), help=", ".join(SUPPORTS))
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--chunk", type=int, default=256, help="ChunkK: 256 as vLLM, 128 as SGLang")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--gfx", default="", choices=list(aiter_modules.fp8_types), help="else as the type of FP8 says")
    parser.add_argument("--padded", action="store_true", help="rows of logits end at a multiple of the page size")
    parser.add_argument("--near", action="store_true", help="no pool has more than 1 GiB")
    parser.add_argument("--replay", metavar="CASE", help="a stored case, in place of new ones")
    parser.add_argument("--property", action="append", default=[], help="check these only")
    parser.add_argument("--lines", action="store_true", help="go on after a fault, and list the faulty lines")
    options = parser.parse_args()
    for name in options.kernels:
        if name not in SUPPORTS:
            parser.error(f"there is no kernel {name!r}; there are {', '.join(SUPPORTS)}")
    aiter_modules.folder()
    good = True
    for name in options.kernels:
        setting = Setting(name, options.chunk, options.gfx, padded=options.padded, near=options.near)
        print(f"== {name}, ChunkK {options.chunk}", flush=True)
        if options.lines:
            lines(setting, options.cases, options.seed)
            continue
        begin = time.monotonic()
        chosen: dict[str, Any] = {"jobs": options.jobs, "properties": options.property}
        chosen |= {"cases": options.replay} if options.replay else {"cases": options.cases, "seed": options.seed}
        result = assay.verify(setting.assay_kernel(), **chosen)
        print(f"{result}{result.verdict}: {time.monotonic() - begin:.0f} s", flush=True)
        good &= bool(result)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
