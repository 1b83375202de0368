//===- EqualRegions.h - regions that compute the same of the same types -------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_CHOICE_EQUALREGIONS_H
#define DLC_PASSES_DL_CHOICE_EQUALREGIONS_H

#include "dialects/DL/Ops/DLFusedOps.h"

namespace dlc::dl {

/// The same for equal regions.
size_t hashOfRegion(FusedOp fused);
/// Op by op, operand by operand: a + b is not b + a, which a generator may read otherwise. Where
/// they stand in the source says nothing.
bool haveEqualRegions(FusedOp a, FusedOp b);

} // namespace dlc::dl

#endif
