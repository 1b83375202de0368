//===- CostModel.h - how fast a processor runs register tiles -----------------------*- C++ -*-===//
//
// What follows from a machine's record (codegen/Machine) and the vectors that code uses of it: the
// seconds of a register tile's cycles (Gemm/MicroKernel.h), the way to memory. Seconds add up: a
// step on one core takes the sum over its kernels, which bench/estimate/estimate.py compares with
// the clock.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_COSTMODEL_H
#define DLC_CODEGEN_CPU_COSTMODEL_H

#include "codegen/CPU/CpuTarget.h"

namespace dlc::codegen {

struct MachineModel : CpuMachine {
  int64_t elementBytes; ///< of what is computed: 4 for float32
  int64_t lanes;        ///< of a vector register
  int64_t vectorRegisters;

  explicit MachineModel(const CpuTarget &target, int64_t elementBytes = 4);
};

/// Multiply-adds below which a task is not worth starting: some twenty microseconds.
constexpr double smallestTask = 1 << 21;

/// Estimated seconds of `cycles` of register tiles on one core.
double tileSeconds(double cycles, const MachineModel &machine);

/// Estimated seconds in which one core reads or writes `bytes` of memory, from the last cache where
/// they fit there.
double memorySeconds(double bytes, const CpuTarget &target);
/// Those of a kernel's tensors, and of its workspace, which is written and read.
double trafficSeconds(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target);

/// What of trafficSeconds is no wait: seconds in which `bytes` arrive while tiles compute for
/// `seconds`, which ask in time for the lines of the next ones.
double hiddenSeconds(double seconds, double bytes, const CpuTarget &target);

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

} // namespace dlc::codegen

#endif
