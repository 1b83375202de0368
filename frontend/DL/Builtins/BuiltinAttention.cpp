// Attention.
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Ops/DLAttentionOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

#include <cmath>

namespace dlc::frontend {

/// q [N, heads, T, D], k [N, heads, S, D], v [N, heads, S, E]; reports what does not fit. `batch`
/// becomes that of those that have one.
static bool checkOperands(Call &call, const Tensor &q, const Tensor &k, const Tensor &v,
                          BatchAxis &batch) {
  for (auto [name, tensor] : {std::pair("q", &q), {"k", &k}, {"v", &v}}) {
    if (tensor->rank() != 4) {
      call.fail(name, llvm::Twine("attention expects [N, heads, T, D], found ") +
                          describe(tensor->type()));
      return false;
    }
    if (!call.checkNotBatch(*tensor, {2, 3}, call.rangeOf(name)))
      return false;
    if (!batch.exists())
      batch = tensor->batch;
    if (tensor->dtype() != q.dtype() || tensor->shape().take_front(2) != q.shape().take_front(2) ||
        (tensor->batch.exists() && tensor->batch != batch)) {
      call.fail(name, llvm::Twine("attention expects q, k and v of one type, batch and number of "
                                  "heads, found ") +
                          describe(q.type()) + " and " + describe(tensor->type()));
      return false;
    }
  }
  if (q.shape()[3] != k.shape()[3]) {
    call.fail("k", "q and k have equal last axes, found " + describe(q.type()) + " and " +
                       describe(k.type()));
    return false;
  }
  if (k.shape()[2] != v.shape()[2] || k.shape()[2] == 0) {
    call.fail("v", "k and v have as many rows, 1 or more, found " + describe(k.type()) + " and " +
                       describe(v.type()));
    return false;
  }
  return true;
}

/// The mask for each score; null without one. Poison after an error.
static std::optional<mlir::Value> readMask(Call &call, const Tensor &q,
                                           llvm::ArrayRef<int64_t> scores, BatchAxis batch) {
  if (call.isNone("mask"))
    return mlir::Value();
  Tensor mask = call.tensor("mask");
  if (mask.dtype() != DType::Bool && mask.dtype() != q.dtype()) {
    call.fail("mask", "'mask' is a bool tensor, true where a score is seen, or one of " +
                          spelling(q.dtype()) + " that is added, found " + describe(mask.type()));
    return std::nullopt;
  }
  int64_t offset = int64_t(scores.size()) - mask.rank();
  bool fits = offset >= 0;
  for (int64_t i = 0; fits && i < mask.rank(); ++i)
    fits = mask.shape()[i] == 1 || mask.shape()[i] == scores[offset + i];
  BatchAxis own = mask.batch;
  own.axis += own.exists() ? int(offset) : 0;
  if (!fits || (own.exists() && own != batch)) {
    call.fail("mask",
              describe(mask.type()) + " cannot be repeated to the scores " + joinSizes(scores));
    return std::nullopt;
  }
  dl::TensorBuilder b = at(call);
  return dl::formulas::expandTo(b, mask.value, scores);
}

Value buildAttention(Call &call) {
  const Tensor &q = call.tensor("q"), &k = call.tensor("k"), &v = call.tensor("v");
  BatchAxis batch;
  if (!checkOperands(call, q, k, v, batch))
    return Poison{};
  llvm::SmallVector<int64_t> scores(q.shape().take_front(3));
  scores.push_back(k.shape()[2]);
  std::optional<mlir::Value> mask = readMask(call, q, scores, batch);
  if (!mask)
    return Poison{};
  double rate;
  if (!readDropout(call, "dropout", rate))
    return Poison{};
  double depth = double(q.shape()[3]);
  double scale = call.isNone("scale") ? 1 / std::sqrt(std::max(depth, 1.0)) : call.number("scale");
  mlir::OpBuilder &b = call.entry().builder;
  mlir::Value kept;
  mlir::FloatAttr dropped;
  if (rate != 0)
    call.path(); // taken in every phase
  if (call.entry().isTraining() && rate != 0) {
    kept = drawKept(call, scores, batch, rate);
    dropped = b.getF64FloatAttr(rate);
  }
  auto op = dl::AttentionOp::create(b, call.location(), q.value, k.value, v.value, *mask, kept,
                                    b.getF64FloatAttr(scale), dropped,
                                    call.flag("causal") ? b.getUnitAttr() : mlir::UnitAttr());
  if (call.isNone("mask"))
    return call.make(op.getO(), batch, {&q, &k, &v});
  return call.make(op.getO(), batch, {&q, &k, &v, &call.tensor("mask")});
}

} // namespace dlc::frontend
