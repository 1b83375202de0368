//===- ConvolutionSchedule.h - tiles, blocks and tasks of direct convolutions -------*- C++ -*-===//
//
// How a convolution is cut, chosen from the machine model alone.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_CONVOLUTION_CONVOLUTIONSCHEDULE_H
#define DLC_CODEGEN_CPU_CONVOLUTION_CONVOLUTIONSCHEDULE_H

#include "codegen/CPU/Convolution/ConvolutionGeometry.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/Kernel/ScheduleFields.h"

namespace dlc::codegen {

/// Forward and backward data. A register tile is boxRows x boxCols target pixels times `vectors`
/// vectors of target channels (a panel); boxRows > 1 only if boxCols spans the whole width, or the
/// target has blocks of channels.
struct DataSchedule {
  int64_t boxRows = 1, boxCols = 1, vectors = 1;
  /// Places of source channels of one reduction block.
  int64_t channelBlock = 1;
  /// Of one task: tiles in each direction, and panels.
  int64_t bandRows = 1, bandCols = 1, panels = 1;
  /// The source is read where it lies, in blocks of channels. A tile that would read behind a
  /// phase's last row or column begins earlier.
  bool inPlace = false;
  /// Each task packs what it needs of the filter into its scratch; else a phase of its own packs
  /// all of it into the workspace.
  bool packsInTask = false;
  /// What is multiplied is tapRowsProblem of the problem.
  bool rowsAsChannels = false;
  const MicroKernel *kernel = &fmaKernel();

  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("convolution tile ", s.boxRows);
    f("x", s.boxCols);
    f("x", s.vectors);
    f(" channels ", s.channelBlock);
    f(" task ", s.bandRows);
    f("x", s.bandCols);
    f("x", s.panels);
    f(" in place", s.inPlace);
    f(" packed by tasks", s.packsInTask);
    f(" rows as channels", s.rowsAsChannels);
    f(s.kernel);
  }
};

/// Backward filter. A register tile is a box of (channel, r, s) taps times `vectors` vectors of
/// output channels. If x has blocks of channels, boxes divide them, and they divide tasks.
struct FilterSchedule {
  int64_t boxChannels = 1, boxRows = 1, boxCols = 1, vectors = 1;
  /// Pixels of dy reduced by one call of the micro-kernel; several rows only if they are whole.
  int64_t bandRows = 1, bandCols = 1;
  /// Of one task: input channels, panels of output channels; and in how many parts the bands of all
  /// images are split.
  int64_t channels = 1, panels = 1, splits = 1;
  /// x and dy are read where they lie, in blocks of channels.
  bool inPlace = false;
  /// dy is, where x is copied.
  bool gradientInPlace = false;
  /// A place holds the same pixel of the images whose numbers follow each other, so that every tap
  /// is an offset.
  const MicroKernel *kernel = &fmaKernel();

  /// Places that the images of a batch are.
  int64_t images(const ConvolutionProblem &problem) const { return kernel->steps(problem.batch); }
  bool readsGradient() const { return inPlace || gradientInPlace; } ///< where it lies
  /// Whether x's copy has rows of pixels, however x lies: a group's steps follow each other.
  bool transposes() const { return kernel->inGroups(); }
  /// Whether a block of x's channels is copied, and multiplied with all panels, before the next.
  bool copiesByBlock(const ConvolutionProblem &problem) const {
    return problem.xBlock > 1 && !inPlace && !transposes();
  }
  int64_t boxSize() const { return boxChannels * boxRows * boxCols; }
  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("convolution filter tile ", s.boxChannels);
    f("x", s.boxRows);
    f("x", s.boxCols);
    f("x", s.vectors);
    f(" band ", s.bandRows);
    f("x", s.bandCols);
    f(" task ", s.channels);
    f("x", s.panels);
    f(" splits ", s.splits);
    f(" in place", s.inPlace);
    f(" gradient in place", s.gradientInPlace);
    f(s.kernel);
  }
};

/// A few schedules, by register tiles of different widths, the fastest first. `severalRows`:
/// whether a tile may hold several rows, that is, whether rows may be written as one; `inPlace`:
/// see DataSchedule. Behind each stands, if `packsInTask` may pay, the same tile with that.
llvm::SmallVector<DataSchedule> chooseDataSchedules(const DataGeometry &geometry,
                                                    const MachineModel &machine, bool severalRows,
                                                    bool inPlace, const MicroKernel &kernel);
/// `gradientInPlace`: whether dy may be read where it lies, if x is copied.
llvm::SmallVector<FilterSchedule> chooseFilterSchedules(const ConvolutionProblem &problem,
                                                        const MachineModel &machine, bool inPlace,
                                                        bool gradientInPlace,
                                                        const MicroKernel &kernel);
/// Bands of pixels of all images.
int64_t filterBands(const ConvolutionProblem &problem, const FilterSchedule &schedule);
/// Whether tiles may leave out rows of taps that they find outside the source: of a copy, where the
/// filter is packed before.
bool skipsRows(const DataGeometry &geometry, const DataSchedule &schedule);
/// Estimated cycles, without those of sourceCycles and filterCopyCycles.
double dataCycles(const DataGeometry &geometry, const MachineModel &machine,
                  const DataSchedule &schedule);
/// In which the tiles of a data convolution wait for lines of the source block, or which it takes
/// to copy that in their order.
double sourceCycles(const DataGeometry &geometry, const MachineModel &machine,
                    const DataSchedule &schedule);
double filterCycles(const ConvolutionProblem &problem, const MachineModel &machine,
                    const FilterSchedule &schedule);
/// In which a filter's gradient copies blocks of x and transposes those of dy, or waits for them.
double filterCopyCycles(const ConvolutionProblem &problem, const MachineModel &machine,
                        const FilterSchedule &schedule);

/// Derived sizes of the scratch block of a data convolution, in pixels. Rows and columns that a
/// stride skips and no tap reads are left out. Of a sampling geometry of plain images the block has
/// the same size, but lies as [row of tiles][tile][channel][pixel of the tile]: a tile reads it
/// from end to end. In place of the block stands the whole source, if that is read where it lies.
struct DataBlock {
  int64_t rowStep, colStep; ///< between rows and columns of the source in the block
  int64_t rows, pitch, slices;

  DataBlock(const DataGeometry &geometry, const DataSchedule &schedule);
  int64_t plane() const { return rows * pitch; }
};

/// Derived sizes of the scratch block of a filter gradient, in pixels: `planes` is channels times
/// depth taps of one task, rounded up to whole boxes; tiles count boxes. If x has blocks of
/// channels, so has the copy. In its place stand whole planes of x, if that is read where it lies.
struct FilterBlock {
  int64_t planes, rows, pitch, channelTiles, rowTiles, colTiles;

  /// Where a row's columns are in turns as a stride takes them, how many of them a turn has: those
  /// that a tap meets then follow each other.
  int64_t turn = 0;

  FilterBlock(const ConvolutionProblem &problem, const FilterSchedule &schedule);
  int64_t plane() const { return rows * pitch; }
  int64_t tiles() const { return channelTiles * rowTiles * colTiles; }
};

} // namespace dlc::codegen

#endif
