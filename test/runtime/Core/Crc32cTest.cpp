// Checksums of TFRecord files.
#include "runtime/Core/Crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <vector>

namespace dlc::runtime {
namespace {

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(bytesOf("123456789")), 0xE3069283u);
  // RFC 3720, B.4.
  std::vector<unsigned char> bytes(32, 0);
  EXPECT_EQ(crc32c(std::as_bytes(std::span(bytes))), 0x8A9136AAu);
  bytes.assign(32, 0xFF);
  EXPECT_EQ(crc32c(std::as_bytes(std::span(bytes))), 0x62A8AB43u);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  EXPECT_EQ(crc32c(std::as_bytes(std::span(bytes))), 0x46DD794Eu);
}

// Bit by bit, for each length around the eight bytes that are taken at once.
TEST(Crc32c, IsThatOfTheRemainderBitByBit) {
  std::vector<unsigned char> bytes;
  for (unsigned length = 0; length < 40; ++length) {
    uint32_t rest = ~0u;
    for (const unsigned char byte : bytes)
      for (int bit = 0; bit < 8; ++bit)
        rest = (rest >> 1) ^ ((rest ^ (byte >> bit)) & 1 ? 0x82F63B78u : 0);
    EXPECT_EQ(crc32c(std::as_bytes(std::span(bytes))), ~rest) << length;
    bytes.push_back(static_cast<unsigned char>(length * 37 + 11));
  }
}

TEST(Crc32c, GoesOnBehindOtherBytes) {
  const std::string_view text = "The quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(bytesOf(text.substr(cut)), crc32c(bytesOf(text.substr(0, cut)))),
              crc32c(bytesOf(text)));
}

} // namespace
} // namespace dlc::runtime
