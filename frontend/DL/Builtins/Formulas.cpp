// See Formulas.h.
#include "frontend/DL/Builtins/Formulas.h"
#include "dialects/DL/DLCompositeOps.h"
#include "dialects/DL/DLElementwiseOps.h"

#include "dialects/DL/TensorBuilder.h"

#include <cmath>
#include <limits>

namespace dlc::frontend {

using dl::Predicate;
using dl::ReduceKind;
using dl::TensorBuilder;
/// A value of the program, beside the language's own Value.
using Node = mlir::Value;

static TensorBuilder at(Site &site) { return {site.entry().builder, site.location()}; }

// ------------------------------------------------------------------------------ element by element

static Value unary(Call &call, llvm::function_ref<Node(TensorBuilder &, Node)> formula) {
  const Tensor &x = call.tensor("x");
  TensorBuilder b = at(call);
  return call.makeLike(formula(b, x.value), x);
}

Value buildRelu6(Call &call) {
  return unary(call, [](TensorBuilder &b, Node x) { return b.atMost(b.atLeast(x, 0), 6); });
}

Value buildLeakyRelu(Call &call) {
  double slope = call.number("slope");
  return unary(call, [&](TensorBuilder &b, Node x) {
    return b.select(b.above(x, 0), x, b.scale(x, slope));
  });
}

static Node elu(TensorBuilder &b, Node x, double alpha) {
  return dl::EluOp::create(b.builder, b.loc, x.getType(), x, llvm::APFloat(alpha));
}

Value buildElu(Call &call) {
  double alpha = call.number("alpha");
  return unary(call, [&](TensorBuilder &b, Node x) { return elu(b, x, alpha); });
}

Value buildSelu(Call &call) {
  return unary(call, [](TensorBuilder &b, Node x) {
    return b.scale(elu(b, x, 1.6732632423543772), 1.0507009873554805);
  });
}

Value buildGelu(Call &call) {
  if (call.string("approximate") == "none")
    return call.fail("approximate", "gelu by the exact formula is not available yet",
                     "gelu(x, \"tanh\")");
  if (call.string("approximate") != "tanh")
    return call.fail("approximate", "'approximate' is \"none\" or \"tanh\", found " +
                                        text(call.value("approximate")));
  return unary(call, [](TensorBuilder &b, Node x) -> Node {
    return dl::GeluOp::create(b.builder, b.loc, x);
  });
}

static Node hardsigmoid(TensorBuilder &b, Node x) {
  return b.scale(b.atMost(b.atLeast(b.shift(x, 3), 0), 6), 1.0 / 6);
}

Value buildHardsigmoid(Call &call) { return unary(call, hardsigmoid); }
Value buildSoftplus(Call &call) {
  return unary(call, [](TensorBuilder &b, Node x) { return b.softplus(x); });
}

Value buildRsqrt(Call &call) {
  const Value &x = call.value("x");
  if (x.isNumber() && x.number() > 0)
    return 1 / std::sqrt(x.number());
  const Tensor *tensor = x.getIf<Tensor>();
  if (!tensor || !isFloat(tensor->dtype()))
    return call.fail("x", "rsqrt expects a floating-point tensor or a number above 0, found " +
                              describe(x));
  TensorBuilder b = at(call);
  return call.makeLike(b.divide(b.splatLike(tensor->value, 1), b.sqrt(tensor->value)), *tensor);
}

Value buildSign(Call &call) {
  const Value &x = call.value("x");
  if (x.isNumber())
    return int64_t(x.number() > 0) - int64_t(x.number() < 0);
  const Tensor *tensor = x.getIf<Tensor>();
  if (!tensor || tensor->dtype() == DType::Bool || tensor->dtype() == DType::U8)
    return call.fail("x", "sign expects a tensor or a number, found " + describe(x));
  TensorBuilder b = at(call);
  Node zero = b.splatLike(tensor->value, 0), one = b.splatLike(tensor->value, 1);
  Node negative =
      b.select(b.compare(Predicate::LT, tensor->value, zero), b.splatLike(tensor->value, -1), zero);
  return call.makeLike(b.select(b.above(tensor->value, 0), one, negative), *tensor);
}

Value applyPower(Site &site, const Operand &base, const Operand &exponent) {
  const Tensor *x = base.value.getIf<Tensor>();
  if (!x || !exponent.value.isNumber()) {
    site.error(site.label + " of " + describe(base.value) + " and " + describe(exponent.value) +
               " is not available yet")
        .hint("a tensor to the power of a number is; exp(log(a) * b)");
    return Poison{};
  }
  if (!isFloat(x->dtype())) {
    site.error(site.label + " does not work on " + describe(x->type()))
        .hint("cast it with f32(...)");
    return Poison{};
  }
  TensorBuilder b = at(site);
  return site.makeLike(b.power(x->value, exponent.value.number()), *x);
}

Value buildPower(Call &call) {
  const Value &a = call.value("a"), &b = call.value("b");
  if (a.isNumber() && b.isNumber())
    return std::pow(a.number(), b.number());
  return applyPower(call, call.operand("a"), call.operand("b"));
}

// ------------------------------------------------------------------------------------------- bools

template <Logic kind> Value buildLogical(Call &call) {
  for (llvm::StringRef name : {"a", "b"}) {
    const Tensor *tensor = call.value(name).getIf<Tensor>();
    if (!tensor || tensor->dtype() != DType::Bool)
      return call.fail(name,
                       call.label + " expects bool tensors, found " + describe(call.value(name)));
  }
  Tensor left, right;
  BatchAxis batch;
  if (!matchOperands(call, call.operand("a"), call.operand("b"), left, right, batch))
    return Poison{};
  TensorBuilder b = at(call);
  Node constant = b.splatLike(left.value, kind == Logic::Or);
  Node result = kind == Logic::And ? b.select(left.value, right.value, constant)
                                   : b.select(left.value, constant, right.value);
  return call.make(result, batch, {&left, &right});
}
template Value buildLogical<Logic::And>(Call &);
template Value buildLogical<Logic::Or>(Call &);

Value buildLogicalNot(Call &call) {
  const Tensor *x = call.value("x").getIf<Tensor>();
  if (!x || x->dtype() != DType::Bool)
    return call.fail("x", "logical_not expects a bool tensor, found " + describe(call.value("x")),
                     "'not' works on compile-time bools");
  TensorBuilder b = at(call);
  return call.makeLike(b.select(x->value, b.splatLike(x->value, 0), b.splatLike(x->value, 1)), *x);
}

// -------------------------------------------------------------------------------------- along axes

template <typename Op> static Value alongAxis(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x.rank(), axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  return call.makeLike(Op::create(call.entry().builder, call.location(), x.value, axis), x);
}
Value buildSoftmax(Call &call) { return alongAxis<dl::SoftmaxOp>(call); }
Value buildLogSoftmax(Call &call) { return alongAxis<dl::LogSoftmaxOp>(call); }

/// The root of a sum of squares; its gradient is 0 where the sum is.
Value buildNorm(Call &call) {
  Tensor x = call.tensor("x");
  if (!isFloat(x.dtype()))
    return call.fail("x", "norm expects a floating-point tensor, found " + describe(x.type()),
                     "cast it with f32(...)");
  llvm::SmallVector<int64_t> axes;
  if (!readAxes(call, x.rank(), axes))
    return Poison{};
  TensorBuilder b = at(call);
  x.value = b.multiply(x.value, x.value);
  Value sum = applyReduce(call, Reduction::Sum, x, axes, call.flag("keep"));
  if (sum.isPoison())
    return sum;
  const Tensor &total = sum.as<Tensor>();
  Node isPositive = b.above(total.value, 0);
  Node root = b.sqrt(b.select(isPositive, total.value, b.splatLike(total.value, 1)));
  return call.make(b.keepWhere(isPositive, root), total.batch, {&total});
}

/// Index numbers of an axis, in the shape of `x`.
static Node indexNumbers(TensorBuilder &b, Node x, int64_t axis) {
  return b.iota(b.typeOf(x).getShape(), b.builder.getI32Type(), axis);
}

Value buildArgmax(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x.rank(), axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  if (x.dtype() == DType::Bool || x.shape()[axis] == 0)
    return call.fail("x", "argmax does not work on " + describe(x.type()));
  TensorBuilder b = at(call);
  Node largest = b.broadcastOver(b.reduce(ReduceKind::Max, x.value, {axis}), x.type(), {axis});
  Node numbers = indexNumbers(b, x.value, axis);
  // The first of the largest. No index has the filler's number.
  Node filler = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Node candidates = b.select(b.compare(Predicate::EQ, x.value, largest), numbers, filler);
  BatchAxis batch = x.batch;
  if (batch.axis > axis)
    --batch.axis;
  return call.make(b.reduce(ReduceKind::Min, candidates, {axis}), batch, {&x});
}

Value buildOneHot(Call &call) {
  const Tensor &index = call.tensor("index");
  int64_t count = call.integer("count");
  if (count < 1)
    return call.fail("count", "'count' is 1 or more, found " + llvm::Twine(count));
  llvm::SmallVector<int64_t> shape(index.shape());
  shape.push_back(count);
  TensorBuilder b = at(call);
  mlir::Type element = index.type().getElementType();
  if (!call.checkSize(shape, b.builder.getF32Type()))
    return Poison{};
  auto type = mlir::RankedTensorType::get(shape, element);
  Node numbers = b.iota(shape, element, index.rank());
  Node wide = b.broadcastOver(index.value, type, {index.rank()});
  Node hit = b.compare(Predicate::EQ, numbers, wide);
  Node result = dl::CastOp::create(b.builder, b.loc, type.clone(b.builder.getF32Type()), hit);
  return call.make(result, index.batch, {&index});
}

} // namespace dlc::frontend
