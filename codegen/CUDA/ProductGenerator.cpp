//===- ProductGenerator.cpp - matrix products and direct convolutions -------------------------===//
//
// Both are the product of gemm.cuh; a convolution's operands are read where they stand. Tiles are
// chosen by the size of the result: large ones reuse more, small ones fill the GPU; what is still
// too few blocks is split along k, and a second phase adds the parts in order.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/ProductTiles.h"
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

/// The product that a spec is, as the skeleton sees it.
struct Problem : ProductExtents {
  Type element;
};
} // namespace

static const uint32_t partsThreads = 128;

static std::optional<Problem> problemOf(const KernelSpec &spec) {
  Operation *op = spec.anchorOp();
  if (auto matmul = dyn_cast_or_null<dl::MatmulOp>(op)) {
    ProductSizes s(matmul);
    return Problem{{s.batch, s.m, s.n, s.k}, getElementTypeOrSelf(matmul.getC())};
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
    return Problem{{g.groups, filters, out, channels * taps}, element};
  case dl::ConvolutionForm::Direction::BackwardData:
    return Problem{{g.groups, channels, in, filters * taps}, element};
  case dl::ConvolutionForm::Direction::BackwardFilter:
    return Problem{{g.groups, filters, channels * taps, out}, element};
  }
  return std::nullopt;
}

SmallVector<Candidate> ProductGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  std::optional<Problem> p = problemOf(spec);
  if (!p || p->batch * p->m * p->n == 0)
    return {};
  SmallVector<Candidate> all;
  for (auto [number, tile] : llvm::enumerate(productTiles())) {
    const int64_t split = tile.splitOf(*p);
    Candidate candidate;
    candidate.parameters = llvm::json::Array{int64_t(number), split};
    candidate.schedule = tile.text(split);
    candidate.phases.push_back({uint32_t(tile.blocksOf(*p) * split), 0});
    if (split > 1) {
      candidate.workspaceBytes =
          split * p->batch * p->m * p->n * program::elementBytes(accumulatorType(p->element));
      candidate.phases.push_back({blocksFor(p->batch * p->m * p->n, partsThreads), 0});
      candidate.phases.back().sideBytes = candidate.workspaceBytes;
    }
    candidate.cost =
        tile.seconds(*p, split) +
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
  const ProductTile &tile = productTiles()[*parameters[0].getAsInteger()];
  int64_t split = *parameters[1].getAsInteger();
  KernelText text(spec, skeletonsOf(spec));
  FailureOr<AnchorForm> form = describeAnchor(text);
  auto matmul = dyn_cast<dl::MatmulOp>(spec.anchorOp());
  if (failed(form) || failed(addStore(text, *form, matmul ? "store" : "finish")))
    return failure();
  tile.addConstants(text, split);
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
