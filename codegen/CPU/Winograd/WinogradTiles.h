//===- WinogradTiles.h - tiles of images in and out of a phase's scratch ------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTILES_H
#define DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTILES_H

#include "codegen/CPU/Winograd/TileFunctions.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"

namespace dlc::codegen {

/// The segments of a block, and the tiles of them.
struct WinogradBlock {
  mlir::Value firstSegment, segments, tiles;
};

/// A segment of tiles: its image, its row of tiles, and the first row and column of the plane that
/// it covers.
struct WinogradSegment {
  mlir::Value image, tileRow, row, col;
  mlir::Value wholeTiles, shortTiles; ///< the first of them in the block
};

/// Of a problem without strides, a channel of x: that of the strided image, and its phase.
struct PhaseChannel {
  mlir::Value channel, row, col;
};

/// Tiles of a tensor [images, channels, rows, columns].
struct WinogradTiles {
  Source image;
  int64_t channels, block;            ///< with their phases; see ConvolutionProblem
  int64_t imageRows, imageCols;       ///< outside, a tile's pixels are zero
  int64_t rows, pitch;                ///< pixels that a segment reads
  int64_t firstRow, firstCol;         ///< of a segment's tiles, from its place in the plane
  ConvolutionProblem::Spatial stride; ///< from one pixel of a phase to the next
  TileTransform::Side side;
  bool streams = false, clears = false; ///< see TilePlaces
  mlir::Value endVector = {};           ///< of the task's vectors of channels; none: it has one
};

/// One phase of a Winograd kernel.
class WinogradPhase : public PackedPhase {
public:
  WinogradPhase(const KernelSpec &spec, const CpuTarget &target, mlir::ModuleOp module,
                llvm::StringRef name, unsigned workspaces, const ConvolutionProblem &problem,
                const WinogradSizes &sizes)
      : PackedPhase(spec, target, module, name, workspaces), problem(problem), sizes(sizes),
        schedule(sizes.schedule), transform(sizes.transform()) {}

protected:
  WinogradBlock decodeBlock(mlir::Value number);
  void forSegments(const WinogradBlock &block,
                   llvm::function_ref<void(const WinogradSegment &segment)> body);
  /// Calls `body` with each tile's number in its block, its first column in the segment and its
  /// transform.
  using TileBody =
      llvm::function_ref<void(mlir::Value tile, mlir::Value col, const TileTransform &transform)>;
  void forTiles(const WinogradSegment &segment, TileBody body);
  /// Tiles of a block that a point is multiplied with: the first of them, and the end.
  std::pair<mlir::Value, mlir::Value> tilesOf(const WinogradBlock &block, mlir::Value point);
  /// Rows and columns of a segment that exist.
  std::pair<mlir::Value, mlir::Value> extentsOf(const WinogradSegment &segment);
  PhaseChannel phaseOf(mlir::Value channel);
  /// Calls `body` with the row and column in the filter of each tap of a phase, and with its place
  /// in `taps`, where they stand in ascending order of their offsets; `clears`: where a phase has
  /// fewer taps than others, the rest become zero there.
  using TapBody = llvm::function_ref<void(mlir::Value high, mlir::Value wide, mlir::Value place)>;
  void forTaps(mlir::Value taps, const PhaseChannel &phase, bool clears, TapBody body);
  /// Transforms a segment's tiles for one vector of channels. Tile k of the block goes to
  /// target(k), `pointStride` elements apart for the points of the transform and `partStride` for
  /// the parts of a number. `buffer` holds (lanes + rows * pitch) * lanes elements, `numbers` what
  /// the transform needs.
  void transformTiles(const WinogradTiles &tiles, const WinogradSegment &segment,
                      mlir::Value channelVector, mlir::Value buffer, mlir::Value numbers,
                      int64_t pointStride, int64_t partStride,
                      llvm::function_ref<mlir::Value(mlir::Value)> target);

  const ConvolutionProblem &problem; ///< with its strides
  const WinogradSizes &sizes;
  const WinogradSchedule &schedule;
  std::unique_ptr<TileTransform> transform;

private:
  /// Fitted tiles of segment number `number` of a block.
  void orderTiles(const WinogradBlock &block, mlir::Value number, WinogradSegment &segment);
  /// A segment's pixels of a vector of channels, side by side.
  void copy(const WinogradTiles &tiles, const WinogradSegment &segment, mlir::Value channelVector,
            mlir::Value buffer);
  void gather(const WinogradTiles &tiles, const WinogradSegment &segment, mlir::Value channelVector,
              mlir::Value tile, mlir::Value buffer);
};

} // namespace dlc::codegen

#endif
