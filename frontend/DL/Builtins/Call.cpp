// See Call.h.
#include "frontend/DL/Builtins/Call.h"

namespace dlc::frontend {

const EvaluatedArgument &Call::slot(llvm::StringRef name) const {
  for (auto [param, slot] : llvm::zip(builtin.params, slots))
    if (param.name == name)
      return slot;
  llvm_unreachable("a builder names only the parameters of its row");
}

Value Call::fail(llvm::StringRef argument, const llvm::Twine &message, const llvm::Twine &hint) {
  evaluator.error(rangeOf(argument), message).hint(hint);
  return Poison{};
}

llvm::SmallVector<int64_t> Call::integers(llvm::StringRef name) const {
  const Value &given = value(name);
  if (given.isInteger())
    return {given.integer()};
  return llvm::map_to_vector(given.items(), [](const Value &item) { return item.integer(); });
}

bool Call::integers(llvm::StringRef name, size_t count, int64_t least,
                    llvm::SmallVectorImpl<int64_t> &result) {
  if (value(name).isInteger())
    result.assign(count, integer(name));
  else
    result = integers(name);
  if (result.size() != count) {
    fail(name, "'" + name + "' of " + label + " has " + llvm::Twine(count) +
                   " numbers, one an axis, found " + llvm::Twine(result.size()));
    return false;
  }
  for (int64_t number : result)
    if (number < least) {
      fail(name,
           "'" + name + "' is " + llvm::Twine(least) + " or more, found " + llvm::Twine(number));
      return false;
    }
  return true;
}

bool Call::axis(llvm::StringRef name, const Tensor &x, int64_t &result, int64_t added) {
  int64_t given = integer(name), rank = x.rank() + added;
  result = given < 0 ? given + rank : given;
  if (result >= 0 && result < rank)
    return true;
  if (added)
    fail(name, "there is no axis " + llvm::Twine(given) + ", the result has " + llvm::Twine(rank),
         "axes count from 0, or from the end: -1");
  else
    failAxis(name, given, x);
  return false;
}

Value Call::failAxis(llvm::StringRef argument, int64_t given, const Tensor &x) {
  bool isOfClasses = builtin.category == Category::Loss || builtin.category == Category::Metric;
  std::string last = std::to_string(x.rank() - 1);
  evaluator
      .errorAbout(rangeOf(argument),
                  "there is no axis " + llvm::Twine(given) + ", the tensor " + describe(x.type()) +
                      " has " + llvm::Twine(x.rank()),
                  x, "the tensor")
      .hint(isOfClasses     ? "it takes a number for each sample and class: f32[N, classes]"
            : x.rank() == 0 ? "one number has no axes; it may be a sum or mean that came too early"
            : x.rank() == 1 ? "it has axis 0 only"
                            : "it has axes 0 to " + last + ", or from the end -1 to -" +
                                  std::to_string(x.rank()));
  return Poison{};
}

bool Call::checkNumbers(llvm::StringRef name, int64_t count, std::optional<int64_t> ignored) {
  auto wrong = EntryBuilder::findNoClass(tensor(name).value, count, ignored);
  if (!wrong || count == 0)
    return true;
  fail(name, "'" + name + "' of " + label + " is from 0 to " + llvm::Twine(count - 1) +
                 (ignored ? ", or " + llvm::Twine(*ignored).str() : "") + ", found " +
                 llvm::Twine(*wrong));
  return false;
}

bool Call::markNumbers(llvm::StringRef name, int64_t count, std::optional<int64_t> ignored) {
  if (!checkNumbers(name, count, ignored))
    return false;
  entry().markClasses(tensor(name).value, count, ignored);
  return true;
}

std::optional<Tensor> Call::weight(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                                   mlir::Type element, const Value &standard, int64_t fanIn,
                                   int64_t fanOut) {
  if (!checkSize(shape, element))
    return std::nullopt;
  const bool isBias = name.starts_with("bias");
  (isBias ? makesBias : makesWeight) = true;
  const Value &given = isBias ? attributes.biasInit : attributes.init;
  mlir::Location where = location();
  return evaluator.parameter(takenPath + "." + name.str(),
                             mlir::RankedTensorType::get(shape, element),
                             given.isNone() ? standard : given, attributes, fanIn, fanOut,
                             nameRange.isValid() ? nameRange : range, where);
}

} // namespace dlc::frontend
