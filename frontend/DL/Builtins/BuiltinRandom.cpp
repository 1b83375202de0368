// Random numbers, told apart by the call's path, and by how many draws of that path stand before it
// in the entry: a model that is called twice.
#include "dialects/DL/Formulas/Random.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/xxhash.h"

namespace dlc::frontend {

/// What tells the draws of this call from all others of the entry.
static int32_t streamOf(Call &call) {
  llvm::SmallDenseSet<int32_t> taken;
  for (auto op : call.entry().builder.getBlock()->getOps<dl::RandomOp>())
    taken.insert(op.getPath());
  std::string path = call.path();
  auto number = [&] { return static_cast<int32_t>(llvm::xxh3_64bits(path)); };
  while (taken.contains(number()))
    path += '\'';
  return number();
}

/// A tensor of draws, of which those along `batch` belong to samples.
static mlir::Value draw(Call &call, dl::RandomKind kind, llvm::ArrayRef<int64_t> shape,
                        BatchAxis batch) {
  dl::TensorBuilder b = at(call);
  std::optional<dl::formulas::DrawnSamples> samples;
  if (batch.exists())
    samples = {batch.axis, call.entry().samples(), batch.outer, batch.inner};
  return dl::formulas::draw(b, kind, shape, samples, streamOf(call));
}

/// Of `shape`, whose first axis is that of the samples if it is as long.
static std::optional<Tensor> drawShape(Call &call, dl::RandomKind kind) {
  llvm::SmallVector<int64_t> shape;
  if (!readShape(call, /*mayBeOpen=*/false, shape) ||
      !call.checkSize(shape, call.entry().builder.getF32Type()))
    return std::nullopt;
  BatchAxis batch;
  if (!shape.empty() && shape[0] == call.entry().samples())
    batch.axis = 0;
  Tensor result = call.make(draw(call, kind, shape, batch), batch, {});
  result.hasData = batch.exists();
  return result;
}

static Value affine(Call &call, std::optional<Tensor> draws, double factor, double shift) {
  if (!draws)
    return Poison{};
  dl::TensorBuilder b = at(call);
  draws->value = b.shift(b.scale(draws->value, factor), shift);
  return *draws;
}

static Value buildNormal(Call &call) {
  if (call.number("std") < 0)
    return call.fail("std", "'std' is 0 or more, found " + text(call.value("std")));
  return affine(call, drawShape(call, dl::RandomKind::Normal), call.number("std"),
                call.number("mean"));
}

static Value buildUniform(Call &call) {
  double low = call.number("low"), high = call.number("high");
  if (low > high)
    return call.fail("low", "'low' is at most 'high', found " + text(call.value("low")) + " and " +
                                text(call.value("high")));
  return affine(call, drawShape(call, dl::RandomKind::Uniform), high - low, low);
}

static Value buildBernoulli(Call &call) {
  double p = call.number("p");
  if (!(p >= 0 && p <= 1))
    return call.fail("p", "'p' is from 0 to 1, found " + text(call.value("p")));
  std::optional<Tensor> draws = drawShape(call, dl::RandomKind::Uniform);
  if (!draws)
    return Poison{};
  dl::TensorBuilder b = at(call);
  draws->value = dl::formulas::bernoulli(b, draws->value, p);
  return *draws;
}

mlir::Value drawKept(Call &call, llvm::ArrayRef<int64_t> shape, BatchAxis batch, double rate) {
  mlir::Value draws = draw(call, dl::RandomKind::Uniform, shape, batch);
  dl::TensorBuilder b = at(call);
  return dl::formulas::keptBy(b, draws, rate);
}

Tensor applyDropout(Call &call, const Tensor &x, double rate) {
  // The name is taken in every phase.
  call.path();
  if (!call.entry().isTraining() || rate == 0)
    return x;
  mlir::Value kept = drawKept(call, x.shape(), x.batch, rate);
  dl::TensorBuilder b = at(call);
  return call.makeLike(dl::formulas::dropout(b, x.value, kept, rate), x);
}

bool readDropout(Call &call, llvm::StringRef name, double &rate) {
  rate = call.number(name);
  if (rate >= 0 && rate < 1)
    return true;
  call.fail(name, "'" + name + "' is from 0 to below 1, found " + text(call.value(name)));
  return false;
}

static Value buildDropout(Call &call) {
  double rate;
  if (!readDropout(call, "rate", rate))
    return Poison{};
  return applyDropout(call, call.tensor("x"), rate);
}

std::vector<Builtin> randomBuiltins() {
  using K = ParamKind;
  return {
      {"dropout",
       Category::Function,
       {{"x", K::FloatTensor}, {"rate", K::Number, 0.5}},
       "zeroes elements in training, scales the others",
       buildDropout},
      {"random_normal",
       Category::Source,
       {{"shape", K::Integers}, {"mean", K::Number, 0}, {"std", K::Number, 1}},
       "normal draws",
       buildNormal},
      {"random_uniform",
       Category::Source,
       {{"shape", K::Integers}, {"low", K::Number, 0}, {"high", K::Number, 1}},
       "uniform draws",
       buildUniform},
      {"random_bernoulli",
       Category::Source,
       {{"shape", K::Integers}, {"p", K::Number}},
       "1 with probability p, else 0",
       buildBernoulli},
  };
}

} // namespace dlc::frontend
