// Deflate by zlib; shuffle and Fletcher's sum as H5Zshuffle.c and H5checksum.c define them.
#include "runtime/Data/Hdf5/Filters.h"
#include "runtime/Core/Support.h"

#include <cstring>
#include <span>
#include <zlib.h>

namespace dlc::runtime {
namespace {

constexpr uint64_t sumBytes = 4;

/// All first bytes of elements stand together, then all second ones; what is no whole element is
/// behind them.
std::vector<std::byte> unshuffle(std::span<const std::byte> from, uint64_t elementBytes) {
  std::vector<std::byte> elements(from.begin(), from.end());
  const uint64_t count = from.size() / elementBytes;
  for (uint64_t byte = 0; byte < elementBytes; ++byte)
    for (uint64_t i = 0; i < count; ++i)
      elements[i * elementBytes + byte] = from[byte * count + i];
  return elements;
}

Status inflate(uint64_t most, std::vector<std::byte> &chunk) {
  // DEFLATE makes of a byte no more than 1,032.
  constexpr uint64_t bestRatio = 1032;
  if (most / bestRatio > chunk.size())
    return damaged("is too short to be inflated to ", most, " bytes");
  std::vector<std::byte> inflated;
  DLC_TRY(reserveRoom(inflated, most));
  inflated.resize(most);
  uLongf got = most;
  if (uncompress(reinterpret_cast<Bytef *>(inflated.data()), &got,
                 reinterpret_cast<const Bytef *>(chunk.data()), chunk.size()) != Z_OK)
    return damaged("cannot be inflated");
  inflated.resize(got);
  chunk = std::move(inflated);
  return {};
}

/// Of words of 16 bits, big-endian, the last of which may lack its half.
uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr uint64_t mostWords = 360; // that cannot overflow
  uint32_t low = 0, high = 0;
  auto fold = [](uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  for (uint64_t at = 0, words = 0; at < bytes.size(); at += 2) {
    const auto upper = std::to_integer<uint32_t>(bytes[at]),
               lower = at + 1 < bytes.size() ? std::to_integer<uint32_t>(bytes[at + 1]) : 0;
    low += upper << 8 | lower;
    high += low;
    if (++words == mostWords || at + 2 >= bytes.size()) {
      low = fold(low);
      high = fold(high);
      words = 0;
    }
  }
  return fold(high) << 16 | fold(low);
}

Status takeSum(std::vector<std::byte> &chunk) {
  if (chunk.size() < sumBytes)
    return damaged("has ", chunk.size(), " bytes, and no checksum");
  uint32_t sum;
  std::memcpy(&sum, chunk.data() + chunk.size() - sumBytes, sumBytes);
  chunk.resize(chunk.size() - sumBytes);
  return sum == fletcher32(chunk) ? Status() : damaged("has a wrong checksum");
}

} // namespace

Status undoFilters(const std::vector<Hdf5Filter> &filters, uint32_t skipped, uint64_t bytes,
                   uint64_t elementBytes, std::vector<std::byte> &chunk) {
  for (size_t i = filters.size(); i-- > 0;) {
    if (skipped >> i & 1)
      continue;
    if (filters[i] == Hdf5Filter::Shuffle)
      chunk = unshuffle(chunk, elementBytes);
    else if (filters[i] == Hdf5Filter::Deflate)
      // Of those applied before each sum adds its bytes.
      DLC_TRY(inflate(bytes + sumBytes * i, chunk));
    else
      DLC_TRY(takeSum(chunk));
  }
  if (chunk.size() != bytes)
    return damaged("has ", chunk.size(), " bytes, expected ", bytes);
  return {};
}

} // namespace dlc::runtime
