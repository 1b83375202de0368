//===- SampleGradientGenerator.cpp - gradients of images that were read at places -------------===//
//
//   dx[n, c, h, w] = sum of dy[n, c, p, q] times the share of pixel (h, w), over all p and q
//
// A task has a channel of an image: it clears that and then adds each dy to the pixels that were
// read. So no two tasks write to one place, and the order is that of the definition, which looks at
// all places for each pixel. Last bits may differ from its: there a place and its distance from a
// pixel are rounded once.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "codegen/Kernel/PlainLoops.h"
#include "dialects/DL/Builders/Sampler.h"
#include "dialects/DL/Ops/DLSampleOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class SampleGradientGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-sample-gradient"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};
} // namespace

/// Null where the generator does not take it: sums of 16-bit floats are of f32.
static dl::GridSampleBackwardImageOp gradientOf(const KernelSpec &spec) {
  auto op = dyn_cast_or_null<dl::GridSampleBackwardImageOp>(spec.anchorOp());
  const bool takes = op && spec.resultTypes().size() == 1 && spec.result(0) == op.getDx() &&
                     program::PhysicalLayout::get(spec.resultTypes()[0]).rowMajor &&
                     !isSmallFloat(getElementTypeOrSelf(op.getDx())) &&
                     spec.resultTypes()[0].getNumElements() != 0;
  return takes ? op : nullptr;
}

SmallVector<Candidate> SampleGradientGenerator::candidates(const KernelSpec &spec,
                                                           const CpuTarget &target) const {
  dl::GridSampleBackwardImageOp op = gradientOf(spec);
  if (!op)
    return {};
  ArrayRef<int64_t> shape = op.getDx().getType().getShape();
  Candidate candidate;
  candidate.schedule = "a channel a task";
  candidate.phases = {{uint64_t(shape[0] * shape[1]), 0}};
  candidate.inPlace = false;
  candidate.cost = double(spec.flops() + spec.bytes()) / target.machine.scalarOperationsPerSecond;
  return {candidate};
}

LogicalResult SampleGradientGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                            const CpuTarget &target, StringRef symbol,
                                            ModuleOp module) const {
  dl::GridSampleBackwardImageOp op = gradientOf(spec);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  CodeEmitter &e = kernel.e;
  const auto form = dl::SampleForm::get(op, op.getDx());
  const int64_t channels = op.getDx().getType().getDimSize(1), pixels = form.height * form.width;
  Value n = e.div(kernel.task, channels), c = e.rem(kernel.task, channels);
  Value first = e.mul(kernel.task, pixels), base = kernel.result(0);
  const Type element = getElementTypeOrSelf(op.getDx());
  const PlainFunction function{
      spec, e, [&](BodyEmitter::AnchorValue anchor) { return kernel.body(std::move(anchor)); }};
  e.loop(pixels, [&](Value i) { e.store(e.number(0, element), base, e.add(first, i)); });
  ArrayRef<int64_t> places = op.getDy().getType().getShape().drop_front(2);
  e.nest(places, 1, {}, [&](ArrayRef<Value> at, ValueRange) -> SmallVector<Value> {
    std::unique_ptr<dl::PointBuilder> point = plainPoint(function, {n, c, at[0], at[1]});
    Value dy = point->read(op.getDy(), point->at);
    for (const auto &pixel : dl::sampledPixels(*point, form, n, at[0], at[1]).pixels)
      e.when(pixel.inside, [&] {
        Value share = point->multiplyFloats(pixel.shareH, pixel.shareW);
        Value place = e.add(first, e.add(e.mul(pixel.h, form.width), pixel.w));
        Value isRead = point->compareFloats(arith::CmpFPredicate::OGT, share, e.number(0, element));
        Value part = point->orZero(isRead, point->multiplyFloats(share, dy));
        e.store(point->addFloats(e.load(base, place, element), part), base, place);
      });
    return {};
  });
  kernel.finish();
  return success();
}

std::unique_ptr<CpuGenerator> codegen::createSampleGradientGenerator() {
  return std::make_unique<SampleGradientGenerator>();
}
