// Compiles an emitted kernel for this machine and runs it in this process on one thread.
#pragma once

#include "codegen/CPU/Convolution.h"
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
  size_t bytes() const { return size; }

private:
  struct Free {
    void operator()(float *p) const { std::free(p); }
  };
  size_t size;
  std::unique_ptr<float, Free> memory;
};

class NativeKernel {
public:
  /// Lowers and compiles `module`, which holds `kernel`'s functions. With `dump`, writes <symbol>.ll and <symbol>.o there.
  NativeKernel(mlir::ModuleOp module, codegen::EmittedKernel kernel, std::string dump);
  ~NativeKernel();

  void run(std::vector<void *> buffers);
  double compileSeconds() const { return seconds; }
  double phaseSeconds[4] = {};

private:
  codegen::EmittedKernel kernel;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<dlc_kernel_fn> functions;
  Buffer workspace, scratch;
  double seconds = 0;
};

codegen::MachineModel hostModel();

} // namespace dlc::bench
