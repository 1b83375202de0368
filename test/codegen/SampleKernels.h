//===- SampleKernels.h - kernels that read images at places, for all targets --------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_SAMPLEKERNELS_H
#define DLC_TEST_CODEGEN_SAMPLEKERNELS_H

#include "test/codegen/Harness.h"

namespace dlc::test {

/// In f32 a place of some tens of pixels is off by 2e-6 of one, and so are the shares of pixels.
inline constexpr double sampleRounding = 1e-5;

inline const char *const sampleKinds[] = {
    "",        "align_corners",         "border",         "border align_corners",
    "reflect", "reflect align_corners", "nearest border", "nearest reflect align_corners",
    "nearest"};

/// Sizes of images and grids: one place or pixel, rows and columns of pixels, several samples.
struct SampleSizes {
  std::string image, grid, places;
};
inline const SampleSizes sampleSizes[] = {{"2x3x5x7", "2x4x6x2", "2x3x4x6"},
                                          {"1x2x1x5", "1x3x2x2", "1x2x3x2"},
                                          {"1x1x6x1", "1x1x1x2", "1x1x1x1"},
                                          {"3x1x9x8", "3x5x7x2", "3x1x5x7"}};

/// All three ops: samples, and both gradients; what stands in front of them and behind is in their
/// kernels. Places reach from -4 to 4, beyond two mirrors, by doubling, which rounds in no type:
/// where a place is rounded into another pixel, the slope and the nearest pixel jump.
inline std::vector<KernelSource> sampleKernels(const SampleSizes &sizes, const std::string &kind) {
  const std::string x = "tensor<" + sizes.image + "xf32>", g = "tensor<" + sizes.grid + "xf32>",
                    y = "tensor<" + sizes.places + "xf32>";
  const std::string wide = "\n %two = dl.add %g, %g : " + g + "\n %p = dl.add %two, %two : " + g;
  return {{x + ", " + g, y,
           "^bb0(%x: " + x + ", %g: " + g + "):" + wide + "\n %y = dl.grid_sample %x, %p " + kind +
               " : " + x + ", " + g + "\n %r = dl.relu %y : " + y + "\n dl.yield %r : " + y},
          {y + ", " + g, x,
           "^bb0(%d: " + y + ", %g: " + g + "):" + wide +
               "\n %x = dl.grid_sample_backward_image %d, %p " + kind + " : " + y + ", " + g +
               " to " + x + "\n dl.yield %x : " + x},
          {y + ", " + x + ", " + g, g,
           "^bb0(%d: " + y + ", %x: " + x + ", %g: " + g + "):" + wide +
               "\n %q = dl.grid_sample_backward_grid %d, %x, %p " + kind + " : " + y + ", " + x +
               ", " + g + "\n dl.yield %q : " + g}};
}

} // namespace dlc::test

#endif
