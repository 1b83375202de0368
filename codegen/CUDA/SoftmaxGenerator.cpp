//===- SoftmaxGenerator.cpp - cross entropy, its gradient, accuracy: a warp a row -------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/DLLossOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128, rowsPerBlock = threads / 32;

namespace {
class SoftmaxGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-softmax"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

static Value labelOf(Operation *op) {
  if (auto backward = dyn_cast<dl::SoftmaxCrossEntropyBackwardOp>(op))
    return backward.getLabel();
  return op->getOperand(1);
}

SmallVector<Candidate> SoftmaxGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Softmax)
    return {};
  int64_t rows = cast<RankedTensorType>(labelOf(spec.anchorOp()).getType()).getNumElements();
  if (rows == 0)
    return {};
  Candidate candidate;
  candidate.schedule = "softmax";
  candidate.phases.push_back({blocksFor(rows, rowsPerBlock), 0});
  candidate.cost = gpuSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

FailureOr<KernelText> SoftmaxGenerator::write(const KernelSpec &spec,
                                              const Candidate &candidate) const {
  KernelText text(spec, skeletonsOf(spec));
  FailureOr<AnchorForm> form = describeAnchor(text);
  if (failed(form) || failed(addStore(text, *form, "store")))
    return failure();
  text.constant("THREADS", threads);
  StringRef skeleton = isa<dl::SoftmaxCrossEntropyOp>(spec.anchorOp()) ? "crossEntropy"
                       : isa<dl::AccuracyOp>(spec.anchorOp())          ? "accuracy"
                                                                       : "crossEntropyBackward";
  text.phase(threads, skeleton);
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaSoftmaxGenerator() {
  return std::make_unique<SoftmaxGenerator>();
}
