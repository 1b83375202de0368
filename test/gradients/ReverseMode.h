//===- ReverseMode.h - the plainest differentiation of an entry, for testing single rules ----*- C++
//===//
//
// Independent of dl-differentiate: no pruning, no saving, nothing but the rules in reverse order.
// Applied twice it gives gradients of gradients.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_GRADIENTS_REVERSEMODE_H
#define DLC_TEST_GRADIENTS_REVERSEMODE_H

#include "dialects/DL/Ops/DLEntryOps.h"

namespace dlc::gradients {

/// Whether gradients exist for values of this type.
bool isFloatTensor(mlir::Type type);

/// Adds to `entry` an argument for the gradient of each float result, and a result for the gradient
/// of each float argument that it had (zeros if nothing flows). Composites without a rule are
/// decomposed first.
llvm::LogicalResult appendGradients(dl::EntryOp entry);

} // namespace dlc::gradients

#endif
