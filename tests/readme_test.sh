#!/usr/bin/env bash
# Holds the documents to the program given.
# - Runs each line of a ```sh block that begins with `./assay `, in a scratch copy of what it reads. Left out is `./assay
#   test`, which would run this test. A line that ends in "# exits N" must exit with N. Commands that take long, or need
#   what a clone does not have, stand in blocks without a language.
# - The failing run that README.md shows prints what is shown there, where the faulty kernel is built.
# - The table of upstream bugs in README.md is what `assay list faults --markdown` prints.
# - README.md fits on 150 lines, and links between documents lead to files (code blocks apart).
set -euo pipefail
program=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mapfile -t documents < <(cd "$root" && find . -name '*.md' -not -path './build/*' -not -path './out/*' -not -path './.*/*' | sort)

fail() {
  printf '%s\n' "$1"
  exit 1
}

lines=$(wc -l <"$root/README.md")
[[ $lines -le 150 ]] || fail "README.md: $lines lines, more than 150"
for document in "${documents[@]}"; do
  while IFS= read -r link; do
    [[ -e $root/$(dirname "$document")/$link ]] || fail "$document: the link $link leads nowhere"
  done < <(awk '/^```/ {on = !on} !on' "$root/$document" | sed 's/`[^`]*`//g' | grep -oE '\]\([^)#]+' | sed 's/^](//' | grep -v ://)
done

"$program" list faults --markdown >"$scratch/wanted"
sed -n '/^| report |/,/^$/p' "$root/README.md" | sed '/^$/d' >"$scratch/table"
diff -u "$scratch/table" "$scratch/wanted" || fail "README.md: the table is not that of: assay list faults --markdown"

cp -r "$root/corpus" "$root/docs" "$scratch/"
ln -s "$program" "$scratch/assay"
cd "$scratch"
count=0
for document in "${documents[@]}"; do
  while IFS= read -r line; do
    want=0
    [[ $line =~ \#\ exits\ ([0-9]+)$ ]] && want=${BASH_REMATCH[1]}
    command=${line%%#*}
    printf '== %s: %s\n' "$document" "$command"
    got=0
    bash -c "$command" </dev/null || got=$?
    [[ $got -eq $want ]] || fail "$document: $command exited with $got, not $want"
    count=$((count + 1))
  done < <(awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on && /^\.\/assay / && !/^\.\/assay test/' "$root/$document")
done
[[ $count -ge 3 ]] || fail "only $count commands found"

# The block that begins with "$ ./assay": its command, over several lines, and what it prints. Lines with "..." are cut.
awk '/^```/ {on = 0; next} /^\$ \.\/assay/ {on = 1} on' "$root/README.md" >"$scratch/shown"
command=$(sed -n '1,/[^\\]$/p' "$scratch/shown" | sed 's/^\$ //; s/\\$//' | tr -d '\n')
library=$(grep -oE 'build/release/lib/fault_[a-z0-9_]+\.so' <<<"$command")
faulty=$(dirname "$program")/../lib/$(basename "$library")
if [[ -f $faulty ]]; then
  mkdir -p "$(dirname "$library")"
  ln -s "$(realpath "$faulty")" "$library"
  printf '== README.md: %s\n' "$command"
  got=0
  # Twenty seconds of shrinking, the default, may not be enough on a machine that does other things, too.
  bash -c "$command --shrink 300" </dev/null >"$scratch/printed" 2>&1 || got=$?
  [[ $got -eq 1 ]] || fail "README.md: $command exited with $got, not 1"
  while IFS= read -r line; do
    grep -qFx -- "$line" "$scratch/printed" || fail "README.md: $command does not print: $line"
  done < <(sed '1,/[^\\]$/d' "$scratch/shown" | grep -vF ...)
fi
