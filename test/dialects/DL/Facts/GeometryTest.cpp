//===- GeometryTest.cpp - sizes of windows and convolutions -----------------------------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc::dl;

static OwningOpRef<ModuleOp> parse(MLIRContext &context, StringRef text) {
  context.loadDialect<DLDialect>();
  return parseSourceString<ModuleOp>(text, &context);
}

/// The first op of the only entry.
template <typename Op> static Op firstOp(ModuleOp module) {
  return cast<Op>((*module.getOps<EntryOp>().begin()).getBlock().front());
}

TEST(Geometry, OfConvolutions) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(context, R"(
    dl.entry @f(%x: tensor<2x4x5x6xf32>, %w: tensor<6x2x2x3xf32>)
        attributes {kind = #program.entry<infer>} {
      %y = dl.convolution %x, %w strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2]
          groups = 2
          : tensor<2x4x5x6xf32>, tensor<6x2x2x3xf32>
      dl.return
    })");
  ConvolutionGeometry geometry = firstOp<ConvolutionOp>(*module).getGeometry();
  EXPECT_EQ(geometry.batch, 2);
  EXPECT_EQ(geometry.channels, 4);
  EXPECT_EQ(geometry.filters, 6);
  EXPECT_EQ(geometry.groups, 2);
  EXPECT_EQ(geometry.inputPixels(), 5 * 6);
  EXPECT_EQ(geometry.outputPixels(), 3 * 4);
  EXPECT_EQ(geometry.kernelSize(), 2 * 3);
  EXPECT_EQ(geometry.axes[1].extent(), 5);
  EXPECT_EQ(geometry.axes[1].low, 2);
  EXPECT_EQ(geometry.axes[1].high, 0);
  // Two for each of 2 * 6 * 3 * 4 outputs and their 2 * 2 * 3 products.
  EXPECT_EQ(geometry.flops(), 2 * (2 * 6 * 3 * 4) * (2 * 2 * 3));
}

TEST(Geometry, OfWindowsGivenByBothSides) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(context, R"(
    dl.entry @f(%dy: tensor<1x2x4x3xf32>) attributes {kind = #program.entry<infer>} {
      %dx = dl.average_pool_backward %dy kernel = [3, 3] strides = [2, 2] padding = [1, 1, 1, 0]
          dilations = [1, 1]
          : tensor<1x2x4x3xf32> to tensor<1x2x6x5xf32>
      dl.return
    })");
  WindowGeometry geometry = firstOp<AveragePoolBackwardOp>(*module).getGeometry();
  EXPECT_EQ(geometry.axes[0].input, 6);
  EXPECT_EQ(geometry.axes[0].output, 4); // ceil: the last window hangs over
  EXPECT_EQ(geometry.axes[0].floorOutput(), 3);
  EXPECT_EQ(geometry.axes[1].input, 5);
  EXPECT_EQ(geometry.axes[1].output, 2 + 1);
}
