//===- Recurrent.cpp - see Recurrent.h --------------------------------------------------------===//
#include "dialects/DL/Formulas/Recurrent.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLRecurrentOps.h"

using namespace mlir;

namespace dlc::dl::formulas {

Value gateInputs(TensorBuilder &b, Value x, Value weight, Value inputBias, Value stateBias) {
  RankedTensorType type = b.typeOf(x);
  const int64_t steps = type.getDimSize(0), samples = type.getDimSize(1),
                channels = type.getDimSize(2), rows = b.typeOf(weight).getDimSize(0);
  Value flat = b.reshape(x, type.clone({steps * samples, channels}));
  Value product = MatmulOp::create(b.builder, b.loc, flat, weight, /*transpose_a=*/false,
                                   /*transpose_b=*/true);
  Value bias = inputBias ? inputBias : stateBias;
  if (inputBias && stateBias)
    bias = b.add(inputBias, stateBias);
  if (bias)
    product = b.add(product, b.broadcast(bias, b.typeOf(product), {1}));
  return b.reshape(product, type.clone({steps, samples, rows}));
}

/// `count` of [places, samples, units] from `first` on.
static Value places(TensorBuilder &b, Value x, int64_t first, int64_t count) {
  ArrayRef<int64_t> shape = b.typeOf(x).getShape();
  return SliceOp::create(b.builder, b.loc, x, ArrayRef<int64_t>{first, 0, 0},
                         ArrayRef<int64_t>{count, shape[1], shape[2]}, ArrayRef<int64_t>{1, 1, 1});
}

/// `states`, h and c where there is one, have a place more than there are steps: the first state in
/// front, or behind where the layer runs in reverse.
static Sequence sequenceOf(TensorBuilder &b, ArrayRef<Value> states, bool isReverse) {
  const int64_t steps = b.typeOf(states[0]).getDimSize(0) - 1;
  Sequence sequence;
  for (Value each : states)
    sequence.last.push_back(places(b, each, isReverse ? 0 : steps, 1));
  sequence.outputs = places(b, states[0], isReverse ? 0 : 1, steps);
  return sequence;
}

Sequence lstm(TensorBuilder &b, Value gates, Value h, Value c, Value weight, Value mask,
              bool isReverse) {
  auto op = LstmOp::create(b.builder, b.loc, gates, h, c, weight, mask, isReverse);
  return sequenceOf(b, {op.getHs(), op.getCs()}, isReverse);
}

Sequence gru(TensorBuilder &b, Value gates, Value h, Value weight, Value stateBias, Value mask,
             bool isReverse) {
  auto op = GruOp::create(b.builder, b.loc, gates, h, weight, stateBias, mask, isReverse);
  return sequenceOf(b, op.getHs(), isReverse);
}

Value stateOf(TensorBuilder &b, Value states, int64_t part) {
  return b.reshape(places(b, states, part, 1),
                   b.typeOf(states).clone(b.typeOf(states).getShape().drop_front()));
}

Value stepsWithin(TensorBuilder &b, Value lengths, int64_t steps) {
  RankedTensorType each = b.typeOf(lengths), type = each.clone({steps, each.getDimSize(0)});
  Value step = b.iota(type.getShape(), type.getElementType(), 0);
  return b.compare(Predicate::LT, step, b.broadcast(lengths, type, {1}));
}

Value zeroBeyond(TensorBuilder &b, Value outputs, Value mask) {
  return b.keepWhere(b.broadcastOver(mask, b.typeOf(outputs), {2}), outputs);
}

Value exchangeFirst(TensorBuilder &b, Value x) {
  return TransposeOp::create(b.builder, b.loc, x, ArrayRef<int64_t>{1, 0, 2});
}

} // namespace dlc::dl::formulas
