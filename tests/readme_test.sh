#!/usr/bin/env bash
# Runs every `./assay` command of README.md's shell blocks with the program given, in a scratch copy of what they read.
# `./assay test` is left to the caller: it would run itself. A command whose line ends in "# exits N" must exit with N.
set -euo pipefail
program=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$root/corpus" "$scratch/"
ln -s "$program" "$scratch/assay"
cd "$scratch"

count=0
while IFS= read -r line; do
  want=0
  [[ $line =~ \#\ exits\ ([0-9]+)$ ]] && want=${BASH_REMATCH[1]}
  command=${line%%#*}
  printf '== %s\n' "$command"
  got=0
  bash -c "$command" </dev/null || got=$?
  [[ $got -eq $want ]] || { printf 'README: %s exited with %d, not %d\n' "$command" "$got" "$want"; exit 1; }
  count=$((count + 1))
done < <(awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on && /^\.\/assay / && !/^\.\/assay test/' "$root/README.md")
[[ $count -ge 3 ]] || { echo "README: only $count commands found"; exit 1; }
