#!/bin/bash -eu
exec bash "$SRC/assay/fuzz/oss-fuzz/build.sh"
