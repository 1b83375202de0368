//===- BandReducer.h - reductions of what an anchor has just written ----------------*- C++ -*-===//
//
// Reductions behind an anchor (KernelSpec::hasReductionsBehind): moments of a convolution's result,
// sums of a gradient. A task that has written a band of the result, which then lies in its cache,
// reduces the band and merges what comes of it with the partial result of its piece of the tensor;
// a phase behind the anchor's merges the pieces (PartialResults.h). Pieces are those of the tasks,
// which follow from sizes, and a piece's bands are merged in the order in which its task writes
// them.
//
// For results [images, channels, depths, rows, columns] in blocks of channels that keep axis 1.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_REDUCE_BANDREDUCER_H
#define DLC_CODEGEN_CPU_REDUCE_BANDREDUCER_H

#include "codegen/CPU/Gemm/PackEmitter.h"
#include "codegen/CPU/Reduce/PartialResults.h"

namespace dlc::codegen {

/// Whether bands of the anchor's result, in blocks of channels, hold all that the spec's reductions
/// behind it need. Sums that also read another image, as those of a batch norm's gradient, do not
/// pay: its bands come from far away in short pieces, while a walk of its own reads it in one.
bool canReduceBands(const KernelSpec &spec, llvm::ArrayRef<int64_t> blockSpace);

/// Those of all pieces, in the workspace of a candidate, the last bytes of which they have.
PartialResults partialResults(const KernelSpec &spec, const Candidate &candidate);
/// Adds to a candidate of the anchor's what the reductions need: a workspace for `bandPieces`
/// pieces, the merging phase, and seconds.
void addBandReductions(const KernelSpec &spec, const CpuTarget &target, Candidate &candidate);
/// The merging phase.
mlir::LogicalResult emitBandMerge(const KernelSpec &spec, const Candidate &candidate,
                                  const CpuTarget &target, llvm::StringRef symbol,
                                  mlir::ModuleOp module, unsigned phase);

/// Rows of one vector of channels: indices of imageMap, of its first row and column.
struct Band {
  mlir::Value image, channel, depth, row, col;
  mlir::Value rows, cols; ///< how many
  int64_t rowStep = 1, colStep = 1;
};

/// Reduces the bands of one task.
class BandReducer {
public:
  /// `blockSpace`: the index space of blockMap. Does nothing where the spec has no reductions
  /// behind the anchor.
  BandReducer(KernelFunction &kernel, const Candidate &candidate,
              llvm::ArrayRef<int64_t> blockSpace);

  bool exists() const { return kernel.spec.hasReductionsBehind(); }
  /// The piece that the task's bands belong to, of channels [first, last), whole vectors.
  void begin(mlir::Value piece, mlir::Value first, mlir::Value last);
  /// A band that has been written.
  void reduce(const Band &band);

  mlir::LogicalResult result = mlir::success();

private:
  Partial reduceColumns(const Band &band, mlir::Value first, mlir::Value last);
  Point pointAt(const Band &band, mlir::Value row, mlir::Value col);
  llvm::SmallVector<mlir::Value> elementsAt(const Point &point);

  KernelFunction &kernel;
  CodeEmitter &e;
  std::optional<Reductions> reductions;
  std::optional<PartialResults> results;
  llvm::SmallVector<int64_t> space;
  int64_t chains = 1; ///< a power of two
  mlir::Value piece;
};

} // namespace dlc::codegen

#endif
