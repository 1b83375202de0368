//===- TransformGenerator.h - what convolutions by transforms of tiles share --------*- C++ -*-===//
//
// float32, any body before and behind, as direct convolution has.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_TRANSFORMGENERATOR_H
#define DLC_CODEGEN_CPU_WINOGRAD_TRANSFORMGENERATOR_H

#include "codegen/CPU/Winograd/WinogradSchedule.h"

namespace dlc::codegen {

class TransformGenerator : public CpuGenerator {
public:
  llvm::SmallVector<Candidate> candidates(const KernelSpec &spec,
                                          const CpuTarget &target) const override;
  mlir::LogicalResult emit(const KernelSpec &spec, const Candidate &candidate,
                           const CpuTarget &target, llvm::StringRef symbol,
                           mlir::ModuleOp module) const override;

private:
  /// Those to offer for a problem; none if the transform cannot run it.
  virtual llvm::SmallVector<WinogradSchedule> schedules(const ConvolutionProblem &problem,
                                                        const CpuTarget &target) const = 0;
};

} // namespace dlc::codegen

#endif
