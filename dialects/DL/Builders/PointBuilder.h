//===- PointBuilder.h - one element of an anchor, as its definition has it ----------*- C++ -*-===//
//
// What PointOp::emitPoint is written with: the indices of the element, elements of the operands,
// and what most definitions share, sums over indices and pixels of windows.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_POINTBUILDER_H
#define DLC_DIALECTS_DL_BUILDERS_POINTBUILDER_H

#include "dialects/DL/Builders/LoopBuilder.h"

namespace dlc::dl {

class PointBuilder : public LoopBuilder {
public:
  using Value = mlir::Value;
  using Indices = llvm::SmallVector<Value>;

  PointBuilder(mlir::OpBuilder &builder, mlir::Location loc, Indices at)
      : LoopBuilder(builder, loc), at(std::move(at)) {}
  virtual ~PointBuilder() = default;

  /// An element of an operand as definitions compute with it: 16-bit floats in f32, integers
  /// signless, bool as i1.
  virtual Value read(Value tensor, const Indices &indices) = 0;
  /// The type of such an element.
  virtual mlir::Type elementOf(Value tensor) = 0;

  /// The number at `place` of a tensor of integers, as i64.
  Value numberAt(Value index, llvm::ArrayRef<Value> place);

  using FloatPredicate = mlir::arith::CmpFPredicate;
  Value addFloats(Value a, Value c) { return mlir::arith::AddFOp::create(b, loc, a, c); }
  Value subtractFloats(Value a, Value c) { return mlir::arith::SubFOp::create(b, loc, a, c); }
  Value multiplyFloats(Value a, Value c) { return mlir::arith::MulFOp::create(b, loc, a, c); }
  Value divideFloats(Value a, Value c) { return mlir::arith::DivFOp::create(b, loc, a, c); }
  Value compareFloats(FloatPredicate predicate, Value a, Value c) {
    return mlir::arith::CmpFOp::create(b, loc, predicate, a, c);
  }
  Value yes() { return number(1, b.getI1Type()); }
  /// `value` where the condition holds, else 0.
  Value orZero(Value condition, Value value);

  using Turn =
      llvm::function_ref<llvm::SmallVector<Value>(llvm::ArrayRef<Value>, mlir::ValueRange)>;
  /// Loops over all indices of `shape`, with values from turn to turn.
  llvm::SmallVector<Value> loops(llvm::ArrayRef<int64_t> shape, mlir::ValueRange init, Turn turn) {
    return nest(shape, 1, init, turn);
  }
  /// Sums `term` over all indices of `shape`.
  Value sum(llvm::ArrayRef<int64_t> shape, mlir::Type type,
            llvm::function_ref<Value(llvm::ArrayRef<Value>)> term);

  /// Indices inside a tensor, and whether they were before clamping.
  struct Place {
    Indices indices;
    Value inside;
  };
  /// Adds an index along an axis of `extent` elements.
  void place(Place &place, Value index, int64_t extent);
  /// Input pixels of window `taps` at output pixel `output`, behind `lead`.
  Place inputPlace(const WindowGeometry &g, Indices lead, llvm::ArrayRef<Value> output,
                   llvm::ArrayRef<Value> taps);
  /// Output pixels whose tap `taps` is input pixel `input`.
  Place outputPlace(const WindowGeometry &g, Indices lead, llvm::ArrayRef<Value> input,
                    llvm::ArrayRef<Value> taps);
  /// Of [N, C, spatial...].
  llvm::ArrayRef<Value> pixels() const { return llvm::ArrayRef<Value>(at).drop_front(2); }
  Indices image() const { return {at[0], at[1]}; }

  /// The indices of the element.
  const Indices at;
};

} // namespace dlc::dl

#endif
