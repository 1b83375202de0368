// See BuiltinFormulas.h.
#include "frontend/DL/Builtins/BuiltinFormulas.h"
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Formulas/Orders.h"
#include "dialects/DL/Ops/DLCompositeOps.h"

#include <cmath>

namespace dlc::frontend {

using dl::TensorBuilder;
namespace formulas = dl::formulas;
/// A value of the program, beside the language's own Value.
using Node = mlir::Value;

// ------------------------------------------------------------------------------ element by element

static Value unary(Call &call, llvm::function_ref<Node(TensorBuilder &, Node)> formula) {
  const Tensor &x = call.tensor("x");
  TensorBuilder b = at(call);
  return call.makeLike(formula(b, x.value), x);
}

Value buildRelu6(Call &call) { return unary(call, formulas::relu6); }

Value buildLeakyRelu(Call &call) {
  double slope = call.number("slope");
  return unary(call, [&](TensorBuilder &b, Node x) { return formulas::leakyRelu(b, x, slope); });
}

Value buildElu(Call &call) {
  double alpha = call.number("alpha");
  return unary(call, [&](TensorBuilder &b, Node x) { return formulas::elu(b, x, alpha); });
}

Value buildSelu(Call &call) { return unary(call, formulas::selu); }

Value buildGelu(Call &call) {
  bool isExact = call.string("approximate") == "none";
  if (!isExact && call.string("approximate") != "tanh")
    return call.fail("approximate", "'approximate' is \"none\" or \"tanh\", found " +
                                        text(call.value("approximate")));
  return unary(call,
               [&](TensorBuilder &b, Node x) { return formulas::gelu(b, x, /*tanh=*/!isExact); });
}

Value buildHardsigmoid(Call &call) { return unary(call, formulas::hardsigmoid); }
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
  return call.makeLike(formulas::inverseRoot(b, tensor->value), *tensor);
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
  return call.makeLike(formulas::sign(b, tensor->value), *tensor);
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
  Node result = kind == Logic::And ? formulas::both(b, left.value, right.value)
                                   : formulas::either(b, left.value, right.value);
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
  return call.makeLike(formulas::isNot(b, x->value), *x);
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
  return call.make(formulas::rootOfSquares(b, total.value), total.batch, {&total});
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
    value = formulas::productAlong(b, value, axis);
    batch.axis -= batch.exists() && !call.flag("keep") && axis < x.batch.axis;
  }
  for (auto [axis, size] : llvm::enumerate(b.typeOf(value).getShape()))
    if (call.flag("keep") || !llvm::is_contained(axes, int64_t(axis)))
      kept.push_back(size);
  return call.make(b.reshape(value, x.type().clone(kept)), batch, {&x});
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
  TensorBuilder b = at(call);
  return call.make(formulas::largestIndex(b, x.value, axis), batch, {&x});
}

Value buildCumulativeSum(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x, axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  if (x.dtype() == DType::Bool)
    return call.fail("x", "cumulative_sum does not work on " + describe(x.type()),
                     "cast it with i32(...)");
  TensorBuilder b = at(call);
  return call.makeLike(formulas::cumulativeSum(b, x.value, axis), x);
}

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
  formulas::Largest largest = formulas::topK(b, x.value, k);
  Value values = call.make(largest.values, x.batch, {&x});
  Value indices = call.make(largest.indices, x.batch, {&x});
  return call.evaluator.makeSequence({values, indices}, call.range);
}

Value buildOneHot(Call &call) {
  const Tensor &index = call.tensor("index");
  int64_t count = call.integer("count");
  if (count < 1)
    return call.fail("count", "'count' is 1 or more, found " + llvm::Twine(count));
  llvm::SmallVector<int64_t> shape(index.shape());
  shape.push_back(count);
  TensorBuilder b = at(call);
  if (!call.checkSize(shape, b.builder.getF32Type()) || !call.markNumbers("index", count))
    return Poison{};
  return call.make(formulas::oneHot(b, index.value, count), index.batch, {&index});
}

} // namespace dlc::frontend
