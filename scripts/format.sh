#!/usr/bin/env bash
# Formats every C++ and CUDA source as .clang-format says, or tells what is not formatted.
# usage: scripts/format.sh            writes the files
#        scripts/format.sh --check [FOLDER]   only names what would change, and exits 1 if there is anything
set -euo pipefail
mode=(-i) root=$(dirname "$0")/..
case ${1:-} in
  "") ;;
  --check) mode=(--dry-run -Werror) root=${2:-$root} ;;
  *) echo "format.sh: unknown argument $1: expected --check or none" >&2; exit 2 ;;
esac
cd "$root"
find bench codegen dialects examples frontend passes runtime test tools -regex '.*\.\(cpp\|h\|c\|cuh\)' -print0 2>/dev/null |
  xargs -0 -r -P 2 -n 40 clang-format-22 "${mode[@]}" --style=file
