//===- KernelText.h - the text of one kernel ----------------------------------------*- C++ -*-===//
//
// A kernel is a skeleton, a struct `Problem` with the sizes, buffers and functions that it asks
// for, and an entry point a phase:
//
//   struct Problem {
//     static constexpr int ELEMENTS = 480;
//     Buffer<const float> x0;
//     Buffer<float> y0;
//     __device__ void one(int i) const { ... }
//   };
//   extern "C" __global__ void __launch_bounds__(256) relu_0a1b2c3d(Buffer<const float> x0, ...) {
//     map(Problem{x0, y0});
//   }
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_TEXT_KERNELTEXT_H
#define DLC_CODEGEN_CUDA_TEXT_KERNELTEXT_H

#include "codegen/CUDA/Text/CudaText.h"
#include "codegen/CUDA/Text/DeviceFunction.h"
#include "codegen/Kernel/KernelGenerator.h"

namespace dlc::codegen {

class KernelText {
public:
  /// `skeletons`: their names, in the order in which they need each other; common is always there.
  KernelText(const KernelSpec &spec, llvm::ArrayRef<llvm::StringRef> skeletons)
      : spec(spec), skeletons(skeletons.begin(), skeletons.end()) {}

  void constant(llvm::StringRef name, int64_t value);
  void flag(llvm::StringRef name, bool value);
  void type(llvm::StringRef name, llvm::StringRef text);
  void axis(llvm::StringRef name, const dl::WindowAxis &axis);
  /// Members as they stand, indented by two.
  void members(llvm::StringRef text) { body += text.str(); }
  mlir::LogicalResult add(DeviceFunction &function);
  /// A workspace of sums of `element`, as the member `partial`.
  void workspace(mlir::Type element) { workspaceElement = accumulatorType(element); }
  /// The same of elements as tensors of `element` have them.
  void storage(mlir::Type element) { workspaceElement = element; }
  /// Declarations before the struct.
  void declare(llvm::StringRef text) { declarations += text.str(); }
  /// An entry point of `threads` threads a block: skeleton(Problem{...}).
  void phase(uint32_t threads, llvm::StringRef skeleton) {
    phaseWithMembers(threads, skeleton, "");
  }
  /// The same; `members` of its own make it a struct derived from Problem.
  void phaseWithMembers(uint32_t threads, llvm::StringRef skeleton, llvm::StringRef members);
  /// The same; `call` writes the call from the text of the problem.
  using Call = std::function<std::string(llvm::StringRef problem)>;
  void phaseCalling(uint32_t threads, Call call) { phases.push_back({threads, call, ""}); }

  /// A phase that is a library call: nothing to print.
  void libraryPhase() { phases.push_back({0, {}, ""}); }

  /// The whole kernel.
  CudaText finish() const;

  const KernelSpec &spec;

private:
  struct Phase {
    uint32_t threads;
    Call call;
    std::string members;
  };
  std::vector<std::string> skeletons;
  std::string declarations, body;
  mlir::Type workspaceElement;
  std::vector<Phase> phases;
};

} // namespace dlc::codegen

#endif
