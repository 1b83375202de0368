// Two weighed medians.
#include "tools/dlc-run/LinkFit.h"
#include "tools/CommandLine/CommandLine.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dlc::runtime::tool {

namespace {

struct Weighed {
  double value, weight;
};

double medianOf(std::vector<Weighed> all) {
  std::ranges::sort(all, {}, &Weighed::value);
  double half = 0;
  for (const Weighed &each : all)
    half += each.weight / 2;
  for (const Weighed &each : all)
    if ((half -= each.weight) <= 0)
      return each.value;
  return 0;
}

} // namespace

LinkLine fitLink(std::span<const MeasuredSum> sums) {
  std::vector<Weighed> slopes, rests;
  for (size_t i = 0; i < sums.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (sums[i].bytes >= leastBytesForBeta && sums[k].bytes >= leastBytesForBeta) {
        const double apart =
            static_cast<double>(sums[i].bytes) - static_cast<double>(sums[k].bytes);
        slopes.push_back({(sums[i].seconds - sums[k].seconds) / apart, std::sqrt(std::abs(apart))});
      }
  const double beta = std::max(dlc::tool::leastLinkTime, medianOf(std::move(slopes)));
  for (const MeasuredSum &sum : sums)
    if (sum.bytes <= mostBytesForAlpha)
      rests.push_back({sum.seconds - beta * static_cast<double>(sum.bytes), 1});
  // Small sums may lie below the line of the large ones, but none takes no time.
  const double first = rests.front().value, middle = medianOf(std::move(rests));
  return {middle > 0 ? middle : std::max(1e-9, first), beta};
}

} // namespace dlc::runtime::tool
