// The hashes of ModuleFile.h, on xxHash.
#include "runtime/Core/ModuleFile.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dlc::runtime {

void hashWithHole(std::span<const std::byte> content, uint64_t hole, uint8_t out[16]) {
  static constexpr std::byte zeros[16] = {};
  const uint64_t before = std::min<uint64_t>(hole, content.size());
  const uint64_t after = std::min<uint64_t>(before + sizeof(zeros), content.size());
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, content.data(), before);
  XXH3_128bits_update(&state, zeros, after - before);
  XXH3_128bits_update(&state, content.data() + after, content.size() - after);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  std::memcpy(out, canonical.digest, 16);
}

void hashBytes(std::span<const std::byte> content, uint8_t out[16]) {
  hashWithHole(content, content.size(), out);
}

std::string hexadecimal(std::span<const uint8_t, 16> hash) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : hash)
    (text += digits[byte >> 4]) += digits[byte & 15];
  return text;
}

uint32_t hashName(std::string_view name) {
  return static_cast<uint32_t>(XXH3_64bits(name.data(), name.size()));
}

} // namespace dlc::runtime
