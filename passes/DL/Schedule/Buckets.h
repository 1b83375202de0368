//===- Buckets.h - which gradients are reduced over ranks together ------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_SCHEDULE_BUCKETS_H
#define DLC_PASSES_DL_SCHEDULE_BUCKETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dlc::dl {

/// A gradient: its bytes, and when it is there, in seconds since the step began.
struct FinishedGradient {
  int64_t bytes = 0;
  double seconds = 0;
};

/// What a reduction of some bytes over all ranks takes.
struct Link {
  /// Those of many ranks in a ring over 10 Gb/s Ethernet: each byte is sent and received twice.
  double alpha = 5e-5;  ///< seconds, however few bytes
  double beta = 1.6e-9; ///< seconds a byte
  double taken = 0;     ///< seconds that each reduction takes from those who compute

  double secondsFor(int64_t bytes) const { return alpha + beta * double(bytes); }
  /// One on which everything takes `factor` times as long.
  Link slower(double factor) const { return {factor * alpha, factor * beta, factor * taken}; }
};

/// Nothing may be left to compute that hides the last bucket.
inline constexpr int64_t mostLastBytes = int64_t(4) << 20;

/// Cuts `gradients`, in the order in which they are there, into runs: how many gradients each has.
/// The fewest whose last reduction ends, by the model of `link`, about as early as can be, and also
/// on a link that takes `margin` times as long: later at most by 1% of what one reduction of all
/// takes, or by what one more would take from those who compute. If none does on both, the one that
/// is least late. The last run has at most `mostLastBytes`, or one gradient. O(n^2) a bucket and
/// cut that no other one beats.
llvm::SmallVector<unsigned> cutByTime(llvm::ArrayRef<FinishedGradient> gradients, const Link &link,
                                      double margin = 1);

/// Runs of at most `mostBytes` bytes, or of one gradient.
llvm::SmallVector<unsigned> cutBySize(llvm::ArrayRef<FinishedGradient> gradients,
                                      int64_t mostBytes);

} // namespace dlc::dl

#endif
