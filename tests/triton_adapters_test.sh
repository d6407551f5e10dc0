#!/usr/bin/env bash
# triton_adapters_test.sh BUILD [PYTHON]: the adapters of examples/triton to others' kernels, of each where its variable names a
# source tree: what is right is accepted, and the stored cases show what is wrong. One that is not named says so, and exits
# with 3. Skipped where no variable is set, where the build has no module, or where Python lacks NumPy or Triton.
set -euo pipefail
build=$(realpath "$1") python=${2:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}
[[ -n $python ]] || skip "this build has no Python module (cmake -DASSAY_PYTHON=ON)"
for module in numpy triton; do
  "$python" -c "import $module" 2>/dev/null || skip "$python has no $module"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python:$root/examples/triton OPENBLAS_NUM_THREADS=1
cd "$scratch"

ran=0
adapter() { # MODULE VARIABLE: whether it can run; else it must say what it lacks
  if [[ -n ${!2:-} ]]; then
    ran=$((ran + 1))
    return 0
  fi
  echo "$1 is left out: $2 names no source tree"
  local got=0
  env "$2=" "$python" -c "import $1" >said 2>&1 || got=$?
  [[ $got -eq 3 ]] && grep -q "$2" said || { cat said; fail "$1 does not say that $2 is missing"; }
  return 1
}
accepted() { # MODULE KERNEL CASES
  "$python" - "$@" >said 2>&1 <<'PY' || { cat said; fail "$1.$2 is not accepted"; }
import importlib, sys
kernel = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
result = kernel.verify(cases=int(sys.argv[3]), seed=1, jobs=2, accept_blunt=True)
print(result)
assert result.verdict == "verified"
PY
}
wrong() { # MODULE KERNEL CASE WHAT: the stored case fails, and the report says what
  "$python" - "$1" "$2" "$root/examples/triton/cases/$3.json" >said 2>&1 <<'PY' || { cat said; fail "$3 does not fail"; }
import importlib, sys
kernel = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
result = kernel.verify(cases=[sys.argv[3]], properties=["output_enclosed"])
print(result.text)
assert result.verdict == "defect"
PY
  grep -q "$4" said || { cat said; fail "$3 fails in another way"; }
}
if adapter vllm_unified_attention ASSAY_VLLM_TRITON_DIR; then
  accepted vllm_unified_attention kernel 24
  accepted vllm_unified_attention decoding 12
  wrong vllm_unified_attention bare_table vllm_table_end 'outside of block_table'
  wrong vllm_unified_attention any_group vllm_rows_stored_twice 'race: store of 2 bytes of o'
fi
if adapter aiter_unified_attention ASSAY_AITER_TRITON_DIR; then
  accepted aiter_unified_attention sound 24
  wrong aiter_unified_attention kernel aiter_window_reference_f16 'lies outside'
  wrong aiter_unified_attention kernel aiter_window_reference_bf16 'nan lies outside'
  wrong aiter_unified_attention kernel aiter_segment_reference 'o\[.* = 0 lies outside'
  wrong aiter_unified_attention kernel aiter_soft_cap_overflow 'nan lies outside'
  wrong aiter_unified_attention any_memory aiter_dead_nan 'nan lies outside'
  wrong aiter_unified_attention bare_table aiter_table_end 'outside of block_table'
  wrong aiter_unified_attention any_rows aiter_sequence_without_rows 'outside of q'
  wrong aiter_unified_attention any_group aiter_rows_stored_twice 'race: store of 2 bytes of o'
fi
if adapter sglang_decode_attention ASSAY_SGLANG_TRITON_DIR; then
  accepted sglang_decode_attention kernel 24
  accepted sglang_decode_attention paged 12
  accepted sglang_extend_attention kernel 18
  wrong sglang_decode_attention wide sglang_group_of_20 'lies outside'
  wrong sglang_decode_attention normal sglang_product_overflow 'nan lies outside'
  wrong sglang_decode_attention windowed sglang_window 'lies outside'
  wrong sglang_extend_attention everything sglang_extend_lse 'lse.* = inf lies outside'
fi
[[ $ran -gt 0 ]] || skip "no variable names a source tree of vLLM, aiter or SGLang"
