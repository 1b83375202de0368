//===- LibraryCalls.h - calls of cuBLASLt, and what calls cost ----------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_LIBRARYCALLS_H
#define DLC_CODEGEN_CUDA_LIBRARYCALLS_H

#include "codegen/CUDA/ProductTiles.h"

namespace dlc::codegen {

/// Of operands that are stored transposed or not; without an epilogue and without arguments. The
/// last of those is a workspace of call.workspace_bytes, at most `limit`.
LibraryCall productCall(const ProductExtents &p, bool transposeA, bool transposeB, dlc_math math,
                        std::optional<uint64_t> limit);

/// Estimated seconds of a call that reads and writes its tensors once.
double callSeconds(double flops, double bytes, dlc_math math, const GpuMachine &machine);

} // namespace dlc::codegen

#endif
