//===- AttentionGenerator.cpp - attention and its gradients: a block some queries or keys
//---------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "dialects/DL/Facts/AttentionForm.h"
#include "dialects/DL/Ops/DLAttentionOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

/// As attention.cuh has them.
static const uint32_t threads = 256;
static const int64_t tile = 32;

namespace {
class AttentionGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-attention"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

SmallVector<Candidate> AttentionGenerator::schedules(const KernelSpec &spec,
                                                     const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Attention)
    return {};
  dl::AttentionForm form = dl::AttentionForm::get(spec.anchorOp());
  if (!getElementTypeOrSelf(form.q).isF32() || form.heads * form.queries == 0)
    return {};
  Candidate candidate;
  candidate.schedule = "attention";
  const bool backward = isa<dl::AttentionBackwardOp>(spec.anchorOp());
  if (backward)
    candidate.phases.push_back({uint64_t(form.heads * blocksFor(form.keys, tile)), 0});
  candidate.phases.push_back({uint64_t(form.heads * blocksFor(form.queries, tile)), 0});
  candidate.inPlace = false;
  // Backward, both phases compute the scores.
  const double again = backward ? 2 * double(form.scores() * (form.depth + form.width)) : 0;
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), double(spec.flops()) + again,
                                                candidate.phases.size());
  return {candidate};
}

/// name(h, row, column, v) or name(h, row, v): stores an element of the anchor's result, if it is
/// one of the kernel's. Fails if that does not lie row-major.
static LogicalResult addAttentionStore(KernelText &text, StringRef name, Value result) {
  const KernelSpec &spec = text.spec;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(result.getType()).getShape();
  std::string store;
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    if (spec.result(number) != result)
      continue;
    if (!program::PhysicalLayout::get(type).rowMajor)
      return failure();
    std::string place = llvm::formatv("h * {0} + i", shape[2]);
    if (shape.size() == 4)
      place = llvm::formatv("({0}) * {1} + e", place, shape[3]);
    store += llvm::formatv(" {0}[{1}] = v;", bufferName(spec, spec.operandTypes().size() + number),
                           place);
  }
  text.members(llvm::formatv("  __device__ void {0}(int h, int i, {1}float v) const {{{2} }\n",
                             name, shape.size() == 4 ? "int e, " : "", store)
                   .str());
  return success();
}

/// Sizes and operands.
static LogicalResult describeAttention(KernelText &text, Operation *op) {
  const dl::AttentionForm form = dl::AttentionForm::get(op);
  const bool adds = form.mask && !getElementTypeOrSelf(form.mask).isInteger(1);
  for (auto [name, size] : {std::pair("HEADS", form.heads),
                            {"QUERIES", form.queries},
                            {"KEYS", form.keys},
                            {"DEPTH", form.depth},
                            {"WIDTH", form.width},
                            {"MASK", int64_t(adds        ? 2
                                             : form.mask ? 1
                                                         : 0)}})
    text.constant(name, size);
  text.flag("CAUSAL", form.causal);
  text.flag("KEPT", bool(form.kept));
  for (auto [name, number] : {std::pair("SCALE", form.scale), {"KEPT_FACTOR", form.keptFactor}})
    text.members(llvm::formatv("  static constexpr float {0} = {1};\n", name,
                               literalText(number, /*single=*/true))
                     .str());
  const SmallVector<int64_t> ofQueries = {form.heads, form.queries, form.depth},
                             outputs = {form.heads, form.queries, form.width},
                             ofKeys = {form.heads, form.keys, form.depth},
                             values = {form.heads, form.keys, form.width},
                             scores = {form.heads, form.queries, form.keys},
                             rows = {form.heads, form.queries};
  if (failed(addAccessor(text, "q", form.q, ofQueries, {"h", "i", "d"})) ||
      failed(addAccessor(text, "k", form.k, ofKeys, {"h", "j", "d"})) ||
      failed(addAccessor(text, "v", form.v, values, {"h", "j", "e"})) ||
      (form.mask && failed(addAccessor(text, "mask", form.mask, scores, {"h", "i", "j"}))) ||
      (form.kept && failed(addAccessor(text, "kept", form.kept, scores, {"h", "i", "j"}))))
    return failure();
  if (auto backward = dyn_cast<dl::AttentionBackwardOp>(op);
      backward &&
      (failed(addAccessor(text, "dout", backward.getDout(), outputs, {"h", "i", "e"})) ||
       failed(addAccessor(text, "lse", backward.getLse(), rows, {"h", "i"})) ||
       failed(addAccessor(text, "delta", backward.getDelta(), rows, {"h", "i"}))))
    return failure();
  return success();
}

FailureOr<KernelText> AttentionGenerator::write(const KernelSpec &spec,
                                                const Candidate &candidate) const {
  KernelText text(spec, {"attention"});
  for (Value result : spec.block().back().getOperands())
    if (!spec.anchorResult(result))
      return failure();
  Operation *op = spec.anchorOp();
  if (failed(describeAttention(text, op)))
    return failure();
  const bool backward = isa<dl::AttentionBackwardOp>(op);
  static constexpr StringRef forwardStores[] = {"storeO", "storeLse"};
  static constexpr StringRef backwardStores[] = {"storeDq", "storeDk", "storeDv"};
  for (auto [name, result] : llvm::zip_equal(
           backward ? ArrayRef(backwardStores) : ArrayRef(forwardStores), op->getResults()))
    if (failed(addAttentionStore(text, name, result)))
      return failure();
  if (backward) {
    text.phase(threads, "attentionKeys");
    text.phase(threads, "attentionQueries");
  } else {
    text.phase(threads, "attention");
  }
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaAttentionGenerator() {
  return std::make_unique<AttentionGenerator>();
}
