#!/usr/bin/env bash
# atoms_test.sh PROGRAM: small cases of the corpus pass with the exact atoms of every unit that --atoms names: a third of
# the cases, each unit another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cases=()
for case in corpus/{split_kv,batch_prefill,mqa_logits}/*.json; do
  [[ $case == */ck_* ]] || cases+=("$case")  # these are large
done
atoms=$({ "$1" replay --atoms none 2>&1 || true; } | sed -n "s/.*no atoms 'none' (\([^)]*\)).*/\1/p" | tr -d ,)
[[ $atoms == *hopper*ieee* ]] || { echo "--atoms names no atoms: $atoms"; exit 1; }
turn=0
for name in $atoms; do
  echo "$name"
  chosen=()
  for ((i = turn++ % 3; i < ${#cases[@]}; i += 3)); do chosen+=("${cases[i]}"); done
  "$1" replay "${chosen[@]}" --unchecked --property output_enclosed --atoms "$name" | tail -1
done
