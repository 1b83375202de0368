// One element of any dtype to and from double.
#include "runtime/Core/Initialise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace dlc::runtime {

#if defined(__aarch64__)
using Half = __fp16; // GCC 12 has no other in C++ there
#else
using Half = _Float16;
#endif

template <typename T> static void put(T value, std::byte *out) {
  std::memcpy(out, &value, sizeof(T));
}
template <typename T> static T get(const std::byte *in) {
  T value;
  std::memcpy(&value, in, sizeof(T));
  return value;
}

template <typename T> static void putInteger(double value, std::byte *out) {
  if (std::isnan(value))
    return put<T>(0, out);
  value = std::nearbyint(value);
  // The upper limit of 64-bit integers rounds up to a double outside of them.
  if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits))
    return put(std::numeric_limits<T>::max(), out);
  put(static_cast<T>(std::max(value, static_cast<double>(std::numeric_limits<T>::min()))), out);
}

static uint16_t toBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float fromBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

void storeElement(dlc_dtype dtype, double value, std::byte *out) {
  switch (dtype) {
  case DLC_F32:
    return put(static_cast<float>(value), out);
  case DLC_F64:
    return put(value, out);
  case DLC_BF16:
    return put(toBfloat16(static_cast<float>(value)), out);
  case DLC_F16:
    return put(static_cast<Half>(value), out);
  case DLC_I32:
    return putInteger<int32_t>(value, out);
  case DLC_I64:
    return putInteger<int64_t>(value, out);
  case DLC_U8:
    return putInteger<uint8_t>(value, out);
  case DLC_BOOL:
    return put<uint8_t>(value != 0, out);
  }
}

double loadElement(dlc_dtype dtype, const std::byte *in) {
  switch (dtype) {
  case DLC_F32:
    return get<float>(in);
  case DLC_F64:
    return get<double>(in);
  case DLC_BF16:
    return fromBfloat16(get<uint16_t>(in));
  case DLC_F16:
    return static_cast<double>(get<Half>(in));
  case DLC_I32:
    return get<int32_t>(in);
  case DLC_I64:
    return static_cast<double>(get<int64_t>(in));
  case DLC_U8:
  case DLC_BOOL:
    return get<uint8_t>(in);
  }
  return 0;
}

template <typename T>
static void addEach(const std::byte *from, std::byte *to, uint64_t count, const auto &add) {
  for (uint64_t i = 0; i < count; ++i)
    put(static_cast<T>(add(get<T>(to + i * sizeof(T)), get<T>(from + i * sizeof(T)))),
        to + i * sizeof(T));
}

void addElements(dlc_dtype dtype, const std::byte *from, std::byte *to, uint64_t count) {
  auto sum = [](auto a, auto b) { return a + b; };
  switch (dtype) {
  case DLC_F32:
    return addEach<float>(from, to, count, sum);
  case DLC_F64:
    return addEach<double>(from, to, count, sum);
  case DLC_BF16:
    return addEach<uint16_t>(from, to, count, [](uint16_t a, uint16_t b) {
      return toBfloat16(fromBfloat16(a) + fromBfloat16(b));
    });
  case DLC_F16:
    return addEach<Half>(from, to, count, sum);
  default:
    return;
  }
}

std::optional<uint64_t> findNotFinite(dlc_dtype dtype, std::span<const std::byte> elements) {
  const uint64_t size = dtypeSize(dtype), count = isWhole(dtype) ? 0 : elements.size() / size;
  for (uint64_t i = 0; i < count; ++i)
    if (!std::isfinite(loadElement(dtype, elements.data() + i * size)))
      return i;
  return {};
}

/// A float is finite unless all bits of its exponent are set.
template <typename Bits>
static bool noneHasAll(Bits exponent, std::span<const std::byte> elements) {
  bool all = true;
  for (size_t at = 0; at + sizeof(Bits) <= elements.size(); at += sizeof(Bits))
    all &= (get<Bits>(elements.data() + at) & exponent) != exponent;
  return all;
}

bool allFinite(dlc_dtype dtype, std::span<const std::byte> elements) {
  switch (dtype) {
  case DLC_F32:
    return noneHasAll<uint32_t>(0x7f800000, elements);
  case DLC_F64:
    return noneHasAll<uint64_t>(0x7ff0000000000000, elements);
  case DLC_BF16:
    return noneHasAll<uint16_t>(0x7f80, elements);
  case DLC_F16:
    return noneHasAll<uint16_t>(0x7c00, elements);
  default:
    return true;
  }
}

} // namespace dlc::runtime
