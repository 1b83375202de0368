//===- WinogradTransform.cpp - see WinogradTransform.h ----------------------------------------===//
#include "codegen/CPU/Winograd/WinogradTransform.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

SmallVector<Value> codegen::emitTransform(PackEmitter &e, const TransformMatrix &matrix,
                                          ValueRange values) {
  using Kind = TransformPlan::Kind;
  const TransformPlan plan(matrix);
  SmallVector<Value> all = llvm::to_vector(values);
  for (const TransformPlan::Step &step : plan.steps) {
    Value a = all[step.a], b = all[step.b];
    switch (step.kind) {
    case Kind::Add:
      all.push_back(arith::AddFOp::create(e.b, e.loc, a, b));
      break;
    case Kind::Subtract:
      all.push_back(arith::SubFOp::create(e.b, e.loc, a, b));
      break;
    case Kind::Multiply:
      all.push_back(arith::MulFOp::create(e.b, e.loc, e.number(step.factor, e.vectorType()), a));
      break;
    case Kind::MultiplyAdd:
      all.push_back(vector::FMAOp::create(e.b, e.loc, e.number(step.factor, e.vectorType()), a, b));
      break;
    }
  }
  SmallVector<Value> results;
  for (int64_t number : plan.results)
    results.push_back(all[number]);
  return results;
}

void codegen::emitTransform(PackEmitter &e, const TransformMatrix &left,
                            const TransformMatrix &right,
                            llvm::function_ref<Value(int64_t, int64_t)> load,
                            llvm::function_ref<void(int64_t, int64_t, Value)> store) {
  std::vector<SmallVector<Value>> columns;
  for (int64_t j = 0; j < right.columns; ++j) {
    SmallVector<Value> column;
    for (int64_t i = 0; i < left.columns; ++i)
      column.push_back(load(i, j));
    columns.push_back(emitTransform(e, left, column));
  }
  for (int64_t i = 0; i < left.rows; ++i) {
    SmallVector<Value> row;
    for (const SmallVector<Value> &column : columns)
      row.push_back(column[i]);
    for (auto [j, value] : llvm::enumerate(emitTransform(e, right, row)))
      store(i, int64_t(j), value);
  }
}

//===------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------===//

WinogradTileTransform::WinogradTileTransform(const WinogradTransform &high,
                                             const WinogradTransform &wide)
    : source{high.input, wide.input}, filter{high.filter, wide.filter},
      target{high.output.transposed(), wide.output.transposed()},
      filterGradient{high.filter.transposed(), wide.filter.transposed()},
      targetPixels{high.output, wide.output} {}

const WinogradTileTransform::Matrices &WinogradTileTransform::forward(Side side) const {
  return side == Side::Source ? source : side == Side::Filter ? filter : target;
}
const WinogradTileTransform::Matrices &WinogradTileTransform::backward(Side side) const {
  return side == Side::Filter ? filterGradient : targetPixels;
}

void WinogradTileTransform::toPoints(PackEmitter &e, Side side, Value, LoadPixel load,
                                     StorePoint store) const {
  const Matrices &matrices = forward(side);
  emitTransform(
      e, matrices.left, matrices.right,
      [&](int64_t i, int64_t j) { return load(e.constant(i), j); },
      [&](int64_t i, int64_t j, Value value) {
        store(e.constant(i * matrices.right.rows + j), 0, value);
      });
}

void WinogradTileTransform::toPixels(PackEmitter &e, Side side, Value, LoadPoint load,
                                     StorePixel store) const {
  const Matrices &matrices = backward(side);
  emitTransform(
      e, matrices.left, matrices.right,
      [&](int64_t i, int64_t j) { return load(e.constant(i * matrices.right.columns + j), 0); },
      [&](int64_t i, int64_t j, Value value) { store(e.constant(i), j, value); });
}

/// Operations, loads and stores, of which a cycle takes two.
static double transformCycles(const TransformMatrix &left, const TransformMatrix &right) {
  double moved = double(left.columns * right.columns + left.rows * right.rows);
  return 0.5 * (double(transformOperations(left, right)) + moved);
}

double WinogradTileTransform::cyclesToPoints(Side side) const {
  return transformCycles(forward(side).left, forward(side).right);
}
double WinogradTileTransform::cyclesToPixels(Side side) const {
  return transformCycles(backward(side).left, backward(side).right);
}
