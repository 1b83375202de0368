//===- DLRandom.cpp - random numbers and roundings in arith and math ops ----------------------===//
//
// Works on scalars and on vectors of them. Integers wrap.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/ScalarBuilder.h"
#include "dialects/DL/Builders/Term.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace dlc::dl;

using ScalarTerm = Term<ScalarBuilder>;

/// `element` with the vector shape of `like`, if it has one.
static Type typeLike(Value like, Type element) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? vector.clone(element) : element;
}

namespace {
/// 32-bit words.
struct Words {
  OpBuilder &b;
  Location loc;
  Type type; ///< i32 or a vector of it

  Value constant(uint32_t value) {
    TypedAttr number = b.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return arith::ConstantOp::create(b, loc, number);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value isEqual(Value x, uint32_t number) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, constant(number));
  }
};
} // namespace

static std::array<Value, 4> philox(Words &w, std::array<Value, 4> counter,
                                   std::array<Value, 2> key) {
  for (uint32_t round = 0; round < 10; ++round) {
    Value key0 = w.add(key[0], w.constant(round * 0x9E3779B9u));
    Value key1 = w.add(key[1], w.constant(round * 0xBB67AE85u));
    auto p0 = arith::MulUIExtendedOp::create(w.b, w.loc, counter[0], w.constant(0xD2511F53u));
    auto p1 = arith::MulUIExtendedOp::create(w.b, w.loc, counter[2], w.constant(0xCD9E8D57u));
    Value first = w.exclusiveOr(w.exclusiveOr(p1.getHigh(), counter[1]), key0);
    Value third = w.exclusiveOr(w.exclusiveOr(p0.getHigh(), counter[3]), key1);
    counter = {first, p1.getLow(), third, p0.getLow()};
  }
  return counter;
}

/// The upper 24 bits as a fraction.
static Value fraction(Words &w, Value word) {
  Value bits = arith::ShRUIOp::create(w.b, w.loc, word, w.constant(8));
  return arith::SIToFPOp::create(w.b, w.loc, typeLike(word, w.b.getF32Type()), bits);
}

/// 1 - x^2 / (k (k + 1)) + ...: from k = 2 on, sin(x) / x.
static ScalarTerm sineSeries(ScalarTerm square, int k) {
  ScalarTerm first = square * (1.0 / (k * (k + 1)));
  if (k == 12)
    return 1 - first;
  return 1 - first * sineSeries(square, k + 2);
}

/// cos(2 pi t) for t in [-1/4, 1): the sine of what t, moved by whole turns and mirrored, is from a
/// quarter, by its Taylor series up to x^13, the first term left out being below 7e-10.
static ScalarTerm cosineOfTurns(ScalarTerm t) {
  ScalarTerm turn = abs(t - floor(t + 0.5));
  ScalarTerm x = (0.25 - turn) * (2 * std::numbers::pi);
  return x * sineSeries(x * x, 2);
}

Value RandomOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  auto [element, sample, first, step, low, high] =
      std::tuple(operands[0], operands[1], operands[2], operands[3], operands[4], operands[5]);
  Words w{builder, loc, element.getType()};
  Value block = arith::ShRUIOp::create(builder, loc, element, w.constant(2));
  Value lane = arith::AndIOp::create(builder, loc, element, w.constant(3));
  Value of = w.add(first, sample);
  std::array<Value, 4> words = philox(w, {block, of, step, w.constant(getPath())}, {low, high});
  Value isFirst = w.isEqual(lane, 0), isSecond = w.isEqual(lane, 1), isThird = w.isEqual(lane, 2);
  ScalarBuilder numbers{builder, loc, /*isUnsigned=*/false};
  constexpr double unit = 1.0 / (1 << 24);
  if (getKind() != RandomKind::Normal) {
    Value pair = w.select(isThird, words[2], words[3]);
    Value word = w.select(isFirst, words[0], w.select(isSecond, words[1], pair));
    return getKind() == RandomKind::Bits ? word : ScalarTerm(numbers, fraction(w, word)) * unit;
  }
  Value isEven = arith::OrIOp::create(builder, loc, isFirst, isThird);
  Value inFront = arith::OrIOp::create(builder, loc, isFirst, isSecond);
  ScalarTerm u(numbers, fraction(w, w.select(inFront, words[0], words[2])));
  ScalarTerm v(numbers, fraction(w, w.select(inFront, words[1], words[3])));
  ScalarTerm radius = sqrt(log((u + 1) * unit) * -2);
  ScalarTerm angle = v * unit;
  // The sine is the cosine a quarter earlier.
  ScalarTerm turned = select(ScalarTerm(numbers, isEven), angle, angle - 0.25);
  return radius * cosineOfTurns(turned);
}

/// MurmurHash3's finaliser (Appleby, 2011): each bit depends on all of `x`.
static Value mix(Words &w, Value x) {
  auto fold = [&](Value x, uint32_t bits) {
    return w.exclusiveOr(x, arith::ShRUIOp::create(w.b, w.loc, x, w.constant(bits)));
  };
  auto multiply = [&](Value x, uint32_t factor) -> Value {
    return arith::MulIOp::create(w.b, w.loc, x, w.constant(factor));
  };
  Value once = multiply(fold(x, 16), 0x85EBCA6Bu);
  Value twice = multiply(fold(once, 13), 0xC2B2AE35u);
  return fold(twice, 16);
}

LogicalResult RandomOp::verify() {
  const bool isInteger = getElementTypeOrSelf(getResult()).isInteger();
  if (isInteger != (getKind() == RandomKind::Bits))
    return emitOpError("(C1) gives ")
           << getResult().getType() << " for " << stringifyRandomKind(getKind());
  return success();
}

/// The power of two at or below |x|, f32; at least `least`.
static ScalarTerm binade(ScalarBuilder numbers, Value x, double least) {
  auto [builder, loc, isUnsigned] = numbers;
  Words w{builder, loc, typeLike(x, builder.getI32Type())};
  Value bits = arith::BitcastOp::create(builder, loc, w.type, x);
  Value exponent = arith::AndIOp::create(builder, loc, bits, w.constant(0x7f800000));
  Value power = arith::BitcastOp::create(builder, loc, x.getType(), exponent);
  return maximum(ScalarTerm(numbers, power), least);
}

Value StochasticRoundOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarBuilder numbers{builder, loc, /*isUnsigned=*/false};
  ScalarTerm x(numbers, operands[0]);
  Words w{builder, loc, operands[1].getType()};
  Value bits = mix(w, w.add(operands[1], operands[2]));
  ScalarTerm draw = ScalarTerm(numbers, fraction(w, bits)) * 0x1p-24;
  Type element = getElementTypeOrSelf(getY());
  const auto &type = cast<FloatType>(element).getFloatSemantics();
  const double least = APFloat::getSmallestNormalized(type).convertToDouble();
  const int digits = int(APFloat::semanticsPrecision(type)) - 1;
  // Exact: a power of two divides, and what is above an integer has no more digits than it.
  ScalarTerm unit = binade(numbers, x, least) * std::ldexp(1.0, -digits);
  ScalarTerm units = x / unit;
  ScalarTerm below = floor(units);
  ScalarTerm rest = units - below;
  ScalarTerm above = below + 1;
  ScalarTerm rounded = select(draw < rest, above, below) * unit;
  Value y = select(abs(x) == std::numeric_limits<float>::infinity(), x, rounded);
  // However it is rounded, as the type holds it.
  auto mode = arith::RoundingModeAttr::get(builder.getContext(), arith::RoundingMode::toward_zero);
  return arith::TruncFOp::create(builder, loc, typeLike(y, element), y, mode,
                                 arith::FastMathFlagsAttr());
}
