#!/usr/bin/env bash
# Makes the pages of real runs, and looks at them in a browser (check_pages.py): a run that passes, a wrong descale, the
# same in shards, a data race, a run without a case, one whose cases are discarded, a replay and an explained case.
#   pages_test.sh ASSAY LIBRARIES [FOLDER]   LIBRARIES: where the faulty kernels are; FOLDER: keeps pages and pictures
# Exits with 77, and says why, where Chromium, Python or a faulty kernel is absent.
set -euo pipefail
assay=$1
libraries=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folder=${3:-$scratch}
mkdir -p "$folder"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[[ -n $browser ]] || { echo "skipped: there is no Chromium (Debian's package: chromium)"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: there is no Python"; exit 77; }
descale=$libraries/fault_prefill_early_saved_v_descale.so race=$libraries/fault_missing_barrier.so
for library in "$descale" "$race"; do
  [[ -f $library ]] || { echo "skipped: $library is not built (./assay faults)"; exit 77; }
done

fail() {
  printf '%s\n' "$1"
  exit 1
}

# page WANTED-STATUS NAME ARGUMENT...
page() {
  local want=$1 name=$2 got=0
  shift 2
  "$assay" "$@" --html "$folder/$name.html" >"$scratch/$name.txt" 2>&1 || got=$?
  [[ $got -eq $want ]] || fail "$name exited with $got, not $want: $(tail -n 3 "$scratch/$name.txt")"
}

# holds NAME TEXT...
holds() {
  local name=$1 text
  for text in "${@:2}"; do
    grep -qF -- "$text" "$folder/$name.html" || fail "$name.html does not have: $text"
  done
}

run=(run --shrink 5 --jobs 2 --findings "$scratch/findings")
page 0 pass "${run[@]}" --kernel append_kv --cases 200 --seed 3 --accept-blunt
page 1 descale "${run[@]}" --library "$descale" --kernel batch_prefill --cases 60 --seed 3
for i in 1 2; do # the library is not asked again for the page of both
  "$assay" "${run[@]}" --library "$descale" --kernel batch_prefill --cases 60 --seed 3 --shard $i/2 \
    --json "$scratch/$i.json" >"$scratch/shard.txt" 2>&1 || [[ $? -eq 1 ]] || fail "shard $i: $(tail -n 3 "$scratch/shard.txt")"
done
page 1 merged merge-reports "$scratch/1.json" "$scratch/2.json"
page 1 race "${run[@]}" --library "$race" --kernel split_kv --cases 20 --seed 3
page 1 empty "${run[@]}" --kernel split_kv --seconds 0.000001 --seed 1
page 1 discarded "${run[@]}" --kernel split_kv --cases 20 --seed 1 --workspace-budget 1
case=$(find "$scratch/findings" -name 'output_enclosed-*.json' -exec grep -l batch_prefill {} + | head -n 1)
page 1 replay replay --library "$descale" "$case"
page 1 explain explain --library "$descale" "$case"
holds pass 'class="verdict pass"' 'Slowest cases' 'Teeth of append_kv'
holds descale 'DEFECT' 'Heat map of the error of o' 'By lane' 'from the exact result' 'Pages of the pool'
holds merged 'DEFECT' 'merged from 2 reports' 'Heat map of the error of o' 'By lane' 'Pages of the pool'
# The checker's own message becomes a timeline.
holds race 'Who touched the bytes' 'Timeline of the race on LDS byte' 'split_kv_kernel.hpp, line' '<mark>'
holds empty 'NOT VERIFIED' 'No case ran'
holds discarded 'NOT VERIFIED' 'See under Remarks'
holds replay 'DEFECT' 'Heat map of the error of o'
holds explain 'DEFECT' 'Where the element comes from'
python3 "$here/check_pages.py" "$browser" "$folder" pass descale merged race empty discarded replay explain
