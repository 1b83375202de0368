// The middle of measured values.
#ifndef DLC_TOOLS_DLC_RUN_MEDIAN_H
#define DLC_TOOLS_DLC_RUN_MEDIAN_H

#include <algorithm>
#include <vector>

namespace dlc::runtime::tool {

/// Of one value at least; the mean of the two in the middle where their number is even.
inline double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

} // namespace dlc::runtime::tool

#endif
