//===- Order.h - puts ops behind what they read -------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_SCHEDULE_ORDER_H
#define DLC_PASSES_DL_SCHEDULE_ORDER_H

#include "mlir/IR/Block.h"

namespace dlc::dl {

/// Puts each op but the terminator behind those whose results it needs, and leaves it where it is
/// otherwise: the order of mlir::sortTopologically, in time that grows with the operands only.
void sortByOperands(mlir::Block &block);

} // namespace dlc::dl

#endif
