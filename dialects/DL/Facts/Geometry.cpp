//===- Geometry.cpp - sizes of windows and convolutions ---------------------------------------===//
#include "dialects/DL/Facts/Geometry.h"
#include "llvm/ADT/STLExtras.h"

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

std::array<WindowAxis, 3> WindowGeometry::threeAxes() const {
  WindowAxis none;
  none.input = none.output = 1;
  std::array<WindowAxis, 3> result{none, none, none};
  std::copy(axes.begin(), axes.end(), result.end() - axes.size());
  return result;
}

std::array<int64_t, 3> WindowGeometry::ofThreeAxes(int64_t WindowAxis::*number) const {
  std::array<int64_t, 3> result;
  for (auto [value, axis] : llvm::zip_equal(result, threeAxes()))
    value = axis.*number;
  return result;
}

int64_t ConvolutionGeometry::flops() const {
  return 2 * batch * filters * outputPixels() * (channels / groups) * kernelSize();
}
