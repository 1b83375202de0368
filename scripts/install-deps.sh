#!/usr/bin/env bash
# Installs what dlc needs to build and test on Debian 12, if it is missing. LLVM 22 comes from bookworm-security.
# usage: scripts/install-deps.sh            packages of Debian
#        scripts/install-deps.sh --cuda     and NVIDIA's libraries and headers for the CUDA target, from PyPI into build/cuda
#        scripts/install-deps.sh --list     names Debian's packages and installs nothing
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential cmake ninja-build ccache git ca-certificates python3
  clang-22 clang-format-22 libclang-rt-22-dev lld-22 liblld-22-dev llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libcli11-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libminizip-dev libgtest-dev libgmock-dev
  libdnnl-dev gfortran openmpi-bin libopenmpi-dev iproute2 gnuplot-nox pkgconf doxygen
)
# The versions that fit together; cccl and crt are headers that the others include.
cuda_packages=(
  nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85
  nvidia-cublas==13.1.0.3 nvidia-cudnn-cu13==9.19.0.56 nvidia-nccl-cu13==2.28.9
)
with_cuda=false
case ${1:-} in
  "") ;;
  --cuda) with_cuda=true packages+=(python3-pip) ;;
  --list) printf '%s\n' "${packages[@]}"; exit 0 ;;
  *) echo "install-deps: unknown argument $1: expected --cuda, --list or none" >&2; exit 2 ;;
esac

install_packages() { # install_packages NAME...: of Debian
  local as_root=() mirror
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install-deps: needs root for: apt-get install $*" >&2; exit 1; }
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
  echo "install-deps: installing $*"
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# build/cuda looks like a toolkit: include, lib64, and the licences in dist-info. It is there whole or not at all.
install_cuda() {
  local folder=build/cuda new=build/cuda.new package
  if [ "$(cat $folder/packages 2>/dev/null)" = "${cuda_packages[*]}" ]; then
    echo "install-deps: the CUDA packages are in $folder"
    return
  fi
  echo "install-deps: bringing ${cuda_packages[*]} into $folder (1.1 GB to fetch, 1.5 GB there)"
  rm -rf $new
  mkdir -p $new/tmp $new/include $new/lib $new/dist-info
  TMPDIR=$PWD/$new/tmp /usr/bin/python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps \
    --only-binary=:all: --target $new/python "${cuda_packages[@]}"
  for package in $new/python/nvidia/*/; do
    [ ! -d "$package/include" ] || cp -rl "$package/include/." $new/include
    [ ! -d "$package/lib" ] || cp -rl "$package/lib/." $new/lib
  done
  mv $new/python/*.dist-info $new/dist-info
  rm -rf $new/python $new/tmp
  ln -s lib $new/lib64
  echo "${cuda_packages[*]}" >$new/packages
  rm -rf $folder
  mv $new $folder
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: everything is there"
else
  install_packages "${missing[@]}"
fi
if $with_cuda; then
  install_cuda
  [ -z "${CUDA_HOME:-}" ] || echo "install-deps: CUDA_HOME is set, so dlc and its build use $CUDA_HOME and not build/cuda"
fi
