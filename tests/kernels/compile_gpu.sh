#!/bin/sh
# Compiles every kernel source for a GPU, without one: compile_gpu.sh nvidia sm_90 | compile_gpu.sh amd gfx942
# Exit: 0 all compiled, 1 one did not, 2 bad usage, 77 the compiler is not installed.
set -u
[ $# -eq 2 ] || { echo "usage: $0 nvidia|amd ARCHITECTURE" >&2; exit 2; }
platform=$1
architecture=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
cd "$root" || exit 1  # relative paths, so that the cache knows a source again in another clone
cache=$(command -v ccache)

case $platform in
  nvidia)
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || { echo "skipped: nvcc is not installed"; exit 77; }
    compile() {
      $cache "$nvcc" -x cu -arch="$architecture" -std=c++20 -fmad=false --extended-lambda --expt-relaxed-constexpr -O1 \
        -I. -Ikernels/platform/nvidia -c "$1" -o "$out/object"
    } ;;
  amd)
    clang=$(command -v clang++-19) || { echo "skipped: clang++-19 is not installed"; exit 77; }
    compile() {
      $cache "$clang" -x hip --offload-device-only --offload-arch="$architecture" -nogpulib -nogpuinc -std=c++20 \
        -ffp-contract=off -fdeclspec -O2 -Wall -Wextra -Wno-undefined-internal -I. \
        -Itests/kernels/compile/amd -S "$1" -o "$out/object"
    } ;;
  *) echo "unknown platform $platform" >&2; exit 2 ;;
esac

status=0
for source in kernels/*.cpp kernels/*/*.hip kernels/*/*.cpp; do
  if compile "$source"; then echo "ok $source"; else echo "FAILED $source"; status=1; fi
done
exit $status
