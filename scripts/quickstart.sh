#!/usr/bin/env bash
# From a bare Debian 12 to a trained model: installs what is missing, builds dlc, renders a data set of handwritten-like digits,
# compiles examples/lenet and trains and evaluates it on the CPU. Everything it makes is under build/.
# usage: scripts/quickstart.sh
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
scripts/build.sh
bin=build/release/bin
out=build/quickstart
mkdir -p "$out"

run() { printf '\n$ %s\n' "$*"; "$@"; }
run $bin/make-digits "$out/digits"
run $bin/dlc examples/lenet/lenet.dl -o "$out/lenet.so"
run $bin/dlc-run train "$out/lenet.so" --data "idx:$out/digits" --epochs 2 --seed 1 --threads 2 --checkpoint "$out/lenet.safetensors" --overwrite
run $bin/dlc-run eval "$out/lenet.so" --data "idx:$out/digits" --checkpoint "$out/lenet.safetensors"
