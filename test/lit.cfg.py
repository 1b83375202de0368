# Configuration of the lit tests. Substitutions: %shared (reference data), %examples, %root, %python, %build, %cuda (its headers).
import glob
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "dlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".dl", ".test"]
config.excludes = ["Inputs", "corpus", "CMakeLists.txt"]
# The longest first, so that none runs alone at the end: lit has that from .lit_test_times.txt of the last run, and before there was one
# from the file of that name here, which has the tests of more than 20 s.
config.test_source_root = os.path.join(config.source_root, "test")
config.test_exec_root = os.path.join(config.build_root, "test")

tools = os.path.join(config.build_root, "bin")
# Tests see the programs that scripts/install-deps.sh brings onto a bare machine, and no other: what a test calls is there as well.
programs = os.path.join(config.test_exec_root, "programs")
packages = [sys.executable, os.path.join(config.test_source_root, "packages", "system_packages.py")]
linked = subprocess.run([*packages, "programs", config.source_root, programs], capture_output=True, text=True)
if linked.returncode == 0:
    config.available_features.add("debian")
    if os.path.exists("/var/lib/dpkg/info/python3-pip.list"):
        config.available_features.add("pip")
    path = [tools, programs]
elif linked.returncode == 3:
    lit_config.note(f"debian: {linked.stdout.strip()}, the tests run with all programs of this machine")
    path = [tools, config.llvm_bin, os.environ.get("PATH", "")]
else:
    lit_config.fatal(linked.stderr)
config.environment["PATH"] = os.pathsep.join(path)
# Another processor in the place of this machine's: CONTRIBUTING.md. One of which dlc does not know how fast it is would warn in each test.
native = os.environ.get("DLC_NATIVE_CPU")
told = subprocess.run([os.path.join(tools, "dlc"), os.path.join(config.source_root, "examples/mlp/mlp.dl"), "--emit=machine"],
                      capture_output=True, text=True)
if not native and "is not known" in told.stderr:
    native = "haswell"
if native:
    config.environment["DLC_NATIVE_CPU"] = native
# What a test builds once more is in the build's own cache of compilations.
caching = shutil.which("ccache")
if caching:
    config.environment["CCACHE_DIR"] = subprocess.run([caching, "-k", "cache_dir"], capture_output=True, text=True).stdout.strip()
config.environment["XDG_CACHE_HOME"] = os.path.join(config.build_root, "test", "cache")
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.substitutions += [
    ("%shared", config.reference_data),
    ("%examples", os.path.join(config.source_root, "examples")),
    ("%root", config.source_root),
    ("%python", "python3"),
    ("%build", config.build_root),
]
# Where the build found a toolkit, dlc does too, if both are told the same.
if "CUDA_HOME" in os.environ:
    config.environment["CUDA_HOME"] = os.environ["CUDA_HOME"]
config.substitutions.append(("%cuda", config.cuda_home or "/no-toolkit"))
for feature, path in [("cudnn", "lib64/libcudnn.so.9"), ("nvrtc", "lib64/libnvrtc.so*"), ("cuda-headers", "include/cuda_bf16.h")]:
    if config.cuda_home and glob.glob(os.path.join(config.cuda_home, path)):
        config.available_features.add(feature)
    else:
        lit_config.note(f"{feature}: no toolkit with {path}, the tests that need it are left out")
if os.path.exists(os.path.join(config.build_root, "lib", "libdlc_cuda.so")):
    config.available_features.add("cuda-toolkit")
if os.path.exists(os.path.join(config.build_root, "lib", "libdlc_images.so")):
    config.available_features.add("images")
else:
    lit_config.note("images: no libdlc_images.so, the tests with pictures are left out; scripts/install-deps.sh brings what it needs")
if os.path.exists(os.path.join(config.build_root, "lib", "libdlc_lmdb.so")):
    config.available_features.add("lmdb")
else:
    lit_config.note("lmdb: no libdlc_lmdb.so, the tests with LMDB are left out; scripts/install-deps.sh brings what it needs")
if os.path.exists(os.path.join(config.build_root, "lib", "libdlc_hdf5.so")):
    config.available_features.add("hdf5")
else:
    lit_config.note("hdf5: no libdlc_hdf5.so, the tests with HDF5 are left out; scripts/install-deps.sh brings what it needs")
python = shutil.which("python3", path=config.environment["PATH"]) or sys.executable
if subprocess.run([python, "-c", "import h5py"], capture_output=True).returncode == 0:
    config.available_features.add("h5py")
else:
    lit_config.note("h5py: not there, the test of docs/formats.md is left out")
if os.path.exists(os.path.join(config.build_root, "lib", "libdlc_mpi.so")) and shutil.which("mpirun", path=config.environment["PATH"]):
    config.available_features.add("mpi")
else:
    lit_config.note("mpi: no libdlc_mpi.so or no mpirun, the tests with several ranks are left out")
if os.path.exists(os.path.join(tools, "bench-kernels")):
    config.available_features.add("onednn")
else:
    lit_config.note("onednn: no bench-kernels, its test is left out")
# What builds the Python package, as wheels.
if os.path.exists(os.path.join(config.source_root, "build", "python-build", "packages")):
    config.available_features.add("python-build")
else:
    lit_config.note("python-build: no build/python-build, the test of the Python package is left out; scripts/install-deps.sh brings it")
# Several machines in one, for bench/scaling.
lacking = subprocess.run([sys.executable, os.path.join(config.source_root, "bench", "scaling", "cluster.py")], capture_output=True, text=True,
                         env={**os.environ, "PATH": config.environment["PATH"]})
if lacking.returncode == 0 and "mpi" in config.available_features:
    config.available_features.add("network-namespaces")
else:
    lit_config.note(f"network-namespaces: no {lacking.stderr.strip() or 'mpi'}, the test with links of its own is left out")
# Modules for ARM are run by qemu.
emulated = os.path.join(config.build_root, "aarch64", "bin", "dlc-run")
config.substitutions.append(("%aarch64", f"qemu-aarch64-static -L /usr/aarch64-linux-gnu {emulated}"))
if os.path.exists(emulated) and shutil.which("qemu-aarch64-static", path=config.environment["PATH"]):
    config.available_features.add("aarch64")
else:
    lit_config.note("aarch64: no dlc-run for 64-bit ARM or no qemu, its tests are left out; scripts/install-deps.sh --aarch64 brings what they need")
# The target check-dlc-aarch64 runs this; it is no test that is left out.
if "DLC_WHOLE" not in os.environ:
    config.excludes.append("whole.test")
for feature, path in [("mnist", "data/mnist"), ("goldens", "goldens/nets")]:
    if os.path.isdir(os.path.join(config.reference_data, path)):
        config.available_features.add(feature)
    else:
        lit_config.note(f"{feature}: no {path} in {config.reference_data}, the tests that need it are left out")
for shell in ("zsh", "fish"):
    if shutil.which(shell, path=config.environment["PATH"]):
        config.available_features.add(shell)
    else:
        lit_config.note(f"{shell}: none here, its completion is not tried; scripts/install-deps.sh brings it")
# Where the allocator is the sanitizer's, none can be put before it.
if "-fsanitize" in config.cxx_flags:
    config.available_features.add("sanitizers")
