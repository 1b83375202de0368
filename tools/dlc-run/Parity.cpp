// Errors and their limits.
#include "tools/dlc-run/Parity.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace dlc::runtime::tool {

static std::span<const dlc_argument> argumentsOf(const Plan &plan, const dlc_record &record) {
  return std::span(plan.arguments).subspan(record.arguments.first, record.arguments.count);
}

/// Whether all floats of a record are f64, of which it has some.
static bool isWide(const Plan &plan, const dlc_record &record) {
  auto has = [&](dlc_dtype dtype) {
    return std::ranges::any_of(argumentsOf(plan, record), [&](const dlc_argument &argument) {
      return argument.dtype == dtype;
    });
  };
  return has(DLC_F64) && !has(DLC_F32) && !has(DLC_BF16) && !has(DLC_F16);
}

/// Elements that a record writes, of the size of what it computes in.
static double elementsWritten(const Plan &plan, const dlc_record &record) {
  double written = 0;
  for (const dlc_argument &argument : argumentsOf(plan, record))
    if (argument.access & DLC_WRITE)
      written += static_cast<double>(argument.bytes);
  const size_t size = isWide(plan, record) ? sizeof(double) : sizeof(float);
  return std::max(written / static_cast<double>(size), 1.0);
}

/// By how much a record's arithmetic rounds.
static double roundoffOf(const Plan &plan, const dlc_record &record) {
  return isWide(plan, record) ? 0x1p-53 : 0x1p-24;
}

bool computesInF64(const Plan &plan) {
  return std::ranges::any_of(plan.records,
                             [&](const dlc_record &record) { return isWide(plan, record); });
}

/// Terms of the sums that each record of an entry makes. The phases of a kernel follow each other:
/// their arithmetic belongs to what the last one writes, the others have 0. So it is with launches
/// that take the part of a library call.
static std::vector<double> termsOfRecords(const Plan &plan, const EntryInfo &entry) {
  const uint32_t end = entry.records.first + entry.records.count;
  std::vector<double> terms(entry.records.count, 0);
  for (uint32_t i = entry.records.first; i < end;) {
    double flops = 0;
    const uint32_t first = i;
    uint32_t last = i;
    do {
      if (plan.records[i].condition == DLC_IF_REFUSED)
        continue;
      flops += static_cast<double>(plan.records[i].flops);
      last = i;
    } while (++i < end && plan.recordNames[i] == plan.recordNames[first]);
    const double each = std::max(1.0, flops / 2 / elementsWritten(plan, plan.records[last]));
    terms[last - entry.records.first] = terms[i - 1 - entry.records.first] = each;
  }
  return terms;
}

bool roundsToTf32(const Plan &plan) {
  return std::ranges::any_of(
      plan.calls, [](const dlc_library_call &call) { return call.math == DLC_MATH_TF32; });
}

static bool roundsToTf32(const Plan &plan, const dlc_record &record) {
  return record.kind == DLC_RECORD_LIBRARY && plan.calls[record.index].math == DLC_MATH_TF32;
}

/// What rounding both operands to TF32 adds to the square of the error of what a library call
/// makes.
static double tf32Square(const Plan &plan, const dlc_record &record) {
  constexpr double roundoff = 0x1p-11;
  return roundsToTf32(plan, record) ? 2 * roundoff * roundoff : 0;
}

/// The same, and what the elements behind it add that take another branch for it.
static double tf32Error(const Plan &plan, const dlc_record &record) {
  constexpr double branches = 0x1p-11 / 64;
  return roundsToTf32(plan, record) ? tf32Square(plan, record) + branches : 0;
}

double ownError(const Plan &plan, const EntryInfo &entry) {
  const std::vector<double> terms = termsOfRecords(plan, entry);
  double squares = 0;
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const dlc_record &record = plan.records[entry.records.first + i];
    if (record.condition != DLC_IF_REFUSED)
      squares += std::pow(roundoffOf(plan, record), 2) * terms[i] + tf32Error(plan, record);
  }
  return std::sqrt(squares);
}

Roundings::Roundings(const Plan &plan, const EntryInfo &entry)
    : plan(plan), entry(entry), terms(termsOfRecords(plan, entry)) {}

/// The most terms that are summed to make a buffer, or of it before it is overwritten; at least as
/// many as give four roundings, since functions such as tanh are off by up to three (see
/// MathPolynomials.cpp) and rarely stand alone.
double Roundings::termsBehind(uint32_t record, const dlc_argument &argument) const {
  auto meets = [&](const dlc_argument &other) {
    return other.space == argument.space && other.offset < argument.offset + argument.bytes &&
           argument.offset < other.offset + other.bytes;
  };
  constexpr double leastTerms = 16;
  double most = std::max(leastTerms, terms[record - entry.records.first]);
  for (uint32_t i = record + 1; i < entry.records.first + entry.records.count; ++i) {
    const dlc_range range = plan.records[i].arguments;
    for (const dlc_argument &other : std::span(plan.arguments).subspan(range.first, range.count)) {
      if (!meets(other))
        continue;
      if (other.access == DLC_WRITE)
        return most;
      most = std::max(most, terms[i - entry.records.first]);
    }
  }
  return most;
}

/// Multiplies each element by 1 + size or 1 - size, by chance.
template <typename T>
static void moveEach(std::span<std::byte> written, double size, uint64_t seed, uint32_t record) {
  constexpr uint32_t wordBits = 32, drawBits = 4 * wordBits;
  PhiloxWords signs{};
  for (uint32_t i = 0; i < written.size() / sizeof(T); ++i) {
    if (i % drawBits == 0)
      signs = philox(seed, {i / drawBits, record, 0, hashName("rounding")});
    const bool up = signs[i % drawBits / wordBits] >> i % wordBits & 1;
    T value;
    std::memcpy(&value, written.data() + i * sizeof(T), sizeof(T));
    value *= static_cast<T>(1 + (up ? size : -size));
    std::memcpy(written.data() + i * sizeof(T), &value, sizeof(T));
  }
}

/// Moves numbers of 16 bits to a neighbour with `probability`, by chance up or down. Zeros stay,
/// and what has no finite neighbour.
static void moveSome(std::span<std::byte> written, double probability, uint16_t infinityBits,
                     uint64_t seed, uint32_t record) {
  constexpr double draws = 0x1p31;
  PhiloxWords words{};
  for (uint32_t i = 0; i < written.size() / sizeof(uint16_t); ++i) {
    if (i % words.size() == 0)
      words = philox(seed, {i / uint32_t(words.size()), record, 1, hashName("rounding")});
    const uint32_t word = words[i % words.size()];
    if (word >> 1 >= probability * draws)
      continue;
    uint16_t bits;
    std::memcpy(&bits, written.data() + i * sizeof(bits), sizeof(bits));
    const uint16_t moved = word & 1 ? bits + 1 : bits - 1, magnitude = 0x7fff;
    if ((bits & magnitude) == 0 || (bits & magnitude) >= infinityBits ||
        (moved & magnitude) >= infinityBits)
      continue;
    std::memcpy(written.data() + i * sizeof(moved), &moved, sizeof(moved));
  }
}

bool Roundings::move(uint32_t record, const dlc_argument &argument, std::span<std::byte> written,
                     uint64_t seed) const {
  const uint32_t dtype = argument.dtype;
  const bool isHalf = dtype == DLC_BF16 || dtype == DLC_F16;
  if ((!isHalf && dtype != DLC_F32 && dtype != DLC_F64) || terms[record - entry.records.first] == 0)
    return false;
  const dlc_record &writer = plan.records[record];
  const double square = std::pow(roundoffOf(plan, writer), 2) * termsBehind(record, argument);
  const double size = multiple * std::sqrt(square + tf32Square(plan, writer));
  if (isHalf)
    // Neighbours are between u and 2 u apart, u = 2^-7 in bf16.
    moveSome(written, size / (dtype == DLC_BF16 ? 0x1p-7 : 0x1p-10),
             dtype == DLC_BF16 ? 0x7f80 : 0x7c00, seed, record);
  else if (dtype == DLC_F32)
    moveEach<float>(written, size, seed, record);
  else
    moveEach<double>(written, size, seed, record);
  return true;
}

static std::string placeText(uint64_t element, const std::vector<uint64_t> &shape) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis])
    text = concat(element % shape[axis], text.empty() ? "" : ", ", text);
  return concat("[", text, "]");
}

/// Gathers the error of two sequences, and where it is largest.
class ErrorSum {
public:
  void add(uint64_t element, double a, double b) {
    // Equal, though perhaps both infinite or not a number.
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    const double distance = same ? 0 : std::abs(a - b);
    squares += distance * distance;
    if (!same || std::isfinite(b))
      reference += b * b;
    // The first that is no number stays.
    if (!std::isnan(worstDistance) && !(distance <= worstDistance)) {
      worstDistance = distance;
      worst = element;
      worstA = a;
      worstB = b;
    }
  }

  /// Writes what was gathered, all but where it is.
  void describe(Difference &difference) const {
    difference.distance = std::sqrt(squares);
    difference.reference = std::sqrt(reference);
    difference.error = squares == 0 ? 0 : difference.distance / difference.reference;
    difference.a = worstA;
    difference.b = worstB;
  }

  uint64_t worst = 0;

private:
  double squares = 0, reference = 0, worstDistance = -1, worstA = 0, worstB = 0;
};

void Difference::allow(double most) {
  // By infinity where b is zero.
  const double raised = most / reference;
  if (!(raised > limit))
    return;
  cancels |= tooLarge();
  limit = raised;
}

Difference compareTensors(const HostTensor &a, const HostTensor &b, double limit) {
  ErrorSum sum;
  const uint64_t size = dtypeSize(a.type.dtype);
  for (uint64_t i = 0; i < a.type.elementCount(); ++i)
    sum.add(i, loadElement(a.type.dtype, a.bytes.data() + i * size),
            loadElement(b.type.dtype, b.bytes.data() + i * size));
  Difference difference;
  sum.describe(difference);
  difference.name = a.name;
  difference.limit = isWhole(a.type.dtype) ? 0 : limit;
  difference.place = placeText(sum.worst, a.type.shape);
  return difference;
}

/// Sorts, with what is no number last: by digits of 11 bits, the lowest first, since tensors have
/// millions of elements and comparing them is most of the work of a check.
static void sortNumbers(std::vector<float> &values) {
  constexpr uint32_t sign = 1u << 31, noNumber = ~0u;
  constexpr unsigned digitBits = 11;
  // Keys rise with the numbers: of negative ones the bits fall.
  std::vector<uint32_t> keys(values.size()), moved(values.size());
  std::ranges::transform(values, keys.begin(), [](float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return std::isnan(value) ? noNumber : bits & sign ? ~bits : bits | sign;
  });
  for (unsigned shift = 0; shift < 32; shift += digitBits) {
    auto digit = [&](uint32_t key) { return key >> shift & ((1u << digitBits) - 1); };
    std::array<size_t, 1 << digitBits> places = {};
    for (uint32_t key : keys)
      ++places[digit(key)];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), size_t(0));
    for (uint32_t key : keys)
      moved[places[digit(key)]++] = key;
    keys.swap(moved);
  }
  std::ranges::transform(keys, values.begin(), [](uint32_t key) {
    return std::bit_cast<float>(key & sign ? key & ~sign : ~key);
  });
}

std::optional<Difference> compareAsSets(std::vector<float> a, std::vector<float> b, double limit) {
  std::erase(a, 0.0f);
  std::erase(b, 0.0f);
  const size_t most = std::max(a.size(), b.size()), few = most / 64;
  if (most - std::min(a.size(), b.size()) > few)
    return {};
  a.resize(most), b.resize(most);
  sortNumbers(a);
  sortNumbers(b);
  ErrorSum sum;
  for (size_t i = 0; i < a.size(); ++i)
    sum.add(i, a[i], b[i]);
  Difference difference;
  sum.describe(difference);
  difference.limit = limit;
  difference.place = concat("rank ", sum.worst);
  return difference;
}

} // namespace dlc::runtime::tool
