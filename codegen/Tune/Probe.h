//===- Probe.h - measures how fast a machine is -------------------------------------*- C++ -*-===//
//
// The record of a machine has numbers that were fitted to another one, or come from a manual. Here
// a few kernels, each of which takes as long as one of these numbers says, run on the machine at
// hand, and the number becomes what makes the estimate come true.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_TUNE_PROBE_H
#define DLC_CODEGEN_TUNE_PROBE_H

#include "codegen/Tune/Tuner.h"

namespace dlc::codegen {

/// What a kernel took, beside what it was estimated to take.
struct ProbedKernel {
  std::string name;
  double estimated, seconds; ///< of one core
};

/// Makes the record of `target`, which has probes, what `timer`, for the same target, says of it.
/// Fails with one message.
llvm::Error measureMachine(Target &target, KernelTimer &timer,
                           llvm::function_ref<void(const ProbedKernel &)> progress = nullptr);

} // namespace dlc::codegen

#endif
