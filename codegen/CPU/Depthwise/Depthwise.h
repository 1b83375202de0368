//===- Depthwise.h - convolutions of each channel with a filter of its own ----------*- C++ -*-===//
//
//   y[n][c][i][j] = sum over r, s of x[n][c][i * stride + r * dilation - pad][...] * w[c][r][s]
//
// As many groups as channels: there is no sum over channels, so vectors lie along the rows of an
// image. A task copies a plane with its zero border into its scratch, where each tap is a vector at
// a fixed distance; columns that a stride skips go to a plane of their own, one for each remainder,
// so that vectors are contiguous there too. Backward data with a stride computes the remainders of
// the target's columns beside each other and writes them interleaved.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_DEPTHWISE_DEPTHWISE_H
#define DLC_CODEGEN_CPU_DEPTHWISE_DEPTHWISE_H

#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/Kernel/ScheduleFields.h"

namespace dlc::codegen {

/// A padded plane in the scratch, in elements: [remainder][row][pitch].
struct DepthwisePlane {
  /// Of `rows` rows, `cols` vector places wide, and taps up to `shift` columns behind a place.
  DepthwisePlane(int64_t rows, int64_t cols, int64_t shift, int64_t remainders, int64_t lanes);

  int64_t rows, pitch, remainders;

  /// A vector behind the last row is read, and kept zero.
  int64_t remainderElements() const { return rows * pitch + lanes; }
  int64_t elements() const { return remainders * remainderElements(); }
  /// Row `row` of what stands `distance` columns from the first.
  int64_t place(int64_t row, int64_t distance) const {
    return distance % remainders * remainderElements() + row * pitch + distance / remainders;
  }

  /// Copies the plane at `corner` (see copyPlane).
  void copy(PackEmitter &e, const Source &source, llvm::ArrayRef<mlir::Value> corner,
            const ConvolutionProblem::Spatial &extents, mlir::Value target) const;
  /// Zeroes what copies leave.
  void clear(PackEmitter &e, mlir::Value target) const;

private:
  int64_t lanes;
};

struct DepthwiseSchedule {
  /// Rows of the target that share loads, or columns where images have blocks of channels; for the
  /// filter's gradient, rows of taps.
  int64_t tileRows = 1;
  int64_t bandRows = 1; ///< rows of the target, or of dy, of one plane in the scratch
  int64_t units = 1;    ///< of one task: vectors of channels of one image
  int64_t splits = 1;   ///< parts of the batch, for the filter's gradient

  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("depthwise rows ", s.tileRows);
    f(" band ", s.bandRows);
    f(" task ", s.units);
    f(" splits ", s.splits);
  }
};

/// One phase of `tasks` with a scratch of as many elements.
Candidate depthwiseCandidate(const DepthwiseSchedule &schedule, int64_t tasks,
                             int64_t scratchElements, double cycles, const MachineModel &machine);

/// Why the generator cannot run the problem; empty if it can.
std::string depthwiseRefusal(const ConvolutionProblem &problem);

/// Forward and backward data.
Candidate depthwiseDataCandidate(const ConvolutionProblem &problem, const MachineModel &machine);
mlir::LogicalResult emitDepthwiseData(const KernelSpec &spec, const Candidate &candidate,
                                      const CpuTarget &target, llvm::StringRef symbol,
                                      mlir::ModuleOp module, const ConvolutionProblem &problem);

/// The same where both images have blocks of channels.
Candidate depthwiseBlocksCandidate(const ConvolutionProblem &problem, const MachineModel &machine);
mlir::LogicalResult emitDepthwiseBlocks(const KernelSpec &spec, const Candidate &candidate,
                                        const CpuTarget &target, llvm::StringRef symbol,
                                        mlir::ModuleOp module, const ConvolutionProblem &problem);

/// Backward filter.
Candidate depthwiseFilterCandidate(const ConvolutionProblem &problem, const MachineModel &machine);
mlir::LogicalResult emitDepthwiseFilter(const KernelSpec &spec, const Candidate &candidate,
                                        const CpuTarget &target, llvm::StringRef symbol,
                                        mlir::ModuleOp module, const ConvolutionProblem &problem);

/// Estimated cycles of copying a plane.
double copyCycles(const DepthwisePlane &plane, int64_t lanes);

} // namespace dlc::codegen

#endif
