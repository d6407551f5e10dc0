#!/usr/bin/env bash
# examples_test.sh BUILD PROGRAM: the commands of examples/README.md do what it says: the bug is found, the mended kernel
# and the one in C are verified. The kernels of others are built and run where a variable, ASSAY_VLLM_DIR and the like, names
# their source tree; else the test says that it left them out. Skipped for builds without a kit.
set -euo pipefail
build=$(realpath "$1") program=$(realpath "$2") source=$PWD
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
[[ -e $build/lib/cmake/Assay/AssayConfig.cmake ]] || skip "sanitizers and fuzzers are of whole programs: there is no kit"
for program_needed in clang++-19 clang-19 ninja; do
  command -v "$program_needed" >/dev/null || skip "the examples' builds need $program_needed"
done
scratch=$(realpath "$(mktemp -d)")
trap 'rm -rf "$scratch"' EXIT
unset CXX CXXFLAGS
cd "$scratch"

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}
built() { # FOLDER OPTION...
  local folder=$1
  shift
  { cmake -S "$folder" -B "$folder/build" -G Ninja "-DCMAKE_PREFIX_PATH=$build" "$@" &&
    cmake --build "$folder/build"; } >log 2>&1 || { cat log; fail "$folder is not built"; }
}
checked() { # STATUS LIBRARY CASES SENTENCE OPTION...
  local status=$1 library=$2 cases=$3 sentence=$4 got=0
  shift 4
  "$program" run --library "$library" --seed 1 --cases "$cases" "$@" >said 2>&1 || got=$?
  [[ $got -eq $status ]] && grep -qE "$sentence" said || { cat said; fail "$library: the run exits with $got"; }
}

cp -r "$source/examples" .
built examples/first_bug
checked 1 examples/first_bug/build/first_bug.so 60 '^DEFECT'
grep -qE 'enclosure: o\[.* lies outside' said || { cat said; fail "the bug of first_bug is not seen in its output"; }
sed -i 's|pages\[0\]|pages[key / p.page_size - first / p.page_size]|' examples/first_bug/decode.hip
! cmp -s examples/first_bug/decode.hip "$source/examples/first_bug/decode.hip" || fail "the mend changes nothing"
built examples/first_bug
checked 0 examples/first_bug/build/first_bug.so 60 '^accepted, however blunt' --accept-blunt

clang-19 -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC "-I$source" examples/plain_c/attention.c -o plain_c.so -lm
checked 0 ./plain_c.so 200 '^accepted, however blunt.*loads and stores were not checked' --accept-blunt
sed 's/p->causal ? num_keys - num_rows + i + 1 : num_keys/num_keys/' examples/plain_c/attention.c >unmasked.c
! cmp -s unmasked.c examples/plain_c/attention.c || fail "the planted bug changes nothing"
clang-19 -std=c99 -O2 -shared -fPIC "-I$source" unmasked.c -o unmasked.so -lm
checked 1 ./unmasked.so 60 '^DEFECT'

# What C sees of the ABI is what C++ has: the size of each struct, and place and size of each field.
fields_of() { # STRUCT
  sed -nE "/^typedef struct $1 \\{/,/^\\}/s/^  [a-z0-9_]+ ([a-z0-9_]+)(\\[[0-9]+\\])?;.*/\\1/p" "$source/kernels/library.h"
}
{
  printf '#include <cstddef>\n#include <cstdio>\n#include "kernels/library.h"\nint main() {\n'
  for name in assay_problem assay_contract; do
    [[ $(fields_of $name | wc -l) -ge 30 ]] || fail "the fields of $name are not found in library.h"
    printf '  std::printf("_Static_assert(sizeof(%s) == %%zu, \\"%s\\");\\n", sizeof(%s));\n' $name $name $name
    for field in $(fields_of $name); do
      printf '  std::printf("_Static_assert(offsetof(%s, %s) == %%zu && sizeof(((%s*)0)->%s) == %%zu, \\"%s\\");\\n", offsetof(%s, %s), sizeof(%s::%s));\n' \
        $name $field $name $field $field $name $field $name $field
    done
  done
  printf '}\n'
} >layout.cpp
clang++-19 -std=c++20 "-I$source" layout.cpp -o layout
{ printf '#include <stddef.h>\n#include "kernels/library.h"\n' && ./layout; } >layout.c
clang-19 -std=c11 "-I$source" -fsyntax-only layout.c || fail "library.h has another layout in C than in C++"
sed 's/^  int32_t order;.*//' "$source/kernels/library.h" >changed.h # of which the check must tell
! sed "s|kernels/library.h|$PWD/changed.h|" layout.c | clang-19 -std=c11 "-I$source" -fsyntax-only -x c - 2>log ||
  fail "a field that C lacks is not noticed"
grep -q "no member named 'order'" log || { cat log; fail "a field that C lacks has another effect"; }

# Builds an adapter to kernels of others, if the variable names their source tree. If it names none, the adapter must say
# that it lacks one, and is left out: status 1.
adapter() { # FOLDER OPTION VARIABLE
  local tree=${!3:-}
  if [[ -n $tree ]]; then
    built "examples/$1" "-D$2=$tree"
    return 0
  fi
  echo "examples/$1 is left out: $3 names no source tree"
  for folder in '' "$scratch"; do
    ! cmake -S "examples/$1" -B "$1_without" -G Ninja "-DCMAKE_PREFIX_PATH=$build" "-D$2=$folder" >said 2>&1 ||
      fail "examples/$1 is configured without a source tree"
    grep -q "$2" said || { cat said; fail "examples/$1 does not say that $2 is missing"; }
  done
  return 1
}
blunt='^accepted, however blunt'
if adapter vllm VLLM_DIR ASSAY_VLLM_DIR; then
  checked 0 examples/vllm/build/vllm_paged_v2.so 60 "$blunt" --accept-blunt --types f16
  checked 1 examples/vllm/build/vllm_rocm.so 60 '^DEFECT' --types f16
fi
if adapter flashinfer FLASHINFER_DIR ASSAY_FLASHINFER_DIR; then
  known=(--accept examples/flashinfer/accepted.txt)
  checked 0 examples/flashinfer/build/flashinfer.so 60 "$blunt" --accept-blunt --types bf16 "${known[@]}"
  checked 1 examples/flashinfer/build/flashinfer.so 20 '^DEFECT' --types f16
fi
if adapter llama_cpp LLAMA_CPP_DIR ASSAY_LLAMA_CPP_DIR; then
  checked 0 examples/llama_cpp/build/llama_cpp.so 60 "$blunt" --accept-blunt
fi
if adapter aiter AITER_DIR ASSAY_AITER_DIR; then
  checked 0 examples/aiter/build/aiter_pa_ragged.so 60 "$blunt" --accept-blunt
  checked 1 examples/aiter/build/aiter_pa_ragged_everything.so 60 '^DEFECT'
fi
if adapter composable_kernel CK_DIR ASSAY_CK_DIR; then
  checked 0 examples/composable_kernel/build/ck_split_kv_f16.so 20 "$blunt" --accept-blunt \
    --accept examples/composable_kernel/accepted.txt
fi
