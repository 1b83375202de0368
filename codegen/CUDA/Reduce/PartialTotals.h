//===- PartialTotals.h - totals of which blocks leave parts -------------------------*- C++ -*-===//
//
// Reductions that many blocks compute together: each leaves its part of an element's totals in the
// workspace, and a last phase merges the parts in order (reduce_parts.cuh). So it is where few
// elements are combined of many, and where the tiles of a convolution are reduced.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_REDUCE_PARTIALTOTALS_H
#define DLC_CODEGEN_CUDA_REDUCE_PARTIALTOTALS_H

#include "codegen/CUDA/Text/KernelText.h"

namespace dlc::codegen {

/// Threads of a block of phases that add or merge parts.
inline constexpr uint32_t partsThreads = 128;

class PartialTotals {
public:
  /// Of the spec's reductions, in a workspace of `element`.
  PartialTotals(const KernelSpec &spec, int64_t kept, int64_t parts, mlir::Type element);
  /// Of each channel, behind a convolution whose result is reduced.
  static PartialTotals ofChannels(const KernelSpec &spec, int64_t parts);

  /// Of the workspace.
  int64_t elements() const { return values * kept * parts; }
  /// Blocks of the phase that leaves the parts, if each leaves one.
  uint64_t blocks() const { return uint64_t(kept * parts); }
  /// Adds the parts to the workspace, behind what is there, and the phase that merges them.
  void schedule(Candidate &candidate) const;
  /// Operations of an element of the convolution's result: it is added, and takes its share of what
  /// a thread and a block do for each of their totals.
  double operations() const { return 5.0 * values; }
  /// Adds what skeletons ask for; the parts stand at `at`, in elements.
  void addConstants(KernelText &text, int64_t at) const;
  /// Adds the phase that merges them.
  void addPhase(KernelText &text) const;

private:
  int64_t kept, parts, values; ///< elements, parts of each, numbers of a total
  mlir::Type element;
};

} // namespace dlc::codegen

#endif
