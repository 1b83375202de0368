//===- PlainLoops.cpp - see PlainLoops.h ------------------------------------------------------===//
#include "codegen/Kernel/PlainLoops.h"
#include "codegen/Kernel/Address.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

using Indices = SmallVector<Value>;

/// `result`, of the anchor or of a sum beside it, at a scalar point. Null for vectors, and for a
/// transposition, which moves points and has no loops.
Value plainValue(const PlainFunction &function, OpResult result, const Point &point);

/// The spec's values, the anchor's computed wherever they are needed.
BodyEmitter plainBody(const PlainFunction &function) {
  return function.body([&function](unsigned number, const Point &at) {
    return plainValue(function, cast<OpResult>(function.spec.anchorResults()[number]), at);
  });
}

/// One element of the anchor. `at`: its indices.
class PlainLoops {
public:
  PlainLoops(const PlainFunction &function, const Indices &at)
      : function(function), e(function.e), at(at) {}

  Value reduce(dl::ReduceOp op);
  Value moments(dl::MomentsOp op, bool m2);
  Value matmul(dl::MatmulOp op);
  Value convolution(dl::ConvolutionOp op);
  Value convolutionData(dl::ConvolutionBackwardDataOp op);
  Value convolutionFilter(dl::ConvolutionBackwardFilterOp op);
  Value maxPool(dl::MaxPoolOp op, bool index);
  Value maxPoolBackward(dl::MaxPoolBackwardOp op);
  Value maxPoolGather(dl::MaxPoolGatherOp op);
  Value averagePool(dl::AveragePoolOp op);
  Value averagePoolBackward(dl::AveragePoolBackwardOp op);
  Value slidingSum(dl::SlidingSumOp op);
  Value scatterAdd(dl::ScatterAddOp op);
  Value sumRows(dl::SumRowsOp op, bool number);

private:
  /// The number at `place` of an index, as i64.
  Value numberAt(Value index, ArrayRef<Value> place) {
    Value number = read(index, Indices(place));
    return number.getType().isInteger(64)
               ? number
               : arith::ExtSIOp::create(e.b, e.loc, e.b.getI64Type(), number).getResult();
  }
  /// An element as the definitions compute with it: 16-bit floats in f32, so that only the result
  /// is rounded.
  Value read(Value tensor, const Indices &indices) {
    auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
    Point point;
    point.shape.assign(shape.begin(), shape.end());
    point.indices = indices;
    // Sums beside the anchor may need it.
    Value element = plainBody(function).emit(tensor, point);
    return isSmallFloat(element.getType()) ? e.convertFloat(element, elementOf(tensor)) : element;
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(e.b, e.loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(e.b, e.loc, a, b); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(e.b, e.loc, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(e.b, e.loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(e.b, e.loc, condition, a, b);
  }
  Value yes() { return e.number(1, e.b.getI1Type()); }
  Type elementOf(Value tensor) { return accumulatorType(getElementTypeOrSelf(tensor)); }

  /// The extents that a reduction combines, and the element at these indices of them.
  static SmallVector<int64_t> reducedExtents(dl::ReductionOp op) {
    auto type = cast<RankedTensorType>(op.getReduced().getType());
    return llvm::map_to_vector(op.getReducedAxes(),
                               [&](int64_t axis) { return type.getDimSize(axis); });
  }
  Value reducedElement(dl::ReductionOp op, ArrayRef<Value> reduced) {
    Indices indices;
    auto kept = at.begin();
    for (int64_t axis = 0, r = 0;
         axis < cast<RankedTensorType>(op.getReduced().getType()).getRank(); ++axis)
      indices.push_back(llvm::is_contained(op.getReducedAxes(), axis) ? reduced[r++] : *kept++);
    return read(op.getReduced(), indices);
  }

  using Turn = llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)>;
  SmallVector<Value> loops(ArrayRef<int64_t> shape, ValueRange init, Turn turn) {
    return e.nest(shape, 1, init, turn);
  }
  /// Sums `term` over all indices of `shape`.
  Value sum(ArrayRef<int64_t> shape, Type type, llvm::function_ref<Value(ArrayRef<Value>)> term) {
    return loops(shape, e.number(0, type), [&](ArrayRef<Value> i, ValueRange total) {
      return SmallVector<Value>{add(total[0], term(i))};
    })[0];
  }

  /// Indices inside a tensor, and whether they were before clamping.
  struct Place {
    Indices indices;
    Value inside;
  };
  void place(Place &place, Value index, int64_t extent) {
    place.inside = e.both(place.inside, e.less(e.constant(-1), index));
    place.inside = e.both(place.inside, e.less(index, e.constant(extent)));
    index =
        e.minimum(e.maximum(index, e.constant(0)), e.constant(std::max<int64_t>(extent, 1) - 1));
    place.indices.push_back(index);
  }
  /// Input pixels of window `taps` at output pixel `output`, behind `lead`.
  Place inputPlace(const dl::WindowGeometry &g, Indices lead, ArrayRef<Value> output,
                   ArrayRef<Value> taps) {
    Place result{std::move(lead), yes()};
    for (auto [i, axis] : llvm::enumerate(g.axes))
      place(result,
            e.sub(e.add(e.mul(output[i], axis.stride), e.mul(taps[i], axis.dilation)),
                  e.constant(axis.low)),
            axis.input);
    return result;
  }
  /// Output pixels whose tap `taps` is input pixel `input`.
  Place outputPlace(const dl::WindowGeometry &g, Indices lead, ArrayRef<Value> input,
                    ArrayRef<Value> taps) {
    Place result{std::move(lead), yes()};
    for (auto [i, axis] : llvm::enumerate(g.axes)) {
      Value start = e.sub(e.add(input[i], axis.low), e.mul(taps[i], axis.dilation));
      Value step = e.constant(axis.stride);
      Value rest = arith::RemSIOp::create(e.b, e.loc, start, step);
      result.inside = e.both(result.inside, e.equal(rest, e.constant(0)));
      result.inside = e.both(result.inside, e.less(e.constant(-1), start));
      place(result, arith::DivSIOp::create(e.b, e.loc, start, step), axis.output);
    }
    return result;
  }
  Value orZero(Value condition, Value value) {
    return select(condition, value, e.number(0, value.getType()));
  }
  static SmallVector<int64_t> kernelOf(const dl::WindowGeometry &g) {
    return llvm::map_to_vector(g.axes, [](const dl::WindowAxis &axis) { return axis.kernel; });
  }
  static SmallVector<int64_t> outputOf(const dl::WindowGeometry &g) {
    return llvm::map_to_vector(g.axes, [](const dl::WindowAxis &axis) { return axis.output; });
  }
  ArrayRef<Value> pixels() const { return ArrayRef<Value>(at).drop_front(2); }
  Indices image() const { return {at[0], at[1]}; }
  Value tapNumber(const dl::WindowGeometry &g, ArrayRef<Value> taps) {
    Value number = e.constant(0);
    for (auto [axis, tap] : llvm::zip_equal(g.axes, taps))
      number = e.add(e.mul(number, axis.kernel), tap);
    return number;
  }
  Value averageCount(const dl::WindowGeometry &g, ArrayRef<Value> output, bool padding, Type type);

  const PlainFunction &function;
  LoopEmitter &e;
  const Indices &at;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Reductions and products
//===------------------------------------------------------------------------------------------===//

static Value combine(LoopEmitter &e, dl::ReduceKind kind, bool isUnsigned, Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  auto pick = [&]<typename Float, typename Signed, typename Unsigned>() -> Value {
    if (isFloat)
      return Float::create(e.b, e.loc, a, b);
    if (isUnsigned)
      return Unsigned::create(e.b, e.loc, a, b);
    return Signed::create(e.b, e.loc, a, b);
  };
  switch (kind) {
  case dl::ReduceKind::Sum:
    return pick.operator()<arith::AddFOp, arith::AddIOp, arith::AddIOp>();
  case dl::ReduceKind::Max:
    return pick.operator()<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>();
  case dl::ReduceKind::Min:
    return pick.operator()<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>();
  }
  llvm_unreachable("all kinds are listed");
}

Value PlainLoops::reduce(dl::ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  SmallVector<int64_t> extents = reducedExtents(op);
  auto element = [&](ArrayRef<Value> reduced) { return reducedElement(op, reduced); };
  bool isUnsigned = type.getElementType().isUnsignedInteger();
  if (op.getKind() == dl::ReduceKind::Sum && isa<FloatType>(type.getElementType()))
    return sum(extents, elementOf(op.getX()), element);
  Value init;
  if (op.getKind() == dl::ReduceKind::Sum) {
    init = e.number(0, e.b.getIntegerType(type.getElementTypeBitWidth()));
  } else {
    // Never empty: the first element, which is then met again.
    init = element(SmallVector<Value>(extents.size(), e.constant(0)));
  }
  return loops(extents, init, [&](ArrayRef<Value> reduced, ValueRange total) {
    return SmallVector<Value>{combine(e, op.getKind(), isUnsigned, total[0], element(reduced))};
  })[0];
}

/// The mean, and then for m2 the elements once more.
Value PlainLoops::moments(dl::MomentsOp op, bool m2) {
  Type type = elementOf(op.getX());
  SmallVector<int64_t> extents = reducedExtents(op);
  Value total = sum(extents, type, [&](ArrayRef<Value> i) { return reducedElement(op, i); });
  Value count = e.number(double(op.getCount()), type);
  Value mean = arith::DivFOp::create(e.b, e.loc, total, count);
  if (!m2)
    return mean;
  return sum(extents, type, [&](ArrayRef<Value> i) {
    Value difference = arith::SubFOp::create(e.b, e.loc, reducedElement(op, i), mean);
    return mul(difference, difference);
  });
}

Value PlainLoops::matmul(dl::MatmulOp op) {
  auto a = cast<RankedTensorType>(op.getA().getType());
  int64_t rank = a.getRank();
  int64_t depth = a.getDimSize(op.getTransposeA() ? rank - 2 : rank - 1);
  Indices batch(at.begin(), at.end() - 2);
  return sum(depth, elementOf(op.getA()), [&](ArrayRef<Value> k) {
    Indices left = batch, right = batch;
    left.append({at[rank - 2], k[0]});
    right.append({k[0], at[rank - 1]});
    if (op.getTransposeA())
      std::swap(left[rank - 2], left[rank - 1]);
    if (op.getTransposeB())
      std::swap(right[rank - 2], right[rank - 1]);
    return mul(read(op.getA(), left), read(op.getB(), right));
  });
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

Value PlainLoops::convolution(dl::ConvolutionOp op) {
  dl::ConvolutionGeometry g = op.getGeometry();
  int64_t inGroup = g.channels / g.groups, outGroup = g.filters / g.groups;
  SmallVector<int64_t> extents{inGroup};
  extents.append(kernelOf(g));
  Value firstChannel = e.mul(e.div(at[1], outGroup), inGroup);
  return sum(extents, elementOf(op.getY()), [&](ArrayRef<Value> i) {
    Place x = inputPlace(g, {at[0], e.add(firstChannel, i[0])}, pixels(), i.drop_front());
    Indices w{at[1]};
    w.append(i.begin(), i.end());
    return orZero(x.inside, mul(read(op.getX(), x.indices), read(op.getW(), w)));
  });
}

Value PlainLoops::convolutionData(dl::ConvolutionBackwardDataOp op) {
  dl::ConvolutionGeometry g = op.getGeometry();
  int64_t inGroup = g.channels / g.groups, outGroup = g.filters / g.groups;
  SmallVector<int64_t> extents{outGroup};
  extents.append(kernelOf(g));
  Value firstFilter = e.mul(e.div(at[1], inGroup), outGroup);
  return sum(extents, elementOf(op.getDx()), [&](ArrayRef<Value> i) {
    Value filter = e.add(firstFilter, i[0]);
    Place dy = outputPlace(g, {at[0], filter}, pixels(), i.drop_front());
    Indices w{filter, e.rem(at[1], inGroup)};
    w.append(i.begin() + 1, i.end());
    return orZero(dy.inside, mul(read(op.getDy(), dy.indices), read(op.getW(), w)));
  });
}

Value PlainLoops::convolutionFilter(dl::ConvolutionBackwardFilterOp op) {
  dl::ConvolutionGeometry g = op.getGeometry();
  int64_t inGroup = g.channels / g.groups, outGroup = g.filters / g.groups;
  SmallVector<int64_t> extents{g.batch};
  extents.append(outputOf(g));
  Value channel = e.add(e.mul(e.div(at[0], outGroup), inGroup), at[1]);
  return sum(extents, elementOf(op.getDw()), [&](ArrayRef<Value> i) {
    Place x = inputPlace(g, {i[0], channel}, i.drop_front(), pixels());
    Indices dy{i[0], at[0]};
    dy.append(i.begin() + 1, i.end());
    return orZero(x.inside, mul(read(op.getX(), x.indices), read(op.getDy(), dy)));
  });
}

//===------------------------------------------------------------------------------------------===//
// Windows
//===------------------------------------------------------------------------------------------===//

Value PlainLoops::maxPool(dl::MaxPoolOp op, bool index) {
  using F = arith::CmpFPredicate;
  dl::WindowGeometry g = op.getGeometry();
  double lowest = -std::numeric_limits<double>::infinity();
  Type type = elementOf(op.getY());
  SmallVector<Value> init{e.number(lowest, type), e.constant(-1)};
  SmallVector<Value> best = loops(kernelOf(g), init, [&](ArrayRef<Value> taps, ValueRange best) {
    Place at = inputPlace(g, image(), pixels(), taps);
    Value x = read(op.getX(), at.indices);
    Value nan = e.both(compare(F::UNO, x, x), compare(F::ORD, best[0], best[0]));
    Value none = e.less(best[1], e.constant(0));
    Value take = arith::OrIOp::create(e.b, e.loc, nan, compare(F::OGT, x, best[0]));
    take = e.both(at.inside, arith::OrIOp::create(e.b, e.loc, take, none));
    return SmallVector<Value>{select(take, x, best[0]), select(take, tapNumber(g, taps), best[1])};
  });
  Value winner = e.maximum(best[1], e.constant(0));
  return index ? arith::TruncIOp::create(e.b, e.loc, e.b.getI8Type(), winner).getResult() : best[0];
}

Value PlainLoops::maxPoolBackward(dl::MaxPoolBackwardOp op) {
  dl::WindowGeometry g = op.getGeometry();
  return sum(kernelOf(g), elementOf(op.getDx()), [&](ArrayRef<Value> taps) {
    Place dy = outputPlace(g, image(), pixels(), taps);
    Value winner = read(op.getIndex(), dy.indices);
    Value tap = arith::TruncIOp::create(e.b, e.loc, e.b.getI8Type(), tapNumber(g, taps));
    Value hit = compare(arith::CmpIPredicate::eq, winner, tap);
    return orZero(e.both(dy.inside, hit), read(op.getDy(), dy.indices));
  });
}

Value PlainLoops::maxPoolGather(dl::MaxPoolGatherOp op) {
  dl::WindowGeometry g = op.getGeometry();
  Value winner = arith::ExtUIOp::create(e.b, e.loc, e.b.getI64Type(), read(op.getIndex(), at));
  Place x = inputPlace(g, image(), pixels(), e.delinearize(winner, kernelOf(g)));
  return orZero(x.inside, read(op.getX(), x.indices));
}

Value PlainLoops::averageCount(const dl::WindowGeometry &g, ArrayRef<Value> output, bool padding,
                               Type type) {
  dl::WindowGeometry counted = g;
  // With padding: as if the input were larger by it at the high side; before it, all taps count.
  for (dl::WindowAxis &axis : counted.axes)
    if (padding) {
      axis.input += axis.low + axis.high;
      axis.low = 0;
    }
  return sum(kernelOf(g), type, [&](ArrayRef<Value> taps) {
    Place at = inputPlace(counted, {}, output, taps);
    return arith::UIToFPOp::create(e.b, e.loc, type, at.inside);
  });
}

Value PlainLoops::averagePool(dl::AveragePoolOp op) {
  dl::WindowGeometry g = op.getGeometry();
  Type type = elementOf(op.getY());
  Value total = sum(kernelOf(g), type, [&](ArrayRef<Value> taps) {
    Place x = inputPlace(g, image(), pixels(), taps);
    return orZero(x.inside, read(op.getX(), x.indices));
  });
  Value count = averageCount(g, pixels(), op.getCountIncludePad(), type);
  return arith::DivFOp::create(e.b, e.loc, total, count);
}

Value PlainLoops::averagePoolBackward(dl::AveragePoolBackwardOp op) {
  dl::WindowGeometry g = op.getGeometry();
  Type type = elementOf(op.getDx());
  return sum(kernelOf(g), type, [&](ArrayRef<Value> taps) {
    Place dy = outputPlace(g, image(), pixels(), taps);
    Value count =
        averageCount(g, ArrayRef<Value>(dy.indices).drop_front(2), op.getCountIncludePad(), type);
    Value share = arith::DivFOp::create(e.b, e.loc, read(op.getDy(), dy.indices), count);
    return orZero(dy.inside, share);
  });
}

Value PlainLoops::slidingSum(dl::SlidingSumOp op) {
  auto shape = cast<RankedTensorType>(op.getX().getType()).getShape();
  return sum({op.getSize()}, elementOf(op.getY()), [&](ArrayRef<Value> number) {
    Place x{Indices(ArrayRef(at).take_front(op.getAxis())), yes()};
    place(x, e.sub(e.add(at[op.getAxis()], number[0]), e.constant(op.getBefore())),
          shape[op.getAxis()]);
    llvm::append_range(x.indices, ArrayRef(at).drop_front(op.getAxis() + 1));
    return orZero(x.inside, read(op.getX(), x.indices));
  });
}

//===------------------------------------------------------------------------------------------===//
// Scatter
//===------------------------------------------------------------------------------------------===//

/// All numbers are looked at, and the values of one.
Value PlainLoops::scatterAdd(dl::ScatterAddOp op) {
  ArrayRef<int64_t> counts = cast<RankedTensorType>(op.getIndex().getType()).getShape();
  Value own = at[op.getAxis()], zero = e.number(0, computedType(elementOf(op.getY())));
  return loops(counts, zero, [&](ArrayRef<Value> j, ValueRange total) {
    Value number = numberAt(op.getIndex(), j);
    Value added = e.valueWhen(e.equal(number, own), total[0], [&]() -> Value {
      Indices from(ArrayRef(at).take_front(op.getAxis()));
      from.append(j.begin(), j.end());
      llvm::append_range(from, ArrayRef(at).drop_front(op.getAxis() + 1));
      Value value = read(op.getValues(), from);
      return isa<FloatType>(value.getType())
                 ? add(total[0], value)
                 : arith::AddIOp::create(e.b, e.loc, total[0], value).getResult();
    });
    return SmallVector<Value>{added};
  })[0];
}

/// Of the first place of a number: it, or the sum over all its places. All are looked at.
Value PlainLoops::sumRows(dl::SumRowsOp op, bool number) {
  ArrayRef<int64_t> counts = cast<RankedTensorType>(op.getIndex().getType()).getShape();
  const ArrayRef<Value> place = ArrayRef(at).take_front(counts.size());
  Value own = numberAt(op.getIndex(), place), none = e.constant(-1), zero = e.constant(0);
  auto linearOf = [&](ArrayRef<Value> j) {
    Value result = zero;
    for (auto [index, count] : llvm::zip_equal(j, counts))
      result = e.add(e.mul(result, count), index);
    return result;
  };
  // How many places in front of this one have its number.
  Value linear = linearOf(place);
  Value before = loops(counts, zero, [&](ArrayRef<Value> j, ValueRange found) {
    Value isBefore = e.both(e.less(linearOf(j), linear), e.equal(numberAt(op.getIndex(), j), own));
    return SmallVector<Value>{e.select(isBefore, e.add(found[0], 1), found[0])};
  })[0];
  Value isInside = e.both(e.less(none, own), e.less(own, e.constant(op.getExtent())));
  Value isFirst = e.both(isInside, e.equal(before, zero));
  if (number) {
    Value wide = e.select(isFirst, own, none);
    Type element = computedType(elementOf(op.getNumbers()));
    return element.isInteger(64) ? wide
                                 : arith::TruncIOp::create(e.b, e.loc, element, wide).getResult();
  }
  Value start = e.number(0, computedType(elementOf(op.getRows())));
  return loops(counts, start, [&](ArrayRef<Value> j, ValueRange total) {
    Value isSame = e.both(isFirst, e.equal(numberAt(op.getIndex(), j), own));
    return SmallVector<Value>{e.valueWhen(isSame, total[0], [&]() -> Value {
      Indices from(j.begin(), j.end());
      llvm::append_range(from, ArrayRef(at).drop_front(counts.size()));
      return add(total[0], read(op.getValues(), from));
    })};
  })[0];
}

namespace {
Value plainValue(const PlainFunction &function, OpResult result, const Point &point) {
  if (point.width != 1)
    return {};
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  auto type = cast<RankedTensorType>(result.getType());
  // Scalars fit every index space.
  Point own = *reshapePoint(function.e.b, function.e.loc, point, type.getShape());
  PlainLoops loops(function, own.indices);
  Value value =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<dl::ReduceOp>([&](auto op) { return loops.reduce(op); })
          .Case<dl::MomentsOp>([&](auto op) { return loops.moments(op, number == 1); })
          .Case<dl::MatmulOp>([&](auto op) { return loops.matmul(op); })
          .Case<dl::ConvolutionOp>([&](auto op) { return loops.convolution(op); })
          .Case<dl::ConvolutionBackwardDataOp>([&](auto op) { return loops.convolutionData(op); })
          .Case<dl::ConvolutionBackwardFilterOp>(
              [&](auto op) { return loops.convolutionFilter(op); })
          .Case<dl::MaxPoolOp>([&](auto op) { return loops.maxPool(op, number == 1); })
          .Case<dl::MaxPoolBackwardOp>([&](auto op) { return loops.maxPoolBackward(op); })
          .Case<dl::MaxPoolGatherOp>([&](auto op) { return loops.maxPoolGather(op); })
          .Case<dl::AveragePoolOp>([&](auto op) { return loops.averagePool(op); })
          .Case<dl::AveragePoolBackwardOp>([&](auto op) { return loops.averagePoolBackward(op); })
          .Case<dl::SlidingSumOp>([&](auto op) { return loops.slidingSum(op); })
          .Case<dl::ScatterAddOp>([&](auto op) { return loops.scatterAdd(op); })
          .Case<dl::SumRowsOp>([&](auto op) { return loops.sumRows(op, number == 1); })
          .Default([](Operation *) { return Value(); });
  Type element = type.getElementType();
  return value && isSmallFloat(element) ? function.e.convertFloat(value, element) : value;
}
} // namespace

//===------------------------------------------------------------------------------------------===//
// Elements in memory
//===------------------------------------------------------------------------------------------===//

/// The logical place of stored element `linear`, and whether it is one: it may be padding.
static std::pair<Point, Value> placeOf(LoopEmitter &e, RankedTensorType type, Value linear) {
  const auto layout = program::PhysicalLayout::get(type);
  Point point;
  point.shape.assign(type.getShape().begin(), type.getShape().end());
  SmallVector<int64_t> extents;
  for (const program::PhysicalLayout::Dimension &d : layout.dimensions)
    extents.push_back(d.extent);
  point.indices = logicalIndices(e, layout, type.getRank(), e.delinearize(linear, extents));
  Value exists = e.number(1, e.b.getI1Type());
  if (layout.elements == type.getNumElements())
    return {point, exists};
  // Padding is computed at the nearest element and thrown away.
  for (auto [extent, index] : llvm::zip_equal(point.shape, point.indices)) {
    exists = e.both(exists, e.less(index, e.constant(extent)));
    index = e.minimum(index, e.constant(extent - 1));
  }
  return {point, exists};
}

Value codegen::plainElement(const PlainFunction &function, unsigned number, Value linear) {
  LoopEmitter &e = function.e;
  auto [point, exists] = placeOf(e, function.spec.resultTypes()[number], linear);
  Value result = function.spec.result(number);
  Value value = function.spec.isSum(result) ? plainValue(function, cast<OpResult>(result), point)
                                            : plainBody(function).emitStored(result, point);
  return value ? e.select(exists, value, e.number(0, value.getType())) : Value();
}
