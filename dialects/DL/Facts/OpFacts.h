//===- OpFacts.h - small answers of ops about themselves ----------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_OPFACTS_H
#define DLC_DIALECTS_DL_FACTS_OPFACTS_H

#include "mlir/IR/Value.h"

namespace dlc::dl {

/// What an element-wise op gives where one of its operands is 0: it may be what the other one is.
enum class WhereZero { Unknown, Zero, Other };

/// An axis of a tensor.
struct ValueAxis {
  mlir::Value value;
  int64_t axis;
};

} // namespace dlc::dl

#endif
