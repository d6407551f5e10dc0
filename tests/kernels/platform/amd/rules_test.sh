#!/bin/sh
# Builds the kernels for AMD's GPUs and checks the code objects (.ci/amd). It takes minutes, and makes a system with
# ROCm where there is none, so it runs on demand: ASSAY_AMD_TEST=1. Exit: 0 pass, 1 a rule is broken, 77 skipped.
[ -n "${ASSAY_AMD_TEST:-}" ] || { echo "skipped: ASSAY_AMD_TEST=1 runs it"; exit 77; }
out=$("$(dirname "$0")/../../../../.ci/amd") || { printf '%s\n' "$out"; exit 1; }
printf '%s\n' "$out"
case $out in *skipped:*) exit 77 ;; esac
