#!/usr/bin/env bash
# A short campaign of real libFuzzer processes with the program and the kernel library of a planted fault given: from an
# empty corpus it finds the fault, and the line that it prints replays the finding. Campaigns begin with the cases that
# they are given, and refuse files that are none. Then the campaign is killed (-9) at random moments KILLS times (default
# 4): every finding that was reported is still there, and the corpus is readable.
# Skipped (77) where there is no target linked with libFuzzer.
set -euo pipefail
program=$1 library=$2
folder=$(dirname "$program")
target=fuzz_split_kv
binary=
for place in "$folder/../../fuzz/bin/$target" "$folder/$target"; do
  if grep -qs max_total_time "$place"; then binary=$place; break; fi
done
[[ -n $binary ]] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
RANDOM=1

campaign() { # SECONDS OUT: a campaign in this shell's place
  exec "$program" fuzz "$target" --library "$library" --seconds "$1" --jobs 2 --seed "$RANDOM" --dir "$scratch/state" \
    --empty >"$2" 2>&1
}

reported() { # OUT...: files of the findings reported
  sed -n 's/^FINDING \(([a-z]*) \)\?\([^ ]*\): [a-z].*/\2/p' "$@" | sort -u
}

status=0
(campaign 20 "$scratch/first.txt") || status=$?
cat "$scratch/first.txt"
[[ $status -eq 1 ]] || { echo "the campaign exited with $status, not 1"; exit 1; }
replay=$(grep -m1 '^\./assay replay' "$scratch/first.txt")
status=0
bash -c "${replay/.\/assay/$program}" || status=$?
[[ $status -eq 1 ]] || { echo "'$replay' exited with $status, not 1"; exit 1; }

# In a pack the target finds its libraries, and the program the target.
"$program" pack "$scratch/pack" --target "$target" --corpus corpus/split_kv
(cd "$scratch/pack" && env -i bin/assay fuzz "$target" --seconds 1 --jobs 1 --dir state >../packed.txt) ||
  { cat "$scratch/packed.txt"; echo "no campaign in a pack"; exit 1; }

# A case becomes an input, a file that is none is refused with its name.
"$program" fuzz "$target" --seconds 1 --jobs 1 --dir "$scratch/seeded" --seeds corpus/split_kv >"$scratch/seeded.txt"
grep -qE " [1-9][0-9]+ seeds, 0 too long" "$scratch/seeded.txt" || { cat "$scratch/seeded.txt"; echo "no seeds"; exit 1; }
echo '{"kernel": 7}' >"$scratch/odd.json"
status=0
"$program" fuzz "$target" --seconds 1 --dir "$scratch/odd" --seeds "$scratch/odd.json" 2>"$scratch/odd.txt" || status=$?
[[ $status -eq 2 && $(wc -l <"$scratch/odd.txt") -eq 1 ]] && grep -q "odd.json" "$scratch/odd.txt" ||
  { cat "$scratch/odd.txt"; echo "a seed that is no case: status $status"; exit 1; }

mv "$scratch/state" "$scratch/found_before"
for ((i = 0; i < ${KILLS:-4}; ++i)); do
  campaign 60 "$scratch/$i.txt" &
  sleep "$((RANDOM % 6)).$((RANDOM % 10))"
  kill -9 $!
  wait $! || true
done
status=0
(campaign 15 "$scratch/last.txt") || status=$?
cat "$scratch/last.txt"
[[ $status -le 1 ]] || { echo "after the kills, the campaign exited with $status"; exit 1; }
total=0
for file in $(reported "$scratch"/[0-9]*.txt "$scratch/last.txt"); do
  [[ -s $file ]] || { echo "$file was reported, and is not there"; exit 1; }
  total=$((total + 1))
done
for artifact in "$scratch"/state/artifacts/*; do
  [[ ! -e $artifact ]] || { echo "$artifact was not examined"; exit 1; }
done
entries=$(find "$scratch/state/corpus" -type f | wc -l)
"$binary" -runs=0 "$scratch/state/corpus" >"$scratch/runs.txt" 2>&1 ||
  { tail "$scratch/runs.txt"; echo "the corpus cannot be run"; exit 1; }
echo "$total findings reported, all there; $entries corpus entries, all readable"
[[ $total -ge 1 && $entries -ge 1 ]]
