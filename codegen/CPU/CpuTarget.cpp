//===- CpuTarget.cpp - what processors offer and want -----------------------------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "codegen/CPU/Architecture.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/CPU/Generators.h"
#include "codegen/Compile/StoredRegion.h"
#include "codegen/Machine/MachineFile.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

std::string CpuTarget::description() const {
  return llvm::formatv("{0}, vectors of {1} bytes, caches of {2}, {3} and {4} KiB", cpu,
                       vectorBytes, machine.l1Bytes >> 10, machine.l2Bytes >> 10,
                       machine.lastCacheBytes() >> 10);
}

std::string CpuTarget::triple() const { return architecture->triple().str(); }

//===------------------------------------------------------------------------------------------===//
// Candidates
//===------------------------------------------------------------------------------------------===//

/// The machine, too, by whose cores plans are made again when code is emitted.
std::string CpuTarget::identity() const {
  std::string text;
  llvm::raw_string_ostream(text) << sourceHash() << '\0' << "llvm " LLVM_VERSION_STRING << '\0'
                                 << cpu << '\0' << features << '\0' << vectorBytes << '\0'
                                 << printMachine();
  return text;
}

std::vector<GeneratedCandidate> CpuTarget::candidates(const KernelSpec &spec) const {
  return collectCandidates(cpuGenerators(), spec, *this);
}

/// Leaves those that need no more workspace than `limit`, or the least. Not the loops of last
/// resort, which need none and take a hundred times as long: a limit is there to save memory that
/// is worth less than the time.
void CpuTarget::keepWithin(std::vector<GeneratedCandidate> &all, uint64_t limit) const {
  const double slowdown = 10;
  double fastest = std::numeric_limits<double>::infinity();
  for (const GeneratedCandidate &one : all)
    fastest = std::min(fastest, one.candidate.cost);
  std::optional<uint64_t> least;
  for (const GeneratedCandidate &one : all)
    if (one.candidate.cost <= slowdown * fastest)
      least = std::min(least.value_or(UINT64_MAX), one.candidate.allWorkspaceBytes());
  llvm::erase_if(all, [&](const GeneratedCandidate &one) {
    return one.candidate.allWorkspaceBytes() > std::max(limit, least.value_or(0));
  });
}

ModuleNeeds CpuTarget::needsOf(ArrayRef<SelectedKernel> kernels) const {
  ModuleNeeds all = needs();
  const bool usesTiles = llvm::any_of(kernels, [](const SelectedKernel &kernel) {
    return StringRef(kernel.candidate.schedule).ends_with(amxKernel().suffix());
  });
  if (!usesTiles)
    all.cpuFeatures &= ~uint64_t(DLC_CPU_AMX_BF16);
  return all;
}

std::string CpuTarget::refusal(const KernelSpec &spec) const { return cpuRefusal(spec); }

std::string CpuTarget::refusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm) const {
  return convolutionRefusal(spec, algorithm, *this);
}

std::string CpuTarget::layoutRefusal(const KernelSpec &spec) const {
  const size_t axes = dl::ConvolutionForm::get(spec.anchorOp()).geometry.axes.size();
  if (!isForced(settings.layout) || axes == 2)
    return "";
  return axes == 1 ? "it has one spatial dimension" : "it has three spatial dimensions";
}

//===------------------------------------------------------------------------------------------===//
// Layouts and joining
//===------------------------------------------------------------------------------------------===//

/// Channels in whole lines of 16, which stand behind each other where the user wants all channels
/// innermost; null for what is no image of such.
static program::LayoutAttr imageLayoutOf(RankedTensorType type, ImageLayout wanted) {
  const int64_t line = 16;
  // With one pixel the channels stand side by side anyway.
  if (wanted == ImageLayout::RowMajor || type.getRank() != 4 || type.getDimSize(1) % line != 0 ||
      type.getDimSize(2) * type.getDimSize(3) == 1)
    return {};
  MLIRContext *context = type.getContext();
  return wanted == ImageLayout::ChannelsLast
             ? program::LayoutAttr::getBlockedLast(context, type.getRank(), line)
             : program::LayoutAttr::get(context, {0, 1, 2, 3}, {1, line});
}

/// Row-major where the region's code has no use for blocks: a convolution's filters, and all that
/// stands around an op that knows axes.
dl::Layouts CpuTarget::wantedLayouts(dl::FusedOp region) const {
  const SmallVector<RankedTensorType> types = storedTypes(region);
  dl::Layouts wanted = llvm::map_to_vector(
      types, [&](RankedTensorType type) { return imageLayoutOf(type, settings.layout); });
  if (llvm::none_of(wanted, [](program::LayoutAttr layout) { return bool(layout); }))
    return wanted;
  Operation *convolution = convolutionOf(region);
  if (!convolution) {
    if (!StoredRegion(region, wanted).isRowMajor())
      wanted.assign(wanted.size(), nullptr);
    return wanted;
  }
  auto form = dl::ConvolutionForm::get(convolution);
  for (auto [type, layout] : llvm::zip_equal(types, wanted))
    if (type.getShape() != cast<RankedTensorType>(form.x.getType()).getShape() &&
        type.getShape() != cast<RankedTensorType>(form.y.getType()).getShape())
      layout = nullptr;
  return wanted;
}

/// Of what a task's cache holds.
bool CpuTarget::takesReductions(dl::AnchorOp anchor) const { return anchor.takesReductions(); }

/// Of products' large results: one kernel that goes through all variables, one behind the other,
/// does so at twice the speed of many, which is more than a gradient costs that is small. Gradients
/// are f32's, whatever the product is in.
bool CpuTarget::takesUpdates(dl::AnchorOp anchor) const {
  const int64_t elements = cast<RankedTensorType>(anchor->getResult(0).getType()).getNumElements();
  return anchor.getAnchor() == dl::Anchor::Gemm &&
         elements * int64_t(sizeof(float)) >= machine.lastCacheBytes();
}

/// Convolutions and poolings read each element many times, and their kernels know one layout of all
/// images.
bool CpuTarget::convertsItself(dl::FusedOp region) const {
  return llvm::none_of(region.getBody().front(), [](Operation &op) {
    auto anchor = dyn_cast<dl::AnchorOp>(op);
    return anchor && (anchor.getAnchor() == dl::Anchor::Convolution ||
                      anchor.getAnchor() == dl::Anchor::Window ||
                      anchor.getAnchor() == dl::Anchor::SlidingSum);
  });
}

//===------------------------------------------------------------------------------------------===//
// The machine
//===------------------------------------------------------------------------------------------===//

llvm::Error CpuTarget::readMachine(const std::string &path) {
  llvm::Expected<CpuMachine> read = readCpuMachine(path, vectorBytes);
  if (!read)
    return read.takeError();
  machine = std::move(*read);
  return llvm::Error::success();
}

std::string CpuTarget::printMachine() const { return codegen::printMachine(machine); }

std::string CpuTarget::assumedMachine() const {
  return machine.name == cpu ? "" : machine.name + " of " + machine.summary(vectorBytes);
}
