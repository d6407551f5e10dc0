"""triton_adapters_faults.py [ADAPTER [FAULT]]: bugs planted in copies of others' Triton kernels; each must be found.

ADAPTER is one of examples/triton whose variable names a source tree. A fault is a substitution in a copy of it. Prints
how many cases it took, of which the tree itself must pass all. Needs the package assay on PYTHONPATH. Exits 1 where a
fault is not found in --cases cases.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

_vllm = "vllm/v1/attention/ops/"
_aiter = "aiter/ops/triton/_triton_kernels/attention/unified_attention.py"
_sglang = "sglang/kernels/ops/attention/decode_attention.py"
_helpers, _unified = _vllm + "triton_attention_helpers.py", _vllm + "triton_unified_attention.py"


class Fault(NamedTuple):
    """What stands in a file of the tree, and what stands there then, at each place."""

    name: str
    file: str
    before: str
    after: str


_merged = "            e_sum = e_sum * old_scale + exp_logic\n            e_max = n_e_max\n"
_sink = "            if HAS_SINK:\n                e_sum += tl.exp(tl.load(sink_ptr + cur_head) - e_max)\n"
_stage_2 = "    for split_kv_id in tl.range(0, SPLIT_END"

# Of each adapter: its variable, the folders to copy, and the faults.
ADAPTERS: dict[str, tuple[str, list[str], list[Fault]]] = {
    "vllm_unified_attention": (
        "ASSAY_VLLM_TRITON_DIR",
        [_vllm],
        [
            Fault("window one key too wide", _helpers, "seq_offset) < SLIDING_WINDOW", "seq_offset) <= SLIDING_WINDOW"),
            Fault("causal off by one", _helpers, "USE_CAUSAL:\n        seq_mask = seq_offset[None, :] <=",
                  "USE_CAUSAL:\n        seq_mask = seq_offset[None, :] <"),
            Fault("first tile of a window skipped", _helpers, "tl.maximum(0, first_allowed_key // TILE_SIZE)",
                  "tl.maximum(0, (first_allowed_key + TILE_SIZE - 1) // TILE_SIZE)"),
            Fault("no rescale in the reduction", _unified, "segm_output *= segment_scale[:, None]",
                  "segm_output *= tl.where(valid_segment, 1.0, 0.0)[:, None]"),
            Fault("sink in every segment", _helpers, "(not IS_3D) or (segm_idx_or_0 == 0)", "True"),
            Fault("V with K's descale", _unified, "(V_load, Q, v_scale,", "(V_load, Q, k_scale,"),
            Fault("last tile of a segment lost", _helpers, "tiles_per_segment_or_0, tile_end)",
                  "tiles_per_segment_or_0 - (tiles_per_segment_or_0 > 1), tile_end)"),
        ],
    ),
    "aiter_unified_attention": (
        "ASSAY_AITER_TRITON_DIR",
        ["aiter/ops/triton/_triton_kernels/attention", "aiter/ops/triton/attention"],
        [
            Fault("window one key too wide", _aiter, "seq_offset) < SLIDING_WINDOW", "seq_offset) <= SLIDING_WINDOW"),
            Fault("causal off by one", _aiter, "< context_len + query_pos[:, None] + 1",
                  "< context_len + query_pos[:, None]"),
            Fault("no rescale in the reduction", _aiter,
                  "segm_output *= tl.math.exp2(segm_max - overall_max)[:, None]",
                  "segm_output *= tl.where(segm_mask, 1.0, 0.0)[:, None]"),
            Fault("sink in every segment", _aiter, "if segm_idx == 0:", "if True:"),
            Fault("K's descale left out", _aiter, "qk_scale = qk_scale * k_", "qk_scale = qk_scale + 0 * k_"),
            Fault("soft cap in the wrong base", _aiter, "apply_softcap(S, softcap) * RCP_LN2",
                  "apply_softcap(S, softcap)"),
        ],
    ),
    "sglang_decode_attention": (
        "ASSAY_SGLANG_TRITON_DIR",
        ["sglang/kernels/ops/attention"],
        [
            Fault("no rescale in stage 2", _sglang, "            acc *= old_scale\n", ""),
            Fault("sink in each split", _sglang, _merged, _merged + _sink),
            Fault("splits of another length in stage 2", _sglang, _stage_2,
                  "    kv_len_per_split = tl.cdiv(cur_batch_seq_len, kv_splits)\n" + _stage_2),
            Fault("V's scale left out", _sglang, "acc / e_sum * v_scale", "acc / e_sum"),
            Fault("last key of a split lost", _sglang, "split_kv_start + kv_len_per_split, cur_batch_seq_len)",
                  "split_kv_start + kv_len_per_split, cur_batch_seq_len - (cur_batch_seq_len > 32))"),
        ],
    ),
}  # fmt: skip

_run = """
import importlib, sys
adapter, cases, seed, findings = sys.argv[1:]
k = importlib.import_module(adapter).kernel
only = ["output_enclosed"]
print(k.verify(cases=int(cases), seed=int(seed), jobs=1, shrink=0.1, properties=only, findings=findings).text)
"""


def plant(tree: Path, folders: list[str], to: Path, fault: Fault) -> None:
    """Copies the folders and puts the fault into the copy. Raises SystemExit where the file has other text."""
    for folder in folders:
        shutil.copytree(tree / folder, to / folder)
    file = to / fault.file
    text = file.read_text(encoding="utf-8")
    if fault.before not in text:
        raise SystemExit(f"{fault.file}: this version has no {fault.before!r}")
    file.write_text(text.replace(fault.before, fault.after), encoding="utf-8")


def first_failure(adapter: str, variable: str, tree: Path, cases: int, seed: int) -> tuple[int | None, str]:
    """After how many cases the run failed, and how. None: it did not."""
    examples = Path(__file__).resolve().parent.parent / "examples" / "triton"
    environment = {**os.environ, variable: str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = f"{examples}:{environment.get('PYTHONPATH', '')}"
    for many in sorted({min(n, cases) for n in (12, 48, cases)}):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", _run, adapter, str(many), str(seed), folder]
            done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        found = [int(n) for n in re.findall(r"^  case (\d+) of seed", done.stdout, re.M)]
        if found:
            lines = done.stdout.splitlines()
            how = next(lines[i + 1].strip() for i, line in enumerate(lines) if line.startswith("FAIL"))
            return min(found) + 1, how
    return None, ""


def main() -> int:
    """Plants each fault and looks for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adapter", nargs="?", choices=sorted(ADAPTERS))
    parser.add_argument("fault", nargs="?")
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    missed = 0
    for adapter, (variable, folders, faults) in ADAPTERS.items():
        if given.adapter not in (None, adapter):
            continue
        if not os.environ.get(variable):
            print(f"{adapter} is left out: {variable} names no source tree")
            continue
        for fault in faults:
            if given.fault not in (None, fault.name):
                continue
            with tempfile.TemporaryDirectory() as folder:
                plant(Path(os.environ[variable]), folders, Path(folder), fault)
                start = time.monotonic()
                for seed in range(given.seed, given.seed + 5):
                    after_cases, how = first_failure(adapter, variable, Path(folder), given.cases, seed)
                    if after_cases is None:
                        break
                    clean, _ = first_failure(adapter, variable, Path(os.environ[variable]), after_cases, seed)
                    if clean is None:
                        break
                    after_cases = None  # the tree itself fails so early
            missed += after_cases is None
            said = f"found in case {after_cases}" if after_cases else f"NOT FOUND in {given.cases} cases"
            seconds = time.monotonic() - start
            print(f"{adapter}: {fault.name}: {said} of seed {seed} ({seconds:.0f} s) {how}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
