// Any bytes as packed pictures, in each format: samples, or one line that says why there are none.
// Checksums are put right first, which nobody would hit by chance.
#include "runtime/Core/Crc32c.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Formats/Messages.h"
#include "runtime/Data/Formats/TarIndex.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace dlc::runtime;
using namespace dlc::test;

using Bytes = std::vector<std::byte>;

static void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "%s\n", what);
  __builtin_trap();
}

static void checkMessage(const Status &status) {
  require(status.ok() ||
              (!status.message().empty() && status.message().find('\n') == std::string_view::npos),
          "a message is not one line");
}

/// Of each block that says that it is a header.
static Bytes withTarChecksums(Bytes bytes) {
  for (size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (std::memcmp(&bytes[at + 257], "ustar", 5) != 0)
      continue;
    unsigned sum = 0;
    std::memset(&bytes[at + 148], ' ', 8);
    for (size_t i = 0; i < 512; ++i)
      sum += std::to_integer<unsigned>(bytes[at + i]);
    std::snprintf(reinterpret_cast<char *>(&bytes[at + 148]), 7, "%06o", sum);
  }
  return bytes;
}

static void setMasked(std::span<std::byte> bytes, size_t count) {
  const uint32_t crc = crc32c(bytes.first(count)), masked = (crc >> 15 | crc << 17) + 0xa282ead8;
  std::memcpy(&bytes[count], &masked, sizeof(masked));
}

static Bytes withRecordChecksums(Bytes bytes) {
  for (size_t at = 0; at + 12 <= bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, &bytes[at], sizeof(length));
    setMasked(std::span(bytes).subspan(at), 8);
    if (length > bytes.size() || at + 16 + length > bytes.size())
      break;
    setMasked(std::span(bytes).subspan(at + 12), length);
    at += 16 + length;
  }
  return bytes;
}

static void readAll(const std::string &description) {
  const auto dataset = openDataset(description, Split::Train);
  checkMessage(dataset.status());
  if (!dataset.ok())
    return;
  constexpr uint64_t mostSamples = 8;
  std::vector<std::byte> room;
  Picture picture;
  for (uint64_t i = 0; i < std::min((*dataset)->size(), mostSamples); ++i) {
    auto small = [](uint32_t height, uint32_t width) {
      return PictureRequest{{0, 0, double(height), double(width)}, 4, 4};
    };
    checkMessage((*dataset)->readPicture(i, 0, small, picture).status());
    checkMessage(sampleAt(**dataset, i, 1, room).status());
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const TemporaryFolder folder;
  const std::span input = std::as_bytes(std::span(data, size));
  const Bytes bytes(input.begin(), input.end());
  writeFile(folder.path("a.tar"), withTarChecksums(bytes));
  readAll("tar:" + folder.path("a.tar"));
  writeFile(folder.path("a.tfrecord"), withRecordChecksums(bytes));
  readAll("tfrecord:" + folder.path("a.tfrecord"));
  writeFile(folder.path("walked.rec"), bytes);
  readAll("recordio:" + folder.path("walked.rec"));
  // The index stands behind the last byte of 0, the records in front of it.
  const auto end = std::find(bytes.rbegin(), bytes.rend(), std::byte(0)).base();
  writeFile(folder.path("b.rec"), {bytes.begin(), end});
  writeFile(folder.path("b.idx"), {end, bytes.end()});
  readAll("recordio:" + folder.path("b.rec"));
  writeFile(folder.path("b.tar"), Bytes(4096));
  checkMessage(readTarIndex(folder.path("b.tar")).status());
  checkMessage(parseExample(input).status());
  checkMessage(parseDatum(input).status());
  return 0;
}
