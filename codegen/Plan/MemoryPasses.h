//===- MemoryPasses.h - what a layer reads and writes, beside the least it could ----*- C++ -*-===//
//
// Norms, softmax, losses, pooling, element-wise chains and updates cost what they read and write.
// The least is what their formula needs: what comes from elsewhere is read once, what others need
// is written once. It is read again only behind a sum over more than a core's cache holds, or over
// what does not stand in one piece: a batch norm reads x for its moments and then to apply them,
// while a row of a layer norm or softmax is still in the cache when its sum is known. So more bytes
// than the least are passes that one kernel in the place of several would not make. A copy is never
// needed. What another layer could do while it has the data is not taken off the least; what sums
// read behind a product is counted apart.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_MEMORYPASSES_H
#define DLC_CODEGEN_PLAN_MEMORYPASSES_H

#include "dialects/Exec/Exec.h"

namespace dlc::codegen {

/// The records of one layer and stage, products, convolutions and attention excepted: these cost
/// what they compute.
struct MemoryPasses {
  std::string layer, stage;
  int64_t records = 0;
  int64_t bytes = 0; ///< that the chosen code reads and writes
  int64_t least = 0; ///< that the formula needs
  /// Of the least, what sums read of what a product or convolution has written: a product that
  /// summed what it writes, in its own kernel, would save this.
  int64_t behindProducts = 0;
};

/// In the order of each one's first record. `mostRowBytes`: of rows that a cache holds.
std::vector<MemoryPasses> countMemoryPasses(exec::ProgramOp program,
                                            const mlir::SymbolTable &symbols, int64_t mostRowBytes);

} // namespace dlc::codegen

#endif
