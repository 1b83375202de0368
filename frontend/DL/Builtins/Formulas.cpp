// See Formulas.h.
#include "frontend/DL/Builtins/Formulas.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"

#include "dialects/DL/Builders/TensorBuilder.h"

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
  bool isExact = call.string("approximate") == "none";
  if (!isExact && call.string("approximate") != "tanh")
    return call.fail("approximate", "'approximate' is \"none\" or \"tanh\", found " +
                                        text(call.value("approximate")));
  return unary(call, [&](TensorBuilder &b, Node x) -> Node {
    return dl::GeluOp::create(b.builder, b.loc, x, isExact);
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
    return call.fail("x",
                     "sign expects a tensor of signed numbers or a number, found " + describe(x));
  TensorBuilder b = at(call);
  Node zero = b.splatLike(tensor->value, 0), one = b.splatLike(tensor->value, 1);
  Node negative =
      b.select(b.compare(Predicate::LT, tensor->value, zero), b.splatLike(tensor->value, -1), zero);
  return call.makeLike(b.select(b.above(tensor->value, 0), one, negative), *tensor);
}

Value applyPower(Site &site, const Operand &base, const Operand &exponent) {
  Tensor left, right;
  BatchAxis batch;
  if (!matchOperands(site, base, exponent, left, right, batch))
    return Poison{};
  if (!isFloat(left.dtype())) {
    site.error(site.label + " does not work on " + describe(left.type()))
        .hint("cast it with f32(...)");
    return Poison{};
  }
  TensorBuilder b = at(site);
  if (exponent.value.isNumber())
    return site.makeLike(b.power(left.value, exponent.value.number()), left);
  return site.make(b.raise(left.value, right.value), batch, {&left, &right});
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
  if (!call.axis("axis", x, axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  if (x.shape()[axis] == 0)
    return call.fail("x", call.label + " of no elements: the shape is " + describe(x.type()));
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
  if (!readAxes(call, x, axes))
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

/// The product along `axis`, which has size 1 then: halves are multiplied until one is left. Its
/// gradient needs no division, and is right where elements are 0.
static Node productAlong(TensorBuilder &b, Node x, int64_t axis) {
  llvm::SmallVector<int64_t> shape(b.typeOf(x).getShape());
  if (shape[axis] == 0) {
    shape[axis] = 1;
    return b.splat(b.typeOf(x).clone(shape), 1);
  }
  llvm::SmallVector<int64_t> steps(shape.size(), 1);
  auto part = [&](int64_t start, int64_t size) -> Node {
    llvm::SmallVector<int64_t> starts(shape.size(), 0), sizes(shape);
    starts[axis] = start;
    sizes[axis] = size;
    return dl::SliceOp::create(b.builder, b.loc, x, starts, sizes, steps);
  };
  for (int64_t size = shape[axis]; size > 1; size = b.typeOf(x).getDimSize(axis)) {
    Node first = part(0, size / 2), second = part(size / 2, size / 2);
    Node halves = b.multiply(first, second);
    if (size % 2 != 0)
      halves =
          dl::ConcatOp::create(b.builder, b.loc, mlir::ValueRange{halves, part(size - 1, 1)}, axis);
    x = halves;
  }
  return x;
}

Value buildProduct(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!readAxes(call, x, axes))
    return Poison{};
  if (x.dtype() == DType::Bool)
    return call.fail("x", "product does not work on " + describe(x.type()),
                     "cast it with f32(...)");
  bool overBatch = llvm::is_contained(axes, int64_t(x.batch.axis));
  Node value = overBatch ? call.entry().maskPadding(call.location(), x.value, x.batch, 1) : x.value;
  llvm::SmallVector<int64_t> kept;
  BatchAxis batch = overBatch ? BatchAxis{} : x.batch;
  TensorBuilder b = at(call);
  for (int64_t axis : axes) {
    value = productAlong(b, value, axis);
    batch.axis -= batch.exists() && !call.flag("keep") && axis < x.batch.axis;
  }
  for (auto [axis, size] : llvm::enumerate(b.typeOf(value).getShape()))
    if (call.flag("keep") || !llvm::is_contained(axes, int64_t(axis)))
      kept.push_back(size);
  return call.make(call.entry().reshape(call.location(), value, kept), batch, {&x});
}

/// Index numbers of an axis, in the shape of `x`.
static Node indexNumbers(TensorBuilder &b, Node x, int64_t axis) {
  return b.iota(b.typeOf(x).getShape(), b.builder.getI32Type(), axis);
}

Node largestIndex(Call &call, Node x, int64_t axis) {
  TensorBuilder b = at(call);
  Node largest = b.broadcastOver(b.reduce(ReduceKind::Max, x, {axis}), b.typeOf(x), {axis});
  Node numbers = indexNumbers(b, x, axis);
  // No index has the filler's number.
  Node filler = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Node others = filler;
  // What is not a number makes the largest none, and equals nothing.
  if (llvm::isa<mlir::FloatType>(b.typeOf(x).getElementType()))
    others = b.select(b.compare(Predicate::NE, x, x), numbers, filler);
  Node candidates = b.select(b.compare(Predicate::EQ, x, largest), numbers, others);
  return b.reduce(ReduceKind::Min, candidates, {axis});
}

Value buildArgmax(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x, axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  if (x.dtype() == DType::Bool || x.shape()[axis] == 0)
    return call.fail("x", "argmax does not work on " + describe(x.type()));
  BatchAxis batch = x.batch;
  if (batch.axis > axis)
    --batch.axis;
  return call.make(largestIndex(call, x.value, axis), batch, {&x});
}

/// Each element with what is 1, 2, 4, ... before it (Hillis and Steele, 1986): as many additions as
/// the length has bits lie behind each sum.
Node cumulativeSum(Call &call, Node x, int64_t axis) {
  TensorBuilder b = at(call);
  auto type = b.typeOf(x);
  llvm::SmallVector<int64_t> starts(type.getRank(), 0), low(type.getRank(), 0),
      steps(type.getRank(), 1);
  for (int64_t by = 1; by < type.getDimSize(axis); by *= 2) {
    llvm::SmallVector<int64_t> sizes(type.getShape());
    sizes[axis] -= by;
    low[axis] = by;
    Node before = dl::SliceOp::create(b.builder, b.loc, x, starts, sizes, steps);
    before = dl::PadOp::create(b.builder, b.loc, type, before, low, steps);
    x = b.add(x, before);
  }
  return x;
}

Value buildCumulativeSum(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x, axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  if (x.dtype() == DType::Bool)
    return call.fail("x", "cumulative_sum does not work on " + describe(x.type()),
                     "cast it with i32(...)");
  return call.makeLike(cumulativeSum(call, x.value, axis), x);
}

/// k times the first of the largest that are left.
Value buildTopK(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t k = call.integer("k"), axis = x.rank() - 1;
  if (x.rank() == 0 || !isFloat(x.dtype()))
    return call.fail("x", "top_k expects a floating-point tensor of rank 1 or more, found " +
                              describe(x.type()));
  if (k < 1 || k > x.shape()[axis])
    return call.fail("k", "'k' is from 1 to the " + llvm::Twine(x.shape()[axis]) +
                              " elements of the last axis, found " + llvm::Twine(k));
  if (!call.checkNotBatch(x, {axis}, call.rangeOf("x")) ||
      !call.evaluator.spendElements(k, call.range))
    return Poison{};
  TensorBuilder b = at(call);
  Node numbers = indexNumbers(b, x.value, axis);
  Node lowest = b.splatLike(x.value, -std::numeric_limits<double>::infinity());
  Node nobody = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Node taken = b.splat(x.type().clone(b.builder.getI1Type()), 0);
  llvm::SmallVector<Node> values, indices;
  llvm::SmallVector<int64_t> single(x.shape());
  single[axis] = 1;
  for (int64_t i = 0; i < k; ++i) {
    Node left = b.select(taken, lowest, x.value);
    Node largest = b.broadcastOver(b.reduce(ReduceKind::Max, left, {axis}), x.type(), {axis});
    Node isNaN = b.compare(Predicate::NE, left, left);
    Node isLargest = b.select(isNaN, isNaN, b.compare(Predicate::EQ, left, largest));
    Node candidates = b.select(taken, nobody, b.select(isLargest, numbers, nobody));
    Node index = b.reduce(ReduceKind::Min, candidates, {axis});
    Node isIndex =
        b.compare(Predicate::EQ, numbers, b.broadcastOver(index, b.typeOf(numbers), {axis}));
    values.push_back(b.reshape(b.reduce(ReduceKind::Sum, b.keepWhere(isIndex, x.value), {axis}),
                               x.type().clone(single)));
    indices.push_back(b.reshape(index, b.typeOf(numbers).clone(single)));
    taken = b.select(taken, taken, isIndex);
  }
  auto joined = [&](llvm::ArrayRef<Node> parts) -> Value {
    return call.make(dl::ConcatOp::create(b.builder, b.loc, parts, axis), x.batch, {&x});
  };
  Value all = joined(values), where = joined(indices);
  return call.evaluator.makeSequence({all, where}, call.range);
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
  if (!call.checkSize(shape, b.builder.getF32Type()) || !call.markNumbers("index", count))
    return Poison{};
  auto type = mlir::RankedTensorType::get(shape, element);
  Node numbers = b.iota(shape, element, index.rank());
  Node wide = b.broadcastOver(index.value, type, {index.rank()});
  Node hit = b.compare(Predicate::EQ, numbers, wide);
  Node result = dl::CastOp::create(b.builder, b.loc, type.clone(b.builder.getF32Type()), hit);
  return call.make(result, index.batch, {&index});
}

} // namespace dlc::frontend
