//===- KernelSpec.h - what a kernel computes, for every generator and target ----------------------------*- C++ -*-===//
//
// A kernel is the region of an exec.kernel: dl ops on tensors, the block's arguments are the operands, dl.yield's values the
// results. KernelSpec reads that region once: it finds the anchor (the one op that is not element-wise) and gives generators
// the rest as a function from indices to values, pulled from the results: a generator asks for a result at an index point,
// gives the anchor's value when asked for it, and gets arith/math ops on scalars or vectors. So bias, ReLU, masks, casts and
// whole element-wise chains fuse into every generator in the same way, before the anchor (prologue) and behind it (epilogue).
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_KERNELSPEC_H
#define DLC_CODEGEN_KERNEL_KERNELSPEC_H

#include "dialects/DL/DL.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>
#include <string>

namespace dlc::codegen {

/// The op that decides the loop structure.
enum class Anchor { Map, Reduce, Window, Transpose, Softmax, Gemm, Convolution, MultiTensor };

/// Identity of a kernel: 128 bits of a hash over everything that its code depends on.
using KernelKey = std::array<uint8_t, 16>;

/// A kernel's region, analysed. Does not own the region.
class KernelSpec {
public:
  /// `block`: dl ops ended by dl.yield. Fails (with an error at the offending op) if there is more than one anchor.
  static mlir::FailureOr<KernelSpec> get(mlir::Block &block);

  Anchor anchor() const { return kind; }
  /// Null for Anchor::Map.
  mlir::Operation *anchorOp() const { return op; }
  mlir::Block &block() const { return *body; }

  /// Operands and results with their physical types, in the order of the launch's buffers: operands first.
  llvm::ArrayRef<mlir::RankedTensorType> operandTypes() const { return operands; }
  llvm::ArrayRef<mlir::RankedTensorType> resultTypes() const { return results; }

  /// Multiplications and additions of one run (two for a multiply-add), and the bytes that must be read and written.
  uint64_t flops() const;
  uint64_t bytes() const;

  /// The region without locations and symbols, with types, layouts and attributes: equal text is an equal kernel.
  std::string canonicalText() const;

  /// Readable stem of the symbol: conv3x3_bias_relu_64x56x56.
  std::string stem() const;

private:
  Anchor kind = Anchor::Map;
  mlir::Operation *op = nullptr;
  mlir::Block *body = nullptr;
  llvm::SmallVector<mlir::RankedTensorType> operands, results;
};

/// A point (or a vector of points) of a tensor's logical index space. The indices are of type index. With `width` > 1 the
/// point stands for `width` consecutive elements along `axis`, starting at indices[axis].
struct Point {
  llvm::SmallVector<mlir::Value> indices;
  int64_t axis = -1;
  int64_t width = 1;
  mlir::Value mask;            ///< vector<width x i1> of the lanes that exist, or null: all
};

/// Emits the value of the region's values at points: the bridge from a spec to a generator's loops.
class BodyEmitter {
public:
  /// Loads operand `number` at `point`, as storage type; scalar if point.width is 1 or the operand does not vary along the
  /// axis (the emitter splats it).
  using LoadOperand = llvm::function_ref<mlir::Value(unsigned number, const Point &point)>;
  /// Gives result `number` of the anchor at `point`.
  using AnchorValue = llvm::function_ref<mlir::Value(unsigned number, const Point &point)>;

  BodyEmitter(const KernelSpec &spec, mlir::OpBuilder &builder, mlir::Location loc, LoadOperand load, AnchorValue anchor)
      : spec(spec), builder(builder), loc(loc), load(load), anchor(anchor) {}

  /// `value` (of the spec's region) at `point`: a scalar or vector<width x T> of the compute type. Values are memoised for
  /// equal points within this emitter, so several results share their common part.
  mlir::Value emit(mlir::Value value, const Point &point);

private:
  const KernelSpec &spec;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  LoadOperand load;
  AnchorValue anchor;
  llvm::SmallVector<std::pair<std::pair<mlir::Value, Point>, mlir::Value>> memo;
};

} // namespace dlc::codegen

#endif
