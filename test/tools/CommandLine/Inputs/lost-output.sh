#!/bin/sh
# usage: lost-output.sh FOLDER COMMAND
# COMMAND succeeds; with its standard output full or closed it ends with 1 and one line beside notes that says so, also if nobody hears that.
errors=$1/errors
$2 > "$1/output" 2> "$errors" || { echo "'$2' fails by itself"; cat "$errors"; exit 1; }

check() { # STATUS WHAT MESSAGE
  [ "$1" -eq 1 ] || { echo "'$2': exit code $1, expected 1"; exit 1; }
  [ "$(grep -vc '^note: ' "$errors")" -eq 1 ] && grep -Eq "error: .*(cannot write: $3|cannot write to standard output(: $3)?)$" "$errors" ||
    { echo "'$2': expected one line about lost output, found:"; cat "$errors"; exit 1; }
}
$2 > /dev/full 2> "$errors"
check $? "$2 > /dev/full" "No space left on device"
$2 >&- 2> "$errors"
check $? "$2 >&-" "Bad file descriptor"
$2 > /dev/full 2> /dev/full
[ $? -eq 1 ] || { echo "'$2 > /dev/full 2> /dev/full': expected exit code 1"; exit 1; }
