#!/usr/bin/env bash
# Campaigns of real libFuzzer processes in which a GPU's library judges beside the cpu kernels: over the driver and the
# library of tests/device, as the library that --platform nvidia names. With sound kernels nothing is found, and the
# speed of both sides is printed. Kernels that are wrong on the device alone, and an error of the device, are findings named
# by platform; the line printed replays them there.
# Skipped (77) where there is no target linked with libFuzzer.
set -euo pipefail
program=$1
build=$(cd "$(dirname "$program")/.." && pwd)
target=fuzz_split_kv
grep -qs max_total_time "$build/../fuzz/bin/$target" || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$build/lib/fake ASSAY_FAKE_DEVICE_KERNELS=$build/lib/assay_kernels_cpu_unchecked.so

# A build folder of which the kernels for GPUs are the fake ones.
mkdir -p "$scratch/bin" "$scratch/lib"
cp "$program" "$scratch/bin/assay"
cp "$build/lib/assay_kernels_cpu_unchecked.so" "$scratch/lib/"
cp "$build/lib/fake/fake_device.so" "$scratch/lib/assay_kernels_nvidia.so"

fail() {
  printf '%s\n' "$1"
  exit 1
}

campaign() { # STATUS NAME: one that must exit so; its output goes to NAME.txt
  local status=0
  "$scratch/bin/assay" fuzz "$target" --platform nvidia --targets "$build/../fuzz/bin" --seconds 12 --jobs 2 --seed 1 \
    --shrink 5 --dir "$scratch/$2" --json "$scratch/$2.json" >"$scratch/$2.txt" 2>&1 || status=$?
  cat "$scratch/$2.txt"
  [[ $status -eq $1 ]] || fail "the campaign $2 exited with $status, not $1"
}

said() { # NAME PATTERN
  grep -qE "$2" "$scratch/$1.txt" || fail "the campaign $1 did not say: $2"
}

campaign 0 sound
said sound '^cpu: [1-9][0-9]* runs, [1-9][0-9]* decided, [0-9.]+ executions/s'
said sound '^nvidia: [1-9][0-9]* runs, [1-9][0-9]* decided, [0-9.]+ executions/s'
grep -q '"by_platform":\[{"platform":"cpu"' "$scratch/sound.json" || fail "the report has no speeds by platform"

ASSAY_FAKE_DEVICE=wrong_output campaign 1 wrong
said wrong '^FINDING .*: enclosure: nvidia: o\['
replay=$(grep -m1 '^\./assay replay --platform nvidia ' "$scratch/wrong.txt")
status=0
ASSAY_FAKE_DEVICE=wrong_output bash -c "${replay/.\/assay/$scratch/bin/assay}" || status=$?
[[ $status -eq 1 ]] || fail "'$replay' exited with $status, not 1"
status=0
bash -c "${replay/.\/assay replay --platform nvidia/$scratch/bin/assay replay}" || status=$?
[[ $status -eq 0 ]] || fail "the cpu kernels fail the case too: exit status $status"

ASSAY_FAKE_DEVICE=error campaign 1 broken
said broken '^FINDING .*: memory: nvidia: the device: an illegal memory access was encountered \(CUDA_ERROR_ILLEGAL_ADDRESS, 700\)'
said broken '[0-9]+ executions in .* by ([2-9]|[1-9][0-9]+) processes'
