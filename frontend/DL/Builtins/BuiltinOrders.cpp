// Elements in another order: sorted, turned round, repeated.
#include "dialects/DL/Formulas/Orders.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

namespace dlc::frontend {

using dl::TensorBuilder;
namespace formulas = dl::formulas;
using formulas::Ranking;

/// What both sorts check, and how they begin; nothing after an error.
static std::optional<Ranking> rank(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x, axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return std::nullopt;
  if (x.dtype() == DType::Bool) {
    call.fail("x", call.label + " does not work on " + describe(x.type()), "cast it with i32(...)");
    return std::nullopt;
  }
  Ranking ranking(at(call), x.value, axis);
  if (!call.checkSize(ranking.comparisons().getShape(), x.type().getElementType()))
    return std::nullopt;
  return ranking;
}

static Value buildSort(Call &call) {
  auto ranking = rank(call);
  if (!ranking)
    return Poison{};
  const Tensor &x = call.tensor("x");
  mlir::Value places = ranking->places(call.flag("descending"));
  Value values = call.makeLike(ranking->arrange(x.value, places), x);
  Value indices = call.makeLike(ranking->order(places), x);
  return call.evaluator.makeSequence({values, indices}, call.range);
}

static Value buildArgsort(Call &call) {
  auto ranking = rank(call);
  if (!ranking)
    return Poison{};
  mlir::Value places = ranking->places(call.flag("descending"));
  return call.makeLike(ranking->order(places), call.tensor("x"));
}

static Value buildFlip(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!readAxes(call, x, axes) || !call.checkNotBatch(x, axes, call.rangeOf("axes")))
    return Poison{};
  TensorBuilder b = at(call);
  return call.makeLike(formulas::flip(b, x.value, axes), x);
}

static Value buildTile(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> counts, joined;
  if (!call.integers("counts", x.rank(), 0, counts))
    return Poison{};
  for (auto [axis, count] : llvm::enumerate(counts)) {
    if (count != 1 && !call.checkNotBatch(x, {int64_t(axis)}, call.rangeOf("counts")))
      return Poison{};
    auto size = elementCount({count, x.shape()[axis]});
    if (!size)
      return call.fail("counts", llvm::Twine(count) + " times the " + llvm::Twine(x.shape()[axis]) +
                                     " elements of axis " + llvm::Twine(axis) +
                                     " is more than any tensor has");
    joined.push_back(*size);
  }
  if (!call.checkSize(joined, x.type().getElementType()))
    return Poison{};
  TensorBuilder b = at(call);
  return call.make(formulas::tile(b, x.value, counts), x.batch, {&x});
}

std::vector<Builtin> orderBuiltins() {
  using K = ParamKind;
  const std::vector<BuiltinParam> order{
      {"x", K::Tensor}, {"axis", K::Integer, -1}, {"descending", K::Bool, false}};
  return {
      {"sort", Category::Function, order,
       "the elements along an axis in order: values, indices; each is compared with each",
       buildSort, "", 2},
      {"argsort", Category::Function, order,
       "the numbers of the elements along an axis in their order", buildArgsort, "", 2},
      {"flip",
       Category::Function,
       {{"x", K::Tensor}, {"axes", K::Integers}},
       "the elements along axes from the last to the first",
       buildFlip},
      {"tile",
       Category::Function,
       {{"x", K::Tensor}, {"counts", K::Integers}},
       "x repeated, `counts` times along each axis",
       buildTile},
  };
}

} // namespace dlc::frontend
