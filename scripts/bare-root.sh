# What scripts share that try something on a bare Debian; to be sourced. Needs root and network.
#   bare_root SUITE ROOT PACKAGE,...         makes a root by debootstrap, from the archives and with the settings of this machine's apt
#   in_root ROOT COMMANDS [FOLDER PLACE]     runs commands in it, with FOLDER mounted at PLACE, not to be written
# Mounts are in a namespace of their own and end with it.

bare_root() {
  local suite=$1 root=$2 packages=$3 sources mirror file name
  # What this machine's apt knows of Debian 12, said of another Debian.
  sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    grep -E ' bookworm(-security|-updates)? ' | sort -u | sed "s/ bookworm/ $suite/") ||
    { echo "apt knows no archive of Debian 12 (bookworm): add one and run apt-get update" >&2; return 1; }
  mirror=$(awk -v suite="$suite" '$3 == suite { print $2; exit }' <<<"$sources")
  command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null || { echo "cannot install debootstrap" >&2; return 1; }
  debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 5 "$root.log" >&2; echo "debootstrap failed" >&2; return 1; }

  # The way to the network: names, proxies, certificates, and what pip and apt are told.
  echo "$sources" >"$root/etc/apt/sources.list"
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
}

enter_root() {
  local root=$1 commands=$2 folder=$3 place=$4 name
  # A mount of its own, as the root of a system is one: tests change what is mounted there.
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  for name in sys dev; do mount --rbind "/$name" "$root/$name"; done
  if [ -n "$folder" ]; then
    mkdir -p "$root$place"
    mount --bind "$folder" "$root$place"
    mount -o remount,bind,ro "$root$place"
  fi
  exec chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" bash -lc "$commands"
}

in_root() {
  unshare --mount --pid --fork --kill-child bash -euc "$(declare -f enter_root); enter_root \"\$@\"" enter \
    "$1" "$2" "${3:-}" "${4:-}" </dev/null 2>&1
}
