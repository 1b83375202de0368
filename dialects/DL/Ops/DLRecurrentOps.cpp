//===- DLRecurrentOps.cpp - recurrent layers step by step, and their gradients ----------------===//
//
// A step is one product of the state and one kernel over its units. All tensors are [rows, columns]
// here, the rows of a step one behind the other, so that steps are cut out and put together where
// they lie. Gradients of weights are one product over the rows of all steps.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLRecurrentOps.h"
#include "dialects/DL/Builders/Folding.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Builders/Term.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Rules/GradientRule.h"

using namespace mlir;
using namespace dlc::dl;

constexpr int64_t lstmGates = 4, gruGates = 3;

static RankedTensorType sized(Type like, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, getElementTypeOrSelf(like));
}

Type dlc::dl::stateType(Type type, int64_t gates) {
  auto x = cast<RankedTensorType>(type);
  return x.getRank() == 3 ? sized(x, {x.getDimSize(1), x.getDimSize(2) / gates}) : sized(x, {0, 0});
}

Type dlc::dl::statesType(Type type, int64_t gates) {
  auto x = cast<RankedTensorType>(type);
  return x.getRank() == 3
             ? sized(x, {x.getDimSize(0) + 1, x.getDimSize(1), x.getDimSize(2) / gates})
             : sized(x, {0, 0, 0});
}

Type dlc::dl::stateWeightType(Type type, int64_t gates) {
  int64_t units = cast<RankedTensorType>(stateType(type, gates)).getDimSize(1);
  return sized(type, {gates * units, units});
}

/// (C1) and (C2)
template <typename Op> static LogicalResult verifySteps(Op op, int64_t gates) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (x.getRank() != 3 || x.getDimSize(0) == 0 || x.getDimSize(2) % gates != 0)
    return op.emitOpError("(C1) expects a step or more of samples with ")
           << gates << " gates, found " << x;
  ArrayRef<int64_t> mask = op.getMask() ? op.getMask().getType().getShape() : ArrayRef<int64_t>();
  if (op.getMask() && mask != x.getShape().take_front(2))
    return op.emitOpError("(C2) expects the mask to be of ")
           << x.getDimSize(0) << " steps and " << x.getDimSize(1) << " samples, found "
           << op.getMask().getType();
  return success();
}

LogicalResult LstmOp::verify() { return verifySteps(*this, lstmGates); }
LogicalResult LstmBackwardOp::verify() { return verifySteps(*this, lstmGates); }
LogicalResult GruBackwardOp::verify() { return verifySteps(*this, gruGates); }

LogicalResult GruOp::verify() {
  if (failed(verifySteps(*this, gruGates)))
    return failure();
  auto bias = sized(getX().getType(), {cast<RankedTensorType>(getX().getType()).getDimSize(2)});
  if (getBias() && getBias().getType() != bias)
    return emitOpError("(C3) expects the bias to be ") << bias << ", found " << getBias().getType();
  return success();
}

namespace {

using Number = Term<TensorBuilder>;

/// A layer's steps in the order in which they are taken, from 0 on.
struct Steps {
  TensorBuilder b;
  int64_t count, samples, units;
  bool isReverse;
  Value mask; ///< numbers of all steps, `maskStride` each; null: each step counts

  template <typename Op> static Steps of(OpBuilder &builder, Op op, int64_t gates) {
    auto x = cast<RankedTensorType>(op.getX().getType());
    return {{builder, op.getLoc()},  x.getDimSize(0), x.getDimSize(1),
            x.getDimSize(2) / gates, op.getReverse(), joinMask(builder, op.getLoc(), op.getMask())};
  }
  /// Each step's part begins where a buffer may, so that all steps share code.
  static int64_t maskStride(int64_t samples) {
    return llvm::alignTo(samples, dlc::program::alignment);
  }
  static Value joinMask(OpBuilder &builder, Location loc, Value mask) {
    if (!mask)
      return {};
    TensorBuilder b{builder, loc};
    int64_t steps = b.typeOf(mask).getDimSize(0), stride = maskStride(b.typeOf(mask).getDimSize(1));
    auto padded = builder.createOrFold<PadOp>(loc, sized(mask.getType(), {steps, stride}), mask,
                                              ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{1, 1});
    return b.reshape(padded, sized(mask.getType(), {steps * stride}));
  }

  /// Where a step stands among the tensors of all steps.
  int64_t placeOfStep(int64_t step) const { return isReverse ? count - 1 - step : step; }
  /// Where the state in front of a step stands among all states; that behind it is in front of the
  /// next.
  int64_t placeOfState(int64_t step) const { return isReverse ? count - step : step; }

  Value slice(Value x, int64_t firstRow, int64_t rows, int64_t firstColumn, int64_t columns) {
    return b.builder.createOrFold<SliceOp>(b.loc, x, ArrayRef<int64_t>{firstRow, firstColumn},
                                           ArrayRef<int64_t>{rows, columns},
                                           ArrayRef<int64_t>{1, 1});
  }
  /// [places, samples, columns] as rows. What is padded by places is padded by their rows: so the
  /// gradients of outputs, which are all states but one, are cut out of what is padded.
  Value rows(Value x) {
    ArrayRef<int64_t> shape = b.typeOf(x).getShape();
    auto pad = x.getDefiningOp<PadOp>();
    if (pad && b.typeOf(pad.getX()).getShape().drop_front() == shape.drop_front() &&
        pad.getSteps()[0] == 1)
      return PadOp::create(b.builder, b.loc, sized(x.getType(), {shape[0] * shape[1], shape[2]}),
                           rows(pad.getX()), ArrayRef<int64_t>{pad.getLow()[0] * shape[1], 0},
                           ArrayRef<int64_t>{1, 1});
    return b.builder.createOrFold<ReshapeOp>(
        b.loc, sized(x.getType(), {shape[0] * shape[1], shape[2]}), x);
  }
  /// The rows of one place.
  Value at(Value rows, int64_t place) {
    return slice(rows, place * samples, samples, 0, b.typeOf(rows).getDimSize(1));
  }
  /// The same as a summand of `sum`, which a 0 leaves as it is.
  Value plus(Value sum, Value rows, int64_t place) {
    return isSplatOf(rows, 0) ? sum : b.add(sum, at(rows, place));
  }
  /// `stepped` of the samples for which the step counts, else `held`.
  Value where(int64_t place, Value stepped, Value held) {
    if (!mask)
      return stepped;
    auto type = b.typeOf(stepped);
    Value counts =
        b.builder.createOrFold<SliceOp>(b.loc, mask, ArrayRef<int64_t>{place * maskStride(samples)},
                                        ArrayRef<int64_t>{samples}, ArrayRef<int64_t>{1});
    return b.select(b.broadcastOver(counts, type, {1}), stepped, held);
  }
  /// `gradient` of the samples for which the step counts, else none.
  Value whereCounted(int64_t place, Value gradient) {
    return mask ? where(place, gradient, b.splatLike(gradient, 0)) : gradient;
  }
  /// `sum` and `gradient` of the samples for which the step does not count.
  Value plusHeld(Value sum, int64_t place, Value gradient) {
    return mask ? b.add(sum, where(place, b.splatLike(gradient, 0), gradient)) : sum;
  }
  /// The columns of one gate.
  Number gate(Value step, int64_t gate) {
    return {b, slice(step, 0, samples, gate * units, units)};
  }
  Number sigmoid(const Number &x) { return {b, b.sigmoid(x)}; }
  /// The rows of all places as [places, samples, columns].
  Value stack(ArrayRef<Value> places) {
    Value rows = ConcatOp::create(b.builder, b.loc, places, 0);
    return b.reshape(rows, sized(rows.getType(),
                                 {int64_t(places.size()), samples, b.typeOf(rows).getDimSize(1)}));
  }
  Value joinGates(ArrayRef<Value> gates) { return ConcatOp::create(b.builder, b.loc, gates, 1); }
  /// state w^T
  Value product(Value state, Value w) {
    return MatmulOp::create(b.builder, b.loc, state, w, /*transpose_a=*/false,
                            /*transpose_b=*/true);
  }
  /// The gradient in the state of its product.
  Value backThrough(Value dproduct, Value w) {
    return MatmulOp::create(b.builder, b.loc, dproduct, w, false, false);
  }
  /// The gradient in w of all products, whose states are those in front of the steps.
  Value weightGradient(Value dproducts, Value states) {
    Value before = slice(rows(states), isReverse ? samples : 0, count * samples, 0, units);
    return MatmulOp::create(b.builder, b.loc, rows(dproducts), before, /*transpose_a=*/true,
                            /*transpose_b=*/false);
  }
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// LSTM
//===------------------------------------------------------------------------------------------===//

SmallVector<Value> LstmOp::decompose(OpBuilder &builder) {
  Steps s = Steps::of(builder, *this, lstmGates);
  Value x = s.rows(getX()), h = getH(), c = getC();
  SmallVector<Value> hs(s.count + 1), cs(s.count + 1), gates(s.count);
  hs[s.placeOfState(0)] = h;
  cs[s.placeOfState(0)] = c;
  for (int64_t step = 0; step < s.count; ++step) {
    int64_t place = s.placeOfStep(step), next = s.placeOfState(step + 1);
    Value gate = gates[place] = s.b.add(s.product(h, getW()), s.at(x, place));
    Number i = s.sigmoid(s.gate(gate, 0)), f = s.sigmoid(s.gate(gate, 1)),
           g = tanh(s.gate(gate, 2)), o = s.sigmoid(s.gate(gate, 3));
    Number state = f * Number(s.b, c) + i * g;
    h = hs[next] = s.where(place, o * tanh(state), h);
    c = cs[next] = s.where(place, state, c);
  }
  return {s.stack(hs), s.stack(cs), s.stack(gates)};
}

LogicalResult LstmOp::buildGradient(OpBuilder &builder, Gradients dresults, Wanted wanted,
                                    OperandGradients &dx) {
  if (!llvm::is_contained(wanted, true))
    return success();
  Steps s = Steps::of(builder, *this, lstmGates);
  auto gradientOf = [&](unsigned i) {
    return dresults[i] ? dresults[i] : s.b.splatLike(getResult(i), 0);
  };
  auto backward =
      LstmBackwardOp::create(builder, getLoc(), gradientOf(0), gradientOf(1), gradientOf(2),
                             getGates(), getCs(), getW(), getMask(), getReverse());
  Value gradients[] = {backward.getDx(), backward.getDh(), backward.getDc()};
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (wanted[i])
      dx[i] = gradient;
  if (wanted[3])
    dx[3] = s.weightGradient(backward.getDx(), getHs());
  return success();
}

SmallVector<Value> LstmBackwardOp::decompose(OpBuilder &builder) {
  Steps s = Steps::of(builder, *this, lstmGates);
  Value gates = s.rows(getX()), cs = s.rows(getCs()), dhs = s.rows(getDhs()),
        dcs = s.rows(getDcs()), dgates = s.rows(getDgates());
  SmallVector<Value> dx(s.count);
  Value dh = s.at(dhs, s.placeOfState(s.count)), dc = s.at(dcs, s.placeOfState(s.count));
  for (int64_t step = s.count - 1; step >= 0; --step) {
    int64_t place = s.placeOfStep(step), before = s.placeOfState(step);
    Value gate = s.at(gates, place);
    Number i = s.sigmoid(s.gate(gate, 0)), f = s.sigmoid(s.gate(gate, 1)),
           g = tanh(s.gate(gate, 2)), o = s.sigmoid(s.gate(gate, 3));
    Number c(s.b, s.at(cs, before)), t = tanh(Number(s.b, s.at(cs, s.placeOfState(step + 1))));
    Number dhere(s.b, dh), dstate = Number(s.b, dc) + dhere * o * (1 - square(t));
    Number di = dstate * g * (i * (1 - i)), df = dstate * c * (f * (1 - f)),
           dg = dstate * i * (1 - square(g)), dout = dhere * t * (o * (1 - o));
    dx[place] = s.plus(s.whereCounted(place, s.joinGates({di, df, dg, dout})), dgates, place);
    dh = s.plus(s.plusHeld(s.backThrough(dx[place], getW()), place, dh), dhs, before);
    dc = s.plus(s.where(place, dstate * f, dc), dcs, before);
  }
  return {s.stack(dx), dh, dc};
}

//===------------------------------------------------------------------------------------------===//
// GRU
//===------------------------------------------------------------------------------------------===//

SmallVector<Value> GruOp::decompose(OpBuilder &builder) {
  Steps s = Steps::of(builder, *this, gruGates);
  Value x = s.rows(getX()), h = getH();
  SmallVector<Value> hs(s.count + 1), products(s.count);
  hs[s.placeOfState(0)] = h;
  for (int64_t step = 0; step < s.count; ++step) {
    int64_t place = s.placeOfStep(step);
    Value input = s.at(x, place), p = s.product(h, getW());
    if (getBias())
      p = s.b.add(p, s.b.broadcast(getBias(), s.b.typeOf(p), {1}));
    products[place] = p;
    Number r = s.sigmoid(s.gate(input, 0) + s.gate(p, 0)),
           z = s.sigmoid(s.gate(input, 1) + s.gate(p, 1)),
           n = tanh(s.gate(input, 2) + r * s.gate(p, 2));
    h = hs[s.placeOfState(step + 1)] = s.where(place, n + z * (Number(s.b, h) - n), h);
  }
  return {s.stack(hs), s.stack(products)};
}

LogicalResult GruOp::buildGradient(OpBuilder &builder, Gradients dresults, Wanted wanted,
                                   OperandGradients &dx) {
  if (!llvm::is_contained(wanted, true))
    return success();
  Steps s = Steps::of(builder, *this, gruGates);
  auto gradientOf = [&](unsigned i) {
    return dresults[i] ? dresults[i] : s.b.splatLike(getResult(i), 0);
  };
  auto backward = GruBackwardOp::create(builder, getLoc(), gradientOf(0), gradientOf(1), getX(),
                                        getProducts(), getHs(), getW(), getMask(), getReverse());
  if (wanted[0])
    dx[0] = backward.getDx();
  if (wanted[1])
    dx[1] = backward.getDh();
  if (wanted[2])
    dx[2] = s.weightGradient(backward.getDp(), getHs());
  if (getBias() && wanted[3])
    dx[3] = s.b.reduce(ReduceKind::Sum, backward.getDp(), {0, 1});
  return success();
}

SmallVector<Value> GruBackwardOp::decompose(OpBuilder &builder) {
  Steps s = Steps::of(builder, *this, gruGates);
  Value x = s.rows(getX()), products = s.rows(getProducts()), hs = s.rows(getHs()),
        dhs = s.rows(getDhs()), dproducts = s.rows(getDproducts());
  SmallVector<Value> dx(s.count), dp(s.count);
  Value dh = s.at(dhs, s.placeOfState(s.count));
  for (int64_t step = s.count - 1; step >= 0; --step) {
    int64_t place = s.placeOfStep(step), before = s.placeOfState(step);
    Value input = s.at(x, place), p = s.at(products, place);
    Number pn = s.gate(p, 2), r = s.sigmoid(s.gate(input, 0) + s.gate(p, 0)),
           z = s.sigmoid(s.gate(input, 1) + s.gate(p, 1)), n = tanh(s.gate(input, 2) + r * pn);
    Number h(s.b, s.at(hs, before)), dhere(s.b, dh);
    Number dz = dhere * (h - n) * (z * (1 - z)), dn = dhere * (1 - z) * (1 - square(n)),
           dr = dn * pn * (r * (1 - r));
    dx[place] = s.whereCounted(place, s.joinGates({dr, dz, dn}));
    dp[place] = s.plus(s.whereCounted(place, s.joinGates({dr, dz, dn * r})), dproducts, place);
    dh = s.plus(s.b.add(s.backThrough(dp[place], getW()), s.where(place, dhere * z, dh)), dhs,
                before);
  }
  return {s.stack(dx), s.stack(dp), dh};
}
