#!/usr/bin/env bash
# python_test.sh BUILD [PYTHON]: the Python package as this build has it. Its own tests; the Python blocks of README.md and
# python/README.md, of which each assertion must hold; and what a wheel installs, which must run by itself.
# Skipped, with a reason, where the build has no module or Python lacks NumPy or pytest.
set -euo pipefail
build=$1 python=${2:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}
[[ -n $python ]] || skip "this build has no Python module (cmake -DASSAY_PYTHON=ON)"
for module in numpy pytest; do
  "$python" -c "import $module" 2>/dev/null || skip "$python has no $module"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1

run_tests() { # PLACE OF THE PACKAGE, ARGUMENTS OF PYTEST...
  (cd "$root" && PYTHONPATH=$1 "$python" -m pytest -q -p assay.pytest_plugin -p no:cacheprovider "${@:2}")
}
run_tests "$build/python" python/tests

count=0
for document in "$root/README.md" "$root/python/README.md"; do
  awk -v to="$scratch/block" '/^```python$/ {on = 1; n++; next} /^```/ {on = 0} on {print > (to n ".py")}' "$document"
  for block in "$scratch"/block*.py; do
    [[ -e $block ]] || continue
    if grep -q "^import.* triton" "$block" && ! "$python" -c 'import triton' 2>/dev/null; then
      printf '== %s: left out, for %s has no triton: %s\n' "$document" "$python" "$(head -1 "$block")"
      rm "$block"
      continue
    fi
    printf '== %s: %s\n' "$document" "$(head -1 "$block")"
    (cd "$scratch" && PYTHONPATH=$build/python:$root/python/tests "$python" "$block") || fail "a block of $document fails"
    rm "$block"
    count=$((count + 1))
  done
done
[[ $count -ge 2 ]] || fail "only $count blocks of Python found in the documents"

# As pip lays it.
cmake --install "$build" --prefix "$scratch/wheel" --component wheel >"$scratch/log" || fail "$(cat "$scratch/log")"
cp -r "$root"/python/assay/*.py "$root/python/assay/triton" "$scratch/wheel/assay"
run_tests "$scratch/wheel" python/tests/test_cases.py
cd "$scratch"
PYTHONPATH=$scratch/wheel "$python" -c 'from assay._program import main; main()' run --cases 4 --seed 1 --jobs 1 \
  --property output_enclosed --kernel mqa_logits --accept-blunt >said || fail "$(cat said)"
for file in wheel/assay/bin/assay wheel/assay/_assay*.so; do
  others=$(ldd "$file" | awk '$2 == "=>" {print $3}' | grep -v "^$scratch" |
    grep -vE '/lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.[0-9]+$' || true)
  [[ -z $others ]] || fail "$file takes more from the machine than the libraries of C and C++: $others"
done
