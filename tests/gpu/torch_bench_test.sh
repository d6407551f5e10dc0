#!/usr/bin/env bash
# tests/gpu/torch_bench.py with a stand-in for PyTorch, of which each launch takes half a millisecond: its table has the
# columns of `assay bench`, its shapes are those of device_bench_shapes.cpp, and a back end that lacks a shape says so.
# Where PyTorch or CUDA is missing it is skipped with the reason.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
suite=$here/../../properties/suite
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf '%s\n' "$1"
  exit 1
}
bench() { PYTHONPATH=$scratch/$1 python3 -B "$here/torch_bench.py" "${@:2}"; }
skips() { # FOLDER REASON
  local status=0
  bench "$1" >"$scratch/out" || status=$?
  [[ $status -eq 77 ]] && grep -qE "^skipped: $2" "$scratch/out" || fail "$1: status $status, $(cat "$scratch/out")"
}

mkdir -p "$scratch"/{none,other}/torch "$scratch/other/torch/nn"
echo 'raise ImportError("no PyTorch here")' >"$scratch/none/torch/__init__.py"
skips none 'there is no PyTorch with torch.nn.attention \(no PyTorch here\)'
cat >"$scratch/other/torch/__init__.py" <<'END'
import os
from . import nn
__version__, uint8, bfloat16 = "0.0", 1, 2
class Tensor:
    def copy_(self, other): pass
    def fill_(self, value): pass
def ones(size, dtype, device): return Tensor()
def empty_like(t): return Tensor()
def randn(*shape, dtype, device):
    made = Tensor()
    made.shape = shape
    return made
def manual_seed(seed): pass
class cuda:
    is_available = staticmethod(lambda: "DEVICE" in os.environ)
    get_device_name = staticmethod(lambda: os.environ["DEVICE"])
    class Event:
        def __init__(self, enable_timing): pass
        recorded = 0
        def record(self):
            cuda.Event.recorded += 1
        def elapsed_time(self, end):
            assert cuda.Event.recorded == 0, "the device is not waited for"
            return 0.5
    @staticmethod
    def synchronize():
        assert cuda.Event.recorded == 8, "a launch waits for the host"  # two of each of four launches
        cuda.Event.recorded = 0
END
cat >"$scratch/other/torch/nn/__init__.py" <<'END'
from . import attention
class functional:
    @staticmethod
    def scaled_dot_product_attention(q, k, v, is_causal, enable_gqa):
        assert q.shape[1] == 32 and k.shape[1] == v.shape[1] == 8 and enable_gqa and is_causal == (q.shape[2] > 1)
        if attention.current == "cudnn" and q.shape[2] == 1:
            raise RuntimeError("No available kernel.\nMore about it.")
END
cat >"$scratch/other/torch/nn/attention.py" <<'END'
import contextlib
current = None
class SDPBackend:
    FLASH_ATTENTION, CUDNN_ATTENTION = "flash", "cudnn"
@contextlib.contextmanager
def sdpa_kernel(backend):
    global current
    current = backend
    yield
END
skips other 'PyTorch 0\.0 sees no CUDA device'

export DEVICE='a stand-in'
bench other --launches 4 --json "$scratch/r.json" >"$scratch/table"
cat "$scratch/table"
head -1 "$scratch/table" | grep -qx 'a stand-in: a copy of 1 GiB reads and writes 4.29 TB/s; as big: beside a copy of the shape'\''s bytes (PyTorch 0.0)' || fail "another first line"
# The columns of device_bench_text(), from its source.
for column in shape types splits 'median us' 'least to most us' TB/s copy 'as big' TFLOP/s; do
  grep -qF "\"$column\"" "$suite/device_bench_shapes.cpp" || fail "assay bench has no column '$column'"
  sed -n 2p "$scratch/table" | grep -qF "$column" || fail "the table has no column '$column'"
done
[[ $(wc -l <"$scratch/table") -eq 12 ]] || fail "the table has not two lines for each of five shapes"
# 64 sequences of 8192 keys, 8 heads, 2 x 128 elements of 2 bytes: 2 GiB in 0.5 ms.
grep -qE '^decode 64 x 8k, contiguous +bf16 flash +- +500\.0 +500\.0 to 500\.0 +4\.295 +100% +100% +17\.18$' "$scratch/table" || fail "another speed"
grep -qE '^decode 1 x 128k, contiguous +bf16 cudnn +not measured: No available kernel\.$' "$scratch/table" || fail "no refusal"
grep -qE '^prefill 1 x 2k, causal, contiguous +bf16 cudnn +- +500\.0 ' "$scratch/table" || fail "no prefill by cuDNN"
grep -qF '{std::pair{16, 8 * k}, {64, 8 * k}, {1, 128 * k}}' "$suite/device_bench_shapes.cpp" || fail "assay bench decodes other shapes"
grep -qF 'keys : {2 * k, 8 * k}' "$suite/device_bench_shapes.cpp" || fail "assay bench has other prefills"
python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["speeds"]) == 10' "$scratch/r.json"
