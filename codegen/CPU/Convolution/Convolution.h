//===- Convolution.h - direct convolution in all three directions -------------------*- C++ -*-===//
//
// Any groups, strides, dilations and paddings per side, one to three spatial dimensions, images in
// plain N C (D H) W order or in blocks of channels, N C/16 (D H) W 16 or N (D H) W C/16 16.
//
// All directions run on the micro-kernel of MicroKernel.h with output channels across vector lanes
// and pixels (or, for the filter's gradient, taps) as broadcast rows. There is no im2col: a task
// copies the zero-padded input block that it needs into its scratch, and a table of offsets (or
// fixed row distances) walks the taps over it. Of images in blocks nothing is transposed, and one
// that needs no padding is read where it lies, as are both of the gradient of a filter of one tap:
// each call of the micro-kernel then asks for lines that a later one reads. Pointwise convolutions
// of plain images in the data directions are matrix products and go to Gemm.h; those of any
// geometry that is one of patches are Patches.h's.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_CONVOLUTION_CONVOLUTION_H
#define DLC_CODEGEN_CPU_CONVOLUTION_CONVOLUTION_H

#include "codegen/CPU/Convolution/ConvolutionSchedule.h"
#include "codegen/CPU/Gemm/PackEmitter.h"

namespace dlc::codegen {

/// The convolution of a region that can run with vectors along the rows of its result, or along its
/// blocks of channels, or along the output channels of a filter's gradient; nothing for other
/// regions, and where a row has more pixels than are counted in 32 bits.
std::optional<ConvolutionProblem> packedConvolution(const KernelSpec &spec);

/// Whether it is a matrix product of pixels as they lie, in whatever direction.
bool isPixelProduct(const KernelSpec &spec, const ConvolutionProblem &problem);

/// The loop indices of a tensor [outer, channels, spatial...]: (outer, channel, d, h, w).
PackedPhase::IndexMap imageMap(int64_t outer, int64_t channels,
                               const ConvolutionProblem::Spatial &spatial);

/// Those of one in blocks of channels: (outer, block, channel of the block, d, h, w).
PackedPhase::IndexMap blockMap(int64_t outer, int64_t channels, int64_t block,
                               const ConvolutionProblem::Spatial &spatial);
/// The one of them that fits: blocks of one channel are none.
PackedPhase::IndexMap imageOrBlockMap(int64_t outer, int64_t channels, int64_t block,
                                      const ConvolutionProblem::Spatial &spatial);

/// The first lane or row at or behind a place `distance` from the first, which may be negative.
mlir::Value firstAt(PackEmitter &e, mlir::Value distance, int64_t step);

/// Which numbers of a tensor stand in a place, in pairs along an axis: place i has those at first +
/// i * step and `apart` behind it, zero in front of the axis and where it ends at `extent`; a
/// second one is zero in front of `secondFrom`.
struct PairIndex {
  unsigned axis;
  int64_t first, step, apart, places, extent, secondFrom = 0;
};
/// The places that `single` makes.
Source pairsOf(PackEmitter &e, const Source &single, const PairIndex &index);

/// Copies rows x pitch elements of a plane to `target`, every `rowStep`-th row and `step`-th
/// column, from row and column `corner[3]`, `corner[4]` on; what lies outside the tensor is zero.
/// Rows are stored in ascending order in whole vectors: up to lanes - 1 elements behind the last
/// row are overwritten.
void copyPlane(PackEmitter &e, const Source &source, llvm::ArrayRef<mlir::Value> corner,
               const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t pitch,
               mlir::Value target, int64_t step = 1, int64_t rowStep = 1);

/// The same of pixels of `channels` channels, which are part of a block of `block` or several
/// whole ones: `corner` has indices of blockMap, and nothing behind the last pixel is overwritten.
/// The target has places of `numbers` of them: of more than one they lie there as they are stored.
/// `later`, if any: the corner of what is copied next, whose lines are asked for if the tensor lies
/// in memory as it is.
void copyBlocks(PackEmitter &e, const Source &source, llvm::ArrayRef<mlir::Value> corner,
                int64_t channels, int64_t block, const ConvolutionProblem::Spatial &extents,
                int64_t rows, int64_t pitch, mlir::Value target, int64_t step = 1,
                int64_t rowStep = 1, int64_t numbers = 1, llvm::ArrayRef<mlir::Value> later = {});

/// copyPlane for a vector of channels of a block at once: their planes follow each other in the
/// target. `turns` times every `step`-th column, from another first one each, make up a row;
/// pitch / turns is a vector's lanes or more, `tile` room for a transposition. Nothing but the
/// planes is overwritten.
void copyTransposed(PackEmitter &e, const Source &source, llvm::ArrayRef<mlir::Value> corner,
                    const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t pitch,
                    mlir::Value target, mlir::Value tile, int64_t step = 1, int64_t turns = 1);

/// Forward, of a problem without depth, groups and blocks of channels: each row of the taps of each
/// channel is a channel of its own, which has as many rows as y: a filter's elements stay in their
/// order. So odd numbers of channels fill pairs but for the last one.
ConvolutionProblem tapRowsProblem(const ConvolutionProblem &problem);
/// The image of that, where `single` is the problem's own.
Source tapRowsOf(PackEmitter &e, const Source &single, const ConvolutionProblem &problem);

/// Forward and backward data; nothing where the schedule's offsets into the image do not fit its
/// tables: those of blocks of channels in place, of some hundred million pixels each.
std::optional<Candidate> dataCandidate(const ConvolutionProblem &problem,
                                       const DataSchedule &schedule, const CpuTarget &target);
mlir::LogicalResult emitDataConvolution(const KernelSpec &spec, const Candidate &candidate,
                                        const CpuTarget &target, llvm::StringRef symbol,
                                        mlir::ModuleOp module, const ConvolutionProblem &problem);

/// Whether x or dy is computed while it is read.
bool computesOperands(const KernelSpec &spec);

/// What a micro-kernel multiplies of a filter's gradient: of a single image, where it takes pairs,
/// two, which are the rows that taps of the upper and of the lower half of dy's rows meet, padding
/// among them. A row in the middle is in both halves, once as zeros: what stands against these
/// counts in the sum anyway, so that no infinity spreads.
ConvolutionProblem filterProblem(const ConvolutionProblem &problem, const MicroKernel &kernel);
/// Backward filter; nothing in the same case. Schedules are those of such a problem; `isComputed`:
/// what computesOperands says.
std::optional<Candidate> filterCandidate(const ConvolutionProblem &problem,
                                         const FilterSchedule &schedule, const CpuTarget &target,
                                         bool isComputed);
mlir::LogicalResult emitFilterConvolution(const KernelSpec &spec, const Candidate &candidate,
                                          const CpuTarget &target, llvm::StringRef symbol,
                                          mlir::ModuleOp module, const ConvolutionProblem &problem);

} // namespace dlc::codegen

#endif
