//===- Window.cpp - plans and taps of windows -------------------------------------------------===//
#include "codegen/CPU/Window/Window.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

std::optional<WindowPlan> WindowPlan::get(const KernelSpec &spec, const CpuTarget &target) {
  Operation *op = spec.anchorOp();
  auto window = cast<dl::WindowOp>(op);
  dl::WindowGeometry geometry = window.getGeometry();
  WindowPlan plan;
  plan.element = Element::of(spec);
  plan.backward = window.isBackward();
  plan.axes = geometry.threeAxes();
  plan.lead = {geometry.batch * geometry.channels};
  if (!followsAnchor(spec) || !resultsBehindAnchor(spec, false).empty() ||
      std::max(plan.axes[2].input, plan.axes[2].output) > mostPlacesOfRow)
    return std::nullopt;
  // Operands and results by the side that they stand on.
  SmallVector<Value> small, large;
  auto results = llvm::to_vector_of<Value>(spec.block().back().getOperands());
  (plan.backward ? large : small).append(results);
  for (Value operand : op->getOperands()) {
    int64_t elements = cast<RankedTensorType>(operand.getType()).getNumElements();
    bool isX = !plan.backward && operand == op->getOperand(0);
    if (elements == 0)
      return std::nullopt;
    (isX ? large : small).push_back(operand);
  }
  auto refine = [&](ArrayRef<Value> roots, int64_t dl::WindowAxis::*side) {
    if (roots.empty())
      return true;
    SmallVector<int64_t> space = plan.space(side);
    auto refined = refineIndexSpace(spec, roots, space);
    if (failed(refined) ||
        ArrayRef<int64_t>(*refined).take_back(3) != ArrayRef<int64_t>(space).take_back(3))
      return false;
    plan.lead.assign(refined->begin(), refined->end() - 3);
    return true;
  };
  if (!refine(small, &dl::WindowAxis::output) || !refine(large, &dl::WindowAxis::input) ||
      !refine(small, &dl::WindowAxis::output))
    return std::nullopt;
  double weight = bodyWeight(spec) + 4.0 * double(geometry.kernelSize());
  if (!plan.backward) {
    plan.walk =
        WalkPlan::get(plan.space(&dl::WindowAxis::output), weight, target, plan.element.bytes());
    plan.walk.unroll = 1;
    return plan;
  }
  plan.tiles = llvm::all_of(plan.axes,
                            [](const dl::WindowAxis &axis) {
                              bool dense = axis.dilation == 1 || axis.kernel == 1;
                              return axis.stride == axis.kernel && dense && axis.low == 0;
                            }) &&
               !plan.hasEdges() && plan.axes[2].kernel <= 8;
  if (plan.tiles) {
    plan.walk = WalkPlan::get(plan.space(&dl::WindowAxis::input), 4, target, plan.element.bytes());
    plan.walk.chunk = plan.axes[2].input;
    plan.tiles = plan.walk.width > 1;
    if (plan.tiles)
      return plan;
  }
  SmallVector<int64_t> planes = plan.lead;
  planes.push_back(plan.planeElements());
  plan.walk = WalkPlan::get(planes, 4, target, plan.element.bytes());
  plan.walk.chunk = plan.planeElements();
  return plan;
}

//===------------------------------------------------------------------------------------------===//
// Taps
//===------------------------------------------------------------------------------------------===//

static Value below(CodeEmitter &e, Value place, int64_t limit) {
  return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt, place,
                               e.number(double(limit), place.getType()));
}
static Value notNegative(CodeEmitter &e, Value place) {
  return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::sge, place,
                               e.number(0, place.getType()));
}

Value WindowEmitter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  if (isa<VectorType>(b.getType()) && !isa<VectorType>(a.getType()))
    a = e.splat(a, lanes);
  return arith::AndIOp::create(e.b, e.loc, a, b);
}

/// The places of all lanes along the last axis, as 32-bit numbers.
Value WindowEmitter::lanePlaces(Value first, int64_t stride) {
  Value narrow = arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), first);
  Value numbers = e.laneNumbers(lanes);
  Value steps =
      arith::MulIOp::create(e.b, e.loc, numbers, e.number(double(stride), numbers.getType()));
  return arith::AddIOp::create(e.b, e.loc, e.splat(narrow, lanes), steps);
}

Tap WindowEmitter::tapAt(ArrayRef<Value> indices) {
  Tap tap;
  tap.number = e.constant(0);
  for (auto [i, axis] : llvm::enumerate(plan.axes)) {
    tap.number = e.add(e.mul(tap.number, axis.kernel), indices[i]);
    Value place = e.add(e.mul(output[i], axis.stride), e.mul(indices[i], axis.dilation));
    place = e.sub(place, e.constant(axis.low));
    if (plan.hasEdge(i)) {
      bool vector = i == 2 && lanes > 1;
      Value places = vector ? lanePlaces(place, axis.stride) : place;
      Value limit = both(notNegative(e, places), below(e, places, axis.input));
      tap.inside = both(tap.inside, limit);
      tap.insidePadded = both(tap.insidePadded, below(e, places, axis.input + axis.high));
      // Memory is touched inside only.
      if (!vector)
        place = e.minimum(e.maximum(place, e.constant(0)), e.constant(axis.input - 1));
    }
    tap.place.push_back(place);
  }
  return tap;
}

SmallVector<Value> WindowEmitter::taps(ValueRange init, TapBody body) {
  const int64_t unroll = 3;
  return e.nest(plan.kernel(), unroll, init, [&](ArrayRef<Value> indices, ValueRange carried) {
    return body(tapAt(indices), carried);
  });
}

Value codegen::countOf(CodeEmitter &e, Value condition, Type type) {
  return condition ? arith::UIToFPOp::create(e.b, e.loc, type, condition).getResult()
                   : e.number(1, type);
}
