// A CUDA runtime without a device, for tests of the CUDA device's own logic: the calls of
// cuda_runtime_api.h that it makes, on the host's memory. Commands run at once; in a capture they
// are kept, and run when the graph is launched. It refuses what CUDA refuses of a capture: a stream
// that was not forked from the first, or that was not joined to it at the end.
//
// A program that links it links no other CUDA runtime.
#ifndef DLC_TEST_LIB_FAKECUDA_FAKECUDA_H
#define DLC_TEST_LIB_FAKECUDA_FAKECUDA_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>

/// A cudaStream_t.
struct CUstream_st;

namespace dlc::test {

/// A kernel: how many parameters of eight bytes it takes, and what it does with them.
struct FakeKernel {
  uint32_t parameters;
  std::function<void(void **parameters, uint32_t blocks)> run;
};

struct FakeCuda {
  int driver = 13000, devices = 1, major = 9, minor = 0;
  uint64_t memory = uint64_t(1) << 30, used = 0;
  /// By name.
  std::map<std::string, FakeKernel> kernels;
  /// Launches that are still to succeed before one fails.
  uint64_t launchesLeft = UINT64_MAX;
  /// What was counted: launches (captured ones when they run), captures, graphs launched.
  uint64_t launches = 0, captures = 0, graphLaunches = 0;
  /// Whether events stay ahead of the device for ever, as where a rank is lost.
  bool stuck = false;
};

/// Gives `command` to a stream as a library does; false where CUDA would refuse it.
bool issueFake(CUstream_st *stream, std::function<void()> command);

/// Whether a capture is under way, in which nothing may ask the driver for memory.
bool isCapturingFake();

/// The one there is; assign FakeCuda() to it to begin anew.
FakeCuda &fakeCuda();

} // namespace dlc::test

#endif
