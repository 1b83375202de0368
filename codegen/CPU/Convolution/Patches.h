//===- Patches.h - convolutions as products of matrices of patches ------------------*- C++ -*-===//
//
// Any geometry of row-major images, as products whose operand is no tensor:
//
//   forward          y[image][m][pixel]         = sum over (c, tap) of w[m][c, tap] * P
//   backward filter  dw[m][c, tap]              = sum over images, pixels of dy[m][pixel] * P^T
//   backward data    q[image][c, tap][pixel]    = sum over m of w[m][c, tap] * dy[image][m][pixel]
//
// P[image][c, tap][pixel] is the element of x that the tap meets at the pixel of y, or zero in the
// padding. Its elements are gathered while a panel is packed (implicit), or by a phase in front
// that packs all of P into the workspace (explicit). Backward data a task makes all rows q of some
// channels of an image, and adds up for each pixel of dx those that it met: no product has a zero
// of the padding or of a stride.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_CONVOLUTION_PATCHES_H
#define DLC_CODEGEN_CPU_CONVOLUTION_PATCHES_H

#include "codegen/CPU/Convolution/ConvolutionGeometry.h"
#include "codegen/CPU/Gemm/Gemm.h"

namespace dlc::codegen {

/// Why no product runs the convolution, whatever is fused around it; empty if one does.
std::string patchesRefusal(const ConvolutionProblem &problem, const CpuTarget &target);

/// The product that the convolution is, if patchesRefusal names nothing.
GemmProblem patchesProduct(const KernelSpec &spec, const ConvolutionProblem &problem,
                           const CpuTarget &target);

/// Estimated cycles beside the product and its packing: those of adding up q.
double patchesCycles(const ConvolutionProblem &problem, const MachineModel &machine);

} // namespace dlc::codegen

#endif
