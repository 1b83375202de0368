//===- Placement.h - offsets for buffers with lifetimes -----------------------------*- C++ -*-===//
//
// Dynamic storage allocation, with lifetimes that are partially ordered. Optimal offsets are
// NP-hard to find; here buffers are placed one by one, in several orders, and the best plan is
// kept.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_EXEC_PLACEMENT_H
#define DLC_PASSES_EXEC_PLACEMENT_H

#include "passes/Exec/HappensBefore.h"

namespace dlc::exec {

/// A buffer to be placed: its size, a multiple of the alignment, and when it is in use.
struct Slot {
  int64_t bytes = 0;
  Lifetime lifetime;
};

struct Placement {
  llvm::SmallVector<int64_t> offsets; ///< of each slot
  int64_t bytes = 0;                  ///< the end of the last one
};

/// The most bytes that are in use at once when the `records` of a program run one after the other,
/// in the order of the text. No placement needs less.
int64_t findLiveBytes(llvm::ArrayRef<Slot> slots, unsigned records);

/// Offsets such that of two slots that share bytes one ends before the other. The time is that of
/// sorting as long as the bytes in use at a time lie in few pieces.
Placement place(llvm::ArrayRef<Slot> slots, const HappensBefore &order);

/// Each slot behind the one before it.
Placement placeApart(llvm::ArrayRef<Slot> slots);

} // namespace dlc::exec

#endif
