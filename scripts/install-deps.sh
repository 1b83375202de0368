#!/usr/bin/env bash
# Installs what dlc needs to build and test on Debian 12, if it is missing. LLVM 22 comes from bookworm-security.
# usage: scripts/install-deps.sh            packages of Debian; and from PyPI into build/python-build what builds the Python package
#        scripts/install-deps.sh --cuda     and NVIDIA's libraries and headers for the CUDA target, from PyPI into build/cuda
#        scripts/install-deps.sh --slurm    and Debian's Slurm for the test of docs/clusters.md, unpacked into build/slurm
#        scripts/install-deps.sh --aarch64  and zlib and minizip for 64-bit ARM, unpacked into build/aarch64-root: cmake/aarch64.cmake
#        scripts/install-deps.sh --list     names Debian's packages and installs nothing
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential cmake ninja-build ccache git ca-certificates
  python3 python3-dev python3-venv python3-pip python3-numpy python3-mpi4py python3-h5py
  clang-22 clang-format-22 libclang-rt-22-dev lld-22 liblld-22-dev llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libcli11-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libminizip-dev libgtest-dev libgmock-dev libdlpack-dev
  libjpeg62-turbo-dev libpng-dev libwebp-dev liblmdb-dev libhdf5-dev libaec-dev libprotozero-dev
  g++-aarch64-linux-gnu qemu-user-static
  libdnnl-dev gfortran openmpi-bin libopenmpi-dev iproute2 gnuplot-nox pkgconf doxygen file zsh fish
)
# The versions that fit together; cccl and crt are headers that the others include.
cuda_packages=(
  nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85
  nvidia-cublas==13.1.0.3 nvidia-cudnn-cu13==9.19.0.56 nvidia-nccl-cu13==2.28.9
)
# Unpacked and not installed, as their services would start by themselves.
slurm_packages=(munge slurmctld slurmd slurm-client)
# What the runtime needs of another architecture.
aarch64_packages=(zlib1g-dev libminizip-dev)
# As wheels, for builds without a network.
python_packages=(nanobind==3.1.0 scikit-build-core==1.1.2 packaging==26.4 pathspec==1.1.1)
with_cuda=false with_slurm=false with_aarch64=false
case ${1:-} in
  "") ;;
  --cuda) with_cuda=true ;;
  --slurm) with_slurm=true ;;
  --aarch64) with_aarch64=true ;;
  --list) printf '%s\n' "${packages[@]}"; exit 0 ;;
  *) echo "install-deps: unknown argument $1: expected --cuda, --slurm, --aarch64, --list or none" >&2; exit 2 ;;
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

from_pypi() { # from_pypi COMMAND OPTIONS... NAME...: pip's command, without what the packages depend on
  local command=$1
  shift
  /usr/bin/python3 -m pip "$command" -q --disable-pip-version-check --no-deps --only-binary=:all: "$@"
}

# Without PyPI dlc is as good, but for the Python package.
install_python() {
  local folder=build/python-build new=build/python-build.new
  if [ "$(cat $folder/packages 2>/dev/null)" = "${python_packages[*]}" ]; then
    return
  fi
  echo "install-deps: bringing ${python_packages[*]} into $folder"
  rm -rf $new
  mkdir -p $new
  if ! from_pypi download --dest $new "${python_packages[@]}"; then
    echo "install-deps: PyPI does not give them: the Python package is not tested"
    return
  fi
  echo "${python_packages[*]}" >$new/packages
  rm -rf $folder
  mv $new $folder
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
  TMPDIR=$PWD/$new/tmp from_pypi install --root-user-action=ignore --target $new/python "${cuda_packages[@]}"
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

# With what they depend on and this machine lacks.
install_slurm() {
  local folder=build/slurm new=build/slurm.new names package
  if [ -e $folder ]; then
    echo "install-deps: Slurm is in $folder"
    return
  fi
  names=$(apt-get install -s -qq --no-install-recommends "${slurm_packages[@]}" | sed -n 's/^Inst \([^ ]*\).*/\1/p') ||
    { echo "install-deps: apt does not know ${slurm_packages[*]}; apt-get update" >&2; exit 1; }
  if [ -z "$names" ]; then
    echo "install-deps: this machine's Slurm is the one to test with"
    return
  fi
  echo "install-deps: unpacking" $names "into $folder"
  rm -rf $new
  mkdir -p $new/packages
  (cd $new/packages && apt-get download -qq -o APT::Sandbox::User=root $names)
  for package in $new/packages/*.deb; do
    dpkg -x "$package" $new
  done
  mv $new $folder
}

# By lists of packages of their own: the machine's apt goes on knowing its own architecture alone.
install_aarch64() {
  local folder=build/aarch64-root new=build/aarch64-root.new package options
  if [ -e $folder ]; then
    echo "install-deps: the libraries for 64-bit ARM are in $folder"
    return
  fi
  echo "install-deps: unpacking ${aarch64_packages[*]} into $folder"
  rm -rf $new
  mkdir -p $new/packages/lists/partial
  options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o "Dir::State::Lists=$PWD/$new/packages/lists" -o Dir::State::Status=/dev/null -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  apt-get "${options[@]}" update
  (cd $new/packages && apt-get "${options[@]}" download "${aarch64_packages[@]}")
  for package in $new/packages/*.deb; do
    dpkg -x "$package" $new
  done
  rm -r $new/packages
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
install_python
if $with_cuda; then
  install_cuda
  [ -z "${CUDA_HOME:-}" ] || echo "install-deps: CUDA_HOME is set, so dlc and its build use $CUDA_HOME and not build/cuda"
fi
if $with_slurm; then
  install_slurm
fi
if $with_aarch64; then
  install_aarch64
fi
