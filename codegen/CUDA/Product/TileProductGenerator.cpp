//===- TileProductGenerator.cpp - see TileProductGenerator.h ----------------------------------===//
#include "codegen/CUDA/Product/TileProductGenerator.h"
#include "codegen/CUDA/Library/LibraryCalls.h"
#include "codegen/CUDA/Text/Anchors.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = dl::ConvolutionForm::Direction;

//===------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------===//

TiledConvolution::TiledConvolution(const dl::ConvolutionForm &form, const TileNumbers &numbers,
                                   int64_t parts)
    : numbers(numbers), direction(form.direction), batch(form.geometry.batch) {
  const dl::ConvolutionGeometry &g = form.geometry;
  const auto plane =
      direction == Direction::BackwardData ? &dl::WindowAxis::input : &dl::WindowAxis::output;
  tilesHigh = llvm::divideCeil(g.threeAxes()[1].*plane, numbers.high);
  tilesWide = llvm::divideCeil(g.threeAxes()[2].*plane, numbers.wide);
  // gemm.cuh reads both operands by quads.
  const int64_t tiles = llvm::alignTo(resultsOfChannel(), 4 * parts);
  if (direction == Direction::BackwardFilter) {
    left = {g.filters, tiles};
    right = {g.channels * numbers.taps, tiles};
    product = {numbers.products, left.rows, right.rows, tiles};
    return;
  }
  const bool forward = direction == Direction::Forward;
  const int64_t sources = (forward ? g.channels : g.filters) * numbers.taps,
                targets = llvm::alignTo(forward ? g.filters : g.channels, 4);
  left = {sources, targets};
  right = {sources, tiles};
  product = {numbers.products, targets, tiles, sources};
}

/// Bytes of the kernel's tensors, as lanes that are pixels move them: each one of channels that lie
/// innermost is another line of memory's (an H100: 60 GB/s).
static uint64_t movedBytes(const KernelSpec &spec) {
  const uint64_t lane = 32;
  uint64_t bytes = spec.bytes();
  for (ArrayRef<RankedTensorType> types : {spec.operandTypes(), spec.resultTypes()})
    for (RankedTensorType type : types)
      if (program::LayoutAttr::isChannelsLast(type))
        bytes += (lane - 1) * program::storageBytes(type);
  return bytes;
}

/// Bytes that each of the two launches of transforms moves.
static uint64_t operandBytes(const KernelSpec &spec, const TiledConvolution &tiled) {
  return movedBytes(spec) + sizeof(float) * (tiled.end(1) - tiled.leftAt(1));
}
static uint64_t resultBytes(const KernelSpec &spec, const TiledConvolution &tiled, int64_t split) {
  return movedBytes(spec) + sizeof(float) * tiled.leftAt(split);
}

/// The parts of the channels' totals that the last transform leaves, if the result is reduced.
static std::optional<PartialTotals> totalsOf(const KernelSpec &spec,
                                             const TiledConvolution &tiled) {
  if (!spec.hasReductionsBehind())
    return std::nullopt;
  return PartialTotals::ofChannels(spec, blocksFor(tiled.resultsOfChannel(), tiled.numbers.lanes));
}

/// Operations on what the first transforms read.
static double readOperations(const dl::ConvolutionForm &form, const TiledConvolution &tiled) {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  // A patch is read as it is, a pixel a place.
  const bool plain = tiled.numbers.products == 1;
  const int64_t high = plain ? 1 : tiled.numbers.high, wide = plain ? 1 : tiled.numbers.wide,
                taps = plain ? 1 : axes[1].kernel * axes[2].kernel,
                pixels = plain ? 1 : (high + axes[1].kernel - 1) * (wide + axes[2].kernel - 1);
  auto operations = [](const TiledConvolution::Operand &operand, int64_t elements, Value value) {
    return double(operand.places() * elements) * readingOperations(value);
  };
  switch (tiled.direction) {
  case Direction::Forward:
    return operations(tiled.left, taps, form.w) + operations(tiled.right, pixels, form.x);
  case Direction::BackwardData:
    return operations(tiled.left, taps, form.w) + operations(tiled.right, pixels, form.y);
  case Direction::BackwardFilter:
    return operations(tiled.left, high * wide, form.y) + operations(tiled.right, pixels, form.x);
  }
  llvm_unreachable("all directions are listed");
}

double TiledConvolution::transformSeconds(const KernelSpec &spec, int64_t split,
                                          const GpuMachine &machine) const {
  const double operandFlops = double(left.places()) * numbers.leftFlops +
                              double(right.places()) * numbers.rightFlops +
                              readOperations(dl::ConvolutionForm::get(spec.anchorOp()), *this);
  const std::optional<PartialTotals> totals = totalsOf(spec, *this);
  const double finishing = finishingOperations(spec) + (totals ? totals->operations() : 0);
  auto result = cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType());
  const double resultFlops = double(product.m * product.n) * numbers.resultFlops +
                             double(result.getNumElements()) * finishing;
  return machine.kernelSeconds(operandBytes(spec, *this), operandFlops, 1) +
         machine.kernelSeconds(resultBytes(spec, *this, split), resultFlops, 1);
}

//===------------------------------------------------------------------------------------------===//
// Choice
//===------------------------------------------------------------------------------------------===//

std::string TileProductGenerator::refusal(const dl::ConvolutionForm &form,
                                          const CudaTarget &target) const {
  if (!getElementTypeOrSelf(form.result()).isF32())
    return "it does not compute in float32";
  return geometryRefusal(form, target);
}

std::string TileProductGenerator::refusal(const KernelSpec &spec, const CudaTarget &target) const {
  const auto form = dl::ConvolutionForm::get(spec.anchorOp());
  std::string refused = refusal(form, target);
  if (!refused.empty())
    return refused;
  if (llvm::none_of(tiles(form, target), [&](const TileNumbers &numbers) {
        return TiledConvolution(form, numbers).fitsWorkspace(1);
      }))
    return "its transforms need too much memory";
  return "what is fused around it needs single elements";
}

/// The two launches, and between them a phase for the product.
Candidate TileProductGenerator::scheduleTransforms(const KernelSpec &spec,
                                                   const TiledConvolution &tiled, int64_t split,
                                                   const GpuMachine &machine) const {
  const TileNumbers &numbers = tiled.numbers;
  auto moving = [](uint64_t tasks, uint64_t bytes) {
    Phase phase{tasks, 0};
    phase.sideBytes = bytes;
    return phase;
  };
  Candidate candidate;
  candidate.algorithm = algorithm;
  candidate.schedule = llvm::formatv(
      "{0} tile {1}x{2}", dl::stringifyConvolutionAlgorithm(algorithm), numbers.high, numbers.wide);
  candidate.workspaceBytes = sizeof(float) * tiled.end(split);
  candidate.phases = {moving(blocksFor(tiled.left.places(), numbers.lanes) +
                                 blocksFor(tiled.right.places(), numbers.lanes),
                             operandBytes(spec, tiled)),
                      Phase(),
                      moving(blocksFor(tiled.product.m * tiled.product.n, numbers.lanes),
                             resultBytes(spec, tiled, split))};
  candidate.cost = tiled.transformSeconds(spec, split, machine);
  if (std::optional<PartialTotals> totals = totalsOf(spec, tiled)) {
    candidate.phases.back().tasks = totals->blocks();
    totals->schedule(candidate);
    candidate.cost += machine.kernelSeconds(2.0 * candidate.phases.back().sideBytes, 0, 1);
  }
  return candidate;
}

/// With the tiles of gemm.cuh that are estimated to be the fastest; nothing where their parts of k
/// and `more` elements do not fit the workspace.
std::optional<Candidate> TileProductGenerator::scheduleOwn(const KernelSpec &spec,
                                                           const TiledConvolution &tiled,
                                                           int64_t more,
                                                           const GpuMachine &machine) const {
  const ProductExtents &p = tiled.product;
  auto seconds = [&](const ProductTile &tile) {
    const int64_t split = tile.splitOf(p, machine);
    return tile.seconds(p, split, machine) +
           machine.kernelSeconds(sizeof(float) * tiled.end(split), 0, 1);
  };
  const ProductTile &tile =
      *llvm::min_element(productTiles(), [&](auto &a, auto &b) { return seconds(a) < seconds(b); });
  const int64_t split = tile.splitOf(p, machine);
  if (!tiled.fitsWorkspace(split, more))
    return std::nullopt;
  Candidate candidate = scheduleTransforms(spec, tiled, split, machine);
  candidate.parameters = codegen::numbersOf(
      TileSchedule{tiled.numbers.high, tiled.numbers.wide, split, &tile - productTiles().data()});
  candidate.schedule += ", product " + tile.text(split);
  candidate.phases[1].tasks = tile.blocksOf(p) * split;
  candidate.cost += seconds(tile);
  return candidate;
}

/// So many that cuBLASLt's tiles, of 128 x 64 at their best, go round a GPU twice.
int64_t TileProductGenerator::partsOfK(const TiledConvolution &tiled,
                                       const GpuMachine &machine) const {
  const int64_t blocks = 2 * machine.multiprocessors, leastK = 512;
  if (tiled.direction != Direction::BackwardFilter || !dividesK())
    return 1;
  const ProductExtents &p = tiled.product;
  const int64_t tiles = p.batch * llvm::divideCeil(p.m, 128) * llvm::divideCeil(p.n, 64);
  return std::max<int64_t>(1, std::min<int64_t>(llvm::divideCeil(blocks, tiles), p.k / leastK));
}

/// With cuBLASLt, in parts of k.
Candidate TileProductGenerator::scheduleLibrary(const KernelSpec &spec, const CudaTarget &target,
                                                const TiledConvolution &tiled,
                                                int64_t parts) const {
  ProductExtents p = tiled.product;
  p.batch *= parts;
  p.k /= parts;
  Candidate candidate = scheduleTransforms(spec, tiled, parts, target.machine);
  const bool alongK = tiled.direction == Direction::BackwardFilter;
  const CallType type = productType(spec.anchorOp());
  // Of what the kernel may have, it gets what its operands leave.
  dl::WishAttr wish = dl::ConvolutionForm::get(spec.anchorOp()).wish;
  std::optional<uint64_t> limit = target.settings.workspaceLimit;
  if (wish && wish.getWorkspace())
    limit = *wish.getWorkspace();
  if (limit)
    limit = *limit - std::min(*limit, llvm::alignTo(candidate.workspaceBytes, DLC_ALIGNMENT));
  LibraryCall library = productCall(p, /*transposeA=*/!alongK, /*transposeB=*/alongK, type, limit);
  const unsigned buffer = spec.operandTypes().size() + spec.resultTypes().size();
  auto piece = [&](int64_t at, int64_t elements) {
    return BufferPiece{buffer, sizeof(float) * at, sizeof(float) * elements};
  };
  library.arguments = {piece(0, p.batch * p.m * p.n),
                       piece(tiled.leftAt(parts), p.batch * p.m * p.k),
                       piece(tiled.rightAt(parts), p.batch * p.k * p.n),
                       {buffer, llvm::alignTo(candidate.workspaceBytes, DLC_ALIGNMENT),
                        library.call.workspace_bytes}};
  candidate.workspaceBytes = library.arguments.back().offset + library.call.workspace_bytes;
  candidate.parameters =
      codegen::numbersOf(TileSchedule{tiled.numbers.high, tiled.numbers.wide, parts});
  candidate.schedule += ", product cuBLASLt";
  if (parts > 1)
    candidate.schedule += " in " + std::to_string(parts) + " parts of k";
  candidate.phases[1] = {1, 0, 0, std::make_shared<LibraryCall>(library)};
  candidate.cost += callSeconds(2.0 * p.batch * p.m * p.n * p.k, sizeof(float) * tiled.end(parts),
                                type, target.machine);
  return candidate;
}

SmallVector<Candidate> TileProductGenerator::schedules(const KernelSpec &spec,
                                                       const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Convolution)
    return {};
  const auto form = dl::ConvolutionForm::get(spec.anchorOp());
  if (!refusal(form, target).empty())
    return {};
  SmallVector<Candidate> all;
  for (const TileNumbers &numbers : tiles(form, target)) {
    const TiledConvolution tiled(form, numbers);
    const ProductExtents &p = tiled.product;
    if (p.m * p.n * p.k == 0)
      continue;
    const std::optional<PartialTotals> totals = totalsOf(spec, tiled);
    const int64_t more = totals ? totals->elements() : 0;
    if (std::optional<Candidate> own = scheduleOwn(spec, tiled, more, target.machine))
      all.push_back(std::move(*own));
    if (target.settings.products != Provider::Library)
      continue;
    const int64_t parts = partsOfK(tiled, target.machine);
    const TiledConvolution divided(form, numbers, parts);
    if (divided.fitsWorkspace(parts, more))
      all.push_back(scheduleLibrary(spec, target, divided, parts));
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Text
//===------------------------------------------------------------------------------------------===//

/// Sizes that tiles.cuh asks for. `split`: parts that the sums in the workspace come in.
static void addTileConstants(KernelText &text, const TiledConvolution &tiled, int64_t parts,
                             int64_t split, int64_t threads) {
  const ProductExtents &p = tiled.product;
  for (auto [name, value] :
       {std::pair("OUT_H", tiled.numbers.high),
        {"OUT_W", tiled.numbers.wide},
        {"TILES_H", tiled.tilesHigh},
        {"TILES_W", tiled.tilesWide},
        {"PRODUCTS", p.batch},
        {"M", p.m},
        {"N", p.n},
        {"K", p.k},
        {"LEFT_AT", tiled.leftAt(split)},
        {"RIGHT_AT", tiled.rightAt(split)},
        {"LEFT_BLOCKS", int64_t(blocksFor(tiled.left.places(), tiled.numbers.lanes))},
        {"K_PARTS", parts},
        {"LANES", tiled.numbers.lanes},
        {"THREADS", threads}})
    text.constant(name, value);
}

/// The three phases: transforms to products, these, and from them.
void TileProductGenerator::addPhases(KernelText &text, Direction direction, const ProductTile *tile,
                                     bool reduces) const {
  static constexpr StringRef directions[] = {"TilesForward", "TilesBackwardData",
                                             "TilesBackwardFilter"};
  auto caller = [&](const std::string &function) {
    return [function, direction = directions[size_t(direction)]](StringRef problem) {
      return (function + "(" + direction + "<Problem>{" + problem + "})").str();
    };
  };
  text.phaseCalling(threads, caller(skeleton.str() + "Operands"));
  if (tile)
    text.phaseCalling(tile->threads(), caller("gemm"));
  else
    text.libraryPhase();
  text.phaseCalling(threads, caller(skeleton.str() + (reduces ? "ResultsReduced" : "Results")));
}

FailureOr<KernelText> TileProductGenerator::write(const KernelSpec &spec,
                                                  const Candidate &candidate) const {
  const auto schedule = scheduleOf<TileSchedule>(candidate.parameters);
  const ProductTile *tile =
      schedule.tile == TileSchedule::library ? nullptr : &productTiles()[schedule.tile];
  const auto convolution = dl::ConvolutionForm::get(spec.anchorOp());
  const int64_t parts = tile ? 1 : schedule.split;
  const TiledConvolution tiled(convolution, numbersOf(convolution, schedule.high, schedule.wide),
                               parts);
  const std::optional<PartialTotals> totals = totalsOf(spec, tiled);
  SmallVector<StringRef> skeletons = {"axis", "tiles"};
  if (totals)
    skeletons.append({"reductions", "reduce_parts"});
  skeletons.push_back(skeleton);
  if (tile)
    skeletons.push_back("gemm");
  KernelText text(spec, skeletons);
  FailureOr<AnchorForm> form = describeProduct(text);
  if (failed(form) ||
      failed(totals ? addReducingStore(text, *form, "finish") : addStore(text, *form, "finish")))
    return failure();
  addTileConstants(text, tiled, parts, schedule.split, threads);
  if (tile)
    tile->addConstants(text, schedule.split);
  else
    text.constant("SPLIT", schedule.split);
  if (totals)
    totals->addConstants(text, tiled.end(schedule.split));
  text.workspace(form->element);
  addTransforms(text, convolution, tiled.numbers);
  addPhases(text, tiled.direction, tile, bool(totals));
  if (totals)
    totals->addPhase(text);
  return text;
}

std::string codegen::cudaAlgorithmRefusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm,
                                          const CudaTarget &target) {
  std::unique_ptr<TileProductGenerator> generator =
      algorithm == ConvolutionAlgorithm::FFT        ? createCudaFourierGenerator()
      : algorithm == ConvolutionAlgorithm::Winograd ? createCudaWinogradGenerator()
                                                    : createCudaPatchesGenerator();
  return generator->refusal(spec, target);
}
