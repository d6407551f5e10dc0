#!/usr/bin/env bash
# orders_test.sh PROGRAM ORDERS: sound kernels in five orders, of which no order is declared, fail in no case, whether they
# declare their types or nothing; one that loses a part of the keys does. `orders_test.sh PROGRAM ORDERS CASES` runs so
# many cases of each.
set -euo pipefail
program=$(realpath "$1") library=$(realpath "$2") cases=${3:-60}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
seed=0
run() { # STATUS ORDER DECLARES
  local got=0
  seed=$((seed + 1))
  ASSAY_ORDER=$2 ASSAY_DECLARES=$3 "$program" run --library "$library" --property output_enclosed --seed "$seed" \
    --cases "$cases" --accept-blunt >said 2>&1 || got=$?
  grep -E '^[0-9]+ cases in' said | sed "s/^/$2, declares $3: /" || true
  local passed
  passed=$(sed -nE 's/^[0-9]+ cases in .*: ([0-9]+) pass,.*/\1/p' said)
  [[ $1 -ne 0 || $((10 * ${passed:-0})) -ge $((9 * cases)) ]] || { cat said; printf 'FAIL: %s: too few cases pass\n' "$2"; exit 1; }
  [[ $got -eq $1 ]] || { cat said; printf 'FAIL: %s, which declares %s: exit status %s\n' "$2" "$3" "$got"; exit 1; }
}
for declares in nothing types; do
  for order in ascending descending waves tokens two_pass; do run 0 "$order" "$declares"; done
  run 1 lost_wave "$declares"
done
