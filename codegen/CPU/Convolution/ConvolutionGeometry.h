//===- ConvolutionGeometry.h - index arithmetic of convolutions ---------------------*- C++ -*-===//
//
// In its data directions a convolution computes
//
//   target[n][t][first + i * targetStep] = sum over source channels and taps of
//       source[n][s][i * sourceStep + tap.offset] * filter[tap]
//
// Forward is one such phase. Backward data with stride s is s phases for each dimension, one for
// each remainder of the target's index: within a phase every tap meets the source at a fixed
// distance.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_CONVOLUTION_CONVOLUTIONGEOMETRY_H
#define DLC_CODEGEN_CPU_CONVOLUTION_CONVOLUTIONGEOMETRY_H

#include "dialects/DL/Facts/ConvolutionForm.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <optional>

namespace dlc::codegen {

/// A convolution x -> y in one of its directions, always as three spatial dimensions: missing ones
/// stand first with extent 1.
struct ConvolutionProblem {
  using Direction = dl::ConvolutionForm::Direction;
  using Spatial = std::array<int64_t, 3>;

  Direction direction = Direction::Forward;
  int64_t batch = 1, groups = 1;
  int64_t inChannels = 1, outChannels = 1; ///< of x and y, all groups together
  Spatial input{1, 1, 1}, kernel{1, 1, 1}; ///< extents of x and of the filter
  Spatial stride{1, 1, 1}, dilation{1, 1, 1}, padLow{0, 0, 0};
  Spatial output{1, 1, 1}; ///< extents of y
  /// Channels of x and of y that stand together, innermost in memory: a vector's worth or more, and
  /// a divisor of a group's, unless each channel is a group. 1: in whatever other order, to be
  /// walked along rows of pixels.
  int64_t xBlock = 1, yBlock = 1;
  /// Of an element in memory, and as it is computed with.
  int64_t storedBytes = 4, elementBytes = 4;
  int64_t storedPrecision = 24; ///< bits of a significand in memory
  /// Of an element of x that is computed while it is read: its work, in simple operations.
  double imageWeight = 0;
  /// Whether a pixel's blocks stand one behind the other, where the operand lies in memory: all of
  /// its channels. Else a block's pixels do.
  bool xLast = false, yLast = false;

  /// The same of the source in a data direction.
  int64_t sourceBlock() const { return direction == Direction::Forward ? xBlock : yBlock; }
  bool sourceLast() const { return direction == Direction::Forward ? xLast : yLast; }
  bool hasBlocks() const { return xBlock > 1 || yBlock > 1; }
  /// Elements from one pixel to the next, and from one block to the next, of operands in memory.
  int64_t xPixel() const { return xLast ? inChannels : xBlock; }
  int64_t yPixel() const { return yLast ? outChannels : yBlock; }
  int64_t xBlockStep() const { return blockStep(input, xBlock, xLast); }
  int64_t yBlockStep() const { return blockStep(output, yBlock, yLast); }
  bool isDepthwise() const { return groups > 1 && inChannels == groups && outChannels == groups; }

  /// Cycles of a vector of x on its way, beside its load and store. Measured on batch norms with
  /// ReLUs in ResNet-50: their operations wait for nothing, and run beside those of the transforms.
  double imageCycles() const { return imageWeight / 4; }

  bool computesFloat32() const { return elementBytes == 4; }

  int64_t filterElements() const {
    return outChannels * (inChannels / groups) * kernel[0] * kernel[1] * kernel[2];
  }
  int64_t filterBytes() const { return storedBytes * filterElements(); }
  /// Of x and y together.
  int64_t imageBytes() const {
    return storedBytes * batch *
           (inChannels * input[0] * input[1] * input[2] +
            outChannels * output[0] * output[1] * output[2]);
  }

private:
  static int64_t blockStep(const Spatial &extents, int64_t block, bool last) {
    return last ? block : extents[0] * extents[1] * extents[2] * block;
  }
};

struct ConvolutionTap {
  int64_t kernel, offset; ///< index in the filter and distance in the source
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
  /// Channels of the source's group, the places that they are, of `numbers` channels each, of which
  /// the last may lack some, and channels of the target's group.
  int64_t channels, numbers, sourceChannels, targetChannels;
  ConvolutionProblem::Spatial source, target, kernel, sourceStep, targetStep;
  int64_t sourceBlock, targetBlock;     ///< see ConvolutionProblem; the source's in places
  int64_t sourcePixel, sourceBlockStep; ///< in places
  /// Phases in the order (d, h, w), each dimension's list.
  std::array<llvm::SmallVector<PhaseDimension>, 3> dimensions;

  /// `numbers` of a source in blocks of channels stand together in a place, and `group` such places
  /// of a pixel in a block; 1: as the problem's blocks are.
  explicit DataGeometry(const ConvolutionProblem &problem, int64_t numbers = 1, int64_t group = 1);
  int64_t phases() const;
  /// Those of one row phase follow each other; their columns take turns in the target.
  int64_t columnPhases() const { return int64_t(dimensions[2].size()); }
  int64_t rowPhases() const { return phases() / columnPhases(); }
  /// The one phase of several, not too many, that has taps, of a flat target in blocks: all other
  /// pixels are zero, and written beside its own.
  std::optional<int64_t> solePhase() const;
  /// Row phases among which tasks are divided: one where all share them.
  int64_t taskPhases() const { return solePhase() ? 1 : rowPhases(); }
  const PhaseDimension &dimension(int64_t phase, unsigned axis) const;
  int64_t taps(int64_t phase) const;
  int64_t sourceElements() const;
  int64_t filterElements() const;
  /// The largest, over the phases, number of target indices, of taps, and distance from the first
  /// to the last tap.
  int64_t maxCount(unsigned axis) const;
  int64_t maxTaps(unsigned axis) const;
  int64_t maxSpan(unsigned axis) const;
  /// The first and the last distance of a tap of any phase.
  std::pair<int64_t, int64_t> offsetRange(unsigned axis) const;
  /// From one tap to the next along an axis, of whatever phase has several.
  int64_t tapStep(unsigned axis) const;
  /// True if a target element meets one source element of each channel at most, at the same
  /// distance in all phases, and none outside the source.
  bool isSampling() const;
  /// True if the source has no depth: every access has depth index 0.
  bool isFlat() const;
  /// True if it is flat and no tap reads outside the source.
  bool isInside() const;
};

/// What of a problem in its data directions tells how filters of one shape are read: as text.
std::string filterOrder(const ConvolutionProblem &problem);

/// A 1x1 convolution without stride and padding: a matrix product of pixels.
bool isPointwise(const ConvolutionProblem &problem);

/// Whether each pixel of y meets one pixel of x, which is none of the padding.
bool hasSingleTap(const ConvolutionProblem &problem);

} // namespace dlc::codegen

#endif
