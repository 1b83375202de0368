// See ConvolutionSchedule.h.
#include "codegen/CPU/ConvolutionSchedule.h"

#include <algorithm>
#include <limits>

using namespace dlc::codegen;

/// Enough tasks for any machine that trains on the CPU; more only cost copies of borders.
static const int64_t wantedTasks = 64;
/// Multiply-adds below which a task is not worth starting.
static const double smallestTask = 1 << 19;

DataBlock::DataBlock(const DataGeometry &g, const DataSchedule &s)
    : rows((s.bandRows * s.boxRows - 1) * g.sourceStep[1] + g.maxSpan(1) + 1),
      pitch((s.bandCols * s.boxCols - 1) * g.sourceStep[2] + g.maxSpan(2) + 1),
      slices(std::max<int64_t>(1, g.maxTaps(0))) {}

/// Cycles outside the reduction loop for one tile: clearing, storing, transposing and the epilogue's rows.
static double tileOverhead(const MachineModel &m, int64_t rows, int64_t vectors, int64_t channels) {
  double transposes = double(ceilDiv(rows, m.lanes) * vectors) * double(6 * m.lanes);
  return 40 + 1.5 * double(rows * vectors) + transposes + 4 * double(channels);
}

static int64_t maxReduction(const DataGeometry &g) {
  return g.sourceChannels * std::max<int64_t>(1, g.maxTaps(0) * g.maxTaps(1) * g.maxTaps(2));
}

static double tileCost(const DataGeometry &g, const MachineModel &m, const DataSchedule &s) {
  int64_t rows = s.boxRows * s.boxCols, width = s.vectors * m.lanes;
  int64_t panels = ceilDiv(g.targetChannels, width);
  double tiles = double(ceilDiv(g.maxCount(1), s.boxRows) * ceilDiv(g.maxCount(2), s.boxCols));
  double steps = double(maxReduction(g)) * cyclesPerStep(m, {rows, s.vectors});
  return tiles * (double(panels) * steps +
                  double(panels) * tileOverhead(m, rows, s.vectors,
                                                std::min(width, g.targetChannels)));
}

static DataSchedule chooseTile(const DataGeometry &g, const MachineModel &m) {
  DataSchedule best;
  double bestCost = std::numeric_limits<double>::infinity();
  auto consider = [&](DataSchedule s) {
    double cost = tileCost(g, m, s);
    if (cost < bestCost) {
      bestCost = cost;
      best = s;
    }
  };
  const int64_t height = g.maxCount(1), width = g.maxCount(2);
  const bool severalRows = g.targetStep[2] == 1 && g.targetStep[1] == 1;
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    int64_t rows = maxTileRows(m, vectors);
    for (int64_t cols = 1; cols <= std::min(rows, width); ++cols)
      consider({1, cols, vectors});
    if (severalRows)
      for (int64_t box = 2; box <= std::min(height, rows / std::max<int64_t>(1, width)); ++box)
        consider({box, width, vectors});
  }
  return best;
}

DataSchedule dlc::codegen::chooseDataSchedule(const DataGeometry &g, const MachineModel &m) {
  DataSchedule s = chooseTile(g, m);
  const int64_t tileRows = std::max<int64_t>(1, ceilDiv(g.maxCount(1), s.boxRows));
  const int64_t tileCols = std::max<int64_t>(1, ceilDiv(g.maxCount(2), s.boxCols));
  const int64_t panels = ceilDiv(g.targetChannels, s.vectors * m.lanes);
  s.channelBlock = g.sourceChannels;
  s.bandRows = tileRows;
  s.bandCols = tileCols;
  s.panels = panels;

  auto blockBytes = [&] {
    DataBlock block(g, s);
    return 4 * s.channelBlock * block.slices * block.plane();
  };
  // The source block shares L2 with the stream of filter panels.
  while (blockBytes() > m.l2Bytes / 2 && s.bandRows > 1)
    s.bandRows = ceilDiv(tileRows, ceilDiv(tileRows, s.bandRows) + 1);
  while (blockBytes() > m.l2Bytes / 2 && s.bandCols > 1)
    s.bandCols = ceilDiv(tileCols, ceilDiv(tileCols, s.bandCols) + 1);
  while (blockBytes() > m.l2Bytes / 2 && s.channelBlock > 1)
    s.channelBlock = ceilDiv(s.channelBlock, 2);

  auto tasks = [&] {
    return g.phases() * g.batch * g.groups * g.maxCount(0) * ceilDiv(panels, s.panels) *
           ceilDiv(tileRows, s.bandRows) * ceilDiv(tileCols, s.bandCols);
  };
  auto taskWork = [&] {
    return double(s.bandRows * s.boxRows * s.bandCols * s.boxCols * s.panels * s.vectors *
                  m.lanes) *
           double(maxReduction(g));
  };
  while (tasks() < wantedTasks && taskWork() > 2 * smallestTask) {
    if (s.panels > 1)
      s.panels = ceilDiv(s.panels, 2);
    else if (s.bandRows > 1)
      s.bandRows = ceilDiv(s.bandRows, 2);
    else if (s.bandCols > 1)
      s.bandCols = ceilDiv(s.bandCols, 2);
    else
      break;
  }
  return s;
}

FilterBlock::FilterBlock(const ConvolutionProblem &p, const FilterSchedule &s)
    : channelTiles(ceilDiv(s.channels * p.kernel[0], s.boxChannels)),
      rowTiles(ceilDiv(p.kernel[1], s.boxRows)), colTiles(ceilDiv(p.kernel[2], s.boxCols)) {
  planes = channelTiles * s.boxChannels;
  rows = (s.bandRows - 1) * p.stride[1] + (rowTiles * s.boxRows - 1) * p.dilation[1] + 1;
  pitch = (s.bandCols - 1) * p.stride[2] + (colTiles * s.boxCols - 1) * p.dilation[2] + 1;
}

static FilterSchedule chooseFilterTile(const ConvolutionProblem &p, const MachineModel &m) {
  FilterSchedule best;
  double bestCost = std::numeric_limits<double>::infinity();
  const int64_t channels = p.inChannels / p.groups * p.kernel[0];
  const int64_t outChannels = p.outChannels / p.groups;
  auto consider = [&](FilterSchedule s) {
    double tiles = double(ceilDiv(channels, s.boxChannels) * ceilDiv(p.kernel[1], s.boxRows) *
                          ceilDiv(p.kernel[2], s.boxCols) *
                          ceilDiv(outChannels, s.vectors * m.lanes));
    int64_t rows = s.boxChannels * s.boxRows * s.boxCols;
    const double pixels = double(m.l1Bytes / (4 * s.vectors * m.lanes));
    double cost = tiles * (pixels * cyclesPerStep(m, {rows, s.vectors}) + 30 +
                           3 * double(rows * s.vectors)) / pixels;
    if (cost < bestCost) {
      bestCost = cost;
      best = s;
    }
  };
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    int64_t rows = maxTileRows(m, vectors);
    for (int64_t cols = 1; cols <= std::min(rows, p.kernel[2]); ++cols)
      consider({1, 1, cols, vectors});
    for (int64_t box = 2; box <= std::min(p.kernel[1], rows / p.kernel[2]); ++box)
      consider({1, box, p.kernel[2], vectors});
    for (int64_t box = 2; box <= std::min(channels, rows / (p.kernel[1] * p.kernel[2])); ++box)
      consider({box, p.kernel[1], p.kernel[2], vectors});
  }
  return best;
}

FilterSchedule dlc::codegen::chooseFilterSchedule(const ConvolutionProblem &p,
                                                  const MachineModel &m) {
  FilterSchedule s = chooseFilterTile(p, m);
  const ConvolutionProblem::Spatial out = p.output();
  const int64_t width = s.vectors * m.lanes, channels = p.inChannels / p.groups;
  const int64_t panels = ceilDiv(p.outChannels / p.groups, width);
  // A packed panel of dy stays in L1 while the tiles pass over it.
  const int64_t pixels = std::max<int64_t>(m.lanes, m.l1Bytes / (4 * width));
  s.bandCols = std::max<int64_t>(1, std::min(out[2], pixels));
  if (s.bandCols == out[2])
    s.bandRows = std::max<int64_t>(1, std::min(out[1], pixels / s.bandCols));
  s.channels = channels;
  s.panels = panels;

  auto accumulatorBytes = [&] {
    return 4 * FilterBlock(p, s).tiles() * s.boxChannels * s.boxRows * s.boxCols * s.panels * width;
  };
  auto sourceBytes = [&] {
    FilterBlock block(p, s);
    return 4 * block.planes * block.plane();
  };
  while (sourceBytes() > m.l2Bytes / 2 && s.channels > 1)
    s.channels = ceilDiv(s.channels, 2);
  while (accumulatorBytes() > m.l2Bytes / 2 && (s.panels > 1 || s.channels > 1)) {
    if (s.panels > 1)
      s.panels = ceilDiv(s.panels, 2);
    else
      s.channels = ceilDiv(s.channels, 2);
  }
  const int64_t grid = p.groups * ceilDiv(panels, s.panels) * ceilDiv(channels, s.channels);
  s.splits = std::max<int64_t>(1, std::min(p.batch, wantedTasks / std::max<int64_t>(1, grid)));
  s.splits = ceilDiv(p.batch, ceilDiv(p.batch, s.splits)); // every part has an image
  return s;
}
