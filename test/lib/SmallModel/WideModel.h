// A hand-made plan that has something in every table of abi.h and every kind of record, variable,
// initialiser and entry: what tests break field by field. Its kernels compute nothing, so that no
// number of the plan leads them astray; on the SIMT device they read the ends of their buffers.
// dlc-run can inspect, train, evaluate and infer with it, on the data of writeSmallData.
#ifndef DLC_TEST_LIB_SMALLMODEL_WIDEMODEL_H
#define DLC_TEST_LIB_SMALLMODEL_WIDEMODEL_H

#include "test/lib/SmallModel/PlanBuilder.h"

namespace dlc::test {

/// Number of the native function that all its kernels are: it computes nothing.
inline constexpr uint32_t wideModelFunction = 11;

/// For DLC_TARGET_CPU, or for DLC_TARGET_CUDA (whose kernels are native, for the SIMT device) with
/// images, library calls and a second stream.
PlanBuilder wideModel(dlc_target target);

} // namespace dlc::test

#endif
