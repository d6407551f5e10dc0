"""triton_adapters_faults.py [ADAPTER [FAULT]]: bugs planted in copies of others' Triton kernels; each must be found.

ADAPTER is one of examples/triton whose variable names a source tree. A fault is a substitution in a copy of it. Prints how
many cases it took. Needs the package assay on PYTHONPATH. Exits 1 where a fault is not found in --cases cases.
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

_vllm = "vllm/v1/attention/ops/"
_aiter = "aiter/ops/triton/_triton_kernels/attention/unified_attention.py"
_sglang = "sglang/kernels/ops/attention/decode_attention.py"
_helpers, _unified = _vllm + "triton_attention_helpers.py", _vllm + "triton_unified_attention.py"

# The adapter, its variable, the folders to copy, and of each fault: name, file, what stands there, what stands there then.
ADAPTERS = {
    "vllm_unified_attention": (
        "ASSAY_VLLM_TRITON_DIR",
        [_vllm],
        [
            ("window one key too wide", _helpers, "(query_abs_pos - seq_offset) < SLIDING_WINDOW", "(query_abs_pos - seq_offset) <= SLIDING_WINDOW"),
            ("causal off by one", _helpers, "elif USE_CAUSAL:\n        seq_mask = seq_offset[None, :] <= ", "elif USE_CAUSAL:\n        seq_mask = seq_offset[None, :] < "),
            ("first tile of a window skipped", _helpers, "tl.maximum(0, first_allowed_key // TILE_SIZE)", "tl.maximum(0, (first_allowed_key + TILE_SIZE - 1) // TILE_SIZE)"),
            ("no rescale in the reduction", _unified, "segm_output *= segment_scale[:, None]", "segm_output *= tl.where(valid_segment, 1.0, 0.0)[:, None]"),
            ("sink in every segment", _helpers, "(not IS_3D) or (segm_idx_or_0 == 0)", "True"),
            ("V with K's descale", _unified, "_cast_kv_tile(V_load, Q, v_scale,", "_cast_kv_tile(V_load, Q, k_scale,"),
            ("last tile of a segment lost", _helpers, "min((segm_idx_or_0 + 1) * tiles_per_segment_or_0, tile_end)", "min((segm_idx_or_0 + 1) * tiles_per_segment_or_0 - (tiles_per_segment_or_0 > 1), tile_end)"),
        ],
    ),
    "aiter_unified_attention": (
        "ASSAY_AITER_TRITON_DIR",
        ["aiter/ops/triton/_triton_kernels/attention", "aiter/ops/triton/attention"],
        [
            ("window one key too wide", _aiter, "seq_offset) < SLIDING_WINDOW", "seq_offset) <= SLIDING_WINDOW"),
            ("causal off by one", _aiter, "< context_len + query_pos[:, None] + 1", "< context_len + query_pos[:, None]"),
            ("no rescale in the reduction", _aiter, "segm_output *= tl.math.exp2(segm_max - overall_max)[:, None]", "segm_output *= tl.where(segm_mask, 1.0, 0.0)[:, None]"),
            ("sink in every segment", _aiter, "if segm_idx == 0:", "if True:"),
            ("K's descale left out", _aiter, "qk_scale = qk_scale * k_", "qk_scale = qk_scale + 0 * k_"),
            ("soft cap in the wrong base", _aiter, "apply_softcap(S, softcap) * RCP_LN2", "apply_softcap(S, softcap)"),
        ],
    ),
    "sglang_decode_attention": (
        "ASSAY_SGLANG_TRITON_DIR",
        ["sglang/kernels/ops/attention"],
        [
            ("no rescale in stage 2", _sglang, "            acc *= old_scale\n", ""),
            ("sink in each split", _sglang, "            e_sum = e_sum * old_scale + exp_logic\n            e_max = n_e_max\n", "            e_sum = e_sum * old_scale + exp_logic\n            e_max = n_e_max\n            if HAS_SINK:\n                e_sum += tl.exp(tl.load(sink_ptr + cur_head) - e_max)\n"),
            ("splits of another length in stage 2", _sglang, "    for split_kv_id in tl.range(0, SPLIT_END", "    kv_len_per_split = tl.cdiv(cur_batch_seq_len, kv_splits)\n    for split_kv_id in tl.range(0, SPLIT_END"),
            ("V's scale left out", _sglang, "acc / e_sum * v_scale", "acc / e_sum"),
            ("last key of a split lost", _sglang, "split_kv_end = tl.minimum(split_kv_start + kv_len_per_split, cur_batch_seq_len)", "split_kv_end = tl.minimum(split_kv_start + kv_len_per_split, cur_batch_seq_len - (cur_batch_seq_len > 32))"),
        ],
    ),
}  # fmt: skip

_run = """
import importlib, sys
adapter, cases, seed, findings = sys.argv[1:]
k = importlib.import_module(adapter).kernel
print(k.verify(cases=int(cases), seed=int(seed), jobs=1, shrink=0.1, properties=["output_enclosed"], findings=findings).text)
"""


def plant(tree: Path, folders: list[str], to: Path, file: str, before: str, after: str) -> None:
    """Copies the folders and puts the fault into the copy. Raises SystemExit where the file has other text."""
    for folder in folders:
        shutil.copytree(tree / folder, to / folder)
    text = (to / file).read_text(encoding="utf-8")
    if before not in text:
        raise SystemExit(f"{file}: this version has no {before!r}")
    (to / file).write_text(text.replace(before, after), encoding="utf-8")


def first_failure(adapter: str, variable: str, tree: Path, cases: int, seed: int) -> tuple[int | None, str]:
    """After how many cases the run failed, and how. None: it did not."""
    examples = Path(__file__).resolve().parent.parent / "examples" / "triton"
    environment = {**os.environ, variable: str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = f"{examples}:{environment.get('PYTHONPATH', '')}"
    tried = 0
    for many in sorted({min(n, cases) for n in (12, 48, cases)}):
        if many <= tried:
            continue
        command = [sys.executable, "-c", _run, adapter, str(many), str(seed), str(tree / "findings")]
        done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        found = [int(n) for n in re.findall(r"^  case (\d+) of seed", done.stdout, re.M)]
        if found:
            lines = done.stdout.splitlines()
            how = next(lines[i + 1].strip() for i, line in enumerate(lines) if line.startswith("FAIL"))
            return min(found) + 1, how
        tried = many
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
        for name, file, before, after in faults:
            if given.fault not in (None, name):
                continue
            with tempfile.TemporaryDirectory() as folder:
                plant(Path(os.environ[variable]), folders, Path(folder), file, before, after)
                start = time.monotonic()
                after_cases, how = first_failure(adapter, variable, Path(folder), given.cases, given.seed)
            missed += after_cases is None
            said = f"found in case {after_cases}" if after_cases else f"NOT FOUND in {given.cases} cases"
            print(f"{adapter}: {name}: {said} of seed {given.seed} ({time.monotonic() - start:.0f} s) {how}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
