//===- Geometry.h - index arithmetic of convolutions and windows --------------------*- C++ -*-===//
//
// One description of a sliding window for shape inference, verifiers, gradients and code
// generation. The interpreter under test/ has its own, so that an error here cannot hide.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FACTS_GEOMETRY_H
#define DLC_DIALECTS_DL_FACTS_GEOMETRY_H

#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>

namespace dlc::dl {

/// One spatial axis of a window sliding over `input` elements: output position p covers input
/// positions p * stride + r * dilation - low for r in [0, kernel).
struct WindowAxis {
  int64_t input = 0, output = 0;
  int64_t kernel = 1, stride = 1, dilation = 1, low = 0, high = 0;

  /// Input elements that one window spans.
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Positions of the window when only whole windows count.
  int64_t floorOutput() const { return (input + low + high - extent()) / stride + 1; }
};

/// A pooling window over x [batch, channels, axes...].
struct WindowGeometry {
  int64_t batch = 1, channels = 1;
  llvm::SmallVector<WindowAxis, 3> axes;

  int64_t inputPixels() const;  ///< product of axes[i].input
  int64_t outputPixels() const; ///< product of axes[i].output
  int64_t kernelSize() const;   ///< product of axes[i].kernel
  /// Depth, height and width: those that the model does not have come first, with extents of 1.
  std::array<WindowAxis, 3> threeAxes() const;
  /// One number of each of the three axes, such as &WindowAxis::input.
  std::array<int64_t, 3> ofThreeAxes(int64_t WindowAxis::*number) const;
};

/// A convolution x [N, C, axes...], w [K, C / groups, kernel...] -> y [N, K, axes...], in whichever
/// direction it runs.
struct ConvolutionGeometry : WindowGeometry {
  int64_t filters = 1; ///< K; `channels` is C
  int64_t groups = 1;

  /// Multiplications and additions of one pass in any direction, counted as two, padding included.
  int64_t flops() const;
};

} // namespace dlc::dl

#endif
