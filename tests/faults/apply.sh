#!/bin/sh
# All patches of kernels apply, each at the line that it names: those of the faults that each build makes, and those of
# the others, which only the night makes. Exit: 0 all do, 1 one does not.
set -eu
cd "$(dirname "$0")/../.."
status=0
for patch in tests/faults/*.patch tests/faults/space/*.patch tests/kernels/few_registers/*.patch; do
  if ! output=$(patch -p1 --dry-run -F0 --verbose -i "$patch") || [ "${output#* (offset }" != "$output" ]; then
    echo "does not apply: $patch: $output"
    status=1
  fi
done
exit $status
