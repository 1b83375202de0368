//===- MathPolynomials.cpp - exp, log, tanh, erf and pow without libm -------------------------===//
//
// Largest errors, in units in the last place of the result, against the correctly rounded value
// (tested on a dense sample):
//
//            f32            f64
//   exp      1.0            1.0      denormal results too; beyond them 0 or infinity
//   log      1.0            2.0      denormal arguments too; log 0 = -infinity, log of less = NaN
//   tanh     1.5            2.0
//   erf      3.0            4.0
//   pow      1.0            2.5 |b log a| + 2
//
// NaN stays NaN. The f32 coefficients and those of f64's tanh and erf are those of Moshier's Cephes
// library (expf, logf, tanhf, erff, tanh, erf); f64's exp is the Taylor series after reduction to
// |r| <= ln 2 / 2, f64's log the series of atanh on [sqrt 1/2, sqrt 2]. f32's pow is computed in
// f64.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Lowering/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dlc::codegen;

namespace {

/// Arithmetic on a scalar or vector type of f32 or f64, and on integers of the same width.
struct Numbers {
  Numbers(OpBuilder &b, Location loc, Type type)
      : b(b), loc(loc), type(type), f64(getElementTypeOrSelf(type).isF64()) {
    Type element = b.getIntegerType(f64 ? 64 : 32);
    auto vector = dyn_cast<VectorType>(type);
    integer = vector ? Type(vector.clone(element)) : element;
  }

  Value constant(TypedAttr scalar, Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      scalar = DenseElementsAttr::get(vector, Attribute(scalar));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  Value number(double value) {
    return constant(b.getFloatAttr(getElementTypeOrSelf(type), value), type);
  }
  Value bits(int64_t value) {
    return constant(b.getIntegerAttr(getElementTypeOrSelf(integer), value), integer);
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value is(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value asInteger(Value x) { return arith::BitcastOp::create(b, loc, integer, x); }
  Value asFloat(Value x) { return arith::BitcastOp::create(b, loc, type, x); }

  /// c[0] x^n + c[1] x^(n-1) + ... + c[n]
  Value polynomial(Value x, ArrayRef<double> c) {
    Value result = number(c.front());
    for (double coefficient : c.drop_front())
      result = fma(result, x, number(coefficient));
    return result;
  }

  int64_t mantissaBits() const { return f64 ? 52 : 23; }
  int64_t bias() const { return f64 ? 1023 : 127; }
  /// 2^n for an integer n that is a normal number's exponent.
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(b, loc, n, bits(bias()));
    return asFloat(arith::ShLIOp::create(b, loc, biased, bits(mantissaBits())));
  }

  OpBuilder &b;
  Location loc;
  Type type, integer;
  bool f64;
};

} // namespace

/// x = n ln 2 + r; exp(x) = 2^n exp(r). 2^n is applied in two halves, so that n may go beyond the
/// normal exponents at both ends and the last multiplication rounds once.
static Value expandExp(Numbers &t, Value x) {
  const double low = t.f64 ? -746 : -104, high = t.f64 ? 710 : 89;
  // Ordered comparisons: NaN passes.
  x = t.select(t.is(arith::CmpFPredicate::OGT, x, t.number(high)), t.number(high), x);
  x = t.select(t.is(arith::CmpFPredicate::OLT, x, t.number(low)), t.number(low), x);
  // Adding 1.5 * 2^mantissa rounds to an integer, which then stands in the low bits.
  Value magic = t.number(std::ldexp(1.5, t.mantissaBits()));
  Value shifted = t.fma(x, t.number(M_LOG2E), magic);
  Value n = t.sub(shifted, magic);
  Value integer = arith::SubIOp::create(t.b, t.loc, t.asInteger(shifted), t.asInteger(magic));
  const double ln2High = t.f64 ? M_LN2 : double(float(M_LN2));
  const double ln2Low = t.f64 ? 2.3190468138462996e-17 : M_LN2 - ln2High;
  Value r = t.fma(n, t.number(-ln2High), x);
  r = t.fma(n, t.number(-ln2Low), r);
  Value y;
  if (t.f64) {
    SmallVector<double> series;
    for (int k = 13; k >= 0; --k)
      series.push_back(1.0 / std::tgamma(k + 1.0));
    y = t.polynomial(r, series);
  } else {
    Value p = t.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                               1.6666665459e-1, 5.0000001201e-1});
    y = t.add(t.fma(p, t.mul(r, r), r), t.number(1));
  }
  Value half = arith::ShRSIOp::create(t.b, t.loc, integer, t.bits(1));
  Value rest = arith::SubIOp::create(t.b, t.loc, integer, half);
  return t.mul(t.mul(y, t.powerOfTwo(half)), t.powerOfTwo(rest));
}

/// log of m in [sqrt 1/2, sqrt 2], without its leading term m - 1 for f32; plus e ln 2.
static Value logOfReduced(Numbers &t, Value m, Value e) {
  if (t.f64) {
    // log m = 2 atanh(s), s = (m - 1) / (m + 1)
    Value s = t.div(t.sub(m, t.number(1)), t.add(m, t.number(1)));
    SmallVector<double> series;
    for (int k = 21; k >= 3; k -= 2)
      series.push_back(2.0 / k);
    Value z = t.mul(s, s);
    Value tail = t.mul(t.mul(s, z), t.polynomial(z, series));
    tail = t.fma(e, t.number(1.9082149292705877e-10), tail);
    return t.fma(e, t.number(6.93147180369123816490e-01), t.fma(t.number(2), s, tail));
  }
  Value f = t.sub(m, t.number(1)), z = t.mul(f, f);
  Value p = t.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                             1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                             3.3333331174e-1});
  Value y = t.mul(t.mul(p, f), z);
  y = t.fma(e, t.number(-2.12194440e-4), y);
  y = t.fma(t.number(-0.5), z, y);
  return t.fma(e, t.number(0.693359375), t.add(f, y));
}

/// x = 2^e m with m in [sqrt 1/2, sqrt 2).
static Value expandLog(Numbers &t, Value x) {
  using P = arith::CmpFPredicate;
  const int64_t mantissa = t.mantissaBits();
  const double smallestNormal =
      t.f64 ? std::numeric_limits<double>::min() : double(std::numeric_limits<float>::min());
  const double infinity = std::numeric_limits<double>::infinity();
  Value denormal = t.is(P::OLT, x, t.number(smallestNormal));
  Value scaled = t.select(denormal, t.mul(x, t.number(std::ldexp(1.0, mantissa))), x);
  Value bits = t.asInteger(scaled);
  Value exponent = arith::ShRUIOp::create(t.b, t.loc, bits, t.bits(mantissa));
  Value fraction = arith::AndIOp::create(t.b, t.loc, bits, t.bits((int64_t(1) << mantissa) - 1));
  Value m =
      t.asFloat(arith::OrIOp::create(t.b, t.loc, fraction, t.bits((t.bias() - 1) << mantissa)));
  Value below = t.is(P::OLT, m, t.number(M_SQRT1_2));
  m = t.select(below, t.add(m, m), m);
  Value e = t.sub(arith::SIToFPOp::create(t.b, t.loc, t.type, exponent), t.number(t.bias() - 1));
  e = t.sub(e, t.select(below, t.number(1), t.number(0)));
  e = t.sub(e, t.select(denormal, t.number(mantissa), t.number(0)));
  Value y = logOfReduced(t, m, e);
  y = t.select(t.is(P::OEQ, x, t.number(infinity)), x, y);
  y = t.select(t.is(P::OEQ, x, t.number(0)), t.number(-infinity), y);
  // Below zero or NaN.
  Value nan = t.number(std::numeric_limits<double>::quiet_NaN());
  return t.select(t.is(P::ULT, x, t.number(0)), nan, y);
}

/// Odd, so computed for |x|: a polynomial (f64: a rational function) near 0, 1 - 2 / (exp 2|x| + 1)
/// beyond.
static Value expandTanh(Numbers &t, Value x) {
  Value magnitude = math::AbsFOp::create(t.b, t.loc, x), z = t.mul(x, x), near;
  if (t.f64) {
    Value p = t.polynomial(
        z, {-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3});
    Value q = t.polynomial(
        z, {1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3});
    near = t.fma(t.mul(x, z), t.div(p, q), x);
  } else {
    Value p = t.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                               1.33314422036e-1, -3.33332819422e-1});
    near = t.fma(t.mul(p, z), x, x);
  }
  Value e = expandExp(t, t.add(magnitude, magnitude));
  Value far = t.sub(t.number(1), t.div(t.number(2), t.add(e, t.number(1))));
  far = math::CopySignOp::create(t.b, t.loc, far, x);
  return t.select(t.is(arith::CmpFPredicate::OGT, magnitude, t.number(0.625)), far, near);
}

/// Odd, so computed for |x|: a polynomial (f64: a rational function) up to 1, 1 - exp(-x^2) times
/// one in 1 / x beyond; from 6 on 1.
static Value expandErf(Numbers &t, Value x) {
  using P = arith::CmpFPredicate;
  Value magnitude = math::AbsFOp::create(t.b, t.loc, x), z = t.mul(x, x), near;
  // NaN takes the near branch.
  Value limited = t.select(t.is(P::OGT, magnitude, t.number(6)), t.number(6), magnitude);
  Value tail = expandExp(t, t.sub(t.number(0), t.mul(limited, limited)));
  if (t.f64) {
    Value p = t.polynomial(z, {9.60497373987051638749e0, 9.00260197203842689217e1,
                               2.23200534594684319226e3, 7.00332514112805075473e3,
                               5.55923013010394962768e4});
    Value q = t.polynomial(z, {1.0, 3.35617141647503099647e1, 5.21357949780152679795e2,
                               4.59432382970980127987e3, 2.26290000613890934246e4,
                               4.92673942608635921086e4});
    near = t.mul(x, t.div(p, q));
    p = t.polynomial(
        limited, {2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
                  4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
                  9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2});
    q = t.polynomial(limited, {1.0, 1.32281951154744992508e1, 8.67072140885989742329e1,
                               3.54937778887819891062e2, 9.75708501743205489753e2,
                               1.82390916687909736289e3, 2.24633760818710981792e3,
                               1.65666309194161350182e3, 5.57535340817727675546e2});
    tail = t.mul(tail, t.div(p, q));
  } else {
    Value p = t.polynomial(z, {7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3,
                               -2.685381193529856e-2, 1.128358514861418e-1, -3.761262582423300e-1,
                               1.128379165726710e0});
    near = t.mul(x, p);
    Value inverse = t.div(t.number(1), limited);
    p = t.polynomial(t.mul(inverse, inverse),
                     {2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1,
                      -5.824733027278666e-1, 6.210004621745983e-1, -4.944515323274145e-1,
                      3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1});
    tail = t.mul(t.mul(tail, inverse), p);
  }
  Value far = math::CopySignOp::create(t.b, t.loc, t.sub(t.number(1), tail), x);
  return t.select(t.is(P::OGT, magnitude, t.number(1)), far, near);
}

/// exp(y log |x|), with the sign of an odd power.
static Value expandPow(Numbers &t, Value x, Value y) {
  using P = arith::CmpFPredicate;
  if (!t.f64) {
    Type wide = t.b.getF64Type();
    if (auto vector = dyn_cast<VectorType>(t.type))
      wide = vector.clone(wide);
    Numbers d(t.b, t.loc, wide);
    Value power = expandPow(d, arith::ExtFOp::create(t.b, t.loc, wide, x),
                            arith::ExtFOp::create(t.b, t.loc, wide, y));
    return arith::TruncFOp::create(t.b, t.loc, t.type, power);
  }
  auto floor = [&](Value v) -> Value { return math::FloorOp::create(t.b, t.loc, v); };
  Value magnitude = expandExp(t, t.mul(y, expandLog(t, math::AbsFOp::create(t.b, t.loc, x))));
  Value half = t.mul(y, t.number(0.5));
  Value odd = t.is(P::ONE, floor(half), half), whole = t.is(P::OEQ, floor(y), y);
  Value signedPower = t.select(odd, t.sub(t.number(0), magnitude), magnitude);
  signedPower = t.select(whole, signedPower, t.number(std::numeric_limits<double>::quiet_NaN()));
  Value power = t.select(t.is(P::OLT, x, t.number(0)), signedPower, magnitude);
  return t.select(t.is(P::OEQ, y, t.number(0)), t.number(1), power);
}

void dlc::codegen::expandMath(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    Type element = op->getNumResults() ? getElementTypeOrSelf(op->getResult(0)) : Type();
    if (isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::PowFOp>(op) &&
        (element.isF32() || element.isF64()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    Numbers t(b, op->getLoc(), op->getResult(0).getType());
    Value x = op->getOperand(0);
    Value y = isa<math::ExpOp>(op)    ? expandExp(t, x)
              : isa<math::LogOp>(op)  ? expandLog(t, x)
              : isa<math::TanhOp>(op) ? expandTanh(t, x)
              : isa<math::ErfOp>(op)  ? expandErf(t, x)
                                      : expandPow(t, x, op->getOperand(1));
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}
