//===- LoopBuilder.h - shorthand for integers and loops -----------------------------*- C++ -*-===//
//
// scf and arith ops on scalars, for code that CPU kernels are lowered from and CUDA kernels are
// printed from. All integers are i64 and fold while they are built; loops whose trip count is known
// to be at most one leave no loop behind.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_LOOPBUILDER_H
#define DLC_DIALECTS_DL_BUILDERS_LOOPBUILDER_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// Integers and loops at the place where the builder stands.
class LoopBuilder {
public:
  LoopBuilder(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  // 64-bit integers, folded while they are built. Division rounds down; operands are not negative.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value c);
  mlir::Value add(mlir::Value a, int64_t c) { return add(a, constant(c)); }
  mlir::Value sub(mlir::Value a, mlir::Value c);
  mlir::Value mul(mlir::Value a, mlir::Value c);
  mlir::Value mul(mlir::Value a, int64_t c) { return mul(a, constant(c)); }
  mlir::Value div(mlir::Value a, int64_t c);
  mlir::Value rem(mlir::Value a, int64_t c);
  mlir::Value minimum(mlir::Value a, mlir::Value c);
  mlir::Value maximum(mlir::Value a, mlir::Value c);
  mlir::Value less(mlir::Value a, mlir::Value c);
  mlir::Value equal(mlir::Value a, mlir::Value c);
  mlir::Value both(mlir::Value a, mlir::Value c);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value c);
  static std::optional<int64_t> known(mlir::Value value);

  /// for (i = lower; i < upper; i += step)
  void loop(mlir::Value lower, mlir::Value upper, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void loop(int64_t count, llvm::function_ref<void(mlir::Value)> body) {
    loop(constant(0), constant(count), 1, body);
  }
  /// The same with values carried from turn to turn; returns those of the last turn.
  using CarryBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value index,
                                                                      mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> carry(mlir::Value lower, mlir::Value upper, int64_t step,
                                       mlir::ValueRange init, CarryBody body);
  /// Nested loops over all indices of `shape`, values carried through; extents up to `unroll` leave
  /// no loop.
  using NestBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      llvm::ArrayRef<mlir::Value> indices, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> nest(llvm::ArrayRef<int64_t> shape, int64_t unroll,
                                      mlir::ValueRange init, NestBody body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// Either of both.
  void branch(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  /// What `body` gives where the condition holds, and only there; else `otherwise`.
  mlir::Value valueWhen(mlir::Value condition, mlir::Value otherwise,
                        llvm::function_ref<mlir::Value()> body);

  /// The indices of element number `linear` of `shape`, in row-major order.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, llvm::ArrayRef<int64_t> shape);

  // Numbers of any type; of vectors too.
  /// `value` as a scalar or vector of `type`.
  mlir::Value number(double value, mlir::Type type);
};

} // namespace dlc::dl

#endif
