//===- ProductGenerator.cpp - matrix products and direct convolutions -------------------------===//
//
// Both are the product of gemm.cuh; a convolution's operands are read where they stand. Tiles are
// chosen by the size of the result: large ones reuse more, small ones fill the GPU; what is still
// too few blocks is split along k, and a second phase adds the parts in order. What is computed of
// an operand is computed wherever a tile is loaded. Reductions of a convolution's result for each
// channel are of rows of C: each block leaves parts of them, which a last phase merges.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Product/ProductTiles.h"
#include "codegen/CUDA/Reduce/PartialTotals.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "codegen/Kernel/ScheduleFields.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"

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

/// What a candidate keeps.
struct ProductSchedule {
  int64_t tile = 0; ///< number
  int64_t split = 1;

  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("tile ", s.tile);
    f(" split ", s.split);
  }
};

/// The product that a spec is, as the skeleton sees it.
struct Problem : ProductExtents {
  Type element;
  Value a, b; ///< the anchor's operands
};
} // namespace

static std::optional<Problem> problemOf(const KernelSpec &spec) {
  Operation *op = spec.anchorOp();
  if (auto matmul = dyn_cast_or_null<dl::MatmulOp>(op)) {
    ProductSizes s(matmul);
    return Problem{{s.batch, s.m, s.n, s.k},
                   getElementTypeOrSelf(matmul.getC()),
                   matmul.getA(),
                   matmul.getB()};
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
    return Problem{
        {g.groups, filters, out, channels * taps}, element, convolution.w, convolution.x};
  case dl::ConvolutionForm::Direction::BackwardData:
    return Problem{{g.groups, channels, in, filters * taps}, element, convolution.w, convolution.y};
  case dl::ConvolutionForm::Direction::BackwardFilter:
    return Problem{
        {g.groups, filters, channels * taps, out}, element, convolution.y, convolution.x};
  }
  return std::nullopt;
}

/// Operations of all blocks on what they read, each of which computes its operands for itself.
static double readingOperations(const Problem &p, const ProductTile &tile) {
  return double(p.batch * p.k) *
         (double(p.m * llvm::divideCeil(p.n, tile.n)) * codegen::readingOperations(p.a) +
          double(p.n * llvm::divideCeil(p.m, tile.m)) * codegen::readingOperations(p.b));
}

/// Elements of C in the workspace, where k is split.
static int64_t partialSums(const ProductExtents &p, int64_t split) {
  return split > 1 ? split * p.batch * p.m * p.n : 0;
}

/// Those of the channels of a convolution's result, if it is reduced.
static std::optional<PartialTotals> totalsOf(const KernelSpec &spec, const ProductExtents &p,
                                             const ProductTile &tile, int64_t split) {
  if (!spec.hasReductionsBehind())
    return std::nullopt;
  return PartialTotals::ofChannels(
      spec, llvm::divideCeil(p.n, split > 1 ? int64_t(partsThreads) : tile.n));
}

/// The least shared memory that a GPU's block may have, of which tiles leave that much.
static bool fitsShared(const KernelSpec &spec, const ProductTile &tile) {
  const int64_t bytes = 32 << 10, moments = 16; // of a total, the largest there is
  return int64_t(spec.reductions().size()) * moments * (tile.n / tile.tn) * (tile.m + 1) <= bytes;
}

SmallVector<Candidate> ProductGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  std::optional<Problem> p = problemOf(spec);
  if (!p || p->batch * p->m * p->n == 0)
    return {};
  SmallVector<Candidate> all;
  for (auto [number, tile] : llvm::enumerate(productTiles())) {
    const int64_t split = tile.splitOf(*p, target.machine);
    const std::optional<PartialTotals> totals = totalsOf(spec, *p, tile, split);
    if (totals && split == 1 && !fitsShared(spec, tile))
      continue;
    Candidate candidate;
    candidate.parameters = numbersOf(ProductSchedule{int64_t(number), split});
    candidate.schedule = tile.text(split);
    candidate.phases.push_back({uint64_t(tile.blocksOf(*p) * split), 0});
    if (split > 1) {
      candidate.workspaceBytes =
          partialSums(*p, split) * program::elementBytes(accumulatorType(p->element));
      candidate.phases.push_back(
          {totals ? totals->blocks() : blocksFor(p->batch * p->m * p->n, partsThreads), 0});
      candidate.phases.back().sideBytes = candidate.workspaceBytes;
    }
    double finishing = finishingOperations(spec);
    if (totals) {
      totals->schedule(candidate);
      finishing += totals->operations();
    }
    const double operations =
        readingOperations(*p, tile) + finishing * double(p->batch * p->m * p->n);
    candidate.cost = tile.seconds(*p, split, target.machine) +
                     target.machine.operationSeconds(operations) +
                     target.machine.kernelSeconds(spec.bytes() + 2 * candidate.workspaceBytes, 0,
                                                  candidate.phases.size());
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
  const auto [number, split] = scheduleOf<ProductSchedule>(candidate.parameters);
  const ProductTile &tile = productTiles()[number];
  const Problem p = *problemOf(spec);
  const std::optional<PartialTotals> totals = totalsOf(spec, p, tile, split);
  auto matmul = dyn_cast<dl::MatmulOp>(spec.anchorOp());
  SmallVector<StringRef> skeletons = {"gemm"};
  if (!matmul)
    skeletons = {"axis", "gemm", "convolution"};
  if (totals)
    skeletons.append({"reductions", "reduce_parts", "gemm_reduce"});
  KernelText text(spec, skeletons);
  FailureOr<AnchorForm> form = describeProduct(text);
  if (failed(form) || failed(totals ? addReducingStore(text, *form, "finish")
                                    : addStore(text, *form, matmul ? "store" : "finish")))
    return failure();
  tile.addConstants(text, split);
  if (totals)
    totals->addConstants(text, partialSums(p, split));
  else if (split > 1)
    text.constant("PARTS_THREADS", partsThreads);
  if (totals || split > 1)
    text.workspace(form->element);
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
  text.phaseCalling(tile.threads(), caller(totals && split == 1 ? "gemmReduced" : "gemm"));
  if (split > 1)
    text.phaseCalling(partsThreads, caller(totals ? "gemmPartsReduced" : "gemmParts"));
  if (totals)
    totals->addPhase(text);
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaProductGenerator() {
  return std::make_unique<ProductGenerator>();
}
