//===- Native.h - compiles a kernel for this machine and runs it on one thread ------*- C++ -*-===//
#ifndef DLC_BENCH_KERNELS_NATIVE_H
#define DLC_BENCH_KERNELS_NATIVE_H

#include "codegen/Compile/KernelSelector.h"
#include "dlc/abi.h"
#include <memory>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace dlc::bench {

/// Memory aligned as the runtime aligns its buffers.
class Buffer {
public:
  explicit Buffer(size_t bytes);
  float *data() const { return memory.get(); }

private:
  struct Free {
    void operator()(float *p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> memory;
};

class NativeKernel {
public:
  /// Compiles the region of a dl.fused; see codegen::parseKernel. Convolutions by `algorithm` where
  /// that can run them.
  static llvm::Expected<std::unique_ptr<NativeKernel>>
  compile(llvm::StringRef text, llvm::StringRef target, codegen::ConvolutionAlgorithm algorithm);
  ~NativeKernel();

  /// Runs all phases, or only those behind the preparation of an operand that has been run.
  /// `buffers`: operands, then results.
  void run(std::vector<void *> buffers, bool prepared = false);

  const codegen::SelectedKernel &selection() const { return selected; }
  double compileSeconds() const { return seconds; }
  unsigned vectorBytes() const { return bytesOfVector; } ///< of its target

private:
  NativeKernel();
  llvm::Error load(llvm::ArrayRef<std::string> objects);

  codegen::SelectedKernel selected;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<dlc_kernel_fn> functions;
  std::vector<std::unique_ptr<Buffer>> workspaces;
  std::unique_ptr<Buffer> scratch;
  double seconds = 0;
  unsigned bytesOfVector = 0;
};

} // namespace dlc::bench

#endif
