//===- JoinRegions.h - two regions as one -------------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_FUSION_JOINREGIONS_H
#define DLC_PASSES_DL_FUSION_JOINREGIONS_H

#include "dialects/DL/Ops/DLFusedOps.h"

namespace dlc::dl {

inline mlir::Block &bodyOf(FusedOp fused) { return fused.getBody().front(); }

/// Whether a join still gives what the first of its regions does.
enum class OfFirst { Stored, NotStored };

/// What `first` computes, and what `second` computes, also of it, as one region in front of
/// `second`. Its results are the first's, if they are to be stored, and behind them the second's.
/// Both regions stay, and what uses them; the new one has no attributes.
FusedOp joinRegions(FusedOp first, FusedOp second, OfFirst results);

} // namespace dlc::dl

#endif
