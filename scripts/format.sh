#!/usr/bin/env bash
# Formats every C++ and CUDA source as .clang-format says, or tells what is not formatted. TableGen files are set by hand,
# clang-format takes their strings and code apart: of them the check wants the same limit of columns.
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
folders=() status=0
for folder in bench codegen dialects examples frontend passes python runtime test tools; do
  [[ ! -d $folder ]] || folders+=("$folder")
done
if [[ ${mode[0]} == --dry-run ]]; then
  limit=$(sed -n 's/^ColumnLimit: //p' .clang-format)
  find "${folders[@]}" -name '*.td' -print0 |
    xargs -0 -r awk -v limit="$limit" 'length($0) > limit {
      printf "%s:%d: error: %d columns, the limit is %d\n", FILENAME, FNR, length($0), limit; bad = 1
    } END { exit bad }' >&2 || status=1
fi
find "${folders[@]}" -regex '.*\.\(cpp\|h\|c\|cuh\)' -print0 |
  xargs -0 -r -P 2 -n 40 clang-format-22 "${mode[@]}" --style=file || status=1
exit $status
