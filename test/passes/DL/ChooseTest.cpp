//===- ChooseTest.cpp - layouts of a whole network beside those of its parts ------------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/DL/Passes.h"
#include "test/passes/DL/FakeCandidates.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {
constexpr double inRows = 1.0, conversion = 0.1;
/// A tenth faster: a conversion takes what a convolution saves.
constexpr double inBlocks = 0.9;

/// Convolutions take `inBlocks` seconds in blocks.
class PricedCandidates : public test::FakeCandidates {
public:
  explicit PricedCandidates(double inBlocks)
      : FakeCandidates(/*blocks=*/true), inBlocks(inBlocks) {}
  std::vector<dl::Candidate> candidates(dl::FusedOp region) override {
    std::vector<dl::Candidate> all = FakeCandidates::candidates(region);
    for (dl::Candidate &candidate : all)
      candidate.seconds = isRowMajor(candidate) ? inRows : inBlocks;
    return all;
  }
  std::vector<dl::Candidate> candidatesIn(dl::FusedOp region, const dl::Layouts &layouts) override {
    std::vector<dl::Candidate> all = FakeCandidates::candidatesIn(region, layouts);
    all.front().seconds = conversion;
    return all;
  }
  double conversionSeconds(RankedTensorType, program::LayoutAttr, program::LayoutAttr) override {
    return conversion;
  }

private:
  const double inBlocks;

  static bool isRowMajor(const dl::Candidate &candidate) {
    return llvm::none_of(candidate.layouts,
                         [](program::LayoutAttr layout) { return bool(layout); });
  }
};
} // namespace

/// `count` convolutions of images, 128 bytes for each of `width` columns, behind each other.
static std::string chain(unsigned count, int64_t width) {
  const std::string image = "tensor<2x4x4x" + std::to_string(width) + "xf32>",
                    filter = "tensor<4x4x3x3xf32>";
  std::string text = "dl.entry @f(%v0: " + image + ", %w: " + filter + ") -> (" + image +
                     ") attributes {kind = #program.entry<infer>} {\n";
  for (unsigned i = 0; i < count; ++i) {
    const std::string x = "%v" + std::to_string(i), y = "%v" + std::to_string(i + 1);
    text += y + " = dl.fused(" + x + ", %w) : (" + image + ", " + filter + ") -> " + image +
            " {\n^bb0(%a: " + image + ", %b: " + filter +
            "):\n%c = dl.convolution %a, %b strides = [1, 1] padding = [1, 1, 1, 1] dilations = "
            "[1, 1] groups = 1 : " +
            image + ", " + filter + "\ndl.yield %c : " + image + "\n}\n";
  }
  return text + "dl.return %v" + std::to_string(count) + " : " + image + "\n}\n";
}

/// The seconds of all regions as chosen, and how many convolve in blocks.
static std::pair<double, unsigned> choose(unsigned convolutions, double secondsInBlocks = inBlocks,
                                          int64_t width = 4) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(chain(convolutions, width), &context);
  EXPECT_TRUE(module);
  PassManager manager(&context);
  manager.addPass(dl::createChoose(std::make_shared<PricedCandidates>(secondsInBlocks)));
  EXPECT_TRUE(succeeded(manager.run(*module)));
  double seconds = 0;
  unsigned blocked = 0;
  module->walk([&](dl::FusedOp fused) {
    seconds += fused.getCandidateAttr().getSeconds().getValueAsDouble();
    blocked += llvm::any_of(fused.getBody().front(), llvm::IsaPred<dl::ConvolutionOp>) &&
               cast<RankedTensorType>(fused.getResult(0).getType()).getEncoding();
  });
  return {seconds, blocked};
}

/// A region that takes its own fastest layout pays more for the conversions around it; one that
/// weighs them by itself never begins a chain that is faster as a whole.
TEST(Choose, JointlyBeatsEachForItself) {
  const unsigned one = 1, many = 5;
  const double fastestEach = inBlocks + 2 * conversion;
  EXPECT_LT(choose(one).first, fastestEach);
  EXPECT_EQ(choose(one), std::pair(inRows, 0u));

  const auto [seconds, blocked] = choose(many);
  const double weighedEach = many * inRows;
  EXPECT_LT(seconds, weighedEach);
  EXPECT_NEAR(seconds, many * inBlocks + 2 * conversion, 1e-9);
  EXPECT_EQ(blocked, many);
}

/// Two convolutions in blocks copy the first image and the result, and save `gain` seconds of two.
TEST(Choose, CopiesNothingForLessThanEstimatesTell) {
  const unsigned two = 2;
  const int64_t small = 4, large = 1 << 20;
  auto blocked = [&](double gain, int64_t width) {
    return choose(two, inRows - conversion - gain / two, width).second;
  };
  // Less than the copies count, 0.1 ns a byte, and less than a thousandth.
  EXPECT_EQ(blocked(5e-8, small), 0u);
  EXPECT_EQ(blocked(1e-3, large), 0u);
  // More than they count.
  EXPECT_EQ(blocked(2e-7, small), two);
  // More than a thousandth, whatever they count.
  EXPECT_EQ(blocked(1e-2, large), two);
}
