//===- TargetCandidates.cpp - what a target's generators offer passes -------------------------===//
#include "codegen/Plan/TargetCandidates.h"
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Conversion/SplitBlocks.h"
#include "passes/Conversion/StorageOrder.h"
#include <array>
#include <map>

using namespace mlir;

namespace dlc::codegen {

namespace {
class TargetCandidates : public dl::CandidateSource {
public:
  TargetCandidates(std::shared_ptr<KernelSelector> selector, unsigned threads)
      : selector(std::move(selector)), target(this->selector->target()), threads(threads) {}

  void addDialects(DialectRegistry &registry) const override { registerKernelDialects(registry); }
  void expect(ArrayRef<dl::FusedOp> regions) override;
  std::vector<dl::Candidate> candidates(dl::FusedOp region) override;
  std::vector<dl::Candidate> candidatesIn(dl::FusedOp region, const dl::Layouts &layouts) override;
  std::string refusal(dl::FusedOp region) override;
  bool readsStored(dl::AnchorOp anchor, unsigned operand) override;
  bool takesReductions(dl::AnchorOp anchor) override;
  bool computesImage(dl::AnchorOp anchor) override;
  bool takesUpdates(dl::AnchorOp anchor) override;
  bool convertsItself(dl::FusedOp region) override;
  bool estimatesConversions() override { return std::holds_alternative<CpuTarget>(target); }
  double conversionSeconds(RankedTensorType type, program::LayoutAttr from,
                           program::LayoutAttr to) override;
  double secondsPerCopiedByte() override;
  int64_t mostRowBytes() override;

private:
  ImageLayout imageLayout() const {
    auto *cpu = std::get_if<CpuTarget>(&target);
    return cpu ? cpu->layout : ImageLayout::Heuristic;
  }
  const KernelOffer *offerIn(dl::FusedOp region, const dl::Layouts &layouts);
  bool hasWanted(dl::FusedOp region, const dl::Layouts &layouts);
  bool takesOnly(dl::FusedOp region, const dl::Layouts &layouts);
  program::LayoutAttr wantedLayout(RankedTensorType type, bool channelsLast) const;
  SmallVector<dl::Layouts> layoutsWorthAsking(dl::FusedOp region) const;

  std::shared_ptr<KernelSelector> selector;
  const Target &target;
  const unsigned threads;
  std::map<std::array<const void *, 3>, double> conversions; ///< seconds by type, from and to
};
} // namespace

/// Of all operands, then of all results.
static SmallVector<RankedTensorType> storedTypes(dl::FusedOp region) {
  SmallVector<RankedTensorType> types;
  for (Type type : region->getOperandTypes())
    types.push_back(cast<RankedTensorType>(type));
  for (Type type : region->getResultTypes())
    types.push_back(cast<RankedTensorType>(type));
  return types;
}

namespace {
/// A region in given layouts, as it will be outlined.
class StoredRegion {
public:
  StoredRegion(dl::FusedOp region, const dl::Layouts &layouts) {
    OpBuilder builder(region.getContext());
    copy = dl::FusedOp::create(builder, region.getLoc(), region.getResultTypes(), ValueRange());
    IRMapping mapping;
    region.getBody().cloneInto(&copy->getBody(), mapping);
    dl::storeAs(block(), layouts);
    adoptStorageOrder(block());
  }
  FailureOr<KernelSpec> spec() { return KernelSpec::get(block()); }
  /// Whether no operand and no result has a layout left.
  bool isRowMajor() {
    return llvm::none_of(storedValues(block()), [](Value value) {
      return bool(cast<RankedTensorType>(value.getType()).getEncoding());
    });
  }

private:
  Block &block() { return copy->getBody().front(); }
  OwningOpRef<dl::FusedOp> copy;
};
} // namespace

/// Null if no kernel can hold the region in these layouts.
const KernelOffer *TargetCandidates::offerIn(dl::FusedOp region, const dl::Layouts &layouts) {
  StoredRegion stored(region, layouts);
  FailureOr<KernelSpec> spec = stored.spec();
  return succeeded(spec) ? &selector->offer(*spec) : nullptr;
}

std::vector<dl::Candidate> TargetCandidates::candidatesIn(dl::FusedOp region,
                                                          const dl::Layouts &layouts) {
  std::vector<dl::Candidate> all;
  const KernelOffer *offer = offerIn(region, layouts);
  if (!offer)
    return all;
  for (const GeneratedCandidate &one : offer->candidates) {
    all.push_back({one.generator->name().str(), one.candidate.schedule, layouts,
                   one.candidate.workspaceBytes, one.candidate.inPlace, one.candidate.cost});
    all.back().isDirected = one.candidate.algorithm.has_value();
    all.back().pinned = one.pinned;
    all.back().pinnedPrepared = one.pinnedPrepared;
    if (const std::optional<Preparation> &preparation = one.candidate.preparation) {
      all.back().preparedOperand = preparation->operand;
      all.back().preparedForm = preparation->form;
      all.back().preparationSeconds = preparation->seconds;
    }
  }
  return all;
}

/// The convolution that the region runs, if there is one.
static Operation *convolutionOf(dl::FusedOp region) {
  for (Operation &op : region.getBody().front())
    if (auto anchor = dyn_cast<dl::AnchorOp>(op);
        anchor && anchor.getAnchor() == dl::Anchor::Convolution)
      return &op;
  return nullptr;
}

/// Row-major where the region's code on a CPU has no use for blocks: a convolution's filters, and
/// all that stands around an op that knows axes.
static void keepOthersRowMajor(dl::FusedOp region, ArrayRef<RankedTensorType> types,
                               dl::Layouts &wanted) {
  Operation *convolution = convolutionOf(region);
  if (!convolution) {
    if (!StoredRegion(region, wanted).isRowMajor())
      wanted.assign(wanted.size(), nullptr);
    return;
  }
  auto form = dl::ConvolutionForm::get(convolution);
  for (auto [type, layout] : llvm::zip_equal(types, wanted))
    if (type.getShape() != cast<RankedTensorType>(form.x.getType()).getShape() &&
        type.getShape() != cast<RankedTensorType>(form.y.getType()).getShape())
      layout = nullptr;
}

/// Whether convolutions of numbers that the region has, in memory or on the way, want channels
/// innermost: then all of its images do.
static bool wantsChannelsLast(dl::FusedOp region, const CudaTarget &cuda) {
  auto wants = [&](Value value) {
    return cuda.wantsChannelsLast(getElementTypeOrSelf(value.getType()));
  };
  Block &body = region.getBody().front();
  return llvm::any_of(body.getArguments(), wants) ||
         llvm::any_of(body, [&](Operation &op) { return llvm::any_of(op.getResults(), wants); });
}

/// The layout in which the target may want an image's tensor beside row-major: channels innermost,
/// all of them on a GPU, in whole lines of 16 on a CPU, which stand behind each other where the
/// user wants all channels innermost; null if there is none. `channelsLast`: what a GPU's region
/// wants.
program::LayoutAttr TargetCandidates::wantedLayout(RankedTensorType type, bool channelsLast) const {
  MLIRContext *context = type.getContext();
  const int64_t rank = type.getRank(), line = 16;
  if (std::holds_alternative<CudaTarget>(target))
    return rank >= 3 && channelsLast ? program::LayoutAttr::getChannelsLast(context, rank)
                                     : program::LayoutAttr();
  // With one pixel the channels stand side by side anyway.
  if (imageLayout() == ImageLayout::RowMajor || rank != 4 || type.getDimSize(1) % line != 0 ||
      type.getDimSize(2) * type.getDimSize(3) == 1)
    return {};
  return imageLayout() == ImageLayout::ChannelsLast
             ? program::LayoutAttr::getBlockedLast(context, rank, line)
             : program::LayoutAttr::get(context, {0, 1, 2, 3}, {1, line});
}

/// Row-major, and in the wanted layouts where the region has such tensors.
SmallVector<dl::Layouts> TargetCandidates::layoutsWorthAsking(dl::FusedOp region) const {
  SmallVector<RankedTensorType> types = storedTypes(region);
  SmallVector<dl::Layouts> all = {dl::Layouts(types.size())};
  auto *cuda = std::get_if<CudaTarget>(&target);
  const bool channelsLast = cuda && wantsChannelsLast(region, *cuda);
  dl::Layouts wanted = llvm::map_to_vector(
      types, [&](RankedTensorType type) { return wantedLayout(type, channelsLast); });
  if (std::holds_alternative<CpuTarget>(target))
    keepOthersRowMajor(region, types, wanted);
  if (llvm::any_of(wanted, [](program::LayoutAttr layout) { return bool(layout); }))
    all.push_back(wanted);
  return all;
}

/// Whether the user's layout leaves a convolution no other one: it has code of its own for these.
bool TargetCandidates::takesOnly(dl::FusedOp region, const dl::Layouts &layouts) {
  if (!isForced(imageLayout()) || !convolutionOf(region) ||
      llvm::none_of(layouts, [](program::LayoutAttr layout) { return bool(layout); }))
    return false;
  const KernelOffer *offer = offerIn(region, layouts);
  return offer && llvm::any_of(offer->candidates,
                               [](const auto &one) { return one.candidate.algorithm.has_value(); });
}

/// Whether code in these layouts has the algorithm that the user wants of the convolution.
bool TargetCandidates::hasWanted(dl::FusedOp region, const dl::Layouts &layouts) {
  StoredRegion stored(region, layouts);
  FailureOr<KernelSpec> spec = stored.spec();
  if (failed(spec))
    return false;
  const ConvolutionAlgorithm wanted = wantedAlgorithm(*spec, target);
  return wanted != ConvolutionAlgorithm::Heuristic &&
         llvm::any_of(selector->offer(*spec).candidates,
                      [&](const auto &one) { return one.candidate.algorithm == wanted; });
}

std::vector<dl::Candidate> TargetCandidates::candidates(dl::FusedOp region) {
  std::vector<dl::Candidate> all;
  SmallVector<dl::Layouts> asked = layoutsWorthAsking(region);
  // An algorithm that is asked for goes before layouts that it does not know.
  if (convolutionOf(region) && asked.size() > 1 && !isForced(imageLayout()) &&
      llvm::any_of(asked, [&](const auto &layouts) { return hasWanted(region, layouts); }))
    llvm::erase_if(asked, [&](const auto &layouts) { return !hasWanted(region, layouts); });
  for (const dl::Layouts &layouts : asked) {
    if (takesOnly(region, layouts))
      return candidatesIn(region, layouts);
    llvm::append_range(all, candidatesIn(region, layouts));
  }
  return all;
}

void TargetCandidates::expect(ArrayRef<dl::FusedOp> regions) {
  std::vector<std::string> texts;
  for (dl::FusedOp region : regions) {
    // What no kernel can hold is said when its candidates are asked for.
    ScopedDiagnosticHandler silence(region.getContext(), [](Diagnostic &) {});
    for (const dl::Layouts &layouts : layoutsWorthAsking(region)) {
      StoredRegion stored(region, layouts);
      if (FailureOr<KernelSpec> spec = stored.spec(); succeeded(spec))
        texts.push_back(spec->canonicalText());
    }
  }
  selector->prepare(texts, threads);
}

std::string TargetCandidates::refusal(dl::FusedOp region) {
  ScopedDiagnosticHandler silence(region.getContext(), [](Diagnostic &) {});
  const KernelOffer *offer = offerIn(region, dl::Layouts(storedTypes(region).size()));
  return offer ? offer->refusal : "";
}

bool TargetCandidates::readsStored(dl::AnchorOp anchor, unsigned) {
  auto *cuda = std::get_if<CudaTarget>(&target);
  return cuda && libraryReadsStored(anchor, *cuda);
}

/// On the CPU of what a task's cache holds, on a GPU of what a thread has in registers, there in
/// f32.
bool TargetCandidates::takesReductions(dl::AnchorOp anchor) {
  const bool cuda = std::holds_alternative<CudaTarget>(target);
  return anchor.takesReductions() && (!cuda || getElementTypeOrSelf(anchor->getResult(0)).isF32());
}

/// Convolutions' kernels copy what they read, or can; on a GPU they read it element by element.
/// What cuDNN reads is written by a launch of its own, which is as long as the image's kernel.
bool TargetCandidates::computesImage(dl::AnchorOp) { return true; }

/// Of products' large results: one kernel that goes through all variables, one behind the other,
/// does so at twice the speed of many, which is more than a gradient costs that is small.
bool TargetCandidates::takesUpdates(dl::AnchorOp anchor) {
  auto *cpu = std::get_if<CpuTarget>(&target);
  return cpu && anchor.getAnchor() == dl::Anchor::Gemm &&
         program::storageBytes(cast<RankedTensorType>(anchor->getResult(0).getType())) >=
             cpu->machine.lastCacheBytes();
}

/// On the CPU convolutions and poolings read each element many times, and their kernels know one
/// layout of all images.
bool TargetCandidates::convertsItself(dl::FusedOp region) {
  return std::holds_alternative<CudaTarget>(target) ||
         llvm::none_of(region.getBody().front(), [](Operation &op) {
           auto anchor = dyn_cast<dl::AnchorOp>(op);
           return anchor && (anchor.getAnchor() == dl::Anchor::Convolution ||
                             anchor.getAnchor() == dl::Anchor::Window ||
                             anchor.getAnchor() == dl::Anchor::SlidingSum);
         });
}

double TargetCandidates::conversionSeconds(RankedTensorType type, program::LayoutAttr from,
                                           program::LayoutAttr to) {
  if (auto *cuda = std::get_if<CudaTarget>(&target))
    return cuda->machine.kernelSeconds(2.0 * program::storageBytes(type), 0, 1);
  auto [known, isNew] = conversions.try_emplace(
      {type.getAsOpaquePointer(), from.getAsOpaquePointer(), to.getAsOpaquePointer()}, 0);
  if (!isNew)
    return known->second;
  OpBuilder builder(type.getContext());
  const Location loc = builder.getUnknownLoc();
  OwningOpRef<dl::FusedOp> copy = dl::FusedOp::create(builder, loc, TypeRange(type), ValueRange());
  Block &body = copy->getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  dl::YieldOp::create(builder, loc, ValueRange(body.addArgument(type, loc)));
  const KernelOffer *offer = offerIn(*copy, {from, to});
  assert(offer && !offer->candidates.empty() && "some generator copies in any order");
  return known->second = offer->candidates.front().candidate.cost;
}

double TargetCandidates::secondsPerCopiedByte() {
  return std::visit([](const auto &one) { return 1 / one.machine.copyBytesPerSecond; }, target);
}

int64_t TargetCandidates::mostRowBytes() { return codegen::mostRowBytes(target); }

std::shared_ptr<dl::CandidateSource> createCandidateSource(std::shared_ptr<KernelSelector> selector,
                                                           unsigned threads) {
  return std::make_shared<TargetCandidates>(std::move(selector), threads);
}

llvm::Expected<std::shared_ptr<dl::CandidateSource>> findCandidateSource(StringRef name,
                                                                         bool tf32) {
  llvm::Expected<Target> target = getTarget(name);
  if (!target)
    return target.takeError();
  if (auto *cuda = std::get_if<CudaTarget>(&*target); cuda && tf32)
    cuda->math = DLC_MATH_TF32;
  return createCandidateSource(std::make_shared<KernelSelector>(std::move(*target)));
}

} // namespace dlc::codegen
