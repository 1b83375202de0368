//===- ScalarBuilder.h - arith and math ops on one element --------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_BUILDERS_SCALARBUILDER_H
#define DLC_DIALECTS_DL_BUILDERS_SCALARBUILDER_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// Names are TensorBuilder's. Works on scalars and on vectors of them.
struct ScalarBuilder {
  using Value = mlir::Value;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Integers arrive signless: whether those of the op's operands are u8 or bool.
  bool isUnsigned;

  Value splatLike(Value like, double number);
  Value add(Value a, Value b);
  Value subtract(Value a, Value b);
  Value multiply(Value a, Value b);
  Value divide(Value a, Value b);
  Value maximum(Value a, Value b);
  Value minimum(Value a, Value b);
  Value raise(Value a, Value b); ///< a to the power b
  Value compare(Predicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value negate(Value a);
  Value abs(Value a);
  Value exp(Value a);
  Value log(Value a);
  Value sqrt(Value a);
  Value tanh(Value a);
  Value erf(Value a);
  Value floor(Value a);
};

} // namespace dlc::dl

#endif
