//===- Walk.h - vectorised walks over an index space, split into tasks --------------*- C++ -*-===//
//
// What map kernels do, and what other generators do before or behind their anchor: visit every
// element of an index space once, in vectors along the last axis.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_EMITTER_WALK_H
#define DLC_CODEGEN_CPU_EMITTER_WALK_H

#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "codegen/Kernel/ScheduleFields.h"

namespace dlc::codegen {

/// How an index space [outer..., inner] is split: a task takes `rows` of the outer elements, and of
/// each the piece of `chunk` inner ones that its number tells.
struct WalkPlan {
  llvm::SmallVector<int64_t> space;
  int64_t rows = 1, chunk = 1;
  int64_t width = 1;  ///< lanes of a vector
  int64_t unroll = 1; ///< vectors at a time

  /// `weight`: work of one element, in simple vector operations. A vector has lanes for elements of
  /// `bytes`: of masked loads that no register holds LLVM 22 may lose the mask.
  static WalkPlan get(llvm::ArrayRef<int64_t> space, double weight, const CpuTarget &target,
                      int64_t bytes = 4);

  int64_t inner() const { return space.back(); }
  int64_t outer() const { return product(llvm::ArrayRef<int64_t>(space).drop_back()); }
  int64_t chunks() const { return (inner() + chunk - 1) / chunk; }
  uint64_t tasks() const { return (outer() + rows - 1) / rows * chunks(); }
  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f(s.space);
    f(" rows ", s.rows);
    f(" chunk ", s.chunk);
    f(" width ", s.width);
    f(" unroll ", s.unroll);
  }
};

/// Work of one element of an op, in simple operations.
double elementWeight(dl::ElementwiseOp op);
/// The same of the spec's body.
double bodyWeight(const KernelSpec &spec);
/// Work of one element of an operand of the anchor that is computed while it is read.
double operandWeight(mlir::Value operand);
/// Estimated seconds on one core where all tensors are walked in their order: the slower of
/// `operations` in vectors and the spec's bytes.
double orderedSeconds(const KernelSpec &spec, double operations, const CpuTarget &target);
/// The same, and what it takes to gather tensors that lie in another order than they are walked in.
double walkSeconds(const KernelSpec &spec, double operations, const CpuTarget &target);

/// Whether each value behind the anchor stands at the place of the anchor's element that it needs:
/// no index op that moves elements follows it. Generators that finish elements as they become ready
/// need this.
bool followsAnchor(const KernelSpec &spec);

/// Calls `body` with the points of each step: one to plan.unroll vectors along the last axis.
using WalkBody = llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<Point> points)>;
mlir::LogicalResult walkTask(KernelFunction &kernel, const WalkPlan &plan, WalkBody body);

/// Calls `row` with the outer indices of each row of the task, and the part of the last axis that
/// is the task's.
using RowBody = llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<mlir::Value> outer,
                                                       mlir::Value lower, mlir::Value upper)>;
mlir::LogicalResult walkRows(KernelFunction &kernel, const WalkPlan &plan, RowBody row);

/// Visits [lower, upper) of the last axis of `space` in vectors, the other indices fixed to
/// `outer`.
mlir::LogicalResult walkRow(CodeEmitter &e, const WalkPlan &plan, llvm::ArrayRef<mlir::Value> outer,
                            mlir::Value lower, mlir::Value upper, WalkBody body);

/// Computes the results `numbers` at all points, then stores them: loads of a step come before its
/// stores, so that a result may lie in an operand's memory.
mlir::LogicalResult storeAtPoints(KernelFunction &kernel, llvm::ArrayRef<unsigned> numbers,
                                  llvm::ArrayRef<Point> points, BodyEmitter::AnchorValue anchor);
/// The same; `body` gives an emitter for each point.
mlir::LogicalResult storeBodyAtPoints(KernelFunction &kernel, llvm::ArrayRef<unsigned> numbers,
                                      llvm::ArrayRef<Point> points,
                                      llvm::function_ref<BodyEmitter()> body);

} // namespace dlc::codegen

#endif
