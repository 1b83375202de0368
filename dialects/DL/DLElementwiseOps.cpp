//===- DLElementwiseOps.cpp - element-wise ops as scalars, and their folds --------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLTensorOps.h"
#include "dialects/DL/Folding.h"

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// Scalars
//===------------------------------------------------------------------------------------------===//

static Type elementOf(Value tensor) { return cast<ShapedType>(tensor.getType()).getElementType(); }
static bool isFloat(Value tensor) { return isa<FloatType>(elementOf(tensor)); }
/// u8 and bool; they arrive as signless integers, so that only the op's tensor type knows.
static bool isUnsigned(Value tensor) {
  return elementOf(tensor).isUnsignedInteger() || elementOf(tensor).isInteger(1);
}

/// `element` with the vector shape of `like`, if it has one.
static Type typeLike(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

/// The number `value` in the type of `like`, a scalar or a vector.
static Value numberLike(OpBuilder &builder, Location loc, double value, Value like) {
  Type element = getElementTypeOrSelf(like);
  TypedAttr number = isa<FloatType>(element)
                         ? TypedAttr(builder.getFloatAttr(element, value))
                         : TypedAttr(builder.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    number = DenseElementsAttr::get(vector, Attribute(number));
  return arith::ConstantOp::create(builder, loc, number);
}

Value ReluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  // maximumf: NaN stays NaN.
  Value zero = numberLike(builder, loc, 0, operands[0]);
  return arith::MaximumFOp::create(builder, loc, operands[0], zero);
}

Value SigmoidOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  // e = exp(-|x|) is at most 1, so that nothing overflows: x >= 0 ? 1 / (1 + e) : e / (1 + e).
  Value x = operands[0];
  Value one = numberLike(builder, loc, 1, x), zero = numberLike(builder, loc, 0, x);
  Value magnitude = math::AbsFOp::create(builder, loc, x);
  Value e = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, magnitude));
  Value positive = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, x, zero);
  Value numerator = arith::SelectOp::create(builder, loc, positive, one, e);
  Value denominator = arith::AddFOp::create(builder, loc, one, e);
  return arith::DivFOp::create(builder, loc, numerator, denominator);
}

Value TanhOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::TanhOp::create(builder, loc, operands[0]);
}

Value ExpOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::ExpOp::create(builder, loc, operands[0]);
}

Value LogOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::LogOp::create(builder, loc, operands[0]);
}

Value SqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return math::SqrtOp::create(builder, loc, operands[0]);
}

Value NegateOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(getX()))
    return arith::NegFOp::create(builder, loc, operands[0]);
  return arith::SubIOp::create(builder, loc, numberLike(builder, loc, 0, operands[0]), operands[0]);
}

Value AbsOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(getX()))
    return math::AbsFOp::create(builder, loc, operands[0]);
  if (isUnsigned(getX()))
    return operands[0];
  return math::AbsIOp::create(builder, loc, operands[0]);
}

/// The op on floats, signed or unsigned integers, as the tensors of `a` ask.
template <typename Float, typename Signed, typename Unsigned>
static Value createBinary(OpBuilder &builder, Location loc, Value a, ValueRange operands) {
  if (isFloat(a))
    return Float::create(builder, loc, operands[0], operands[1]);
  if (isUnsigned(a))
    return Unsigned::create(builder, loc, operands[0], operands[1]);
  return Signed::create(builder, loc, operands[0], operands[1]);
}

Value AddOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return createBinary<arith::AddFOp, arith::AddIOp, arith::AddIOp>(builder, loc, getA(), operands);
}

Value SubtractOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return createBinary<arith::SubFOp, arith::SubIOp, arith::SubIOp>(builder, loc, getA(), operands);
}

Value MultiplyOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return createBinary<arith::MulFOp, arith::MulIOp, arith::MulIOp>(builder, loc, getA(), operands);
}

Value DivideOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return createBinary<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(builder, loc, getA(),
                                                                     operands);
}

Value MaximumOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return createBinary<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(builder, loc, getA(),
                                                                         operands);
}

Value MinimumOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return createBinary<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(builder, loc, getA(),
                                                                         operands);
}

Value CompareOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  struct Row {
    F onFloat;
    I onSigned, onUnsigned;
  };
  // In the order of Predicate. Unordered only for `ne`, which is true for NaN.
  static const Row rows[] = {{F::OEQ, I::eq, I::eq},   {F::UNE, I::ne, I::ne},
                             {F::OLT, I::slt, I::ult}, {F::OLE, I::sle, I::ule},
                             {F::OGT, I::sgt, I::ugt}, {F::OGE, I::sge, I::uge}};
  const Row &row = rows[static_cast<uint32_t>(getPredicate())];
  if (isFloat(getA()))
    return arith::CmpFOp::create(builder, loc, row.onFloat, operands[0], operands[1]);
  return arith::CmpIOp::create(builder, loc, isUnsigned(getA()) ? row.onUnsigned : row.onSigned,
                               operands[0], operands[1]);
}

Value SelectOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return arith::SelectOp::create(builder, loc, operands[0], operands[1], operands[2]);
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

Value ConvertLayoutOp::buildScalar(OpBuilder &, Location, ValueRange operands) {
  return operands[0];
}

Value CastOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value x = operands[0];
  Type to = elementOf(getY());
  if (isFloat(getX()) && isFloat(getY()))
    return castFloat(builder, loc, x, cast<FloatType>(to));
  if (to.isInteger(1)) {
    if (elementOf(getX()).isInteger(1))
      return x;
    Value zero = numberLike(builder, loc, 0, x);
    if (isFloat(getX()))
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, x, zero);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, x, zero);
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
  if (isUnsigned(getY()))
    return arith::FPToUIOp::create(builder, loc, type, x);
  return arith::FPToSIOp::create(builder, loc, type, x);
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
