//===- WinogradSchedule.h - tiles, blocks and tasks of Winograd convolutions --------*- C++ -*-===//
//
// The image is cut into tiles of tileRows x tileCols outputs, each with its own transforms. Tiles
// that stand beside each other in a row form a segment, whose pixels are transposed together;
// segments of the whole batch are numbered through and cut into blocks, the work of a task.
//
// Fitted tiles end with the image: along an axis where they would reach beyond it by fewer pixels
// than there are tiles, the last ones are short, by an output each. What only that output has, the
// last of the points along the axis, is not multiplied with short tiles. A block holds whole images
// then, and its tiles stand in an order in which those of each point follow each other:
//
//   1  short rows, whole columns    tiles of the last point along columns: 1 and 2
//   2  whole rows, whole columns                              along rows: 2 and 3
//   3  whole rows, short columns                              along both: 2
//   4  short rows, short columns
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_WINOGRADSCHEDULE_H
#define DLC_CODEGEN_CPU_WINOGRAD_WINOGRADSCHEDULE_H

#include "codegen/CPU/Convolution/ConvolutionGeometry.h"
#include "codegen/CPU/CostModel.h"
#include "codegen/CPU/Winograd/WinogradTransform.h"
#include "codegen/Kernel/ScheduleFields.h"

namespace dlc::codegen {

/// A convolution with strides as one of stride 1: the pixels that a tap meets are a phase of the
/// image, and each phase of each channel a channel of its own, with the taps that meet it; where a
/// phase has a tap less than others, one is zero. Pixel i of phase f is pixel i * stride + f -
/// padding % stride of the image, if it has one. Channels stand in the order (channel, phase), or
/// where x has them in blocks (block, phase, channel); phases in the order (row, column).
ConvolutionProblem withoutStrides(const ConvolutionProblem &problem);
/// What of the strides tells in which order the transformed filter's channels stand: as text.
std::string phaseOrder(const ConvolutionProblem &problem);

struct WinogradSchedule {
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Winograd; ///< or FFT: the transform
  int64_t tileRows = 1, tileCols = 1;                              ///< outputs of a tile
  bool fitted = false; ///< whether the last tiles are short; a segment is a row of the image then
  int64_t segmentTiles = 1;
  int64_t blockSegments = 1;
  int64_t rows = 1, vectors = 1; ///< register tile; the parts of a complex number are two vectors
  /// Of one task: panels of vectors * lanes output channels (forward) or input channels (backward
  /// data); for the filter's gradient, of output channels, and vectors of input channels.
  int64_t panels = 1, channelVectors = 1;
  int64_t splits = 1; ///< parts of all blocks, for the filter's gradient
  /// Whether tiles are transformed once, for all tasks, in phases of their own; in the data
  /// directions those of the source.
  bool sharesTiles = false;
  /// In the data directions, with shared tiles: whether the filter is transformed for some panels
  /// at a time, which all blocks are multiplied with before the next ones.
  bool takesRounds = false;

  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f(dl::stringifyConvolutionAlgorithm, s.algorithm);
    f(" tile ", s.tileRows);
    f("x", s.tileCols);
    f(" fitted", s.fitted);
    f(" segment ", s.segmentTiles);
    f(" block ", s.blockSegments);
    f(" register ", s.rows);
    f("x", s.vectors);
    f(" task ", s.channelVectors);
    f("x", s.panels);
    f(" splits ", s.splits);
    f(" shared tiles", s.sharesTiles);
    f(" in rounds", s.takesRounds);
  }
};

/// The numbers that follow from a problem and a schedule. `plane` is what tiles cut: the target in
/// the data directions, dy for the filter's gradient.
struct WinogradSizes {
  /// Of a problem without strides.
  WinogradSizes(const ConvolutionProblem &problem, const WinogradSchedule &schedule, int64_t lanes);

  const WinogradSchedule &schedule;
  int64_t lanes, width;
  int64_t highTaps, wideTaps;                       ///< along rows and columns
  int64_t highPoints, widePoints;                   ///< pixels of the source's tile
  int64_t points, parts;                            ///< of its transform, and of a point's number
  int64_t sourceChannels, targetChannels;           ///< x and dy for the filter's gradient
  int64_t sourceVectors, targetPanels;              ///< of all channels
  int64_t planeRows, planeCols;                     ///< extents of the plane
  int64_t tileRowsOfImage, segmentsOfRow, segments; ///< segments of the whole batch
  int64_t wholeRows;                                ///< of tiles of an image that are not short
  int64_t wholeTiles, shortTiles; ///< of a segment: that are not, or are in columns
  int64_t blocks, blockTiles;

  int64_t shortRows() const { return tileRowsOfImage - wholeRows; }
  /// The first pixel of a row of tiles.
  int64_t firstRow(int64_t tileRow) const {
    return tileRow * schedule.tileRows - std::max<int64_t>(tileRow - wholeRows, 0);
  }
  /// Rows and columns of a tile's input, and columns of a segment's, in whole vectors.
  int64_t sourceRows() const { return highPoints; }
  int64_t sourcePitch() const { return roundUp(segmentCols() + wideTaps - 1, lanes); }
  int64_t segmentCols() const { return schedule.segmentTiles * schedule.tileCols - shortTiles; }
  int64_t targetPitch() const { return roundUp(segmentCols(), lanes); }
  int64_t tilePanels() const { return ceilDiv(blockTiles, schedule.rows); }
  /// Segments of the last block, which may hold fewer than others.
  int64_t lastSegments() const { return segments - (blocks - 1) * schedule.blockSegments; }
  /// The points of a tile, by the tiles that have them.
  struct PointKind {
    int64_t points;
    bool lastRow, lastCol; ///< along rows, along columns
  };
  std::array<PointKind, 4> pointKinds() const;
  /// Tiles of a block of some segments that such a point is multiplied with.
  std::pair<int64_t, int64_t> tilesOf(const PointKind &kind, int64_t segments) const;
  /// Panels of tiles of all points and blocks, in the data directions; of a whole block's point
  /// that has the fewest.
  int64_t productPanels() const;
  int64_t fewestPanels() const;
  /// Of output channels that a panel holds.
  int64_t panelChannels() const { return width / parts; }
  int64_t channelVectorsOfPanel() const { return schedule.vectors / parts; }
  /// Of a vector of channels of one filter.
  int64_t tapElements() const { return highTaps * wideTaps * lanes; }
  /// Of a vector of channels of one tile, between the steps of its transform.
  int64_t bufferElements() const { return transform()->bufferVectors() * lanes; }
  /// Of what a block's tiles of the source become, in the data directions.
  int64_t sourceTileBytes() const {
    return 4 * points * parts * blockTiles * sourceVectors * lanes;
  }
  /// Of a block's products with a panel of the filter, in the data directions.
  int64_t productBytes() const { return 4 * points * tilePanels() * schedule.rows * width; }
  /// Of what a block's tiles of x and of dy become, for the filter's gradient.
  int64_t filterTileBytes() const { return filterTileBytes(sourceVectors, targetPanels); }
  int64_t filterTileBytes(int64_t channelVectors, int64_t panels) const {
    return 4 * points * blockTiles * (channelVectors * lanes * parts + panels * width);
  }
  /// Of the transformed filter, in the data directions.
  int64_t filterPointBytes() const { return 4 * points * sourceChannels * targetPanels * width; }
  /// Panels of the filter that stand in the workspace at a time.
  int64_t roundPanels() const;
  int64_t rounds() const { return ceilDiv(targetPanels, roundPanels()); }
  /// Of blocks whose shared tiles stand in the workspace at a time.
  int64_t sharedBlocks() const;
  int64_t sharedRounds() const { return ceilDiv(blocks, sharedBlocks()); }
  std::unique_ptr<TileTransform> transform(bool shortRows = false, bool shortCols = false) const;

private:
  int64_t panelsOf(const PointKind &kind, int64_t segments) const;
};

/// Why no such algorithm can run the problem; empty if one can.
std::string winogradRefusal(const ConvolutionProblem &problem);
std::string fourierRefusal(const ConvolutionProblem &problem);
/// Why --math=strict leaves all F(m, r) out; empty if one is left.
std::string strictRefusal(const ConvolutionProblem &problem);

/// The best schedules for each tile size that pays to look at; `accurate`: only those whose error
/// is no larger than that of direct convolution.
llvm::SmallVector<WinogradSchedule> chooseWinogradSchedules(const ConvolutionProblem &problem,
                                                            const CpuTarget &target, bool accurate);

/// The best schedules of Fourier transforms, of the best size of tiles; none if all of them would
/// need too much memory.
llvm::SmallVector<WinogradSchedule> chooseFourierSchedules(const ConvolutionProblem &problem,
                                                           const CpuTarget &target);

/// Estimated seconds on one core, without what all kernels add. Problems may have strides.
double winogradSeconds(const ConvolutionProblem &problem, const CpuTarget &target,
                       const WinogradSchedule &schedule);
/// Those of them that transform the filter, in the data directions.
double winogradFilterSeconds(const ConvolutionProblem &problem, const CpuTarget &target,
                             const WinogradSchedule &schedule);

} // namespace dlc::codegen

#endif
