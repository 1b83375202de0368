//===- Composites.h - formulas in the place of composites ---------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_SIMPLIFY_COMPOSITES_H
#define DLC_PASSES_DL_SIMPLIFY_COMPOSITES_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// Puts the formulas of the block's composites in their place, but for those that are the anchor of
/// a kernel as they are. Results that nothing needs are still computed.
void decomposeComposites(mlir::Block &block);

} // namespace dlc::dl

#endif
