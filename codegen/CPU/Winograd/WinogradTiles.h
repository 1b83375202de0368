//===- WinogradTiles.h - tiles of images in and out of a phase's scratch ------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTILES_H
#define DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTILES_H

#include "codegen/CPU/Winograd/TileFunctions.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"

namespace dlc::codegen {

/// A segment of tiles: its image, and the first row and column of the plane that it covers.
struct WinogradSegment {
  mlir::Value image, row, col;
};

/// Tiles of a tensor [images, channels, rows, columns].
struct WinogradTiles {
  Source image;
  int64_t channels, block;      ///< see ConvolutionProblem
  int64_t imageRows, imageCols; ///< outside, a tile's pixels are zero
  int64_t rows, pitch;          ///< pixels that a segment reads
  int64_t firstRow, firstCol;   ///< of a segment's tiles, from its place in the plane
  TileTransform::Side side;
  bool streams = false; ///< whether points go past the caches: see TilePlaces
};

/// One phase of a Winograd kernel.
class WinogradPhase : public PackedPhase {
public:
  WinogradPhase(const KernelSpec &spec, const CpuTarget &target, mlir::ModuleOp module,
                llvm::StringRef name, unsigned workspaces, const WinogradSizes &sizes)
      : PackedPhase(spec, target, module, name, workspaces), sizes(sizes), schedule(sizes.schedule),
        transform(sizes.transform()) {}

protected:
  WinogradSegment decodeSegment(mlir::Value number);
  /// Of a filter's taps, a vector of channels each.
  mlir::Value tapPlace(mlir::Value taps, mlir::Value row, mlir::Value col) {
    return e.at(taps, e.mul(e.add(e.mul(row, sizes.wideTaps), col), e.lanes));
  }
  /// Transforms a segment's tiles for one vector of channels. Tile k of the segment goes to
  /// target(k), `pointStride` elements apart for the points of the transform and `partStride` for
  /// the parts of a number. `buffer` holds (lanes + rows * pitch) * lanes elements, `numbers` what
  /// the transform needs.
  void transformTiles(const WinogradTiles &tiles, const WinogradSegment &segment,
                      mlir::Value channelVector, mlir::Value buffer, mlir::Value numbers,
                      int64_t pointStride, int64_t partStride,
                      llvm::function_ref<mlir::Value(mlir::Value)> target);

  const WinogradSizes &sizes;
  const WinogradSchedule &schedule;
  std::unique_ptr<TileTransform> transform;

private:
  /// A segment's pixels of a vector of channels, side by side.
  void copy(const WinogradTiles &tiles, const WinogradSegment &segment, mlir::Value channelVector,
            mlir::Value buffer);
  void gather(const WinogradTiles &tiles, const WinogradSegment &segment, mlir::Value channelVector,
              mlir::Value tile, mlir::Value buffer);
};

} // namespace dlc::codegen

#endif
