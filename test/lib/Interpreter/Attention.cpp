//===- Attention.cpp - attention and its gradients, score by score ----------------------------===//
#include "dialects/DL/Ops/DLAttentionOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace dlc::interpreter {
namespace {

/// One head's probabilities, from the definition: a row's scores, their exponentials, its sum.
struct Attention {
  Tensor q, k, v, mask, kept;
  bool addsMask = false, causal = false;
  double scale = 1, factor = 1;

  template <typename Op>
  Attention(Op op, ArrayRef<Tensor> operands, size_t first)
      : q(operands[first]), k(operands[first + 1]), v(operands[first + 2]), causal(op.getCausal()),
        scale(op.getScale().convertToDouble()) {
    size_t next = operands.size();
    if (op.getKept()) {
      kept = operands[--next];
      factor = 1 / (1 - op.getRate()->convertToDouble());
    }
    if (op.getMask()) {
      mask = operands[--next];
      addsMask = !getElementTypeOrSelf(op.getMask().getType()).isInteger(1);
    }
  }

  int64_t keys() const { return k.shape[2]; }
  static Index at(const Index &row, int64_t column) { return {row[0], row[1], row[2], column}; }

  bool sees(const Index &row, int64_t key) const {
    if (causal && key > row[2])
      return false;
    return mask.shape.empty() || addsMask || mask.at(at(row, key)) != 0;
  }
  double score(const Index &row, int64_t key) const {
    double sum = 0;
    for (int64_t d = 0; d < q.shape[3]; ++d)
      sum += q.at(at(row, d)) * k.at({row[0], row[1], key, d});
    return scale * sum + (addsMask ? mask.at(at(row, key)) : 0);
  }
  /// log of the row's sum of exponentials; -1e30 if it sees nothing.
  double logSumExp(const Index &row) const {
    double largest = -1e30, sum = 0;
    for (int64_t key = 0; key < keys(); ++key)
      if (sees(row, key))
        largest = std::max(largest, score(row, key));
    for (int64_t key = 0; key < keys(); ++key)
      if (sees(row, key))
        sum += std::exp(score(row, key) - largest);
    return sum > 0 ? largest + std::log(sum) : largest;
  }
  double probability(const Index &row, int64_t key, double logSum) const {
    return sees(row, key) ? std::exp(score(row, key) - logSum) : 0;
  }
  double keep(const Index &row, int64_t key) const {
    return kept.shape.empty() ? 1 : kept.at(at(row, key)) * factor;
  }
  Shape rows() const { return {q.shape[0], q.shape[1], q.shape[2]}; }
};

std::vector<Tensor> forward(const Attention &a) {
  Tensor o = Tensor::filled({a.q.shape[0], a.q.shape[1], a.q.shape[2], a.v.shape[3]}, 0);
  Tensor lse = Tensor::filled(a.rows(), 0);
  forEachIndex(a.rows(), [&](const Index &row) {
    lse.at(row) = a.logSumExp(row);
    for (int64_t key = 0; key < a.keys(); ++key) {
      double p = a.probability(row, key, lse.at(row)) * a.keep(row, key);
      for (int64_t e = 0; e < a.v.shape[3]; ++e)
        o.at(Attention::at(row, e)) += p * a.v.at({row[0], row[1], key, e});
    }
  });
  return {o, lse};
}

std::vector<Tensor> backward(const Attention &a, const Tensor &dout, const Tensor &lse,
                             const Tensor &delta) {
  Tensor dq = Tensor::filled(a.q.shape, 0), dk = Tensor::filled(a.k.shape, 0),
         dv = Tensor::filled(a.v.shape, 0);
  forEachIndex(a.rows(), [&](const Index &row) {
    for (int64_t key = 0; key < a.keys(); ++key) {
      double p = a.probability(row, key, lse.at(row)), keep = a.keep(row, key), dp = 0;
      for (int64_t e = 0; e < a.v.shape[3]; ++e) {
        Index place = {row[0], row[1], key, e};
        dp += dout.at(Attention::at(row, e)) * a.v.at(place) * keep;
        dv.at(place) += p * keep * dout.at(Attention::at(row, e));
      }
      double ds = p * (dp - delta.at(row)) * a.scale;
      for (int64_t d = 0; d < a.q.shape[3]; ++d) {
        dq.at(Attention::at(row, d)) += ds * a.k.at({row[0], row[1], key, d});
        dk.at({row[0], row[1], key, d}) += ds * a.q.at(Attention::at(row, d));
      }
    }
  });
  return {dq, dk, dv};
}

} // namespace

Values runAttention(Operation *op, ArrayRef<Tensor> v) {
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::AttentionOp>([&](auto op) { return forward(Attention(op, v, 0)); })
      .Case<dl::AttentionBackwardOp>(
          [&](auto op) { return backward(Attention(op, v, 1), v[0], v[4], v[5]); })
      .Default(Values());
}

} // namespace dlc::interpreter
