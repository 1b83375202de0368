// make-digits: renders handwritten-like digits into IDX files named as MNIST's, so that a first
// model can be trained without a download. The same flags give the same bytes.
#include "dlc/version.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "tools/CommandLine/CommandLine.h"
#include "tools/CommandLine/RunTool.h"
#include "tools/make-digits/Render.h"

#include <cstdio>
#include <filesystem>

using namespace dlc;

namespace {

struct Flags {
  std::string folder;
  uint32_t train = 12000, test = 2000;
  uint64_t seed = 0;
  std::string sheet;
};

void appendBigEndian(std::vector<std::byte> &out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(value >> shift));
}

/// Images and labels of one set, as two IDX files.
runtime::Status writeSet(const Flags &flags, const char *prefix, uint32_t set, uint32_t count) {
  std::vector<std::byte> images, labels;
  images.reserve(16 + size_t(count) * digits::imageSide * digits::imageSide);
  for (uint32_t word :
       {0x00000803u, count, uint32_t(digits::imageSide), uint32_t(digits::imageSide)})
    appendBigEndian(images, word);
  for (uint32_t word : {0x00000801u, count})
    appendBigEndian(labels, word);
  for (uint32_t i = 0; i < count; ++i) {
    const int digit = digits::digitOf(flags.seed, set, i);
    const digits::Image image = digits::renderDigit(digit, flags.seed, set, i);
    const auto *bytes = reinterpret_cast<const std::byte *>(image.data());
    images.insert(images.end(), bytes, bytes + image.size());
    labels.push_back(static_cast<std::byte>(digit));
  }
  const std::string path = flags.folder + "/" + prefix;
  DLC_TRY(runtime::writeFile(path + "-images-idx3-ubyte", images));
  return runtime::writeFile(path + "-labels-idx1-ubyte", labels);
}

/// A portable grey map with 20 samples of each digit, a row each, for the eye.
runtime::Status writeSheet(const Flags &flags) {
  constexpr size_t columns = 20, side = digits::imageSide, width = columns * side;
  std::string text = runtime::concat("P5\n", width, " ", 10 * side, "\n255\n");
  std::vector<std::byte> content(text.size() + width * 10 * side);
  std::copy_n(reinterpret_cast<const std::byte *>(text.data()), text.size(), content.begin());
  for (size_t digit = 0; digit < 10; ++digit)
    for (size_t column = 0; column < columns; ++column) {
      const digits::Image image =
          digits::renderDigit(int(digit), flags.seed, 2, uint32_t(digit * columns + column));
      for (size_t i = 0; i < image.size(); ++i)
        content[text.size() + (digit * side + i / side) * width + column * side + i % side] =
            std::byte(image[i]);
    }
  return runtime::writeFile(flags.sheet, content);
}

runtime::Status run(const Flags &flags) {
  std::error_code error;
  std::filesystem::create_directories(flags.folder, error);
  if (error)
    return runtime::failure(runtime::StatusCode::Io, flags.folder,
                            ": cannot create the folder: ", error.message());
  DLC_TRY(writeSet(flags, "train", 0, flags.train));
  DLC_TRY(writeSet(flags, "t10k", 1, flags.test));
  std::printf("%s: %u training and %u test images of 28x28\n", flags.folder.c_str(), flags.train,
              flags.test);
  return flags.sheet.empty() ? runtime::Status() : writeSheet(flags);
}

runtime::Result<int> parseAndRun(int argc, char **argv) {
  Flags flags;
  CLI::App app("Renders handwritten-like digits into IDX files named as MNIST's.", "make-digits");
  app.add_option("folder", flags.folder, "folder to write to; made if it is not there")
      ->required()
      ->type_name("DIR");
  app.add_option("--train", flags.train, "training images; default: 12000")
      ->type_name("N")
      ->check(tool::wholeNumber(1, 10'000'000));
  app.add_option("--test", flags.test, "test images; default: 2000")
      ->type_name("N")
      ->check(tool::wholeNumber(1, 10'000'000));
  app.add_option("--seed", flags.seed, "seed; default: 0")
      ->type_name("N")
      ->check(tool::wholeNumber(0));
  app.add_option("--sheet", flags.sheet, "also write samples of each digit as one PGM picture")
      ->type_name("FILE");
  app.set_version_flag("--version", "make-digits " DLC_VERSION);
  const auto noAdvice = [](const std::string &) { return std::string(); };
  if (const auto exitCode = tool::readCommandLine(app, argc, argv, noAdvice))
    return *exitCode;
  DLC_TRY(run(flags));
  return tool::Done;
}

} // namespace

int main(int argc, char **argv) {
  return tool::runTool([&] { return parseAndRun(argc, argv); });
}
