//===- WinogradGenerator.cpp - convolutions by minimal filtering on CUDA ----------------------===//
//
// float32, any body before and behind the convolution, in all three directions; refuses what
// winogradRefusal names. Three launches, see winograd.cuh: points of the operands into the
// workspace, a matrix product for each point, points to pixels and the epilogue. One fused kernel
// would need no workspace, but a block's shared memory holds the 36 points of F(4x4, 3x3) for too
// few tiles and channels at once to multiply them well: it would be left with F(2x2, 3x3), which
// saves 2.25 of the multiplications where F(4x4) saves 4.
//
// Tiles are of 2x2 and 4x4 outputs, 1 along an axis with one tap. The products are cuBLASLt's,
// always in strict float32, where the user wants its products, and our own: of gemm.cuh's tiles and
// parts of k those that are estimated to be the fastest.
//
// No estimate here has been held against a GPU's clock: candidates are unproven.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/LibraryCalls.h"
#include "codegen/Kernel/MinimalFiltering.h"
#include "dialects/DL/Facts/ConvolutionForm.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = dl::ConvolutionForm::Direction;

static const int64_t threads = 128;

namespace {
class WinogradGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-winograd"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

/// What a transform does along one axis after the other.
struct Transform {
  TransformMatrix high, wide;

  int64_t operations() const { return transformOperations(high, wide); }
  std::string text(StringRef name) const;
};

/// A convolution cut into tiles.
struct TiledConvolution {
  TiledConvolution(const dl::ConvolutionForm &form, int64_t outputs);

  /// In the workspace, in elements: sums, points of both operands, and what is behind them.
  int64_t leftAt(int64_t split) const {
    return aligned(split * product.batch * product.m * product.n);
  }
  int64_t rightAt(int64_t split) const {
    return leftAt(split) + aligned(product.batch * left.places());
  }
  int64_t end(int64_t split) const {
    return rightAt(split) + aligned(product.batch * right.places());
  }
  Transform leftTransform() const;
  Transform rightTransform() const { return {high.input, wide.input}; }
  Transform resultTransform() const;

  static int64_t aligned(int64_t elements) {
    return llvm::alignTo(elements, DLC_ALIGNMENT / sizeof(float));
  }

  /// Tiles or filters that become points: rows of neighbours in memory.
  struct Operand {
    int64_t rows, lanes;
    int64_t places() const { return rows * lanes; }
  };

  Direction direction;
  WinogradTransform high, wide;
  int64_t tilesHigh, tilesWide;
  Operand left, right;
  ProductExtents product; ///< its batch is the points of a tile
};
} // namespace

//===------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------===//

static WinogradTransform transformAlong(const dl::WindowAxis &axis, int64_t outputs) {
  return WinogradTransform(axis.kernel == 1 ? 1 : outputs, axis.kernel);
}

TiledConvolution::TiledConvolution(const dl::ConvolutionForm &form, int64_t outputs)
    : direction(form.direction), high(transformAlong(form.geometry.threeAxes()[1], outputs)),
      wide(transformAlong(form.geometry.threeAxes()[2], outputs)) {
  const dl::ConvolutionGeometry &g = form.geometry;
  const auto plane =
      direction == Direction::BackwardData ? &dl::WindowAxis::input : &dl::WindowAxis::output;
  tilesHigh = llvm::divideCeil(g.threeAxes()[1].*plane, high.outputs);
  tilesWide = llvm::divideCeil(g.threeAxes()[2].*plane, wide.outputs);
  // gemm.cuh reads both operands by quads.
  const int64_t points = high.points() * wide.points(),
                tiles = llvm::alignTo(g.batch * tilesHigh * tilesWide, 4);
  if (direction == Direction::BackwardFilter) {
    left = {g.filters, tiles};
    right = {g.channels, tiles};
    product = {points, g.filters, g.channels, tiles};
    return;
  }
  const bool forward = direction == Direction::Forward;
  const int64_t sources = forward ? g.channels : g.filters,
                targets = llvm::alignTo(forward ? g.filters : g.channels, 4);
  left = {sources, targets};
  right = {sources, tiles};
  product = {points, targets, tiles, sources};
}

Transform TiledConvolution::leftTransform() const {
  if (direction == Direction::BackwardFilter)
    return {high.output.transposed(), wide.output.transposed()};
  return {high.filter, wide.filter};
}

Transform TiledConvolution::resultTransform() const {
  if (direction == Direction::BackwardFilter)
    return {high.filter.transposed(), wide.filter.transposed()};
  return {high.output, wide.output};
}

//===------------------------------------------------------------------------------------------===//
// Choice
//===------------------------------------------------------------------------------------------===//

/// Why no tiles run the convolution, whatever is fused around it; empty if some do.
static std::string refusalOf(const dl::ConvolutionForm &form, const CudaTarget &target) {
  const dl::ConvolutionGeometry &g = form.geometry;
  if (!getElementTypeOrSelf(form.result()).isF32())
    return "it does not compute in float32";
  std::string refusal = winogradRefusal(g.threeAxes(), g.groups);
  if (refusal.empty() && target.strict && !errsLikeSums(g.threeAxes(), 2))
    refusal = "its transforms err more than --math=strict allows";
  return refusal;
}

/// Indices of the workspace are ints.
static bool fitsWorkspace(const TiledConvolution &tiled, int64_t split) {
  return tiled.end(split) < std::numeric_limits<int32_t>::max();
}

std::string codegen::cudaWinogradRefusal(const KernelSpec &spec, const CudaTarget &target) {
  const auto form = dl::ConvolutionForm::get(spec.anchorOp());
  std::string refusal = refusalOf(form, target);
  if (!refusal.empty())
    return refusal;
  if (!fitsWorkspace(TiledConvolution(form, 2), 1) && !fitsWorkspace(TiledConvolution(form, 4), 1))
    return "its transforms need too much memory";
  return "what is fused around it needs single elements";
}

/// The two launches, and between them a phase for the product.
static Candidate scheduleTransforms(const KernelSpec &spec, const TiledConvolution &tiled,
                                    int64_t split) {
  const ProductExtents &p = tiled.product;
  const uint64_t sumBytes = sizeof(float) * tiled.leftAt(split),
                 pointBytes = sizeof(float) * tiled.end(split) - sumBytes;
  auto moving = [](uint32_t tasks, uint64_t bytes) {
    Phase phase{tasks, 0};
    phase.sideBytes = bytes;
    return phase;
  };
  Candidate candidate;
  candidate.algorithm = ConvolutionAlgorithm::Winograd;
  candidate.unproven = true;
  candidate.schedule =
      llvm::formatv("winograd tile {0}x{1}", tiled.high.outputs, tiled.wide.outputs);
  candidate.workspaceBytes = sumBytes + pointBytes;
  candidate.phases = {
      moving(blocksFor(tiled.left.places(), threads) + blocksFor(tiled.right.places(), threads),
             spec.bytes() + pointBytes),
      Phase(), moving(blocksFor(p.m * p.n, threads), sumBytes + spec.bytes())};
  const double operandFlops = double(tiled.left.places()) * tiled.leftTransform().operations() +
                              double(tiled.right.places()) * tiled.rightTransform().operations(),
               resultFlops = double(p.m * p.n) * tiled.resultTransform().operations();
  candidate.cost = gpuSeconds(candidate.phases[0].sideBytes, operandFlops, 1) +
                   gpuSeconds(candidate.phases[2].sideBytes, resultFlops, 1);
  return candidate;
}

/// With the tiles of gemm.cuh that are estimated to be the fastest.
static Candidate scheduleOwn(const KernelSpec &spec, const TiledConvolution &tiled,
                             int64_t outputs) {
  const ProductExtents &p = tiled.product;
  auto seconds = [&](const ProductTile &tile) {
    const int64_t split = tile.splitOf(p);
    return tile.seconds(p, split) + gpuSeconds(sizeof(float) * tiled.end(split), 0, 1);
  };
  const ProductTile &tile =
      *llvm::min_element(productTiles(), [&](auto &a, auto &b) { return seconds(a) < seconds(b); });
  const int64_t split = tile.splitOf(p);
  Candidate candidate = scheduleTransforms(spec, tiled, split);
  candidate.parameters = llvm::json::Array{outputs, split, &tile - productTiles().data()};
  candidate.schedule += ", product " + tile.text(split);
  candidate.phases[1].tasks = tile.blocksOf(p) * split;
  candidate.cost += seconds(tile);
  return candidate;
}

/// With cuBLASLt.
static Candidate scheduleLibrary(const KernelSpec &spec, const TiledConvolution &tiled,
                                 int64_t outputs) {
  const ProductExtents &p = tiled.product;
  Candidate candidate = scheduleTransforms(spec, tiled, /*split=*/1);
  const bool alongK = tiled.direction == Direction::BackwardFilter;
  LibraryCall library =
      productCall(p, /*transposeA=*/!alongK, /*transposeB=*/alongK, DLC_MATH_STRICT);
  const unsigned buffer = spec.operandTypes().size() + spec.resultTypes().size();
  auto piece = [&](int64_t at, int64_t elements) {
    return BufferPiece{buffer, sizeof(float) * at, sizeof(float) * elements};
  };
  library.arguments = {piece(0, p.batch * p.m * p.n),
                       piece(tiled.leftAt(1), p.batch * p.m * p.k),
                       piece(tiled.rightAt(1), p.batch * p.k * p.n),
                       {buffer, candidate.workspaceBytes, library.call.workspace_bytes}};
  candidate.workspaceBytes += library.call.workspace_bytes;
  candidate.parameters = llvm::json::Array{outputs, 1};
  candidate.schedule += ", product cuBLASLt";
  candidate.phases[1] = {1, 0, 0, std::make_shared<LibraryCall>(library)};
  candidate.cost +=
      callSeconds(2.0 * p.batch * p.m * p.n * p.k, sizeof(float) * tiled.end(1), DLC_MATH_STRICT);
  return candidate;
}

SmallVector<Candidate> WinogradGenerator::schedules(const KernelSpec &spec,
                                                    const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Convolution)
    return {};
  const auto form = dl::ConvolutionForm::get(spec.anchorOp());
  if (!refusalOf(form, target).empty())
    return {};
  SmallVector<Candidate> all;
  for (int64_t outputs : {2, 4}) {
    const TiledConvolution tiled(form, outputs);
    const ProductExtents &p = tiled.product;
    if (p.m * p.n * p.k == 0 ||
        (target.strict && !errsLikeSums(form.geometry.threeAxes(), outputs)))
      continue;
    Candidate own = scheduleOwn(spec, tiled, outputs);
    if (fitsWorkspace(tiled, *(*own.parameters.getAsArray())[1].getAsInteger()))
      all.push_back(std::move(own));
    if (target.gemm == Provider::Library && fitsWorkspace(tiled, 1))
      all.push_back(scheduleLibrary(spec, tiled, outputs));
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Text
//===------------------------------------------------------------------------------------------===//

/// name(x, y): y = matrix * x.
static std::string functionText(StringRef name, const TransformMatrix &matrix) {
  using Kind = TransformPlan::Kind;
  const TransformPlan plan(matrix);
  auto value = [&](int64_t number) {
    return number < matrix.columns ? "x[" + std::to_string(number) + "]"
                                   : "t" + std::to_string(number - matrix.columns);
  };
  std::string text = ("    static __device__ void " + name + "(const T *x, T *y) {\n").str();
  for (auto [number, step] : llvm::enumerate(plan.steps)) {
    const std::string a = value(step.a), b = value(step.b),
                      scaled = literalText(step.factor, /*single=*/true) + " * " + a;
    text += "      T t" + std::to_string(number) + " = ";
    switch (step.kind) {
    case Kind::Add:
      text += a + " + " + b;
      break;
    case Kind::Subtract:
      text += a + " - " + b;
      break;
    case Kind::Multiply:
      text += scaled;
      break;
    case Kind::MultiplyAdd:
      text += scaled + " + " + b;
      break;
    }
    text += ";\n";
  }
  for (auto [row, number] : llvm::enumerate(plan.results))
    text += "      y[" + std::to_string(row) + "] = " + value(number) + ";\n";
  return text + "    }\n";
}

std::string Transform::text(StringRef name) const {
  const std::string sizes =
      llvm::formatv("    static constexpr int ROWS_IN = {0}, COLUMNS_IN = {1}, ROWS = {2}, COLUMNS "
                    "= {3};\n",
                    high.columns, wide.columns, high.rows, wide.rows);
  const bool alike = high.columns == wide.columns && high.values == wide.values;
  return "  struct " + name.str() + " {\n" + sizes + functionText("high", high) +
         (alike ? "    static __device__ void wide(const T *x, T *y) { high(x, y); }\n"
                : functionText("wide", wide)) +
         "  };\n";
}

FailureOr<KernelText> WinogradGenerator::write(const KernelSpec &spec,
                                               const Candidate &candidate) const {
  const llvm::json::Array &parameters = *candidate.parameters.getAsArray();
  const int64_t split = *parameters[1].getAsInteger();
  const ProductTile *tile =
      parameters.size() > 2 ? &productTiles()[*parameters[2].getAsInteger()] : nullptr;
  const TiledConvolution tiled(dl::ConvolutionForm::get(spec.anchorOp()),
                               *parameters[0].getAsInteger());
  SmallVector<StringRef> skeletons = {"axis", "winograd"};
  if (tile)
    skeletons.push_back("gemm");
  KernelText text(spec, skeletons);
  FailureOr<AnchorForm> form = describeAnchor(text);
  if (failed(form) || failed(addStore(text, *form, "finish")))
    return failure();
  const ProductExtents &p = tiled.product;
  for (auto [name, value] : {std::pair("OUT_H", tiled.high.outputs),
                             {"OUT_W", tiled.wide.outputs},
                             {"TILES_H", tiled.tilesHigh},
                             {"TILES_W", tiled.tilesWide},
                             {"M", p.m},
                             {"N", p.n},
                             {"K", p.k},
                             {"LEFT_AT", tiled.leftAt(split)},
                             {"RIGHT_AT", tiled.rightAt(split)},
                             {"LEFT_BLOCKS", int64_t(blocksFor(tiled.left.places(), threads))},
                             {"THREADS", threads}})
    text.constant(name, value);
  if (tile)
    tile->addConstants(text, split);
  else
    text.constant("SPLIT", split);
  text.workspace(form->element);
  text.members(tiled.leftTransform().text("Left"));
  text.members(tiled.rightTransform().text("Right"));
  text.members(tiled.resultTransform().text("Result"));
  static constexpr StringRef directions[] = {"WinogradForward", "WinogradBackwardData",
                                             "WinogradBackwardFilter"};
  auto caller = [&](StringRef skeleton) {
    return [skeleton, direction = directions[size_t(tiled.direction)]](StringRef problem) {
      return (skeleton + "(" + direction + "<Problem>{" + problem + "})").str();
    };
  };
  text.phaseCalling(threads, caller("winogradOperands"));
  if (tile)
    text.phaseCalling(tile->threads(), caller("gemm"));
  else
    text.libraryPhase();
  text.phaseCalling(threads, caller("winogradResults"));
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaWinogradGenerator() {
  return std::make_unique<WinogradGenerator>();
}
