//===- Join.cpp - dl-join: regions that one kernel computes together --------------------------===//
//
// Joins regions that dl-fuse keeps apart, where the target computes them together in less time than
// apart. dl-fuse asks nobody: what it puts together is computed no more often, and stored less.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Fusion/Join.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// The region's candidates in the layouts that it has; none where no kernel can hold it.
static std::vector<Candidate> candidatesAsStored(CandidateSource &source, FusedOp region) {
  Layouts layouts;
  for (TypeRange types : {TypeRange(region->getOperandTypes()), TypeRange(region.getResultTypes())})
    for (Type type : types)
      layouts.push_back(
          dyn_cast_or_null<program::LayoutAttr>(cast<RankedTensorType>(type).getEncoding()));
  ScopedDiagnosticHandler silence(region.getContext(), [](Diagnostic &) {});
  return source.candidatesIn(region, layouts);
}

/// Nothing if there are none.
static std::optional<Candidate> firstOf(const std::vector<Candidate> &all) {
  return all.empty() ? std::nullopt : std::optional(all.front());
}

double Joiner::secondsOf(FusedOp region) {
  if (region.getCandidateAttr())
    return dl::secondsOf(region);
  const std::optional<Candidate> first = firstOf(source.candidates(region));
  return first ? first->seconds : std::numeric_limits<double>::infinity();
}

/// Nothing where no kernel holds the joined region.
std::optional<Candidate> Joiner::codeFor(const Join &join, JoinedCode code) {
  FusedOp region = join.region;
  program::CandidateAttr chosen = region.getCandidateAttr();
  if (!chosen)
    return firstOf(source.candidates(join.joined));
  const std::vector<Candidate> all = candidatesAsStored(source, join.joined);
  auto found = llvm::find_if(all, [](const Candidate &one) { return one.pinned; });
  if (found == all.end())
    found = llvm::find_if(
        all, [&](const Candidate &one) { return chosen.isCode(one.generator, one.schedule); });
  if (found != all.end())
    return *found;
  return code == JoinedCode::Any ? firstOf(all) : std::nullopt;
}

/// What passes have noted of the region holds of the joined one, and so does its choice, with the
/// joined one's seconds.
static void keepNotes(const Join &join, const Candidate &candidate) {
  auto [region, joined, rest] = join;
  NamedAttrList noted(region->getDiscardableAttrDictionary());
  for (NamedAttribute own : joined->getDiscardableAttrs())
    noted.set(own.getName(), own.getValue());
  joined->setDiscardableAttrs(noted.getDictionary(region.getContext()));
  if (!region.getCandidateAttr())
    return;
  joined.setCandidateAttr(candidate.asAttr(region.getContext()));
  if (program::CandidateAttr second = region.getSecondBestAttr())
    joined.setSecondBestAttr(
        second.withMore(rest.value_or(candidate.seconds - dl::secondsOf(region))));
}

bool Joiner::accept(ArrayRef<Join> joins, double apart, JoinedCode code) {
  double together = 0;
  SmallVector<Candidate> candidates;
  for (const Join &join : joins)
    if (std::optional<Candidate> candidate = codeFor(join, code)) {
      apart += secondsOf(join.region);
      together += candidate->seconds;
      candidates.push_back(std::move(*candidate));
    }
  if (candidates.size() < joins.size() || together >= apart) {
    for (Join join : joins)
      join.joined.erase();
    return false;
  }
  for (auto [join, candidate] : llvm::zip_equal(joins, candidates))
    keepNotes(join, candidate);
  return true;
}

//===------------------------------------------------------------------------------------------===//
// The pass
//===------------------------------------------------------------------------------------------===//

ArrayRef<JoinPattern> dlc::dl::joinPatterns() {
  using enum JoinPattern::Stage;
  static constexpr JoinPattern patterns[] = {
      {"product-gradients", BeforeChoice, joinProductGradients},
      // Layouts and code decide where reductions find what they reduce in the cache; to reduce it
      // costs all of a region's candidates about the same, and so has no say in their choice.
      {"reductions", BehindChoice, joinReductions},
      // Behind these, which decide what code reads an image and what is read beside it.
      {"prologues", BehindChoice, joinPrologues},
      // Parameters, gradients and slots lie alike, and what joins changes what a region stores, but
      // not how it computes.
      {"updates", BehindChoice, joinUpdates}};
  return patterns;
}

namespace {
struct JoinPass : PassWrapper<JoinPass, OperationPass<EntryOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinPass)

  JoinPass(std::shared_ptr<CandidateSource> source, JoinOptions options)
      : source(std::move(source)), options(std::move(options)) {}
  StringRef getArgument() const override { return "dl-join"; }
  StringRef getDescription() const override {
    return "joins regions that the target computes together in less time than apart";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    source->addDialects(registry);
  }
  void runOnOperation() override {
    Joiner joiner(getOperation().getBlock(), *source, options.savesMemory);
    for (const JoinPattern &pattern : joinPatterns())
      if (llvm::is_contained(options.patterns, pattern.name))
        pattern.apply(joiner);
  }

  std::shared_ptr<CandidateSource> source;
  JoinOptions options;
};
} // namespace

std::unique_ptr<Pass> dlc::dl::createJoin(std::shared_ptr<CandidateSource> source,
                                          JoinOptions options) {
  return std::make_unique<JoinPass>(std::move(source), std::move(options));
}
