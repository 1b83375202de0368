//===- MicroKernel.h - the inner loop of matrix products and convolutions -----------*- C++ -*-===//
//
//   acc[m][n] (+)= sum over k of A(m, k) * B[k][n]       m < rows, n < vectors * lanes
//
// A micro-kernel is what a processor multiplies and adds with: how many numbers along k a step
// takes, how they are packed, what a step costs, and the function that makes all steps. Its users
// ask for these and pack, count and lay out places: a place holds what a row of A or a column of B
// has in a step. One file each: FmaKernel.cpp takes any float, Bf16Kernel.cpp pairs of bf16 in
// vectors, AmxKernel.cpp in tiles.
//
// B is a packed panel, `vectors` full vectors a step, or lies in blocks of channels: then each of
// its vectors stands at a fixed distance from the first. A is read by scalar broadcasts from where
// it lies: row m stands at a fixed distance from row 0, step s either at s * stepA or at
// offsets[s], so that a convolution's taps need no im2col. Accumulators live in registers during
// the loop and are stored once: packed [rows][vectors * lanes], or, rounded, as results.
//
// Where the instruction takes groups of rows and of steps (`group`), the rows of a group stand at
// one distance in A, and its steps follow each other there. In the sum a group's steps are `apart`
// from each other: `apart` groups take turns, so that a panel's order of channels and taps stays.
//
// Complex: every other vector of B and of the accumulators holds the imaginary parts of the one
// before it, and A's stand at a fixed distance from its real parts.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_GEMM_MICROKERNEL_H
#define DLC_CODEGEN_CPU_GEMM_MICROKERNEL_H

#include "codegen/CPU/CostModel.h"
#include "codegen/CPU/Gemm/PackEmitter.h"

namespace dlc::codegen {

/// Rows and columns of a call, and where its operands lie; distances in places.
struct MicroTile {
  /// Distance of each row of A from the first.
  llvm::SmallVector<int64_t> rowOffsets;
  int64_t vectors = 1;
  /// Distance of each vector of B from the first, and between steps; none: a packed panel's.
  llvm::SmallVector<int64_t> columnOffsets;
  int64_t stepB = 0;
  /// Between steps of A; 0 means a table of 32-bit offsets.
  int64_t stepA = 0;
  /// From A's real to its imaginary parts; 0: numbers are real.
  int64_t imaginary = 0;
  /// Cache lines that each step, or group of steps, asks for, of what later calls read: of an
  /// argument more.
  int64_t laterLines = 0;
  /// They do not stand one behind the other, but where entries in the table of offsets say, behind
  /// each step's of A, if that has one.
  bool laterOffsets = false;
  /// How many such arguments there are: the same lines of each.
  int64_t laterArguments = 1;
  /// Of a call that ends its sums: where each row's are stored, in stored elements from pointers
  /// that are arguments, one for each vector. Empty: there are no such arguments.
  llvm::SmallVector<int64_t> targetOffsets;
  /// Accumulators are where those of the call before were: near.
  bool nearAccumulators = false;

  int64_t rows() const { return int64_t(rowOffsets.size()); }
  /// Entries of the table of offsets for each step: A's and those of later lines.
  int64_t entriesOfA() const { return stepA ? 0 : 1; }
  int64_t entries() const { return entriesOfA() + (laterOffsets ? laterLines : 0); }
};

class MicroKernel {
public:
  virtual ~MicroKernel() = default;
  /// The one of that name; there is one.
  static const MicroKernel &get(llvm::StringRef name);

  /// In schedules behind all else, and their way back to the kernel; empty for the one that every
  /// processor has.
  virtual llvm::StringRef name() const = 0;
  /// " " and the name, if it has one.
  std::string suffix() const { return name().empty() ? "" : " " + name().str(); }
  /// Whether it multiplies such elements, and the target has it.
  virtual bool takes(Element element, const CpuTarget &target) const = 0;
  /// Numbers along k that a step multiplies, of a row and a column.
  virtual int64_t step() const = 0;
  virtual PackedFormat formatA(Element element) const = 0;
  virtual PackedFormat formatB(Element element) const = 0;

  /// Rows and steps that an instruction takes; a tile and a call have whole groups of both.
  virtual int64_t group() const { return 1; }
  bool inGroups() const { return group() > 1; }

  /// Whether it knows targetOffsets.
  virtual bool storesResults() const { return false; }

  /// The most rows of `vectors` vectors that registers hold; 0: none of so many vectors.
  virtual int64_t mostRows(const MachineModel &machine, int64_t vectors) const = 0;
  /// Of one step.
  virtual double cycles(const MachineModel &machine, int64_t rows, int64_t vectors) const = 0;

  /// The function of `module`: void (a, b, offsets, steps: i64, acc, accumulate: i1[, target...]
  /// [, later...]); `accumulate` adds to what acc holds. The sums go to acc, or to where targets
  /// and targetOffsets say, unless the first target is null. `later` is what laterLines begin with,
  /// brought into L2. A module with several gives each a name. Accumulators are computed elements.
  /// Of a kernel of groups there is one more argument behind `accumulate`, `apart`, an i64, and
  /// neither laterOffsets nor targetOffsets.
  virtual mlir::LLVM::LLVMFuncOp emit(mlir::ModuleOp module, const CpuTarget &target,
                                      Element element, const MicroTile &tile,
                                      llvm::StringRef name = "micro_kernel") const = 0;

  /// What a task does before its first call and behind the last one.
  virtual void begin(PackEmitter &) const {}
  virtual void end(PackEmitter &) const {}

  /// Steps that a sum of `count` numbers takes.
  int64_t steps(int64_t count) const { return ceilDiv(count, step()); }
};

/// Multiplies and adds computed elements, one a step.
const MicroKernel &fmaKernel();
/// Multiplies pairs of bf16 and adds both products in f32, by VDPBF16PS: as exact as fmaKernel, but
/// that denormal numbers, of operands, products and sums, are 0.
const MicroKernel &bf16Kernel();
/// The same by AMX, in groups of 16.
const MicroKernel &amxKernel();
/// Those that take the elements, fmaKernel first.
llvm::SmallVector<const MicroKernel *> microKernels(Element element, const CpuTarget &target);

} // namespace dlc::codegen

#endif
