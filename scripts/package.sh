#!/usr/bin/env bash
# Makes Debian packages: dlc, dlc-run, libdlc0, libdlc-dev, and libdlc-images, libdlc-lmdb, libdlc-hdf5, libdlc-mpi and libdlc-cuda where the build has them.
# A line for each says how large it is, and how large what it installs.
# usage: scripts/package.sh              builds build/release and writes build/packages
#        scripts/package.sh BUILD OUT    of what is in BUILD, into OUT
set -euo pipefail
cd "$(dirname "$0")/.."
case $# in
  0) build=build/release out=build/packages; scripts/build.sh ;;
  2) build=$1 out=$2 ;;
  *) echo "package: expected no arguments or BUILD and OUT; the first lines of this script say what it takes" >&2; exit 2 ;;
esac
[ -e "$build/CPackConfig.cmake" ] || { echo "package: $build is no build of dlc; scripts/build.sh makes one" >&2; exit 1; }

mkdir -p "$out"
work=$(mktemp -d "$out/cpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
cpack --config "$build/CPackConfig.cmake" -B "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; echo "package: cpack failed; see above" >&2; exit 1; }
rm -f "$out"/*.deb
mv "$work"/*.deb "$out"
for package in "$out"/*.deb; do
  installed=$(dpkg-deb -c "$package" | awk '{ sum += $3 } END { print sum }')
  printf '%-28s %6d KB, installed %6d KB\n' "$(basename "$package")" $(($(stat -c %s "$package") / 1000)) $((installed / 1000))
done
