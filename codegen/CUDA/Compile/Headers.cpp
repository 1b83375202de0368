//===- Headers.cpp - see Headers.h ------------------------------------------------------------===//
#include "codegen/CUDA/Compile/Headers.h"
#include "codegen/CUDA/Compile/Nvrtc.h"
#include "runtime/Device/CUDA/Toolkit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include <optional>

using namespace dlc::codegen;

/// The text of all headers in `folder`; nothing if one is missing.
static std::optional<std::string> readHeaders(const std::string &folder) {
  std::string all;
  for (const char *name : {"cuda_bf16.h", "cuda_bf16.hpp", "cuda_fp16.h", "cuda_fp16.hpp"}) {
    auto text = llvm::MemoryBuffer::getFile(folder + "/" + name);
    if (!text)
      return std::nullopt;
    all += (*text)->getBuffer();
  }
  return all;
}

static std::vector<std::string> places() {
  std::vector<std::string> all;
  if (llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load())
    all.push_back((*nvrtc)->folder() + "/../include");
  else
    llvm::consumeError(nvrtc.takeError());
  for (const std::filesystem::path &toolkit : dlc::runtime::cudaToolkits())
    all.push_back((toolkit / "include").string());
  return all;
}

llvm::Expected<CudaHeaders> CudaHeaders::find() {
  for (const std::string &folder : places()) {
    std::optional<std::string> text = readHeaders(folder);
    if (!text)
      continue;
    CudaHeaders headers{{folder}, std::to_string(llvm::xxh3_64bits(*text))};
    // Where toolkits keep <nv/target> since CUDA 13.
    if (llvm::sys::fs::exists(folder + "/cccl/nv/target"))
      headers.folders.push_back(folder + "/cccl");
    return headers;
  }
  return llvm::createStringError(
      "no CUDA headers found: kernels with bf16 or f16 need a CUDA toolkit's cuda_bf16.h and "
      "cuda_fp16.h (in $CUDA_HOME/include, beside NVRTC, in build/cuda/include or "
      "/usr/local/cuda/include); scripts/install-deps.sh --cuda brings them");
}
