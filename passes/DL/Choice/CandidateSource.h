//===- CandidateSource.h - what a target's generators offer for a region ------------*- C++ -*-===//
//
// The question that passes ask of code generation, which they must not know: how may this region
// run, in which layouts, and how long does it take? A region is asked for as it is stored, before
// outlining, so that the choice of layouts and of code is one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_CHOICE_CANDIDATESOURCE_H
#define DLC_PASSES_DL_CHOICE_CANDIDATESOURCE_H

#include "dialects/DL/DL.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dlc::dl {
class FusedOp;

/// How a region's tensors lie in memory: its operands, then its results. Null is row-major.
using Layouts = llvm::SmallVector<program::LayoutAttr>;

/// One way to run a region.
struct Candidate {
  std::string generator;
  std::string schedule; ///< of the generator: equal text, equal code
  Layouts layouts;
  uint64_t workspaceBytes = 0;
  bool inPlace = true; ///< a result may lie in an operand that it needs at the same places only
  /// Estimated, on one core or one GPU: so that the sum over what is run is the time of a step.
  /// Counts packing, conversion of what does not lie as it is computed, and the workspace.
  double seconds = 0;
  /// The operand, if any, of which the kernel makes something of its own before it looks at others,
  /// and the part of `seconds` that this takes: once only, where the operand does not change, or
  /// for all regions of an entry that want the same.
  std::optional<unsigned> preparedOperand = std::nullopt;
  std::string preparedForm = ""; ///< what it makes: equal text and an equal operand, an equal thing
  double preparationSeconds = 0;
  /// A convolution by code for these layouts: what a layout that the user forces leaves.
  bool isDirected = false;
  bool pinned = false;         ///< to be taken whatever it costs
  bool pinnedPrepared = false; ///< to be taken where preparedOperand does not change

  /// As it stands on a region that runs so.
  program::CandidateAttr asAttr(mlir::MLIRContext *context) const;
};

class CandidateSource {
public:
  virtual ~CandidateSource() = default;
  /// The dialects that answers are computed in: passes that ask depend on them.
  virtual void addDialects(mlir::DialectRegistry &registry) const = 0;
  /// Says which regions candidates() will be asked for, so that it can work on them at once.
  virtual void expect(llvm::ArrayRef<FusedOp> regions) = 0;
  /// Every way to run a region whose types have no layouts yet, in all layouts that may pay. Those
  /// of one layout stand together, the one to take first; row-major ones stand in front. Empty if
  /// no kernel can hold the region, which may have been said as an error.
  virtual std::vector<Candidate> candidates(FusedOp region) = 0;
  /// Those in given layouts, with conversions where the region's own order is another.
  virtual std::vector<Candidate> candidatesIn(FusedOp region, const Layouts &layouts) = 0;
  /// Why there are none in any layout; empty where that has been said, or is not known.
  virtual std::string refusal(FusedOp region) = 0;
  /// Whether the anchor's operands are to stand in memory: what the target would run cannot compute
  /// them while it reads.
  virtual bool readsStored(AnchorOp anchor) = 0;
  /// Whether the target can run reductions behind the anchor.
  virtual bool takesReductions(AnchorOp anchor) = 0;
  /// Whether the target can run the update of a variable behind the anchor that makes its gradient.
  virtual bool takesUpdates(AnchorOp anchor) = 0;
  /// Whether a region's code may read and write tensors in another layout than its candidates'; if
  /// not, a kernel of its own converts them.
  virtual bool convertsItself(FusedOp region) = 0;
  /// Whether candidatesIn() knows what it takes such code to read and write in another order. If
  /// not, it is taken to cost what a kernel of its own does.
  virtual bool estimatesConversions() = 0;
  /// What a kernel takes that only converts a tensor. `type`: without its layout.
  virtual double conversionSeconds(mlir::RankedTensorType type, program::LayoutAttr from,
                                   program::LayoutAttr to) = 0;
  /// What a byte of a copy counts where copies are to be few: about what the kernel that makes it
  /// takes.
  virtual double secondsPerCopiedByte() = 0;
  /// Of the longest rows of which a core's cache holds several: what is read of one to combine it
  /// is still at hand when that is done.
  virtual int64_t mostRowBytes() = 0;
};

/// Makes the source for a target by its name ("cpu", "cuda:sm_90"); fails with a message for a
/// target that is none.
using CandidateSources =
    std::function<llvm::Expected<std::shared_ptr<CandidateSource>>(llvm::StringRef target)>;

/// Gives the tensors that a region reads and writes their layouts, inside: values keep the types
/// that they have, and dl.convert_layout leads to and from the others.
void storeAs(mlir::Block &region, const Layouts &layouts);

/// `type` in a layout; null is row-major.
mlir::RankedTensorType inLayout(mlir::RankedTensorType type, program::LayoutAttr layout);

} // namespace dlc::dl

#endif
