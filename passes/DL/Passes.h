//===- Passes.h - passes on the dl dialect ------------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_PASSES_H
#define DLC_PASSES_DL_PASSES_H

#include "dialects/DL/DL.h"
#include "mlir/Pass/Pass.h"
#include "passes/DL/Choice/CandidateSource.h"
#include "llvm/ADT/StringMap.h"

namespace dlc::dl {
class EntryOp;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/DL/Passes.h.inc"

/// What a module needs that is compiled as it stands. Takes the module apart.
struct PlannedMemory {
  int64_t stateBytes = 0;   ///< of variables, without derived ones
  int64_t derivedBytes = 0; ///< of variables that are there for evaluation and inference alone
  llvm::StringMap<int64_t> arenaBytes; ///< by the entry's name

  /// Of the arena and of the variables that stand beside it.
  int64_t bytesOf(EntryOp entry) const;
};
using MemoryPlanner = std::function<llvm::FailureOr<PlannedMemory>(mlir::ModuleOp)>;

/// What comes of compiling a module within a memory budget.
struct MemoryFit {
  /// An entry before anything is computed again.
  struct Entry {
    int64_t bytes = 0;
    double seconds = 0;
  };
  int64_t budget = 0;
  llvm::StringMap<Entry> tooLarge; ///< by name, entries that do not fit
  std::string largest;             ///< the first of these that needs `bytes`
  /// The least that the largest of these was found to need, or `bound` where that was not looked
  /// for.
  int64_t bytes = 0;
  int64_t bound = 0;      ///< what the largest needs whatever is computed again
  bool isSearched = true; ///< whether the least of all of them was looked for
  double seconds = 0;     ///< of all entries, estimated

  bool fits() const { return tooLarge.empty(); }
};
/// Takes the module apart. `early`: what is out of reach by its bound is not looked for. Fails,
/// without a word, where the passes fail for another reason.
using MemoryFitter = std::function<llvm::FailureOr<MemoryFit>(mlir::ModuleOp, bool early)>;
/// The error that the entry needs so many bytes, or at least so many where `isBound`.
mlir::InFlightDiagnostic emitMisfit(EntryOp entry, int64_t budget, int64_t bytes, bool isBound);
/// The most divisions of a batch that dl-divide-batch tries, beside the whole.
inline constexpr unsigned mostDivisions = 16;

/// dl-divide-batch, so that entries fit where they do not otherwise. Null: as the options say.
std::unique_ptr<mlir::Pass> createDivideBatch(DivideBatchOptions options, MemoryFitter fitter);
/// dl-rematerialize, with the memory that the compiled module will need. Null: what LiveMemory.h
/// takes it to be.
std::unique_ptr<mlir::Pass> createRematerialize(RematerializeOptions options,
                                                MemoryPlanner planner);
/// dl-fuse for a target; null is none.
std::unique_ptr<mlir::Pass> createFuse(FuseOptions options,
                                       std::shared_ptr<CandidateSource> target);
/// The passes that ask what the target's generators offer; not null. For dlc-opt they are
/// registered with the pipelines, as passes with the option `target`. `prepares`: whether what a
/// kernel makes of an operand that stays as it is costs nothing, as exec-prepare-operands sees to.
std::unique_ptr<mlir::Pass> createChoose(std::shared_ptr<CandidateSource> source,
                                         bool prepares = true);

/// What dl-join joins, and where: on regions without a choice, or on those that have theirs.
struct JoinPattern {
  llvm::StringRef name;
  enum class Stage { BeforeChoice, BehindChoice } stage;
  void (*apply)(class Joiner &);
};
/// In the order in which they are tried.
llvm::ArrayRef<JoinPattern> joinPatterns();
struct JoinOptions {
  llvm::SmallVector<llvm::StringRef> patterns = {}; ///< by name
  /// Whether what is not stored may take the time in which it would be computed again.
  bool savesMemory = false;
};
std::unique_ptr<mlir::Pass> createJoin(std::shared_ptr<CandidateSource> source,
                                       JoinOptions options);

} // namespace dlc::dl

#endif
