//===- ScalarBuilder.cpp - see ScalarBuilder.h ------------------------------------------------===//
#include "dialects/DL/Builders/ScalarBuilder.h"

using namespace mlir;
using namespace dlc::dl;

static bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value)); }

Value ScalarBuilder::splatLike(Value like, double number) {
  Type element = getElementTypeOrSelf(like);
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(builder.getFloatAttr(element, number))
                            : TypedAttr(builder.getIntegerAttr(element, int64_t(number)));
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// The op on floats, signed or unsigned integers.
template <typename Float, typename Signed, typename Unsigned>
static Value create(ScalarBuilder &s, Value a, Value b) {
  if (isFloat(a))
    return Float::create(s.builder, s.loc, a, b);
  if (s.isUnsigned)
    return Unsigned::create(s.builder, s.loc, a, b);
  return Signed::create(s.builder, s.loc, a, b);
}

Value ScalarBuilder::add(Value a, Value b) {
  return create<arith::AddFOp, arith::AddIOp, arith::AddIOp>(*this, a, b);
}
Value ScalarBuilder::subtract(Value a, Value b) {
  return create<arith::SubFOp, arith::SubIOp, arith::SubIOp>(*this, a, b);
}
Value ScalarBuilder::multiply(Value a, Value b) {
  return create<arith::MulFOp, arith::MulIOp, arith::MulIOp>(*this, a, b);
}
Value ScalarBuilder::divide(Value a, Value b) {
  return create<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(*this, a, b);
}
// maximumf and minimumf: NaN stays NaN.
Value ScalarBuilder::maximum(Value a, Value b) {
  return create<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(*this, a, b);
}
Value ScalarBuilder::minimum(Value a, Value b) {
  return create<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(*this, a, b);
}

Value ScalarBuilder::compare(Predicate predicate, Value a, Value b) {
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
  const Row &row = rows[static_cast<uint32_t>(predicate)];
  if (isFloat(a))
    return arith::CmpFOp::create(builder, loc, row.onFloat, a, b);
  return arith::CmpIOp::create(builder, loc, isUnsigned ? row.onUnsigned : row.onSigned, a, b);
}

Value ScalarBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ScalarBuilder::negate(Value a) {
  if (isFloat(a))
    return arith::NegFOp::create(builder, loc, a);
  return arith::SubIOp::create(builder, loc, splatLike(a, 0), a);
}

Value ScalarBuilder::abs(Value a) {
  if (isFloat(a))
    return math::AbsFOp::create(builder, loc, a);
  return isUnsigned ? a : math::AbsIOp::create(builder, loc, a).getResult();
}

Value ScalarBuilder::exp(Value a) { return math::ExpOp::create(builder, loc, a); }
Value ScalarBuilder::log(Value a) { return math::LogOp::create(builder, loc, a); }
Value ScalarBuilder::sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
Value ScalarBuilder::tanh(Value a) { return math::TanhOp::create(builder, loc, a); }
Value ScalarBuilder::erf(Value a) { return math::ErfOp::create(builder, loc, a); }
Value ScalarBuilder::floor(Value a) { return math::FloorOp::create(builder, loc, a); }
Value ScalarBuilder::raise(Value a, Value b) { return math::PowFOp::create(builder, loc, a, b); }
