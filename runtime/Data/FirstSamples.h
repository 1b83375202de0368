// The beginning of a dataset as one of its own.
#ifndef DLC_RUNTIME_DATA_FIRSTSAMPLES_H
#define DLC_RUNTIME_DATA_FIRSTSAMPLES_H

#include "dlc/data.h"

namespace dlc::runtime {

/// The first `count` samples of `dataset`, or all of them if it has no more.
std::shared_ptr<const Dataset> firstSamples(std::shared_ptr<const Dataset> dataset, uint64_t count);

} // namespace dlc::runtime

#endif
