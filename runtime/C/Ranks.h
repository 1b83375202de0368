// What a dlc_ranks stands for.
#ifndef DLC_RUNTIME_C_RANKS_H
#define DLC_RUNTIME_C_RANKS_H

#include "dlc/ranks.h"
#include "runtime/C/Handles.h"

namespace dlc::runtime {

struct RanksHandle : HandleObject {
  explicit RanksHandle(std::shared_ptr<Ranks> ranks)
      : HandleObject(HandleKind::Ranks), ranks(std::move(ranks)) {}

  const std::shared_ptr<Ranks> ranks;
};

/// Those that a call is at work in.
inline const RanksHandle &ranksOf(const HandleWork &work) {
  return static_cast<const RanksHandle &>(work.object());
}

} // namespace dlc::runtime

#endif
