//===- Join.h - regions that one kernel computes together ---------------------------*- C++ -*-===//
//
// What the patterns of dl-join share: how a join is decided, and what becomes of the choice that
// stands on the regions. A pattern knows which regions may join and how they do.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_FUSION_JOIN_H
#define DLC_PASSES_DL_FUSION_JOIN_H

#include "passes/DL/Choice/CandidateSource.h"
#include "passes/DL/Fusion/JoinRegions.h"

namespace dlc::dl {

/// `joined` computes what `region` does and more: it may take the region's place.
struct Join {
  FusedOp region, joined;
  /// Seconds of the rest beside the second best code of `region`; without a number as many as
  /// beside the best.
  std::optional<double> rest = std::nullopt;
};

/// The code of a joined region, where one has been chosen for the region whose place it takes.
enum class JoinedCode {
  Same, ///< that one, or a plan's
  Any   ///< another where that one cannot compute the rest
};

class Joiner {
public:
  /// `savesMemory`: whether what is not stored may take the time in which it would be computed
  /// again.
  Joiner(mlir::Block &block, CandidateSource &source, bool savesMemory)
      : block(block), source(source), savesMemory(savesMemory) {}

  /// Estimated, of the code that dl-choose has taken, before it of the first that the target has;
  /// infinite where it has none.
  double secondsOf(FusedOp region);

  /// The test of profit: true if the joined regions together take less time than those whose places
  /// they take and what need not run then, of `apart` seconds. They then have their code, and what
  /// passes have noted of the regions. If not, they are erased.
  bool accept(llvm::ArrayRef<Join> joins, double apart, JoinedCode code = JoinedCode::Same);

  mlir::Block &block;
  CandidateSource &source;
  const bool savesMemory;

private:
  std::optional<Candidate> codeFor(const Join &join, JoinedCode code);
};

//===--- Patterns ---------------------------------------------------------------------------===//

/// Sums of a product's operand with the product.
void joinProductGradients(Joiner &joiner);
/// Reductions with what computes what they reduce.
void joinReductions(Joiner &joiner);
/// What computes an image with the convolutions that read it.
void joinPrologues(Joiner &joiner);
/// Updates of variables with what computes their gradients.
void joinUpdates(Joiner &joiner);

} // namespace dlc::dl

#endif
