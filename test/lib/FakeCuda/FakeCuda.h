// A CUDA runtime without a device, for tests of the CUDA device's own logic: the calls of
// cuda_runtime_api.h that it makes, on the host's memory.
//
// Nothing runs before somebody waits for it, or asks whether it is done, unless the device is said
// to be fast; and then in an order that is drawn to bring missing waits to light, as the SIMT
// device does (Device/SIMT/Schedule.h): any that streams, events and graphs allow. A launched graph
// is its streams and events again. It refuses what CUDA refuses of a capture: a stream that was not
// forked from the first, or that was not joined to it at the end.
//
// A program that links it links no other CUDA runtime. Threads: one at a time.
#ifndef DLC_TEST_LIB_FAKECUDA_FAKECUDA_H
#define DLC_TEST_LIB_FAKECUDA_FAKECUDA_H

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

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
  /// The priority of each stream that was made, in order; a smaller number goes first.
  std::vector<int> priorities;
  /// Draws the order.
  std::mt19937_64 random;
  /// At one in so many commands the device does some at once; 0: never.
  uint64_t fast = 8;
  /// Whether commands that are not done yet when they are tried never will be: waiting for them is
  /// then counted in `hung`, and fails.
  bool stuck = false;
  uint64_t hung = 0;
  /// Bytes of host memory that are pinned, and whether there are no more to be had.
  uint64_t pinned = 0;
  bool pinsNoMore = false;
  /// Host memory that was given back before the copies from or to it were done.
  uint64_t freedInUse = 0;
  /// The device that memory is allocated on: what was chosen last.
  int current = 0;
};

/// Gives `command` to a stream as a library does; false where CUDA would refuse it. It is tried
/// until it is done.
bool issueFake(CUstream_st *stream, std::function<bool()> command);

/// Whether a capture is under way, in which nothing may ask the driver for memory.
bool isCapturingFake();

/// The one there is; assign FakeCuda() to it to begin anew.
FakeCuda &fakeCuda();

} // namespace dlc::test

#endif
