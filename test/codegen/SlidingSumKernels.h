//===- SlidingSumKernels.h - kernels of sliding sums, for the tests of all targets --*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_SLIDINGSUMKERNELS_H
#define DLC_TEST_CODEGEN_SLIDINGSUMKERNELS_H

#include "test/codegen/Harness.h"

namespace dlc::test {

/// A sum in order, of up to some tens of elements in float32.
inline constexpr double slidingRounding = 2e-6;

struct SlidingCase {
  std::string shape, attributes;
};

/// Sums along the first, a middle and the last axis; longer than the axis; of one element; rests of
/// vectors and of strips; more elements on each side than a GPU's thread keeps.
inline const SlidingCase slidingCases[] = {
    {"2x64x28x28", "axis = 1 before = 2 after = 2"}, {"3x7x5", "axis = 1 before = 2 after = 1"},
    {"3x5x7x37", "axis = 1 before = 5 after = 5"},   {"5x33", "axis = 0 before = 0 after = 3"},
    {"4x41", "axis = 1 before = 3 after = 0"},       {"2x6x1x1", "axis = 1 before = 0 after = 0"},
    {"1x300x200", "axis = 1 before = 2 after = 1"},  {"2x50x9", "axis = 1 before = 20 after = 20"}};

/// The sum alone.
inline KernelSource slidingSum(const SlidingCase &of, const std::string &element = "f32") {
  const std::string type = "tensor<" + of.shape + "x" + element + ">";
  return {type, type,
          "^bb0(%x: " + type + "):\n %y = dl.sliding_sum %x " + of.attributes + " : " + type +
              "\n dl.yield %y : " + type};
}

/// Of a product, with the factors behind it, as in a local response norm's gradient; the second
/// result needs no sum.
inline KernelSource slidingSumBetween(const SlidingCase &of, bool storesFront) {
  const std::string type = "tensor<" + of.shape + "xf32>";
  return {type + ", " + type, type + (storesFront ? ", " + type : ""),
          "^bb0(%x: " + type + ", %d: " + type + "):\n %p = dl.multiply %x, %d : " + type +
              "\n %s = dl.sliding_sum %p " + of.attributes + " : " + type +
              "\n %q = dl.multiply %x, %s : " + type + "\n %y = dl.subtract %d, %q : " + type +
              "\n dl.yield %y" + (storesFront ? ", %p" : "") + " : " + type +
              (storesFront ? ", " + type : "")};
}

} // namespace dlc::test

#endif
