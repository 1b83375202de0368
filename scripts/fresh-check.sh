#!/usr/bin/env bash
# Runs what the README says first, scripts/quickstart.sh and scripts/test.sh, on a bare Debian 12: a root made by debootstrap from
# the machine's own package sources, with a clone of this repository and its changes to tracked files. To be run before a change is
# called done; a machine that has everything does not notice what is not installed by scripts/install-deps.sh.
# Needs root (for chroot and mounts, which are in a namespace of their own and end with it), network, 10 GB in TMPDIR, and the time of
# a whole build.
# usage: scripts/fresh-check.sh [--cuda] [--data FOLDER] [--keep]
#   --cuda   with scripts/install-deps.sh --cuda; then no test may be skipped if there is reference data
#   --data   the folder of reference data, ../shared by default if that exists; the tests that need it are skipped without
#   --keep   leaves the root, to look into it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { echo "fresh-check: $*" >&2; exit 1; }

. "$here/scripts/bare-root.sh"

cuda=false data="" keep=false
while [ $# -gt 0 ]; do
  case $1 in
    --cuda) cuda=true; shift ;;
    --data) data=${2:?--data needs a folder}; shift 2 ;;
    --keep) keep=true; shift ;;
    *) die "unknown argument $1; the first lines of this script say what it takes" ;;
  esac
done
if [ -n "$data" ]; then
  [ -d "$data" ] || die "no folder $data"
  data=$(cd "$data" && pwd)
elif [ -d "$here/../shared" ]; then
  data=$(cd "$here/../shared" && pwd)
fi
[ "$(id -u)" -eq 0 ] || die "needs root, for chroot and mounts"
command -v apt-get >/dev/null || die "needs apt, for the package sources of this machine"

work=$(mktemp -d --tmpdir dlc-fresh.XXXXXX)
root=$work/root
# Nothing is mounted here: mounts are in a namespace that has ended.
clean_up() { if $keep; then echo "fresh-check: the root is $root"; else rm -rf --one-file-system "$work"; fi; }
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

start=$SECONDS
bare_root bookworm "$root" ca-certificates,git
echo "fresh-check: a bare Debian 12 in $((SECONDS - start)) s"

untracked=$(git -c safe.directory='*' -C "$here" ls-files --others --exclude-standard)
[ -z "$untracked" ] || echo "fresh-check: left out, since git does not know them:" $untracked
git -c safe.directory='*' clone -q "$here" "$root/root/dlc"
git -c safe.directory='*' -C "$here" diff --binary HEAD >"$work/changes"
[ ! -s "$work/changes" ] || git -C "$root/root/dlc" apply "$work/changes"

commands="scripts/quickstart.sh && scripts/test.sh"
if $cuda; then commands="scripts/install-deps.sh --cuda && $commands"; fi
start=$SECONDS status=0
in_root "$root" "cd /root/dlc && $commands" "$data" /root/shared | tee "$work/output" || status=$?
[ $status -eq 0 ] || die "failed on a bare Debian 12 after $((SECONDS - start)) s; see above"
summary=$(tail -n 1 "$work/output")
grep -qE '^[1-9][0-9]* passed, 0 failed(, [0-9]+ skipped)?$' <<<"$summary" || die "the last line is not a count of tests: $summary"
if $cuda && [ -n "$data" ] && [[ $summary == *skipped ]]; then die "tests were skipped though CUDA and the data are there: $summary"; fi
echo "fresh-check: passed on a bare Debian 12 in $((SECONDS - start)) s"
