#!/usr/bin/env bash
# ./assay (or the LAUNCHER given) in scratch checkouts, among stand-ins for cmake, ninja, dpkg and apt: nothing is
# compiled or installed. Names all that fails, not only the first.
#   launcher_test.sh [LAUNCHER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
launcher=${1:-$root/assay}
scratch=$(realpath "$(mktemp -d)")
trap 'rm -rf "$scratch"' EXIT
unset ASSAY_PRESET ASSAY_CI CDPATH ABSENT OFFERED BROKEN HOLD # as a test of a preset may have set them
export ASSAY_NO_INSTALL=1 SCRATCH=$scratch PATH=$scratch/bin:$PATH
mkdir -p "$scratch"/{bin,links,checkout,elsewhere/checkout}
cp "$launcher" "$scratch/checkout/assay"
echo first >"$scratch/checkout/name"

# Like the true one, it leaves its cache where configuring fails.
cat >"$scratch/bin/cmake" <<'STUB'
#!/usr/bin/env bash
set -eu
build=build/$2
mkdir -p "$build/bin"
[[ ! -e $build/CMakeCache.txt ]] || grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$build/CMakeCache.txt"
printf 'CMAKE_%s:INTERNAL=%s\n' CACHEFILE_DIR "$PWD/$build" HOME_DIRECTORY "$PWD" >"$build/CMakeCache.txt"
echo configured >>"$SCRATCH/calls"
if [[ ${BROKEN:-} == cmake ]]; then
  printf 'CMake Error at CMakeLists.txt:2 (project):\n  No compiler\n'
  exit 1
fi
echo "$PWD" >"$build/build.ninja"
STUB
# Builds a program that prints the name of the sources that were configured. Two of it in one folder fail.
cat >"$scratch/bin/ninja" <<'STUB'
#!/usr/bin/env bash
set -eu
if [[ ${BROKEN:-} == ninja ]]; then
  printf '[  1%%] Building a.o\nFAILED: a.o\na.cpp:1:2: error: no such thing\n1 error generated.\n'
  printf 'the end of job %d\n' {1..40}
  exit 1
fi
name=$(cat "$(cat "$2/build.ninja")/name")
echo "$2: ${*:3}" >>"$SCRATCH/built"
mkdir "$2/busy"
for ((i = 0; i < 200; ++i)); do
  [[ -n ${HOLD:-} && ! -e $SCRATCH/go ]] || break
  sleep 0.05
done
rmdir "$2/busy"
if [[ -n ${DAEMON:-} ]]; then sleep 30 >"$SCRATCH/daemon" 2>&1 & fi
[[ ${BROKEN:-} != program ]] || exit 0
printf '#!/bin/sh\n[ "$1" != again ] || exec timeout 10 "$2" list\necho "%s: $*"\n' "$name" >"$2/bin/assay_new"
chmod +x "$2/bin/assay_new"
mv "$2/bin/assay_new" "$2/bin/assay"
STUB
# Each package is there, and each is offered in a new version, unless the environment says otherwise.
cat >"$scratch/bin/dpkg-query" <<'STUB'
#!/bin/sh
for package; do :; done
case " ${ABSENT:-} " in *" $package "*) exit 1 ;; esac
echo installed 99
STUB
# shellcheck disable=SC2016 # the stand-ins expand these
{
  printf '#!/bin/sh\necho "  Candidate: ${OFFERED:-99}"\n' >"$scratch/bin/apt-cache"
  printf '#!/bin/sh\necho "$*" >>"$SCRATCH/apt"\n[ "$1" != indextargets ]\n' >"$scratch/bin/apt-get"
  printf '#!/bin/sh\nexec "$@"\n' >"$scratch/bin/sudo"
}
printf '#!/bin/sh\nexit 0\n' >"$scratch/bin/dpkg"
chmod +x "$scratch"/bin/*
cd "$scratch"

failed=0
fail() {
  echo "FAIL: $*"
  sed 's/^/  | /' printed errors
  failed=1
}
expect() { # WHAT STATUS OUTPUT COMMAND...: what it prints to stderr goes to `errors`
  local what=$1 status=$2 output=$3 got=0
  shift 3
  "$@" >printed 2>errors </dev/null || got=$?
  [[ $got -eq $status ]] || fail "$what: status $got, not $status"
  [[ $(<printed) == "$output" ]] || fail "$what: printed otherwise than '$output'"
}
said() { # WHAT REGEX: that is the only line in `errors`
  [[ $(<errors) != *$'\n'* && $(<errors) =~ ^assay:\ $2$ ]] || fail "$1: did not say only '$2'"
}

expect 'a first run' 0 'first: list kernels' checkout/assay list kernels
expect 'a second run' 0 'first: list' checkout/assay list
[[ $(wc -l <calls) -eq 1 && ! -s errors ]] || fail 'a second run configures again, or says something'

# The platform chooses the preset, unless one is chosen.
for arguments in '--platform nvidia' '--platform=cpu,nvidia'; do
  # shellcheck disable=SC2086 # words
  expect "list $arguments" 0 "first: list $arguments" checkout/assay list $arguments
  [[ -d checkout/build/nvidia ]] || fail "list $arguments: takes another preset"
  rm -r checkout/build/nvidia
done
ASSAY_PRESET=debug expect 'a preset and a platform' 0 'first: list --platform nvidia' checkout/assay list --platform nvidia
[[ ! -e checkout/build/nvidia ]] || fail 'a preset and a platform: takes another preset'
expect 'the cpu platform' 0 'first: list --platform cpu' checkout/assay list --platform cpu
[[ ! -e checkout/build/nvidia ]] || fail 'the cpu platform: takes another preset'
# What faults and nights of a GPU need is built for it.
mkdir -p checkout/tests/faults
touch checkout/tests/faults/one.patch
built() { # WHAT TARGETS ARGUMENT...: the last build of the nvidia preset
  local what=$1 targets=$2
  shift 2
  expect "$what" 0 "first: $*" checkout/assay "$@"
  [[ $(grep '/nvidia: ' built | tail -1) == *"/nvidia: $targets" ]] || fail "$what: built $(tail -1 built)"
}
built 'a fault of a GPU' 'assay fault_one_nvidia assay_kernels_nvidia' faults one --platform nvidia
built 'all faults of a GPU' 'assay nvidia_fault_libraries assay_kernels_nvidia' faults --platform nvidia
built 'a night of a GPU' 'assay nvidia_fault_libraries assay_kernels_nvidia' nightly --platform nvidia
expect 'a build' 0 "$scratch/checkout/build/release/bin/assay
$scratch/checkout/build/release/lib/assay_kernels_cpu.so" checkout/assay build
ASSAY_PRESET=nvidia expect 'a build for a GPU' 0 "$scratch/checkout/build/nvidia/bin/assay
$scratch/checkout/build/nvidia/lib/assay_kernels_cpu.so
$scratch/checkout/build/nvidia/lib/assay_kernels_nvidia.so" checkout/assay build
[[ $(tail -1 built) == *'/nvidia: assay assay_kernels_cpu_so assay_kernels_nvidia' ]] ||
  fail "a build for a GPU: built $(tail -1 built)"
expect 'a build of something' 2 '' checkout/assay build something
said 'a build of something' 'build takes no arguments: ASSAY_PRESET chooses what is built'
rm -r checkout/build/{nvidia,fuzz} checkout/tests
rm -r checkout/build/debug calls

expect 'a run after that' 0 'first: list' checkout/assay list

# 1. The build folder of another checkout.
cp -r checkout copy
echo second >copy/name
BROKEN=cmake expect 'a copy that cannot be configured' 3 '' copy/assay list
expect 'a copy that could not be configured' 0 'second: list' copy/assay list
rm -r copy/build
cp -r checkout/build copy
expect 'a copy' 0 'second: list' copy/assay list
said 'a copy' "$scratch/copy/build/release was made for $scratch/checkout; configuring it anew"
expect 'a copy, again' 0 'second: list' copy/assay list
[[ ! -s errors ]] || fail 'a copy, again: says something'
mv copy moved
expect 'a moved checkout' 0 'second: list' moved/assay list
cp -r moved/build/release moved/build/debug
ASSAY_PRESET=debug expect 'a copied build folder' 0 'second: list' moved/assay list
said 'a copied build folder' "$scratch/moved/build/debug was made for $scratch/moved; configuring it anew"
mkdir linked
cp checkout/assay linked
echo third >linked/name
ln -s ../checkout/build linked/build
expect 'a linked build folder' 0 'third: list' linked/assay list
expect 'the checkout that all came from' 0 'first: list' checkout/assay list

# 2. Folders that it may not write.
mkdir unwritable
cp checkout/assay unwritable
touch unwritable/build
expect 'no folder to build in' 3 '' unwritable/assay list
said 'no folder to build in' "cannot write to $scratch/unwritable/build"
rm unwritable/build
mkdir -p unwritable/build/log.txt
expect 'no log' 3 '' unwritable/assay list
said 'no log' "cannot write to $scratch/unwritable/build"
rm -r unwritable/build
chmod a-w unwritable
chmod 755 "$scratch"
as_user=()
if [[ $EUID -eq 0 ]]; then as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi # root may write everywhere
if "${as_user[@]}" test -x "$scratch/unwritable/assay" 2>errors; then
  expect 'a folder without permission' 3 '' "${as_user[@]}" unwritable/assay list
  said 'a folder without permission' "cannot write to $scratch/unwritable/build"
else
  echo 'not tried: a folder without permission, as another user cannot be had here'
fi
chmod u+w unwritable

# 3. Two at once: the first one's ninja holds until there is `go`.
: >second
HOLD=yes checkout/assay list >first 2>&1 </dev/null &
one=$!
for ((i = 0; i < 100; ++i)); do [[ ! -d checkout/build/release/busy ]] || break; sleep 0.05; done
checkout/assay list >second 2>&1 </dev/null &
two=$!
for ((i = 0; i < 100; ++i)); do
  if grep -q waiting second || ! kill -0 "$two" 2>errors; then break; fi
  sleep 0.05
done
sleep 0.5 # long enough for one that does not wait to meet the first one's ninja
touch go
wait "$one" || { cp first errors && fail 'the first of two failed'; }
wait "$two" || { cp second errors && fail 'the second of two failed'; }
[[ $(<second) == 'assay: waiting for '*$'\nfirst: list' ]] ||
  { cp second errors && fail 'the second of two did not wait'; }
# A program that runs keeps no launcher waiting.
expect 'a launcher within a program' 0 'first: list' checkout/assay again checkout/assay
DAEMON=yes expect 'a build that leaves a process behind' 0 'first: list' checkout/assay list
expect 'a launcher after it' 0 'first: list' timeout 10 checkout/assay list
[[ ! -s errors ]] || fail 'a launcher after it: waits'

# 4. Links and CDPATH.
ln -s ../checkout/assay links/assay
ln -s links/assay link
expect 'a link to a link' 0 'first: list' ./link list
PATH=links:$PATH expect 'a link in PATH' 0 'first: list' assay list
CDPATH=$scratch expect 'with CDPATH' 0 'first: list' checkout/assay list
CDPATH=$scratch/elsewhere expect 'with another CDPATH' 0 'first: list' checkout/assay list
[[ ! -e build && ! -e links/build && ! -e elsewhere/checkout/build ]] || fail 'it builds where it does not lie'

# 5. Packages by their names.
ABSENT=clang-19 expect 'no compiler' 3 '' checkout/assay list
said 'no compiler' 'missing packages: clang-19'
ABSENT='libboost-json-dev libboost-json1.81-dev libboost1.81-dev' expect 'no Boost' 3 '' checkout/assay list
said 'no Boost' 'missing packages: libboost-dev libboost-context-dev libboost-json-dev'
ABSENT='ninja-build catch2 libcatch2-dev' expect 'no Catch2' 3 '' checkout/assay list
said 'no Catch2' 'missing packages: ninja-build catch2 \(>= 3\)'
ABSENT='clang-19 libboost-json-dev libboost-json1.81-dev libboost1.81-dev catch2 libcatch2-dev' ASSAY_NO_INSTALL='' \
  expect 'to install' 0 'first: list' checkout/assay list
wanted='clang-19 libboost-dev libboost-context-dev libboost-json-dev catch2'
[[ $(tail -n 1 apt) == "install -y --no-install-recommends $wanted" ]] ||
  { cp apt errors && fail "does not install $wanted"; }
ABSENT='catch2 libcatch2-dev' OFFERED='(none)' ASSAY_NO_INSTALL='' expect 'an apt that fails' 3 '' checkout/assay list

# 6. Builds that fail.
BROKEN=ninja expect 'a build that fails' 3 '' checkout/assay list
grep -qx 'the end of job 40' errors || fail 'a build that fails: its last lines are not shown'
[[ $(tail -n 1 errors) == "assay: building failed: a.cpp:1:2: error: no such thing; see $scratch/checkout/build/"* ]] ||
  fail 'a build that fails: no reason'
rm -r checkout/build
BROKEN=cmake expect 'configuring that fails' 3 '' checkout/assay list
grep -qx '  No compiler' errors || fail 'configuring that fails: its last lines are not shown'
[[ $(tail -n 1 errors) == "assay: configuring failed: CMake Error at CMakeLists.txt:2 (project):  No compiler; see "* ]] ||
  fail 'configuring that fails: no reason'
BROKEN=program expect 'a build without a program' 3 '' checkout/assay list
[[ $(tail -n 1 errors) == "assay: $scratch/checkout/build/release/bin/assay is missing" ]] ||
  fail 'a build without a program: no reason'
exit "$failed"
