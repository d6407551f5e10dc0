#!/usr/bin/env bash
# pack_test.sh PROGRAM LIBRARY: a pack with a library runs from another folder under an empty environment, and takes from
# the machine nothing but the C library's family.
set -euo pipefail
program=$(realpath "$1") library=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  printf 'FAIL: %s\n' "$1"
  cat said
  exit 1
}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
"$program" pack "$scratch/made" --library "$library" --corpus corpus/mqa_logits >"$scratch/said"
mv "$scratch/made" "$scratch/moved pack"
mkdir "$scratch/elsewhere"
cd "$scratch/elsewhere"
pack="$scratch/moved pack"
in_pack() { env -i "$pack/bin/assay" "$@" >said 2>&1; }

in_pack replay "$pack/corpus" || fail 'the corpus of the pack does not replay'
in_pack run --cases 12 --seed 1 --jobs 1 --property output_enclosed --accept-blunt || fail 'a run in the pack fails'
in_pack run --cases 4 --seed 1 --jobs 1 --property output_enclosed --types f16 --accept-blunt \
  --library "$pack/lib/$(basename "$library")" || fail 'the library of the pack does not run'
grep -q -- '--library lib/' "$pack/README.md" || fail 'the README does not name the library'

env -i LD_TRACE_LOADED_OBJECTS=1 "$pack/bin/assay" >said # as ldd does
grep -q not.found said && fail 'the pack lacks a library'
others=$(awk '$2 == "=>" {print $3}' said | grep -v "^$scratch" |
  grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so\.[0-9]+$' || true)
[[ -z $others ]] || fail "the pack takes libraries of the machine: $others"

got=0
in_pack run --platform nvidia || got=$?
[[ $got -eq 3 ]] && grep -q 'not built' said || fail 'a platform that is not in the pack is not named'
got=0
"$program" pack "$pack" >said 2>&1 || got=$?
[[ $got -eq 2 && $(wc -l <said) -eq 1 ]] || fail 'a pack was made over another one'
got=0
"$program" pack "$scratch/half" --corpus "$scratch/none" >said 2>&1 || got=$?
[[ $got -eq 2 && ! -e $scratch/half ]] || fail 'a pack without a corpus is half there'
echo 'no library' >"$scratch/text.so"
got=0
"$program" pack "$scratch/half" --library "$scratch/text.so" --corpus "$pack/corpus" >said 2>&1 || got=$?
[[ $got -eq 3 && $(ls -A "$scratch") == $'elsewhere\nmoved pack\nsaid\ntext.so' ]] || fail 'a failed pack leaves something'
mkdir -p "$scratch/c1" "$scratch/c2" "$scratch/l2"
cp "$(find "$pack/corpus" -name '*.json' | head -1)" "$scratch/c1/x.json"
cp "$scratch/c1/x.json" "$scratch/c2/"
refused() { # TEXT ARGUMENT...: the pack is not made, and one line says why
  local got=0 text=$1
  shift
  "$program" pack "$@" >said 2>&1 || got=$?
  [[ $got -eq 2 && $(wc -l <said) -eq 1 ]] && grep -q "$text" said || fail "not refused: $*"
}
refused 'have one name in the pack' "$scratch/half" --corpus "$scratch/c1" --corpus "$scratch/c2"
refused 'lies in the corpus' "$scratch/c1/inside" --corpus "$scratch/c1"
cp "$library" "$scratch/l2/"
refused 'have one name' "$scratch/half" --library "$library" --library "$scratch/l2/$(basename "$library")" \
  --corpus "$scratch/c1"
[[ ! -e $scratch/half && ! -e $scratch/c1/inside ]] || fail 'a refused pack leaves something'
