//===- SlidingSumGenerator.cpp - sums of neighbours -------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "dialects/DL/Ops/DLPoolingOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128;

namespace {
class SlidingSumGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-sliding-sum"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

/// Elements of the axis that a thread takes: all, where the others are enough to fill a GPU. What
/// it computes beside its own, for the first of its sums, is a quarter at most.
static int64_t pieceOf(dl::SlidingSumOp op) {
  const int64_t enoughThreads = 1 << 16;
  const auto [outer, extent, inner] = op.getExtents();
  const int64_t most = std::max<int64_t>(extent / (4 * op.getSize()), 1);
  const int64_t pieces = std::clamp<int64_t>(enoughThreads / (outer * inner), 1, most);
  return llvm::divideCeil(extent, pieces);
}

SmallVector<Candidate> SlidingSumGenerator::schedules(const KernelSpec &spec,
                                                      const CudaTarget &target) const {
  const int64_t mostInRegisters = 32;
  if (spec.anchor() != Anchor::SlidingSum)
    return {};
  auto op = cast<dl::SlidingSumOp>(spec.anchorOp());
  if (op.getType().getNumElements() == 0 || op.getSize() > mostInRegisters)
    return {};
  const auto [outer, extent, inner] = op.getExtents();
  Candidate candidate;
  candidate.schedule = "sliding sum";
  const int64_t pieces = llvm::divideCeil(extent, pieceOf(op));
  candidate.phases.push_back({blocksFor(outer * pieces * inner, threads), 0});
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

static FailureOr<AnchorForm> describeSums(KernelText &text, dl::SlidingSumOp op) {
  const auto [outer, extent, inner] = op.getExtents();
  for (auto [name, size] : {std::pair("OUTER", outer),
                            {"EXTENT", extent},
                            {"INNER", inner},
                            {"BEFORE", int64_t(op.getBefore())},
                            {"AFTER", int64_t(op.getAfter())}})
    text.constant(name, size);
  const SmallVector<int64_t> space = {outer, extent, inner};
  const SmallVector<StringRef> axes = {"o", "c", "i"};
  if (failed(setAnchorType(text, getElementTypeOrSelf(op.getY()))) ||
      failed(addAccessor(text, "x", op.getX(), space, axes)))
    return failure();
  return AnchorForm{space, axes, getElementTypeOrSelf(op.getY())};
}

FailureOr<KernelText> SlidingSumGenerator::write(const KernelSpec &spec,
                                                 const Candidate &candidate) const {
  KernelText text(spec, {"sliding_sum"});
  auto op = cast<dl::SlidingSumOp>(spec.anchorOp());
  FailureOr<AnchorForm> form = describeSums(text, op);
  if (failed(form) || failed(addStore(text, *form, "store")))
    return failure();
  const int64_t piece = pieceOf(op);
  text.constant("THREADS", threads);
  text.constant("PIECE", piece);
  text.constant("PIECES", llvm::divideCeil(op.getExtents()[1], piece));
  text.phase(threads, "slidingSum");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaSlidingSumGenerator() {
  return std::make_unique<SlidingSumGenerator>();
}
