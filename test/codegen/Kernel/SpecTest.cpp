//===- SpecTest.cpp - reading a kernel's region -----------------------------------------------===//
#include "dialects/DL/Facts/Rows.h"
#include "mlir/IR/Diagnostics.h"
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

namespace {
class Spec : public testing::Test {
protected:
  Spec() {
    DialectRegistry registry;
    registerKernelDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  FailureOr<KernelSpec> get(const std::string &text) {
    auto parsed = parseKernel(text, &context);
    EXPECT_TRUE(succeeded(parsed));
    module = std::move(*parsed);
    return KernelSpec::get(kernelBlock(*module));
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static const char *const convolution = R"(
%in:3 = builtin.unrealized_conversion_cast to tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>,
    tensor<4xf32>
%out = dl.fused(%in#0, %in#1, %in#2) : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) ->
    tensor<2x4x6x6xf32> {
^bb0(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>):
  %0 = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 :
      tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>
  %1 = dl.broadcast %b dims = [1] : tensor<4xf32> to tensor<2x4x6x6xf32>
  %2 = dl.add %0, %1 : tensor<2x4x6x6xf32>
  %3 = dl.relu %2 : tensor<2x4x6x6xf32>
  dl.yield %3 : tensor<2x4x6x6xf32>
})";

TEST_F(Spec, Convolution) {
  auto spec = get(convolution);
  ASSERT_TRUE(succeeded(spec));
  EXPECT_EQ(spec->anchor(), Anchor::Convolution);
  EXPECT_EQ(spec->stem(), "conv3x3_bias_relu_4x6x6");
  // Two for each multiply-add, and an addition and a maximum an element.
  EXPECT_EQ(spec->flops(), 2u * 2 * 4 * 36 * 27 + 2 * 2 * 4 * 36);
  EXPECT_EQ(spec->bytes(), 4u * (2 * 3 * 64 + 4 * 27 + 4 + 2 * 4 * 36));
}

/// The index space of the epilogue: images, channels, and pixels as one axis.
TEST_F(Spec, IndexSpace) {
  auto spec = get(convolution);
  ASSERT_TRUE(succeeded(spec));
  auto space = refineIndexSpace(*spec, spec->result(0), {2 * 4 * 36});
  ASSERT_TRUE(succeeded(space));
  EXPECT_EQ(*space, (SmallVector<int64_t>{2, 4, 36}));
}

TEST_F(Spec, TwoAnchors) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(get(R"(
%in = builtin.unrealized_conversion_cast to tensor<4x4xf32>
%out = dl.fused(%in) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
^bb0(%x: tensor<4x4xf32>):
  %0 = dl.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = dl.matmul %0, %x : tensor<4x4xf32>, tensor<4x4xf32>
  dl.yield %1 : tensor<4x4xf32>
})")));
  EXPECT_EQ(message, "a kernel has one anchor, this is the second");
}

/// Reductions of one loop nest are the anchor together; over other axes, or of each other, they are
/// a second one.
TEST_F(Spec, SeveralReductions) {
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  auto text = [](const char *second) {
    return std::string(R"(
%in = builtin.unrealized_conversion_cast to tensor<4x4xf32>
%out:4 = dl.fused(%in) : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
    tensor<4x4xf32>) {
^bb0(%x: tensor<4x4xf32>):
  %e = dl.exp %x : tensor<4x4xf32>
  %0:2 = dl.moments %x axes = [0] : tensor<4x4xf32>
  %b = dl.broadcast %0#0 dims = [1] : tensor<4xf32> to tensor<4x4xf32>
  %1 = dl.reduce )") +
           second + R"( : tensor<4x4xf32>
  %2 = dl.add %0#1, %1 : tensor<4xf32>
  dl.yield %0#0, %1, %2, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
})";
  };
  auto spec = get(text("sum %e axes = [0]"));
  ASSERT_TRUE(succeeded(spec));
  EXPECT_EQ(spec->anchor(), Anchor::Reduce);
  EXPECT_EQ(spec->reductions().size(), 2u);
  EXPECT_EQ(spec->anchorResults().size(), 3u);
  EXPECT_EQ(spec->anchorResult(spec->result(1)), 2u);
  EXPECT_TRUE(spec->dependsOnAnchor(spec->result(2)));
  EXPECT_FALSE(spec->dependsOnAnchor(spec->result(3)));
  EXPECT_FALSE(spec->hasSums());
  EXPECT_TRUE(failed(get(text("sum %e axes = [1]"))));
  // One that waits for another makes passes; what it combines is no row here.
  spec = get(text("sum %b axes = [0]"));
  ASSERT_TRUE(succeeded(spec));
  EXPECT_EQ(spec->anchor(), Anchor::RowPasses);
  EXPECT_EQ(spec->rows(), std::nullopt);
}

/// Passes over rows: what waits for how many reductions, and whether all of it stays in its row.
TEST_F(Spec, RowPasses) {
  auto text = [](const std::string &dims) {
    return R"(
%in = builtin.unrealized_conversion_cast to tensor<4x4xf32>
%out:3 = dl.fused(%in) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
^bb0(%x: tensor<4x4xf32>):
  %0 = dl.reduce max %x axes = [1] : tensor<4x4xf32>
  %b = dl.broadcast %0 dims = [)" +
           dims + R"(] : tensor<4xf32> to tensor<4x4xf32>
  %d = dl.subtract %x, %b : tensor<4x4xf32>
  %1 = dl.reduce sum %d axes = [1] : tensor<4x4xf32>
  %e = dl.exp %x : tensor<4x4xf32>
  dl.yield %d, %1, %e : tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
})";
  };
  auto spec = get(text("0"));
  ASSERT_TRUE(succeeded(spec));
  EXPECT_EQ(spec->anchor(), Anchor::RowPasses);
  EXPECT_EQ(spec->rows(), (dl::Rows{4, 4}));
  EXPECT_EQ(spec->passOf(spec->result(0)), 1u);
  EXPECT_EQ(spec->passOf(spec->result(1)), 2u);
  EXPECT_EQ(spec->passOf(spec->result(2)), 0u);
  // To other rows.
  spec = get(text("1"));
  ASSERT_TRUE(succeeded(spec));
  EXPECT_EQ(spec->rows(), std::nullopt);
}

/// A sum beside a product is a result; one that something else reads is a second anchor.
TEST_F(Spec, SumsBesideAProduct) {
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  auto spec = get(R"(
%in = builtin.unrealized_conversion_cast to tensor<4x4xf32>
%out:2 = dl.fused(%in) : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>) {
^bb0(%x: tensor<4x4xf32>):
  %0 = dl.reduce sum %x axes = [0] : tensor<4x4xf32>
  %1 = dl.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  dl.yield %0, %1 : tensor<4xf32>, tensor<4x4xf32>
})");
  ASSERT_TRUE(succeeded(spec));
  EXPECT_EQ(spec->anchor(), Anchor::Gemm);
  EXPECT_TRUE(spec->hasSums());
  EXPECT_TRUE(spec->isSum(spec->result(0)));
  EXPECT_FALSE(spec->isSum(spec->result(1)));
  EXPECT_TRUE(failed(get(R"(
%in = builtin.unrealized_conversion_cast to tensor<4x4xf32>
%out:2 = dl.fused(%in) : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>) {
^bb0(%x: tensor<4x4xf32>):
  %0 = dl.reduce sum %x axes = [0] : tensor<4x4xf32>
  %1 = dl.exp %0 : tensor<4xf32>
  %2 = dl.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  dl.yield %1, %2 : tensor<4xf32>, tensor<4x4xf32>
})")));
}

TEST_F(Spec, ConstantThatIsNoSplat) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(get(R"(
%out = dl.fused() : () -> tensor<2xf32> {
  %0 = dl.constant dense<[1.0, 2.0]> : tensor<2xf32>
  dl.yield %0 : tensor<2xf32>
})")));
  EXPECT_EQ(message, "a kernel holds splat constants only: make this one an operand");
}
