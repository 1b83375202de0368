// Which name was meant by one that does not exist.
#ifndef DLC_RUNTIME_CORE_NEARESTNAME_H
#define DLC_RUNTIME_CORE_NEARESTNAME_H

#include <string_view>
#include <vector>

namespace dlc::runtime {

/// The candidate nearest to `word` by edit distance, the first of equal ones; empty if none is near
/// enough to be a slip.
std::string_view nearestName(std::string_view word,
                             const std::vector<std::string_view> &candidates);

} // namespace dlc::runtime

#endif
