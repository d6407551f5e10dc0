#!/bin/bash -eu
# What build.sh needs beyond the image of OSS-Fuzz's builder, which is an Ubuntu 24.04.
apt-get update
apt-get install -y --no-install-recommends cmake ninja-build zip libboost-dev libboost-context-dev libboost-json-dev \
  libmpfr-dev libgmp-dev libdw-dev libelf-dev zlib1g-dev liblzma-dev libbz2-dev libzstd-dev librapidcheck-dev \
  libcli11-dev libfmt-dev libdlpack-dev catch2
