// What the CPU generators know about a processor: vector width, registers, ports and caches. Everything comes from the
// target's name and features, never from the machine that compiles, so that builds are reproducible.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace dlc::codegen {

struct MachineModel {
  /// float32 lanes of one vector register.
  int64_t lanes = 8;
  int64_t vectorRegisters = 16;
  /// Fused multiply-adds, vector loads and micro-operations issued in one cycle.
  double fmaPerCycle = 2, loadsPerCycle = 2, issuePerCycle = 4;
  /// Cycles from an FMA to the next one that uses its result.
  int64_t fmaLatency = 4;
  /// Data caches of one core, in bytes.
  int64_t l1Bytes = 32 << 10, l2Bytes = 256 << 10;

  /// The model of a target with these LLVM features ("+avx2,+fma,...").
  static MachineModel forFeatures(llvm::StringRef features);
};

/// Register tile of a micro-kernel: `rows` broadcast values times `vectors` vectors.
struct RegisterTile {
  int64_t rows = 1, vectors = 1;
};

/// The largest number of rows whose accumulators, with the vectors of B and one broadcast, fit the registers.
int64_t maxTileRows(const MachineModel &machine, int64_t vectors);

/// Cycles of one step of the micro-kernel's reduction loop: the narrowest of FMA ports, load ports, issue and latency.
double cyclesPerStep(const MachineModel &machine, RegisterTile tile);

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

} // namespace dlc::codegen
