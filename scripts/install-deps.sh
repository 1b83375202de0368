#!/usr/bin/env bash
# Installs what dlc needs to build and test on Debian 12, if it is missing. LLVM 22 comes from bookworm-security.
# usage: scripts/install-deps.sh
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache git ca-certificates python3
  clang-22 libclang-rt-22-dev lld-22 liblld-22-dev llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libcli11-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libgtest-dev libgmock-dev
  libdnnl-dev
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: everything is there"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-deps: needs root for: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi

# A minimal Debian root may lack the security archive, where LLVM 22 is.
if ! grep -rqs 'bookworm-security' /etc/apt/sources.list /etc/apt/sources.list.d; then
  echo "install-deps: adding the bookworm-security archive"
  mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ')
  mirror=${mirror:-http://deb.debian.org/debian}
  echo "deb ${mirror%/}-security bookworm-security main" |
    "${as_root[@]}" tee /etc/apt/sources.list.d/bookworm-security.list >/dev/null
fi

echo "install-deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
