#!/bin/sh
# The tests of the tools that read AMD's code objects. Exit: 0 pass, 77 there is no Python.
python=$(command -v python3) || { echo "skipped: python3 is not installed"; exit 77; }
exec "$python" "$(dirname "$0")/tools_test.py"
