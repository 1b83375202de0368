// What library calls compute, in plain loops: the oracle for cuBLASLt and cuDNN, and what stands in
// for them on the SIMT device. Sums are double, so that what a comparison shows is the library's
// error. Row-major and NHWC, as abi.h says.
//
// Ownership: none kept. Threads: tasks of one call run on the pool.
#ifndef DLC_RUNTIME_DEVICE_SIMT_REFERENCE_H
#define DLC_RUNTIME_DEVICE_SIMT_REFERENCE_H

#include "dlc/abi.h"
#include "runtime/Device/CPU/ThreadPool.h"

namespace dlc::runtime {

/// Runs a call that checkLibraryCall() accepts, with arguments that fit callArguments().
void runLibraryCall(const dlc_library_call &call, void *const *arguments, ThreadPool &pool);

} // namespace dlc::runtime

#endif
