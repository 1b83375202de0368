//===- Recurrent.cpp - recurrent layers, one unit of one sample after the other ---------------===//
//
// Gradients go back through every quantity that a step has, by the chain rule, as it is written in
// the definition of the layer: nothing is simplified.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLRecurrentOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace dlc::interpreter {
namespace {

using Result = std::vector<Tensor>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sigmoidSlope(double x) { return sigmoid(x) * (1 - sigmoid(x)); }
double tanhSlope(double x) { return 1 - std::tanh(x) * std::tanh(x); }

/// Sizes, where steps and states stand, and which steps count.
struct Layer {
  int64_t steps, samples, units, gates;
  bool reverse;
  const Tensor *mask;

  /// The mask is the last operand.
  template <typename Op>
  Layer(Op op, ArrayRef<Tensor> v, const Tensor &x, int64_t gates)
      : steps(x.shape[0]), samples(x.shape[1]), units(x.shape[2] / gates), gates(gates),
        reverse(op.getReverse()), mask(op.getMask() ? &v.back() : nullptr) {}

  bool counts(int64_t t, int64_t n) const { return !mask || mask->at({t, n}) != 0; }

  int64_t row(int64_t step) const { return reverse ? steps - step - 1 : step; }
  int64_t before(int64_t step) const { return reverse ? row(step) + 1 : row(step); }
  int64_t behind(int64_t step) const { return reverse ? row(step) : row(step) + 1; }

  Tensor states() const { return Tensor::filled({steps + 1, samples, units}, 0); }
  Tensor inputs() const { return Tensor::filled({steps, samples, gates * units}, 0); }
  void put(Tensor &all, const Tensor &initial) const {
    forEachIndex(initial.shape,
                 [&](const Index &at) { all.at({before(0), at[0], at[1]}) = initial.at(at); });
  }
  Tensor first(const Tensor &all) const {
    Tensor result = Tensor::filled({samples, units}, 0);
    forEachIndex(result.shape,
                 [&](const Index &at) { result.at(at) = all.at({before(0), at[0], at[1]}); });
    return result;
  }
  /// Row `column` of the weight times the state in front of a step.
  double product(const Tensor &hs, const Tensor &w, int64_t step, int64_t n, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < units; ++k)
      sum += hs.at({before(step), n, k}) * w.at({column, k});
    return sum;
  }
  /// What flows through all products of a step into the state in front of it.
  void addThroughProducts(Tensor &dhs, const Tensor &dp, const Tensor &w, int64_t step) const {
    forEachIndex({samples, units, gates * units}, [&](const Index &at) {
      dhs.at({before(step), at[0], at[1]}) +=
          dp.at({row(step), at[0], at[2]}) * w.at({at[2], at[1]});
    });
  }
  /// For each step, and each unit of each sample in it.
  template <typename Visit> void forEachUnit(int64_t step, Visit visit) const {
    forEachIndex({samples, units}, [&](const Index &at) { visit(row(step), at[0], at[1]); });
  }
};

Values lstm(dl::LstmOp op, ArrayRef<Tensor> v) {
  const Tensor &x = v[0], &w = v[3];
  Layer layer(op, v, x, 4);
  Tensor hs = layer.states(), cs = hs, gates = layer.inputs();
  layer.put(hs, v[1]);
  layer.put(cs, v[2]);
  for (int64_t step = 0; step < layer.steps; ++step)
    layer.forEachUnit(step, [&](int64_t t, int64_t n, int64_t k) {
      double gate[4];
      for (int64_t g = 0; g < 4; ++g) {
        int64_t column = g * layer.units + k;
        gate[g] = gates.at({t, n, column}) =
            x.at({t, n, column}) + layer.product(hs, w, step, n, column);
      }
      double c = sigmoid(gate[1]) * cs.at({layer.before(step), n, k}) +
                 sigmoid(gate[0]) * std::tanh(gate[2]);
      if (!layer.counts(t, n)) {
        cs.at({layer.behind(step), n, k}) = cs.at({layer.before(step), n, k});
        hs.at({layer.behind(step), n, k}) = hs.at({layer.before(step), n, k});
        return;
      }
      cs.at({layer.behind(step), n, k}) = c;
      hs.at({layer.behind(step), n, k}) = sigmoid(gate[3]) * std::tanh(c);
    });
  return Result{hs, cs, gates};
}

Values lstmBackward(dl::LstmBackwardOp op, ArrayRef<Tensor> v) {
  Tensor dhs = v[0], dcs = v[1], dgates = v[2];
  const Tensor &gates = v[3], &cs = v[4], &w = v[5];
  Layer layer(op, v, gates, 4);
  for (int64_t step = layer.steps - 1; step >= 0; --step) {
    layer.forEachUnit(step, [&](int64_t t, int64_t n, int64_t k) {
      auto gate = [&](int64_t g) { return gates.at({t, n, g * layer.units + k}); };
      auto dgate = [&](int64_t g) -> double & { return dgates.at({t, n, g * layer.units + k}); };
      double before = cs.at({layer.before(step), n, k}), c = cs.at({layer.behind(step), n, k});
      double dh = dhs.at({layer.behind(step), n, k});
      if (!layer.counts(t, n)) {
        dhs.at({layer.before(step), n, k}) += dh;
        dcs.at({layer.before(step), n, k}) += dcs.at({layer.behind(step), n, k});
        return;
      }
      dgate(3) += dh * std::tanh(c) * sigmoidSlope(gate(3));
      double dc = dcs.at({layer.behind(step), n, k}) + dh * sigmoid(gate(3)) * tanhSlope(c);
      dgate(0) += dc * std::tanh(gate(2)) * sigmoidSlope(gate(0));
      dgate(1) += dc * before * sigmoidSlope(gate(1));
      dgate(2) += dc * sigmoid(gate(0)) * tanhSlope(gate(2));
      dcs.at({layer.before(step), n, k}) += dc * sigmoid(gate(1));
    });
    layer.addThroughProducts(dhs, dgates, w, step);
  }
  return Result{dgates, layer.first(dhs), layer.first(dcs)};
}

/// The three gates of a unit in front of their functions, the last one with the reset gate.
struct GruGates {
  double r, z, n;
  GruGates(const Layer &layer, const Tensor &x, const Tensor &p, int64_t t, int64_t sample,
           int64_t k) {
    auto of = [&](const Tensor &each, int64_t gate) {
      return each.at({t, sample, gate * layer.units + k});
    };
    r = of(x, 0) + of(p, 0);
    z = of(x, 1) + of(p, 1);
    n = of(x, 2) + sigmoid(r) * of(p, 2);
  }
};

Values gru(dl::GruOp op, ArrayRef<Tensor> v) {
  const Tensor &x = v[0], &w = v[2];
  Layer layer(op, v, x, 3);
  Tensor hs = layer.states(), products = layer.inputs();
  layer.put(hs, v[1]);
  for (int64_t step = 0; step < layer.steps; ++step)
    layer.forEachUnit(step, [&](int64_t t, int64_t n, int64_t k) {
      for (int64_t g = 0; g < 3; ++g) {
        int64_t column = g * layer.units + k;
        products.at({t, n, column}) =
            layer.product(hs, w, step, n, column) + (op.getBias() ? v[3].at({column}) : 0);
      }
      GruGates gate(layer, x, products, t, n, k);
      double before = hs.at({layer.before(step), n, k});
      hs.at({layer.behind(step), n, k}) =
          layer.counts(t, n) ? (1 - sigmoid(gate.z)) * std::tanh(gate.n) + sigmoid(gate.z) * before
                             : before;
    });
  return Result{hs, products};
}

Values gruBackward(dl::GruBackwardOp op, ArrayRef<Tensor> v) {
  Tensor dhs = v[0], dp = v[1];
  const Tensor &x = v[2], &products = v[3], &hs = v[4], &w = v[5];
  Layer layer(op, v, x, 3);
  Tensor dx = layer.inputs();
  for (int64_t step = layer.steps - 1; step >= 0; --step) {
    layer.forEachUnit(step, [&](int64_t t, int64_t n, int64_t k) {
      GruGates gate(layer, x, products, t, n, k);
      auto add = [&](Tensor &sum, int64_t g, double part) {
        sum.at({t, n, g * layer.units + k}) += part;
      };
      double dh = dhs.at({layer.behind(step), n, k}), before = hs.at({layer.before(step), n, k});
      if (!layer.counts(t, n)) {
        dhs.at({layer.before(step), n, k}) += dh;
        return;
      }
      double dz = dh * (before - std::tanh(gate.n)) * sigmoidSlope(gate.z);
      double dn = dh * (1 - sigmoid(gate.z)) * tanhSlope(gate.n);
      double dr = dn * products.at({t, n, 2 * layer.units + k}) * sigmoidSlope(gate.r);
      for (Tensor *each : {&dx, &dp}) {
        add(*each, 0, dr);
        add(*each, 1, dz);
      }
      add(dx, 2, dn);
      add(dp, 2, dn * sigmoid(gate.r));
      dhs.at({layer.before(step), n, k}) += dh * sigmoid(gate.z);
    });
    layer.addThroughProducts(dhs, dp, w, step);
  }
  return Result{dx, dp, layer.first(dhs)};
}

} // namespace

Values runRecurrent(Operation *op, ArrayRef<Tensor> v) {
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::LstmOp>([&](auto op) { return lstm(op, v); })
      .Case<dl::LstmBackwardOp>([&](auto op) { return lstmBackward(op, v); })
      .Case<dl::GruOp>([&](auto op) { return gru(op, v); })
      .Case<dl::GruBackwardOp>([&](auto op) { return gruBackward(op, v); })
      .Default(Values());
}

} // namespace dlc::interpreter
