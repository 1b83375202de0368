//===- WindowSettings.h - what convolutions and pooling say of their windows --------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_WINDOWSETTINGS_H
#define DLC_DIALECTS_DL_OPS_WINDOWSETTINGS_H

#include "dialects/DL/Facts/WindowIndex.h"

namespace dlc::dl {

/// The settings that all sliding windows share.
struct WindowSettings {
  llvm::ArrayRef<int64_t> kernel, strides, padding, dilations;

  WindowAxis axis(size_t i, int64_t input, int64_t output) const {
    return {.input = input,
            .output = output,
            .kernel = kernel[i],
            .stride = strides[i],
            .dilation = dilations[i],
            .low = padding[2 * i],
            .high = padding[2 * i + 1]};
  }
};

/// Numbers of a window stay below this, so that products of two cannot overflow.
inline constexpr int64_t maxSetting = int64_t(1) << 31;

inline bool allWithin(llvm::ArrayRef<int64_t> values, int64_t low) {
  return llvm::all_of(values, [=](int64_t v) { return v >= low && v < maxSetting; });
}

template <typename OpOrAdaptor>
WindowSettings settingsOf(OpOrAdaptor op, llvm::ArrayRef<int64_t> kernel) {
  return {kernel, op.getStrides(), op.getPadding(), op.getDilations()};
}

} // namespace dlc::dl

#endif
