// Kernel, stride, padding and dilation of convolutions and pooling, read from the arguments of a
// call.
#ifndef DLC_FRONTEND_DL_BUILTINS_WINDOWS_H
#define DLC_FRONTEND_DL_BUILTINS_WINDOWS_H

#include "frontend/DL/Builtins/Call.h"

namespace dlc::frontend {

/// One number an axis; `padding` has two, before and after.
struct Window {
  llvm::SmallVector<int64_t, 3> kernel, strides, dilations;
  llvm::SmallVector<int64_t, 6> padding;

  /// Input elements that one window spans.
  int64_t extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

/// Reads the arguments kernel, stride, padding, dilation; false after an error.
bool readWindow(Call &call, unsigned spatial, Window &window);
/// Reports a kernel that is larger than the padded input.
bool checkWindowFits(Call &call, const Tensor &x, const Window &window);
/// Reports a position of the window, of `sizes` along each axis, that has no element of the input:
/// all of it is padding, or its dilation steps over what there is.
bool checkWindowsMeetInput(Call &call, const Tensor &x, const Window &window,
                           llvm::ArrayRef<int64_t> sizes);
/// Positions of the window along each spatial axis of x [N, C, spatial...]. `ceil` lets the last
/// window reach beyond the end, if it begins inside, as in PyTorch.
llvm::SmallVector<int64_t, 3> outputSizes(const Tensor &x, const Window &window, bool ceil);

} // namespace dlc::frontend

#endif
