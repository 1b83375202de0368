//===- RowPassesKernels.h - kernels that need all of a row first, for both targets --*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_ROWPASSESKERNELS_H
#define DLC_TEST_CODEGEN_ROWPASSESKERNELS_H

#include "test/codegen/Harness.h"

namespace dlc::test {

/// e / sum e with e = exp(x - max x): three passes.
inline KernelSource softmaxKernel(int64_t rows, int64_t length,
                                  const std::string &element = "f32") {
  const std::string kept = "tensor<" + std::to_string(rows) + "x" + element + ">";
  const std::string full =
      "tensor<" + std::to_string(rows) + "x" + std::to_string(length) + "x" + element + ">";
  return {full, full,
          "^bb0(%x: " + full + "):\n %m = dl.reduce max %x axes = [1] : " + full +
              "\n %bm = dl.broadcast %m dims = [0] : " + kept + " to " + full +
              "\n %d = dl.subtract %x, %bm : " + full + "\n %e = dl.exp %d : " + full +
              "\n %s = dl.reduce sum %e axes = [1] : " + full +
              "\n %bs = dl.broadcast %s dims = [0] : " + kept + " to " + full +
              "\n %y = dl.divide %e, %bs : " + full + "\n dl.yield %y : " + full};
}

/// y (dy - sum(y dy)), beside the sum.
inline KernelSource softmaxGradientKernel(int64_t rows, int64_t length) {
  const std::string kept = "tensor<" + std::to_string(rows) + "xf32>";
  const std::string full =
      "tensor<" + std::to_string(rows) + "x" + std::to_string(length) + "xf32>";
  return {full + ", " + full, full + ", " + kept,
          "^bb0(%y: " + full + ", %dy: " + full + "):\n %p = dl.multiply %y, %dy : " + full +
              "\n %s = dl.reduce sum %p axes = [1] : " + full +
              "\n %b = dl.broadcast %s dims = [0] : " + kept + " to " + full +
              "\n %d = dl.subtract %dy, %b : " + full + "\n %dx = dl.multiply %y, %d : " + full +
              "\n dl.yield %dx, %s : " + full + ", " + kept};
}

/// Rows of several axes that a scale and a bias along one of them tell apart; what the backward
/// pass needs of a row is stored beside the elements, and so is the operand of the reduction.
inline const KernelSource groupNormKernel = {
    "tensor<3x4x5x7xf32>, tensor<4x5xf32>, tensor<4x5xf32>",
    "tensor<3x4x5x7xf32>, tensor<3x4x5x7xf32>, tensor<3x4xf32>", R"(
^bb0(%a: tensor<3x4x5x7xf32>, %scale: tensor<4x5xf32>, %bias: tensor<4x5xf32>):
  %x = dl.tanh %a : tensor<3x4x5x7xf32>
  %0:2 = dl.moments %x axes = [2, 3] : tensor<3x4x5x7xf32>
  %n = dl.constant dense<35.0> : tensor<3x4xf32>
  %v = dl.divide %0#1, %n : tensor<3x4xf32>
  %r = dl.sqrt %v : tensor<3x4xf32>
  %mean = dl.broadcast %0#0 dims = [0, 1] : tensor<3x4xf32> to tensor<3x4x5x7xf32>
  %root = dl.broadcast %r dims = [0, 1] : tensor<3x4xf32> to tensor<3x4x5x7xf32>
  %c = dl.subtract %x, %mean : tensor<3x4x5x7xf32>
  %h = dl.divide %c, %root : tensor<3x4x5x7xf32>
  %s = dl.broadcast %scale dims = [1, 2] : tensor<4x5xf32> to tensor<3x4x5x7xf32>
  %b = dl.broadcast %bias dims = [1, 2] : tensor<4x5xf32> to tensor<3x4x5x7xf32>
  %p = dl.multiply %h, %s : tensor<3x4x5x7xf32>
  %y = dl.add %p, %b : tensor<3x4x5x7xf32>
  dl.yield %x, %y, %r : tensor<3x4x5x7xf32>, tensor<3x4x5x7xf32>, tensor<3x4xf32>)"};

/// One element a row: a loss that needs the largest logit, and then three sums. Labels are of
/// another type, and one row has a label that is no class.
inline const KernelSource smoothedLossKernel = {"tensor<9x37xf32>, tensor<9xi32>", "tensor<9xf32>",
                                                R"(
^bb0(%x: tensor<9x37xf32>, %label: tensor<9xi32>):
  %m = dl.reduce max %x axes = [1] : tensor<9x37xf32>
  %bm = dl.broadcast %m dims = [0] : tensor<9xf32> to tensor<9x37xf32>
  %z = dl.subtract %x, %bm : tensor<9x37xf32>
  %e = dl.exp %z : tensor<9x37xf32>
  %s = dl.reduce sum %e axes = [1] : tensor<9x37xf32>
  %all = dl.reduce sum %z axes = [1] : tensor<9x37xf32>
  %i = dl.iota axes = [1] : tensor<9x37xi32>
  %bl = dl.broadcast %label dims = [0] : tensor<9xi32> to tensor<9x37xi32>
  %hit = dl.compare eq %i, %bl : tensor<9x37xi32>
  %zero = dl.constant dense<0.0> : tensor<9x37xf32>
  %own = dl.select %hit, %z, %zero : tensor<9x37xf32>
  %picked = dl.reduce sum %own axes = [1] : tensor<9x37xf32>
  %log = dl.log %s : tensor<9xf32>
  %l = dl.subtract %log, %picked : tensor<9xf32>
  %share = dl.constant dense<0.01> : tensor<9xf32>
  %spread = dl.multiply %all, %share : tensor<9xf32>
  %loss = dl.subtract %l, %spread : tensor<9xf32>
  dl.yield %loss : tensor<9xf32>)"};

/// A row whose values are needed in another one is no kernel of row passes.
inline const KernelSource turnedSoftmaxKernel = {"tensor<4x6xf32>", "tensor<6x4xf32>", R"(
^bb0(%x: tensor<4x6xf32>):
  %0 = dl.reduce max %x axes = [1] : tensor<4x6xf32>
  %1 = dl.broadcast %0 dims = [0] : tensor<4xf32> to tensor<4x6xf32>
  %2 = dl.subtract %x, %1 : tensor<4x6xf32>
  %3 = dl.reduce sum %2 axes = [1] : tensor<4x6xf32>
  %4 = dl.broadcast %3 dims = [0] : tensor<4xf32> to tensor<4x6xf32>
  %5 = dl.transpose %4 order = [1, 0] : tensor<4x6xf32>
  dl.yield %5 : tensor<6x4xf32>)"};

} // namespace dlc::test

#endif
