// The CUDA device without a device: which image it would load, and that cuDNN has strict float32
// engines for the convolutions that the compiler hands to it, by the properties of an H200.
#include "runtime/Device/CUDA/CudaModule.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

using namespace dlc::runtime;
using testing::Not, testing::StartsWith;

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
                                 const std::vector<uint64_t> &sizes = conv2,
                                 uint32_t layout = DLC_CALL_CHANNELS_FIRST,
                                 uint32_t math = DLC_MATH_STRICT, uint32_t dtype = DLC_F32) {
    dlc_library_call call = {};
    call.dtype = dtype;
    call.layout = layout;
    call.math = math;
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
                    const std::vector<uint64_t> &sizes = conv2,
                    uint32_t layout = DLC_CALL_CHANNELS_FIRST, uint32_t math = DLC_MATH_STRICT,
                    uint32_t dtype = DLC_F32) {
    const dlc_library_call call = callOf(op, epilogue, workspace, sizes, layout, math, dtype);
    auto plan = ConvolutionPlan::build(*target, call, engine);
    return plan.ok() ? (*plan)->description() : std::string(plan.status().message());
  }

  std::string properties;
  std::optional<CudnnTarget> target;
  static constexpr uint64_t enough = 64 << 20;
  static constexpr uint32_t directions[] = {DLC_CALL_CONVOLUTION, DLC_CALL_BACKWARD_DATA,
                                            DLC_CALL_BACKWARD_FILTER};
};

TEST_F(CudnnPlans, ThreeDirections) {
  for (uint32_t op : directions)
    for (uint32_t layout : {DLC_CALL_CHANNELS_FIRST, DLC_CALL_CHANNELS_LAST})
      for (uint32_t math : {DLC_MATH_STRICT, DLC_MATH_TF32})
        EXPECT_THAT(build(op, 0, enough, {}, conv2, layout, math), StartsWith("engine "))
            << libraryOpName(op) << ", layout " << layout << ", math " << math;
}

// What the layouts are for: 64 channels of 56x56 pixels. Strict float32 needs no workspace with the
// channels first, and with the channels last only one of the tensors' size keeps the engine of last
// resort away; TF32, bf16 and f16 need none with the channels last.
TEST_F(CudnnPlans, LayoutsFollowTheMath) {
  const std::vector<uint64_t> conv = {2, 64, 1,  64, 64, 56, 3, 56, 1, 1,
                                      1, 1,  56, 3,  56, 1,  1, 1,  1};
  const uint64_t little = 4 << 20;
  for (uint32_t op : directions) {
    EXPECT_THAT(build(op, 0, little, {}, conv), StartsWith("engine ")) << libraryOpName(op);
    EXPECT_THAT(build(op, 0, little, {}, conv, DLC_CALL_CHANNELS_LAST, DLC_MATH_TF32),
                StartsWith("engine "))
        << libraryOpName(op);
    for (uint32_t dtype : {DLC_BF16, DLC_F16})
      EXPECT_THAT(build(op, 0, little, {}, conv, DLC_CALL_CHANNELS_LAST, DLC_MATH_STRICT, dtype),
                  StartsWith("engine "))
          << libraryOpName(op) << ", " << dtypeName(dtype);
  }
  EXPECT_THAT(build(DLC_CALL_BACKWARD_DATA, 0, little, {}, conv, DLC_CALL_CHANNELS_LAST),
              StartsWith("cuDNN"));
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
    for (uint32_t op : directions)
      EXPECT_THAT(build(op, 0, 16 << 20, {}, sizes), StartsWith("engine "))
          << libraryOpName(op) << " of " << sizes[3] << " to " << sizes[4] << " channels";
}

TEST_F(CudnnPlans, FusesBiasAndAddend) {
  constexpr uint32_t bias = DLC_EPILOGUE_BIAS, add = DLC_EPILOGUE_ADD;
  for (uint32_t epilogue : {bias, bias | add})
    EXPECT_THAT(build(DLC_CALL_CONVOLUTION, epilogue, enough), StartsWith("engine ")) << epilogue;
}

// What cuDNN does not fuse in float32 is refused, with a reason.
TEST_F(CudnnPlans, RefusesOtherEpilogues) {
  EXPECT_THAT(build(DLC_CALL_BACKWARD_DATA, DLC_EPILOGUE_BIAS, enough), StartsWith("cuDNN"));
  EXPECT_THAT(build(DLC_CALL_CONVOLUTION, DLC_EPILOGUE_ADD, enough), StartsWith("cuDNN"));
}

// A stored engine is used if this cuDNN has it, else the library chooses.
TEST_F(CudnnPlans, RebuildsStoredEngines) {
  unsigned rebuilt = 0;
  for (uint64_t engine = 0; engine < 8; ++engine) {
    const std::string text = build(DLC_CALL_CONVOLUTION, 0, enough, std::span(&engine, 1));
    rebuilt += text.starts_with(concat("engine ", engine, ", 0 knobs"));
    EXPECT_THAT(text, StartsWith("engine "));
    EXPECT_THAT(text, Not(StartsWith("engine 0,")));
  }
  EXPECT_GT(rebuilt, 0u);
  // cuDNN's own choice, with its knobs, is one that can be rebuilt.
  auto choose = ConvolutionPlan::openEngineChooser(properties);
  ASSERT_TRUE(choose.ok()) << choose.status().message();
  for (uint32_t op : directions) {
    auto engine = (*choose)(callOf(op, 0, enough));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    // In the workspace that it says it needs, and in no smaller one.
    const uint64_t needed = engine->workspaceBytes;
    EXPECT_EQ(build(op, 0, needed, engine->numbers),
              concat("engine ", engine->numbers[0], ", ", engine->numbers.size() / 2, " knobs, ",
                     needed, " bytes of workspace"));
  }
  const auto refused = (*choose)(callOf(DLC_CALL_BACKWARD_DATA, DLC_EPILOGUE_BIAS, enough));
  EXPECT_EQ(refused.status().code(), StatusCode::Unsupported);
  EXPECT_FALSE(ConvolutionPlan::openEngineChooser("{").ok());
  const uint64_t unknown = 12345;
  EXPECT_EQ(build(DLC_CALL_CONVOLUTION, 0, enough, std::span(&unknown, 1)),
            build(DLC_CALL_CONVOLUTION, 0, enough));
}

} // namespace
