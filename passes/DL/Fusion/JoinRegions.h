//===- JoinRegions.h - two regions as one -------------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_FUSION_JOINREGIONS_H
#define DLC_PASSES_DL_FUSION_JOINREGIONS_H

#include "dialects/DL/Ops/DLFusedOps.h"

namespace dlc::dl {

inline mlir::Block &bodyOf(FusedOp fused) { return fused.getBody().front(); }

/// Whether a join still gives what the first of its regions does.
enum class OfProducer { Stored, NotStored };

/// What `producer` computes, and what `consumer` computes of it, as one region in front of
/// `consumer`. Its results are the producer's, if they are to be stored, and behind them the
/// consumer's. Both regions stay, and what uses them; the new one has no attributes.
FusedOp joinRegions(FusedOp producer, FusedOp consumer, OfProducer results);

} // namespace dlc::dl

#endif
