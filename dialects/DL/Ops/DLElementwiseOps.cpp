//===- DLElementwiseOps.cpp - element-wise ops: what their rows name, and their folds ---------===//
//
// The rows of DLElementwiseOps.td hold the formulas of ops and of their gradients. Here are the
// functions that they name, the terms that they are made of, and ops that need a body.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Builders/Folding.h"
#include "dialects/DL/Builders/ScalarBuilder.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Builders/Term.h"
#include "dialects/DL/Rules/GradientRule.h"
#include <numbers>

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What rows name
//===------------------------------------------------------------------------------------------===//

using ScalarTerm = Term<ScalarBuilder>;
using TensorTerm = Term<TensorBuilder>;

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor); }
static bool isFloat(Value tensor) { return isa<FloatType>(elementOf(tensor)); }
/// u8 and bool; they arrive as signless integers, so that only the op's tensor type knows.
static bool isUnsigned(Value tensor) {
  return elementOf(tensor).isUnsignedInteger() || elementOf(tensor).isInteger(1);
}

/// For the ops of one element of `op`.
static ScalarBuilder scalars(Operation *op, OpBuilder &builder, Location loc) {
  return {builder, loc, isUnsigned(op->getOperand(0))};
}

/// e = exp(-|x|) is at most 1, so that nothing overflows.
static ScalarTerm stableSigmoid(ScalarTerm x) {
  ScalarTerm e = exp(-abs(x));
  ScalarTerm numerator = select(x >= 0, 1, e);
  return numerator / (1 + e);
}

/// As y = x * s with s = sigmoid(x), y' is s + y * (1 - s).
static TensorTerm siluGradient(TensorBuilder &tensors, TensorTerm x, TensorTerm y, TensorTerm dy) {
  TensorTerm s(tensors, tensors.sigmoid(x));
  TensorTerm rest = y * (1 - s);
  return dy * (s + rest);
}

static ScalarTerm hardswish(ScalarTerm x) {
  return x * (minimum(maximum(x + 3, 0), 6) * (1.0 / 6));
}

static TensorTerm hardswishGradient(TensorTerm x, TensorTerm dy) {
  TensorTerm between = dy * (x * (1.0 / 3) + 0.5);
  TensorTerm rising = select(x > -3, between, 0);
  return select(x > 3, dy, rising);
}

/// exp sees no positive numbers.
static ScalarTerm elu(ScalarTerm x, double alpha) {
  ScalarTerm below = (exp(minimum(x, 0)) - 1) * alpha;
  return select(x > 0, x, below);
}

static TensorTerm eluGradient(TensorTerm x, TensorTerm y, TensorTerm dy, double alpha) {
  TensorTerm below = dy * (y + alpha);
  return select(x > 0, dy, below);
}

/// The slope of |x| times dy.
static TensorTerm timesSign(TensorTerm x, TensorTerm dy) {
  TensorTerm opposite = -dy;
  TensorTerm falling = select(x < 0, opposite, 0);
  return select(x > 0, dy, falling);
}

/// The slope of a^b along b times dc: 0 where a is not above 0.
static TensorTerm powerSlope(TensorTerm a, TensorTerm c, TensorTerm dc) {
  TensorTerm positive = a > 0;
  TensorTerm slope = log(select(positive, a, 1));
  return dc * (c * slope);
}

/// For what is constant almost everywhere.
static TensorTerm noGradient(TensorBuilder &tensors) { return {tensors, Value()}; }

/// dc where `a` has won against `b`; half of it where they are equal.
static TensorTerm toWinner(TensorTerm hasWon, TensorTerm a, TensorTerm b, TensorTerm dc) {
  TensorTerm half = dc * 0.5;
  TensorTerm shared = select(a == b, half, 0);
  return select(hasWon, dc, shared);
}

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLElementwiseOps.cpp.inc"

void DLDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/DL/Ops/DLElementwiseOps.cpp.inc"
      >();
}

//===------------------------------------------------------------------------------------------===//
// Scalars that need a body
//===------------------------------------------------------------------------------------------===//

/// `element` with the vector shape of `like`, if it has one.
static Type typeLike(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

/// Between floats: wider, narrower, or through f32 for the two 16-bit types.
static Value castFloat(OpBuilder &builder, Location loc, Value x, FloatType to) {
  auto from = cast<FloatType>(getElementTypeOrSelf(x));
  if (from == to)
    return x;
  if (from.getWidth() == to.getWidth())
    return castFloat(builder, loc, castFloat(builder, loc, x, builder.getF32Type()), to);
  Type type = typeLike(x.getType(), to);
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, loc, type, x);
  return arith::TruncFOp::create(builder, loc, type, x);
}

static Value castInteger(OpBuilder &builder, Location loc, Value x, bool fromUnsigned, Type type) {
  unsigned from = getElementTypeOrSelf(x).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (from == to)
    return x;
  if (from > to)
    return arith::TruncIOp::create(builder, loc, type, x);
  if (fromUnsigned)
    return arith::ExtUIOp::create(builder, loc, type, x);
  return arith::ExtSIOp::create(builder, loc, type, x);
}

/// Towards zero. What is out of range becomes the nearest number there is, and what is no number 0:
/// the instructions of processors, which say nothing else of both, are asked for neither.
static Value castToInteger(OpBuilder &builder, Location loc, Value x, bool toUnsigned, Type type) {
  const unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  const APInt least = toUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits);
  const APInt most = toUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  auto toFloat = [&](const APInt &bound) {
    APFloat nearest(cast<FloatType>(getElementTypeOrSelf(x)).getFloatSemantics());
    nearest.convertFromAPInt(bound, !toUnsigned, APFloat::rmTowardZero);
    return nearest;
  };
  auto isExact = [&](const APFloat &nearest, const APInt &bound) {
    APSInt back(bits, toUnsigned);
    bool exact = false;
    nearest.convertToInteger(back, APFloat::rmTowardZero, &exact);
    return static_cast<const APInt &>(back) == bound;
  };
  ScalarBuilder s{builder, loc, toUnsigned};
  auto splat = [&](const APInt &bound) {
    auto attribute = builder.getIntegerAttr(getElementTypeOrSelf(type), bound);
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, bound))
          .getResult();
    return arith::ConstantOp::create(builder, loc, attribute).getResult();
  };
  const APFloat low = toFloat(least), high = toFloat(most);
  Value lowest = s.splatLike(x, low.convertToDouble());
  Value highest = s.splatLike(x, high.convertToDouble());
  Value inRange = s.select(s.compare(Predicate::GT, x, lowest), x, lowest);
  inRange = s.select(s.compare(Predicate::LT, inRange, highest), inRange, highest);
  Value y = toUnsigned ? arith::FPToUIOp::create(builder, loc, type, inRange).getResult()
                       : arith::FPToSIOp::create(builder, loc, type, inRange).getResult();
  if (!isExact(high, most))
    y = s.select(s.compare(Predicate::GT, x, highest), splat(most), y);
  if (!isExact(low, least))
    y = s.select(s.compare(Predicate::LT, x, lowest), splat(least), y);
  // Unsigned ones became 0 as the lowest.
  return toUnsigned ? y : s.select(s.compare(Predicate::NE, x, x), splat(APInt(bits, 0)), y);
}

Value CastOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value x = operands[0];
  Type to = elementOf(getY());
  if (isFloat(getX()) && isFloat(getY()))
    return castFloat(builder, loc, x, cast<FloatType>(to));
  if (to.isInteger(1)) {
    if (elementOf(getX()).isInteger(1))
      return x;
    ScalarBuilder s = scalars(*this, builder, loc);
    return s.compare(Predicate::NE, x, s.splatLike(x, 0));
  }
  if (isFloat(getY())) {
    Type type = typeLike(x.getType(), to);
    if (isUnsigned(getX()))
      return arith::UIToFPOp::create(builder, loc, type, x);
    return arith::SIToFPOp::create(builder, loc, type, x);
  }
  Type type = typeLike(x.getType(), builder.getIntegerType(to.getIntOrFloatBitWidth()));
  if (!isFloat(getX()))
    return castInteger(builder, loc, x, isUnsigned(getX()), type);
  return castToInteger(builder, loc, x, isUnsigned(getY()), type);
}

//===------------------------------------------------------------------------------------------===//
// Gradients that need a body
//===------------------------------------------------------------------------------------------===//

LogicalResult CastOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                    OperandGradients &dx) {
  if (dy[0] && flowsInto(*this, wanted, 0))
    dx[0] = TensorBuilder{builder, getLoc()}.castLike(dy[0], getX());
  return success();
}

LogicalResult CompareOp::buildGradient(OpBuilder &, Gradients, Wanted, OperandGradients &) {
  return success(); // constant almost everywhere: no gradient flows
}

LogicalResult SelectOp::buildGradient(OpBuilder &builder, Gradients dc, Wanted wanted,
                                      OperandGradients &dx) {
  TensorBuilder b{builder, getLoc()};
  if (dc[0] && flowsInto(*this, wanted, 1))
    dx[1] = b.keepWhere(getCondition(), dc[0]);
  if (dc[0] && flowsInto(*this, wanted, 2))
    dx[2] = b.dropWhere(getCondition(), dc[0]);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Inference
//===------------------------------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &results) {
  auto type = cast<RankedTensorType>(operands[0].getType());
  results.push_back(type.clone(IntegerType::get(context, 1)));
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Folds
//===------------------------------------------------------------------------------------------===//

/// The splat of `compute(a, b)` where both operands are float splats.
template <typename Compute>
static OpFoldResult foldSplats(Attribute a, Attribute b, Type type, Compute compute) {
  std::optional<APFloat> x = getFloatSplat(a), y = getFloatSplat(b);
  if (!x || !y)
    return {};
  return DenseElementsAttr::get(cast<ShapedType>(type), compute(*x, *y));
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  // x + 0 is x but for -0, which no model tells from 0. The constant stands right: the op commutes.
  if (isSplatOf(adaptor.getB(), 0))
    return getA();
  return foldSplats(adaptor.getA(), adaptor.getB(), getType(),
                    [](APFloat a, const APFloat &b) { return a + b; });
}

OpFoldResult SubtractOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getB(), 0))
    return getA();
  return foldSplats(adaptor.getA(), adaptor.getB(), getType(),
                    [](APFloat a, const APFloat &b) { return a - b; });
}

OpFoldResult MultiplyOp::fold(FoldAdaptor adaptor) {
  // x * 0 stays: x may be NaN or infinite.
  if (isSplatOf(adaptor.getB(), 1))
    return getA();
  return foldSplats(adaptor.getA(), adaptor.getB(), getType(),
                    [](APFloat a, const APFloat &b) { return a * b; });
}

OpFoldResult DivideOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getB(), 1))
    return getA();
  return foldSplats(adaptor.getA(), adaptor.getB(), getType(),
                    [](APFloat a, const APFloat &b) { return a / b; });
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  auto inner = getX().getDefiningOp<ConvertLayoutOp>();
  if (!inner)
    return {};
  if (inner.getX().getType() == getType())
    return inner.getX();
  getXMutable().assign(inner.getX());
  return getResult();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  auto to = dyn_cast<FloatType>(elementOf(getY()));
  std::optional<APFloat> value = getFloatSplat(adaptor.getX());
  if (!to || !value)
    return {};
  bool losesInfo = false;
  value->convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return DenseElementsAttr::get(cast<ShapedType>(getType()), *value);
}
