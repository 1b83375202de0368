//===- Term.h - formulas that build ops ---------------------------------------------*- C++ -*-===//
//
// dy * (1 - square(y)) builds a multiplication, a subtraction and a multiplication, by whatever
// builder its terms have: TensorBuilder for dl ops, ScalarBuilder for the arith and math ops of an
// element. A number takes the type of what it meets.
//
// Of two operands of one operator at most one may build ops: C++ leaves their order open, and the
// order of ops must not depend on the compiler that built this one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_TERM_H
#define DLC_DIALECTS_DL_BUILDERS_TERM_H

#include "dialects/DL/DL.h"
#include <optional>

namespace dlc::dl {

template <typename Builder> class Term {
public:
  Term(double number) : number(number) {}
  Term(const Builder &builder, mlir::Value value) : builder(builder), value(value) {}
  operator mlir::Value() const { return value; }

  friend Term operator+(const Term &a, const Term &b) { return combine(a, b, &Builder::add); }
  friend Term operator-(const Term &a, const Term &b) { return combine(a, b, &Builder::subtract); }
  friend Term operator*(const Term &a, const Term &b) { return combine(a, b, &Builder::multiply); }
  friend Term operator/(const Term &a, const Term &b) { return combine(a, b, &Builder::divide); }
  friend Term maximum(const Term &a, const Term &b) { return combine(a, b, &Builder::maximum); }
  friend Term minimum(const Term &a, const Term &b) { return combine(a, b, &Builder::minimum); }
  friend Term power(const Term &a, const Term &b) { return combine(a, b, &Builder::raise); }
  friend Term operator-(const Term &a) { return apply(a, &Builder::negate); }
  friend Term square(const Term &a) { return a * a; }
  friend Term abs(const Term &a) { return apply(a, &Builder::abs); }
  friend Term exp(const Term &a) { return apply(a, &Builder::exp); }
  friend Term log(const Term &a) { return apply(a, &Builder::log); }
  friend Term sqrt(const Term &a) { return apply(a, &Builder::sqrt); }
  friend Term tanh(const Term &a) { return apply(a, &Builder::tanh); }
  friend Term erf(const Term &a) { return apply(a, &Builder::erf); }
  friend Term floor(const Term &a) { return apply(a, &Builder::floor); }
  friend Term operator<(const Term &a, const Term &b) { return compare(Predicate::LT, a, b); }
  friend Term operator>(const Term &a, const Term &b) { return compare(Predicate::GT, a, b); }
  friend Term operator>=(const Term &a, const Term &b) { return compare(Predicate::GE, a, b); }
  friend Term operator==(const Term &a, const Term &b) { return compare(Predicate::EQ, a, b); }
  friend Term select(const Term &condition, const Term &a, const Term &b) {
    return combine(a, b, [&](Builder &builder, mlir::Value x, mlir::Value y) {
      return builder.select(condition.value, x, y);
    });
  }

private:
  template <typename Make> static Term combine(const Term &a, const Term &b, Make make) {
    const Term &known = a.value ? a : b;
    Builder builder = *known.builder;
    auto valueOf = [&](const Term &term) {
      return term.value ? term.value : builder.splatLike(known.value, term.number);
    };
    mlir::Value x = valueOf(a), y = valueOf(b);
    return {builder, std::invoke(make, builder, x, y)};
  }
  template <typename Make> static Term apply(const Term &a, Make make) {
    Builder builder = *a.builder;
    return {builder, std::invoke(make, builder, a.value)};
  }
  static Term compare(Predicate predicate, const Term &a, const Term &b) {
    return combine(a, b, [&](Builder &builder, mlir::Value x, mlir::Value y) {
      return builder.compare(predicate, x, y);
    });
  }

  std::optional<Builder> builder; ///< none: a number
  mlir::Value value;
  double number = 0;
};

} // namespace dlc::dl

#endif
