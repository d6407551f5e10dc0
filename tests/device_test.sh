#!/usr/bin/env bash
# The program on a GPU's platform, over the driver and the library of tests/device in place of a GPU and its kernels: both
# platforms are judged and compared, a planted fault is caught there, and compute-sanitizer (a script here, which runs the
# program as the tools do) is asked about sound and faulty kernels.
set -euo pipefail
program=$1
build=$(cd "$(dirname "$program")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$build/lib/fake ASSAY_FAKE_DEVICE_KERNELS=$build/lib/assay_kernels_cpu_unchecked.so
mkdir -p "$scratch/bin" "$scratch/lib" "$scratch/tools"
cp "$program" "$scratch/bin/assay"
cp "$build/lib/assay_kernels_cpu_unchecked.so" "$scratch/lib/"
cp "$build/lib/fake/fake_device.so" "$scratch/lib/assay_kernels_nvidia.so"
cp "$build/lib/fake/fake_device.so" "$scratch/lib/fault_missing_rescale_nvidia.so" # wrong, by its name

fail() {
  printf '%s\n' "$1"
  exit 1
}

must() { # STATUS PATTERN ARGUMENT...: the program exits so and prints the pattern
  local want=$1 pattern=$2 status=0
  shift 2
  "$scratch/bin/assay" "$@" >"$scratch/out" 2>&1 || status=$?
  [[ $status -eq $want ]] || { cat "$scratch/out"; fail "'$*' exited with $status, not $want"; }
  grep -qE "$pattern" "$scratch/out" || { cat "$scratch/out"; fail "'$*' did not print: $pattern"; }
}

few=(--kernel split_kv --property output_enclosed --types f16 --cases 24 --seed 1 --accept-blunt)
must 0 '^nvidia \(.*assay_kernels_nvidia.so\) against cpu \(built-in\) on [0-9]+ cases' \
  run --platform cpu,nvidia "${few[@]}" --json "$scratch/r.json" --findings "$scratch/findings"
# A GPU's unit is what it is: the atoms are for the other library.
must 0 '^nvidia \(.*assay_kernels_nvidia.so\) against cpu \(.*unchecked.so\) on [0-9]+ cases' \
  run --library "$scratch/lib/assay_kernels_cpu_unchecked.so" --library "$scratch/lib/assay_kernels_nvidia.so" \
  --atoms hopper --waves 32 "${few[@]}" --findings "$scratch/findings"
must 2 'is a library for nvidia, whose matrix unit is what it is' \
  run --library "$scratch/lib/assay_kernels_nvidia.so" --atoms hopper "${few[@]}"
ASSAY_FAKE_DEVICE=wrong_output must 1 'cpu: pass, nvidia: fail' \
  run --platform cpu,nvidia "${few[@]}" --findings "$scratch/findings"
must 0 '^1 of 1 fault is caught' \
  faults missing_rescale --platform nvidia --libraries "$scratch/lib" --findings "$scratch/findings"

sanitizer=(faults missing_rescale --platform nvidia --compute-sanitizer --libraries "$scratch/lib" --cases 2
  --findings "$scratch/logs" --corpus "$scratch/corpus" --json "$scratch/tools.json")
mkdir "$scratch/corpus"
cp corpus/split_kv/rocmlir_2371_current_length_0_1_max.json corpus/split_kv/ck_unified_odd_first_tile.json "$scratch/corpus/"
PATH=/usr/bin:/bin must 3 '^assay: --compute-sanitizer: there is no compute-sanitizer on PATH$' "${sanitizer[@]}"
cat >"$scratch/tools/compute-sanitizer" <<'END'
#!/bin/bash
tool=$2
shift 4
echo "========= COMPUTE-SANITIZER"
"$@"
case "$tool $*" in
  memcheck*fault_missing_rescale_nvidia.so*) echo "========= Invalid __global__ read of size 4 bytes"
    echo "========= ERROR SUMMARY: 1 error" ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
END
chmod +x "$scratch/tools/compute-sanitizer"
PATH=$scratch/tools:$PATH must 0 '^missing_rescale +[1-9] +1 +- +- +-  memcheck: Invalid __global__ read' "${sanitizer[@]}"
grep -qE '^none +2 +- +- +- +-$' "$scratch/out" || { cat "$scratch/out"; fail "sound kernels are complained about"; }
grep -q ' 2 pass, 0 fail' "$scratch/logs/none.synccheck.txt" || fail "the sound kernels did not run under the tools"
grep -q '"faults_seen":1' "$scratch/tools.json" || fail "the report does not count the fault"
