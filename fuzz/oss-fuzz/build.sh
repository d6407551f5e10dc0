#!/bin/bash -eu
# Builds every fuzz target by the contract of OSS-Fuzz and ClusterFuzzLite: CC, CXX, CFLAGS, CXXFLAGS and
# LIB_FUZZING_ENGINE say how; targets, seed corpora, dictionaries and options go to OUT, all else to WORK. SANITIZER is
# "address", or empty or "none". tests/engines_test.sh runs it for libFuzzer and for AFL++.
set -eu  # however it is called
root=${ASSAY_ROOT:-$SRC/assay}
build=$WORK/assay
sanitizer=${SANITIZER:-}
case $sanitizer in
  address) ;;
  none | coverage | introspector | '') sanitizer= ;;
  *) echo "build.sh: there is no build for SANITIZER=$sanitizer" >&2; exit 2 ;;
esac
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DASSAY_STATIC=ON -DASSAY_FUZZ=ON \
  "-DASSAY_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" "-DASSAY_SANITIZE=$sanitizer"
ninja -C "$build" fuzz_targets

while read -r target; do
  cp "$build/bin/$target" "$OUT/"
  seeds=$WORK/seeds/$target
  rm -rf "$seeds"
  mkdir -p "$seeds"
  ASSAY_FUZZ_SEEDS=$seeds "$OUT/$target" "$root"/corpus/*/*.json
  if [[ -n $(ls -A "$seeds") ]]; then (cd "$seeds" && zip -q -X -r "$OUT/${target}_seed_corpus.zip" .); fi
  [[ ! -f $root/fuzz/$target.dict ]] || cp "$root/fuzz/$target.dict" "$OUT/"
  printf '[libfuzzer]\nmax_len = 4096\n' >"$OUT/$target.options"
done <"$build/fuzz_targets.txt"
