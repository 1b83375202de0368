//===- GemmSchedule.cpp - register tile, cache blocks and grid of a matrix product ------------===//
#include "codegen/CPU/Gemm/Gemm.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace dlc;
using namespace dlc::codegen;

using Operand = GemmProblem::Operand;

/// Rows and columns that a task keeps if it can, so that packing stays a few percent of its work.
static const int64_t keptRows = 256, keptColumns = 512;

GemmLayout::GemmLayout(const GemmProblem &p, const GemmSchedule &s, int64_t lanes)
    : lanes(lanes), width(s.vectors * lanes), tiles(ceilDiv(p.m, s.rows)),
      panels(ceilDiv(p.n, width)), pitchA(s.rows == 1 ? 1 : roundUp(s.rows, lanes)),
      tileElements(s.depth * pitchA + p.element.line()),
      panelElements(s.depth * width + p.element.line()), slotElements(s.rows * width),
      partElements(p.batch * tiles * panels * slotElements), inWorkspace(s.splits > 1),
      finishesTiles(p.finishesRows && p.blocks(s.depth) == 1), keepsAll(p.blocks(s.depth) > 1),
      pitchC(p.finish ? panels * width : 0), matrixElements(p.m * pitchC),
      blockElementsA(s.blockTiles * tileElements), blockElementsB(s.blockPanels * panelElements) {
  if (s.packed == Operand::None)
    return;
  const bool isA = s.packed == Operand::A;
  const PackedPhase::IndexMap &map = isA ? p.mapA : p.mapB;
  wholeMatrices = map.shape[map.order[0]];
  wholePieces = isA ? tiles : panels;
  pieceElements = isA ? tileElements : panelElements;
  wholeElements = wholeMatrices * p.blocks(s.depth) * wholePieces * pieceElements;
  const int64_t ofTask = 1 << 16; // elements
  packedPieces = std::clamp<int64_t>(ofTask / pieceElements, 1, wholePieces);
  (isA ? blockElementsA : blockElementsB) = 0;
}

/// Longest reduction block: its panel of b still comes mostly from L1. Longer ones would save
/// little, as the accumulators' way through memory is short by then; shorter ones cost passes over
/// the accumulators. A single row reads each panel once: it streams through, and a stream should
/// not end. Of a task's whole matrix all accumulators would be kept beside it.
static int64_t blockDepth(const GemmProblem &p, const MachineModel &m, int64_t vectors) {
  if (p.m == 1 || p.finish)
    return roundUp(p.steps(), m.lanes);
  // Tiles are multiplied faster than a panel comes from L2.
  const int64_t bytes = p.kernel->inGroups() ? m.l1Bytes * 2 / 3 : m.l1Bytes * 3 / 2;
  int64_t longest = std::max(m.lanes, bytes / (m.elementBytes * vectors * m.lanes));
  return roundUp(ceilDiv(p.steps(), ceilDiv(p.steps(), longest)), m.lanes);
}

/// Cycles of all tiles, without packing.
static double tileCycles(const GemmProblem &p, const MachineModel &m, const GemmSchedule &s) {
  double tiles = double(p.batch * ceilDiv(p.m, s.rows) * ceilDiv(p.n, s.vectors * m.lanes));
  double perBlock = 20 + 1.5 * double(s.rows * s.vectors);
  // A panel of b comes partly from L2.
  double waiting = m.l2LineCycles * double(s.vectors * m.lanes) / double(p.element.line());
  return tiles * (double(p.sumLength()) * (p.kernel->cycles(m, s.rows, s.vectors) + waiting) +
                  perBlock * double(p.blocks(s.depth)));
}

/// For each number of vectors the best tile, the fastest first.
static std::vector<GemmSchedule> chooseTiles(const GemmProblem &p, const MachineModel &m) {
  std::vector<GemmSchedule> best;
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    std::vector<GemmSchedule> tiles;
    const int64_t group = p.kernel->group();
    const int64_t most = std::min(roundUp(p.m, group), p.kernel->mostRows(m, vectors));
    for (int64_t rows = group; rows <= most; rows += group) {
      GemmSchedule &s = tiles.emplace_back();
      s.rows = rows, s.vectors = vectors, s.depth = blockDepth(p, m, vectors);
      s.kernel = p.kernel;
    }
    if (tiles.empty())
      continue;
    best.push_back(*llvm::min_element(tiles, [&](const GemmSchedule &a, const GemmSchedule &b) {
      return tileCycles(p, m, a) < tileCycles(p, m, b);
    }));
  }
  llvm::stable_sort(best, [&](const GemmSchedule &a, const GemmSchedule &b) {
    return tileCycles(p, m, a) < tileCycles(p, m, b);
  });
  return best;
}

/// Cycles in which a place of a or b is computed and packed, as vectors or through transposed
/// tiles; measured on layers of ResNet-50, in float32. A pair takes as long, for twice the numbers.
static double placeCycles(const GemmProblem &p, Operand operand, int64_t lanes) {
  const bool isA = operand == Operand::A;
  if (!isA && p.packB)
    return p.cyclesB;
  const bool contiguous = isA ? p.rowsContiguousA : p.columnsContiguousB;
  const double operationsPerCycle = 2 * double(lanes);
  // Rows of steps are copied, and lanes of rows are transposed on the way.
  if (isA && p.kernel->inGroups())
    return (contiguous ? 0.7 : 0.15) + 2 * p.weightA / operationsPerCycle;
  return (contiguous ? 0.25 : 0.7) * double(p.element.bytes()) / 4 +
         double(p.kernel->step()) * (isA ? p.weightA : p.weightB) / operationsPerCycle;
}

/// Cycles in which all tasks pack their operands: a is packed once for each chunk of panels, b once
/// for each chunk of tiles. What is packed whole only comes from the last cache as often.
static double packingCycles(const GemmProblem &p, const GemmLayout &layout, const GemmSchedule &s,
                            const MachineModel &m) {
  auto cycles = [&](Operand operand) {
    return s.packed == operand ? m.l3ElementCycles : placeCycles(p, operand, layout.lanes);
  };
  const double perStep = cycles(Operand::A) * double(p.m * ceilDiv(layout.panels, s.panels)) +
                         cycles(Operand::B) * double(p.n * ceilDiv(layout.tiles, s.tiles));
  return double(p.batch * p.sumLength()) * perStep;
}

/// Halves the task until there are enough of them, the way that adds less packing; a product that
/// is large stops when packing is no longer cheap beside the work.
static void chooseGrid(const GemmProblem &p, const GemmLayout &layout, GemmSchedule &s,
                       const MachineModel &m) {
  auto tasks = [&](const GemmSchedule &s) {
    return p.batch * ceilDiv(layout.tiles, s.tiles) * ceilDiv(layout.panels, s.panels);
  };
  // Of a thin product it is to bring its operands, each element worth some multiply-adds.
  const double perElement = 8;
  auto work = [&] {
    const double rows = double(s.tiles * s.rows), columns = double(s.panels * layout.width);
    return std::max(rows * columns, perElement * (rows + columns)) * double(p.sumLength());
  };
  const bool small = double(p.batch) * double(p.m) * double(p.n) * double(p.sumLength()) <
                     double(m.wantedTasks()) * smallestTask;
  while (tasks(s) < m.wantedTasks() && work() > 2 * smallestTask) {
    GemmSchedule fewerPanels = s, fewerTiles = s;
    fewerPanels.panels = ceilDiv(s.panels, 2);
    fewerTiles.tiles = ceilDiv(s.tiles, 2);
    const bool mayPanels = s.panels > 1 && (small || s.panels * layout.width > keptColumns);
    const bool mayTiles = s.tiles > 1 && (small || s.tiles * s.rows > keptRows);
    if (!mayPanels && !mayTiles)
      break;
    const bool panels = mayPanels && (!mayTiles || packingCycles(p, layout, fewerPanels, m) <
                                                       packingCycles(p, layout, fewerTiles, m));
    s = panels ? fewerPanels : fewerTiles;
  }
  // A long sum over a small result is the only parallelism left. The workspace of what is packed
  // whole holds nothing else.
  if (s.packed != Operand::None)
    return;
  const int64_t blocks = p.blocks(s.depth), blocksOfPart = 4;
  if (tasks(s) < m.wantedTasks() / 4 && work() > 2 * smallestTask && blocks >= 2 * blocksOfPart) {
    int64_t parts = std::min(ceilDiv(m.wantedTasks(), tasks(s)), blocks / blocksOfPart);
    s.splits = ceilDiv(blocks, ceilDiv(blocks, parts)); // every part has a block
  }
}

/// Blocks and grid around a register tile.
static GemmSchedule completeSchedule(GemmSchedule s, const GemmProblem &p, const MachineModel &m) {
  GemmLayout layout(p, s, m.lanes);
  s.tiles = layout.tiles;
  s.panels = layout.panels;
  auto inQuarterOfL2 = [&](int64_t elements) {
    return std::max<int64_t>(1, m.l2Bytes / 4 / (m.elementBytes * elements));
  };
  const int64_t fittingPanels = inQuarterOfL2(layout.panelElements);
  // A tile meets all panels of a task.
  if (layout.finishesTiles)
    s.panels = std::min(s.panels, fittingPanels);
  if (!p.finish) {
    s.panels = std::min(s.panels, std::max<int64_t>(1, 2 * keptColumns / layout.width));
    chooseGrid(p, layout, s, m);
  }
  // What is finished row by row waits in half of L2.
  if (p.finishesRows && !layout.finishesTiles)
    s.tiles = std::clamp<int64_t>(m.l2Bytes / 2 / (m.elementBytes * layout.slotElements * s.panels),
                                  1, s.tiles);
  // The packed block of a stays in a quarter of L2, beside the accumulators and the stream of b.
  s.blockTiles = ceilDiv(s.tiles, ceilDiv(s.tiles, inQuarterOfL2(layout.tileElements)));
  // A quarter is b's, too, unless a would have to be packed again for each of its blocks.
  s.blockPanels = s.panels;
  if (s.blockTiles == s.tiles)
    s.blockPanels = ceilDiv(s.panels, ceilDiv(s.panels, fittingPanels));
  return s;
}

/// The phase in front that packs an operand whole.
static void addPacking(Candidate &candidate, const GemmProblem &p, const GemmSchedule &s,
                       const GemmLayout &layout, const MachineModel &m) {
  const bool isA = s.packed == Operand::A;
  const bool contiguous = isA ? p.rowsContiguousA : p.columnsContiguousB;
  const int64_t extent = isA ? p.m : p.n;
  const int64_t tasks =
      layout.wholeMatrices * p.blocks(s.depth) * ceilDiv(layout.wholePieces, layout.packedPieces);
  candidate.workspaceBytes = m.elementBytes * layout.wholeElements;
  candidate.phases.push_back({uint64_t(tasks), uint64_t(m.elementBytes * m.lanes * m.lanes)});
  candidate.phases.back().sideBytes =
      p.element.storedBytes() * layout.wholeMatrices * extent * p.k + candidate.workspaceBytes;
  std::string form;
  llvm::raw_string_ostream(form) << "gemm " << (contiguous ? "across " : "along ") << extent << "x"
                                 << p.k << " pieces " << (isA ? s.rows : layout.width) << " depth "
                                 << s.depth << s.kernel->suffix();
  const double seconds = tileSeconds(
      placeCycles(p, s.packed, m.lanes) * double(layout.wholeMatrices * extent * p.steps()), m);
  candidate.preparation = {isA ? p.a : p.b, /*phases=*/1, std::move(form), seconds};
  candidate.cost += seconds;
}

static Candidate gemmCandidate(const GemmProblem &p, const GemmSchedule &s, const MachineModel &m) {
  GemmLayout layout(p, s, m.lanes);
  int64_t slots = layout.inWorkspace     ? 0
                  : layout.finishesTiles ? s.panels
                  : layout.keepsAll      ? s.tiles * s.panels
                                         : 1;
  int64_t scratch = m.lanes * m.lanes + layout.blockElementsA + layout.blockElementsB +
                    slots * layout.slotElements + layout.matrixElements;
  int64_t tasks =
      s.splits * p.batch * ceilDiv(layout.tiles, s.tiles) * ceilDiv(layout.panels, s.panels);
  Candidate candidate;
  candidate.schedule = textOf(s);
  if (s.packed != Operand::None)
    addPacking(candidate, p, s, layout, m);
  candidate.phases.push_back({uint64_t(tasks), uint64_t(m.elementBytes * scratch)});
  if (layout.inWorkspace) {
    candidate.workspaceBytes = m.elementBytes * s.splits * layout.partElements;
    candidate.phases.push_back({uint64_t(p.batch * layout.tiles * layout.panels), 0});
    candidate.phases.back().sideBytes =
        candidate.workspaceBytes + p.element.storedBytes() * p.batch * p.m * p.n;
  }
  // tileSeconds leaves room for packing, which is counted on its own here.
  const double withoutPacking = 0.85;
  candidate.cost +=
      tileSeconds(withoutPacking * tileCycles(p, m, s) + packingCycles(p, layout, s, m), m);
  candidate.parameters = numbersOf(s);
  return candidate;
}

SmallVector<Candidate> codegen::gemmCandidates(GemmProblem p, const CpuTarget &target) {
  const size_t offered = 3;
  MachineModel machine(target, p.element.bytes());
  SmallVector<Candidate> all;
  for (const MicroKernel *kernel : microKernels(p.element, target)) {
    // What gathers and what makes whole matrices knows single numbers.
    if ((p.packB || p.finish) && kernel != &fmaKernel())
      continue;
    p.kernel = kernel;
    std::vector<GemmSchedule> tiles = chooseTiles(p, machine);
    for (GemmSchedule tile : ArrayRef(tiles).take_front(offered)) {
      all.push_back(gemmCandidate(p, completeSchedule(tile, p, machine), machine));
      tile.packed = p.weights;
      if (tile.packed != Operand::None)
        all.push_back(gemmCandidate(p, completeSchedule(tile, p, machine), machine));
    }
  }
  return all;
}
