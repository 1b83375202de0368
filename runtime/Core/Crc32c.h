// CRC32C (Castagnoli): the checksum of TFRecord files and of iSCSI (RFC 3720, appendix B.4), eight
// bytes at a time (Kounavis, Berry: A systematic approach to building high performance, software
// based CRC generators; ISCC 2005).
#ifndef DLC_RUNTIME_CORE_CRC32C_H
#define DLC_RUNTIME_CORE_CRC32C_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dlc::runtime {

/// tables[i][b]: what a byte b does to the remainder with i zero bytes behind it.
using Crc32cTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Crc32cTables makeCrc32cTables() {
  Crc32cTables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ (rest & 1 ? 0x82F63B78u : 0);
    tables[0][byte] = rest;
  }
  for (size_t i = 1; i < tables.size(); ++i)
    for (uint32_t byte = 0; byte < 256; ++byte)
      tables[i][byte] = (tables[i - 1][byte] >> 8) ^ tables[0][tables[i - 1][byte] & 0xFF];
  return tables;
}

inline constexpr Crc32cTables crc32cTables = makeCrc32cTables();

/// Of `bytes`, behind others whose checksum is `seed`.
inline uint32_t crc32c(std::span<const std::byte> bytes, uint32_t seed = 0) {
  const Crc32cTables &tables = crc32cTables;
  auto at = [&](size_t i) { return std::to_integer<uint32_t>(bytes[i]); };
  uint32_t rest = ~seed;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    rest ^= at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
    rest = tables[7][rest & 0xFF] ^ tables[6][(rest >> 8) & 0xFF] ^ tables[5][(rest >> 16) & 0xFF] ^
           tables[4][rest >> 24] ^ tables[3][at(4)] ^ tables[2][at(5)] ^ tables[1][at(6)] ^
           tables[0][at(7)];
  }
  for (size_t i = 0; i < bytes.size(); ++i)
    rest = (rest >> 8) ^ tables[0][(rest ^ at(i)) & 0xFF];
  return ~rest;
}

} // namespace dlc::runtime

#endif
