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

static WinogradTransform shortIf(bool isShort, const WinogradTransform &transform) {
  return isShort ? transform.withoutLast() : transform;
}

WinogradTileTransform::WinogradTileTransform(const WinogradTransform &high,
                                             const WinogradTransform &wide, bool shortRows,
                                             bool shortCols)
    : WinogradTileTransform(shortIf(shortRows, high), shortIf(shortCols, wide), high.points(),
                            wide.points()) {}

WinogradTileTransform::WinogradTileTransform(const WinogradTransform &high,
                                             const WinogradTransform &wide, int64_t highPoints,
                                             int64_t widePoints)
    : highPoints(highPoints), widePoints(widePoints), source{high.input, wide.input},
      filter{high.filter, wide.filter}, target{high.output.transposed(), wide.output.transposed()},
      filterGradient{high.filter.transposed(), wide.filter.transposed()},
      targetPixels{high.output, wide.output} {}

SmallVector<int64_t> WinogradTileTransform::missingPoints() const {
  SmallVector<int64_t> missing;
  for (int64_t i = 0; i < highPoints; ++i)
    for (int64_t j = 0; j < widePoints; ++j)
      if (i >= source.left.rows || j >= source.right.rows)
        missing.push_back(i * widePoints + j);
  return missing;
}

StringRef WinogradTileTransform::suffix() const {
  const bool shortRows = source.left.rows < highPoints, shortCols = source.right.rows < widePoints;
  return shortRows ? shortCols ? "_short" : "_short_rows" : shortCols ? "_short_cols" : "";
}

const WinogradTileTransform::Matrices &WinogradTileTransform::forward(Side side) const {
  return side == Side::Source ? source : side == Side::Filter ? filter : target;
}
const WinogradTileTransform::Matrices &WinogradTileTransform::backward(Side side) const {
  return side == Side::Filter ? filterGradient : targetPixels;
}

int64_t WinogradTileTransform::bufferVectors() const {
  // The numbers of 6x6 points stay in registers, or nearly.
  const int64_t points = source.left.rows * source.right.rows;
  return points > 36 ? points : 0;
}

void WinogradTileTransform::toPoints(PackEmitter &e, Side side, Value buffer, LoadPixel load,
                                     StorePoint store) const {
  const auto &[left, right] = forward(side);
  if (bufferVectors() == 0)
    return emitTransform(
        e, left, right, [&](int64_t i, int64_t j) { return load(e.constant(i), j); },
        [&](int64_t i, int64_t j, Value value) {
          store(e.constant(i * widePoints + j), 0, value);
        });
  auto cell = [&](Value i, Value j) {
    return e.at(buffer, e.mul(e.add(e.mul(i, right.rows), j), e.lanes));
  };
  e.loop(left.columns, [&](Value i) {
    SmallVector<Value> row;
    for (int64_t j = 0; j < right.columns; ++j)
      row.push_back(load(i, j));
    for (auto [j, value] : llvm::enumerate(emitTransform(e, right, row)))
      e.storeAligned(value, cell(i, e.constant(int64_t(j))));
  });
  e.loop(right.rows, [&](Value j) {
    SmallVector<Value> column;
    for (int64_t i = 0; i < left.columns; ++i)
      column.push_back(e.loadAligned(cell(e.constant(i), j)));
    for (auto [i, value] : llvm::enumerate(emitTransform(e, left, column)))
      store(e.add(j, int64_t(i) * widePoints), 0, value);
  });
}

void WinogradTileTransform::toPixels(PackEmitter &e, Side side, Value buffer, LoadPoint load,
                                     StorePixel store) const {
  const auto &[left, right] = backward(side);
  if (bufferVectors() == 0)
    return emitTransform(
        e, left, right,
        [&](int64_t i, int64_t j) { return load(e.constant(i * widePoints + j), 0); },
        [&](int64_t i, int64_t j, Value value) { store(e.constant(i), j, value); });
  auto cell = [&](Value i, Value j) {
    return e.at(buffer, e.mul(e.add(e.mul(i, right.columns), j), e.lanes));
  };
  e.loop(right.columns, [&](Value j) {
    SmallVector<Value> column;
    for (int64_t i = 0; i < left.columns; ++i)
      column.push_back(load(e.add(j, i * widePoints), 0));
    for (auto [i, value] : llvm::enumerate(emitTransform(e, left, column)))
      e.storeAligned(value, cell(e.constant(int64_t(i)), j));
  });
  e.loop(left.rows, [&](Value i) {
    SmallVector<Value> row;
    for (int64_t j = 0; j < right.columns; ++j)
      row.push_back(e.loadAligned(cell(i, e.constant(j))));
    for (auto [j, value] : llvm::enumerate(emitTransform(e, right, row)))
      store(i, int64_t(j), value);
  });
}

/// Operations, loads and stores, of which a cycle takes two.
double WinogradTileTransform::cyclesOf(const Matrices &matrices) const {
  const auto &[left, right] = matrices;
  int64_t moved = left.columns * right.columns + left.rows * right.rows;
  if (bufferVectors() > 0)
    moved += 2 * left.columns * right.rows;
  return 0.5 * double(transformOperations(left, right) + moved);
}

double WinogradTileTransform::cyclesToPoints(Side side) const { return cyclesOf(forward(side)); }
double WinogradTileTransform::cyclesToPixels(Side side) const { return cyclesOf(backward(side)); }
