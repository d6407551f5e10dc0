#!/bin/sh
# All patches of kernels apply, each at the line that it names: those of the faults that each build makes, and those of
# the others, which only the night makes. Exit: 0 all do, 1 one does not.
set -eu
cd "$(dirname "$0")/../.."
applies() { # PATCH
  output=$(LC_ALL=C patch -p1 --dry-run -F0 --verbose -i "$1") && [ "${output#* (offset }" = "$output" ]
}

status=0
for patch in tests/faults/*.patch tests/faults/space/*.patch tests/kernels/few_registers/*.patch \
  tests/kernels/warpgroups/*.patch; do
  applies "$patch" || { echo "does not apply: $patch: $output"; status=1; }
done

# The check itself: a patch that is a line off, and one of a line that is not there, are seen.
moved=$(mktemp)
trap 'rm -f "$moved"' EXIT
for change in 's/^@@ -\([0-9]*\)/@@ -1\1/' 's/^-  .*/-  no such line/'; do
  sed "$change" tests/faults/prefill_missing_ratio.patch >"$moved"
  ! applies "$moved" || { echo "a patch counts as one that applies after sed '$change'"; status=1; }
done
exit $status
