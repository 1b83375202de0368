//===- DLAttentionOps.cpp - attention: types, gradient, formula, facts ------------------------===//
#include "dialects/DL/Ops/DLAttentionOps.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/AttentionForm.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/Shapes.h"
#include "dialects/DL/Rules/GradientRule.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// Form
//===------------------------------------------------------------------------------------------===//

AttentionForm AttentionForm::get(Operation *op) {
  return llvm::TypeSwitch<Operation *, AttentionForm>(op).Case<AttentionOp, AttentionBackwardOp>(
      [](auto op) {
        RankedTensorType q = tensorType(op.getQ()), v = tensorType(op.getV());
        AttentionForm form{op.getQ(), op.getK(), op.getV(), op.getMask(), op.getKept()};
        form.heads = q.getDimSize(0) * q.getDimSize(1);
        form.queries = q.getDimSize(2);
        form.keys = v.getDimSize(2);
        form.depth = q.getDimSize(3);
        form.width = v.getDimSize(3);
        form.scale = op.getScale().convertToDouble();
        form.keptFactor = op.getRate() ? 1 / (1 - op.getRate()->convertToDouble()) : 1;
        form.causal = op.getCausal();
        return form;
      });
}

uint64_t AttentionForm::scores() const {
  if (!causal)
    return heads * queries * keys;
  const int64_t rising = std::min(queries, keys);
  return heads * (rising * (rising + 1) / 2 + (queries - rising) * keys);
}

//===------------------------------------------------------------------------------------------===//
// Types
//===------------------------------------------------------------------------------------------===//

/// The type that a row's sum is kept in.
static Type rowElement(Type element) {
  return element.isBF16() || element.isF16() ? Float32Type::get(element.getContext()) : element;
}

/// Emits (C1) to (C3); gives the types of o and lse.
template <typename Adaptor>
static LogicalResult inferAttention(std::optional<Location> location, StringRef name, Adaptor op,
                                    SmallVectorImpl<Type> &results) {
  RankedTensorType q = tensorType(op.getQ()), k = tensorType(op.getK()), v = tensorType(op.getV());
  auto fits = [&] {
    Type element = q.getElementType();
    return q.getRank() == 4 && k.getRank() == 4 && v.getRank() == 4 &&
           element == k.getElementType() && element == v.getElementType() &&
           q.getShape().take_front(2) == k.getShape().take_front(2) &&
           k.getShape().take_front(3) == v.getShape().take_front(3) &&
           q.getDimSize(3) == k.getDimSize(3) && k.getDimSize(2) > 0;
  };
  if (!fits())
    return emitOptionalError(location, name,
                             ": (C1) expects q [N, heads, T, D], k [N, heads, S, D] and v [N, "
                             "heads, S, E] of one element type, S above 0, found ",
                             q, ", ", k, " and ", v);
  SmallVector<int64_t> scores{q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), k.getDimSize(2)};
  for (Value each : {op.getMask(), op.getKept()}) {
    if (!each)
      continue;
    Type element = tensorType(each).getElementType();
    if (tensorType(each).getShape() != ArrayRef(scores) ||
        !(element.isInteger(1) || element == q.getElementType()))
      return emitOptionalError(location, name, ": (C2) expects mask and kept to be of ",
                               q.clone(scores), " or as many bools, found ", each.getType());
  }
  std::optional<APFloat> rate = op.getRate();
  double dropped = rate ? rate->convertToDouble() : 0;
  if (bool(rate) != bool(op.getKept()) || !(dropped >= 0 && dropped < 1))
    return emitOptionalError(location, name,
                             ": (C3) expects a rate from 0 to below 1 with kept, and none without, "
                             "found ",
                             dropped);
  SmallVector<int64_t> o(q.getShape());
  o[3] = v.getDimSize(3);
  results.push_back(q.clone(o));
  results.push_back(
      RankedTensorType::get(q.getShape().drop_back(), rowElement(q.getElementType())));
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferAttention(location, getOperationName(), adaptor, results);
}

LogicalResult AttentionBackwardOp::inferReturnTypes(MLIRContext *context,
                                                    std::optional<Location> location,
                                                    ValueRange operands, DictionaryAttr attributes,
                                                    OpaqueProperties properties,
                                                    RegionRange regions,
                                                    SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<Type> forward;
  if (failed(inferAttention(location, getOperationName(), adaptor, forward)))
    return failure();
  if (adaptor.getDout().getType() != forward[0] || adaptor.getLse().getType() != forward[1])
    return emitOptionalError(location, getOperationName(), ": (C4) expects dout and lse to be ",
                             forward[0], " and ", forward[1], ", found ",
                             adaptor.getDout().getType(), " and ", adaptor.getLse().getType());
  for (Value each : {adaptor.getQ(), adaptor.getK(), adaptor.getV()})
    results.push_back(each.getType());
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Formula
//===------------------------------------------------------------------------------------------===//

namespace {
/// The formula, in the element type of the rows' sums.
struct AttentionFormula {
  TensorBuilder b;
  AttentionForm form;
  Value q, k, v;

  AttentionFormula(OpBuilder &builder, Operation *op)
      : b{builder, op->getLoc()}, form(AttentionForm::get(op)) {
    q = wide(form.q), k = wide(form.k), v = wide(form.v);
  }

  Type element() const { return rowElement(tensorType(form.q).getElementType()); }
  Value wide(Value x) {
    RankedTensorType type = tensorType(x).clone(element());
    return type == x.getType() ? x : CastOp::create(b.builder, b.loc, type, x).getResult();
  }
  Value product(Value a, Value c, bool transposeA, bool transposeB) {
    return MatmulOp::create(b.builder, b.loc, a, c, transposeA, transposeB);
  }
  Value spread(Value rows, Value scores) { return b.broadcastOver(rows, b.typeOf(scores), {3}); }
  Value sum(Value scores) { return b.reduce(ReduceKind::Sum, scores, {3}); }

  /// scale * q k^T + mask; no number is below that of what is hidden.
  Value scores() {
    const double hidden = -std::numeric_limits<double>::infinity();
    Value s = b.scale(product(q, k, false, true), form.scale);
    if (form.mask && tensorType(form.mask).getElementType().isInteger(1))
      s = b.select(form.mask, s, b.splatLike(s, hidden));
    else if (form.mask)
      s = b.add(s, wide(form.mask));
    if (!form.causal)
      return s;
    ArrayRef<int64_t> shape = b.typeOf(s).getShape();
    Type number = b.builder.getI32Type();
    Value seen = b.compare(Predicate::GE, b.iota(shape, number, 2), b.iota(shape, number, 3));
    return b.select(seen, s, b.splatLike(s, hidden));
  }
  /// Dropout of scores.
  Value keep(Value p) {
    return form.kept ? b.keepWhere(form.kept, b.scale(p, form.keptFactor)) : p;
  }
  Value probabilities(Value lse) {
    Value s = scores();
    return b.exp(b.subtract(s, spread(wide(lse), s)));
  }
  /// Gradient of the scores.
  Value scoresGradient(Value p, Value dout, Value delta) {
    Value dp = keep(product(wide(dout), v, false, true));
    return b.multiply(p, b.subtract(dp, spread(wide(delta), p)));
  }
  Value narrow(Value x, Value like) { return b.castLike(x, like); }

  /// bf16 and f16 are computed as f32.
  bool isSmall() const { return element() != tensorType(form.q).getElementType(); }
  Value wideMask() {
    bool isFloat = form.mask && !tensorType(form.mask).getElementType().isInteger(1);
    return isFloat ? wide(form.mask) : form.mask;
  }
};
} // namespace

/// A row that sees nothing has a largest score that is a number, too.
static constexpr double lowestScore = -1e30;

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  AttentionFormula f(builder, *this);
  TensorBuilder &b = f.b;
  if (f.isSmall()) {
    auto whole = AttentionOp::create(builder, getLoc(), f.q, f.k, f.v, f.wideMask(), getKept(),
                                     getScaleAttr(), getRateAttr(), getCausalAttr());
    return {f.narrow(whole.getO(), getQ()), whole.getLse()};
  }
  Value s = f.scores();
  Value largest = b.atLeast(b.reduce(ReduceKind::Max, s, {3}), lowestScore);
  Value exps = b.exp(b.subtract(s, f.spread(largest, s))), sum = f.sum(exps);
  sum = b.aboveZeroOrOne(sum);
  Value p = b.divide(exps, f.spread(sum, s));
  return {f.narrow(f.product(f.keep(p), f.v, false, false), getQ()), b.add(largest, b.log(sum))};
}

SmallVector<Value> AttentionBackwardOp::decompose(OpBuilder &builder) {
  AttentionFormula f(builder, *this);
  TensorBuilder &b = f.b;
  if (f.isSmall()) {
    auto whole = AttentionBackwardOp::create(builder, getLoc(), f.wide(getDout()), f.q, f.k, f.v,
                                             getLse(), getDelta(), f.wideMask(), getKept(),
                                             getScaleAttr(), getRateAttr(), getCausalAttr());
    return {f.narrow(whole.getDq(), getQ()), f.narrow(whole.getDk(), getK()),
            f.narrow(whole.getDv(), getV())};
  }
  Value p = f.probabilities(getLse());
  Value ds = b.scale(f.scoresGradient(p, getDout(), getDelta()), f.form.scale);
  return {f.narrow(f.product(ds, f.k, false, false), getQ()),
          f.narrow(f.product(ds, f.q, true, false), getK()),
          f.narrow(f.product(f.keep(p), f.wide(getDout()), true, false), getV())};
}

//===------------------------------------------------------------------------------------------===//
// Gradient
//===------------------------------------------------------------------------------------------===//

LogicalResult AttentionOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                         OperandGradients &dx) {
  const unsigned maskNumber = 3;
  const bool ofMask = getMask() && flowsInto(*this, wanted, maskNumber);
  if ((!dy[0] && !dy[1]) || !(wanted[0] || wanted[1] || wanted[2] || ofMask))
    return success();
  AttentionFormula f(builder, *this);
  TensorBuilder &b = f.b;
  Value dout = dy[0] ? dy[0] : b.splatLike(getO(), 0);
  Value delta = f.sum(b.multiply(f.wide(dout), f.wide(getO())));
  if (dy[1])
    delta = b.subtract(delta, dy[1]);
  if (wanted[0] || wanted[1] || wanted[2]) {
    auto backward = AttentionBackwardOp::create(builder, getLoc(), dout, getQ(), getK(), getV(),
                                                getLse(), delta, getMask(), getKept(),
                                                getScaleAttr(), getRateAttr(), getCausalAttr());
    for (unsigned i = 0; i < 3; ++i)
      if (wanted[i])
        dx[i] = backward->getResult(i);
  }
  if (ofMask)
    dx[maskNumber] = f.narrow(f.scoresGradient(f.probabilities(getLse()), dout, delta), getMask());
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Facts
//===------------------------------------------------------------------------------------------===//

static bool isWhole(const AttentionForm &form) {
  return tensorType(form.q).getElementType().isF32() &&
         form.heads * form.queries * form.depth * form.width != 0;
}

static AnchorName nameOf(Operation *op, bool causal, const AttentionForm &form) {
  return {op->getName().stripDialect().str() + (causal ? "_causal" : ""),
          timesText({form.heads, form.queries, form.keys, form.depth})};
}

Anchor AttentionOp::getAnchor() { return Anchor::Attention; }
// Each score: two products, a difference, an exponential, and two sums.
uint64_t AttentionOp::getFlops() {
  AttentionForm form = AttentionForm::get(*this);
  return form.scores() * (2 * (form.depth + form.width) + 4);
}
bool AttentionOp::takesPrologue(unsigned) { return true; }
bool AttentionOp::recomputesOperand(unsigned operand) { return operand > 2; }
bool AttentionOp::takesEpilogue() { return false; }
bool AttentionOp::staysWhole() { return isWhole(AttentionForm::get(*this)); }
AnchorName AttentionOp::getAnchorName() {
  return nameOf(*this, getCausal(), AttentionForm::get(*this));
}

Anchor AttentionBackwardOp::getAnchor() { return Anchor::Attention; }
uint64_t AttentionBackwardOp::getFlops() {
  AttentionForm form = AttentionForm::get(*this);
  return form.scores() * (6 * form.depth + 4 * form.width + 5);
}
/// All but lse and delta, which are read for each tile of scores.
bool AttentionBackwardOp::takesPrologue(unsigned operand) { return operand < 4 || operand > 5; }
bool AttentionBackwardOp::recomputesOperand(unsigned operand) { return operand > 5; }
bool AttentionBackwardOp::takesEpilogue() { return false; }
bool AttentionBackwardOp::staysWhole() { return isWhole(AttentionForm::get(*this)); }
AnchorName AttentionBackwardOp::getAnchorName() {
  return nameOf(*this, getCausal(), AttentionForm::get(*this));
}
