// Calls: what is called, and what an observer hears of it.
#include "frontend/DL/Evaluation/Evaluator.h"

namespace dlc::frontend {

using namespace ast;

Value Evaluator::call(const Callable &callee, SourceRange name,
                      std::vector<EvaluatedArgument> arguments) {
  EvaluationObserver *observer = program.options.observer;
  size_t before = program.variables.size();
  Value result = callUnwatched(callee, name, std::move(arguments));
  observeValue(name, result);
  if (observer && name.isValid()) {
    int64_t count = 0;
    for (const auto &variable : llvm::ArrayRef(program.variables).drop_front(before))
      count += variable->type.getNumElements();
    observer->onCall(name, count);
  }
  return result;
}

Value Evaluator::callUnwatched(const Callable &callee, SourceRange name,
                               std::vector<EvaluatedArgument> arguments) {
  if (!spend(1, name) ||
      llvm::any_of(arguments, [](const auto &each) { return each.value.isPoison(); }))
    return Poison{};
  if (callee.builtin)
    return callBuiltin(*callee.builtin, name, std::move(arguments), nullptr);
  if (callee.layer)
    return callLayer(*callee.layer, name, std::move(arguments));
  if (callee.model)
    return callModel(*callee.model, arguments, name, /*implicit=*/false);
  return callBlock(*callee.block, *callee.module, name, std::move(arguments), nullptr);
}

Value Evaluator::evaluateCall(const CallExpr &node) {
  Value callee = evaluate(*node.callee);
  std::vector<EvaluatedArgument> arguments;
  if (!evaluateArguments(node.arguments, arguments) || callee.isPoison())
    return Poison{};
  if (auto *dtype = callee.getIf<DType>(); dtype && isElement(*dtype)) {
    Callable cast;
    cast.builtin = findBuiltin(spelling(*dtype));
    return call(cast, node.callee->range, std::move(arguments));
  }
  if (auto *callable = callee.getIf<Callable>())
    return call(*callable, node.callee->range, std::move(arguments));
  errorNotCallable(node.callee->range, "this", callee);
  return Poison{};
}

void Evaluator::errorNotCallable(SourceRange range, const llvm::Twine &what, const Value &callee) {
  auto builder = error(range, what + " cannot be called: it is " + describe(callee));
  llvm::StringRef name = program.sources.text(range);
  const Bound *bound = lookupLocal(name);
  if (bound && findBuiltin(name))
    builder.note(bound->range, "'" + name + "' is bound here, which hides the built-in");
}

} // namespace dlc::frontend
