#!/usr/bin/env bash
# Replays the whole corpus with the program given: every case passes, and every case says why it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
"$1" replay corpus
for case in corpus/*/*.json; do
  grep -q '"why": "..*"' "$case" || { echo "$case: no why"; exit 1; }
done
