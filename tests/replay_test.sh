#!/usr/bin/env bash
# replay_test.sh PROGRAM KERNEL...: replays the whole corpus. Every case passes and says why it is there, every kernel
# has cases.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
"$1" replay corpus
for case in corpus/*/*.json; do
  grep -q '"why": "..*"' "$case" || { echo "$case: no why"; exit 1; }
done
for kernel in "${@:2}"; do
  compgen -G "corpus/$kernel/*.json" >/dev/null || { echo "corpus/$kernel: no cases"; exit 1; }
done
