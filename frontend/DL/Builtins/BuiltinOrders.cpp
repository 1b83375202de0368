// Elements in another order: sorted, turned round, repeated.
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "frontend/DL/Builtins/Formulas.h"

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::frontend {

using dl::Predicate;
using dl::ReduceKind;
using dl::TensorBuilder;
using Node = mlir::Value;

static TensorBuilder at(Call &call) { return {call.entry().builder, call.location()}; }

namespace {
/// The order of the elements along `axis` of x, by comparing each with each: [..., n, n], where
/// axis `axis` counts elements and the one behind it those that they are compared with. Nothing of
/// this size is stored: it is computed where it is added up.
struct Ranking {
  TensorBuilder b;
  Node x;
  int64_t axis;
  mlir::RankedTensorType wide;

  Ranking(Call &call, const Tensor &tensor, int64_t axis)
      : b(at(call)), x(tensor.value), axis(axis) {
    llvm::SmallVector<int64_t> shape(tensor.shape());
    shape.insert(shape.begin() + axis, shape[axis]);
    wide = tensor.type().clone(shape);
  }

  Node each(Node value) {
    return b.broadcastOver(value, wide.clone(b.typeOf(value).getElementType()), {axis + 1});
  }
  Node other(Node value) {
    return b.broadcastOver(value, wide.clone(b.typeOf(value).getElementType()), {axis});
  }
  Node numbers(int64_t along) { return b.iota(wide.getShape(), b.builder.getI32Type(), along); }
  Node isBoth(Node p, Node q) { return b.select(p, q, b.splatLike(q, 0)); }
  Node isEither(Node p, Node q) { return b.select(p, b.splatLike(p, 1), q); }
  Node isNot(Node p) { return b.select(p, b.splatLike(p, 0), b.splatLike(p, 1)); }

  /// i32 like x: how many elements come before each. Equal ones keep their order, and what is not
  /// a number comes last.
  Node places(bool descending) {
    Node before = b.compare(descending ? Predicate::GT : Predicate::LT, other(x), each(x));
    Node isEqual = b.compare(Predicate::EQ, other(x), each(x));
    if (mlir::isa<mlir::FloatType>(wide.getElementType())) {
      Node isNaN = b.compare(Predicate::NE, x, x);
      before = isEither(before, isBoth(each(isNaN), isNot(other(isNaN))));
      isEqual = isEither(isEqual, isBoth(each(isNaN), other(isNaN)));
    }
    Node isEarlier = b.compare(Predicate::LT, numbers(axis + 1), numbers(axis));
    Node counts = isEither(before, isBoth(isEqual, isEarlier));
    auto whole = wide.clone(b.builder.getI32Type());
    return b.reduce(ReduceKind::Sum,
                    dl::CastOp::create(b.builder, b.loc, whole, counts).getResult(), {axis + 1});
  }
  /// `values`, in the order that their places say.
  Node arrange(Node values, Node places) {
    Node isThere = b.compare(Predicate::EQ, other(places), numbers(axis));
    return b.reduce(ReduceKind::Sum, b.keepWhere(isThere, other(values)), {axis + 1});
  }
};
} // namespace

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
  Ranking ranking(call, x, axis);
  if (!call.checkSize(ranking.wide.getShape(), x.type().getElementType()))
    return std::nullopt;
  return ranking;
}

static Node orderOf(Ranking &ranking, Node places) {
  TensorBuilder &b = ranking.b;
  Node numbers = b.iota(b.typeOf(places).getShape(), b.builder.getI32Type(), ranking.axis);
  return ranking.arrange(numbers, places);
}

static Value buildSort(Call &call) {
  auto ranking = rank(call);
  if (!ranking)
    return Poison{};
  const Tensor &x = call.tensor("x");
  Node places = ranking->places(call.flag("descending"));
  Value values = call.makeLike(ranking->arrange(x.value, places), x);
  Value indices = call.makeLike(orderOf(*ranking, places), x);
  return call.evaluator.makeSequence({values, indices}, call.range);
}

static Value buildArgsort(Call &call) {
  auto ranking = rank(call);
  if (!ranking)
    return Poison{};
  return call.makeLike(orderOf(*ranking, ranking->places(call.flag("descending"))),
                       call.tensor("x"));
}

/// Each part along an axis by its number from behind.
static Value buildFlip(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!readAxes(call, x, axes) || !call.checkNotBatch(x, axes, call.rangeOf("axes")))
    return Poison{};
  TensorBuilder b = at(call);
  Node y = x.value;
  for (int64_t axis : axes) {
    int64_t size = x.shape()[axis];
    Node numbers = b.iota({size}, b.builder.getI32Type(), 0);
    Node fromBehind = b.subtract(b.splatLike(numbers, double(size - 1)), numbers);
    y = dl::GatherOp::create(b.builder, b.loc, y, fromBehind, axis);
  }
  return call.makeLike(y, x);
}

/// One axis after the other, so that no more than one is added: [a, b] to [n, a, b], which is
/// [n * a, b].
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
  Node y = x.value;
  for (auto [axis, count] : llvm::enumerate(counts)) {
    if (count == 1)
      continue;
    llvm::SmallVector<int64_t> wide(b.typeOf(y).getShape()), dims;
    for (size_t i = 0; i < wide.size(); ++i)
      dims.push_back(int64_t(i + (i >= axis)));
    wide.insert(wide.begin() + axis, count);
    y = b.broadcast(y, x.type().clone(wide), dims);
    wide.erase(wide.begin() + axis);
    wide[axis] *= count;
    y = b.reshape(y, x.type().clone(wide));
  }
  return call.make(y, x.batch, {&x});
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
