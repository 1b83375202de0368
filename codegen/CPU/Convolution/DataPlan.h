//===- DataPlan.h - a direct convolution forward or to its data ---------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_CONVOLUTION_DATAPLAN_H
#define DLC_CODEGEN_CPU_CONVOLUTION_DATAPLAN_H

#include "codegen/CPU/Convolution/ConvolutionSchedule.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/CPU/Gemm/PackEmitter.h"

namespace dlc::codegen {

/// Everything that both phases of a kernel agree on.
struct DataPlan {
  /// Columns of the phase table.
  enum Field : int64_t {
    Taps,        // taps of the phase
    OffsetStart, // first entry in the table of source offsets
    FilterStart, // first entry in the table of filter indices
    SliceStart,  // first entry in the table of depth offsets
    PackedStart, // first place of the packed filter
    FirstD,
    FirstH, // first target index
    CountD,
    CountH,
    CountW, // target indices
    MinH,   // smallest source distance of a tap along rows
    TapsH,  // rows of taps, and taps of each
    TapsW,
    Slices, // depth taps that any phase of the row phase needs
    Fields
  };

  DataPlan(const ConvolutionProblem &stored, const DataSchedule &schedule, int64_t lanes);

  const ConvolutionProblem &stored;
  ConvolutionProblem problem; ///< what is multiplied
  DataGeometry geometry;
  DataSchedule schedule;
  DataBlock block;
  int64_t lanes, width, panels, packedElements = 0;
  /// A phase a row; offsets of the steps of a block of channels in the source block, in the panels'
  /// order, behind each those of sourceLines; (d, r, s) of each tap; depth offsets.
  llvm::SmallVector<int64_t> phaseTable, offsetTable, filterTable, sliceTable;

  /// Whether rows of taps are left out that a tile finds outside the source. So that those which
  /// remain follow each other, the steps of a block of channels stand in the order (row of taps,
  /// channel, column), rows from the top down.
  bool skipsRows() const { return codegen::skipsRows(geometry, schedule); }
  /// Whether the source block lies tile by tile.
  bool copiesTiles() const { return geometry.isSampling() && geometry.sourceBlock == 1; }
  bool isForward() const { return problem.direction == ConvolutionProblem::Direction::Forward; }
  int64_t boxSize() const { return schedule.boxRows * schedule.boxCols; }
  /// From a block of channels that a tile reads to the next.
  int64_t blockStep() const {
    return schedule.inPlace ? geometry.sourceBlockStep
                            : geometry.sourceBlock * block.slices * block.plane();
  }
  /// Of the source, from the tile's first: where its rows stand.
  int64_t rowOffset(int64_t row) const;
  /// Elements from one pixel that a tile reads to the next.
  int64_t pixelStep() const {
    return schedule.inPlace ? geometry.sourcePixel : geometry.sourceBlock;
  }
  /// Lines of the next tile that each step asks for, in place: so all of a block of channels have
  /// arrived when its first is due.
  int64_t sourceLines() const {
    return schedule.inPlace && !schedule.kernel->inGroups()
               ? ceilDiv(boxSize(), geometry.sourceBlock)
               : 0;
  }
  /// Lines of the next panel that each group of steps asks for, where tiles are too few to wait for
  /// them themselves: all tiles of a task bring it.
  int64_t panelLines() const {
    const bool brings = schedule.kernel->inGroups() && !schedule.packsInTask;
    return brings && panelTiles() <= width ? ceilDiv(width, panelTiles()) : 0;
  }
  /// Of a task, that a panel is multiplied with.
  int64_t panelTiles() const {
    return schedule.bandRows * schedule.bandCols * geometry.columnPhases();
  }
  int64_t slotElements() const { return boxSize() * width; }
  int64_t firstCol() const { return geometry.offsetRange(2).first; } ///< of the taps' distances
  int64_t blocks() const { return ceilDiv(geometry.sourceChannels, schedule.channelBlock); }
  int64_t chunks() const { return ceilDiv(panels, schedule.panels); }
  int64_t rowBands() const {
    return ceilDiv(geometry.maxCount(1), schedule.bandRows * schedule.boxRows);
  }
  int64_t colBands() const {
    return ceilDiv(geometry.maxCount(2), schedule.bandCols * schedule.boxCols);
  }
  int64_t filterTaps() const {
    return geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2];
  }
  /// Places of channels that are packed together: their taps fill whole vectors, where those are
  /// few.
  int64_t packedTogether() const {
    const int64_t places = std::max<int64_t>(1, lanes / geometry.numbers), mostTaps = 256;
    return geometry.numbers * places * filterTaps() <= mostTaps ? places : 1;
  }
  /// Scratch to pack with: a tile, and all taps of those, for a vector of channels.
  int64_t packElements() const {
    return lanes * (lanes + geometry.numbers * packedTogether() * filterTaps());
  }
  /// Of a task that packs: a panel of a block of source channels, of one phase.
  int64_t panelElements() const {
    const int64_t taps = geometry.maxTaps(0) * geometry.maxTaps(1) * geometry.maxTaps(2);
    return schedule.channelBlock * taps * width;
  }
  /// Scratch of a task for that.
  int64_t packingElements() const {
    return schedule.packsInTask ? packElements() + geometry.columnPhases() * panelElements() : 0;
  }
  /// Places of source channels that a task of phase 0 packs: about 16k in all.
  int64_t packedChannels() const;
  int64_t packTasks() const;
  int64_t computeTasks() const { return chunks() * geometry.groups * pieces(); }
  // Scratch of phase 1: strips of finished rows, unless tiles are written, the source block, what
  // tasks pack, accumulators; strips and accumulators for each column phase.
  int64_t stripPixels() const { return roundUp(schedule.bandCols * boxSize(), lanes); }
  int64_t stripElements() const { return lanes * stripPixels(); }
  int64_t stageElements() const {
    return writesTiles() ? 0 : geometry.columnPhases() * stripElements();
  }
  int64_t sourceElements() const {
    if (schedule.inPlace)
      return 0;
    return roundUp(schedule.channelBlock * block.slices * block.plane() + lanes, lanes);
  }
  int64_t stripAccumulators() const { return schedule.bandCols * slotElements(); }
  /// Whether tasks that follow each other read one band of the source, and not the same panels:
  /// what there is more of comes from far away.
  bool chunksLast() const {
    return geometry.sourceBlock > 1 && geometry.sourceElements() > geometry.filterElements();
  }
  /// Whether each tile is written as soon as it is finished.
  bool writesTiles() const { return geometry.targetBlock > 1; }
  /// Each before the next one's sums begin.
  bool writesAtOnce() const { return writesTiles() && blocks() == 1; }
  int64_t accumulatorElements() const;
  bool fitsTables() const {
    return fitsTable(phaseTable) && fitsTable(offsetTable) && fitsTable(filterTable) &&
           fitsTable(sliceTable);
  }
  /// Of each channel's pixels: into how many pieces tasks divide them.
  int64_t pieces() const {
    return geometry.taskPhases() * geometry.batch * geometry.maxCount(0) * rowBands() * colBands();
  }

private:
  void appendPhase(int64_t phase);
};

} // namespace dlc::codegen

#endif
