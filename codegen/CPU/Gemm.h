// Packed matrix product on the CPU:
//
//   c[b][m][n] = sum over k of a[b][m][k] * b[b][k][n]
//
// Cache blocks of both operands are packed into a task's scratch in the order in which the micro-kernel of MicroKernel.h
// walks them; prologue bodies run while packing, epilogue bodies on finished accumulators. Products with a long sum and a
// small result are split along k: the parts meet in a workspace and are added in ascending order by a second phase.
#pragma once

#include "codegen/CPU/PackEmitter.h"

namespace dlc::codegen {

struct GemmProblem {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  /// Neighbours in memory: a's along m instead of k, b's along k instead of n.
  bool transposeA = false, transposeB = false;
};

/// Index spaces whatever the storage: a (batch, m, k), b (batch, k, n), c (batch, m, n).
struct GemmOperands {
  Source a, b;
  Sink c;
  /// Buffers in dlc_args; the workspace, if any, follows as buffer number `arguments`.
  unsigned arguments = 3;
};

struct GemmSchedule {
  /// Register tile.
  int64_t rows = 1, vectors = 1;
  /// Steps of one reduction block, a multiple of the vector length.
  int64_t depth = 1;
  /// Tiles along m that are packed at a time.
  int64_t blockTiles = 1;
  /// Of one task: tiles along m, panels along n; and the parts of k.
  int64_t tiles = 1, panels = 1, splits = 1;
};

GemmSchedule chooseGemmSchedule(const GemmProblem &problem, const MachineModel &machine);

/// Appends the kernel's functions to `module`; their names start with `symbol`.
EmittedKernel emitGemm(mlir::ModuleOp module, llvm::StringRef symbol, const GemmProblem &problem,
                       const GemmOperands &operands, const MachineModel &machine,
                       const GemmSchedule &schedule);

} // namespace dlc::codegen
