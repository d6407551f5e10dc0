#!/usr/bin/env bash
# kit_test.sh BUILD: the kit for kernels of others, as they meet it. Installs the build into a scratch prefix, makes a
# kernel there, builds it by find_package, and checks it. Bugs in it must be found. All headers are there, and compile.
# What cannot be made leaves nothing. Skipped for builds that have no kit.
set -euo pipefail
build=$1
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
[[ -e $build/lib/cmake/Assay/AssayConfig.cmake ]] || skip "sanitizers and fuzzers are of whole programs: there is no kit"
for program in clang++-19 ninja; do
  command -v "$program" >/dev/null || skip "the kit's build needs $program"
done
scratch=$(realpath "$(mktemp -d)")
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
unset ASSAY_DIR Assay_DIR Assay_ROOT CMAKE_PREFIX_PATH CXX CXXFLAGS
prefix="$scratch/a prefix" # paths may hold spaces
cmake --install "$build" --prefix "$prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
program=$prefix/bin/assay
mkdir "$scratch/work"
cd "$scratch/work"

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}
built() { # COMMAND...
  "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "$*"; }
}
checked() { # STATUS CASES
  local got=0
  # So few cases reach too little for all that a run wants to have met.
  "$program" run --library demo/build/demo.so --cases "$2" --seed 1 --accept-blunt >"$scratch/out" 2>&1 || got=$?
  [[ $got -eq $1 ]] || { cat "$scratch/out"; fail "the run exits with $got, not $1"; }
}
refused() { # WHY ARGUMENT...: one line, and nothing is made
  local got=0 before why=$1
  shift
  before=$(find . | sort)
  "$program" new "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
  [[ $got -eq 2 && ! -s $scratch/out && $(wc -l <"$scratch/err") -eq 1 ]] && grep -qE "$why" "$scratch/err" ||
    { cat "$scratch/out" "$scratch/err"; fail "new $* exits with $got"; }
  [[ $(find . | sort) == "$before" ]] || fail "new $* leaves something"
}

# The commands that it prints are those that work.
"$program" new demo >"$scratch/shown"
mapfile -t shown < <(sed 1d "$scratch/shown")
[[ ${#shown[@]} -eq 3 && ${shown[2]} == *"run --library demo/build/demo.so" ]] ||
  { cat "$scratch/shown"; fail "shows other commands"; }
! grep -rE 'starter|@ASSAY' demo || fail "a name is not replaced"
built eval "${shown[0]}"
built eval "${shown[1]}"
[[ -e demo/build/demo.so ]] || fail "makes no demo.so"

lines=$(wc -l <demo/demo_library.cpp)
[[ $lines -lt 60 ]] || fail "the starter's library has $lines lines: a user is promised less than 60"

touch file
for name in '' a/b . .. 1a -- a-b "$(printf 'a%.0s' {1..65})"; do refused 'is no name|required|expected' "$name"; done
refused 'exists already' demo
refused 'exists already' file
refused 'gone/other.*No such file' other --in gone
refused 'file/other.*Not a directory' other --in file
if [[ $EUID -ne 0 ]]; then
  mkdir closed
  chmod a-w closed
  refused 'closed/other.*Permission denied' other --in closed
else # root may write anywhere but here
  refused '/proc/other' other --in /proc
fi

# The headers of HIP, and of the kit.
(cd "$prefix/include/assay/kernels/platform/cpu" && echo hip/hip_runtime.h && ls hip/*.h) >"$scratch/headers"
for header in hip_runtime hip_fp16 hip_bf16 hip_fp8 hip_cooperative_groups amdgcn; do
  grep -qx "hip/$header.h" "$scratch/headers" || fail "hip/$header.h is not installed"
done
(cd "$prefix/include/assay" && ls kernels/*.hpp kernels/host/*.hpp kernels/device/*.hpp) >>"$scratch/headers"
mkdir headers
sed 's/.*/#include <&>/' "$scratch/headers" >headers/all.cu
sed 's/demo_library.cpp//; s/demo.hip/all.cu/; s/demo/headers/' demo/CMakeLists.txt >headers/CMakeLists.txt
built cmake -S headers -B headers/build -G Ninja "-DCMAKE_PREFIX_PATH=$prefix"
built cmake --build headers/build

checked 0 60
grep -E '^accepted, however blunt: 60 cases, no defect' "$scratch/out" || { cat "$scratch/out"; fail "no verdict"; }
grep -qE '[1-9].* loads and stores checked' "$scratch/out" || fail "no load was checked"

# Bugs: the first key of each tile takes no part; a load past the end of the row of V; the next tile's logits come too
# early, to LDS that 'extern __shared__' names.
cp demo/demo.hip "$scratch/good.hip"
plant() { # SED WHAT
  sed "$1" "$scratch/good.hip" >demo/demo.hip
  ! cmp -s demo/demo.hip "$scratch/good.hip" || fail "'$1' changes nothing"
  built cmake --build demo/build
  checked 1 40
  grep -E -m1 "$2" "$scratch/out" || { cat "$scratch/out"; fail "the bug is not seen as '$2'"; }
  grep -qE '^DEFECT' "$scratch/out" || { cat "$scratch/out"; fail "the bug is no defect"; }
}
plant 's/j = 0; j < tile_keys; ++j) {/j = 1; j < tile_keys; ++j) {/' 'enclosure: .* lies outside'
plant 's/half2float(v\[column\])/half2float(v[column + 8])/' 'out of bounds: .*demo.hip:'
plant '/__syncthreads();  .. the next tile/d' 'data race: .* LDS byte .*demo.hip:'
