//===- WindowGenerator.cpp - pooling and its gradients ----------------------------------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128, perThread = 4;

namespace {
class WindowGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-window"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

SmallVector<Candidate> WindowGenerator::schedules(const KernelSpec &spec,
                                                  const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Window)
    return {};
  auto type = cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType());
  if (type.getNumElements() == 0)
    return {};
  Candidate candidate;
  candidate.schedule = "window";
  candidate.phases.push_back({blocksFor(type.getNumElements(), threads * perThread), 0});
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

/// Whether the larger of the anchor's tensors, the one of pixels under the windows, is stored with
/// its channels innermost.
static bool isChannelsLast(const KernelSpec &spec) {
  Operation *op = spec.anchorOp();
  if (cast<dl::WindowOp>(op).isBackward())
    return program::LayoutAttr::isChannelsLast(spec.resultTypes().front());
  std::optional<unsigned> x = storedOperand(op->getOperand(0));
  return x && program::LayoutAttr::isChannelsLast(spec.operandTypes()[*x]);
}

static FailureOr<AnchorForm> describeWindow(KernelText &text, dl::WindowOp op) {
  const dl::WindowGeometry g = op.getGeometry();
  const bool backward = op.isBackward();
  int64_t images = g.batch * g.channels;
  text.constant("IMAGES", images);
  addAxes(text, g);
  SmallVector<int64_t> input = {images}, output = {images};
  llvm::append_range(input, g.ofThreeAxes(&dl::WindowAxis::input));
  llvm::append_range(output, g.ofThreeAxes(&dl::WindowAxis::output));
  auto average = dyn_cast<dl::AveragePoolOp>(*op);
  auto averageBackward = dyn_cast<dl::AveragePoolBackwardOp>(*op);
  if (average || averageBackward)
    text.flag("COUNT_PADDING",
              average ? average.getCountIncludePad() : averageBackward.getCountIncludePad());
  if (failed(setAnchorType(text, getElementTypeOrSelf(op->getResult(0)))))
    return failure();
  StringRef first = backward ? "dy" : "x";
  if (failed(addAccessor(text, first, op->getOperand(0), backward ? output : input,
                         {"i", "d", "h", "w"})))
    return failure();
  if (op->getNumOperands() > 1 &&
      failed(addAccessor(text, "index", op->getOperand(1), output, {"i", "o", "p", "q"})))
    return failure();
  // The skeleton's function has the op's name: max_pool_backward is maxPoolBackward.
  return AnchorForm{backward ? input : output,
                    {"i", "d", "h", "w"},
                    getElementTypeOrSelf(op->getResult(0)),
                    llvm::convertToCamelFromSnakeCase(op->getName().stripDialect())};
}

FailureOr<KernelText> WindowGenerator::write(const KernelSpec &spec,
                                             const Candidate &candidate) const {
  KernelText text(spec, {"axis", "window"});
  FailureOr<AnchorForm> form = describeWindow(text, cast<dl::WindowOp>(spec.anchorOp()));
  if (failed(form) || failed(addStore(text, *form, "store")))
    return failure();
  text.constant("THREADS", threads);
  text.constant("PER_THREAD", perThread);
  text.constant("ELEMENTS", product(form->space));
  auto shape = cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType()).getShape();
  text.constant("INNER", isChannelsLast(spec) ? shape[1] : 1);
  static constexpr StringRef sizes[] = {"SIZE_D", "SIZE_H", "SIZE_W"};
  for (auto [name, size] : llvm::zip_equal(sizes, ArrayRef<int64_t>(form->space).drop_front()))
    text.constant(name, size);
  std::string element = "    auto v = " + form->function + "(*this, i, d, h, w);\n";
  std::string values = "v";
  if (isa<dl::MaxPoolOp>(spec.anchorOp()))
    values = spec.anchorOp()->getNumResults() == 2 ? "v.value, v.tap" : "v.value";
  text.members("  __device__ void element(int i, int d, int h, int w) const {\n" + element +
               "    store(i, d, h, w, " + values + ");\n  }\n");
  text.phase(threads, "window");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaWindowGenerator() {
  return std::make_unique<WindowGenerator>();
}
