// Memory of the program's on the CUDA device, on a fake CUDA runtime, which does what it is given
// in any order that streams and events allow: what the program's stream writes is read, and what it
// reads is written.
#include "dlc/context.h"
#include "runtime/Device/CUDA/CudaDevice.h"
#include "runtime/Training/Predictor.h"
#include "runtime/Training/Trainer.h"
#include "runtime/Training/Weights.h"
#include "test/runtime/Device/CUDA/FakeModel.h"

#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// Memory of the program's on the device that was chosen last, filled by commands of its stream.
template <typename T> struct ProgramArray {
  ProgramArray(std::string name, std::vector<uint64_t> shape, dlc_dtype dtype)
      : name(std::move(name)), shape(std::move(shape)), dtype(dtype) {
    void *start = nullptr;
    EXPECT_EQ(cudaMalloc(&start, TensorType{dtype, this->shape, {}}.logicalBytes()), cudaSuccess);
    data = static_cast<T *>(start);
  }
  ~ProgramArray() { cudaFree(data); }
  ProgramArray(const ProgramArray &) = delete;

  void fill(const std::vector<T> &values, const CudaStream &stream) {
    EXPECT_TRUE(issueFake(stream.get(), [to = data, values] {
      std::ranges::copy(values, to);
      return true;
    }));
  }
  /// When the stream has come so far.
  std::vector<T> values(const CudaStream &stream) const {
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    return {data, data + TensorType{dtype, shape, {}}.elementCount()};
  }
  Array array() const { return {name, dtype, shape, data, Place::Device}; }
  OutputArray output() const { return {name, dtype, shape, data, Place::Device}; }

  std::string name;
  std::vector<uint64_t> shape;
  dlc_dtype dtype;
  T *data = nullptr;
};

std::vector<float> someImages(size_t count, size_t seed) {
  std::vector<float> image(count * 16);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = float((i + seed) * 37 % 101) / 101;
  return image;
}

std::vector<int32_t> someLabels(size_t count, size_t seed) {
  std::vector<int32_t> label(count);
  for (size_t i = 0; i < label.size(); ++i)
    label[i] = int32_t((i + seed) % 4);
  return label;
}

class ProgramMemoryTest : public FakeCudaTest {
protected:
  void SetUp() override { begin(0); }

  void begin(uint64_t seed) {
    stream = CudaStream();
    FakeCudaTest::begin(seed);
    ASSERT_EQ(cudaStreamCreateWithFlags(stream.out(), cudaStreamNonBlocking), cudaSuccess);
  }

  std::shared_ptr<State> makeState() {
    auto module = loadOnFake(folder.path("x" + std::to_string(files++) + ".so"), cudaModel());
    auto state = State::create(std::move(module), CudaDevice::open({}).take(), 3).take();
    state->setStream(stream.get());
    return state;
  }

  /// Losses of six steps, and the weights behind them.
  std::vector<float> valuesOf(bool there) {
    std::vector<float> values;
    auto state = makeState();
    auto trainer = Trainer::create(state, nullptr, nullptr, {}, {}, {}).take();
    ProgramArray<float> image("image", {8, 1, 4, 4}, DLC_F32);
    ProgramArray<int32_t> label("label", {8}, DLC_I32);
    for (size_t step = 0; step < 6; ++step) {
      const auto pixels = someImages(8, step);
      const auto classes = someLabels(8, step);
      image.fill(pixels, stream);
      label.fill(classes, stream);
      const std::vector<Array> arrays =
          there ? std::vector<Array>{image.array(), label.array()}
                : std::vector<Array>{{"image", DLC_F32, image.shape, pixels.data()},
                                     {"label", DLC_I32, label.shape, classes.data()}};
      EXPECT_TRUE(trainer->bind(*ArrayBatches(trainer->entry()).take(arrays)).ok());
      auto report = trainer->step(/*has=*/true, 1);
      EXPECT_TRUE(report.ok()) << report.status().message();
      if (report.ok())
        values.push_back(float(report->batch[0].second.number));
    }
    std::vector<float> weight(64);
    EXPECT_TRUE(state->read(0, std::as_writable_bytes(std::span(weight))).ok());
    values.insert(values.end(), weight.begin(), weight.end());
    return values;
  }

  /// Whole batches and the rest of one, from the device and to it.
  void predict() {
    auto predictor = Predictor::create(makeState(), "evaluate").take();
    for (uint64_t samples : {8, 13, 11, 3}) {
      const auto pixels = someImages(samples, samples);
      const auto classes = someLabels(samples, samples);
      ProgramArray<float> image("image", {samples, 1, 4, 4}, DLC_F32);
      ProgramArray<int32_t> label("label", {samples}, DLC_I32);
      ProgramArray<float> output("output", {samples, 4}, DLC_F32);
      image.fill(pixels, stream);
      label.fill(classes, stream);
      std::vector<float> right(samples * 4);
      const std::vector<OutputArray> onHost = {{"output", DLC_F32, {samples, 4}, right.data()}};
      ASSERT_TRUE(predictor
                      ->run(std::vector<Array>{{"image", DLC_F32, image.shape, pixels.data()},
                                               {"label", DLC_I32, label.shape, classes.data()}},
                            onHost)
                      .ok());
      const std::vector<OutputArray> onDevice = {output.output()};
      Status ran = predictor->run(std::vector<Array>{image.array(), label.array()}, onDevice);
      ASSERT_TRUE(ran.ok()) << ran.message();
      EXPECT_EQ(output.values(stream), right) << samples << " samples";
      // And from one side to the other.
      std::ranges::fill(right, 0.0f);
      ASSERT_TRUE(predictor->run(std::vector<Array>{image.array(), label.array()}, onHost).ok());
      EXPECT_EQ(output.values(stream), right);
    }
  }

  /// From the variables to a block of the device, and back.
  void copyWeights() {
    auto state = makeState();
    ProgramArray<float> block("weights", {68}, DLC_F32);
    const std::span there = std::as_writable_bytes(std::span(block.data, 68));
    std::vector<float> onHost(68), other(68);
    ASSERT_TRUE(readWeights(*state, std::as_writable_bytes(std::span(onHost)), Place::Host).ok());
    block.fill(other, stream);
    ASSERT_TRUE(readWeights(*state, there, Place::Device).ok());
    EXPECT_EQ(block.values(stream), onHost);

    for (size_t i = 0; i < other.size(); ++i)
      other[i] = float(i);
    block.fill(other, stream);
    ASSERT_TRUE(writeWeights(*state, there, Place::Device).ok());
    block.fill(std::vector<float>(68), stream); // Behind the copy.
    ASSERT_TRUE(readWeights(*state, std::as_writable_bytes(std::span(onHost)), Place::Host).ok());
    EXPECT_EQ(onHost, other);
    EXPECT_EQ(readWeights(*state, there.first(3), Place::Device).message(),
              "the weights have 272 bytes, the block 3");
  }

  TemporaryFolder folder;
  /// A module's name is its own, as that of another test may still be loaded.
  unsigned files = 0;
  /// The program's.
  CudaStream stream;
};

// Steps on arrays of the device are those on arrays of the host, recorded and replayed as those
// are; each is copied within the device, between what the program's stream has and what it is given
// next.
TEST_F(ProgramMemoryTest, TrainsOnMemoryOfTheDevice) {
  std::vector<float> onHost;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    for (bool there : {false, true}) {
      begin(seed);
      const std::vector<float> found = valuesOf(there);
      onHost = onHost.empty() ? found : onHost;
      EXPECT_EQ(found, onHost) << "seed " << seed << (there ? ", on the device" : ", on the host");
      EXPECT_EQ(fakeCuda().captures, 2u);
      EXPECT_EQ(fakeCuda().used, 0u) << "all memory was given back";
    }
}

// The classes of samples on the device are checked as those of the host's.
TEST_F(ProgramMemoryTest, ChecksClassesOfTheDevice) {
  auto state = makeState();
  auto trainer = Trainer::create(state, nullptr, nullptr, {}, {}, {}).take();
  ProgramArray<float> image("image", {8, 1, 4, 4}, DLC_F32);
  ProgramArray<int32_t> label("label", {8}, DLC_I32);
  image.fill(someImages(8, 1), stream);
  label.fill({0, 1, 2, 3, 4, 0, 0, 0}, stream);
  const std::vector<Array> arrays = {image.array(), label.array()};
  ASSERT_TRUE(trainer->bind(*ArrayBatches(trainer->entry()).take(arrays)).ok());
  EXPECT_EQ(trainer->step(/*has=*/true, 1).status().message(),
            "entry 'train_step': sample 4 of input 'label' is 4, its classes are 0 to 3");
}

// Any number of samples, whole batches and the rest of one, from the device and to it.
TEST_F(ProgramMemoryTest, PredictsOnMemoryOfTheDevice) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    predict();
  }
}

TEST_F(ProgramMemoryTest, CopiesWeightsOnTheDevice) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    copyWeights();
  }
}

// One line says where memory lies that lies elsewhere, before anything was copied.
TEST_F(ProgramMemoryTest, SaysWhereMemoryLies) {
  fakeCuda().devices = 2;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ProgramArray<float> other("image", {1, 1, 4, 4}, DLC_F32);
  auto state = makeState();
  EXPECT_EQ(cudaOrdinal(*state->device()), 0);
  EXPECT_EQ(cudaOrdinal(*openCpu({.threads = 1}).take()), std::nullopt);
  auto predictor = Predictor::create(state, "infer_n1").take();
  ProgramArray<float> image("image", {1, 1, 4, 4}, DLC_F32), output("output", {1, 4}, DLC_F32);
  image.fill(someImages(1, 1), stream);
  std::vector<float> onHost(16);
  auto refusal = [&](const Array &input, const OutputArray &result) {
    Status ran = predictor->run(std::vector<Array>{input}, std::vector<OutputArray>{result});
    return std::string(ran.message());
  };
  EXPECT_EQ(refusal(image.array(), output.output()), "");
  EXPECT_EQ(refusal({"image", DLC_F32, image.shape, onHost.data(), Place::Device}, output.output()),
            "array 'image': lies on the host, and is said to lie on the device");
  EXPECT_EQ(refusal({"image", DLC_F32, image.shape, image.data}, output.output()),
            "array 'image': lies on CUDA device 0, and is said to lie on the host");
  EXPECT_EQ(refusal(other.array(), output.output()),
            "array 'image': lies on CUDA device 1, the run is on device 0");
  EXPECT_EQ(refusal(image.array(), {"output", DLC_F32, {1, 4}, onHost.data(), Place::Device}),
            "array 'output': lies on the host, and is said to lie on the device");
  ProgramArray<float> block("weights", {68}, DLC_F32);
  const std::span there = std::as_bytes(std::span(block.data, 68));
  EXPECT_EQ(writeWeights(*state, there, Place::Host).message(),
            "the block of weights: lies on CUDA device 0, and is said to lie on the host");
  EXPECT_EQ(
      state->read(1, std::as_writable_bytes(std::span(onHost).first(4)), Place::Device).message(),
      "the memory for variable 'linear1.bias': lies on the host, and is said to lie on the device");

  auto context = Context::create(state, "evaluate").take();
  EXPECT_EQ(context->bind(2, std::as_bytes(std::span(image.data, 1)), Place::Device).message(),
            "entry 'evaluate': input 'valid' is read on the host");

  // A stream that records a graph would take the run into it.
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(refusal(image.array(), output.output()),
            "the program's stream records a graph, and a run cannot be part of it");
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  EXPECT_EQ(refusal(image.array(), output.output()), "");
}

} // namespace
