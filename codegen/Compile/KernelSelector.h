//===- KernelSelector.h - what may run a kernel, and what will ----------------------*- C++ -*-===//
//
// Asks the generators of one target. They are asked once for each kernel, by its canonical text:
// dl-choose, the selection behind it and the report read the same answer, and a text that a CUDA
// generator has printed to find out whether it can is the one that is compiled.
//
// Fast; emits no code. May be called by several threads, whose kernels lie in any contexts.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_COMPILE_KERNELSELECTOR_H
#define DLC_CODEGEN_COMPILE_KERNELSELECTOR_H

#include "codegen/Compile/Target.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

namespace dlc::codegen {

/// A kernel, and every way to run it on a target.
struct KernelOffer {
  std::string text; ///< the spec's canonical text
  std::string code; ///< the same without the sizes that the code does not know
  std::string stem; ///< of its symbol
  uint64_t flops = 0, bytes = 0;
  /// The pinned one first. Else calls of libraries, as the user has asked for them, and of both
  /// kinds the cheapest; behind them what is not proven.
  std::vector<GeneratedCandidate> candidates;
  /// Why there are no candidates, or none but slow ones; empty if there are others.
  std::string refusal = "";
  /// Of a convolution: the algorithm that the user wants needs more workspace than it may have.
  bool lacksWorkspace = false;
};

/// A kernel that has been measured.
struct PinnedKernel {
  std::string chosen; ///< GeneratedCandidate::name() of the one to take
  /// Of the one to take where what it prepares is there already; empty if that is `chosen`.
  std::string chosenPrepared;
  /// Of one core or one GPU.
  struct Seconds {
    double all = 0, preparing = 0; ///< `preparing` is the part that Candidate::preparation has
  };
  /// By their names; of the chosen one and of others.
  llvm::StringMap<Seconds> seconds;
};
/// What is known of a kernel by its canonical text, or null. Called by several threads.
using PinnedChoices = std::function<const PinnedKernel *(llvm::StringRef text)>;

/// What the user wants for a convolution's direction: what its layer says, else the target.
ConvolutionAlgorithm wantedAlgorithm(const KernelSpec &spec, const Target &target);

class KernelSelector {
public:
  explicit KernelSelector(std::shared_ptr<const Target> target, PinnedChoices pinned = nullptr);

  const Target &target() const { return *generatedFor; }

  /// What there is for a kernel, with at least one candidate for a valid spec. Lives as long as
  /// the selector, and is the same for specs of equal text.
  const KernelOffer &offer(const KernelSpec &spec);
  /// Finds the offers for kernels, given by their canonical texts, on `threads` threads; 0: one a
  /// core. What they are does not depend on it.
  void prepare(llvm::ArrayRef<std::string> texts, unsigned threads);

  /// All that were asked for, in the order of their texts. Not while others ask.
  std::vector<const KernelOffer *> offers() const;

  /// Analyses the region and takes the candidate that is `chosen`, or the first one. Fails with an
  /// error at the offending op.
  mlir::FailureOr<SelectedKernel> select(mlir::Block &block, program::CandidateAttr chosen = {});
  /// The same for a choice already made (a plan's lock file, a benchmark).
  SelectedKernel select(const KernelOffer &offer, const GeneratedCandidate &choice) const;
  /// For a choice with a library call the cheapest candidate without one; nothing for others.
  std::optional<SelectedKernel> selectAlternative(const SelectedKernel &choice);

private:
  struct Answer {
    std::once_flag asked;
    KernelOffer offer;
  };
  Answer &answerTo(llvm::StringRef text);
  const KernelOffer &offer(const KernelSpec &spec, llvm::StringRef text);
  void ask(const KernelSpec &spec, KernelOffer &offer) const;

  const std::shared_ptr<const Target> generatedFor;
  const PinnedChoices pinned;
  const std::string identity; ///< of the target and of what generates for it
  std::mutex lock;            ///< of the map; not held while generators work
  llvm::StringMap<std::unique_ptr<Answer>> answers;
};

} // namespace dlc::codegen

#endif
