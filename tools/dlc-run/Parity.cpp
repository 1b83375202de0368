// Errors and their limits.
#include "tools/dlc-run/Parity.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>

namespace dlc::runtime::tool {

/// Float32 elements that a record writes.
static double elementsWritten(const Plan &plan, const dlc_record &record) {
  double written = 0;
  for (uint32_t i = 0; i < record.arguments.count; ++i) {
    const dlc_argument &argument = plan.arguments[record.arguments.first + i];
    if (argument.access & DLC_WRITE)
      written += static_cast<double>(argument.bytes) / sizeof(float);
  }
  return std::max(written, 1.0);
}

double ownError(const Plan &plan, const EntryInfo &entry) {
  constexpr double unitRoundoff = 0x1p-24;
  const uint32_t end = entry.records.first + entry.records.count;
  double terms = 0;
  for (uint32_t i = entry.records.first; i < end;) {
    // The phases of a kernel follow each other: their arithmetic belongs to what the last one
    // writes.
    double flops = 0;
    const uint32_t first = i;
    do
      flops += static_cast<double>(plan.records[i].flops);
    while (++i < end && plan.recordNames[i] == plan.recordNames[first]);
    terms += std::max(1.0, flops / 2 / elementsWritten(plan, plan.records[i - 1]));
  }
  return unitRoundoff * std::sqrt(terms);
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
    reference += b * b;
    if (!(distance <= worstDistance)) {
      worstDistance = distance;
      worst = element;
      worstA = a;
      worstB = b;
    }
  }

  double error() const {
    if (squares == 0)
      return 0;
    return reference == 0 ? INFINITY : std::sqrt(squares / reference);
  }

  uint64_t worst = 0;
  double worstA = 0, worstB = 0;

private:
  double squares = 0, reference = 0, worstDistance = -1;
};

Difference compareTensors(const HostTensor &a, const HostTensor &b, double limit) {
  ErrorSum sum;
  const uint64_t size = dtypeSize(a.type.dtype);
  for (uint64_t i = 0; i < a.type.elementCount(); ++i)
    sum.add(i, loadElement(a.type.dtype, a.bytes.data() + i * size),
            loadElement(b.type.dtype, b.bytes.data() + i * size));
  const bool real = a.type.dtype == DLC_F32 || a.type.dtype == DLC_F64 ||
                    a.type.dtype == DLC_BF16 || a.type.dtype == DLC_F16;
  Difference difference;
  difference.name = a.name;
  difference.error = sum.error();
  difference.limit = real ? limit : 0;
  difference.place = placeText(sum.worst, a.type.shape);
  difference.a = sum.worstA;
  difference.b = sum.worstB;
  return difference;
}

/// Numbers of an ordinary size. Integers and bytes that are taken for float32 are tiny, huge or no
/// numbers.
static bool looksLikeFloats(const std::vector<float> &values) {
  return std::all_of(values.begin(), values.end(), [](float value) {
    const float size = std::abs(value);
    return value == 0 || (size > 1e-30f && size < 1e30f);
  });
}

std::optional<Difference> compareAsSets(std::vector<float> a, std::vector<float> b, double limit) {
  std::erase(a, 0.0f);
  std::erase(b, 0.0f);
  if (a.size() != b.size() || !looksLikeFloats(b))
    return {};
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  ErrorSum sum;
  for (size_t i = 0; i < a.size(); ++i)
    sum.add(i, a[i], b[i]);
  Difference difference;
  difference.error = sum.error();
  difference.limit = limit;
  difference.place = concat("rank ", sum.worst);
  difference.a = sum.worstA;
  difference.b = sum.worstB;
  return difference;
}

} // namespace dlc::runtime::tool
