//===- Geometry.cpp - sizes of windows and convolutions ---------------------------------------===//
#include "dialects/DL/Geometry.h"

using namespace dlc::dl;

template <typename Get> static int64_t product(llvm::ArrayRef<WindowAxis> axes, Get get) {
  int64_t result = 1;
  for (const WindowAxis &axis : axes)
    result *= get(axis);
  return result;
}

int64_t WindowGeometry::inputPixels() const {
  return product(axes, [](const WindowAxis &axis) { return axis.input; });
}

int64_t WindowGeometry::outputPixels() const {
  return product(axes, [](const WindowAxis &axis) { return axis.output; });
}

int64_t WindowGeometry::kernelSize() const {
  return product(axes, [](const WindowAxis &axis) { return axis.kernel; });
}

int64_t ConvolutionGeometry::flops() const {
  return 2 * batch * filters * outputPixels() * (channels / groups) * kernelSize();
}
