#!/usr/bin/env bash
# aiter_triton_test.sh BUILD [PYTHON]: examples/triton/aiter_pa_mqa_logits.py on the checkout of aiter that ASSAY_AITER_DIR
# names. All kernels run; a fault planted in a copy is reported at its line; and where the copy bounds each store, the case
# of the last store passes. Skipped, with a reason, where there is no such checkout, or no Python module.
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
kernels=aiter/ops/triton/gluon/pa_mqa_logits.py
[[ -n $python ]] || skip "this build has no Python module (cmake -DASSAY_PYTHON=ON)"
"$python" -c 'import numpy' 2>/dev/null || skip "$python has no numpy"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
cp -r "$root/examples/triton" "$scratch/example"
cd "$scratch/example"
adapter() { # STATUS TREE ARGUMENT...
  local status=$1 tree=$2 got=0
  shift 2
  ASSAY_AITER_DIR=$tree "$python" aiter_pa_mqa_logits.py "$@" >said 2>&1 || got=$?
  [[ $got -eq $status ]] || { cat said; fail "the run exits with $got, not $status: $*"; }
}
for tree in '' "$scratch"; do
  adapter 2 "$tree" preshuffle
  grep -q '^ASSAY_AITER_DIR: ' said && [[ $(wc -l <said) -eq 1 ]] || { cat said; fail "a missing checkout is not named"; }
done
given=${ASSAY_AITER_DIR:-}
[[ -n $given ]] || skip "ASSAY_AITER_DIR names no checkout"
given=$(realpath "$given")
[[ -e $given/$kernels ]] || skip "$given has no $kernels"

# Each kernel runs. What is found are faults of memory or values, never something that the evaluation does not know.
adapter 0 "$given" --lines --cases 12 --seed 3
! grep -qE 'Traceback|this evaluation does not know' said || { cat said; fail "a kernel does not run"; }
[[ $(grep -cE '^stores that ran: .*pa_mqa_logits.py:' said) -eq 10 ]] || { cat said; fail "a kernel stores nothing"; }

copy() { # NAME: a copy of what the adapter loads
  mkdir -p "$scratch/$1/aiter/ops"
  cp -r "$given/aiter/ops/triton" "$scratch/$1/aiter/ops/triton"
}
# Each store through a function that leaves out the columns behind the row.
copy bounded
"$python" - "$scratch/bounded/$kernels" <<'EOF'
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
helper = '''
@gluon.jit
def _bounded(columns, value, ptr, offsets, mask=None):
    inside = offsets % columns == offsets if mask is None else mask & (offsets < columns)
    gl.amd.cdna3.buffer_store(value, ptr=ptr, offsets=offsets, mask=inside)

'''
text, count = re.subn(r"gl\.amd\.cdna3\.buffer_store\(", "_bounded(max_model_len, ", text)
assert count >= 18, count
assert "to(tl.int64) * stride_out_batch" in text, "stores of this version have the row in their offsets"
open(sys.argv[1], "w", encoding="utf-8").write(text.replace("@gluon.jit\ndef _gluon_deep", helper + "@gluon.jit\ndef _gluon_deep", 1))
EOF
adapter 1 "$given" preshuffle --replay cases/preshuffle-last_store.json --property output_enclosed
grep -qE 'store of OutLogits_buffer out of bounds: .* at pa_mqa_logits.py:[0-9]+ \(program 0' said ||
  { cat said; fail "the last store is not reported"; }
adapter 0 "$scratch/bounded" preshuffle --replay cases/preshuffle-last_store.json --property output_enclosed
adapter 0 "$scratch/bounded" preshuffle --replay cases/preshuffle-next_row.json --property output_enclosed
# A fault planted there: a key's scale is that of its neighbour.
copy planted
cp "$scratch/bounded/$kernels" "$scratch/planted/$kernels"
sed -i 's/^\( *\)k_scale_f = k_scale_f_next_0$/\1k_scale_f = k_scale_f_next_0 * 1.0001/' "$scratch/planted/$kernels"
! cmp -s "$scratch/bounded/$kernels" "$scratch/planted/$kernels" || fail "the planted fault changes nothing"
"$python" - <<'EOF'
import json
case = json.load(open("cases/preshuffle-next_row.json"))
case["max_model_len"] = 192
json.dump(case, open("planted.json", "w"))
EOF
adapter 0 "$scratch/bounded" preshuffle --replay planted.json --property output_enclosed
adapter 1 "$scratch/planted" preshuffle --replay planted.json --property output_enclosed
grep -qE 'enclosure: logits\[' said || { cat said; fail "a scale off by 1e-4 is not seen"; }
echo "passed on $given"
