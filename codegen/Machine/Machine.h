//===- Machine.h - how fast processors and GPUs are ---------------------------------*- C++ -*-===//
//
// The only place with rates, sizes of caches and costs of launches: generators ask the record of
// their target, passes see seconds only (test/borders holds it). Records come from a table by names
// of processors, a file of the user's may replace any number (MachineFile.h). They never depend on
// the machine that compiles, but for the caches and cores of `native`, so that builds are
// reproducible.
//
// A processor's numbers are those of one core while the others are as busy: then seconds add up,
// and a step on N cores takes the N-th part (bench/estimate/estimate.py). What stands here beside a
// Zen was fitted to measured layers of AlexNet, VGG16 and ResNet-50, so it is what code reaches,
// not what a data sheet says.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_MACHINE_MACHINE_H
#define DLC_CODEGEN_MACHINE_MACHINE_H

#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdint>
#include <string>

namespace dlc::codegen {

/// A processor.
struct CpuMachine {
  std::string name = "x86-64-v3"; ///< LLVM's, of the processor whose record it is

  //===--- Caches and cores -------------------------------------------------------------------===//
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20; ///< data caches of one core
  int64_t l3Bytes = 32 << 20, l3Cores = 8;       ///< the last cache, and who shares it
  int64_t cores = 64;                            ///< at least so many tasks fill the machine

  //===--- A core -----------------------------------------------------------------------------===//
  double fmasPerCycle = 2;    ///< of vectors
  double loadsPerCycle = 1.6; ///< of two: misses of L1 leave that
  double issuesPerCycle = 4;  ///< of instructions
  double fmaLatency = 4;      ///< cycles
  /// The same of pairs of bf16 whose products are added in f32 (VDPBF16PS).
  double bf16DotsPerCycle = 1, bf16DotLatency = 6;
  /// Cycles of AMX tiles of 1 KiB: of multiplying two, and of loading one, partly from L2.
  double amxDotCycles = 16, amxLoadCycles = 16;
  /// Of register tiles, as far as caches and the ends of loops let them run: no clock. Ports that
  /// take a vector in two halves halve them.
  double tileCyclesPerSecond32 = 2.6e9,
         tileCyclesPerSecond64 = 2.6e9;    ///< by the vector's bytes, the first also of fewer
  double vectorOperationsPerSecond = 50e9; ///< simple ones of a loop over vectors, by element
  double scalarOperationsPerSecond = 1e8;  ///< of plain loops, reads and writes included

  //===--- Ways to memory ---------------------------------------------------------------------===//
  double l3BytesPerSecond = 50e9, memoryBytesPerSecond = 17e9;
  double hiddenShare = 0.6; ///< of the shorter of arithmetic and memory, where both can go on
  /// Of what comes again for each block of a task: asked for long before it is multiplied, and in
  /// runs of a panel that nothing asks for.
  double l3StreamBytesPerSecond = 100e9, streamBytesPerSecond = 20e9, runBytesPerSecond = 8e9;
  double sumBytesPerSecond = 1e10; ///< partial sums that leave registers
  /// Vectors put together from elements that do not follow each other, from the last cache and from
  /// memory, and single elements: what they take longer.
  double gatherL3BytesPerSecond = 23e9, gatherBytesPerSecond = 8.5e9, elementBytesPerSecond = 1.2e9;
  double copyBytesPerSecond = 1e10; ///< of a kernel that only converts a tensor

  //===--- Cycles of waiting ------------------------------------------------------------------===//
  double l2LineCycles = 0.25; ///< a line of a panel that L1 holds in part
  double jumpCycles = 2.4;    ///< a line of a plane that no prefetch foresees, each of its own page
  double l3ElementCycles = 0.1; ///< a packed element, from the last cache
  double conflictCycles = 30; ///< a line of its own page, where more of them are in use than L1 has

  /// What a sum over ranks takes from kernels, however small it is: the thread that starts it runs
  /// in their place, behind a kernel that has left it no cache. 0.1 to 0.15 ms over TCP, where
  /// ranks have one core each.
  double hostSumSeconds = 1e-4;

  bool operator==(const CpuMachine &) const = default;

  /// What a core finds of the last cache: twice its share, since cores work on the same tensors.
  int64_t lastCacheBytes() const { return std::max<int64_t>(1, 2 * l3Bytes / l3Cores); }
  double tileCyclesPerSecond(unsigned vectorBytes) const {
    return vectorBytes == 64 ? tileCyclesPerSecond64 : tileCyclesPerSecond32;
  }
  /// Of rows of which the second cache holds several, beside what is read with them.
  int64_t mostRowBytes() const { return l2Bytes / 4; }
  /// Enough of them for all cores; more only repeat the packing of shared operands.
  int64_t wantedTasks() const { return cores; }

  /// That of LLVM's `cpu`, or if there is none, whose name it then has, that of the level of
  /// features that its vectors of `vectorBytes` belong to.
  static CpuMachine get(llvm::StringRef cpu, unsigned vectorBytes);
  /// In one line what is assumed, for a processor that has no record of its own: "L1 32 KiB, ...".
  std::string summary(unsigned vectorBytes) const;
};

/// A GPU.
struct GpuMachine {
  std::string name = "sm_90"; ///< of the architecture whose record it is

  int64_t multiprocessors = 132;
  int64_t rowBytes = 256 << 10; ///< of rows that a block finds in a cache when it reads them again
  double launchSeconds = 2e-6;
  double memoryBytesPerSecond = 2e12;
  double operationsPerSecond = 1e13;     ///< of element-wise code
  double tileOperationsPerSecond = 6e10; ///< of a multiprocessor in tiles of products
  /// What cuBLASLt 13.1 and cuDNN 9.14 reach of an H100's 67 and 495 TFLOP/s in the layers of
  /// AlexNet, VGG16 and ResNet-50: bench/results/2026-11-26-gpu-check-cuda-run2.jsonl.
  double libraryOperationsPerSecond = 4e13, tensorCoreOperationsPerSecond = 2e14;
  double halfOperationsPerSecond = 4e14; ///< of tensor cores on numbers of 16 bits
  /// Of cuDNN's convolutions in strict float32: by direction; backward with filters of one tap, and
  /// how many times slower with a stride; of images of less than four channels, in TF32 as well.
  double forwardOperationsPerSecond = 3e13, dataOperationsPerSecond = 2.4e13,
         filterOperationsPerSecond = 1.8e13;
  double pointDataOperationsPerSecond = 1.8e13, pointFilterOperationsPerSecond = 1e13;
  double strideSlowdown = 2;
  double imageOperationsPerSecond = 1.7e13, imageFilterOperationsPerSecond = 8e12;
  double copyBytesPerSecond = 1e10; ///< that a copy counts where copies are to be few

  bool operator==(const GpuMachine &) const = default;

  /// Any architecture's is that of an H100, whose name it then has.
  static GpuMachine get(llvm::StringRef) { return {}; }
  int64_t mostRowBytes() const { return rowBytes; }
  double operationSeconds(double operations) const { return operations / operationsPerSecond; }
  /// Of memory traffic and arithmetic, launches included.
  double kernelSeconds(double bytes, double operations, unsigned launches) const;
};

} // namespace dlc::codegen

#endif
