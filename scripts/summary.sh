#!/usr/bin/env bash
# The closing line of scripts/test.sh, from what lit and ctest printed: "N passed, N failed", and ", N skipped" if a test was left
# out. A runner that ended with an error and names no failed test (its last line is "exit status N") is a failure itself.
# usage: scripts/summary.sh LIT-LOG CTEST-LOG      exits 1 if a test failed or none ran
set -uo pipefail
lit=${1:?LIT-LOG} ctest=${2:?CTEST-LOG}
for log in "$lit" "$ctest"; do
  [ -r "$log" ] || { echo "summary.sh: cannot read $log" >&2; exit 1; }
done

count() { grep -cE "$1" "$2"; }
outcome='^ *[0-9]+/[0-9]+ +Test +#[0-9]+: .*'
passed=$(($(count '^(PASS|XFAIL|FLAKYPASS): ' "$lit") + $(count "$outcome Passed +[0-9.]+ sec" "$ctest")))
skipped=$(($(count '^(UNSUPPORTED|SKIPPED): ' "$lit") + $(count "$outcome\*\*\*(Skipped|Not Run \(Disabled\))" "$ctest")))
failed=0
for log in "$lit" "$ctest"; do
  failures=$(grep -E "^(FAIL|XPASS|TIMEOUT|UNRESOLVED): |$outcome\*\*\*" "$log" | grep -cvE '\*\*\*(Skipped|Not Run \(Disabled\))')
  if [ "$failures" -eq 0 ] && grep -qE '^exit status [1-9]' "$log"; then failures=1; fi
  failed=$((failed + failures))
done
if [ "$passed" -eq 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi

echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ]
