// Index arithmetic of a convolution in its data directions. Both compute
//
//   target[n][t][first + i * targetStep] = sum over source channels and taps of
//       source[n][s][i * sourceStep + tap.offset] * filter[tap]
//
// Forward is one such phase. Backward data with stride s is s phases for each dimension, one for each remainder of the
// target's index: within a phase every tap meets the source at a fixed distance.
#pragma once

#include "codegen/CPU/Convolution.h"

namespace dlc::codegen {

struct ConvolutionTap {
  /// Index in the filter and distance in the source.
  int64_t kernel, offset;
};

/// One dimension of one phase.
struct PhaseDimension {
  /// Target indices: first, first + targetStep, ..., `count` of them.
  int64_t first = 0, count = 0;
  llvm::SmallVector<ConvolutionTap> taps;

  int64_t minOffset() const;
  int64_t maxOffset() const;
};

struct DataGeometry {
  int64_t batch, groups;
  /// Channels of one group.
  int64_t sourceChannels, targetChannels;
  ConvolutionProblem::Spatial source, target, kernel, sourceStep, targetStep;
  /// Phases in the order (d, h, w), each dimension's list.
  std::array<llvm::SmallVector<PhaseDimension>, 3> dimensions;

  explicit DataGeometry(const ConvolutionProblem &problem);
  int64_t phases() const;
  const PhaseDimension &dimension(int64_t phase, unsigned axis) const;
  int64_t taps(int64_t phase) const;
  /// The largest, over the phases, number of target indices, of taps, and distance from the first to the last tap.
  int64_t maxCount(unsigned axis) const;
  int64_t maxTaps(unsigned axis) const;
  int64_t maxSpan(unsigned axis) const;
  /// True if the source has no depth: every access has depth index 0.
  bool isFlat() const;
};

/// A 1x1 convolution without stride and padding sees its pixels as one row.
bool isPointwise(const ConvolutionProblem &problem);

} // namespace dlc::codegen
