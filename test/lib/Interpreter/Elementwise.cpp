//===- Elementwise.cpp - one element at a time ------------------------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "runtime/Core/Philox.h"
#include "test/lib/Interpreter/ElementwiseTable.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <functional>

using namespace mlir;

namespace dlc::interpreter {

double stored(double value, Type element) {
  if (isa<FloatType>(element))
    return value;
  if (element.isInteger(1))
    return value != 0;
  value = std::isnan(value) ? 0 : std::clamp(value, -0x1p62, 0x1p62);
  auto integer = static_cast<int64_t>(value);
  if (element.isUnsignedInteger(8))
    return static_cast<uint8_t>(integer);
  return element.isInteger(32) ? static_cast<int32_t>(integer) : static_cast<double>(integer);
}

static double compare(dl::Predicate predicate, double a, double b) {
  switch (predicate) {
  case dl::Predicate::EQ:
    return a == b;
  case dl::Predicate::NE:
    return a != b;
  case dl::Predicate::LT:
    return a < b;
  case dl::Predicate::LE:
    return a <= b;
  case dl::Predicate::GT:
    return a > b;
  case dl::Predicate::GE:
    return a >= b;
  }
  return 0;
}

/// As dl.random says, with the runtime's generator.
static double draw(dl::RandomOp op, ArrayRef<double> v) {
  auto word = [&](size_t i) { return static_cast<uint32_t>(static_cast<int64_t>(v[i])); };
  uint32_t element = word(0), lane = element % 4;
  runtime::PhiloxWords words =
      runtime::philox(uint64_t(word(5)) << 32 | word(4), {element / 4, word(1) + word(2), word(3),
                                                          static_cast<uint32_t>(op.getPath())});
  auto fraction = [&](uint32_t i) { return (words[i] >> 8) * 0x1p-24; };
  if (op.getKind() == dl::RandomKind::Bits)
    return static_cast<int32_t>(words[lane]);
  if (op.getKind() == dl::RandomKind::Uniform)
    return fraction(lane);
  double radius = std::sqrt(-2 * std::log(fraction(lane & 2) + 0x1p-24));
  double angle = 2 * M_PI * fraction(lane | 1);
  return radius * (lane % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

/// As dl.stochastic_round says, by the exponent and the digits that the type has.
static double chosen(dl::StochasticRoundOp op, ArrayRef<double> v) {
  const double x = v[0];
  if (!std::isfinite(x))
    return x;
  auto bits = static_cast<uint32_t>(static_cast<int64_t>(v[1]) + static_cast<int64_t>(v[2]));
  bits = (bits ^ bits >> 16) * 0x85EBCA6Bu;
  bits = (bits ^ bits >> 13) * 0xC2B2AE35u;
  const double draw = ((bits ^ bits >> 16) >> 8) * 0x1p-24;
  const bool isHalf = cast<RankedTensorType>(op.getY().getType()).getElementType().isF16();
  const int digits = isHalf ? 10 : 7, least = isHalf ? -14 : -126;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), least) - digits);
  const double below = std::floor(x / unit);
  const double y = (draw < x / unit - below ? below + 1 : below) * unit;
  const double largest = isHalf ? 65504 : std::ldexp(255, 120);
  return std::abs(y) > largest ? std::copysign(INFINITY, y) : y;
}

/// From a float to an integer: the nearest that there is.
static double saturated(double value, dl::CastOp op) {
  auto elementOf = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getElementType();
  };
  Type from = elementOf(op.getX()), to = elementOf(op.getY());
  if (!isa<FloatType>(from) || isa<FloatType>(to) || to.isInteger(1))
    return value;
  if (std::isnan(value))
    return 0;
  if (to.isUnsignedInteger(8))
    return std::clamp(value, 0.0, 255.0);
  return to.isInteger(32) ? std::clamp(value, -0x1p31, 0x1p31 - 1) : value;
}

using Scalar = std::function<double(ArrayRef<double>)>;

/// The op's formula; null if it is not element-wise.
static Scalar formulaOf(Operation *op) {
  using Args = ArrayRef<double>;
  if (isa<dl::SelectOp>(op))
    return [](Args v) { return v[0] != 0 ? v[1] : v[2]; };
  if (auto castOp = dyn_cast<dl::CastOp>(op))
    return [castOp](Args v) mutable { return saturated(v[0], castOp); };
  if (isa<dl::ConvertLayoutOp>(op))
    return [](Args v) { return v[0]; };
  if (auto compareOp = dyn_cast<dl::CompareOp>(op))
    return [compareOp](Args v) mutable { return compare(compareOp.getPredicate(), v[0], v[1]); };
  if (auto elu = dyn_cast<dl::EluOp>(op))
    return [alpha = elu.getAlpha().convertToDouble()](Args v) {
      return v[0] > 0 ? v[0] : alpha * std::expm1(v[0]);
    };
  if (auto round = dyn_cast<dl::StochasticRoundOp>(op))
    return [round](Args v) { return chosen(round, v); };
  if (auto random = dyn_cast<dl::RandomOp>(op))
    return [random](Args v) mutable { return draw(random, v); };
  for (const ElementwiseRow &row : elementwiseTable())
    if (op->getName().getStringRef() == "dl." + row.name)
      return row.formula;
  return {};
}

Values runElementwise(Operation *op, ArrayRef<Tensor> operands) {
  Scalar formula = formulaOf(op);
  if (!formula)
    return std::nullopt;
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  Tensor result = Tensor::filled(operands[0].shape, 0);
  std::vector<double> arguments(operands.size());
  for (int64_t i = 0; i < result.size(); ++i) {
    for (size_t k = 0; k < operands.size(); ++k)
      arguments[k] = operands[k].values[i];
    result.values[i] = stored(formula(arguments), element);
  }
  return std::vector<Tensor>{std::move(result)};
}

} // namespace dlc::interpreter
