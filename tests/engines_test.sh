#!/usr/bin/env bash
# Builds the fuzz targets by the contract of OSS-Fuzz (fuzz/oss-fuzz/build.sh in an environment that looks like its
# builder's), then runs what came out.
#   engines_test.sh libfuzzer     AddressSanitizer; every target runs its seeds and 100 inputs more
#   engines_test.sh afl           AFL++ fuzzes a target for a minute, without a crash and without a hang
# Exits 77 where AFL++ or zip are not installed.
set -euo pipefail
engine=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$root/build/engines/$engine
rm -rf "$scratch"  # the compiler's cache makes a second run short
mkdir -p "$scratch"
for tool in zip unzip; do command -v "$tool" >/dev/null || { echo "no $tool"; exit 77; }; done

export SRC=$scratch/src WORK=$scratch/work OUT=$scratch/out CC=clang-19 CXX=clang++-19
mkdir -p "$SRC" "$WORK" "$OUT"
ln -s "$root" "$SRC/assay"
base='-O1 -fno-omit-frame-pointer -gline-tables-only'
case $engine in
  libfuzzer)
    export SANITIZER=address CFLAGS="$base -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
    export LIB_FUZZING_ENGINE=-fsanitize=fuzzer
    ;;
  afl)
    for file in /usr/bin/afl-fuzz /usr/lib/afl/libAFLDriver.a /usr/lib/afl/afl-compiler-rt.o; do
      [[ -e $file ]] || { echo "no AFL++ ($file)"; exit 77; }
    done
    # What afl-clang-fast makes of its native mode, whatever clang it was itself built for.
    export SANITIZER=none CFLAGS="$base -fsanitize-coverage=trace-pc-guard"
    export LIB_FUZZING_ENGINE=/usr/lib/afl/libAFLDriver.a
    # To link with that flag would bring in UBSan's runtime, whose handlers the checker of loads and stores has itself.
    export LDFLAGS='-fno-sanitize-coverage=trace-pc-guard /usr/lib/afl/afl-compiler-rt.o'
    ;;
  *) echo "engines_test.sh: no engine '$engine'" >&2; exit 2 ;;
esac
export CXXFLAGS=$CFLAGS

bash "$root/fuzz/oss-fuzz/build.sh"

fail() { echo "FAIL: $*"; exit 1; }
mapfile -t targets <"$WORK/assay/fuzz_targets.txt"
[[ ${#targets[@]} -ge 7 ]] || fail "${#targets[@]} targets"
for target in "${targets[@]}"; do
  [[ $target =~ ^[A-Za-z0-9_-]+$ && -x $OUT/$target && -s $OUT/$target.options ]] || fail "$target is not whole"
  # Only the C and C++ libraries may be missing from a runner's image.
  extra=$(ldd "$OUT/$target" | awk '{print $1}' | grep -vE '^(linux-vdso|/lib64/ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|resolv)\.)' || true)
  [[ -z $extra ]] || fail "$target needs $extra"
  if [[ -f $OUT/${target}_seed_corpus.zip ]]; then
    mkdir -p "$scratch/seeds/$target"
    unzip -q "$OUT/${target}_seed_corpus.zip" -d "$scratch/seeds/$target"
  fi
done
mapfile -t kernels < <(cd "$root/corpus" && printf 'fuzz_%s\n' */ | tr -d /)
for target in "${kernels[@]}" fuzz_case fuzz_oracle fuzz_problem; do
  [[ -n $(ls -A "$scratch/seeds/$target" 2>/dev/null) ]] || fail "$target has no seeds"
done
[[ -s $OUT/fuzz_case.dict ]] || fail "fuzz_case has no dictionary"

if [[ $engine == libfuzzer ]]; then
  for target in "${targets[@]}"; do
    mkdir -p "$scratch/seeds/$target"
    runs=$(($(find "$scratch/seeds/$target" -type f | wc -l) + 100))  # those of the seeds count
    "$OUT/$target" "-runs=$runs" -seed=1 -timeout=25 -rss_limit_mb=2560 "$scratch/seeds/$target" >"$scratch/log" 2>&1 ||
      { tail -n 40 "$scratch/log"; fail "$target"; }
    [[ $(sed -n 's/^Done \([0-9]*\) runs in .*/\1/p' "$scratch/log") -ge $runs ]] || fail "$target did not run $runs inputs"
  done
else
  export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1
  seeds=$scratch/seeds/fuzz_split_kv
  afl-fuzz -V 60 -t 5000 -m none -i "$seeds" -o "$scratch/afl" -- "$OUT/fuzz_split_kv" >"$scratch/log" 2>&1 ||
    { tail -n 40 "$scratch/log"; fail "afl-fuzz"; }
  stats=$scratch/afl/default/fuzzer_stats
  grep -E '^(execs_done|execs_per_sec|corpus_count|edges_found|saved_crashes|saved_hangs)' "$stats"
  for saved in saved_crashes saved_hangs; do  # compared as text: what is not there is not 0
    [[ $(awk -v key=$saved '$1 == key {print $3}' "$stats") == 0 ]] || fail "AFL++: $saved is not 0"
  done
  [[ $(awk '/^corpus_count/ {print $3}' "$stats") -gt $(find "$seeds" -type f | wc -l) ]] || fail "nothing new was found"
fi
echo "$engine: ${#targets[@]} targets"
