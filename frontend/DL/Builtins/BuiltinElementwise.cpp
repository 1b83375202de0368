// Element-wise functions; some work on numbers too.
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

#include <cmath>

namespace dlc::frontend {

template <typename Op> static Value buildUnary(Call &call) {
  return applyUnary<Op>(call, call.tensor("x"));
}

/// exp, log, sqrt: also on a number.
template <typename Op, double (*function)(double)> static Value buildUnaryOrNumber(Call &call) {
  const Value &x = call.value("x");
  if (x.isNumber()) {
    double result = function(x.number());
    if (std::isfinite(result))
      return result;
    return call.fail("x", call.label + " of " + text(x) + " is not a number");
  }
  const Tensor *tensor = x.getIf<Tensor>();
  if (tensor && isFloat(tensor->dtype()))
    return applyUnary<Op>(call, *tensor);
  return call.fail(
      "x", call.label + " expects a floating-point tensor or a number, found " + describe(x),
      tensor ? "cast it with f32(...)" : "");
}

static Value buildAbs(Call &call) {
  const Value &x = call.value("x");
  if (x.is<double>())
    return std::abs(x.number());
  if (x.isInteger() && x.integer() != INT64_MIN)
    return std::abs(x.integer());
  const Tensor *tensor = x.getIf<Tensor>();
  if (tensor && tensor->dtype() != DType::Bool)
    return applyUnary<dl::AbsOp>(call, *tensor);
  return call.fail("x", "abs expects a tensor of numbers or a number, found " + describe(x));
}

static Value buildSquare(Call &call) {
  if (call.value("x").is<double>())
    return call.number("x") * call.number("x");
  const Tensor *tensor = call.value("x").getIf<Tensor>();
  int64_t square;
  if (call.value("x").isInteger() &&
      !llvm::MulOverflow(call.integer("x"), call.integer("x"), square))
    return square;
  if (!tensor || tensor->dtype() == DType::Bool)
    return call.fail("x", "square expects a tensor of numbers or a number, found " +
                              describe(call.value("x")));
  return call.makeLike(at(call).multiply(tensor->value, tensor->value), *tensor);
}

template <Arithmetic kind> static Value buildArithmetic(Call &call) {
  const Value &a = call.value("a"), &b = call.value("b");
  bool isExtremum = kind == Arithmetic::Maximum || kind == Arithmetic::Minimum;
  if (isExtremum && a.isNumber() && b.isNumber()) {
    bool first = kind == Arithmetic::Maximum ? a.number() >= b.number() : a.number() <= b.number();
    if (a.isInteger() && b.isInteger())
      first = kind == Arithmetic::Maximum ? a.integer() >= b.integer() : a.integer() <= b.integer();
    return first ? a : b;
  }
  if (a.isTensor() || b.isTensor())
    return applyArithmetic(call, kind, call.operand("a"), call.operand("b"));
  return call.fail(a.isNumber() ? "b" : "a", call.label +
                                                 (isExtremum ? " expects tensors or numbers, found "
                                                             : " expects a tensor, found ") +
                                                 describe(a.isNumber() ? b : a));
}

static Value buildClamp(Call &call) {
  Operand low = call.operand("low"), high = call.operand("high");
  Value raised = applyArithmetic(call, Arithmetic::Maximum, call.operand("x"), low);
  return applyArithmetic(call, Arithmetic::Minimum, {raised, call.rangeOf("x")}, high);
}

static Value buildSelect(Call &call) {
  Tensor condition = call.tensor("condition");
  if (condition.dtype() != DType::Bool)
    return call.fail("condition",
                     "'condition' expects a bool tensor, found " + describe(condition.type()),
                     "a comparison such as x > 0");
  if (!call.value("a").isTensor() && !call.value("b").isTensor())
    return call.fail("a", "one of 'a' and 'b' is a tensor, so that the dtype is known");
  Tensor left, right;
  BatchAxis batch;
  if (!matchOperands(call, call.operand("a"), call.operand("b"), left, right, batch))
    return Poison{};
  // The choices have one shape now, and that of the condition may make it larger.
  left.batch = right.batch = batch;
  for (Tensor *choice : {&left, &right})
    if (!broadcastBoth(call, condition, *choice, batch))
      return Poison{};
  mlir::Value y = dl::SelectOp::create(call.entry().builder, call.location(), left.type(),
                                       condition.value, left.value, right.value);
  return call.make(y, batch, {&condition, &left, &right});
}

/// f32(x), i32(x), ...
template <DType dtype> static Value buildCast(Call &call) {
  const Value &x = call.value("x");
  const Tensor *tensor = x.getIf<Tensor>();
  if (!tensor)
    return call.fail("x", call.label + " casts a tensor, found " + describe(x),
                     isFloat(dtype) ? "float(x) converts a number" : "int(x) converts a number");
  if (tensor->dtype() == dtype)
    return *tensor;
  auto type = tensor->type().clone(elementType(dtype, &call.evaluator.program.context));
  return call.makeLike(
      dl::CastOp::create(call.entry().builder, call.location(), type, tensor->value), *tensor);
}

std::vector<Builtin> elementwiseBuiltins() {
  using K = ParamKind;
  auto unary = [](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &)) {
    return Builtin{name, Category::Function, {{"x", K::FloatTensor}}, doc, build};
  };
  auto any = [](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &)) {
    return Builtin{name, Category::Function, {{"x", K::Any}}, doc, build};
  };
  auto binary = [](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &)) {
    return Builtin{name, Category::Function, {{"a", K::Any}, {"b", K::Any}}, doc, build};
  };
  return {
      unary("relu", "max(x, 0)", buildUnary<dl::ReluOp>),
      unary("relu6", "min(max(x, 0), 6)", buildRelu6),
      {"leaky_relu",
       Category::Function,
       {{"x", K::FloatTensor}, {"slope", K::Number, 0.01}},
       "x, or slope * x below 0",
       buildLeakyRelu},
      {"elu",
       Category::Function,
       {{"x", K::FloatTensor}, {"alpha", K::Number, 1.0}},
       "x, or alpha * (exp(x) - 1) below 0",
       buildElu},
      unary("selu", "scaled elu that keeps mean 0 and variance 1", buildSelu),
      {"gelu",
       Category::Function,
       {{"x", K::FloatTensor}, {"approximate", K::String, "none"}},
       "x * Phi(x); approximate=\"tanh\" takes Phi's formula with tanh",
       buildGelu},
      unary("silu", "x * sigmoid(x)", buildUnary<dl::SiluOp>),
      unary("hardswish", "x * relu6(x + 3) / 6", buildUnary<dl::HardswishOp>),
      unary("hardsigmoid", "relu6(x + 3) / 6", buildHardsigmoid),
      unary("softplus", "log(1 + exp(x))", buildSoftplus),
      unary("softsign", "x / (1 + |x|)", buildUnary<dl::SoftsignOp>),
      unary("sigmoid", "1 / (1 + exp(-x))", buildUnary<dl::SigmoidOp>),
      unary("tanh", "hyperbolic tangent", buildUnary<dl::TanhOp>),
      {"softmax",
       Category::Function,
       {{"x", K::FloatTensor}, {"axis", K::Integer, -1}},
       "exp(x) over its sum along an axis",
       buildSoftmax},
      {"log_softmax",
       Category::Function,
       {{"x", K::FloatTensor}, {"axis", K::Integer, -1}},
       "logarithm of softmax",
       buildLogSoftmax},
      binary("add", "a + b", buildArithmetic<Arithmetic::Add>),
      binary("subtract", "a - b", buildArithmetic<Arithmetic::Subtract>),
      binary("multiply", "a * b", buildArithmetic<Arithmetic::Multiply>),
      binary("divide", "a / b", buildArithmetic<Arithmetic::Divide>),
      binary("maximum", "the larger of a and b", buildArithmetic<Arithmetic::Maximum>),
      binary("minimum", "the smaller of a and b", buildArithmetic<Arithmetic::Minimum>),
      binary("pow", "a to the power b", buildPower),
      any("exp", "exponential function", buildUnaryOrNumber<dl::ExpOp, std::exp>),
      any("log", "natural logarithm", buildUnaryOrNumber<dl::LogOp, std::log>),
      any("sqrt", "square root", buildUnaryOrNumber<dl::SqrtOp, std::sqrt>),
      any("rsqrt", "1 / sqrt(x)", buildRsqrt),
      any("abs", "|x|", buildAbs),
      any("sign", "-1, 0 or 1", buildSign),
      any("floor", "largest whole number not above x", buildUnaryOrNumber<dl::FloorOp, std::floor>),
      any("square", "x * x", buildSquare),
      unary("erf", "error function", buildUnary<dl::ErfOp>),
      {"clamp",
       Category::Function,
       {{"x", K::Tensor}, {"low", K::Any}, {"high", K::Any}},
       "min(max(x, low), high)",
       buildClamp},
      {"select",
       Category::Function,
       {{"condition", K::Tensor}, {"a", K::Any}, {"b", K::Any}},
       "a where the condition holds, else b",
       buildSelect},
      binary("logical_and", "true where both are", buildLogical<Logic::And>),
      binary("logical_or", "true where one is", buildLogical<Logic::Or>),
      any("logical_not", "true where x is false", buildLogicalNot),
      any("f32", "cast to f32", buildCast<DType::F32>),
      any("f64", "cast to f64", buildCast<DType::F64>),
      any("bf16", "cast to bf16", buildCast<DType::BF16>),
      any("f16", "cast to f16", buildCast<DType::F16>),
      any("i32", "cast to i32", buildCast<DType::I32>),
      any("i64", "cast to i64", buildCast<DType::I64>),
      any("u8", "cast to u8", buildCast<DType::U8>),
      any("bool", "cast to bool", buildCast<DType::Bool>),
  };
}

} // namespace dlc::frontend
