#!/bin/sh
# All patches of kernels apply, to the line: those of the faults that each build makes, and those of the others, which
# only the night makes. Exit: 0 all do, 1 one does not.
set -eu
cd "$(dirname "$0")/../.."
status=0
for patch in tests/faults/*.patch tests/faults/space/*.patch tests/kernels/few_registers/*.patch; do
  patch -p1 --dry-run -F0 -s -i "$patch" || { echo "does not apply: $patch"; status=1; }
done
exit $status
