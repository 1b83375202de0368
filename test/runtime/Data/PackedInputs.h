// Packed pictures of other programs' making, and what is asked of all formats.
#ifndef DLC_TEST_RUNTIME_DATA_PACKEDINPUTS_H
#define DLC_TEST_RUNTIME_DATA_PACKEDINPUTS_H

#include "runtime/Data/Dataset.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace dlc::test {

/// What make.py has packed.
inline std::string packed(std::string_view name) {
  return std::string(DLC_TEST_INPUTS "/packed/") + std::string(name);
}
inline std::string pictureFile(std::string_view name) {
  return std::string(DLC_TEST_INPUTS "/pictures/") + std::string(name);
}
inline constexpr const char *packedNames[] = {"colours.jpg", "grey.png", "lossy.webp",
                                              "palette.png", "progressive.jpg"};
inline const std::vector<int32_t> packedLabels = {3, 0, 7, 999, 1};

inline void writeText(const std::string &path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const auto bytes = std::as_bytes(std::span(text));
  writeFile(path, {bytes.begin(), bytes.end()});
}

inline std::string readText(const std::string &path) {
  const std::vector<std::byte> bytes = readFile(path);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Why there is no dataset, or "opened".
inline std::string openingOf(const std::string &description,
                             runtime::Split split = runtime::Split::Train) {
  const auto dataset = runtime::openDataset(description, split);
  return dataset.ok() ? "opened" : std::string(dataset.status().message());
}

/// The numbers of a sample's label, or why there are none.
inline std::string labelText(const runtime::Dataset &dataset, uint64_t index) {
  std::vector<std::byte> room;
  const auto at = runtime::sampleAt(dataset, index, 1, room);
  if (!at.ok())
    return std::string(at.status().message());
  std::string text;
  for (uint64_t i = 0; i < runtime::sampleBytes(dataset.fields()[1]) / sizeof(int32_t); ++i) {
    int32_t label = 0;
    std::memcpy(&label, *at + i * sizeof(label), sizeof(label));
    text += (i == 0 ? "" : " ") + std::to_string(label);
  }
  return text;
}

/// Bytes of a sample's picture, or why there are none.
inline std::string pictureOf(const runtime::Dataset &dataset, uint64_t index) {
  runtime::Picture picture;
  auto everything = [](uint32_t height, uint32_t width) {
    return runtime::PictureRequest{{0, 0, double(height), double(width)}, height, width};
  };
  auto region = dataset.readPicture(index, 0, everything, picture);
  if (!region.ok())
    return std::string(region.status().message());
  return {reinterpret_cast<const char *>(picture.bytes.data()), picture.bytes.size()};
}

/// The pictures as lists of files give them, and the labels, in their order: those that make.py
/// packed, `times` times.
inline void expectPacked(const std::string &description, unsigned times = 1) {
  SCOPED_TRACE(description);
  TemporaryFolder folder;
  std::string list;
  for (const char *name : packedNames)
    list += pictureFile(name) + " 0\n";
  writeText(folder.path("list.txt"), list);
  const auto expected =
      *runtime::openDataset("list:" + folder.path("list.txt"), runtime::Split::Train);
  const auto dataset = runtime::openDataset(description, runtime::Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  const uint64_t count = std::size(packedNames);
  ASSERT_EQ((*dataset)->size(), times * count);
  for (uint64_t i = 0; i < times * count; ++i) {
    EXPECT_EQ(labelText(**dataset, i), std::to_string(packedLabels[i % count])) << i;
    EXPECT_EQ(pictureOf(**dataset, i), pictureOf(*expected, i % count)) << i;
    EXPECT_EQ(labelText(**dataset, i), std::to_string(packedLabels[i % count])) << i;
  }
}

} // namespace dlc::test

#endif
