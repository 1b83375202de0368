//===- Random.cpp - see Random.h --------------------------------------------------------------===//
#include "dialects/DL/Formulas/Random.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"

using namespace mlir;

namespace dlc::dl::formulas {

Value draw(TensorBuilder &b, RandomKind kind, ArrayRef<int64_t> shape,
           std::optional<DrawnSamples> samples, int32_t stream) {
  auto type = RankedTensorType::get(shape, b.builder.getI32Type());
  // What the runtime writes.
  auto given = [&](StringRef name) -> Value {
    Value number = ScalarOp::create(b.builder, b.loc, type.clone(ArrayRef<int64_t>()), name,
                                    llvm::APFloat(0.0), /*scheduled=*/false);
    return b.broadcast(number, type, {});
  };
  auto numbers = [&](ArrayRef<int64_t> axes, DenseI64ArrayAttr space) -> Value {
    return IotaOp::create(b.builder, b.loc, type, axes, space);
  };
  Value element, sample;
  if (samples && (samples->outer != 1 || samples->inner != 1)) {
    int64_t before = samples->outer * llvm::product_of(shape.take_front(samples->axis));
    int64_t behind = samples->inner * llvm::product_of(shape.drop_front(samples->axis + 1));
    auto space = b.builder.getDenseI64ArrayAttr({before, samples->count, behind});
    element = numbers({0, 2}, space);
    sample = numbers({1}, space);
  } else {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    if (samples)
      llvm::erase(axes, samples->axis);
    element = numbers(axes, {});
    sample = samples ? numbers({samples->axis}, {}) : b.splat(type, 0);
  }
  Value first = samples ? given("random.first_sample") : b.splat(type, 0);
  Value step = given("random.step"), low = given("random.seed_low"),
        high = given("random.seed_high");
  return RandomOp::create(b.builder, b.loc, type.clone(b.builder.getF32Type()), kind, element,
                          sample, first, step, low, high, stream);
}

Value bernoulli(TensorBuilder &b, Value draws, double p) {
  return b.castLike(b.compare(Predicate::LT, draws, b.splatLike(draws, p)), draws);
}

Value keptBy(TensorBuilder &b, Value draws, double rate) {
  return b.compare(Predicate::GE, draws, b.splatLike(draws, rate));
}

Value dropout(TensorBuilder &b, Value x, Value kept, double rate) {
  return b.keepWhere(kept, b.scale(x, 1 / (1 - rate)));
}

} // namespace dlc::dl::formulas
