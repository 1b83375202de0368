#!/usr/bin/env bash
# Installs the packages of scripts/package.sh into bare roots of Debian 11, 12 and 13 and trains there, without LLVM: LeNet by dlc-run,
# by examples/embed/train.cpp, which the root's g++ compiles against libdlc-dev, of the same images in the files that libdlc-images,
# libdlc-lmdb and libdlc-hdf5 read, and on two ranks by libdlc-mpi. One rank's checkpoints are those of this machine, bit for bit. Into Debian 12 the compiler is installed as well, and compiles the same module.
# Needs root (for chroot and mounts), python3-h5py, network, 2 GB in TMPDIR and some ten minutes.
# usage: scripts/packages-check.sh [--packages FOLDER] [--tools FOLDER] [RELEASE...]
#   --packages   build/packages by default
#   --tools      where dlc, dlc-run and make-digits of the same build are: build/release/bin by default
#   RELEASE      11, 12 or 13; all three by default
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { echo "packages-check: $*" >&2; exit 1; }
. "$here/scripts/bare-root.sh"

packages=$here/build/packages tools=$here/build/release/bin releases=()
while [ $# -gt 0 ]; do
  case $1 in
    --packages) packages=${2:?--packages needs a folder}; shift 2 ;;
    --tools) tools=${2:?--tools needs a folder}; shift 2 ;;
    11 | 12 | 13) releases+=("$1"); shift ;;
    *) die "unknown argument $1; the first lines of this script say what it takes" ;;
  esac
done
[ ${#releases[@]} -gt 0 ] || releases=(11 12 13)
ls "$packages"/libdlc0_*.deb >/dev/null 2>&1 || die "no packages in $packages; scripts/package.sh makes them"
[ "$(id -u)" -eq 0 ] || die "needs root, for chroot and mounts"
command -v apt-get >/dev/null || die "needs apt, for the package sources of this machine"

work=$(mktemp -d --tmpdir dlc-packages.XXXXXX)
# Nothing is mounted here: mounts are in a namespace that has ended.
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP

# What the roots are given, and what is to come out.
given=$work/given
mkdir "$given"
cp "$packages"/*.deb "$here/examples/embed/train.cpp" "$here/examples/lenet/lenet.dl" "$given"
"$tools/make-digits" "$given/digits" --train 2000 --test 500 >/dev/null
"$tools/dlc" "$here/examples/lenet/lenet.dl" -o "$given/lenet.so"
"$tools/dlc" "$here/examples/lenet/lenet.dl" --data-parallel -o "$given/lenet-ranks.so"
"$tools/dlc-run" train "$given/lenet.so" --data "idx:$given/digits" --epochs 1 --checkpoint "$given/expected.safetensors" >/dev/null 2>&1
for format in tar lmdb; do
  "$tools/dlc-run" data "idx:$given/digits" --convert "$format:$given/digits-$format" >/dev/null
done
/usr/bin/python3 - "$given" <<'ARRAYS'
import sys

import h5py
import numpy

def numbers(name):
    raw = open(f"{sys.argv[1]}/digits/{name}", "rb").read()
    rank = raw[3]
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * rank).reshape(numpy.frombuffer(raw, ">u4", rank, 4))

with h5py.File(f"{sys.argv[1]}/digits.h5", "w") as file:
    images = numbers("train-images-idx3-ubyte")
    file.create_dataset("image", data=images, chunks=(64, *images.shape[1:]), compression="gzip")
    file["label"] = numbers("train-labels-idx1-ubyte")
    file["test/image"] = numbers("t10k-images-idx3-ubyte")
    file["test/label"] = numbers("t10k-labels-idx1-ubyte")
ARRAYS
cat >"$given/check.sh" <<'IN_ROOT'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
install() { apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { tail -n 20 /tmp/apt.log; exit 1; }; }
apt-get update -qq
given=/root/given
cd /root

install $given/dlc-run_*.deb $given/libdlc0_*.deb
dlc-run train $given/lenet.so --data idx:$given/digits --epochs 1 --checkpoint tool.safetensors 2>&1
cmp tool.safetensors $given/expected.safetensors

install $given/libdlc-images_*.deb $given/libdlc-lmdb_*.deb $given/libdlc-hdf5_*.deb
for data in tar:$given/digits-tar lmdb:$given/digits-lmdb hdf5:$given/digits.h5; do
  dlc-run train $given/lenet.so --data $data --epochs 1 --checkpoint formats.safetensors --overwrite >/tmp/train.log 2>&1 ||
    { tail -n 5 /tmp/train.log; exit 1; }
  cmp formats.safetensors $given/expected.safetensors
  echo "and $data gave the same bits"
done

install $given/libdlc-dev_*.deb g++ pkg-config
g++ -std=c++20 -O2 $given/train.cpp -o train $(pkg-config --cflags --libs dlc)
./train $given/lenet.so idx:$given/digits library.safetensors
dlc-run train $given/lenet.so --data idx:$given/digits --checkpoint epochs.safetensors >/dev/null 2>&1
cmp library.safetensors epochs.safetensors
if dpkg-query -W -f '${Package}\n' | grep -iE 'llvm|mlir|clang'; then exit 1; fi
echo "$(ldd --version | head -n 1 | grep -o '[0-9.]*$'), g++ $(g++ -dumpfullversion)" >versions

# Debian 13's Open MPI brings an LLVM of its own.
install $given/libdlc-mpi_*.deb openmpi-bin
dlc-run launch -n 2 -- train $given/lenet-ranks.so --data idx:$given/digits --epochs 1 2>&1

if grep -q bookworm /etc/os-release; then
  # What packaging/Dockerfile and packaging/dlc.def have.
  install $given/*.deb openmpi-bin g++ pkg-config
  dlc $given/lenet.dl -o lenet.so
  cmp lenet.so $given/lenet.so
  echo "and dlc compiled the same module"
fi
IN_ROOT

declare -A names=([11]=bullseye [12]=bookworm [13]=trixie)
for release in "${releases[@]}"; do
  start=$SECONDS root=$work/${names[$release]}
  echo "packages-check: Debian $release"
  bare_root "${names[$release]}" "$root" ca-certificates
  in_root "$root" "bash /root/given/check.sh" "$given" /root/given | sed 's/^/  /' || die "failed on Debian $release; see above"
  echo "packages-check: Debian $release, glibc $(cat "$root/root/versions"): the bits of this machine, in $((SECONDS - start)) s"
  rm -rf --one-file-system "$root"
done
