// Classifies images of an IDX file with a trained LeNet, from C++: load the module, load the
// weights, run an entry. usage: lenet-classify lenet.so lenet.safetensors t10k-images-idx3-ubyte
// [COUNT]
#include "dlc/checkpoint.h"
#include "dlc/context.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace dlc::runtime;

namespace {

constexpr size_t pixels = 28 * 28, classes = 10;

/// A context for one image, with the weights of a checkpoint.
Result<std::unique_ptr<Context>> openModel(const char *modulePath, const char *weightsPath) {
  auto module = Module::load(modulePath);
  if (!module.ok())
    return module.takeStatus();
  auto device = openCpu();
  if (!device.ok())
    return device.takeStatus();
  auto state = State::create(*module, *device, /*seed=*/0);
  if (!state.ok())
    return state.takeStatus();
  auto weights = loadVariables(**state, weightsPath, LoadMode::Weights);
  if (!weights.ok())
    return weights.takeStatus();
  return Context::create(*state, "infer_n1");
}

/// Index of the largest score of an image.
Result<size_t> classify(Context &context, std::span<const float, pixels> image) {
  float scores[classes];
  Status status = context.bind(0, std::as_bytes(image));
  if (status.ok())
    status = context.run();
  if (status.ok())
    status = context.read(0, std::as_writable_bytes(std::span(scores)));
  if (!status.ok())
    return status;
  return static_cast<size_t>(std::max_element(scores, scores + classes) - scores);
}

void draw(std::span<const float, pixels> image) {
  for (size_t i = 0; i < pixels; i += 2) {
    std::putchar(" .:+#@"[static_cast<int>(image[i] * 5.99f)]);
    if ((i + 2) % 28 == 0)
      std::putchar('\n');
    if ((i + 2) % 56 == 0)
      i += 28; // characters are twice as high as wide
  }
}

Status run(char **arguments, int count) {
  auto context = openModel(arguments[1], arguments[2]);
  if (!context.ok())
    return context.takeStatus();
  std::ifstream file(arguments[3], std::ios::binary);
  file.seekg(16); // the header of an IDX file with three axes
  for (int i = 0; i < count; ++i) {
    char bytes[pixels];
    if (!file.read(bytes, pixels))
      return Status(StatusCode::Io, std::string(arguments[3]) + ": no image " + std::to_string(i));
    float image[pixels];
    std::transform(bytes, bytes + pixels, image,
                   [](char byte) { return static_cast<unsigned char>(byte) / 255.0f; });
    auto digit = classify(**context, image);
    if (!digit.ok())
      return digit.takeStatus();
    draw(image);
    std::printf("this is a %zu\n", *digit);
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: %s lenet.so lenet.safetensors t10k-images-idx3-ubyte [COUNT]\n",
                 argv[0]);
    return 2;
  }
  Status status = run(argv, argc == 5 ? std::atoi(argv[4]) : 3);
  if (status.ok())
    return 0;
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 1;
}
