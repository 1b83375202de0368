//===- WindowIndex.h - which windows an index of a byte has room for ----------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_WINDOWINDEX_H
#define DLC_DIALECTS_DL_FACTS_WINDOWINDEX_H

#include <cstdint>

namespace dlc::dl {

/// Elements of the largest window in which a max_pool's second result, and so its gradient, can say
/// where the maximum stands.
inline constexpr int64_t mostIndexed = 256;

} // namespace dlc::dl

#endif
