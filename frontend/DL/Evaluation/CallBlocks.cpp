// Calls of blocks, models and layers: each runs a body, or a built-in, in a frame of its own.
#include "frontend/DL/Evaluation/Evaluator.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

std::string Evaluator::signatureOf(const Block &block) {
  std::string text = block.name.text.str() + "(";
  for (auto [i, param] : llvm::enumerate(block.params)) {
    text += (i ? ", " : "") + param.name.text.str();
    if (param.defaultValue)
      text += "=" + program.sources.text(param.defaultValue->range).str();
  }
  return text.size() > 80 ? text.substr(0, 77) + "..." : text + ")";
}

bool Evaluator::enterCall(const Block &block, SourceRange range) {
  unsigned levels = 0;
  for (const Frame *outer = frame; outer; outer = outer->parent, ++levels)
    if (outer->block == &block) {
      error(range, "'" + block.name.text + "' calls itself")
          .note(block.name.range, "declared here");
      return false;
    }
  if (levels > maxCallDepth) {
    if (!std::exchange(stopped, true))
      error(range, "blocks are called more than " + llvm::Twine(maxCallDepth) + " levels deep");
    return false;
  }
  if (++blockCalls > maxBlockCalls && !std::exchange(stopped, true))
    error(range, "blocks are called more than " + llvm::Twine(maxBlockCalls) + " times");
  return !stopped;
}

/// Runs the body in the current frame, whose first scope holds the parameters.
Value Evaluator::runBody(const Block &block) {
  llvm::SaveAndRestore guard(wanted, std::optional<Category>());
  if (!executeBody(block.body.drop_back()))
    return Poison{};
  keepStates();
  const auto &last = llvm::cast<ReturnStatement>(*block.body.back());
  if (last.values.size() == 1)
    return evaluate(*last.values.front());
  std::vector<Value> values;
  bool failed = false;
  for (const Expr *value : last.values) {
    values.push_back(evaluate(*value));
    failed |= values.back().isPoison();
  }
  return failed ? Value(Poison{}) : makeSequence(std::move(values), last.range);
}

Value Evaluator::callBlock(const Block &block, Module &module, SourceRange name,
                           std::vector<EvaluatedArgument> arguments, LayerInstance *layer) {
  LayerAttributes attributes = layer ? layer->attributes : frame->attributes;
  OwnName ownName;
  llvm::SmallVector<llvm::StringRef> params;
  llvm::SmallVector<bool> required;
  for (const Param &param : block.params) {
    params.push_back(param.name.text);
    required.push_back(!param.defaultValue);
  }
  llvm::SmallVector<llvm::StringRef> attributeNames(layerAttributeNames().begin(),
                                                    layerAttributeNames().end());
  std::vector<EvaluatedArgument> slots;
  auto signature = [&] { return signatureOf(block); };
  if (!enterCall(block, name) || !takeAttributes(arguments, true, attributes, ownName) ||
      !bindArguments(block.name.text, name, params, arguments, slots, signature, attributeNames) ||
      !requireArguments(block.name.text, name, params, required, slots, signature))
    return Poison{};

  NameScope scope;
  std::string part = ownName.path.empty() && !layer ? names().next(block.name.text) : ownName.path;
  scope.prefix = layer ? layer->path : names().join(part);
  callFrames.push_back({frame->call, name, block.name.text, scope.prefix});
  Frame own(module, scope, block, callFrames.back(), frame);
  own.attributes = attributes;
  llvm::SaveAndRestore guard(frame, &own);
  mlir::Type unmarked;
  llvm::SaveAndRestore mark(entry ? entry->marker.precision : unmarked, attributes.precision);
  for (auto [param, slot] : llvm::zip(block.params, slots)) {
    if (!slot.range.isValid())
      slot = {{}, evaluate(*param.defaultValue), param.name.range};
    if (slot.value.isPoison() || (param.type && !checkType(slot.value, *param.type, slot.range,
                                                           "'" + param.name.text + "' is")))
      return Poison{};
    bind(param.name.text, slot.value, slot.range);
  }
  return checkResults(block, runBody(block));
}

Value Evaluator::callModel(ModelInstance &model, llvm::ArrayRef<EvaluatedArgument> given,
                           SourceRange range, bool implicit) {
  const Block &block = *model.block;
  std::vector<EvaluatedArgument> arguments(given), slots;
  llvm::SmallVector<llvm::StringRef> params;
  for (const Param &param : block.params)
    if (param.type)
      params.push_back(param.name.text);
  llvm::SmallVector<bool> required(params.size(), true);
  auto signature = [&] { return signatureOf(block); };
  if (!enterCall(block, range) ||
      !bindArguments(block.name.text, range, params, arguments, slots, signature, {}) ||
      !requireArguments(block.name.text, range, params, required, slots, signature))
    return Poison{};
  NameScope scope;
  scope.prefix = model.prefix;
  callFrames.push_back(
      {frame->call, implicit ? SourceRange() : range, block.name.text, model.prefix});
  ++model.activation;
  activeShared.push_back(&model);
  Frame own(*model.module, scope, block, callFrames.back(), frame);
  llvm::SaveAndRestore guard(frame, &own);
  for (const Param &param : block.params)
    if (!param.type)
      bind(param.name.text, model.settings.lookup(param.name.text), param.name.range);
  bool valid = true;
  for (const Param &param : block.params) {
    if (!param.type)
      continue;
    const EvaluatedArgument &slot = slots[llvm::find(params, param.name.text) - params.begin()];
    valid &= checkType(slot.value, *param.type, slot.range, "'" + param.name.text + "' is");
    bind(param.name.text, slot.value, param.name.range);
  }
  Value result = valid ? checkResults(block, runBody(block)) : Value(Poison{});
  activeShared.pop_back();
  return result;
}

Value Evaluator::checkResults(const Block &block, Value result) {
  if (!block.isModel || result.isPoison())
    return result;
  const auto &last = llvm::cast<ReturnStatement>(*block.body.back());
  std::string what = block.name.text.str() + " returns";
  if (block.results.single) {
    SourceRange range = last.values.size() == 1 ? valueRange(*last.values.front()) : last.range;
    if (result.isSequence()) {
      std::string hint = hintForResults(result);
      error(range, what + " " + counted(result.items().size(), "value") + ", declared is one")
          .hint(hint.empty() ? "several results have names: -> (a: f32[N, 10], b: f32[N, 2])"
                             : hint)
          .note(block.results.range, "declared here");
      return Poison{};
    }
    return checkType(result, *block.results.single, range, what) ? result : Value(Poison{});
  }
  llvm::ArrayRef<Field> fields = block.results.fields;
  size_t count = result.isSequence() ? result.items().size() : 1;
  if (count != fields.size()) {
    error(last.range,
          what + " " + counted(count, "value") + ", declared are " + llvm::Twine(fields.size()))
        .note(block.results.range, "declared here");
    return Poison{};
  }
  for (auto [i, field] : llvm::enumerate(fields)) {
    SourceRange range =
        last.values.size() == fields.size() ? valueRange(*last.values[i]) : last.range;
    const Value &value = result.isSequence() ? result.items()[i] : result;
    if (!checkType(value, field.type, range, "'" + field.name.text + "' is"))
      return Poison{};
  }
  return result;
}

/// Fills the holes of `layer f = ...` in order and calls what it stands for, under the layer's
/// path.
Value Evaluator::callLayer(LayerInstance &layer, SourceRange name,
                           std::vector<EvaluatedArgument> given) {
  std::vector<EvaluatedArgument> arguments;
  size_t next = 0, holeCount = llvm::count_if(layer.node->arguments, [](const Argument &argument) {
                     return llvm::isa<HoleExpr>(argument.value);
                   });
  if (given.size() != holeCount ||
      llvm::any_of(given, [](auto &each) { return !each.name.text.empty(); })) {
    error(name, "layer '" + layer.name + "' takes " + counted(holeCount, "value") +
                    ", one for each '_', found " + llvm::Twine(given.size()))
        .hint(holeCount ? ""
                        : "layer " + layer.name + " = " + layer.node->callee.text +
                              "(_, ...): '_' is the value to come")
        .note(layer.node->name.range, "declared here");
    return Poison{};
  }
  for (auto [argument, value] : llvm::zip(layer.node->arguments, layer.arguments)) {
    bool isHole = llvm::isa<HoleExpr>(argument.value);
    Value filled = isHole ? given[next].value : value;
    SourceRange range = isHole ? given[next].range : argument.value->range;
    next += isHole;
    arguments.push_back({argument.name, std::move(filled), range});
  }
  ++layer.activation;
  activeShared.push_back(&layer);
  Value result = layer.callee.builtin
                     ? callBuiltin(*layer.callee.builtin, name, std::move(arguments), &layer)
                     : callBlock(*layer.callee.block, *layer.callee.module, name,
                                 std::move(arguments), &layer);
  activeShared.pop_back();
  layer.hasFailed |= result.isPoison();
  return result;
}

} // namespace dlc::frontend
