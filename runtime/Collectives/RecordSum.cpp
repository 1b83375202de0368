// Packing of blocks.
#include "runtime/Collectives/RecordSum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace dlc::runtime {
namespace {

template <typename T> void put(std::byte *&to, const T &value) {
  std::memcpy(to, &value, sizeof(T));
  to += sizeof(T);
}

template <typename T> T take(const std::byte *&from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  from += sizeof(T);
  return value;
}

/// A bit for each element, and what it stands for: the means of both kinds. What is not a number
/// makes one of them none.
struct OneBit {
  /// How many numbers a packed block begins with.
  static size_t keptOf(uint64_t) { return 2; }
  static uint64_t bytesOf(uint64_t count) {
    return keptOf(count) * sizeof(float) + (count + 7) / 8;
  }

  static bool bitOf(float value) { return !(value < 0); }

  /// `values` becomes what is left out.
  static void pack(std::span<float> values, std::byte *to) {
    double sums[2] = {};
    unsigned counts[2] = {};
    for (float value : values) {
      sums[bitOf(value)] += value;
      ++counts[bitOf(value)];
    }
    float means[2];
    for (int bit : {0, 1})
      put(to, means[bit] = static_cast<float>(sums[bit] / std::max(counts[bit], 1u)));
    for (size_t i = 0; i < values.size(); i += 8) {
      unsigned bits = 0;
      for (size_t k = i; k < std::min(i + 8, values.size()); ++k) {
        const bool bit = bitOf(values[k]);
        bits |= unsigned(bit) << (k - i);
        values[k] -= means[bit];
      }
      *to++ = std::byte(bits);
    }
  }

  static void add(const std::byte *from, std::span<float> sums) {
    float means[2];
    for (float &mean : means)
      mean = take<float>(from);
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += means[std::to_integer<unsigned>(from[i / 8]) >> (i % 8) & 1];
  }
};

/// The elements of greatest magnitude, and their places.
struct TopK {
  static size_t keptOf(uint64_t count) { return std::min<uint64_t>(DLC_SUM_TOP, count); }
  static uint64_t bytesOf(uint64_t count) {
    return keptOf(count) * (sizeof(float) + sizeof(uint16_t));
  }

  static void pack(std::span<float> values, std::byte *to) {
    // What is not a number goes first, so that the others hear of it.
    auto magnitude = [&](uint16_t i) {
      return std::isnan(values[i]) ? std::numeric_limits<float>::infinity() : std::abs(values[i]);
    };
    uint16_t places[DLC_SUM_BLOCK];
    uint16_t *const kept = places + keptOf(values.size());
    std::iota(places, places + values.size(), uint16_t(0));
    std::nth_element(places, kept, places + values.size(), [&](uint16_t a, uint16_t b) {
      return magnitude(a) != magnitude(b) ? magnitude(a) > magnitude(b) : a < b;
    });
    std::sort(places, kept);
    for (const uint16_t *place = places; place != kept; ++place)
      put(to, std::exchange(values[*place], 0.0f));
    for (const uint16_t *place = places; place != kept; ++place)
      put(to, *place);
  }

  static void add(const std::byte *from, std::span<float> sums) {
    const size_t kept = keptOf(sums.size());
    const std::byte *places = from + kept * sizeof(float);
    for (size_t i = 0; i < kept; ++i) {
      const auto value = take<float>(from);
      sums[take<uint16_t>(places)] += value;
    }
  }
};

/// Calls `body` with each block of `numbers` and where it is packed.
template <typename Packing, typename Byte, typename Body>
void forEachBlock(std::span<float> numbers, Byte *packed, const Body &body) {
  for (size_t i = 0; i < numbers.size(); i += DLC_SUM_BLOCK) {
    const auto block = numbers.subspan(i, std::min<size_t>(DLC_SUM_BLOCK, numbers.size() - i));
    body(block, packed);
    packed += Packing::bytesOf(block.size());
  }
}

/// Whether what was packed for `numbers` was finite.
template <typename Packing> bool isFinite(std::span<float> numbers, const std::byte *packed) {
  bool all = true;
  forEachBlock<Packing>(numbers, packed, [&](auto block, const std::byte *from) {
    for (size_t i = 0; i < Packing::keptOf(block.size()); ++i)
      all &= std::isfinite(take<float>(from));
  });
  return all;
}

template <typename Packing> uint64_t packedBytes(uint64_t count) {
  return count / DLC_SUM_BLOCK * Packing::bytesOf(DLC_SUM_BLOCK) +
         (count % DLC_SUM_BLOCK != 0 ? Packing::bytesOf(count % DLC_SUM_BLOCK) : 0);
}

} // namespace

uint64_t bytesSent(dlc_collective kind, uint64_t bytes) {
  switch (kind) {
  case DLC_COLLECTIVE_SUM_ONE_BIT:
    return packedBytes<OneBit>(bytes / sizeof(float));
  case DLC_COLLECTIVE_SUM_TOP_K:
    return packedBytes<TopK>(bytes / sizeof(float));
  case DLC_COLLECTIVE_SUM:
    break;
  }
  return bytes;
}

Result<Transport::Ticket> RecordSum::start(Transport &ranks, uint32_t channel, dlc_dtype dtype,
                                           std::span<std::byte> buffer, std::span<float> residual,
                                           Collective::Times *times) {
  if (ranks.addsNothing())
    std::ranges::fill(buffer, std::byte(0));
  if (kind == DLC_COLLECTIVE_SUM || ranks.ranks() == 1)
    return ranks.start({Collective::Kind::Sum, channel, dtype, buffer, times});
  numbers = {reinterpret_cast<float *>(buffer.data()), buffer.size() / sizeof(float)};
  const uint64_t piece = bytesSent(kind, buffer.size());
  packed.resize(piece * ranks.ranks());
  // Zeros leave nothing out.
  left = ranks.addsNothing() ? std::span<float>() : residual;
  for (size_t i = 0; i < left.size(); ++i)
    numbers[i] += left[i];
  std::byte *const own = packed.data() + piece * ranks.rank();
  if (kind == DLC_COLLECTIVE_SUM_ONE_BIT)
    forEachBlock<OneBit>(numbers, own, OneBit::pack);
  else
    forEachBlock<TopK>(numbers, own, TopK::pack);
  return ranks.start({Collective::Kind::Gather, channel, DLC_U8, packed, times});
}

template <typename Packing> void RecordSum::addUp() {
  const size_t piece = packedBytes<Packing>(numbers.size());
  auto forEachRank = [&](const auto &body) {
    for (size_t at = 0; at < packed.size(); at += piece)
      body(std::as_const(packed).data() + at);
  };
  bool allFinite = true;
  forEachRank([&](const std::byte *of) { allFinite &= isFinite<Packing>(numbers, of); });
  if (allFinite)
    std::ranges::copy(numbers.first(left.size()), left.begin());
  std::ranges::fill(numbers, 0.0f);
  forEachRank([&](const std::byte *of) {
    forEachBlock<Packing>(numbers, of, [](auto sums, auto *at) { Packing::add(at, sums); });
  });
}

void RecordSum::finish() {
  if (packed.empty())
    return; // It was not compressed.
  if (kind == DLC_COLLECTIVE_SUM_ONE_BIT)
    addUp<OneBit>();
  else
    addUp<TopK>();
}

} // namespace dlc::runtime
