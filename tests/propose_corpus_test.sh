#!/usr/bin/env bash
# .github/propose-corpus among stand-ins for assay, git and gh: a case that fails (status 1) does not keep it from
# minimizing and proposing; bad input and a lacking environment do, and are its status.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/.github" "$scratch/bin" "$scratch"/corpus/{split_kv,batch_prefill,mqa_logits} "$scratch"/out/nightly/campaigns/fuzz_{split_kv,batch_prefill,mqa_logits}/corpus
touch "$scratch"/out/nightly/campaigns/fuzz_{split_kv,mqa_logits}/corpus/found # the third found nothing
cp "$root/.github/propose-corpus" "$scratch/.github/"
# shellcheck disable=SC2016 # the stand-ins expand these
printf '#!/bin/sh\necho "assay $*" >>"$CALLS"\ncase $2 in merge) exit "$MERGE" ;; *) exit "$MINIMIZE" ;; esac\n' >"$scratch/assay"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "${0##*/} $1" >>"$CALLS"\ncase $1 in status) echo "?? corpus/x" ;; esac\n' >"$scratch/bin/git"
cp "$scratch/bin/git" "$scratch/bin/gh"
chmod +x "$scratch/assay" "$scratch"/bin/*
export PATH=$scratch/bin:$PATH CALLS=$scratch/calls

fail() { echo "FAIL: $*"; cat "$CALLS"; exit 1; }
propose() { # MERGE MINIMIZE: the statuses of the two; its own goes to `status`
  : >"$CALLS"
  status=0
  MERGE=$1 MINIMIZE=$2 bash "$scratch/.github/propose-corpus" >/dev/null 2>&1 || status=$?
}

for statuses in '0 0' '1 0' '0 1' '1 1'; do
  read -r merge minimize <<<"$statuses"
  propose "$merge" "$minimize"
  [[ $status -eq 0 ]] || fail "status $status after $statuses"
  [[ $(grep -c '^assay corpus merge corpus out/.* --write$' "$CALLS") -eq 2 ]] || fail "not every target merged"
  grep -qx 'assay corpus minimize corpus --write' "$CALLS" || fail "nothing minimized after $statuses"
  grep -qx 'gh pr' "$CALLS" || fail "nothing proposed after $statuses"
done
for statuses in '2 0' '3 0' '0 2' '0 3'; do
  read -r merge minimize <<<"$statuses"
  propose "$merge" "$minimize"
  [[ $status -eq $((merge + minimize)) ]] || fail "status $status after $statuses"
  ! grep -q '^gh' "$CALLS" || fail "proposed after $statuses"
done
