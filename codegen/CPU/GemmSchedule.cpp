// Chooses register tile, cache blocks and task grid of a matrix product from the machine model.
#include "codegen/CPU/Gemm.h"

#include <algorithm>
#include <limits>

using namespace dlc::codegen;

/// Enough tasks for any machine that trains on the CPU.
static const int64_t wantedTasks = 64;
/// Multiply-adds below which a task is not worth starting.
static const double smallestTask = 1 << 21;
/// Rows and columns that a task keeps, so that packing stays a few percent of its work.
static const int64_t keptRows = 256, keptColumns = 512;

/// Longest reduction block whose panel of b still comes mostly from L1: longer ones would save little, as the accumulators'
/// way through memory is short by then, and shorter ones cost passes over the accumulators.
static int64_t blockDepth(const GemmProblem &p, const MachineModel &m, int64_t vectors) {
  int64_t longest = std::max(m.lanes, m.l1Bytes * 3 / 2 / (4 * vectors * m.lanes));
  int64_t blocks = ceilDiv(std::max<int64_t>(1, p.k), longest);
  return roundUp(ceilDiv(std::max<int64_t>(1, p.k), blocks), m.lanes);
}

static double tileCost(const GemmProblem &p, const MachineModel &m, const GemmSchedule &s) {
  double tiles = double(ceilDiv(p.m, s.rows) * ceilDiv(p.n, s.vectors * m.lanes));
  double perBlock = 30 + 3 * double(s.rows * s.vectors);
  return tiles * (double(p.k) * cyclesPerStep(m, {s.rows, s.vectors}) +
                  perBlock * double(ceilDiv(p.k, s.depth)));
}

static GemmSchedule chooseTile(const GemmProblem &p, const MachineModel &m) {
  GemmSchedule best;
  double bestCost = std::numeric_limits<double>::infinity();
  for (int64_t vectors = 1; vectors <= 4; ++vectors)
    for (int64_t rows = 1; rows <= std::min(p.m, maxTileRows(m, vectors)); ++rows) {
      GemmSchedule s{rows, vectors, blockDepth(p, m, vectors)};
      double cost = tileCost(p, m, s);
      if (cost < bestCost) {
        bestCost = cost;
        best = s;
      }
    }
  return best;
}

GemmSchedule dlc::codegen::chooseGemmSchedule(const GemmProblem &p, const MachineModel &m) {
  GemmSchedule s = chooseTile(p, m);
  const int64_t width = s.vectors * m.lanes;
  const int64_t tiles = ceilDiv(p.m, s.rows), panels = ceilDiv(p.n, width);
  // The packed block of a stays in a quarter of L2, beside the accumulators and the stream of b.
  const int64_t fitting = std::max<int64_t>(1, m.l2Bytes / 4 / (4 * s.depth * s.rows));
  s.tiles = tiles;
  s.panels = std::min(panels, std::max<int64_t>(1, 2 * keptColumns / width));
  s.splits = 1;

  auto tasks = [&] { return p.batch * ceilDiv(tiles, s.tiles) * ceilDiv(panels, s.panels); };
  auto work = [&] { return double(s.tiles * s.rows * s.panels * width) * double(p.k); };
  while (tasks() < wantedTasks && work() > 2 * smallestTask) {
    bool small = double(p.m) * double(p.n) * double(p.k) < 64 * smallestTask;
    if (s.panels > 1 && (small || s.panels * width > keptColumns))
      s.panels = ceilDiv(s.panels, 2);
    else if (s.tiles > 1 && (small || s.tiles * s.rows > keptRows))
      s.tiles = ceilDiv(s.tiles, 2);
    else
      break;
  }
  s.blockTiles = ceilDiv(s.tiles, ceilDiv(s.tiles, fitting));
  // A long sum over a small result is the only parallelism left.
  const int64_t blocks = ceilDiv(p.k, s.depth);
  if (tasks() < wantedTasks / 4 && work() > 2 * smallestTask && blocks >= 8) {
    int64_t parts = std::min(ceilDiv(wantedTasks, tasks()), blocks / 4);
    s.splits = ceilDiv(blocks, ceilDiv(blocks, parts)); // every part has a block
  }
  return s;
}
