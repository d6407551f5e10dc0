#!/bin/sh
# Compiles every kernel source for a GPU, without one: compile_gpu.sh nvidia sm_90a | compile_gpu.sh amd gfx942
# For NVIDIA to PTX, for AMD to LLVM's code before its passes: what templates, types and features can get wrong shows
# there, in a fifth of the time. What the third argument, an expression, finds compiles whole, so that an assembler reads
# what is written for it. The preset nvidia and .ci/amd compile all whole.
# Exit: 0 all compiled, 1 one did not, 2 bad usage, 77 the compiler is not installed.
set -u
[ $# -eq 2 ] || [ $# -eq 3 ] || { echo "usage: $0 nvidia|amd ARCHITECTURE [EXPRESSION]" >&2; exit 2; }
platform=$1
architecture=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
cd "$root" || exit 1  # relative paths, so that the cache knows a source again in another clone
cache=$(command -v ccache)
whole=${3:-^$}

case $platform in
  nvidia)
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || { echo "skipped: nvcc is not installed"; exit 77; }
    compile() {
      $cache "$nvcc" -x cu -gencode="arch=compute_${architecture#sm_},code=$code" -std=c++20 -fmad=false \
        --extended-lambda --expt-relaxed-constexpr -O1 -DASSAY_NVIDIA_WARPGROUPS -I. -Ikernels/platform/nvidia -c "$1" -o "$out/object"
    } ;;
  amd)
    clang=$(command -v clang++-19) || { echo "skipped: clang++-19 is not installed"; exit 77; }
    compile() {
      $cache "$clang" -x hip --offload-device-only --offload-arch="$architecture" -nogpulib -nogpuinc -std=c++20 \
        -ffp-contract=off -fdeclspec -O2 -Wall -Wextra -Wno-undefined-internal -I. \
        -Itests/kernels/compile/amd -S $to_llvm "$1" -o "$out/object"
    } ;;
  *) echo "unknown platform $platform" >&2; exit 2 ;;
esac

status=0
for source in kernels/*.cpp kernels/*/*.hip kernels/*/*.cpp; do
  code=compute_${architecture#sm_} to_llvm='-emit-llvm -Xclang -disable-llvm-passes'
  if echo "$source" | grep -qE "$whole"; then code=$architecture to_llvm=; fi
  if compile "$source"; then echo "ok $source"; else echo "FAILED $source"; status=1; fi
done
exit $status
