//===- ConvolutionSchedule.cpp - see ConvolutionSchedule.h ------------------------------------===//
#include "codegen/CPU/Convolution/ConvolutionSchedule.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace dlc;
using namespace dlc::codegen;
using llvm::ArrayRef, llvm::SmallVector;

static int64_t spanOf(std::pair<int64_t, int64_t> range) { return range.second - range.first; }

DataBlock::DataBlock(const DataGeometry &g, const DataSchedule &s)
    : rowStep(g.maxSpan(1) == 0 ? 1 : g.sourceStep[1]),
      colStep(spanOf(g.offsetRange(2)) == 0 ? 1 : g.sourceStep[2]),
      rows((s.bandRows * s.boxRows - 1) * rowStep + g.maxSpan(1) + 1),
      pitch((s.bandCols * s.boxCols - 1) * colStep + spanOf(g.offsetRange(2)) + 1),
      slices(std::max<int64_t>(1, g.maxTaps(0))) {
  if (!s.inPlace)
    return;
  rowStep = g.sourceStep[1], colStep = g.sourceStep[2];
  rows = g.source[1], pitch = g.source[2];
}

/// Cycles outside the reduction loop for one tile: clearing, storing, transposing and the
/// epilogue's rows, or vectors of channels.
static double tileOverhead(const DataGeometry &g, const MachineModel &m, int64_t rows,
                           int64_t vectors) {
  if (g.targetBlock > 1)
    return 20 + 1.5 * double(rows * vectors);
  const int64_t channels = std::min(vectors * m.lanes, g.targetChannels);
  double transposes = double(ceilDiv(rows, m.lanes) * vectors) * double(3 * m.lanes);
  return 40 + 1.5 * double(rows * vectors) + transposes + 3 * double(channels);
}

static int64_t maxReduction(const DataGeometry &g) {
  return g.sourceChannels * std::max<int64_t>(1, g.maxTaps(0) * g.maxTaps(1) * g.maxTaps(2));
}

/// Of the register tiles of a phase, over one panel.
static double tilesOf(const DataGeometry &g, const DataSchedule &s, int64_t phase) {
  auto boxes = [&](unsigned axis, int64_t size) {
    return ceilDiv(g.dimension(phase, axis).count, size);
  };
  return double(g.batch * g.groups * boxes(0, 1) * boxes(1, s.boxRows) * boxes(2, s.boxCols));
}

/// Of a panel that passes over the tiles of a task. A copy of the source's block needs room beside
/// it.
static int64_t mostPanelBytes(const MachineModel &m, const DataSchedule &s) {
  if (s.kernel->inGroups()) // whose sums on their way cost more
    return m.l2Bytes / 4;
  // Pairs are multiplied twice as fast, so that sums on their way through memory weigh more than
  // the lines of a somewhat larger panel, which come from L2.
  const bool ofPairs = s.kernel->step() > 1;
  return std::max<int64_t>(1, ofPairs ? 5 * m.l1Bytes / 4 : s.inPlace ? m.l1Bytes : m.l1Bytes / 2);
}

bool codegen::skipsRows(const DataGeometry &g, const DataSchedule &s) {
  // A last block of fewer channels would need offsets of its own.
  if (!g.isFlat() || s.inPlace || s.packsInTask || s.kernel->inGroups() ||
      g.sourceChannels % s.channelBlock != 0)
    return false;
  return llvm::any_of(g.dimensions[1], [&](const PhaseDimension &d) {
    return d.taps.size() > 1 &&
           (d.minOffset() < 0 || (d.count - 1) * g.sourceStep[1] + d.maxOffset() >= g.source[1]);
  });
}

/// The share of a phase's steps that its tiles take.
static double shareOfSteps(const DataGeometry &g, const DataSchedule &s, int64_t phase) {
  const PhaseDimension &rows = g.dimension(phase, 1);
  if (!skipsRows(g, s) || rows.taps.empty())
    return 1;
  int64_t taken = 0;
  for (int64_t row = 0; row < rows.count; row += s.boxRows) {
    const int64_t last = std::min(row + s.boxRows, rows.count) - 1;
    for (const ConvolutionTap &tap : rows.taps)
      taken += last * g.sourceStep[1] + tap.offset >= 0 &&
               row * g.sourceStep[1] + tap.offset < g.source[1];
  }
  return double(taken) / double(ceilDiv(rows.count, s.boxRows) * int64_t(rows.taps.size()));
}

double codegen::dataCycles(const DataGeometry &g, const MachineModel &m, const DataSchedule &s) {
  int64_t rows = s.boxRows * s.boxCols, width = s.vectors * m.lanes;
  const auto panels = double(ceilDiv(g.targetChannels, width));
  const double overhead = tileOverhead(g, m, rows, s.vectors);
  // Sums in parts that pass through memory.
  const double perPart = s.inPlace ? 20 + 2 * double(rows * s.vectors) : 0;
  double cycles = 0;
  for (int64_t phase = 0; phase < g.phases(); ++phase) {
    double steps = shareOfSteps(g, s, phase) * double(g.sourceChannels * g.taps(phase));
    double parts = std::ceil(steps * double(m.elementBytes * width) / double(mostPanelBytes(m, s)));
    cycles += tilesOf(g, s, phase) * panels *
              (steps * s.kernel->cycles(m, rows, s.vectors) + overhead + (parts - 1) * perPart);
  }
  return cycles;
}

double codegen::sourceCycles(const DataGeometry &g, const MachineModel &m, const DataSchedule &s) {
  const auto panels = double(ceilDiv(g.targetChannels, s.vectors * m.lanes));
  if (g.sourceBlock > 1) {
    // The lines of a tile's pixels, each for a block of channels.
    const double perLine = s.inPlace ? 1 : 0.5;
    double lines = 0;
    for (int64_t phase = 0; phase < g.phases(); ++phase)
      lines += g.taps(phase) == 0 ? 0 : tilesOf(g, s, phase) * double(s.boxRows * s.boxCols);
    return perLine * panels * lines * double(g.sourceChannels / lineElements);
  }
  if (g.isSampling()) {
    const double perVector = 8;
    double vectors = 0;
    for (int64_t phase = 0; phase < g.phases(); phase += g.columnPhases())
      vectors += g.taps(phase) == 0 ? 0 : tilesOf(g, s, phase) * double(s.boxRows);
    vectors *= double(g.sourceChannels * ceilDiv(s.boxCols, m.lanes));
    return perVector * vectors * std::max(1.0, panels / double(s.panels));
  }
  // A tile reads the lines of a channel one after the other, and jumps to the next channel's: as
  // far as pages go, the processor does not see it coming. Measured on pointwise convolutions of
  // images of 7x7 to 56x56.
  const double pageBytes = 2048;
  const double cycles =
      m.jumpCycles * std::min(1.0, double(m.elementBytes * DataBlock(g, s).plane()) / pageBytes);
  double lines = 0;
  for (int64_t phase = 0; phase < g.phases(); ++phase) {
    int64_t rowsOfTaps = 1;
    for (unsigned axis : {0, 1})
      rowsOfTaps *= int64_t(g.dimension(phase, axis).taps.size());
    const bool any = g.taps(phase) != 0;
    lines += any ? tilesOf(g, s, phase) * double(g.sourceChannels * rowsOfTaps * s.boxRows) : 0;
  }
  return cycles * panels * lines;
}

/// Register tiles of different widths that are offered.
static const size_t offeredTiles = 2;

/// The offeredTiles that take least of the best ones of each width, the fastest first.
/// `tiles(vectors)` gives those of a width, `cycles(tile)` what one takes.
template <typename Schedule>
static SmallVector<Schedule> bestTiles(llvm::function_ref<SmallVector<Schedule>(int64_t)> tiles,
                                       llvm::function_ref<double(const Schedule &)> cycles) {
  SmallVector<std::pair<double, Schedule>> best;
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    SmallVector<std::pair<double, Schedule>> timed;
    for (const Schedule &tile : tiles(vectors))
      timed.emplace_back(cycles(tile), tile);
    auto less = [](const auto &a, const auto &b) { return a.first < b.first; };
    if (!timed.empty())
      best.push_back(*std::min_element(timed.begin(), timed.end(), less));
  }
  llvm::sort(best, [](const auto &a, const auto &b) {
    return std::pair(a.first, a.second.vectors) < std::pair(b.first, b.second.vectors);
  });
  SmallVector<Schedule> fastest;
  for (const auto &[time, tile] : ArrayRef(best).take_front(offeredTiles))
    fastest.push_back(tile);
  return fastest;
}

/// The largest number of rows or columns of a tile: what is read in place lies in each phase.
static int64_t mostOf(const DataGeometry &g, unsigned axis, bool inPlace) {
  int64_t most = g.maxCount(axis);
  for (const PhaseDimension &d : g.dimensions[axis])
    most = inPlace && !d.taps.empty() ? std::min(most, d.count) : most;
  return most;
}

static SmallVector<DataSchedule> chooseTiles(const DataGeometry &g, const MachineModel &m,
                                             bool severalRows, bool inPlace,
                                             const MicroKernel &kernel) {
  const int64_t height = mostOf(g, 1, inPlace), width = mostOf(g, 2, inPlace);
  auto tiles = [&](int64_t vectors) {
    SmallVector<DataSchedule> all;
    auto add = [&](int64_t boxRows, int64_t boxCols) {
      DataSchedule &s = all.emplace_back();
      s.boxRows = boxRows, s.boxCols = boxCols, s.vectors = vectors, s.inPlace = inPlace;
      s.kernel = &kernel;
    };
    const int64_t rows = kernel.mostRows(m, vectors), group = kernel.group();
    // Of a group, pixels stand in one row, of which a copy has more than there are.
    const int64_t most = inPlace ? width : roundUp(width, group);
    for (int64_t cols = group; cols <= std::min(rows, most); cols += group)
      add(1, cols);
    int64_t fewest = group;
    if (g.targetBlock == 1)
      fewest = width % group == 0 ? width : most + 1;
    for (int64_t cols = fewest; severalRows && cols <= most; cols += group)
      for (int64_t box = 2; box <= std::min(height, rows / std::max<int64_t>(1, cols)); ++box)
        add(box, cols);
    return all;
  };
  return bestTiles<DataSchedule>(tiles, [&](const DataSchedule &s) { return dataCycles(g, m, s); });
}

/// The next smaller size of equal parts that cover `extent`; `size` > 1.
static int64_t onePartMore(int64_t extent, int64_t size) {
  return std::min(size - 1, ceilDiv(extent, ceilDiv(extent, size) + 1));
}

namespace {
/// Blocks and tasks around a register tile.
class DataBlocking {
public:
  DataBlocking(const DataSchedule &tile, const DataGeometry &g, const MachineModel &m)
      : s(tile), g(g), m(m), tileRows(tilesAlong(1, tile.boxRows)),
        tileCols(tilesAlong(2, tile.boxCols)),
        panels(ceilDiv(g.targetChannels, tile.vectors * m.lanes)) {
    s.channelBlock = g.sourceChannels;
    s.bandRows = tileRows, s.bandCols = tileCols;
    s.panels = panels;
  }

  DataSchedule complete() {
    fitCaches();
    takeDivisor();
    divide();
    return s;
  }

private:
  int64_t tilesAlong(unsigned axis, int64_t box) const {
    return std::max<int64_t>(1, ceilDiv(g.maxCount(axis), box));
  }
  int64_t panelBytes() const;
  int64_t blockBytes() const;
  int64_t tasks() const;
  double taskWork() const;
  bool takesBandsFirst() const;
  void halveChannels() { s.channelBlock = roundUp(ceilDiv(s.channelBlock, 2), g.sourceBlock); }
  void fitCaches();
  void takeDivisor();
  bool divideTask();
  void divide();

  DataSchedule s;
  const DataGeometry &g;
  const MachineModel &m;
  const int64_t tileRows, tileCols, panels;
};
} // namespace

/// Of a panel of the filter, as far as a block of channels takes it.
int64_t DataBlocking::panelBytes() const {
  const int64_t taps = maxReduction(g) / g.sourceChannels;
  return m.elementBytes * s.channelBlock * taps * s.vectors * m.lanes;
}

/// Of what a task reads: a copy, or a part of the source.
int64_t DataBlocking::blockBytes() const {
  DataSchedule copied = s;
  copied.inPlace = false;
  const DataBlock block(g, copied);
  return m.elementBytes * s.channelBlock * block.slices * block.plane();
}

/// One panel of the filter stays in L1 while the tiles pass over it. The source block shares L2
/// with what streams past: it gets a quarter.
void DataBlocking::fitCaches() {
  const int64_t most = m.l2Bytes / 4;
  while (panelBytes() > mostPanelBytes(m, s) && s.channelBlock > g.sourceBlock)
    halveChannels();
  while (blockBytes() > most && s.bandRows > 1)
    s.bandRows = onePartMore(tileRows, s.bandRows);
  while (blockBytes() > most && s.bandCols > 1)
    s.bandCols = onePartMore(tileCols, s.bandCols);
  while (blockBytes() > most && s.channelBlock > g.sourceBlock)
    halveChannels();
}

/// A somewhat smaller block that divides the channels, where rows of taps can be left out then.
void DataBlocking::takeDivisor() {
  DataSchedule smaller = s;
  const int64_t least = ceilDiv(3 * s.channelBlock, 4);
  for (; smaller.channelBlock >= least; smaller.channelBlock -= g.sourceBlock)
    if (skipsRows(g, smaller)) {
      s.channelBlock = smaller.channelBlock;
      return;
    }
}

int64_t DataBlocking::tasks() const {
  return g.taskPhases() * g.batch * g.groups * g.maxCount(0) * ceilDiv(panels, s.panels) *
         ceilDiv(tileRows, s.bandRows) * ceilDiv(tileCols, s.bandCols);
}

double DataBlocking::taskWork() const {
  const int64_t pixels = s.bandRows * s.boxRows * s.bandCols * s.boxCols;
  return double(pixels * s.panels * s.vectors * m.lanes) * double(maxReduction(g));
}

/// Whether more bands cost less than more chunks of panels. Each chunk reads the source again, each
/// band of an image the filter. Of plain images copying tile by tile takes longest.
bool DataBlocking::takesBandsFirst() const {
  const int64_t bands = ceilDiv(tileRows, s.bandRows) * ceilDiv(tileCols, s.bandCols);
  if (g.sourceBlock == 1)
    return g.isSampling() && s.bandRows > 1;
  return g.batch * bands * g.filterElements() < ceilDiv(panels, s.panels) * g.sourceElements() &&
         (s.bandRows > 1 || s.bandCols > 1);
}

/// Whether there was something to halve. Each band of a task that packs would pack its panels
/// again.
bool DataBlocking::divideTask() {
  if (s.panels > 1 && (s.packsInTask || !takesBandsFirst()))
    s.panels = ceilDiv(s.panels, 2);
  else if (!s.packsInTask && s.bandRows > 1)
    s.bandRows = ceilDiv(s.bandRows, 2);
  else if (!s.packsInTask && s.bandCols > 1)
    s.bandCols = ceilDiv(s.bandCols, 2);
  else
    return false;
  return true;
}

/// Until all cores have something to do.
void DataBlocking::divide() {
  while (tasks() < m.wantedTasks() && taskWork() > 2 * smallestTask)
    if (!divideTask())
      break;
}

/// Whether no two tasks pack the same part of the filter. A row phase packs all taps of a channel,
/// of which it needs some.
static bool packsOnce(const DataGeometry &g, const DataSchedule &s) {
  return g.batch == 1 && g.maxCount(0) == 1 && (product(g.kernel) == 1 || g.taskPhases() == 1) &&
         s.bandRows * s.boxRows >= g.maxCount(1) && s.bandCols * s.boxCols >= g.maxCount(2);
}

SmallVector<DataSchedule> codegen::chooseDataSchedules(const DataGeometry &g, const MachineModel &m,
                                                       bool severalRows, bool inPlace,
                                                       const MicroKernel &kernel) {
  severalRows &= g.targetBlock > 1 || (g.targetStep[2] == 1 && g.targetStep[1] == 1);
  SmallVector<DataSchedule> all = chooseTiles(g, m, severalRows, inPlace, kernel);
  SmallVector<DataSchedule> complete;
  for (DataSchedule tile : all) {
    complete.push_back(DataBlocking(tile, g, m).complete());
    // Where the filter is most of what is read, its way through the workspace costs most.
    if (g.filterElements() <= g.sourceElements())
      continue;
    tile.packsInTask = true;
    if (const DataSchedule schedule = DataBlocking(tile, g, m).complete(); packsOnce(g, schedule))
      complete.push_back(schedule);
  }
  return complete;
}

FilterBlock::FilterBlock(const ConvolutionProblem &p, const FilterSchedule &s)
    : channelTiles(ceilDiv(s.channels * p.kernel[0], s.boxChannels)),
      rowTiles(ceilDiv(p.kernel[1], s.boxRows)), colTiles(ceilDiv(p.kernel[2], s.boxCols)) {
  planes = channelTiles * s.boxChannels;
  rows = (s.bandRows - 1) * p.stride[1] + (rowTiles * s.boxRows - 1) * p.dilation[1] + 1;
  pitch = (s.bandCols - 1) * p.stride[2] + (colTiles * s.boxCols - 1) * p.dilation[2] + 1;
  if (s.transposes() && p.stride[2] > 1) {
    turn = s.bandCols + (p.kernel[2] - 1) * p.dilation[2] / p.stride[2];
    pitch = std::min(p.stride[2], (p.kernel[2] - 1) * p.dilation[2] + 1) * turn;
  }
  if (s.inPlace)
    rows = p.input[0] * p.input[1], pitch = p.input[2];
}

/// Whether products wait for lines of L2 and memory: nothing is copied, or pairs are multiplied,
/// twice as fast.
static bool waitsForLines(const FilterSchedule &s) {
  return s.inPlace || (s.kernel->step() > 1 && !s.kernel->inGroups());
}

/// Pixels of one call of the micro-kernel: a panel of dy stays in L1 while the tiles pass over it,
/// and beside it the lines of x that they share. Those that are a stride apart meet in as small a
/// part of L1's sets, which fill unevenly. Measured on ResNet-50's 1x1 with AVX2: 0.81 and 0.86 of
/// the time that longer bands took.
static int64_t bandPixels(const ConvolutionProblem &p, const MachineModel &m,
                          const FilterSchedule &s) {
  const int64_t panelBytes = waitsForLines(s) ? m.l1Bytes / 2 : m.l1Bytes;
  const int64_t pixelBytes = m.elementBytes * s.vectors * m.lanes;
  int64_t pixels = panelBytes / pixelBytes;
  if (s.inPlace && p.stride[2] > 1)
    pixels = std::min(pixels,
                      3 * m.l1Bytes / 4 / (pixelBytes + m.elementBytes * p.xBlock * p.stride[2]));
  return std::max(m.lanes, pixels);
}

int64_t codegen::filterBands(const ConvolutionProblem &p, const FilterSchedule &s) {
  return s.images(p) * p.output[0] * ceilDiv(p.output[1], s.bandRows) *
         ceilDiv(p.output[2], s.bandCols);
}

double codegen::filterCycles(const ConvolutionProblem &p, const MachineModel &m,
                             const FilterSchedule &s) {
  const int64_t channels = p.inChannels / p.groups * p.kernel[0];
  double tiles = double(p.groups * ceilDiv(channels, s.boxChannels) *
                        ceilDiv(p.kernel[1], s.boxRows) * ceilDiv(p.kernel[2], s.boxCols) *
                        ceilDiv(p.outChannels / p.groups, s.vectors * m.lanes));
  double pixels = double(s.images(p) * p.output[0] * p.output[1] * p.output[2]);
  double calls = std::max(1.0, pixels / double(bandPixels(p, m, s)));
  // The taps of a block of channels stand in a line each, of L2 unless the block leaves half of L1.
  const int64_t blockBytes = m.elementBytes * p.xBlock * FilterBlock(p, s).plane();
  const bool isNear = s.inPlace || (s.copiesByBlock(p) && 2 * blockBytes <= m.l1Bytes);
  const bool waits = s.copiesByBlock(p) && !isNear;
  const double waiting = waits ? 0.5 * double(s.boxRows * s.boxCols) : 0;
  const double ofCall = isNear ? 10 + 0.5 * double(s.boxSize() * s.vectors)
                               : 30 + 3 * double(s.boxSize() * s.vectors);
  return tiles *
         (pixels * (s.kernel->cycles(m, s.boxSize(), s.vectors) + waiting) + calls * ofCall);
}

double codegen::filterCopyCycles(const ConvolutionProblem &p, const MachineModel &m,
                                 const FilterSchedule &s) {
  const int64_t chunks = ceilDiv(p.inChannels / p.groups, s.channels);
  if (s.inPlace) {
    // Lines of pixels that do not come as fast as they are asked for.
    const double perLine = 1;
    const int64_t panelChunks = ceilDiv(p.outChannels / p.groups, s.panels * s.vectors * m.lanes);
    const auto pixels = double(p.batch * p.output[0] * p.output[1] * p.output[2]);
    return perLine * pixels * double(p.inChannels * panelChunks + p.outChannels * chunks) /
           lineElements;
  }
  const FilterBlock block(p, s);
  const double perVector = (s.transposes() && p.xBlock > 1 ? 6
                            : p.xBlock > 1                 ? 1
                                                           : 1.5) +
                           p.imageCycles();
  const double perGradient = s.gradientInPlace ? 0.5 : p.yBlock > 1 ? 1 : 2;
  const int64_t panels = ceilDiv(p.outChannels / p.groups, s.vectors * m.lanes);
  // Vectors along the channels of a pixel, or along a row of pixels.
  const int64_t planeVectors = p.xBlock > 1
                                   ? block.planes * block.plane() / m.lanes
                                   : block.planes * block.rows * ceilDiv(block.pitch, m.lanes);
  const int64_t pixels = p.yBlock > 1 ? s.bandCols : roundUp(s.bandCols, m.lanes);
  const auto source = double(ceilDiv(panels, s.panels) * planeVectors);
  const auto gradient = double(panels * s.vectors * s.bandRows * pixels);
  return double(s.kernel->step() * filterBands(p, s) * p.groups * chunks) *
         (perVector * source + perGradient * gradient);
}

/// Whether panels of dy are whole, and of whole blocks.
static bool hasWholePanels(const ConvolutionProblem &p, const MachineModel &m, int64_t vectors) {
  const int64_t width = vectors * m.lanes;
  return p.outChannels / p.groups % width == 0 && width % p.yBlock == 0;
}

static SmallVector<FilterSchedule> chooseFilterTiles(const ConvolutionProblem &p,
                                                     const MachineModel &m, bool inPlace,
                                                     const MicroKernel &kernel) {
  const int64_t channels = p.inChannels / p.groups * p.kernel[0];
  auto tiles = [&](int64_t vectors) {
    SmallVector<FilterSchedule> all;
    if (inPlace && !hasWholePanels(p, m, vectors))
      return all;
    auto add = [&](int64_t boxChannels, int64_t boxRows, int64_t boxCols) {
      if (p.xBlock > 1 && p.xBlock % boxChannels != 0)
        return;
      FilterSchedule &s = all.emplace_back();
      s.boxChannels = boxChannels, s.boxRows = boxRows, s.boxCols = boxCols, s.vectors = vectors;
      s.inPlace = inPlace, s.kernel = &kernel;
    };
    const int64_t rows = kernel.mostRows(m, vectors);
    if (const int64_t group = kernel.group(); group > 1) {
      for (int64_t box = group; box <= std::min(rows, roundUp(channels, group)); box += group)
        all.push_back({.boxChannels = box, .vectors = vectors, .kernel = &kernel});
      return all;
    }
    for (int64_t cols = 1; cols <= std::min(rows, p.kernel[2]); ++cols)
      add(1, 1, cols);
    for (int64_t box = 2; box <= std::min(p.kernel[1], rows / p.kernel[2]); ++box)
      add(1, box, p.kernel[2]);
    for (int64_t box = 2; box <= std::min(channels, rows / (p.kernel[1] * p.kernel[2])); ++box)
      add(box, p.kernel[1], p.kernel[2]);
    for (int64_t box = 2; p.xBlock > 1 && box <= std::min(p.xBlock, rows); ++box)
      add(box, 1, 1);
    return all;
  };
  return bestTiles<FilterSchedule>(tiles,
                                   [&](const FilterSchedule &s) { return filterCycles(p, m, s); });
}

/// Half of a task's channels, in whole blocks.
static int64_t halfOf(const ConvolutionProblem &p, int64_t channels) {
  return roundUp(ceilDiv(channels, 2), p.xBlock);
}

/// Half of a task, the way that adds less packing: each chunk of panels copies the source again,
/// each chunk of channels transposes the gradient again.
static FilterSchedule halfTask(const ConvolutionProblem &p, const MachineModel &m,
                               const FilterSchedule &s) {
  FilterSchedule fewerPanels = s, fewerChannels = s;
  fewerPanels.panels = ceilDiv(s.panels, 2);
  fewerChannels.channels = halfOf(p, s.channels);
  const bool byPanels =
      s.panels > 1 && (s.channels == p.xBlock ||
                       filterCopyCycles(p, m, fewerPanels) < filterCopyCycles(p, m, fewerChannels));
  return byPanels ? fewerPanels : fewerChannels;
}

static bool isSmallest(const ConvolutionProblem &p, const FilterSchedule &s) {
  return s.panels == 1 && s.channels == p.xBlock;
}

/// Halves the task until there are enough of them. A few there must be; more only if packing stays
/// a small part of the work.
static void splitTask(const ConvolutionProblem &p, const MachineModel &m, FilterSchedule &s) {
  // Beside copies tiles are multiplied in no time: by them alone, tasks would stay few.
  const int64_t channels = p.inChannels / p.groups, fewTasks = s.transposes() ? 16 : 4;
  const int64_t panels = ceilDiv(p.outChannels / p.groups, s.vectors * m.lanes);
  const double pixels = double(s.images(p) * p.output[0] * p.output[1] * p.output[2]);
  const double taps = double(p.kernel[0] * p.kernel[1] * p.kernel[2]);
  auto tasks = [&] {
    return p.groups * s.splits * ceilDiv(panels, s.panels) * ceilDiv(channels, s.channels);
  };
  auto work = [&] {
    return pixels / double(s.splits) * double(s.panels * s.vectors * m.lanes * s.channels) * taps;
  };
  while (tasks() < m.wantedTasks() && work() > 2 * smallestTask && !isSmallest(p, s)) {
    const FilterSchedule next = halfTask(p, m, s);
    if (tasks() >= fewTasks && filterCopyCycles(p, m, next) > filterCycles(p, m, s) / 8)
      break;
    s = next;
  }
}

static FilterSchedule completeSchedule(FilterSchedule s, const ConvolutionProblem &p,
                                       const MachineModel &m) {
  const ConvolutionProblem::Spatial out = p.output;
  const int64_t width = s.vectors * m.lanes, channels = p.inChannels / p.groups;
  const int64_t panels = ceilDiv(p.outChannels / p.groups, width);
  const int64_t pixels = bandPixels(p, m, s);
  s.bandCols = std::max<int64_t>(1, std::min(out[2], pixels));
  s.bandCols = roundUp(s.bandCols, s.kernel->group());
  if (s.bandCols >= out[2])
    s.bandRows = std::max<int64_t>(1, std::min(out[1], pixels / s.bandCols));
  if (waitsForLines(s)) { // nothing but equal lengths is lost with shorter ones
    s.bandCols = ceilDiv(out[2], ceilDiv(out[2], s.bandCols));
    s.bandRows = ceilDiv(out[1], ceilDiv(out[1], s.bandRows));
  }
  s.channels = channels;
  s.panels = panels;

  auto accumulatorBytes = [&] {
    return m.elementBytes * FilterBlock(p, s).tiles() * s.boxChannels * s.boxRows * s.boxCols *
           s.panels * width;
  };
  auto sourceBytes = [&] {
    FilterBlock block(p, s);
    return m.elementBytes * (s.copiesByBlock(p) ? p.xBlock : block.planes) * block.plane();
  };
  // Beside the accumulators stand two bands of both operands.
  while (s.inPlace && accumulatorBytes() > m.l2Bytes / 4 && !isSmallest(p, s))
    s = halfTask(p, m, s);
  while (!s.inPlace && sourceBytes() > m.l2Bytes / 2 && s.channels > p.xBlock)
    s.channels = halfOf(p, s.channels);
  while (accumulatorBytes() > m.l2Bytes / 2 && (s.panels > 1 || s.channels > p.xBlock)) {
    if (s.panels > 1)
      s.panels = ceilDiv(s.panels, 2);
    else
      s.channels = halfOf(p, s.channels);
  }
  const int64_t grid = p.groups * ceilDiv(panels, s.panels) * ceilDiv(channels, s.channels);
  // Parts are sums of their own, which are written and read: less than the images are.
  const int64_t bands = filterBands(p, s), partBytes = p.elementBytes * p.filterElements();
  const int64_t mostSplits = std::min(bands, p.imageBytes() / ((s.inPlace ? 4 : 2) * partBytes));
  s.splits = std::clamp<int64_t>(m.wantedTasks() / std::max<int64_t>(1, grid), 1,
                                 std::max<int64_t>(1, mostSplits));
  // Every part has a band, and as many as the others but for the last.
  int64_t ofPart = ceilDiv(bands, s.splits);
  if (ofPart > 1 && ceilDiv(bands, ofPart) < s.splits && ceilDiv(bands, ofPart - 1) <= mostSplits)
    --ofPart;
  s.splits = ceilDiv(bands, ofPart);
  splitTask(p, m, s);
  return s;
}

SmallVector<FilterSchedule> codegen::chooseFilterSchedules(const ConvolutionProblem &p,
                                                           const MachineModel &m, bool inPlace,
                                                           bool gradientInPlace,
                                                           const MicroKernel &kernel) {
  SmallVector<FilterSchedule> all = chooseFilterTiles(p, m, inPlace, kernel);
  for (FilterSchedule &schedule : all) {
    schedule.gradientInPlace = gradientInPlace && hasWholePanels(p, m, schedule.vectors);
    schedule = completeSchedule(schedule, p, m);
  }
  return all;
}
