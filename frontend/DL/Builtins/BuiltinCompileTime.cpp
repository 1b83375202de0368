// Functions of shapes, numbers and sequences: known while the model is evaluated.
#include "frontend/DL/Builtins/Call.h"

#include <cmath>

namespace dlc::frontend {

static Value buildChannels(Call &call) {
  const Tensor &x = call.tensor("x");
  if (x.rank() < 2)
    return call.fail("x",
                     "channels expects a tensor of rank 2 or more, found " + describe(x.type()));
  return x.shape()[1];
}

static Value buildSize(Call &call) {
  int64_t axis;
  const Tensor &x = call.tensor("x");
  return call.axis("axis", x, axis) ? Value(x.shape()[axis]) : Value(Poison{});
}

static Value buildShape(Call &call) {
  std::vector<Value> sizes;
  for (int64_t size : call.tensor("x").shape())
    sizes.push_back(size);
  return sizes;
}

static Value buildRank(Call &call) { return call.tensor("x").rank(); }
static Value buildLen(Call &call) { return int64_t(call.value("sequence").items().size()); }

static Value buildRange(Call &call) {
  bool both = !call.isNone("b");
  int64_t begin = both ? call.integer("a") : 0, end = call.integer(both ? "b" : "a"),
          step = call.integer("step");
  if (step == 0)
    return call.fail("step", "the step of a range is not 0");
  // In 128 bits, because the ends may be anywhere.
  __int128 span = step > 0 ? __int128(end) - begin : __int128(begin) - end,
           stride = step > 0 ? step : -__int128(step);
  __int128 count = span <= 0 ? 0 : (span + stride - 1) / stride;
  if (!call.evaluator.spendElements(int64_t(std::min<__int128>(count, maxElements + 1)),
                                    call.range))
    return Poison{};
  std::vector<Value> numbers;
  for (int64_t i = 0; i < int64_t(count); ++i)
    numbers.push_back(begin + i * step);
  return numbers;
}

static Value buildEnumerate(Call &call) {
  std::vector<Value> pairs;
  llvm::ArrayRef<Value> items = call.value("sequence").items();
  if (!call.evaluator.spendElements(2 * items.size(), call.range))
    return Poison{};
  for (auto [i, item] : llvm::enumerate(items))
    pairs.push_back(std::vector<Value>{int64_t(i), item});
  return call.evaluator.makeSequence(std::move(pairs), call.range);
}

static Value buildZip(Call &call) {
  llvm::ArrayRef<Value> a = call.value("a").items(), b = call.value("b").items();
  if (a.size() != b.size())
    return call.fail("b", "zip takes sequences of one length, found " + llvm::Twine(a.size()) +
                              " and " + llvm::Twine(b.size()));
  if (!call.evaluator.spendElements(2 * a.size(), call.range))
    return Poison{};
  std::vector<Value> pairs;
  for (auto [x, y] : llvm::zip(a, b))
    pairs.push_back(std::vector<Value>{x, y});
  return call.evaluator.makeSequence(std::move(pairs), call.range);
}

static Value buildReversed(Call &call) {
  llvm::ArrayRef<Value> items = call.value("sequence").items();
  if (!call.evaluator.spendElements(items.size(), call.range))
    return Poison{};
  return std::vector<Value>(items.rbegin(), items.rend());
}

static Value buildDiv(Call &call) {
  int64_t a = call.integer("a"), b = call.integer("b");
  if (b == 0)
    return call.fail("b", "division by zero");
  if (a == INT64_MIN && b == -1)
    return call.fail("a", "integer overflow");
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static Value buildInt(Call &call) {
  double v = std::trunc(call.number("v"));
  if (call.value("v").isInteger())
    return call.integer("v");
  if (!(std::abs(v) < 0x1p63))
    return call.fail("v", text(call.value("v")) + " does not fit in an integer");
  return int64_t(v);
}

static Value buildFloat(Call &call) { return call.number("v"); }

static Value buildFormat(Call &call) {
  llvm::SmallVector<llvm::StringRef> pieces;
  call.string("text").split(pieces, "{}");
  const llvm::SmallVector<int64_t> numbers = call.integers("numbers");
  if (numbers.size() != pieces.size() - 1)
    return call.fail("numbers", text(call.value("text")) + " has room for " +
                                    llvm::Twine(pieces.size() - 1) + " numbers, found " +
                                    llvm::Twine(numbers.size()));
  std::string result = pieces.front().str();
  for (auto [number, piece] : llvm::zip(numbers, llvm::drop_begin(pieces)))
    result += std::to_string(number) + piece.str();
  return result;
}

std::vector<Builtin> compileTimeBuiltins() {
  using K = ParamKind;
  auto row = [](llvm::StringLiteral name, llvm::StringLiteral doc, std::vector<BuiltinParam> params,
                Value (*build)(Call &)) {
    return Builtin{name, Category::CompileTime, std::move(params), doc, build};
  };
  return {
      row("channels", "size of axis 1", {{"x", K::Tensor}}, buildChannels),
      row("size", "size of an axis", {{"x", K::Tensor}, {"axis", K::Integer}}, buildSize),
      row("shape", "sizes of all axes", {{"x", K::Tensor}}, buildShape),
      row("rank", "number of axes", {{"x", K::Tensor}}, buildRank),
      row("len", "number of elements of a sequence", {{"sequence", K::Sequence}}, buildLen),
      row("range", "0 to a - 1, or a to b - 1",
          {{"a", K::Integer}, {"b", K::Integer, NoneValue{}, true}, {"step", K::Integer, 1}},
          buildRange),
      row("enumerate", "pairs of a number from 0 and an element", {{"sequence", K::Sequence}},
          buildEnumerate),
      row("zip", "pairs of elements of two sequences", {{"a", K::Sequence}, {"b", K::Sequence}},
          buildZip),
      row("reversed", "the elements from the last to the first", {{"sequence", K::Sequence}},
          buildReversed),
      row("div", "a / b, rounded down", {{"a", K::Integer}, {"b", K::Integer}}, buildDiv),
      row("int", "the whole part of a number", {{"v", K::Number}}, buildInt),
      row("float", "a number as a float", {{"v", K::Number}}, buildFloat),
      row("format", "`text` with whole numbers in place of each `{}`, for names of layers",
          {{"text", K::String}, {"numbers", K::Integers}}, buildFormat),
  };
}

} // namespace dlc::frontend
