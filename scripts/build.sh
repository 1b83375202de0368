#!/usr/bin/env bash
# Configures and builds build/release: all tools, and the extra targets named.
# usage: scripts/build.sh [target...]
set -euo pipefail
cd "$(dirname "$0")/.."

start=$SECONDS
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Configured once: the build configures again by itself where it must, and another PATH must not change the compiler.
if [ ! -e build/release/build.ninja ]; then
  cmake --preset release >"$log" 2>&1 || { cat "$log"; echo "build.sh: configuring failed; see above" >&2; exit 1; }
  grep -E 'left out' "$log" || true
fi
cmake --build --preset release --target all "$@" >"$log" 2>&1 ||
  { grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | head -n 100; echo "build.sh: the build failed; see above" >&2; exit 1; }
echo "built in $((SECONDS - start)) s"
