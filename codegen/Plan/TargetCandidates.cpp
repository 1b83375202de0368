//===- TargetCandidates.cpp - what a target's generators offer passes -------------------------===//
#include "codegen/Plan/TargetCandidates.h"
#include "codegen/Compile/StoredRegion.h"
#include "codegen/Targets.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "mlir/IR/OwningOpRef.h"
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
  bool readsStored(dl::AnchorOp anchor) override;
  bool takesReductions(dl::AnchorOp anchor) override;
  bool takesUpdates(dl::AnchorOp anchor) override;
  bool convertsItself(dl::FusedOp region) override;
  bool estimatesConversions() override { return !target.conversionSeconds(0); }
  double conversionSeconds(RankedTensorType type, program::LayoutAttr from,
                           program::LayoutAttr to) override;
  double secondsPerCopiedByte() override;
  int64_t mostRowBytes() override;

private:
  const KernelOffer *offerIn(dl::FusedOp region, const dl::Layouts &layouts);
  bool hasWanted(dl::FusedOp region, const dl::Layouts &layouts);
  bool takesOnly(dl::FusedOp region, const dl::Layouts &layouts);
  SmallVector<dl::Layouts> layoutsWorthAsking(dl::FusedOp region) const;

  std::shared_ptr<KernelSelector> selector;
  const Target &target;
  const unsigned threads;
  std::map<std::array<const void *, 3>, double> conversions; ///< seconds by type, from and to
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
                   one.candidate.allWorkspaceBytes(), one.candidate.inPlace, one.candidate.cost});
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

/// Row-major, and in the wanted layouts where the region has such tensors.
SmallVector<dl::Layouts> TargetCandidates::layoutsWorthAsking(dl::FusedOp region) const {
  dl::Layouts wanted = target.wantedLayouts(region);
  SmallVector<dl::Layouts> all = {dl::Layouts(wanted.size())};
  if (llvm::any_of(wanted, [](program::LayoutAttr layout) { return bool(layout); }))
    all.push_back(std::move(wanted));
  return all;
}

/// Whether the user's layout leaves a convolution no other one: it has code of its own for these.
bool TargetCandidates::takesOnly(dl::FusedOp region, const dl::Layouts &layouts) {
  if (!isForced(target.settings.layout) || !convolutionOf(region) ||
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
  if (convolutionOf(region) && asked.size() > 1 && !isForced(target.settings.layout) &&
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

bool TargetCandidates::readsStored(dl::AnchorOp anchor) { return target.readsStored(anchor); }

bool TargetCandidates::takesReductions(dl::AnchorOp anchor) {
  return target.takesReductions(anchor);
}

bool TargetCandidates::takesUpdates(dl::AnchorOp anchor) { return target.takesUpdates(anchor); }

bool TargetCandidates::convertsItself(dl::FusedOp region) { return target.convertsItself(region); }

double TargetCandidates::conversionSeconds(RankedTensorType type, program::LayoutAttr from,
                                           program::LayoutAttr to) {
  if (std::optional<double> seconds = target.conversionSeconds(program::storageBytes(type)))
    return *seconds;
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

double TargetCandidates::secondsPerCopiedByte() { return target.secondsPerCopiedByte(); }

int64_t TargetCandidates::mostRowBytes() { return target.mostRowBytes(); }

std::shared_ptr<dl::CandidateSource> createCandidateSource(std::shared_ptr<KernelSelector> selector,
                                                           unsigned threads) {
  return std::make_shared<TargetCandidates>(std::move(selector), threads);
}

llvm::Expected<std::shared_ptr<dl::CandidateSource>> findCandidateSource(StringRef name) {
  llvm::Expected<std::shared_ptr<Target>> target = getTarget(name);
  if (!target)
    return target.takeError();
  return createCandidateSource(std::make_shared<KernelSelector>(std::move(*target)));
}

} // namespace dlc::codegen
