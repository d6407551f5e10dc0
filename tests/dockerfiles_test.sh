#!/usr/bin/env bash
# Follows the Dockerfiles of OSS-Fuzz and ClusterFuzzLite, each in the context that it is built in, with stand-ins for
# git and apt-get: both come to the sources in $SRC/assay, to build.sh in $SRC, and to the libraries that ./assay wants.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/repository" "$scratch/bin"
tar -C "$root" --exclude=./build --exclude=./out --exclude=./.git -cf - . | tar -C "$scratch/repository" -xf -
cp -r "$root/fuzz/oss-fuzz" "$scratch/project"  # what OSS-Fuzz has: projects/assay
export SCRATCH=$scratch MAIN_REPO=https://example.org/assay.git PATH=$scratch/bin:$PATH
# shellcheck disable=SC2016 # the stand-ins expand these
printf '#!/bin/bash -eu\n[[ "$*" == "clone --depth 1 $MAIN_REPO "* ]]\ncp -r "$SCRATCH/repository" "$5"\n' >"$scratch/bin/git"
# shellcheck disable=SC2016
printf '#!/bin/bash -eu\nprintf "%%s\\n" "$@" >>"$SRC.packages"\n' >"$scratch/bin/apt-get"
chmod +x "$scratch"/bin/*

fail() { echo "FAIL: $*"; exit 1; }

follow() { # DOCKERFILE CONTEXT NAME: the image's $SRC is $scratch/NAME
  local instruction rest place=$scratch
  local -a words
  export SRC=$scratch/$3
  mkdir "$SRC"
  # shellcheck disable=SC2162 # a backslash goes on in the next line
  while read instruction rest; do
    case $instruction in
      '' | '#'* | FROM | ARG) ;;
      RUN) (cd "$place" && eval "$rest") || fail "$1: RUN $rest" ;;
      WORKDIR) eval "place=$rest" ;;
      COPY)
        eval "words=($rest)"
        [[ -e $2/${words[0]} ]] || fail "$1: there is no ${words[0]} in the context"
        mkdir -p "${words[1]}"
        if [[ -d $2/${words[0]} ]]; then cp -r "$2/${words[0]}/." "${words[1]}"; else cp "$2/${words[0]}" "${words[1]}"; fi
        ;;
      *) fail "$1: $instruction is not known here" ;;
    esac
  done <"$1"
  [[ -f $SRC/assay/CMakeLists.txt && -x $SRC/assay/assay ]] || fail "$1: no sources"
  [[ -x $SRC/build.sh ]] || fail "$1: no build.sh"
  [[ $place == "$SRC/assay" ]] || fail "$1: ends in $place"
  # Catch2 is named otherwise by Ubuntu, whose packages these are.
  for package in catch2 $(grep -oE '\blib[a-z0-9]+(-[a-z]+)?-dev\b' "$root/assay" | grep -v catch2 | sort -u); do
    grep -qx "$package" "$SRC.packages" || fail "$1: lacks $package"
  done
}

follow "$root/.clusterfuzzlite/Dockerfile" "$scratch/repository" clusterfuzzlite
follow "$scratch/project/Dockerfile" "$scratch/project" oss-fuzz
