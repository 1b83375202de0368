# Configuration of the lit tests. Substitutions: %shared (reference data), %examples, %tools.
import glob
import os
import lit.formats

config.name = "dlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".dl", ".test"]
config.excludes = ["Inputs", "corpus", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.source_root, "test")
config.test_exec_root = os.path.join(config.build_root, "test")

tools = os.path.join(config.build_root, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_bin, os.environ.get("PATH", "")])
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
cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
if os.path.exists(os.path.join(config.build_root, "lib", "libdlc_cuda.so")):
    config.available_features.add("cuda-toolkit")
    if glob.glob(os.path.join(cuda, "lib64", "libcudnn.so.9")):
        config.available_features.add("cudnn")
if glob.glob(os.path.join(cuda, "lib64", "libnvrtc.so*")):
    config.available_features.add("nvrtc")
else:
    lit_config.note("nvrtc: no CUDA toolkit, the tests of cubins are left out")
if os.path.exists(os.path.join(cuda, "include", "cuda_bf16.h")):
    config.available_features.add("cuda-headers")
    config.substitutions.append(("%cuda", cuda))
for feature, path in [("mnist", "data/mnist"), ("goldens", "goldens/nets")]:
    if os.path.isdir(os.path.join(config.reference_data, path)):
        config.available_features.add(feature)
    else:
        lit_config.note(f"{feature}: no {path} in {config.reference_data}, the tests that need it are left out")
