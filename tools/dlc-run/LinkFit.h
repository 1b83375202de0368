// The line through measured sums: seconds = alpha + beta * bytes.
#ifndef DLC_TOOLS_DLC_RUN_LINKFIT_H
#define DLC_TOOLS_DLC_RUN_LINKFIT_H

#include <cstdint>
#include <span>

namespace dlc::runtime::tool {

/// One sum over the ranks.
struct MeasuredSum {
  uint64_t bytes;
  double seconds;
};

struct LinkLine {
  /// Seconds of any sum, and of each byte more.
  double alpha, beta;
};

/// Sums up to this size are for alpha, those from the next on for beta.
inline constexpr uint64_t mostBytesForAlpha = 64 << 10, leastBytesForBeta = 256 << 10;

/// beta is the median of the slopes between any two of the large sums (Theil 1950, Sen 1968), each
/// weighed by the root of how far apart they are, alpha that of what the small ones take beyond it,
/// or what the first one does if that is nothing: a single size that takes long moves neither, nor
/// do bytes that what lies between lets through at once. Both are above 0. One small sum is needed
/// at least, and two large ones, in the order of their sizes.
LinkLine fitLink(std::span<const MeasuredSum> sums);

} // namespace dlc::runtime::tool

#endif
