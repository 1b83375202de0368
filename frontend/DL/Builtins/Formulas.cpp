// See Formulas.h.
#include "frontend/DL/Builtins/Formulas.h"
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

static Node maximum(TensorBuilder &b, Node x, double limit) {
  return dl::MaximumOp::create(b.builder, b.loc, x, b.splatLike(x, limit));
}
static Node minimum(TensorBuilder &b, Node x, double limit) {
  return dl::MinimumOp::create(b.builder, b.loc, x, b.splatLike(x, limit));
}
static Node above(TensorBuilder &b, Node x, double limit) {
  return b.compare(Predicate::GT, x, b.splatLike(x, limit));
}
static Node squareRoot(TensorBuilder &b, Node x) { return dl::SqrtOp::create(b.builder, b.loc, x); }
static Node sigmoid(TensorBuilder &b, Node x) { return dl::SigmoidOp::create(b.builder, b.loc, x); }
static Node shift(TensorBuilder &b, Node x, double by) { return b.add(x, b.splatLike(x, by)); }
/// log(1 + exp(x))
static Node softplus(TensorBuilder &b, Node x) {
  Node magnitude = dl::AbsOp::create(b.builder, b.loc, x);
  return b.add(maximum(b, x, 0), b.log(shift(b, b.exp(b.negate(magnitude)), 1)));
}

// ------------------------------------------------------------------------------ element by element

static Value unary(Call &call, llvm::function_ref<Node(TensorBuilder &, Node)> formula) {
  const Tensor &x = call.tensor("x");
  TensorBuilder b = at(call);
  return call.makeLike(formula(b, x.value), x);
}

Value buildRelu6(Call &call) {
  return unary(call, [](TensorBuilder &b, Node x) { return minimum(b, maximum(b, x, 0), 6); });
}

Value buildLeakyRelu(Call &call) {
  double slope = call.number("slope");
  return unary(call, [&](TensorBuilder &b, Node x) {
    return b.select(above(b, x, 0), x, b.scale(x, slope));
  });
}

static Node elu(TensorBuilder &b, Node x, double alpha) {
  Node below = b.scale(shift(b, b.exp(minimum(b, x, 0)), -1), alpha);
  return b.select(above(b, x, 0), x, below);
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
  return unary(call, [](TensorBuilder &b, Node x) {
    Node cube = b.multiply(x, b.multiply(x, x));
    Node inner = b.scale(b.add(x, b.scale(cube, 0.044715)), std::sqrt(2 / M_PI));
    Node tanh = dl::TanhOp::create(b.builder, b.loc, inner);
    return b.multiply(b.scale(x, 0.5), shift(b, tanh, 1));
  });
}

Value buildSilu(Call &call) {
  return unary(call, [](TensorBuilder &b, Node x) { return b.multiply(x, sigmoid(b, x)); });
}

static Node hardsigmoid(TensorBuilder &b, Node x) {
  return b.scale(minimum(b, maximum(b, shift(b, x, 3), 0), 6), 1.0 / 6);
}

Value buildHardswish(Call &call) {
  return unary(call, [](TensorBuilder &b, Node x) { return b.multiply(x, hardsigmoid(b, x)); });
}
Value buildHardsigmoid(Call &call) { return unary(call, hardsigmoid); }
Value buildSoftplus(Call &call) { return unary(call, softplus); }

Value buildRsqrt(Call &call) {
  const Value &x = call.value("x");
  if (x.isNumber() && x.number() > 0)
    return 1 / std::sqrt(x.number());
  const Tensor *tensor = x.getIf<Tensor>();
  if (!tensor || !isFloat(tensor->dtype()))
    return call.fail("x", "rsqrt expects a floating-point tensor or a number above 0, found " +
                              describe(x));
  TensorBuilder b = at(call);
  return call.makeLike(b.divide(b.splatLike(tensor->value, 1), squareRoot(b, tensor->value)),
                       *tensor);
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
  return call.makeLike(b.select(above(b, tensor->value, 0), one, negative), *tensor);
}

/// x to a whole power, by squaring.
static Node wholePower(TensorBuilder &b, Node x, int64_t exponent) {
  Node result, square = x;
  for (int64_t rest = exponent; rest != 0; rest /= 2) {
    if (rest % 2 != 0)
      result = result ? b.multiply(result, square) : square;
    if (rest > 1)
      square = b.multiply(square, square);
  }
  return result;
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
  double power = exponent.value.number();
  if (power == 0)
    return site.makeLike(b.splatLike(x->value, 1), *x);
  Node result;
  constexpr double mostProducts = 1024;
  if (power == 0.5)
    result = squareRoot(b, x->value);
  else if (power == std::floor(power) && std::abs(power) <= mostProducts)
    result = wholePower(b, x->value, std::abs(int64_t(power)));
  else
    return site.makeLike(b.exp(b.scale(b.log(x->value), power)), *x);
  if (power < 0)
    result = b.divide(b.splatLike(result, 1), result);
  return site.makeLike(result, *x);
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

template <bool logarithm> Value buildSoftmax(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x.rank(), axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  TensorBuilder b = at(call);
  auto spread = [&](Node each) { return b.broadcastOver(each, x.type(), {axis}); };
  Node shifted = b.subtract(x.value, spread(b.reduce(ReduceKind::Max, x.value, {axis})));
  Node exps = b.exp(shifted), sum = b.reduce(ReduceKind::Sum, exps, {axis});
  return call.makeLike(
      logarithm ? b.subtract(shifted, spread(b.log(sum))) : b.divide(exps, spread(sum)), x);
}
template Value buildSoftmax<false>(Call &);
template Value buildSoftmax<true>(Call &);

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
  Node isPositive = above(b, total.value, 0);
  Node root = squareRoot(b, b.select(isPositive, total.value, b.splatLike(total.value, 1)));
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

// ------------------------------------------------------------------------------ losses and metrics

static Node logSoftmax(TensorBuilder &b, Node x, int64_t axis) {
  auto type = b.typeOf(x);
  auto spread = [&](Node each) { return b.broadcastOver(each, type, {axis}); };
  Node shifted = b.subtract(x, spread(b.reduce(ReduceKind::Max, x, {axis})));
  return b.subtract(shifted, spread(b.log(b.reduce(ReduceKind::Sum, b.exp(shifted), {axis}))));
}

Tensor smoothedCrossEntropy(Call &call, const Tensor &crossEntropy, int64_t axis,
                            double smoothing) {
  TensorBuilder b = at(call);
  Node logits = call.tensor("logits").value;
  int64_t classes = b.typeOf(logits).getDimSize(axis);
  Node all = b.reduce(ReduceKind::Sum, logSoftmax(b, logits, axis), {axis});
  Node value = b.subtract(b.scale(crossEntropy.value, 1 - smoothing),
                          b.scale(all, smoothing / double(classes)));
  return call.makeLike(value, crossEntropy);
}

Tensor probabilityCrossEntropy(Call &call, const Tensor &logits, const Tensor &target,
                               int64_t axis) {
  TensorBuilder b = at(call);
  Node products = b.multiply(target.value, logSoftmax(b, logits.value, axis));
  BatchAxis batch = logits.batch;
  if (batch.axis > axis)
    --batch.axis;
  return call.make(b.negate(b.reduce(ReduceKind::Sum, products, {axis})), batch,
                   {&logits, &target});
}

Node sigmoidCrossEntropy(Call &call, Node logits, Node target) {
  TensorBuilder b = at(call);
  return b.subtract(softplus(b, logits), b.multiply(logits, target));
}

Node huber(Call &call, Node difference, double delta) {
  TensorBuilder b = at(call);
  Node size = dl::AbsOp::create(b.builder, b.loc, difference);
  Node near = minimum(b, size, delta);
  return b.multiply(near, b.subtract(size, b.scale(near, 0.5)));
}

Node hinge(Call &call, Node score, Node target, double margin) {
  TensorBuilder b = at(call);
  return maximum(b, shift(b, b.negate(b.multiply(score, target)), margin), 0);
}

Node divergence(Call &call, Node logProbability, Node target) {
  TensorBuilder b = at(call);
  Node isPositive = above(b, target, 0);
  Node logTarget = b.log(b.select(isPositive, target, b.splatLike(target, 1)));
  return b.keepWhere(isPositive, b.multiply(target, b.subtract(logTarget, logProbability)));
}

Node binaryAccuracy(Call &call, Node logits, Node target, double threshold) {
  TensorBuilder b = at(call);
  Node answer = b.castLike(above(b, logits, threshold), logits);
  Node truth = b.castLike(above(b, target, 0.5), logits);
  return b.castLike(b.compare(Predicate::EQ, answer, truth), logits);
}

Node topAccuracy(Call &call, Node logits, Node label, int64_t k, int64_t axis) {
  TensorBuilder b = at(call);
  auto type = b.typeOf(logits);
  auto spread = [&](Node each) { return b.broadcastOver(each, type, {axis}); };
  Node numbers = b.iota(type.getShape(), b.typeOf(label).getElementType(), axis);
  Node isLabel = b.compare(Predicate::EQ, numbers, spread(label));
  Node own = b.reduce(ReduceKind::Sum, b.keepWhere(isLabel, logits), {axis});
  Node better = b.castLike(b.compare(Predicate::GT, logits, spread(own)), logits);
  Node rank = b.reduce(ReduceKind::Sum, better, {axis});
  return b.castLike(b.compare(Predicate::LT, rank, b.splatLike(rank, double(k))), logits);
}

} // namespace dlc::frontend
