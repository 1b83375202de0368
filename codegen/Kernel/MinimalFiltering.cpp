//===- MinimalFiltering.cpp - see MinimalFiltering.h ------------------------------------------===//
#include "codegen/Kernel/MinimalFiltering.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
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

/// Those with four and five pairs were searched among sixteenths: they err several times less than
/// the small powers 1, 2, 1/2 and 4 or 1/4.
static ArrayRef<double> finitePoints(int64_t count) {
  static const double powers[] = {0, 1, -1, 2, -2, 0.5, -0.5};
  static const double pairs[] = {0.25, -0.25, 0.625, -0.625, 1.125, -1.125, 2, -2};
  static const double pairsAndZero[] = {0,      0.375,   -0.375, 0.8125, -0.8125,
                                        1.1875, -1.1875, 2.5,    -2.5};
  static const double fivePairs[] = {0.1875,  -0.1875, 0.5625, -0.5625, 0.9375,
                                     -0.9375, 1.375,   -1.375, 2.625,   -2.625};
  assert(count <= 10 && "no more points are known");
  return count <= 7   ? ArrayRef(powers).take_front(count)
         : count == 8 ? ArrayRef(pairs)
         : count == 9 ? ArrayRef(pairsAndZero)
                      : ArrayRef(fivePairs);
}

WinogradTransform::WinogradTransform(int64_t outputs, int64_t taps)
    : outputs(outputs), taps(taps), input(points(), points()), filter(points(), taps),
      output(outputs, points()) {
  const int64_t last = points() - 1;
  const ArrayRef<double> finite = finitePoints(last);
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

static TransformMatrix firstOf(const TransformMatrix &matrix, int64_t rows, int64_t columns) {
  TransformMatrix result(rows, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result.at(i, j) = matrix.at(i, j);
  return result;
}

WinogradTransform WinogradTransform::withoutLast() const {
  WinogradTransform less = *this;
  less.outputs = outputs - 1;
  less.input = firstOf(input, points() - 1, points() - 1);
  less.filter = firstOf(filter, points() - 1, taps);
  less.output = firstOf(output, outputs - 1, points() - 1);
  return less;
}

//===------------------------------------------------------------------------------------------===//
// Sums
//===------------------------------------------------------------------------------------------===//

namespace {

/// factor * value.
struct Scaled {
  double factor = 1;
  int64_t value = 0;
};

/// Finds the steps of matrix * values.
class MatrixProduct {
public:
  using Kind = TransformPlan::Kind;

  MatrixProduct(TransformMatrix matrix, TransformPlan &plan)
      : matrix(std::move(matrix)), plan(plan), values(to_vector(seq(this->matrix.columns))) {
    plan.results.resize(this->matrix.rows);
  }
  void run();

private:
  enum class Signs { Equal, Opposite, Unrelated };
  static Signs compare(double x, double y) {
    return x == y ? Signs::Equal : x == -y ? Signs::Opposite : Signs::Unrelated;
  }
  bool pairColumns(int64_t first, int64_t second);
  bool pairRows(int64_t first, int64_t second);
  Scaled sum(ArrayRef<double> coefficients);
  int64_t step(Kind kind, int64_t a, int64_t b, double factor = 1) {
    plan.steps.push_back({kind, factor, a, b});
    return matrix.columns + int64_t(plan.steps.size()) - 1;
  }
  int64_t rest(Scaled scaled) {
    return scaled.factor == 1 ? scaled.value
                              : step(Kind::Multiply, scaled.value, scaled.value, scaled.factor);
  }

  TransformMatrix matrix;
  TransformPlan &plan;
  SmallVector<int64_t> values;
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
  const int64_t x = values[first], y = values[second];
  values[first] = step(Kind::Add, x, y);
  values[second] = step(Kind::Subtract, x, y);
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
  const int64_t base = rest(sum(common));
  Scaled part = sum(differing);
  const bool plain = std::abs(part.factor) == 1;
  auto combine = [&](double factor) {
    if (!plain)
      return step(Kind::MultiplyAdd, part.value, base, factor);
    return step(factor > 0 ? Kind::Add : Kind::Subtract, base, part.value);
  };
  plan.results[first] = combine(part.factor);
  plan.results[second] = combine(-part.factor);
  return true;
}

Scaled MatrixProduct::sum(ArrayRef<double> coefficients) {
  SmallVector<std::pair<double, int64_t>> terms;
  for (auto [coefficient, value] : llvm::zip_equal(coefficients, values))
    if (coefficient != 0)
      terms.emplace_back(coefficient, value);
  assert(!terms.empty() && "no row of a transform is zero");
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
    result = step(Kind::Multiply, result, result, first);
  for (auto &[coefficient, value] : ArrayRef(terms).drop_front())
    result = coefficient == 1    ? step(Kind::Add, result, value)
             : coefficient == -1 ? step(Kind::Subtract, result, value)
                                 : step(Kind::MultiplyAdd, value, result, coefficient);
  return {factor, result};
}

void MatrixProduct::run() {
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
      plan.results[i] =
          rest(sum(ArrayRef(matrix.values).slice(i * matrix.columns, matrix.columns)));
}

TransformPlan::TransformPlan(const TransformMatrix &matrix) { MatrixProduct(matrix, *this).run(); }

int64_t codegen::transformOperations(const TransformMatrix &left, const TransformMatrix &right) {
  return right.columns * int64_t(TransformPlan(left).steps.size()) +
         left.rows * int64_t(TransformPlan(right).steps.size());
}

//===------------------------------------------------------------------------------------------===//
// What they run
//===------------------------------------------------------------------------------------------===//

std::string codegen::planeRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups) {
  if (groups != 1)
    return "it has " + std::to_string(groups) + " groups";
  if (axes[0].kernel != 1 || axes[0].input != 1 || axes[0].output != 1 || axes[0].low != 0)
    return "it has three spatial dimensions";
  return "";
}

std::string codegen::transformRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups) {
  auto all = [&](int64_t dl::WindowAxis::*number) {
    return all_of(axes, [&](const dl::WindowAxis &axis) { return axis.*number == 1; });
  };
  if (!all(&dl::WindowAxis::stride))
    return "its stride is not 1";
  if (!all(&dl::WindowAxis::dilation))
    return "its dilation is not 1";
  return planeRefusal(axes, groups);
}

std::string codegen::filterText(const std::array<dl::WindowAxis, 3> &axes) {
  return "a filter of " + std::to_string(axes[1].kernel) + "x" + std::to_string(axes[2].kernel);
}

std::string codegen::winogradRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups,
                                     ArrayRef<int64_t> taps) {
  const std::string refusal = transformRefusal(axes, groups);
  if (!refusal.empty())
    return refusal;
  auto known = [&](const dl::WindowAxis &axis) {
    return axis.kernel == 1 || llvm::is_contained(taps, axis.kernel);
  };
  if (!known(axes[1]) || !known(axes[2]) || axes[1].kernel * axes[2].kernel == 1)
    return filterText(axes) + " has no transform";
  return "";
}

bool codegen::errsLikeSums(const std::array<dl::WindowAxis, 3> &axes, int64_t outputs) {
  return outputs == 2 && std::max(axes[1].kernel, axes[2].kernel) == 3;
}

/// Whether each result of F(outputs, taps), or of the filter's gradient by its transpose, comes
/// from those of the image that its formula has. What the sums of a transform share is left aside:
/// no row of those that err like sums is made of another's.
static bool keepsToFormula(int64_t outputs, int64_t taps, bool ofFilter) {
  const WinogradTransform t(outputs, taps);
  const TransformMatrix result = ofFilter ? t.filter.transposed() : t.output;
  const int64_t span = ofFilter ? outputs : taps; // of the image, that a result has
  for (int64_t i = 0; i < result.rows; ++i)
    for (int64_t k = 0; k < result.columns; ++k)
      for (int64_t j = 0; j < t.input.columns; ++j)
        if (result.at(i, k) != 0 && t.input.at(k, j) != 0 && (j < i || j - i >= span))
          return false;
  return true;
}

std::string codegen::strictRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t outputs,
                                   bool ofFilter) {
  if (!errsLikeSums(axes, outputs))
    return "its transforms err more than --math=strict allows";
  auto keeps = [&](int64_t taps) { return taps == 1 || keepsToFormula(outputs, taps, ofFilter); };
  return keeps(axes[1].kernel) && keeps(axes[2].kernel) ? "" : spreadsRefusal.str();
}
