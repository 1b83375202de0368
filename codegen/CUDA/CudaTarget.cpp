//===- CudaTarget.cpp - what GPUs are called, offer and want ----------------------------------===//
#include "codegen/CUDA/CudaTarget.h"
#include "codegen/CUDA/Compile/Nvrtc.h"
#include "codegen/CUDA/Generators.h"
#include "codegen/Compile/StoredRegion.h"
#include "codegen/Machine/MachineFile.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Names
//===------------------------------------------------------------------------------------------===//

/// The oldest that NVRTC 13 knows and cuda-map's quads are good for, and those since.
static constexpr unsigned known[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

llvm::Expected<CudaTarget> CudaTarget::get(llvm::StringRef names) {
  CudaTarget target;
  for (llvm::StringRef name : llvm::split(names, ',')) {
    unsigned number;
    if (name == "simt") {
      target.simt = true;
      continue;
    }
    if (!name.starts_with("sm_") || name.drop_front(3).getAsInteger(10, number) ||
        !llvm::is_contained(known, number))
      return llvm::createStringError(
          "unknown architecture '" + name.str() + "': expected simt or one of " +
          llvm::join(llvm::map_range(known, [](unsigned n) { return "sm_" + std::to_string(n); }),
                     ", "));
    if (!llvm::is_contained(target.architectures, number))
      target.architectures.push_back(number);
  }
  llvm::sort(target.architectures);
  return target;
}

std::string CudaTarget::name() const {
  std::string names;
  for (unsigned architecture : architectures)
    names += (names.empty() ? "sm_" : ",sm_") + std::to_string(architecture);
  if (simt)
    names += names.empty() ? "simt" : ",simt";
  return "cuda:" + names;
}

/// For the flags of native code see codegen/CUDA/Compile/Simt.cpp.
ModuleNeeds CudaTarget::needs() const {
  ModuleNeeds needs;
  if (!architectures.empty())
    needs.targets |= 1u << DLC_TARGET_CUDA;
  if (simt)
    needs = {needs.targets | 1u << DLC_TARGET_SIMT, DLC_CPU_AVX2_FMA, "x86-64-v3"};
  return needs;
}

/// Versions of what makes the code.
void CudaTarget::describe(llvm::json::Object &report) const {
  if (architectures.empty())
    return;
  if (llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load())
    report["nvrtc"] = (*nvrtc)->version();
  else
    llvm::consumeError(nvrtc.takeError());
}

//===------------------------------------------------------------------------------------------===//
// Candidates
//===------------------------------------------------------------------------------------------===//

bool CudaTarget::hasAlgorithm(ConvolutionAlgorithm algorithm) const {
  return algorithm != ConvolutionAlgorithm::Heuristic && algorithm != ConvolutionAlgorithm::Direct;
}

std::vector<GeneratedCandidate> CudaTarget::candidates(const KernelSpec &spec) const {
  return collectCandidates(cudaGenerators(), spec, *this);
}

/// Calls of cuDNN keep to the limit themselves: takes out algorithms of ours that need more.
void CudaTarget::keepWithin(std::vector<GeneratedCandidate> &all, uint64_t limit) const {
  llvm::erase_if(all, [&](const GeneratedCandidate &one) {
    return one.candidate.algorithm && one.candidate.workspaceBytes > limit;
  });
}

/// For those who name whose convolutions they want: takes out our own that have algorithms, if
/// something else runs the convolution that is not slow.
void CudaTarget::keepProvider(std::vector<GeneratedCandidate> &all) const {
  if (settings.convolutions == Provider::Faster)
    return;
  if (llvm::any_of(all, [](const GeneratedCandidate &one) {
        return !one.candidate.algorithm && !one.candidate.isSlow;
      }))
    llvm::erase_if(all, [](const GeneratedCandidate &one) { return one.candidate.algorithm; });
}

std::string CudaTarget::refusal(const KernelSpec &spec) const { return cudaRefusal(spec); }

std::string CudaTarget::refusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm) const {
  return hasAlgorithm(algorithm) ? cudaAlgorithmRefusal(spec, algorithm, *this)
                                 : "CUDA has algorithms of its own";
}

//===------------------------------------------------------------------------------------------===//
// Layouts and joining
//===------------------------------------------------------------------------------------------===//

/// Whether a region has numbers, in memory or on the way, that its entry multiplies on tensor
/// cores.
static bool meetsTensorCores(dl::FusedOp region) {
  auto entry = region->getParentOfType<dl::EntryOp>();
  const bool inTF32 = entry && dl::isTF32(entry);
  auto meets = [&](Value value) {
    Type element = getElementTypeOrSelf(value.getType());
    return isSmallFloat(element) || (inTF32 && element.isF32());
  };
  Block &body = region.getBody().front();
  return llvm::any_of(body.getArguments(), meets) || llvm::any_of(body, [&](Operation &op) {
           return dl::isTF32(&op) || llvm::any_of(op.getResults(), meets);
         });
}

/// Channels innermost, where the convolutions around want them so.
dl::Layouts CudaTarget::wantedLayouts(dl::FusedOp region) const {
  const bool channelsLast = wantsChannelsLast() && meetsTensorCores(region);
  return llvm::map_to_vector(storedTypes(region), [&](RankedTensorType type) {
    const int64_t rank = type.getRank();
    return rank >= 3 && channelsLast ? program::LayoutAttr::getChannelsLast(type.getContext(), rank)
                                     : program::LayoutAttr();
  });
}

bool CudaTarget::readsStored(dl::AnchorOp anchor) const {
  return libraryReadsStored(anchor, *this);
}

/// Of what a thread has in registers, there in f32.
bool CudaTarget::takesReductions(dl::AnchorOp anchor) const {
  return anchor.takesReductions() && getElementTypeOrSelf(anchor->getResult(0)).isF32();
}

/// Reads element by element.
bool CudaTarget::convertsItself(dl::FusedOp) const { return true; }

std::optional<double> CudaTarget::conversionSeconds(uint64_t bytes) const {
  return machine.kernelSeconds(2.0 * double(bytes), 0, 1);
}

//===------------------------------------------------------------------------------------------===//
// The machine
//===------------------------------------------------------------------------------------------===//

llvm::Error CudaTarget::readMachine(const std::string &path) {
  llvm::Expected<GpuMachine> read = readGpuMachine(path);
  if (!read)
    return read.takeError();
  machine = std::move(*read);
  return llvm::Error::success();
}

std::string CudaTarget::printMachine() const { return codegen::printMachine(machine); }

/// A GPU has room for small kernels beside each other, if memory has.
exec::ScheduleStreamsOptions CudaTarget::streams() const {
  return {2, machine.launchSeconds, 1 / machine.memoryBytesPerSecond};
}
