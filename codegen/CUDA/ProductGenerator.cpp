//===- ProductGenerator.cpp - matrix products and direct convolutions -------------------------===//
//
// Both are the product of gemm.cuh; a convolution's operands are read where they stand. Tiles are
// chosen by the size of the result: large ones reuse more, small ones fill the GPU; what is still
// too few blocks is split along k, and a second phase adds the parts in order.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/ConvolutionForm.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLTensorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class ProductGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-product"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

struct Tile {
  int64_t m, n, k, tm, tn;
  uint32_t threads() const { return (m / tm) * (n / tn); }
};

/// The product that a spec is, as the skeleton sees it.
struct Problem {
  int64_t batch, m, n, k;
  Type element;
};
} // namespace

static const Tile tiles[] = {{64, 64, 16, 8, 4}, {32, 64, 16, 8, 4}, {64, 32, 16, 8, 4},
                             {32, 32, 16, 4, 4}, {16, 64, 16, 4, 4}, {64, 16, 16, 4, 4}};
static const uint32_t partsThreads = 128;
static const int64_t multiprocessors = 132;

static std::optional<Problem> problemOf(const KernelSpec &spec) {
  Operation *op = spec.anchorOp();
  if (auto matmul = dyn_cast_or_null<dl::MatmulOp>(op)) {
    ProductSizes s(matmul);
    return Problem{s.batch, s.m, s.n, s.k, getElementTypeOrSelf(matmul.getC())};
  }
  if (spec.anchor() != Anchor::Convolution)
    return std::nullopt;
  Type element = getElementTypeOrSelf(op->getResult(0));
  const auto convolution = dl::ConvolutionForm::get(op);
  const dl::ConvolutionGeometry &g = convolution.geometry;
  int64_t channels = g.channels / g.groups, filters = g.filters / g.groups, taps = g.kernelSize();
  int64_t in = g.batch * g.inputPixels(), out = g.batch * g.outputPixels();
  switch (convolution.direction) {
  case dl::ConvolutionForm::Direction::Forward:
    return Problem{g.groups, filters, out, channels * taps, element};
  case dl::ConvolutionForm::Direction::BackwardData:
    return Problem{g.groups, channels, in, filters * taps, element};
  case dl::ConvolutionForm::Direction::BackwardFilter:
    return Problem{g.groups, filters, channels * taps, out, element};
  }
  return std::nullopt;
}

static int64_t tilesOf(const Problem &p, const Tile &tile) {
  return p.batch * llvm::divideCeil(p.m, tile.m) * llvm::divideCeil(p.n, tile.n);
}

/// How many blocks share a tile's k.
static int64_t splitOf(const Problem &p, const Tile &tile) {
  const int64_t leastK = 128;
  int64_t wanted = 2 * multiprocessors / tilesOf(p, tile);
  int64_t split = std::clamp<int64_t>(p.k / leastK, 1, std::max<int64_t>(1, wanted));
  // As the skeleton cuts: whole tiles of k, no part empty.
  int64_t part = llvm::alignTo(llvm::divideCeil(std::max<int64_t>(p.k, 1), split), tile.k);
  return llvm::divideCeil(std::max<int64_t>(p.k, 1), part);
}

SmallVector<Candidate> ProductGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  std::optional<Problem> p = problemOf(spec);
  if (!p || p->batch * p->m * p->n == 0)
    return {};
  SmallVector<Candidate> all;
  for (auto [number, tile] : llvm::enumerate(tiles)) {
    int64_t split = splitOf(*p, tile), blocks = tilesOf(*p, tile) * split;
    Candidate candidate;
    candidate.parameters = llvm::json::Array{int64_t(number), split};
    candidate.schedule = llvm::formatv("tile {0}x{1}x{2} split {3}", tile.m, tile.n, tile.k, split);
    candidate.phases.push_back({uint32_t(blocks), 0});
    if (split > 1) {
      candidate.workspaceBytes =
          split * p->batch * p->m * p->n * program::elementBytes(accumulatorType(p->element));
      candidate.phases.push_back({blocksFor(p->batch * p->m * p->n, partsThreads), 0});
      candidate.phases.back().sideBytes = candidate.workspaceBytes;
    }
    // What the blocks multiply, padding of tiles included, spread over the multiprocessors; small
    // tiles read more for each product.
    double waves = std::max(1.0, double(blocks) / multiprocessors);
    double work = 2.0 * tile.m * tile.n * llvm::divideCeil(p->k, split);
    double reads = 1 + 16.0 / tile.m + 16.0 / tile.n;
    candidate.cost =
        waves * work * reads / 6e10 +
        gpuSeconds(spec.bytes() + 2 * candidate.workspaceBytes, 0, candidate.phases.size());
    all.push_back(std::move(candidate));
  }
  return all;
}

namespace {
/// How gemm.cuh reads an operand of a matmul.
struct Reading {
  bool alongK, quads;
};
} // namespace

/// Quads are for operands that stand in memory as they are, with rows of whole quads.
static Reading readingOf(Value operand, bool kIsLast) {
  auto type = cast<RankedTensorType>(operand.getType());
  bool plain = isa<BlockArgument>(operand) && program::PhysicalLayout::get(type).rowMajor;
  return {kIsLast, plain && type.getShape().back() % 4 == 0};
}

static void addQuadReader(KernelText &text, dl::MatmulOp op, StringRef name, Value operand,
                          StringRef row, StringRef column, bool transposed) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t columns = type.getShape().back(), rows = type.getDimSize(type.getRank() - 2);
  StringRef outer = transposed ? column : row, inner = transposed ? row : column;
  unsigned number = cast<BlockArgument>(operand).getArgNumber();
  text.members(llvm::formatv("  __device__ auto {0}(int b, int {1}, int {2}) const {{ return "
                             "loadQuad({3}, (b * {4} + {5}) * {6} + {7}); }\n",
                             name, row, column, bufferName(text.spec, number), rows, outer, columns,
                             inner)
                   .str());
}

FailureOr<KernelText> ProductGenerator::write(const KernelSpec &spec,
                                              const Candidate &candidate) const {
  const llvm::json::Array &parameters = *candidate.parameters.getAsArray();
  const Tile &tile = tiles[*parameters[0].getAsInteger()];
  int64_t split = *parameters[1].getAsInteger();
  KernelText text(spec, skeletonsOf(spec));
  FailureOr<AnchorForm> form = describeAnchor(text);
  auto matmul = dyn_cast<dl::MatmulOp>(spec.anchorOp());
  if (failed(form) || failed(addStore(text, *form, matmul ? "store" : "finish")))
    return failure();
  for (auto [name, value] : {std::pair("TILE_M", tile.m),
                             {"TILE_N", tile.n},
                             {"TILE_K", tile.k},
                             {"TM", tile.tm},
                             {"TN", tile.tn},
                             {"SPLIT", split}})
    text.constant(name, value);
  if (split > 1) {
    text.constant("PARTS_THREADS", partsThreads);
    text.workspace(form->element);
  }
  std::string direction;
  if (matmul) {
    Reading a = readingOf(matmul.getA(), !matmul.getTransposeA());
    Reading b = readingOf(matmul.getB(), matmul.getTransposeB());
    text.flag("A_ALONG_K", a.alongK);
    text.flag("B_ALONG_K", b.alongK);
    text.flag("A_QUADS", a.quads);
    text.flag("B_QUADS", b.quads);
    if (a.quads)
      addQuadReader(text, matmul, "aQuad", matmul.getA(), "m", "k", matmul.getTransposeA());
    if (b.quads)
      addQuadReader(text, matmul, "bQuad", matmul.getB(), "k", "n", matmul.getTransposeB());
  } else {
    direction = isa<dl::ConvolutionOp>(spec.anchorOp())               ? "Forward"
                : isa<dl::ConvolutionBackwardDataOp>(spec.anchorOp()) ? "BackwardData"
                                                                      : "BackwardFilter";
  }
  auto caller = [&](StringRef skeleton) {
    return [=](StringRef problem) {
      std::string argument =
          direction.empty() ? problem.str() : direction + "<Problem>{{" + problem.str() + "}}";
      return skeleton.str() + "(" + argument + ")";
    };
  };
  text.phaseCalling(tile.threads(), caller("gemm"));
  if (split > 1)
    text.phaseCalling(partsThreads, caller("gemmParts"));
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaProductGenerator() {
  return std::make_unique<ProductGenerator>();
}
