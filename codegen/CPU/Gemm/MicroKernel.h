//===- MicroKernel.h - the inner loop of matrix products and convolutions -----------*- C++ -*-===//
//
//   acc[m][n] (+)= sum over k of A(m, k) * B[k][n]       m < rows, n < vectors * lanes
//
// B is a packed panel, `vectors` full vectors a step, or lies in blocks of channels: then each of
// its vectors stands at a fixed distance from the first. A is read by scalar broadcasts from where
// it lies: row m stands at a fixed distance from row 0, step k either at k * stepA or at
// offsets[k], so that a convolution's taps need no im2col. Accumulators live in registers during
// the loop and are stored once, packed [rows][vectors * lanes].
//
// Complex: every other vector of B and of the accumulators holds the imaginary parts of the one
// before it, and A's stand at a fixed distance from its real parts.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_GEMM_MICROKERNEL_H
#define DLC_CODEGEN_CPU_GEMM_MICROKERNEL_H

#include "codegen/CPU/Gemm/PackEmitter.h"

namespace dlc::codegen {

struct MicroKernel {
  /// Distance of each row of A from the first, in elements.
  llvm::SmallVector<int64_t> rowOffsets;
  int64_t vectors = 1;
  /// Distance of each vector of B from the first, and between steps, in elements; none: a packed
  /// panel's.
  llvm::SmallVector<int64_t> columnOffsets;
  int64_t stepB = 0;
  /// Elements between steps of A; 0 means a table of 32-bit offsets.
  int64_t stepA = 0;
  /// From A's real to its imaginary parts, in elements; 0: numbers are real.
  int64_t imaginary = 0;
  /// Cache lines that each step asks for, of what later calls read: of an argument more.
  int64_t laterLines = 0;
  /// They do not stand one behind the other, but where entries in the table of offsets say, which
  /// follow each step's.
  bool laterOffsets = false;

  int64_t rows() const { return int64_t(rowOffsets.size()); }
  /// Entries of the table of offsets for each step.
  int64_t entries() const { return laterOffsets ? 1 + laterLines : 1; }
};

/// The function of `module`: void (a, b, offsets, steps: i64, acc, accumulate: i1[, later]);
/// `accumulate` adds to what acc holds; `later` is what laterLines begin with, brought into L2. A
/// module with several gives each a name. It reads and writes computed elements.
mlir::LLVM::LLVMFuncOp emitMicroKernel(mlir::ModuleOp module, const CpuTarget &target,
                                       Element element, const MicroKernel &kernel,
                                       llvm::StringRef name = "micro_kernel");

} // namespace dlc::codegen

#endif
