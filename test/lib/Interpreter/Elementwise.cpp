//===- Elementwise.cpp - one element at a time ------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
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

using Scalar = std::function<double(ArrayRef<double>)>;

/// The op's formula; null if it is not element-wise.
static Scalar formulaOf(Operation *op) {
  using Args = ArrayRef<double>;
  if (isa<dl::SelectOp>(op))
    return [](Args v) { return v[0] != 0 ? v[1] : v[2]; };
  if (isa<dl::CastOp, dl::ConvertLayoutOp>(op))
    return [](Args v) { return v[0]; };
  if (auto compareOp = dyn_cast<dl::CompareOp>(op))
    return [compareOp](Args v) mutable { return compare(compareOp.getPredicate(), v[0], v[1]); };
  if (auto elu = dyn_cast<dl::EluOp>(op))
    return [alpha = elu.getAlpha().convertToDouble()](Args v) {
      return v[0] > 0 ? v[0] : alpha * std::expm1(v[0]);
    };
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
