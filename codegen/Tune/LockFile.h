//===- LockFile.h - which code runs each kernel, as measured on a machine -----------*- C++ -*-===//
//
// model.plan.json: what `dlc tune` found and `dlc --plan` takes. One line a problem, which is a
// kernel by the hash of its region's canonical text (op, sizes, types, layouts, what is fused
// around it); everything else in a line's `problem`, and the layers that it stands for, are for
// people. `chosen` runs it; `others` were slower, and say by how much. Seconds are those of one
// core or one GPU, as estimates are, so that dl-choose can add them up. `preparing` is the part of
// them that makes something of an operand of its own: where that stays as it is, as weights do in
// inference, it runs once, and `chosen_prepared` runs the kernel if it is there.
//
//   {
//     "dlc_plan": 2,
//     "target": "znver5, vectors of 64 bytes, ...",
//     "machine": "AMD EPYC 9B45, 2 threads",
//     "kernels": [
//       {"problem": {"hash": "5f..", "op": "dl.convolution", ...}, "layers": ["conv1/forward"],
//        "chosen": {"generator": "cpu-winograd", ...}, "others": [...]},
//       ...
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_TUNE_LOCKFILE_H
#define DLC_CODEGEN_TUNE_LOCKFILE_H

#include "codegen/Compile/KernelSelector.h"

namespace dlc::codegen {
struct Selectors;

/// A candidate and what it took.
struct MeasuredCandidate {
  std::string generator, schedule;
  std::string algorithm; ///< of a convolution on the CPU, else empty
  uint64_t workspaceBytes = 0;
  double seconds = 0;
  double preparing = 0; ///< of `seconds`

  std::string name() const { return generator + ": " + schedule; }
};

/// What a kernel computes.
struct TunedProblem {
  std::string hash;       ///< 32 hexadecimal digits
  std::string name;       ///< conv3x3_bias_relu_64x56x56
  std::string op;         ///< of the anchor: "dl.convolution_backward_filter"; "map" without one
  std::string attributes; ///< of the anchor: "{groups = 1 : i64, ...}"
  std::vector<std::string> operands, results; ///< types: sizes, elements, layouts
  std::vector<std::string> fused;             ///< the other ops

  /// Of a kernel's canonical text. `context`: with the dialects of registerKernelDialects.
  static llvm::Expected<TunedProblem> get(llvm::StringRef text, mlir::MLIRContext &context);
};

struct TunedKernel {
  TunedProblem problem;
  std::vector<std::string> layers; ///< the first launches of it, sorted; labels
  MeasuredCandidate chosen;
  /// Takes least without its preparing; nothing if that is `chosen`.
  std::optional<MeasuredCandidate> chosenPrepared;
  std::vector<MeasuredCandidate> others; ///< ascending by their seconds
  unsigned line = 0; ///< where its problem stands in the file that it was read from, from 1
};

/// What of a plan does not fit the kernels of a model.
struct Misfit {
  unsigned line = 0; ///< of the file, from 1; 0 for what no line of it is about
  std::string message;
};

class LockFile {
public:
  /// What is generated for: a plan is for equal ones.
  std::string target;
  /// Where it was measured.
  std::string machine;
  std::vector<TunedKernel> kernels; ///< ascending by their problems' hashes

  /// Fails with one line that begins with `path`: what cannot be read, is no JSON, has another
  /// version, fields that are unknown, missing or of another type, or is for another target.
  static llvm::Expected<LockFile> read(const std::string &path, const Target &target);
  /// Fails where the file cannot be written.
  llvm::Error write(const std::string &path) const;

  /// For a KernelSelector.
  PinnedChoices choices() const;
  /// What does not fit the kernels that the selectors were asked for, one a line of the file:
  /// problems that none of them has, and candidates that there are no longer; and, one a name,
  /// kernels that are used, with a choice, that the plan does not have.
  std::vector<Misfit> findMisfits(const Selectors &selectors) const;
};

/// The candidates of a kernel that are worth being timed.
std::vector<const GeneratedCandidate *> contendersOf(const KernelOffer &offer);

/// Of a kernel's canonical text.
std::string problemHash(llvm::StringRef text);

} // namespace dlc::codegen

#endif
