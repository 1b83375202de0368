//===- Probes.cpp - kernels that tell how fast a processor is ---------------------------------===//
//
// What no kernel tells apart goes along in proportion: all ways to memory by one rate, all ways
// from the last cache by another. Caches, ports and latencies stay.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dlc::codegen;
using llvm::ArrayRef;
using llvm::StringRef;

/// The text of a kernel, as KernelSpec::canonicalText gives it: `types` of operands as of the
/// block's arguments.
static std::string kernelText(ArrayRef<std::string> types, StringRef op) {
  std::string numbers, arguments;
  for (auto [number, type] : llvm::enumerate(types)) {
    numbers += llvm::formatv("{0}%in#{1}", number == 0 ? "" : ", ", number);
    arguments += llvm::formatv("{0}%{1}: {2}", number == 0 ? "" : ", ",
                               StringRef("ab").substr(number, 1), type);
  }
  const std::string list = llvm::join(types, ", ");
  return llvm::formatv("%in:{0} = builtin.unrealized_conversion_cast to {1}\n"
                       "%out = dl.fused({2}) : ({1}) -> {3} {{\n^bb0({4}):\n  %0 = dl.{5} : {1}\n"
                       "  dl.yield %0 : {3}\n}\n",
                       types.size(), list, numbers, types.front(), arguments, op);
}

/// y = f(a), which are so many bytes together, but a row at least.
static std::string mapText(int64_t bytes, StringRef op) {
  const int64_t rows = std::max<int64_t>(1, bytes / 2 / 4096);
  return kernelText({llvm::formatv("tensor<{0}x1024xf32>", rows)}, (op + " %a").str());
}

/// Computes far longer than its operands take from the last cache.
static std::string productText() {
  const std::string square = "tensor<768x768xf32>";
  return kernelText({square, square}, "matmul %a, %b");
}

/// Memory first, which the others wait for a little.
std::vector<MachineProbe> CpuTarget::probes() {
  const int64_t l3 = machine.lastCacheBytes();
  return {{"what memory gives",
           mapText(16 * l3, "relu"),
           {&machine.memoryBytesPerSecond, &machine.streamBytesPerSecond,
            &machine.runBytesPerSecond, &machine.sumBytesPerSecond, &machine.gatherBytesPerSecond,
            &machine.elementBytesPerSecond, &machine.copyBytesPerSecond}},
          {"what the last cache gives",
           mapText(l3 / 2, "relu"),
           {&machine.l3BytesPerSecond, &machine.l3StreamBytesPerSecond,
            &machine.gatherL3BytesPerSecond}},
          {"arithmetic of vectors",
           mapText(machine.l2Bytes / 2, "tanh"),
           {&machine.vectorOperationsPerSecond}},
          {"register tiles",
           productText(),
           {vectorBytes == 64 ? &machine.tileCyclesPerSecond64 : &machine.tileCyclesPerSecond32}}};
}
