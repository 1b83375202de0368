//===- LibraryCalls.h - calls of cuBLASLt, and what calls cost ----------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_LIBRARY_LIBRARYCALLS_H
#define DLC_CODEGEN_CUDA_LIBRARY_LIBRARYCALLS_H

#include "codegen/CUDA/Product/ProductTiles.h"

namespace dlc::codegen {

/// What a call multiplies: its operands' dtype, and what it may do to those of float32.
struct CallType {
  dlc_dtype dtype = DLC_F32;
  dlc_math math = DLC_MATH_STRICT;

  /// Of a product or convolution; nothing where the libraries have no such calls.
  static std::optional<CallType> get(mlir::Operation *anchor);
  /// Channels that tensor cores take at a time; 1 for what does without them.
  int64_t multiple() const { return !usesTensorCores() ? 1 : dtype == DLC_F32 ? 4 : 8; }
  bool usesTensorCores() const { return dtype != DLC_F32 || math == DLC_MATH_TF32; }
};

/// Of operands that are stored transposed or not; without an epilogue and without arguments. The
/// last of those is a workspace of call.workspace_bytes, at most `limit`.
LibraryCall productCall(const ProductExtents &p, bool transposeA, bool transposeB, CallType type,
                        std::optional<uint64_t> limit);

/// Estimated seconds of a call that reads and writes its tensors once.
double callSeconds(double flops, double bytes, CallType type, const GpuMachine &machine);

} // namespace dlc::codegen

#endif
