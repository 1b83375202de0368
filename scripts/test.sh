#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. The last line is "N passed, N failed".
# usage: scripts/test.sh [name filter]
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh || { echo "test.sh: installing failed; see above"; exit 1; }
scripts/build.sh dlc-tests || exit 1

filter=${1:-}
build=build/release
/usr/lib/llvm-22/bin/lit -v ${filter:+--filter "$filter"} "$build/test" 2>&1 | tee "$build/lit.log" | grep -vE '^PASS: '
ctest --test-dir "$build" --output-on-failure -j2 ${filter:+-R "$filter"} 2>&1 | tee "$build/ctest.log" |
  grep -vE 'Passed|^ +Start '

count() { grep -cE "$1" "$2" || true; }
passed=$(($(count '^PASS: ' "$build/lit.log") + $(count 'Test +#[0-9]+:.* Passed ' "$build/ctest.log")))
failed=$(($(count '^(FAIL|XPASS|TIMEOUT|UNRESOLVED): ' "$build/lit.log") +
  $(count 'Test +#[0-9]+:.*\*\*\*' "$build/ctest.log")))
skipped=$(count '^UNSUPPORTED: ' "$build/lit.log")
if [ "$passed" -eq 0 ]; then failed=$((failed + 1)); fi
if [ "$skipped" -gt 0 ]; then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
