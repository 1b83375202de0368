//===- WinogradSchedule.cpp - see WinogradSchedule.h ------------------------------------------===//
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "codegen/CPU/FFT/FourierTransform.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

/// Widest run of pixels that is transposed together: more would leave L1 with their 16 channels.
/// A row of fitted tiles is one of up to some more.
static const int64_t segmentPixels = 32, fittedPixels = 48;
/// Most bytes of scratch of a task. What does not fit the caches beside it streams once through
/// each block. Fourier transforms have ten times the points, and far more of a filter to stream.
static const int64_t mostScratch = 12 << 20, mostFourierScratch = 32 << 20;
/// Most bytes of partial sums of a filter's gradient, and of what a block's tiles become for all
/// tasks; and the bytes of such tiles, or of a transformed filter, in a round, where blocks and
/// task are small enough.
static const int64_t mostPartialSums = 96 << 20, mostSharedTiles = 96 << 20, roundBytes = 32 << 20;

//===------------------------------------------------------------------------------------------===//
// Problems
//===------------------------------------------------------------------------------------------===//

static std::array<dl::WindowAxis, 3> axesOf(const ConvolutionProblem &p) {
  std::array<dl::WindowAxis, 3> axes;
  for (unsigned i = 0; i < 3; ++i)
    axes[i] = {p.input[i], p.output[i], p.kernel[i], p.stride[i], p.dilation[i], p.padLow[i]};
  return axes;
}

static bool hasStrides(const ConvolutionProblem &p) {
  return p.stride != ConvolutionProblem::Spatial{1, 1, 1};
}

std::string codegen::phaseOrder(const ConvolutionProblem &p) {
  if (!hasStrides(p))
    return "";
  return " stride " + std::to_string(p.stride[1]) + "x" + std::to_string(p.stride[2]) +
         (p.xBlock > 1 ? " blocks of " + std::to_string(p.xBlock) : "");
}

ConvolutionProblem codegen::withoutStrides(const ConvolutionProblem &p) {
  ConvolutionProblem q = p;
  for (unsigned axis : {1, 2}) {
    const int64_t stride = p.stride[axis];
    q.inChannels *= stride;
    q.kernel[axis] = ceilDiv(p.kernel[axis], stride);
    q.padLow[axis] = p.padLow[axis] / stride;
    q.input[axis] = ceilDiv(p.input[axis] + p.padLow[axis], stride) - q.padLow[axis];
    q.stride[axis] = 1;
  }
  return q;
}

/// Why a convolution has no phases to multiply instead of strides.
static std::string phasesRefusal(const ConvolutionProblem &p) {
  if (!hasStrides(p))
    return "";
  for (unsigned axis : {1, 2}) {
    if (!llvm::is_contained({1, 2, 4}, p.stride[axis])) // vectors fall into such phases
      return "its stride is not 1, 2 or 4";
    if (p.kernel[axis] < p.stride[axis])
      return "its filter is smaller than its stride";
  }
  return "";
}

std::string codegen::winogradRefusal(const ConvolutionProblem &p) {
  if (!p.computesFloat32())
    return "transforms compute in float32";
  if (std::string refusal = phasesRefusal(p); !refusal.empty())
    return refusal;
  const auto axes = axesOf(withoutStrides(p));
  const std::string refusal = winogradRefusal(axes, p.groups, {2, 3, 4, 5});
  const bool ofPhases =
      !refusal.empty() && hasStrides(p) && transformRefusal(axes, p.groups).empty();
  return ofPhases ? filterText(axesOf(p)) + " has no transform with its stride" : refusal;
}

/// Whether tiles err far less than its numbers are rounded, or are small. Those of up to 10 points
/// err by 2e-5, of 11 points by 4e-5; f16 rounds by 2e-4, bf16 by 1.6e-3. Float32 has the 6 points
/// of F(4x4, 3x3).
static bool takesTiles(const ConvolutionProblem &p, int64_t outputs) {
  const int64_t mostPoints = p.storedPrecision <= 8 ? 11 : p.storedPrecision <= 11 ? 10 : 6;
  const int64_t taps = std::max(p.kernel[1], p.kernel[2]);
  // Of an even image the planes of phases that two taps meet are often odd: 5, 9 or 17 pixels.
  if ((outputs == 3 || outputs == 5) && taps > 2)
    return false;
  return outputs <= 4 || outputs + taps - 1 <= mostPoints;
}

std::string codegen::strictRefusal(const ConvolutionProblem &p) {
  // Where a phase has fewer taps than others, a zero meets a pixel that the filter does not.
  if (hasStrides(p))
    return spreadsRefusal.str();
  return strictRefusal(axesOf(p), /*outputs=*/2, p.direction == Direction::BackwardFilter);
}

std::string codegen::fourierRefusal(const ConvolutionProblem &p) {
  return p.computesFloat32() ? fourierRefusal(axesOf(p), p.groups)
                             : "transforms compute in float32";
}

/// Fitted tiles along an axis that are not short.
static int64_t wholeTilesOf(int64_t plane, int64_t outputs) {
  const int64_t tiles = ceilDiv(plane, outputs), beyond = tiles * outputs - plane;
  return beyond < tiles ? tiles - beyond : tiles;
}

WinogradSizes::WinogradSizes(const ConvolutionProblem &p, const WinogradSchedule &s, int64_t lanes)
    : schedule(s), lanes(lanes), width(s.vectors * lanes), highTaps(p.kernel[1]),
      wideTaps(p.kernel[2]), highPoints(s.tileRows + highTaps - 1),
      widePoints(s.tileCols + wideTaps - 1), points(highPoints * widePoints), parts(1) {
  if (s.algorithm == ConvolutionAlgorithm::FFT) {
    points = FourierTile{highPoints, widePoints}.points();
    parts = 2;
  }
  const bool backwardData = p.direction == Direction::BackwardData;
  sourceChannels = backwardData ? p.outChannels : p.inChannels;
  targetChannels = backwardData ? p.inChannels : p.outChannels;
  sourceVectors = ceilDiv(sourceChannels, lanes);
  targetPanels = ceilDiv(targetChannels, panelChannels());
  const ConvolutionProblem::Spatial &plane = backwardData ? p.input : p.output;
  planeRows = plane[1], planeCols = plane[2];
  tileRowsOfImage = ceilDiv(planeRows, s.tileRows);
  wholeRows = s.fitted ? wholeTilesOf(planeRows, s.tileRows) : tileRowsOfImage;
  wholeTiles = s.fitted ? wholeTilesOf(planeCols, s.tileCols) : s.segmentTiles;
  shortTiles = s.segmentTiles - wholeTiles;
  segmentsOfRow = ceilDiv(ceilDiv(planeCols, s.tileCols), s.segmentTiles);
  segments = p.batch * tileRowsOfImage * segmentsOfRow;
  blocks = ceilDiv(segments, s.blockSegments);
  blockTiles = s.blockSegments * s.segmentTiles;
}

int64_t WinogradSizes::sharedBlocks() const {
  const int64_t rounds = ceilDiv(blocks * filterTileBytes(), roundBytes);
  return ceilDiv(blocks, std::min(blocks, rounds));
}

int64_t WinogradSizes::roundPanels() const {
  if (!schedule.takesRounds)
    return targetPanels;
  const int64_t rounds = ceilDiv(filterPointBytes(), roundBytes);
  return roundUp(ceilDiv(targetPanels, rounds), schedule.panels);
}

std::array<WinogradSizes::PointKind, 4> WinogradSizes::pointKinds() const {
  const int64_t high = highPoints - 1, wide = widePoints - 1;
  return {{{points - high - wide - 1, false, false},
           {wide, true, false},
           {high, false, true},
           {1, true, true}}};
}

std::pair<int64_t, int64_t> WinogradSizes::tilesOf(const PointKind &kind, int64_t segments) const {
  const int64_t images = schedule.fitted ? segments / tileRowsOfImage : 0;
  const int64_t first = kind.lastRow ? images * shortRows() * wholeTiles : 0;
  const int64_t behind = kind.lastCol   ? segments * shortTiles
                         : kind.lastRow ? images * shortRows() * shortTiles
                                        : 0;
  return {first, segments * schedule.segmentTiles - behind};
}

int64_t WinogradSizes::panelsOf(const PointKind &kind, int64_t segments) const {
  const auto [first, end] = tilesOf(kind, segments);
  return ceilDiv(end, schedule.rows) - first / schedule.rows;
}

int64_t WinogradSizes::productPanels() const {
  int64_t panels = 0;
  for (const PointKind &kind : pointKinds())
    panels += kind.points * ((blocks - 1) * panelsOf(kind, schedule.blockSegments) +
                             panelsOf(kind, lastSegments()));
  return panels;
}

int64_t WinogradSizes::fewestPanels() const {
  int64_t fewest = tilePanels();
  for (const PointKind &kind : pointKinds())
    fewest = std::min(fewest, panelsOf(kind, schedule.blockSegments));
  return fewest;
}

std::unique_ptr<TileTransform> WinogradSizes::transform(bool shortRows, bool shortCols) const {
  if (schedule.algorithm == ConvolutionAlgorithm::FFT)
    return std::make_unique<FourierTransform>(highPoints, highTaps, widePoints, wideTaps);
  return std::make_unique<WinogradTileTransform>(WinogradTransform(schedule.tileRows, highTaps),
                                                 WinogradTransform(schedule.tileCols, wideTaps),
                                                 shortRows, shortCols);
}

//===------------------------------------------------------------------------------------------===//
// Cost
//===------------------------------------------------------------------------------------------===//

/// Cycles of a vector of channels of a pixel on its way from or to the image: its part of a square
/// tile's transposition, or as it stands in a block of channels.
static double pixelCycles(int64_t block) { return block > 1 ? 1 : 3; }

namespace {
/// Cycles of a tile's transforms for a vector of channels. For the filter's gradient those of dy
/// and of the sums cost about as much as their transposes.
struct TransformCosts {
  double source, target, filter;

  TransformCosts(const WinogradSizes &z, const MachineModel &m) {
    const std::unique_ptr<TileTransform> transform = z.transform();
    // The numbers of a tile stand in a matrix each, so each has a line and a page of its own: more
    // of them than L1 has lines come from far away. Measured on transforms of 32x18 and 32x32.
    const int64_t numbers = z.points * z.parts;
    const double waiting =
        m.conflictCycles * (4 * lineElements * numbers > m.l1Bytes ? double(numbers) : 0);
    source = target = waiting;
    for (bool shortRows : {false, true})
      for (bool shortCols : {false, true}) {
        const double share = double(shortRows ? z.shortRows() : z.wholeRows) *
                             double(shortCols ? z.shortTiles : z.wholeTiles) /
                             double(z.tileRowsOfImage * z.schedule.segmentTiles);
        if (share == 0)
          continue;
        const std::unique_ptr<TileTransform> ofTiles = z.transform(shortRows, shortCols);
        source += share * ofTiles->cyclesToPoints(TileTransform::Side::Source);
        target += share * ofTiles->cyclesToPixels(TileTransform::Side::Target);
      }
    filter = waiting + transform->cyclesToPoints(TileTransform::Side::Filter);
  }
};
} // namespace

/// Of the transforms of a filter, channel by channel: a gather or scatter of each tap, or where its
/// lanes have phases of their own, one element after the other.
static double filterCycles(const ConvolutionProblem &p, bool hasPhases, const WinogradSizes &z,
                           const TransformCosts &costs) {
  const bool mixed = hasPhases && p.direction == Direction::BackwardData && p.xBlock == 1;
  const double tap = mixed ? 5 * double(z.lanes) : 10;
  return double(z.sourceChannels * z.targetPanels * z.channelVectorsOfPanel()) *
         (costs.filter + tap * double(z.highTaps * z.wideTaps));
}

/// Of all images, those that segments find in x; of plain ones whole vectors along their rows.
static double pixelsRead(const ConvolutionProblem &p, const WinogradSizes &z) {
  int64_t rows = 0;
  for (int64_t tile = 0; tile < z.tileRowsOfImage; ++tile) {
    const int64_t first = z.firstRow(tile) - p.padLow[1];
    const int64_t end = std::min(first + z.sourceRows(), p.input[1]);
    rows += std::max<int64_t>(end - std::max<int64_t>(first, 0), 0);
  }
  const int64_t cols = std::min(z.segmentCols() + z.wideTaps - 1, p.input[2]);
  return double(p.batch * rows * z.segmentsOfRow * (p.xBlock > 1 ? cols : roundUp(cols, z.lanes)));
}

/// Seconds of a schedule whose sizes are `z`; `hasPhases`: of a problem with strides.
static double secondsOf(const ConvolutionProblem &p, bool hasPhases, const CpuTarget &target,
                        const WinogradSizes &z, const TransformCosts &costs) {
  const MachineModel machine(target);
  const WinogradSchedule &s = z.schedule;
  const bool filter = p.direction == Direction::BackwardFilter;
  // A complex product is four real ones, two for each part of the result. What a call takes beside
  // its steps hides behind those of its neighbours, but for its stores.
  const double registers = double(s.rows * s.vectors);
  auto perCall = [&](double steps) {
    return std::max(double(z.parts) * steps * fmaKernel().cycles(machine, s.rows, s.vectors) +
                        0.5 * registers,
                    30 + 3 * registers);
  };
  double products = 0;
  if (filter) {
    const double calls = double(z.targetPanels * z.blocks * z.sourceVectors * z.lanes / s.rows);
    for (const WinogradSizes::PointKind &kind : z.pointKinds()) {
      const auto [first, end] = z.tilesOf(kind, z.segments);
      products += double(kind.points) * calls * perCall(double(end - first) / double(z.blocks));
    }
  } else {
    products = double(z.targetPanels * z.productPanels()) * perCall(double(z.sourceChannels));
  }
  double cycles = products;
  // Each task transforms the tiles that it needs; segments are transposed on their way.
  auto segment = [&](int64_t rows, int64_t pitch, double pixel, double transform) {
    return double(rows * pitch) * pixel + double(s.segmentTiles) * transform;
  };
  const bool backwardData = p.direction == Direction::BackwardData;
  const double sources = double(z.sourceVectors) *
                         segment(z.sourceRows(), z.sourcePitch(),
                                 pixelCycles(backwardData ? p.yBlock : p.xBlock), costs.source);
  const double targets = double(z.targetPanels * z.channelVectorsOfPanel()) *
                         segment(s.tileRows, z.targetPitch(),
                                 pixelCycles(backwardData ? p.xBlock : p.yBlock), costs.target);
  const double chunks = s.sharesTiles ? 1 : double(ceilDiv(z.targetPanels, s.panels));
  const double sourceChunks = filter ? double(ceilDiv(z.sourceVectors, s.channelVectors)) : 1;
  cycles += double(z.segments) * (sources * chunks + targets * sourceChunks);
  cycles += p.imageCycles() * pixelsRead(p, z) * double(z.sourceVectors) * chunks;
  cycles += filterCycles(p, hasPhases, z, costs);
  // The first pass of a transformed filter is what all kernels add for their workspace. Half of it
  // is hidden, as one panel is on its way while another one is multiplied.
  const auto filterBytes = double(z.filterPointBytes());
  const bool streams = filterBytes > double(machine.l2Bytes);
  const double multiplying = tileSeconds(products, machine);
  double seconds = tileSeconds(cycles, machine);
  if (streams && !filter)
    seconds -= std::min(multiplying, memorySeconds(filterBytes, target)) / 2;
  // What a block's tiles became comes again for each panel where the last cache does not hold it
  // beside what others keep, and what does not fit half of L2 of a panel's products goes there.
  const double tileBytes = double(z.sourceTileBytes());
  if (!filter && s.sharesTiles)
    seconds += tileBytes * z.blocks * double(1 + z.targetPanels) / machine.l3StreamBytesPerSecond;
  else if (!filter && tileBytes > double(machine.lastCacheBytes()))
    seconds += tileBytes * z.blocks * z.targetPanels / machine.l3BytesPerSecond;
  if (!filter)
    seconds += double(z.blocks * z.targetPanels) *
               std::max(0.0, double(z.productBytes()) - double(machine.l2Bytes) / 2) /
               machine.runBytesPerSecond;
  // Shared tiles are written once and read once; a point's sums stay while a round's blocks pass.
  // Those of a task come back once, from memory where the last cache does not hold them.
  const double filterTileBytes = double(z.filterTileBytes(s.channelVectors, s.panels));
  if (filter && s.sharesTiles) {
    const bool fits = z.sharedBlocks() * z.filterTileBytes() <= machine.lastCacheBytes();
    seconds += 2 * double(z.blocks * z.filterTileBytes()) /
               (fits ? machine.l3StreamBytesPerSecond : machine.streamBytesPerSecond);
  } else if (filter && filterTileBytes > double(machine.lastCacheBytes())) {
    seconds += filterTileBytes * z.blocks * chunks * sourceChunks / machine.streamBytesPerSecond;
  }
  // Lines of pixels in blocks that are a stride apart do not arrive ahead of each chunk that reads
  // them.
  if (filter && hasPhases && p.xBlock > 1)
    seconds += (chunks - 1) * double(p.storedBytes * p.inChannels) *
               double(p.batch * p.input[1] * p.input[2]) / machine.streamBytesPerSecond;
  // The transformed filter, or the sums of its gradient, pass through each block: from memory, the
  // sums in runs of a panel, where they are far more than the last cache holds.
  if (streams) {
    const double passes = !filter         ? double(z.blocks - 1)
                          : s.sharesTiles ? 2 * double(z.sharedRounds())
                                          : 2 * double(z.blocks);
    const bool fits = filterBytes <= 2 * double(machine.lastCacheBytes());
    const double passing = filterBytes * passes /
                           (fits     ? machine.l3StreamBytesPerSecond
                            : filter ? machine.runBytesPerSecond
                                     : machine.streamBytesPerSecond);
    // A task's own sums arrive from the last cache as the filter's panels do.
    const bool arrives = !filter || (fits && !s.sharesTiles);
    seconds += std::max(0.0, passing - (arrives ? machine.hiddenShare * multiplying : 0));
  }
  return seconds;
}

double codegen::winogradSeconds(const ConvolutionProblem &p, const CpuTarget &target,
                                const WinogradSchedule &s) {
  const ConvolutionProblem q = withoutStrides(p);
  const WinogradSizes z(q, s, MachineModel(target).lanes);
  return secondsOf(q, hasStrides(p), target, z, TransformCosts(z, MachineModel(target)));
}

double codegen::winogradFilterSeconds(const ConvolutionProblem &p, const CpuTarget &target,
                                      const WinogradSchedule &s) {
  const MachineModel machine(target);
  const WinogradSizes z(withoutStrides(p), s, machine.lanes);
  return tileSeconds(filterCycles(p, hasStrides(p), z, TransformCosts(z, machine)), machine);
}

//===------------------------------------------------------------------------------------------===//
// Choice
//===------------------------------------------------------------------------------------------===//

namespace {
class ScheduleSearch {
public:
  ScheduleSearch(const ConvolutionProblem &p, const CpuTarget &target, bool hasPhases = false)
      : p(p), hasPhases(hasPhases), target(target), m(target) {}
  /// With tiles of some size; for the filter's gradient also the best that shares them. The fastest
  /// comes first. None if tiles are to be fitted that cannot be.
  SmallVector<WinogradSchedule> best(ConvolutionAlgorithm algorithm, int64_t tileRows,
                                     int64_t tileCols, bool fitted = false);

private:
  bool isFilter() const { return p.direction == Direction::BackwardFilter; }
  void addTiles(WinogradSchedule s);
  void addBlocks(WinogradSchedule s);
  void complete(WinogradSchedule s);
  void cut(WinogradSchedule s);
  void consider(const WinogradSchedule &s, const WinogradSizes &z, bool idle);

  const ConvolutionProblem &p;
  const bool hasPhases;
  const CpuTarget &target;
  const MachineModel m;
  std::optional<TransformCosts> costs;
  struct Found {
    WinogradSchedule schedule;
    std::pair<bool, double> cost; ///< whether cores have nothing to do, and its seconds
  };
  std::optional<Found> found, sharing;
};
} // namespace

/// Whether there are short tiles, in rows that a segment each can hold.
static bool canFit(const WinogradSizes &z) {
  return z.shortRows() + z.shortTiles > 0 && z.segmentCols() + z.wideTaps - 1 <= fittedPixels;
}

SmallVector<WinogradSchedule> ScheduleSearch::best(ConvolutionAlgorithm algorithm, int64_t tileRows,
                                                   int64_t tileCols, bool fitted) {
  found.reset();
  sharing.reset();
  WinogradSchedule s;
  s.algorithm = algorithm;
  s.tileRows = tileRows;
  s.tileCols = tileCols;
  const bool backwardData = p.direction == Direction::BackwardData;
  const int64_t tiles = ceilDiv(backwardData ? p.input[2] : p.output[2], s.tileCols);
  const int64_t most = std::max<int64_t>(1, (segmentPixels - p.kernel[2] + 1) / s.tileCols);
  s.fitted = fitted;
  s.segmentTiles = fitted ? tiles : ceilDiv(tiles, ceilDiv(tiles, most));
  s.vectors = s.algorithm == ConvolutionAlgorithm::FFT ? 2 : 1;
  const WinogradSizes z(p, s, m.lanes);
  if (fitted && !canFit(z))
    return {};
  costs.emplace(z, m);
  addBlocks(s);
  if (found && sharing && sharing->cost < found->cost)
    std::swap(found, sharing);
  SmallVector<WinogradSchedule> all;
  for (const std::optional<Found> &one : {found, sharing})
    if (one)
      all.push_back(one->schedule);
  // Rounds take less memory, but nothing of them can be prepared.
  for (WinogradSchedule rounds : SmallVector<WinogradSchedule>(all)) {
    rounds.takesRounds = !isFilter() && rounds.sharesTiles;
    if (WinogradSizes(p, rounds, m.lanes).rounds() > 1)
      all.push_back(rounds);
  }
  return all;
}

/// Blocks of a few sizes: larger ones read the transformed filter less often, smaller ones keep
/// their tiles in the caches.
void ScheduleSearch::addBlocks(WinogradSchedule s) {
  const int64_t most = isFilter() ? 256 : 128;
  const WinogradSizes z(p, s, m.lanes);
  const int64_t step = s.fitted ? z.tileRowsOfImage : 1, steps = z.segments / step;
  s.blockSegments = step;
  int64_t before = 0;
  for (int64_t blocks = ceilDiv(z.segments * s.segmentTiles, most); blocks <= steps;
       blocks = 1 + blocks * 5 / 4) {
    s.blockSegments = ceilDiv(steps, blocks) * step;
    if (s.blockSegments == before || s.blockSegments * s.segmentTiles < 8)
      break;
    before = s.blockSegments;
    addTiles(s);
  }
  if (!found)
    addTiles(s);
}

void ScheduleSearch::addTiles(WinogradSchedule s) {
  const int64_t tiles = s.blockSegments * s.segmentTiles;
  const bool isComplex = s.algorithm == ConvolutionAlgorithm::FFT;
  for (s.vectors = isComplex ? 2 : 1; s.vectors <= (isComplex ? 4 : 3);
       s.vectors += isComplex ? 2 : 1) {
    const int64_t most = fmaKernel().mostRows(m, s.vectors);
    for (s.rows = 1; s.rows <= most; ++s.rows)
      if (isFilter() ? m.lanes % s.rows == 0 : s.rows <= tiles)
        complete(s);
  }
}

/// Of tasks.
static const int64_t enough = 16;

/// More parts of all blocks have more sums, and save that channels are cut.
void ScheduleSearch::complete(WinogradSchedule s) {
  const WinogradSizes z(p, s, m.lanes);
  s.panels = z.targetPanels;
  s.channelVectors = z.sourceVectors;
  if (isFilter() && z.filterTileBytes() <= mostSharedTiles) {
    s.sharesTiles = true;
    consider(s, z, false);
    s.sharesTiles = false;
  }
  const int64_t sums = 4 * z.points * z.sourceVectors * z.lanes * z.targetPanels * z.width;
  const int64_t mostSplits =
      isFilter() ? std::clamp<int64_t>(mostPartialSums / sums, 1, std::min(enough, z.blocks)) : 1;
  for (int64_t splits = mostSplits; splits >= 1; splits /= 2) {
    s.splits = ceilDiv(z.blocks, ceilDiv(z.blocks, splits)); // every part has a block
    cut(s);
  }
}

/// Cuts channels until there are enough tasks, and what a task keeps is not too large.
void ScheduleSearch::cut(WinogradSchedule s) {
  const WinogradSizes z(p, s, m.lanes);
  auto tasks = [&] {
    const int64_t chunks = ceilDiv(z.targetPanels, s.panels);
    return chunks * (isFilter() ? s.splits * ceilDiv(z.sourceVectors, s.channelVectors) : z.blocks);
  };
  auto scratch = [&] {
    const int64_t other = isFilter() ? s.panels : 1;
    return 4 * z.points * (z.blockTiles + s.rows) *
           (s.channelVectors * z.parts * m.lanes + other * z.width);
  };
  const int64_t most = s.algorithm == ConvolutionAlgorithm::FFT ? mostFourierScratch : mostScratch;
  auto work = [&] {
    const double source = double(s.channelVectors * m.lanes), targets = double(s.panels * z.width);
    return double(z.points * z.parts * z.blockTiles) * source * targets *
           double(isFilter() ? ceilDiv(z.blocks, s.splits) : 1);
  };
  while (tasks() < enough && work() > 2 * smallestTask) {
    if (s.panels > 1)
      s.panels = ceilDiv(s.panels, 2);
    else if (isFilter() && s.channelVectors > 1)
      s.channelVectors = ceilDiv(s.channelVectors, 2);
    else
      break;
  }
  while (scratch() > most && isFilter() && (s.panels > 1 || s.channelVectors > 1)) {
    const bool wide = s.panels * z.width > s.channelVectors * z.parts * m.lanes;
    if (s.panels > 1 && (wide || s.channelVectors == 1))
      s.panels = ceilDiv(s.panels, 2);
    else
      s.channelVectors = ceilDiv(s.channelVectors, 2);
  }
  if (scratch() > most)
    return;
  const int64_t fewest = 4; // of tasks, whatever larger blocks save
  const bool idle = tasks() < fewest && work() > 2 * smallestTask;
  consider(s, z, idle);
  // Each chunk of a block would transform its tiles.
  if (!isFilter() && s.panels < z.targetPanels && z.sourceTileBytes() * z.blocks <= roundBytes) {
    s.sharesTiles = true;
    consider(s, z, idle);
  }
}

/// Keeps a schedule that is better than the one before of its kind; `idle`: cores have nothing to
/// do.
void ScheduleSearch::consider(const WinogradSchedule &s, const WinogradSizes &z, bool idle) {
  // Of parts all kernels add what it takes to write their sums and to read them again.
  const double parts = isFilter() && !s.sharesTiles ? double(s.splits) : 0;
  const std::pair cost(idle, secondsOf(p, hasPhases, target, z, *costs) +
                                 memorySeconds(2 * parts * double(z.filterPointBytes()), target));
  std::optional<Found> &before = s.sharesTiles ? sharing : found;
  if (!before || cost < before->cost)
    before = {s, cost};
}

SmallVector<WinogradSchedule> codegen::chooseWinogradSchedules(const ConvolutionProblem &problem,
                                                               const CpuTarget &target,
                                                               bool accurate) {
  SmallVector<WinogradSchedule> all;
  if (accurate && !strictRefusal(problem).empty())
    return all;
  const ConvolutionProblem p = withoutStrides(problem);
  for (int64_t outputs : {2, 3, 4, 5, 6, 7, 8}) {
    if (!takesTiles(p, outputs) || (accurate && outputs > 2)) // larger ones err more
      continue;
    auto along = [&](unsigned axis) { return p.kernel[axis] == 1 ? 1 : outputs; };
    for (bool fitted : {false, true})
      all.append(ScheduleSearch(p, target, hasStrides(problem))
                     .best(ConvolutionAlgorithm::Winograd, along(1), along(2), fitted));
  }
  return all;
}

SmallVector<WinogradSchedule> codegen::chooseFourierSchedules(const ConvolutionProblem &p,
                                                              const CpuTarget &target) {
  const ConvolutionProblem::Spatial &plane =
      p.direction == Direction::BackwardData ? p.input : p.output;
  // The few sizes that multiply least are looked at more closely.
  SmallVector<std::pair<double, WinogradSchedule>> sizes;
  for (int64_t rows : fourierTiles(plane[1], p.kernel[1]))
    for (int64_t cols : fourierTiles(plane[2], p.kernel[2])) {
      WinogradSchedule s;
      s.algorithm = ConvolutionAlgorithm::FFT;
      s.tileRows = rows, s.tileCols = cols, s.vectors = 2;
      const WinogradSizes z(p, s, MachineModel(target).lanes);
      const int64_t tiles = ceilDiv(plane[1], rows) * ceilDiv(plane[2], cols);
      // The filter's points are made once for the batch.
      sizes.emplace_back(double(z.points) * double(p.batch * tiles + 8), s);
    }
  llvm::sort(sizes, [](const auto &a, const auto &b) {
    return std::tuple(a.first, a.second.tileRows, a.second.tileCols) <
           std::tuple(b.first, b.second.tileRows, b.second.tileCols);
  });
  const size_t looked = 4;
  SmallVector<WinogradSchedule> best;
  double bestSeconds = 0;
  for (const auto &[products, size] : ArrayRef(sizes).take_front(looked)) {
    SmallVector<WinogradSchedule> all =
        ScheduleSearch(p, target).best(size.algorithm, size.tileRows, size.tileCols);
    const double seconds = all.empty() ? 0 : winogradSeconds(p, target, all.front());
    if (!all.empty() && (best.empty() || seconds < bestSeconds))
      best = std::move(all), bestSeconds = seconds;
  }
  return best;
}
