//===- WinogradTransform.cpp - see WinogradTransform.h ----------------------------------------===//
#include "codegen/CPU/Winograd/WinogradTransform.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Matrices
//===------------------------------------------------------------------------------------------===//

TransformMatrix TransformMatrix::transposed() const {
  TransformMatrix result(columns, rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result.at(j, i) = at(i, j);
  return result;
}

/// The coefficients, lowest power first, of the product of (x - point) over all points but `left`.
static std::vector<double> productOf(ArrayRef<double> points, size_t left) {
  std::vector<double> product = {1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == left)
      continue;
    product.push_back(0);
    for (size_t power = product.size() - 1; power > 0; --power)
      product[power] = product[power - 1] - points[i] * product[power];
    product[0] *= -points[i];
  }
  return product;
}

WinogradTransform::WinogradTransform(int64_t outputs, int64_t taps)
    : outputs(outputs), taps(taps), input(points(), points()), filter(points(), taps),
      output(outputs, points()) {
  static const double all[] = {0, 1, -1, 2, -2, 0.5, -0.5};
  const int64_t last = points() - 1;
  ArrayRef<double> finite(all, last);
  for (int64_t i = 0; i < last; ++i) {
    double scale = 1;
    for (int64_t other = 0; other < last; ++other)
      scale *= other == i ? 1 : finite[i] - finite[other];
    for (auto [power, coefficient] : llvm::enumerate(productOf(finite, i)))
      input.at(i, power) = coefficient;
    for (int64_t tap = 0; tap < taps; ++tap)
      filter.at(i, tap) = std::pow(finite[i], tap) / scale;
    for (int64_t row = 0; row < outputs; ++row)
      output.at(row, i) = std::pow(finite[i], row);
  }
  // The leading coefficient.
  for (auto [power, coefficient] : llvm::enumerate(productOf(finite, finite.size())))
    input.at(last, power) = coefficient;
  filter.at(last, taps - 1) = 1;
  output.at(outputs - 1, last) = 1;
}

//===------------------------------------------------------------------------------------------===//
// Sums
//===------------------------------------------------------------------------------------------===//

namespace {

/// What a plan computes with: vectors, or nothing while operations are counted.
struct Arithmetic {
  virtual ~Arithmetic() = default;
  virtual Value zero() = 0;
  virtual Value add(Value a, Value b) = 0;
  virtual Value subtract(Value a, Value b) = 0;
  virtual Value multiply(double c, Value x) = 0;
  virtual Value multiplyAdd(double c, Value x, Value a) = 0;
};

struct VectorArithmetic : Arithmetic {
  explicit VectorArithmetic(PackEmitter &e) : e(e) {}
  Value zero() override { return e.zeroVector(); }
  Value add(Value a, Value b) override { return arith::AddFOp::create(e.b, e.loc, a, b); }
  Value subtract(Value a, Value b) override { return arith::SubFOp::create(e.b, e.loc, a, b); }
  Value multiply(double c, Value x) override {
    return arith::MulFOp::create(e.b, e.loc, e.number(c, e.vectorType()), x);
  }
  Value multiplyAdd(double c, Value x, Value a) override {
    return vector::FMAOp::create(e.b, e.loc, e.number(c, e.vectorType()), x, a);
  }
  PackEmitter &e;
};

struct CountingArithmetic : Arithmetic {
  Value zero() override { return {}; }
  Value add(Value, Value) override { return ++count, Value(); }
  Value subtract(Value, Value) override { return ++count, Value(); }
  Value multiply(double, Value) override { return ++count, Value(); }
  Value multiplyAdd(double, Value, Value) override { return ++count, Value(); }
  int64_t count = 0;
};

/// factor * value.
struct Scaled {
  double factor = 1;
  Value value;
};

/// matrix * values.
class MatrixProduct {
public:
  MatrixProduct(Arithmetic &arithmetic, TransformMatrix matrix, ValueRange values)
      : a(arithmetic), matrix(std::move(matrix)), values(llvm::to_vector(values)),
        results(this->matrix.rows) {}
  SmallVector<Value> run();

private:
  enum class Signs { Equal, Opposite, Unrelated };
  static Signs compare(double x, double y) {
    return x == y ? Signs::Equal : x == -y ? Signs::Opposite : Signs::Unrelated;
  }
  bool pairColumns(int64_t first, int64_t second);
  bool pairRows(int64_t first, int64_t second);
  Scaled sum(ArrayRef<double> coefficients);
  Value rest(Scaled scaled) {
    return scaled.factor == 1 ? scaled.value : a.multiply(scaled.factor, scaled.value);
  }

  Arithmetic &a;
  TransformMatrix matrix;
  SmallVector<Value> values, results;
};

} // namespace

/// Two columns that differ in signs only: their values' sum and difference take their places.
bool MatrixProduct::pairColumns(int64_t first, int64_t second) {
  bool equal = false, opposite = false;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    double x = matrix.at(row, first), y = matrix.at(row, second);
    Signs signs = compare(x, y);
    if (signs == Signs::Unrelated)
      return false;
    equal |= x != 0 && signs == Signs::Equal;
    opposite |= x != 0 && signs == Signs::Opposite;
  }
  if (!equal || !opposite)
    return false;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const bool same = compare(matrix.at(row, first), matrix.at(row, second)) == Signs::Equal;
    (same ? matrix.at(row, second) : matrix.at(row, first)) = 0;
    if (!same)
      matrix.at(row, second) = -matrix.at(row, second);
  }
  Value x = values[first], y = values[second];
  values[first] = a.add(x, y);
  values[second] = a.subtract(x, y);
  return true;
}

/// Two rows that differ in signs only: what they have in common plus and minus the rest.
bool MatrixProduct::pairRows(int64_t first, int64_t second) {
  SmallVector<double> common(matrix.columns, 0), differing(matrix.columns, 0);
  bool equal = false, opposite = false;
  for (int64_t column = 0; column < matrix.columns; ++column) {
    double x = matrix.at(first, column);
    Signs signs = compare(x, matrix.at(second, column));
    if (signs == Signs::Unrelated)
      return false;
    (signs == Signs::Equal ? common : differing)[column] = x;
    equal |= x != 0 && signs == Signs::Equal;
    opposite |= x != 0 && signs == Signs::Opposite;
  }
  if (!equal || !opposite)
    return false;
  Value base = rest(sum(common));
  Scaled part = sum(differing);
  const bool plain = std::abs(part.factor) == 1;
  auto combine = [&](double factor) {
    if (!plain)
      return a.multiplyAdd(factor, part.value, base);
    return factor > 0 ? a.add(base, part.value) : a.subtract(base, part.value);
  };
  results[first] = combine(part.factor);
  results[second] = combine(-part.factor);
  return true;
}

Scaled MatrixProduct::sum(ArrayRef<double> coefficients) {
  SmallVector<std::pair<double, Value>> terms;
  for (auto [coefficient, value] : llvm::zip_equal(coefficients, values))
    if (coefficient != 0)
      terms.emplace_back(coefficient, value);
  if (terms.empty())
    return {1, a.zero()};
  // One factor for all comes last, and may go into a multiply-add.
  double factor = std::abs(terms.front().first);
  if (llvm::any_of(terms, [&](auto &term) { return std::abs(term.first) != factor; }))
    factor = 1;
  if (llvm::none_of(terms, [](auto &term) { return term.first > 0; }))
    factor = -factor;
  for (auto &[coefficient, value] : terms)
    coefficient /= factor;
  // A term without coefficient begins, so that each other one is a single operation.
  auto rank = [](double coefficient) { return coefficient == 1 ? 0 : coefficient == -1 ? 2 : 1; };
  auto *begin =
      llvm::min_element(terms, [&](auto &x, auto &y) { return rank(x.first) < rank(y.first); });
  std::rotate(terms.begin(), begin, begin + 1);
  auto [first, result] = terms.front();
  if (first != 1)
    result = a.multiply(first, result);
  for (auto &[coefficient, value] : ArrayRef(terms).drop_front())
    result = coefficient == 1    ? a.add(result, value)
             : coefficient == -1 ? a.subtract(result, value)
                                 : a.multiplyAdd(coefficient, value, result);
  return {factor, result};
}

SmallVector<Value> MatrixProduct::run() {
  SmallVector<bool> paired(matrix.columns, false), done(matrix.rows, false);
  for (int64_t i = 0; i < matrix.columns; ++i)
    for (int64_t j = i + 1; j < matrix.columns; ++j)
      if (!paired[i] && !paired[j])
        paired[i] = paired[j] = pairColumns(i, j);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = i + 1; j < matrix.rows; ++j)
      if (!done[i] && !done[j])
        done[i] = done[j] = pairRows(i, j);
  for (int64_t i = 0; i < matrix.rows; ++i)
    if (!done[i])
      results[i] = rest(sum(ArrayRef(matrix.values).slice(i * matrix.columns, matrix.columns)));
  return results;
}

SmallVector<Value> codegen::emitTransform(PackEmitter &e, const TransformMatrix &matrix,
                                          ValueRange values) {
  VectorArithmetic arithmetic(e);
  return MatrixProduct(arithmetic, matrix, values).run();
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

static int64_t operationsOf(const TransformMatrix &matrix) {
  CountingArithmetic arithmetic;
  MatrixProduct(arithmetic, matrix, SmallVector<Value>(matrix.columns)).run();
  return arithmetic.count;
}

int64_t codegen::transformOperations(const TransformMatrix &left, const TransformMatrix &right) {
  return right.columns * operationsOf(left) + left.rows * operationsOf(right);
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
