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

# Inside of the namespace: mounts what a system has, and runs the commands in the root.
if [ "${1:-}" = --inside ]; then
  root=$2 data=$3 commands=$4
  # A mount of its own, as the root of a system is one: tests change what is mounted there.
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  for folder in sys dev; do mount --rbind /$folder "$root/$folder"; done
  if [ -n "$data" ]; then
    mkdir -p "$root/root/shared"
    mount --bind "$data" "$root/root/shared"
    mount -o remount,bind,ro "$root/root/shared"
  fi
  exec chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" bash -lc "cd /root/dlc && $commands"
fi

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
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null || die "cannot install debootstrap"

work=$(mktemp -d --tmpdir dlc-fresh.XXXXXX)
root=$work/root
# Nothing is mounted here: mounts are in a namespace that has ended.
clean_up() { if $keep; then echo "fresh-check: the root is $root"; else rm -rf --one-file-system "$work"; fi; }
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# What this machine's apt knows of Debian 12, for debootstrap and for the root.
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
  grep -E ' bookworm(-security|-updates)? ' | sort -u >"$work/sources" ||
  die "apt knows no archive of Debian 12 (bookworm): add one and run apt-get update"
mirror=$(awk '$3 == "bookworm" { print $2; exit }' "$work/sources")
start=$SECONDS
debootstrap --variant=minbase --include=ca-certificates,git bookworm "$root" "$mirror" >"$work/log" 2>&1 ||
  { tail -n 5 "$work/log" >&2; die "debootstrap failed"; }
echo "fresh-check: a bare Debian 12 in $((SECONDS - start)) s"

# The way to the network: names, proxies, certificates, and what pip and apt are told.
cp "$work/sources" "$root/etc/apt/sources.list"
apt-config dump --format '%f "%v";%n' Acquire >"$root/etc/apt/apt.conf.d/90machine"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
for file in /etc/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf; do
  if [ -f "$file" ]; then cp "$file" "$root/etc/pip.conf"; fi
done
while IFS= read -r name; do
  printf 'export %s=%q\n' "$name" "${!name}"
done < <(compgen -e | grep -iE '^((https?|ftp|all|no)_proxy|PIP_.*|SSL_CERT_.*|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE)$') \
  >"$root/etc/profile.d/machine.sh"

untracked=$(git -c safe.directory='*' -C "$here" ls-files --others --exclude-standard)
[ -z "$untracked" ] || echo "fresh-check: left out, since git does not know them:" $untracked
git -c safe.directory='*' clone -q "$here" "$root/root/dlc"
git -c safe.directory='*' -C "$here" diff --binary HEAD >"$work/changes"
[ ! -s "$work/changes" ] || git -C "$root/root/dlc" apply "$work/changes"

commands="scripts/quickstart.sh && scripts/test.sh"
if $cuda; then commands="scripts/install-deps.sh --cuda && $commands"; fi
start=$SECONDS status=0
unshare --mount --pid --fork --kill-child "$here/scripts/fresh-check.sh" --inside "$root" "$data" "$commands" </dev/null 2>&1 |
  tee "$work/output" || status=$?
[ $status -eq 0 ] || die "failed on a bare Debian 12 after $((SECONDS - start)) s; see above"
summary=$(tail -n 1 "$work/output")
grep -qE '^[1-9][0-9]* passed, 0 failed(, [0-9]+ skipped)?$' <<<"$summary" || die "the last line is not a count of tests: $summary"
if $cuda && [ -n "$data" ] && [[ $summary == *skipped ]]; then die "tests were skipped though CUDA and the data are there: $summary"; fi
echo "fresh-check: passed on a bare Debian 12 in $((SECONDS - start)) s"
