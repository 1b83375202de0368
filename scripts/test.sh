#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. The last line is "N passed, N failed", with ", N skipped" where
# tests were left out; their names stand above it.
# usage: scripts/test.sh [name filter]
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh --aarch64 || { echo "test.sh: installing failed; see above"; exit 1; }
scripts/build.sh dlc-tests || exit 1

filter=${1:-}
build=build/release
logged() { # logged LOG COMMAND...: everything goes to the log, with the exit status if it is not 0
  local log=$1 status=0
  shift
  "$@" 2>&1 | tee "$log" || { status=${PIPESTATUS[0]}; echo "exit status $status" >>"$log"; }
}
logged "$build/lit.log" /usr/lib/llvm-22/bin/lit -v --allow-empty-runs ${filter:+--filter "$filter"} "$build/test" | grep -vE '^PASS: '
logged "$build/ctest.log" ctest --test-dir "$build" --output-on-failure -j2 ${filter:+-R "$filter"} | grep -vE 'Passed|^ +Start '
scripts/summary.sh "$build/lit.log" "$build/ctest.log"
