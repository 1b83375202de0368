//===- Winograd.h - convolution by minimal filtering --------------------------------*- C++ -*-===//
//
//   y = sum over c of A^T ((G w G^T) * (B^T d B)) A       for each tile d of the image
//
// Dilation 1, one group, filters of 2 to 5 taps along each axis (or 1: then that axis is left as it
// is); of a stride of 2 or 4 each phase of the image is a channel, and so many taps meet it at
// most. In the data directions a task transforms the tiles of one block, channels across vector
// lanes; multiplies them, one matrix product for each of the transform's points, with the
// transformed filter; and transforms the products back, through whatever is fused behind. The
// filter's gradient transforms tiles of x and dy, sums their products over all tiles, and
// transforms the sums once. Pixels are transposed on their way, unless their channels stand in
// blocks. Tiles have 2x2 or 4x4 outputs, of filters of two taps 3x3 or 5x5, too; in 16 bits more.
//
// Errors against float64, root of the mean square of the difference as part of that of the result,
// uniform inputs, 32 channels, images of 26x30 (WinogradTest.cpp bounds them); direct convolution
// sums by blocks, "in order" is a sum of one product after the other:
//
//                      forward   backward data   backward filter
//   3x3  in order      3.0e-7    4.3e-7          6.9e-7
//        direct        1.6e-7    1.6e-7          2.7e-7
//        F(2x2, 3x3)   2.0e-7    2.6e-7          4.3e-7
//        F(4x4, 3x3)   1.3e-6    1.7e-6          1.5e-6
//   5x5  in order      4.9e-7    7.0e-7          6.8e-7
//        direct        1.8e-7    1.9e-7          2.0e-7
//        F(2x2, 5x5)   1.5e-6    1.9e-6          2.3e-6
//        F(4x4, 5x5)   2.4e-6    3.1e-6          2.4e-6
//   3x3, stride 2, in phases of two taps:
//        F(2x2, 2x2)   3.9e-7    3.0e-7          5.1e-7
//        F(3x3, 2x2)   3.3e-7    2.5e-7          4.0e-7
//        F(4x4, 2x2)   1.0e-6    1.1e-6          1.0e-6
//        F(5x5, 2x2)   1.8e-6    1.6e-6          1.1e-6
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_WINOGRAD_H
#define DLC_CODEGEN_CPU_WINOGRAD_WINOGRAD_H

#include "codegen/CPU/Winograd/WinogradSchedule.h"

namespace dlc::codegen {

/// Forward and backward data.
Candidate winogradDataCandidate(const ConvolutionProblem &problem, const WinogradSchedule &schedule,
                                const CpuTarget &target);
mlir::LogicalResult emitWinogradData(const KernelSpec &spec, const Candidate &candidate,
                                     const CpuTarget &target, llvm::StringRef symbol,
                                     mlir::ModuleOp module, const ConvolutionProblem &problem);

/// Backward filter.
Candidate winogradFilterCandidate(const ConvolutionProblem &problem,
                                  const WinogradSchedule &schedule, const CpuTarget &target);
mlir::LogicalResult emitWinogradFilter(const KernelSpec &spec, const Candidate &candidate,
                                       const CpuTarget &target, llvm::StringRef symbol,
                                       mlir::ModuleOp module, const ConvolutionProblem &problem);

} // namespace dlc::codegen

#endif
