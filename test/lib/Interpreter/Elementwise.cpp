//===- Elementwise.cpp - one element at a time ------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
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

/// The larger of two numbers where `sign` is 1, the smaller where it is -1; NaN if one is.
static double extremum(double a, double b, int sign) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  return (a - b) * sign > 0 || a == b ? a : b;
}

using Scalar = std::function<double(ArrayRef<double>)>;

/// The op's formula; null if it is not element-wise.
static Scalar formulaOf(Operation *op) {
  using Args = ArrayRef<double>;
  return llvm::TypeSwitch<Operation *, Scalar>(op)
      .Case<dl::ReluOp>([](auto) { return [](Args v) { return extremum(v[0], 0, 1); }; })
      .Case<dl::SigmoidOp>([](auto) { return [](Args v) { return 1 / (1 + std::exp(-v[0])); }; })
      .Case<dl::TanhOp>([](auto) { return [](Args v) { return std::tanh(v[0]); }; })
      .Case<dl::ExpOp>([](auto) { return [](Args v) { return std::exp(v[0]); }; })
      .Case<dl::LogOp>([](auto) { return [](Args v) { return std::log(v[0]); }; })
      .Case<dl::SqrtOp>([](auto) { return [](Args v) { return std::sqrt(v[0]); }; })
      .Case<dl::NegateOp>([](auto) { return [](Args v) { return -v[0]; }; })
      .Case<dl::AbsOp>([](auto) { return [](Args v) { return std::fabs(v[0]); }; })
      .Case<dl::AddOp>([](auto) { return [](Args v) { return v[0] + v[1]; }; })
      .Case<dl::SubtractOp>([](auto) { return [](Args v) { return v[0] - v[1]; }; })
      .Case<dl::MultiplyOp>([](auto) { return [](Args v) { return v[0] * v[1]; }; })
      .Case<dl::DivideOp>([](auto) { return [](Args v) { return v[0] / v[1]; }; })
      .Case<dl::MaximumOp>([](auto) { return [](Args v) { return extremum(v[0], v[1], 1); }; })
      .Case<dl::MinimumOp>([](auto) { return [](Args v) { return extremum(v[0], v[1], -1); }; })
      .Case<dl::SelectOp>([](auto) { return [](Args v) { return v[0] != 0 ? v[1] : v[2]; }; })
      .Case<dl::CastOp, dl::ConvertLayoutOp>([](auto) { return [](Args v) { return v[0]; }; })
      .Case<dl::CompareOp>([](dl::CompareOp compareOp) {
        dl::Predicate predicate = compareOp.getPredicate();
        return [predicate](Args v) { return compare(predicate, v[0], v[1]); };
      })
      .Default(Scalar());
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
