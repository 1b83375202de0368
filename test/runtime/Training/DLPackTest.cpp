// Tensors of DLPack in and out of a run: the structs of Debian's header, and those of DLPack 1.
#include "dlc/dlpack.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cstring>
#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// As DLPack 1 declares it.
struct Versioned {
  struct {
    uint32_t major, minor;
  } version;
  void *manager_ctx;
  void (*deleter)(Versioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};

/// A tensor that counts how often it was given back, as of another library.
template <typename Managed> struct Foreign {
  Foreign(std::vector<int64_t> extents, DLDataType dtype, void *data) : shape(std::move(extents)) {
    DLTensor &tensor = managed.dl_tensor;
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.dtype = dtype;
    tensor.ndim = static_cast<int>(shape.size());
    tensor.shape = shape.data();
    managed.manager_ctx = this;
    managed.deleter = [](Managed *owned) { ++static_cast<Foreign *>(owned->manager_ctx)->freed; };
  }
  std::vector<int64_t> shape, strides;
  Managed managed = {};
  int freed = 0;
};

constexpr DLDataType float32 = {kDLFloat, 32, 1};

class DLPack : public testing::Test {
protected:
  void SetUp() override {
    run =
        Run::open({.module = writeSmallModule(folder), .device = {.threads = 1}, .seed = 1}).take();
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = float(i % 7) / 8;
  }

  /// What a change to a tensor of 2 images makes take() say.
  std::string refusal(const std::function<void(Foreign<Versioned> &)> &change) {
    Foreign<Versioned> tensor({2, 1, 4, 4}, float32, image.data());
    tensor.managed.version = {1, 1};
    change(tensor);
    auto taken = DLPackArray::take("image", &tensor.managed, *run);
    EXPECT_EQ(tensor.freed, taken.ok() ? 0 : 1);
    return taken.ok() ? "taken" : std::string(taken.status().message());
  }

  TemporaryFolder folder;
  std::unique_ptr<dlc::Run> run;
  std::vector<float> image = std::vector<float>(2 * 16 + 1);
};

/// Predicts on tensors of one kind, and compares with the same as arrays.
template <typename Managed> void predictOn(Run &run, float *image, uint64_t offset) {
  float scores[8], right[8];
  const std::vector<Array> plain = {{"image", DLC_F32, {2, 1, 4, 4}, image + offset}};
  ASSERT_TRUE(
      run.predict(plain, std::vector<OutputArray>{{"output", DLC_F32, {2, 4}, right}}).ok());
  Foreign<Managed> input({2, 1, 4, 4}, float32, image), output({2, 4}, float32, scores);
  input.managed.dl_tensor.byte_offset = offset * sizeof(float);
  input.strides = {16, 99, 4, 1}; // that of an axis of extent 1 says nothing
  input.managed.dl_tensor.strides = input.strides.data();
  {
    auto in = DLPackArray::take("image", &input.managed, run);
    auto out = DLPackArray::take("output", &output.managed, run);
    ASSERT_TRUE(in.ok() && out.ok()) << in.status().message() << out.status().message();
    const auto copy = *in;
    ASSERT_TRUE(
        run.predict(std::vector<Array>{copy.array()}, std::vector<OutputArray>{*out->output()})
            .ok());
    EXPECT_EQ(input.freed + output.freed, 0);
  }
  EXPECT_EQ(input.freed, 1);
  EXPECT_EQ(output.freed, 1);
  EXPECT_EQ(std::memcmp(scores, right, sizeof(right)), 0);

  // What predict() gives is a tensor that has its bytes, and goes where it is freed.
  std::vector<Tensor> all = run.predict(plain).take();
  const std::byte *bytes = all[0].bytes.data();
  Managed *given = dlpackOf<Managed>(std::move(all[0]));
  const DLTensor &tensor = given->dl_tensor;
  EXPECT_EQ(tensor.data, bytes);
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(std::vector<int64_t>(tensor.shape, tensor.shape + tensor.ndim),
            (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(std::vector<int64_t>(tensor.strides, tensor.strides + tensor.ndim),
            (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(std::memcmp(tensor.data, right, sizeof(right)), 0);
  // As one of another library's it goes back in.
  EXPECT_EQ(DLPackArray::take("again", given, run)->array().dtype, DLC_F32);
}

TEST_F(DLPack, GoesInAndOut) {
  predictOn<DLManagedTensor>(*run, image.data(), 0);
  predictOn<Versioned>(*run, image.data(), 1);
}

TEST_F(DLPack, MapsDtypes) {
  const std::pair<DLDataType, dlc_dtype> all[] = {
      {{kDLFloat, 32, 1}, DLC_F32},   {{kDLFloat, 64, 1}, DLC_F64}, {{kDLFloat, 16, 1}, DLC_F16},
      {{kDLBfloat, 16, 1}, DLC_BF16}, {{kDLInt, 32, 1}, DLC_I32},   {{kDLInt, 64, 1}, DLC_I64},
      {{kDLUInt, 8, 1}, DLC_U8},      {{6, 8, 1}, DLC_BOOL}};
  for (const auto &[given, expected] : all) {
    Foreign<DLManagedTensor> tensor({}, given, image.data());
    EXPECT_EQ(DLPackArray::take("x", &tensor.managed, *run)->array().dtype, expected);
    Tensor own{"x", expected, {}, std::vector<std::byte>(8)};
    DLManagedTensor *exported = dlpackOf<DLManagedTensor>(std::move(own));
    EXPECT_EQ(exported->dl_tensor.dtype.code, given.code);
    EXPECT_EQ(exported->dl_tensor.dtype.bits, given.bits);
    exported->deleter(exported);
  }
}

TEST_F(DLPack, SaysWhatIsWrong) {
  EXPECT_EQ(refusal([](auto &) {}), "taken");
  EXPECT_EQ(refusal([](auto &t) { t.managed.dl_tensor.device = {kDLCUDAHost, 0}; }), "taken");
  EXPECT_EQ(refusal([](auto &t) { t.managed.dl_tensor.device = {kDLCUDA, 1}; }),
            "tensor 'image' lies on CUDA device 1, the run is on the host: copy it there first");
  EXPECT_EQ(refusal([](auto &t) { t.managed.dl_tensor.device = {kDLMetal, 0}; }),
            "tensor 'image' lies on a device of DLPack's type 8; dlc takes memory of the host and "
            "of CUDA devices");
  EXPECT_EQ(refusal([](auto &t) { t.managed.dl_tensor.dtype.bits = 8; }),
            "tensor 'image' has a dtype that dlc has not; there are: float32, float64, float16, "
            "bfloat16, int32, int64, uint8, bool");
  EXPECT_EQ(refusal([](auto &t) { t.managed.dl_tensor.dtype.lanes = 2; }),
            "tensor 'image' has a dtype that dlc has not; there are: float32, float64, float16, "
            "bfloat16, int32, int64, uint8, bool");
  EXPECT_EQ(refusal([](auto &t) {
              t.strides = {16, 16, 1, 4};
              t.managed.dl_tensor.strides = t.strides.data();
            }),
            "tensor 'image' has gaps or is not row-major: make it contiguous first");
  EXPECT_EQ(refusal([](auto &t) { t.managed.dl_tensor.ndim = 9; }),
            "tensor 'image' has 9 axes, at most 8");
  EXPECT_EQ(refusal([](auto &t) { t.managed.version.major = 2; }),
            "tensor 'image' is of DLPack 2, which dlc does not know");
  EXPECT_EQ(
      DLPackArray::take("image", static_cast<DLManagedTensor *>(nullptr), *run).status().message(),
      "tensor 'image' is null");
  Foreign<Versioned> constant({2, 4}, float32, image.data());
  constant.managed.version = {1, 0};
  constant.managed.flags = 1;
  auto taken = DLPackArray::take("output", &constant.managed, *run);
  EXPECT_EQ(taken->output().status().message(), "tensor 'output' is read only");
}

} // namespace
