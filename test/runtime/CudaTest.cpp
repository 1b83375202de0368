// The CUDA device without a device: which image it would load, and that cuDNN has strict float32
// engines for the convolutions that the compiler hands to it, by the properties of an H200.
#include "runtime/Device/CUDA/CudaModule.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dlc::runtime;

namespace {

TEST(Cuda, ChoosesImages) {
  const dlc_image sm80 = {DLC_IMAGE_CUBIN, 80, 0, 1, 0, 0, 0, 0};
  const dlc_image ptx80 = {DLC_IMAGE_PTX, 80, 0, 1, 0, 0, 0, 0};
  EXPECT_TRUE(imageServes(sm80, 80));
  EXPECT_TRUE(imageServes(sm80, 86)); // a cubin runs on later minor versions
  EXPECT_FALSE(imageServes(sm80, 90));
  EXPECT_FALSE(imageServes(sm80, 75));
  EXPECT_TRUE(imageServes(ptx80, 90)); // PTX on everything later
  EXPECT_FALSE(imageServes(ptx80, 75));
}

// Wherever a plan's workspace begins, the usable bytes from the next multiple of 256 lie in it.
TEST(Cuda, AlignsWorkspaces) {
  dlc_library_call call = {};
  call.workspace_bytes = 4096;
  EXPECT_EQ(LibraryWorkspace::usableBytes(call), 4096u - 192);
  for (uintptr_t start = 4096; start < 4096 + 256; start += DLC_ALIGNMENT) {
    const auto aligned = reinterpret_cast<uintptr_t>(
        LibraryWorkspace::alignedStart(reinterpret_cast<void *>(start)));
    EXPECT_EQ(aligned % 256, 0u);
    EXPECT_GE(aligned, start);
    EXPECT_LE(aligned + LibraryWorkspace::usableBytes(call), start + call.workspace_bytes);
  }
  call.workspace_bytes = 100;
  EXPECT_EQ(LibraryWorkspace::usableBytes(call), 0u);
}

TEST(Cuda, SaysWhatToDoWithoutALibrary) {
  dlc_library_call call = {};
  call.op = DLC_CALL_PRODUCT;
  EXPECT_EQ(withRemedy(unsupported("no cuBLASLt"), call).message(),
            "no cuBLASLt; compiled with --gemm=own the model needs no library for it");
  call.op = DLC_CALL_BACKWARD_DATA;
  EXPECT_EQ(withRemedy(unsupported("no cuDNN"), call).message(),
            "no cuDNN; compiled with --conv-algorithm=own the model needs no library for it");
  call.op = DLC_CALL_PRODUCT;
  call.epilogue = DLC_EPILOGUE_SUMS_A;
  EXPECT_EQ(
      withRemedy(unsupported("no algorithm"), call).message(),
      "no algorithm; compiled with --disable-pass=dl-fuse-product-gradients or --gemm=own the "
      "model does without it");
  EXPECT_EQ(withRemedy(invalid("something else"), call).message(), "something else");
  EXPECT_TRUE(withRemedy({}, call).ok());
}

class CudnnPlans : public testing::Test {
protected:
  void SetUp() override {
    std::ifstream file(DLC_TEST_INPUTS "/h200.json");
    std::stringstream text;
    text << file.rdbuf();
    if (auto cudnn = Cudnn::load(); !cudnn.ok())
      GTEST_SKIP() << cudnn.status().message();
    properties = text.str();
    auto read = CudnnTarget::fromJson(properties);
    ASSERT_TRUE(read.ok()) << read.status().message();
    target = read.take();
  }

  static inline const std::vector<uint64_t> conv2 = {2, 64, 1,  20, 50, 12, 5, 8, 1, 0,
                                                     0, 1,  12, 5,  8,  1,  0, 0, 1};

  /// LeNet's second convolution, or another.
  static dlc_library_call callOf(uint32_t op, uint32_t epilogue, uint64_t workspace,
                                 const std::vector<uint64_t> &sizes = conv2) {
    dlc_library_call call = {};
    call.op = op;
    call.epilogue = epilogue;
    call.workspace_bytes = workspace;
    std::copy(sizes.begin(), sizes.end(), call.sizes);
    EXPECT_TRUE(checkLibraryCall(call).ok());
    return call;
  }

  /// Which engine it got, or the reason why none.
  std::string build(uint32_t op, uint32_t epilogue, uint64_t workspace,
                    std::span<const uint64_t> engine = {},
                    const std::vector<uint64_t> &sizes = conv2) {
    const dlc_library_call call = callOf(op, epilogue, workspace, sizes);
    auto plan = ConvolutionPlan::build(*target, call, engine);
    return plan.ok() ? (*plan)->description() : std::string(plan.status().message());
  }

  std::string properties;
  std::optional<CudnnTarget> target;
  static constexpr uint64_t enough = 64 << 20;
};

TEST_F(CudnnPlans, ThreeDirections) {
  for (uint32_t op : {DLC_CALL_CONVOLUTION, DLC_CALL_BACKWARD_DATA, DLC_CALL_BACKWARD_FILTER})
    EXPECT_EQ(build(op, 0, enough), "cuDNN's choice") << libraryOpName(op);
}

// The convolutions of the GPU check's models, with the workspace that the compiler gives them.
TEST_F(CudnnPlans, GpuCheck) {
  const std::vector<uint64_t> convolutions[] = {
      {2, 64, 1, 1, 20, 28, 5, 24, 1, 0, 0, 1, 28, 5, 24, 1, 0, 0, 1},
      {2, 2, 1, 1, 20, 28, 5, 24, 1, 0, 0, 1, 28, 5, 24, 1, 0, 0, 1},
      {2, 2, 1, 20, 50, 12, 5, 8, 1, 0, 0, 1, 12, 5, 8, 1, 0, 0, 1},
      {2, 5, 1, 3, 33, 19, 3, 10, 2, 1, 1, 1, 17, 3, 9, 2, 1, 1, 1},
      {2, 5, 1, 33, 18, 4, 1, 4, 1, 0, 0, 1, 4, 1, 4, 1, 0, 0, 1},
      {2, 5, 1, 18, 21, 4, 3, 4, 1, 1, 1, 1, 4, 3, 4, 1, 1, 1, 1},
  };
  for (const auto &sizes : convolutions)
    for (uint32_t op : {DLC_CALL_CONVOLUTION, DLC_CALL_BACKWARD_DATA, DLC_CALL_BACKWARD_FILTER})
      EXPECT_EQ(build(op, 0, 16 << 20, {}, sizes), "cuDNN's choice")
          << libraryOpName(op) << " of " << sizes[3] << " to " << sizes[4] << " channels";
}

TEST_F(CudnnPlans, FusesBiasAddendAndRelu) {
  constexpr uint32_t bias = DLC_EPILOGUE_BIAS, relu = DLC_EPILOGUE_RELU, add = DLC_EPILOGUE_ADD;
  for (uint32_t epilogue : {bias, bias | relu, bias | add | relu})
    EXPECT_EQ(build(DLC_CALL_CONVOLUTION, epilogue, enough), "cuDNN's choice") << epilogue;
}

// What cuDNN does not fuse in float32 is refused, with a reason.
TEST_F(CudnnPlans, RefusesOtherEpilogues) {
  EXPECT_EQ(
      build(DLC_CALL_BACKWARD_DATA, DLC_EPILOGUE_BIAS | DLC_EPILOGUE_RELU, enough).substr(0, 5),
      "cuDNN");
}

// A stored engine is used if this cuDNN has it, else the library chooses.
TEST_F(CudnnPlans, RebuildsStoredEngines) {
  unsigned rebuilt = 0;
  for (uint64_t engine = 0; engine < 8; ++engine) {
    const std::string text = build(DLC_CALL_CONVOLUTION, 0, enough, std::span(&engine, 1));
    rebuilt += text == concat("engine ", engine, ", 0 knobs");
    EXPECT_TRUE(text.starts_with("engine") || text == "cuDNN's choice") << text;
  }
  EXPECT_GT(rebuilt, 0u);
  // cuDNN's own choice, with its knobs, is one that can be rebuilt.
  auto choose = ConvolutionPlan::openEngineChooser(properties);
  ASSERT_TRUE(choose.ok()) << choose.status().message();
  for (uint32_t op : {DLC_CALL_CONVOLUTION, DLC_CALL_BACKWARD_DATA, DLC_CALL_BACKWARD_FILTER}) {
    auto engine = (*choose)(callOf(op, 0, enough));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    EXPECT_EQ(build(op, 0, enough, *engine),
              concat("engine ", (*engine)[0], ", ", engine->size() / 2, " knobs"));
  }
  const auto refused =
      (*choose)(callOf(DLC_CALL_BACKWARD_DATA, DLC_EPILOGUE_BIAS | DLC_EPILOGUE_RELU, enough));
  EXPECT_EQ(refused.status().code(), StatusCode::Unsupported);
  EXPECT_FALSE(ConvolutionPlan::openEngineChooser("{").ok());
  const uint64_t unknown = 12345;
  EXPECT_EQ(build(DLC_CALL_CONVOLUTION, 0, enough, std::span(&unknown, 1)), "cuDNN's choice");
}

} // namespace
