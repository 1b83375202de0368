// What the emitters of the convolution's directions share.
#pragma once

#include "codegen/CPU/Convolution.h"
#include "codegen/CPU/ConvolutionSchedule.h"

namespace dlc::codegen {

/// Copies rows x pitch elements of a plane to `target`, from row and column `corner[3]`, `corner[4]` on; what lies outside
/// the tensor is zero. Rows are stored in ascending order in whole vectors: up to lanes - 1 elements behind the last row
/// are overwritten.
void copyPlane(PackEmitter &emitter, const Source &source, llvm::ArrayRef<mlir::Value> corner,
               const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t pitch,
               mlir::Value target);

EmittedKernel emitDataConvolution(mlir::ModuleOp module, llvm::StringRef symbol,
                                  const ConvolutionProblem &problem,
                                  const ConvolutionOperands &operands, const MachineModel &machine,
                                  const DataSchedule &schedule);
EmittedKernel emitFilterConvolution(mlir::ModuleOp module, llvm::StringRef symbol,
                                    const ConvolutionProblem &problem,
                                    const ConvolutionOperands &operands,
                                    const MachineModel &machine, const FilterSchedule &schedule);

} // namespace dlc::codegen
