//===- CodeEmitter.h - shorthand for the loops and memory accesses of CPU kernels ---*- C++ -*-===//
//
// CPU generators write scf + arith + vector + LLVM-pointer operations inside llvm.func: ops that
// need only one-to-one lowerings, so that a kernel compiles in milliseconds.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_EMITTER_CODEEMITTER_H
#define DLC_CODEGEN_CPU_EMITTER_CODEEMITTER_H

#include "codegen/CPU/CpuTarget.h"
#include "codegen/Kernel/LoopEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace dlc::codegen {

/// The most elements of a row whose places vectors of 32-bit numbers count, padding included.
inline constexpr int64_t mostPlacesOfRow = 1 << 30;

/// Integers, loops, vectors and memory at the place where the builder stands.
class CodeEmitter : public LoopEmitter {
public:
  using LoopEmitter::LoopEmitter;

  // Vectors of any type.
  mlir::Type pointerType() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::Value splat(mlir::Value scalar, int64_t width);
  /// Lanes i < count of `width`; null if those are all.
  mlir::Value firstLanes(mlir::Value count, int64_t width);
  mlir::Value firstLanes(int64_t count, int64_t width) {
    return firstLanes(constant(count), width);
  }
  /// Elements 0, 2, 4, ... of two vectors, or 1, 3, 5, ....
  mlir::Value everySecond(mlir::Value low, mlir::Value high, int64_t first);
  mlir::Value extractLane(mlir::Value vector, int64_t lane);
  /// 0, 1, 2, ... as vector<width x i32>.
  mlir::Value laneNumbers(int64_t width);
  /// Lanes where `mask` is set from `a`, else from `c`; `a` if the mask is null.
  mlir::Value blend(mlir::Value mask, mlir::Value a, mlir::Value c);
  /// Combines all lanes of `vector` pairwise, always in the same order.
  mlir::Value reduceLanes(mlir::Value vector,
                          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

  // Memory. Offsets count elements.
  mlir::Value at(mlir::Value base, mlir::Value offset, mlir::Type element);
  mlir::Value load(mlir::Value base, mlir::Value offset, mlir::Type element);
  void store(mlir::Value value, mlir::Value base, mlir::Value offset);
  /// `width` elements, `step` apart; lanes off `mask` are zero and not touched in memory, a null
  /// mask takes all.
  mlir::Value loadVector(mlir::Value base, mlir::Value offset, mlir::Type element, int64_t width,
                         int64_t step = 1, mlir::Value mask = {});
  void storeVector(mlir::Value vector, mlir::Value base, mlir::Value offset, int64_t step = 1,
                   mlir::Value mask = {});

private:
  mlir::Value loadPairs(mlir::Value pointer, mlir::VectorType type, mlir::Value mask);
  mlir::Value elementPointers(mlir::Value pointer, mlir::Type element, int64_t width, int64_t step);
};

/// A function of `module` that may use the target's full vectors; the builder is left at its start.
/// Internal ones are never inlined.
mlir::LLVM::LLVMFuncOp createFunction(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::ModuleOp module, const CpuTarget &target,
                                      llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                                      bool exported);

/// One phase of a kernel: a dlc_kernel_fn with its buffers, and the spec's values in it.
class KernelFunction {
public:
  /// Creates function `name` in `module` and stands at its start.
  KernelFunction(const KernelSpec &spec, const CpuTarget &target, mlir::ModuleOp module,
                 llvm::StringRef name, unsigned workspaces);
  /// Ends the function.
  void finish();

  const KernelSpec &spec;
  const CpuTarget &target;
  mlir::OpBuilder builder;
  CodeEmitter e;
  mlir::Value task;    ///< i64
  mlir::Value scratch; ///< pointer
  /// Lanes of a vector of 32-bit elements: the width that generators walk with, whatever the types.
  const int64_t lanes;

  mlir::Value operand(unsigned number) const { return buffers[number]; }
  mlir::Value result(unsigned number) const { return buffers[spec.operandTypes().size() + number]; }
  mlir::Value workspace() const { return behindResults(0); }
  /// Of the phases behind a preparation, whose is the first.
  mlir::Value restWorkspace() const { return behindResults(1); }

  /// A fresh emitter for the spec's values; see BodyEmitter.
  BodyEmitter body(BodyEmitter::AnchorValue anchor = {});
  /// Computes result `number` at `point` and stores it.
  mlir::LogicalResult storeResult(BodyEmitter &body, unsigned number, const Point &point);

  /// Element(s) of a tensor at a point, as stored; null if the layout scatters the lanes.
  mlir::Value load(mlir::Value base, mlir::RankedTensorType type, const Point &point);
  void store(mlir::Value value, mlir::Value base, mlir::RankedTensorType type, const Point &point);
  /// One element, at its number in the order of memory.
  void store(mlir::Value value, mlir::Value base, mlir::RankedTensorType type, mlir::Value offset);

private:
  mlir::Value behindResults(unsigned number) const {
    return buffers[spec.operandTypes().size() + spec.resultTypes().size() + number];
  }

  llvm::SmallVector<mlir::Value> buffers;
};

/// The distance in memory between neighbours along each axis of an index space of the tensor's
/// elements; nothing if some axis has no such distance, or the tensor has padding.
std::optional<llvm::SmallVector<int64_t>> stridesIn(mlir::RankedTensorType type,
                                                    llvm::ArrayRef<int64_t> space);

/// The numbers of the results that need the anchor, or of those that do not. Those that need
/// reductions behind the anchor are none of these.
llvm::SmallVector<unsigned> resultsBehindAnchor(const KernelSpec &spec, bool behind);
/// The numbers of the results that need reductions behind the anchor.
llvm::SmallVector<unsigned> resultsBehindReductions(const KernelSpec &spec);

} // namespace dlc::codegen

#endif
