//===- Machine.cpp - processors by LLVM's names -----------------------------------------------===//
#include "codegen/Machine/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace dlc::codegen;
using llvm::StringRef;

namespace {
struct Row {
  llvm::SmallVector<StringRef, 3> names; ///< the first one names the record
  CpuMachine machine;
};
} // namespace

/// x86-64's levels of features are a Zen 4's caches and a Zen 3's rates, with vectors of either
/// width.
static llvm::ArrayRef<Row> rows() {
  static const Row all[] = {
      {{"x86-64-v3"}, {}},
      {{"x86-64-v4"}, {}},
      // Ports of 16 bytes, which take a vector in two halves; fitted on cores of 2.0 GHz.
      {{"znver1"},
       {.l2Bytes = 512 << 10,
        .l3Bytes = 8 << 20,
        .l3Cores = 4,
        .cores = 32,
        .fmasPerCycle = 1,
        .loadsPerCycle = 0.8,
        .issuesPerCycle = 2.5,
        .fmaLatency = 5,
        .tileCyclesPerSecond32 = 2.05e9,
        .vectorOperationsPerSecond = 5.5e9,
        .l3BytesPerSecond = 29e9,
        .memoryBytesPerSecond = 9e9,
        .l3StreamBytesPerSecond = 59e9,
        .streamBytesPerSecond = 10.5e9,
        .runBytesPerSecond = 4.2e9,
        .sumBytesPerSecond = 5.3e9,
        .gatherL3BytesPerSecond = 13.6e9,
        .gatherBytesPerSecond = 4.5e9,
        .elementBytesPerSecond = 0.63e9,
        .copyBytesPerSecond = 5.3e9}},
      {{"znver2"}, {.l2Bytes = 512 << 10, .l3Bytes = 16 << 20, .l3Cores = 4}},
      {{"znver3"}, {.l2Bytes = 512 << 10}},
      // Ports of 32 bytes.
      {{"znver4"}, {.bf16DotsPerCycle = 2, .tileCyclesPerSecond64 = 1.6e9}},
      {{"znver5"}, {.l1Bytes = 48 << 10, .bf16DotsPerCycle = 2, .tileCyclesPerSecond64 = 3.9e9}},
      // Of Intel's servers caches and ports are the manuals', rates are what a Zen of the same
      // clock and as many channels of memory a core reaches: the last alone has been measured.
      {{"haswell", "broadwell"},
       {.l2Bytes = 256 << 10,
        .l3Bytes = 45 << 20,
        .l3Cores = 18,
        .fmaLatency = 5,
        .tileCyclesPerSecond32 = 2.2e9,
        .l3BytesPerSecond = 25e9,
        .memoryBytesPerSecond = 8e9}},
      {{"skylake-avx512", "cascadelake", "cooperlake"},
       {.l3Bytes = 38 << 20,
        .l3Cores = 28,
        .tileCyclesPerSecond32 = 2.4e9,
        .tileCyclesPerSecond64 = 2.0e9,
        .l3BytesPerSecond = 25e9,
        .memoryBytesPerSecond = 10e9}},
      {{"icelake-server"},
       {.l1Bytes = 48 << 10,
        .l2Bytes = 1280 << 10,
        .l3Bytes = 60 << 20,
        .l3Cores = 40,
        .issuesPerCycle = 5,
        .tileCyclesPerSecond32 = 2.4e9,
        .tileCyclesPerSecond64 = 2.2e9,
        .l3BytesPerSecond = 25e9,
        .memoryBytesPerSecond = 10e9}},
      {{"sapphirerapids", "emeraldrapids"},
       {.l1Bytes = 48 << 10,
        .l2Bytes = 2 << 20,
        .l3Bytes = 105 << 20,
        .l3Cores = 56,
        .issuesPerCycle = 6,
        .bf16DotsPerCycle = 0.5, // half of what f32's multiply-adds are: pairs gain nothing
        .tileCyclesPerSecond32 = 2.6e9,
        .tileCyclesPerSecond64 = 1.5e9,
        .vectorOperationsPerSecond = 45e9,
        .l3BytesPerSecond = 27e9,
        .memoryBytesPerSecond = 13e9,
        .l3StreamBytesPerSecond = 108e9,
        .streamBytesPerSecond = 21e9,
        .sumBytesPerSecond = 1.08e10,
        .gatherL3BytesPerSecond = 25e9,
        .gatherBytesPerSecond = 9e9,
        .copyBytesPerSecond = 1.08e10}},
      // Of ARM's: Neoverse N1 in a Graviton 2, and V2 in a Grace. Caches, ports and latencies are
      // those of ARM's optimization guides, rates data sheets' shares: none has been measured.
      {{"generic", "neoverse-n1"},
       {.l1Bytes = 64 << 10,
        .l3Bytes = 32 << 20,
        .l3Cores = 64,
        .tileCyclesPerSecond32 = 2.1e9,
        .vectorOperationsPerSecond = 15e9,
        .l3BytesPerSecond = 15e9,
        .memoryBytesPerSecond = 3e9}},
      {{"neoverse-v2", "grace"},
       {.l1Bytes = 64 << 10,
        .l3Bytes = 114 << 20,
        .l3Cores = 72,
        .cores = 72,
        .fmasPerCycle = 4,
        .loadsPerCycle = 2.4,
        .issuesPerCycle = 8,
        .tileCyclesPerSecond32 = 2.6e9,
        .vectorOperationsPerSecond = 30e9,
        .l3BytesPerSecond = 25e9,
        .memoryBytesPerSecond = 7e9}},
  };
  return all;
}

CpuMachine CpuMachine::get(StringRef cpu, unsigned vectorBytes) {
  const StringRef level = vectorBytes == 64   ? "x86-64-v4"
                          : vectorBytes == 32 ? "x86-64-v3"
                                              : "generic";
  auto find = [](StringRef name) {
    return llvm::find_if(rows(),
                         [&](const Row &row) { return llvm::is_contained(row.names, name); });
  };
  const bool known = find(cpu) != rows().end();
  CpuMachine machine = find(known ? cpu : level)->machine;
  machine.name = (known ? cpu : level).str();
  return machine;
}

std::string CpuMachine::summary(unsigned vectorBytes) const {
  return llvm::formatv("{0} KiB of L1, {1} KiB of L2 and {2} KiB of the last cache a core, {3} "
                       "billion cycles a second of vectors",
                       l1Bytes >> 10, l2Bytes >> 10, l3Bytes / l3Cores >> 10,
                       tileCyclesPerSecond(vectorBytes) / 1e9);
}

double GpuMachine::kernelSeconds(double bytes, double operations, unsigned launches) const {
  return launches * launchSeconds +
         std::max(bytes / memoryBytesPerSecond, operationSeconds(operations));
}
