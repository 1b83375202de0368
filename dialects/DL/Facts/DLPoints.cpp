//===- DLPoints.cpp - the definitions of anchors, an element at a time ------------------------===//
//
// The loops of last resort of every target: right, and as slow as they may be. A target's own
// generators run in their place where they take an anchor.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/Sampler.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLSampleOps.h"
#include <limits>

using namespace mlir;
using namespace dlc::dl;

using Indices = PointBuilder::Indices;
using Place = PointBuilder::Place;

//===------------------------------------------------------------------------------------------===//
// Reductions and products
//===------------------------------------------------------------------------------------------===//

/// The extents that a reduction combines.
static SmallVector<int64_t> reducedExtents(ReductionOp op) {
  auto type = cast<RankedTensorType>(op.getReduced().getType());
  return llvm::map_to_vector(op.getReducedAxes(),
                             [&](int64_t axis) { return type.getDimSize(axis); });
}

/// The element at these indices of them.
static Value reducedElement(PointBuilder &e, ReductionOp op, ArrayRef<Value> reduced) {
  Indices indices;
  auto kept = e.at.begin();
  for (int64_t axis = 0, r = 0; axis < cast<RankedTensorType>(op.getReduced().getType()).getRank();
       ++axis)
    indices.push_back(llvm::is_contained(op.getReducedAxes(), axis) ? reduced[r++] : *kept++);
  return e.read(op.getReduced(), indices);
}

static Value combine(PointBuilder &e, ReduceKind kind, bool isUnsigned, Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  auto pick = [&]<typename Float, typename Signed, typename Unsigned>() -> Value {
    if (isFloat)
      return Float::create(e.b, e.loc, a, b);
    if (isUnsigned)
      return Unsigned::create(e.b, e.loc, a, b);
    return Signed::create(e.b, e.loc, a, b);
  };
  switch (kind) {
  case ReduceKind::Sum:
    return pick.operator()<arith::AddFOp, arith::AddIOp, arith::AddIOp>();
  case ReduceKind::Max:
    return pick.operator()<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>();
  case ReduceKind::Min:
    return pick.operator()<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>();
  }
  llvm_unreachable("all kinds are listed");
}

Value ReduceOp::emitPoint(PointBuilder &e, unsigned) {
  auto type = cast<RankedTensorType>(getX().getType());
  SmallVector<int64_t> extents = reducedExtents(*this);
  auto element = [&](ArrayRef<Value> reduced) { return reducedElement(e, *this, reduced); };
  bool isUnsigned = type.getElementType().isUnsignedInteger();
  if (getKind() == ReduceKind::Sum && isa<FloatType>(type.getElementType()))
    return e.sum(extents, e.elementOf(getX()), element);
  Value init;
  if (getKind() == ReduceKind::Sum) {
    init = e.number(0, e.b.getIntegerType(type.getElementTypeBitWidth()));
  } else {
    // Never empty: the first element, which is then met again.
    init = element(SmallVector<Value>(extents.size(), e.constant(0)));
  }
  return e.loops(extents, init, [&](ArrayRef<Value> reduced, ValueRange total) {
    return SmallVector<Value>{combine(e, getKind(), isUnsigned, total[0], element(reduced))};
  })[0];
}

/// The mean, and then for m2 the elements once more.
Value MomentsOp::emitPoint(PointBuilder &e, unsigned result) {
  Type type = e.elementOf(getX());
  SmallVector<int64_t> extents = reducedExtents(*this);
  Value total =
      e.sum(extents, type, [&](ArrayRef<Value> i) { return reducedElement(e, *this, i); });
  Value count = e.number(double(getCount()), type);
  Value mean = e.divideFloats(total, count);
  if (result == 0)
    return mean;
  return e.sum(extents, type, [&](ArrayRef<Value> i) {
    Value difference = e.subtractFloats(reducedElement(e, *this, i), mean);
    return e.multiplyFloats(difference, difference);
  });
}

Value MatmulOp::emitPoint(PointBuilder &e, unsigned) {
  auto a = cast<RankedTensorType>(getA().getType());
  int64_t rank = a.getRank();
  int64_t depth = a.getDimSize(getTransposeA() ? rank - 2 : rank - 1);
  Indices batch(e.at.begin(), e.at.end() - 2);
  return e.sum(depth, e.elementOf(getA()), [&](ArrayRef<Value> k) {
    Indices left = batch, right = batch;
    left.append({e.at[rank - 2], k[0]});
    right.append({k[0], e.at[rank - 1]});
    if (getTransposeA())
      std::swap(left[rank - 2], left[rank - 1]);
    if (getTransposeB())
      std::swap(right[rank - 2], right[rank - 1]);
    return e.multiplyFloats(e.read(getA(), left), e.read(getB(), right));
  });
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

static SmallVector<int64_t> kernelOf(const WindowGeometry &g) {
  return llvm::map_to_vector(g.axes, [](const WindowAxis &axis) { return axis.kernel; });
}

static SmallVector<int64_t> outputOf(const WindowGeometry &g) {
  return llvm::map_to_vector(g.axes, [](const WindowAxis &axis) { return axis.output; });
}

Value ConvolutionOp::emitPoint(PointBuilder &e, unsigned) {
  ConvolutionGeometry g = getGeometry();
  int64_t inGroup = g.channels / g.groups, outGroup = g.filters / g.groups;
  SmallVector<int64_t> extents{inGroup};
  extents.append(kernelOf(g));
  Value firstChannel = e.mul(e.div(e.at[1], outGroup), inGroup);
  return e.sum(extents, e.elementOf(getY()), [&](ArrayRef<Value> i) {
    Place x = e.inputPlace(g, {e.at[0], e.add(firstChannel, i[0])}, e.pixels(), i.drop_front());
    Indices w{e.at[1]};
    w.append(i.begin(), i.end());
    return e.orZero(x.inside, e.multiplyFloats(e.read(getX(), x.indices), e.read(getW(), w)));
  });
}

Value ConvolutionBackwardDataOp::emitPoint(PointBuilder &e, unsigned) {
  ConvolutionGeometry g = getGeometry();
  int64_t inGroup = g.channels / g.groups, outGroup = g.filters / g.groups;
  SmallVector<int64_t> extents{outGroup};
  extents.append(kernelOf(g));
  Value firstFilter = e.mul(e.div(e.at[1], inGroup), outGroup);
  return e.sum(extents, e.elementOf(getDx()), [&](ArrayRef<Value> i) {
    Value filter = e.add(firstFilter, i[0]);
    Place dy = e.outputPlace(g, {e.at[0], filter}, e.pixels(), i.drop_front());
    Indices w{filter, e.rem(e.at[1], inGroup)};
    w.append(i.begin() + 1, i.end());
    return e.orZero(dy.inside, e.multiplyFloats(e.read(getDy(), dy.indices), e.read(getW(), w)));
  });
}

Value ConvolutionBackwardFilterOp::emitPoint(PointBuilder &e, unsigned) {
  ConvolutionGeometry g = getGeometry();
  int64_t inGroup = g.channels / g.groups, outGroup = g.filters / g.groups;
  SmallVector<int64_t> extents{g.batch};
  extents.append(outputOf(g));
  Value channel = e.add(e.mul(e.div(e.at[0], outGroup), inGroup), e.at[1]);
  return e.sum(extents, e.elementOf(getDw()), [&](ArrayRef<Value> i) {
    Place x = e.inputPlace(g, {i[0], channel}, i.drop_front(), e.pixels());
    Indices dy{i[0], e.at[0]};
    dy.append(i.begin() + 1, i.end());
    return e.orZero(x.inside, e.multiplyFloats(e.read(getX(), x.indices), e.read(getDy(), dy)));
  });
}

//===------------------------------------------------------------------------------------------===//
// Windows
//===------------------------------------------------------------------------------------------===//

static Value tapNumber(PointBuilder &e, const WindowGeometry &g, ArrayRef<Value> taps) {
  Value number = e.constant(0);
  for (auto [axis, tap] : llvm::zip_equal(g.axes, taps))
    number = e.add(e.mul(number, axis.kernel), tap);
  return number;
}

Value MaxPoolOp::emitPoint(PointBuilder &e, unsigned result) {
  using F = PointBuilder::FloatPredicate;
  WindowGeometry g = getGeometry();
  double lowest = -std::numeric_limits<double>::infinity();
  Type type = e.elementOf(getY());
  SmallVector<Value> init{e.number(lowest, type), e.constant(-1)};
  SmallVector<Value> best = e.loops(kernelOf(g), init, [&](ArrayRef<Value> taps, ValueRange best) {
    Place at = e.inputPlace(g, e.image(), e.pixels(), taps);
    Value x = e.read(getX(), at.indices);
    Value nan = e.both(e.compareFloats(F::UNO, x, x), e.compareFloats(F::ORD, best[0], best[0]));
    Value none = e.less(best[1], e.constant(0));
    Value take = arith::OrIOp::create(e.b, e.loc, nan, e.compareFloats(F::OGT, x, best[0]));
    take = e.both(at.inside, arith::OrIOp::create(e.b, e.loc, take, none));
    return SmallVector<Value>{e.select(take, x, best[0]),
                              e.select(take, tapNumber(e, g, taps), best[1])};
  });
  Value winner = e.maximum(best[1], e.constant(0));
  return result == 1 ? arith::TruncIOp::create(e.b, e.loc, e.b.getI8Type(), winner).getResult()
                     : best[0];
}

Value MaxPoolBackwardOp::emitPoint(PointBuilder &e, unsigned) {
  WindowGeometry g = getGeometry();
  return e.sum(kernelOf(g), e.elementOf(getDx()), [&](ArrayRef<Value> taps) {
    Place dy = e.outputPlace(g, e.image(), e.pixels(), taps);
    Value winner = e.read(getIndex(), dy.indices);
    Value tap = arith::TruncIOp::create(e.b, e.loc, e.b.getI8Type(), tapNumber(e, g, taps));
    Value hit = e.equal(winner, tap);
    return e.orZero(e.both(dy.inside, hit), e.read(getDy(), dy.indices));
  });
}

Value MaxPoolGatherOp::emitPoint(PointBuilder &e, unsigned) {
  WindowGeometry g = getGeometry();
  Value winner = arith::ExtUIOp::create(e.b, e.loc, e.b.getI64Type(), e.read(getIndex(), e.at));
  Place x = e.inputPlace(g, e.image(), e.pixels(), e.delinearize(winner, kernelOf(g)));
  return e.orZero(x.inside, e.read(getX(), x.indices));
}

/// Elements that count in the window at `output`.
static Value averageCount(PointBuilder &e, const WindowGeometry &g, ArrayRef<Value> output,
                          bool padding, Type type) {
  WindowGeometry counted = g;
  // With padding: as if the input were larger by it at the high side; before it, all taps count.
  for (WindowAxis &axis : counted.axes)
    if (padding) {
      axis.input += axis.low + axis.high;
      axis.low = 0;
    }
  return e.sum(kernelOf(g), type, [&](ArrayRef<Value> taps) {
    Place at = e.inputPlace(counted, {}, output, taps);
    return arith::UIToFPOp::create(e.b, e.loc, type, at.inside);
  });
}

Value AveragePoolOp::emitPoint(PointBuilder &e, unsigned) {
  WindowGeometry g = getGeometry();
  Type type = e.elementOf(getY());
  Value total = e.sum(kernelOf(g), type, [&](ArrayRef<Value> taps) {
    Place x = e.inputPlace(g, e.image(), e.pixels(), taps);
    return e.orZero(x.inside, e.read(getX(), x.indices));
  });
  Value count = averageCount(e, g, e.pixels(), getCountIncludePad(), type);
  return e.divideFloats(total, count);
}

Value AveragePoolBackwardOp::emitPoint(PointBuilder &e, unsigned) {
  WindowGeometry g = getGeometry();
  Type type = e.elementOf(getDx());
  return e.sum(kernelOf(g), type, [&](ArrayRef<Value> taps) {
    Place dy = e.outputPlace(g, e.image(), e.pixels(), taps);
    Value count =
        averageCount(e, g, ArrayRef<Value>(dy.indices).drop_front(2), getCountIncludePad(), type);
    Value share = e.divideFloats(e.read(getDy(), dy.indices), count);
    return e.orZero(dy.inside, share);
  });
}

Value SlidingSumOp::emitPoint(PointBuilder &e, unsigned) {
  auto shape = cast<RankedTensorType>(getX().getType()).getShape();
  return e.sum({getSize()}, e.elementOf(getY()), [&](ArrayRef<Value> number) {
    Place x{Indices(ArrayRef(e.at).take_front(getAxis())), e.yes()};
    e.place(x, e.sub(e.add(e.at[getAxis()], number[0]), e.constant(getBefore())), shape[getAxis()]);
    llvm::append_range(x.indices, ArrayRef(e.at).drop_front(getAxis() + 1));
    return e.orZero(x.inside, e.read(getX(), x.indices));
  });
}

//===------------------------------------------------------------------------------------------===//
// Scatter
//===------------------------------------------------------------------------------------------===//

/// All numbers are looked at, and the values of one.
Value ScatterAddOp::emitPoint(PointBuilder &e, unsigned) {
  ArrayRef<int64_t> counts = cast<RankedTensorType>(getIndex().getType()).getShape();
  Value own = e.at[getAxis()], zero = e.number(0, e.elementOf(getY()));
  return e.loops(counts, zero, [&](ArrayRef<Value> j, ValueRange total) {
    Value number = e.numberAt(getIndex(), j);
    Value added = e.valueWhen(e.equal(number, own), total[0], [&]() -> Value {
      Indices from(ArrayRef(e.at).take_front(getAxis()));
      from.append(j.begin(), j.end());
      llvm::append_range(from, ArrayRef(e.at).drop_front(getAxis() + 1));
      Value value = e.read(getValues(), from);
      return isa<FloatType>(value.getType())
                 ? e.addFloats(total[0], value)
                 : arith::AddIOp::create(e.b, e.loc, total[0], value).getResult();
    });
    return SmallVector<Value>{added};
  })[0];
}

/// Of the first place of a number: it, or the sum over all its places. All are looked at.
Value SumRowsOp::emitPoint(PointBuilder &e, unsigned result) {
  ArrayRef<int64_t> counts = cast<RankedTensorType>(getIndex().getType()).getShape();
  const ArrayRef<Value> place = ArrayRef(e.at).take_front(counts.size());
  Value own = e.numberAt(getIndex(), place), none = e.constant(-1), zero = e.constant(0);
  auto linearOf = [&](ArrayRef<Value> j) {
    Value result = zero;
    for (auto [index, count] : llvm::zip_equal(j, counts))
      result = e.add(e.mul(result, count), index);
    return result;
  };
  // How many places in front of this one have its number.
  Value linear = linearOf(place);
  Value before = e.loops(counts, zero, [&](ArrayRef<Value> j, ValueRange found) {
    Value isBefore = e.both(e.less(linearOf(j), linear), e.equal(e.numberAt(getIndex(), j), own));
    return SmallVector<Value>{e.select(isBefore, e.add(found[0], 1), found[0])};
  })[0];
  Value isInside = e.both(e.less(none, own), e.less(own, e.constant(getExtent())));
  Value isFirst = e.both(isInside, e.equal(before, zero));
  if (result == 1) {
    Value wide = e.select(isFirst, own, none);
    Type element = e.elementOf(getNumbers());
    return element.isInteger(64) ? wide
                                 : arith::TruncIOp::create(e.b, e.loc, element, wide).getResult();
  }
  Value start = e.number(0, e.elementOf(getRows()));
  return e.loops(counts, start, [&](ArrayRef<Value> j, ValueRange total) {
    Value isSame = e.both(isFirst, e.equal(e.numberAt(getIndex(), j), own));
    return SmallVector<Value>{e.valueWhen(isSame, total[0], [&]() -> Value {
      Indices from(j.begin(), j.end());
      llvm::append_range(from, ArrayRef(e.at).drop_front(counts.size()));
      return e.addFloats(total[0], e.read(getValues(), from));
    })};
  })[0];
}

//===------------------------------------------------------------------------------------------===//
// Samples
//===------------------------------------------------------------------------------------------===//

Value GridSampleOp::emitPoint(PointBuilder &e, unsigned) {
  const auto form = SampleForm::get(*this, getX());
  Value total = e.number(0, e.elementOf(getX()));
  for (const auto &pixel : sampledPixels(e, form, e.at[0], e.at[2], e.at[3]).pixels) {
    Value x = e.read(getX(), {e.at[0], e.at[1], pixel.h, pixel.w});
    Value part = e.multiplyFloats(e.multiplyFloats(pixel.shareH, pixel.shareW), x);
    total = e.addFloats(total, e.orZero(pixel.inside, part));
  }
  return total;
}

/// All places are looked at.
Value GridSampleBackwardImageOp::emitPoint(PointBuilder &e, unsigned) {
  const auto form = SampleForm::get(*this, getDx());
  Type type = e.elementOf(getDx());
  return e.sum(getDy().getType().getShape().drop_front(2), type, [&](ArrayRef<Value> at) {
    Value share = sampledShare(e, form, e.at[0], at[0], at[1], e.at[2], e.at[3]);
    Value dy = e.read(getDy(), {e.at[0], e.at[1], at[0], at[1]});
    // What is not finite reaches the pixels that were read, and no others.
    Value isRead = e.compareFloats(PointBuilder::FloatPredicate::OGT, share, e.number(0, type));
    return e.orZero(isRead, e.multiplyFloats(share, dy));
  });
}

Value GridSampleBackwardGridOp::emitPoint(PointBuilder &e, unsigned) {
  Type type = e.elementOf(getDgrid());
  if (getNearest())
    return e.number(0, type);
  const SampledPixels read =
      sampledPixels(e, SampleForm::get(*this, getX()), e.at[0], e.at[1], e.at[2]);
  const SmallVector<Value> none(2, e.number(0, type));
  // The slopes along H and W: along one axis the pixels' difference, along the other their shares.
  SmallVector<Value> slopes =
      e.loops(getX().getType().getDimSize(1), none, [&](ArrayRef<Value> c, ValueRange total) {
        Value dy = e.read(getDy(), {e.at[0], c[0], e.at[1], e.at[2]});
        SmallVector<Value> sums = llvm::to_vector(total);
        auto add = [&](Value &sum, bool isSecond, Value part) {
          sum = isSecond ? e.addFloats(sum, part) : e.subtractFloats(sum, part);
        };
        for (const auto &pixel : read.pixels) {
          Value part = e.multiplyFloats(dy, e.read(getX(), {e.at[0], c[0], pixel.h, pixel.w}));
          Value ofH = e.multiplyFloats(part, pixel.shareW);
          Value ofW = e.multiplyFloats(part, pixel.shareH);
          add(sums[0], pixel.isSecondH, e.orZero(pixel.inside, ofH));
          add(sums[1], pixel.isSecondW, e.orZero(pixel.inside, ofW));
        }
        return sums;
      });
  Value alongH = e.multiplyFloats(slopes[0], read.slopeH);
  Value alongW = e.multiplyFloats(slopes[1], read.slopeW);
  return e.select(e.equal(e.at[3], e.constant(0)), alongW, alongH);
}
