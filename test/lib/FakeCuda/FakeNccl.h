// NCCL between this process and a second rank that has the same numbers, for tests of what the CUDA
// device asks of it: sums double. It notes each call, goes on beside its caller for a while, and
// refuses what NCCL refuses. Where the fake's device is stuck, it is in a sum.
#ifndef DLC_TEST_LIB_FAKECUDA_FAKENCCL_H
#define DLC_TEST_LIB_FAKECUDA_FAKENCCL_H

#include "runtime/Device/CUDA/Libraries.h"

#include <string>

namespace dlc::test {

struct FakeNccl {
  /// "connect 2 rank 0 ", "register 272 " of a buffer's bytes, then, as the device runs them,
  /// "sum 68 " of the elements; "deregister ", "finalize ", "destroy ", "abort ".
  std::string log;
  /// What asking for errors gives from now on.
  ncclResult_t error = ncclSuccess;
};

FakeNccl &fakeNccl();
const dlc::runtime::Nccl &fakeNcclCalls();

} // namespace dlc::test

#endif
