// Expressions: names, sequences, pipes, indices. Operators are in EvaluateOperators.cpp.
#include "dialects/DL/Ops/DLIndexOps.h"
#include "frontend/DL/Evaluation/TensorOps.h"
#include "frontend/DL/Sections/Sections.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/NameWalker.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace dlc::frontend {

using namespace ast;

Value Evaluator::evaluate(const Expr &expr) {
  if (!spend(1, expr.range))
    return Poison{};
  if (depth >= maxEvaluationDepth) {
    if (!std::exchange(stopped, true))
      error(expr.range,
            "evaluation is nested more than " + llvm::Twine(maxEvaluationDepth) + " levels deep");
    return Poison{};
  }
  llvm::SaveAndRestore guard(depth, depth + 1);
  switch (expr.kind) {
  case ExprKind::Integer:
    return llvm::cast<IntegerExpr>(expr).value;
  case ExprKind::Float:
    return llvm::cast<FloatExpr>(expr).value;
  case ExprKind::String:
    return llvm::cast<StringExpr>(expr).value.str();
  case ExprKind::Bool:
    return llvm::cast<BoolExpr>(expr).value;
  case ExprKind::None:
    return NoneValue{};
  case ExprKind::DType:
    return parseDType(llvm::cast<DTypeExpr>(expr).name);
  case ExprKind::Hole:
    return holes.back();
  case ExprKind::NameRef:
    return evaluateName(llvm::cast<NameExpr>(expr).name, expr.range);
  case ExprKind::Sequence:
    return evaluateSequence(llvm::cast<SequenceExpr>(expr));
  case ExprKind::List:
    return evaluateList(llvm::cast<ListExpr>(expr));
  case ExprKind::Unary:
    return evaluateUnary(llvm::cast<UnaryExpr>(expr));
  case ExprKind::Binary:
    return evaluateBinary(llvm::cast<BinaryExpr>(expr));
  case ExprKind::Conditional:
    return evaluateConditional(llvm::cast<ConditionalExpr>(expr));
  case ExprKind::Pipe:
    return evaluatePipe(llvm::cast<PipeExpr>(expr));
  case ExprKind::Call:
    return evaluateCall(llvm::cast<CallExpr>(expr));
  case ExprKind::Index:
    return evaluateIndexExpr(llvm::cast<IndexExpr>(expr));
  case ExprKind::Member:
    return evaluateMember(llvm::cast<MemberExpr>(expr));
  }
  return Poison{};
}

// ------------------------------------------------------------------------------------------- names

void Evaluator::observeValue(SourceRange range, const Value &value) {
  if (program.options.observer && range.isValid() && !value.isPoison())
    program.options.observer->onValue(range, describe(value));
}

Value Evaluator::evaluateItem(const Item &item, SourceRange range) {
  if (program.options.observer)
    program.options.observer->onName(range, item.constant ? item.constant->node->name.range
                                                          : item.block->name.range);
  if (item.constant) {
    Value value = evaluateConstant(*item.constant, range);
    observeValue(range, value);
    return value;
  }
  Callable callable;
  callable.block = item.block;
  callable.module = item.module;
  return callable;
}

Value Evaluator::evaluateName(llvm::StringRef name, SourceRange range) {
  if (const Bound *bound = lookupLocal(name)) {
    if (program.options.observer)
      program.options.observer->onName(range, bound->range);
    observeValue(range, bound->value);
    return bound->value;
  }
  if (auto item = frame->module->items.find(name); item != frame->module->items.end())
    return evaluateItem(item->second, range);
  if (frame->seesDimensions && dimensions)
    if (auto dimension = dimensions->find(name); dimension != dimensions->end())
      return dimension->second;
  if (const Builtin *builtin = findBuiltin(name)) {
    Callable callable;
    callable.builtin = builtin;
    return callable;
  }
  for (const BuiltinConstant &constant : builtinConstants())
    if (constant.name == name)
      return constant.value;
  return errorUnknownName(name, range);
}

bool Evaluator::isKnown(llvm::StringRef name) const {
  return lookupLocal(name) || frame->module->items.contains(name) || findBuiltin(name) ||
         (frame->seesDimensions && dimensions && dimensions->contains(name)) ||
         llvm::any_of(builtinConstants(), [&](const auto &each) { return each.name == name; });
}

/// Where in the body a name is bound that has no value here.
std::string Evaluator::hintForBinding(llvm::StringRef name, SourceRange range) const {
  unsigned later = 0, earlier = 0;
  bool isOfAStep = false;
  forEachBinding(frame->body, /*inSteps=*/false,
                 [&](const Name &each, const BindingStatement *binding) {
                   bool isItsOwn = binding && binding->range.begin <= range.begin &&
                                   range.end() <= binding->range.end();
                   if (each.text == name && !isItsOwn)
                     (each.range.begin > range.begin ? later : earlier) =
                         program.sources.lineColumn(each.range).line;
                 });
  for (const Statement *statement : frame->body)
    if (auto *step = llvm::dyn_cast<StepStatement>(statement))
      forEachBinding(
          step->body, /*inSteps=*/false,
          [&](const Name &each, const BindingStatement *) { isOfAStep |= each.text == name; });
  if (later)
    return "it is bound only later, in line " + std::to_string(later);
  if (earlier)
    return "it is bound in line " + std::to_string(earlier) + ", in a body that does not run";
  return isOfAStep ? "the names of a step end with it" : "";
}

/// In a section, an unknown name may be what the data is to deliver.
std::string Evaluator::hintForData(llvm::StringRef name) const {
  const Block *called = frame->calledModel;
  if (name == "output" && called && !called->results.single) {
    std::string names;
    for (const Field &field : called->results.fields)
      names += (names.empty() ? "'" : "', '") + field.name.text.str();
    return "what " + called->name.text.str() + " returns is called " + names + "'";
  }
  if (name == "output")
    return "a model that the section names is not called by itself: y = Model(...)";
  // A model's input of that name says of what type it is.
  std::string type = "i32[N]";
  for (const auto &[word, bound] : frame->scopes.front())
    if (auto *callable = bound.value.getIf<Callable>(); callable && callable->model)
      for (const Param &param : callable->model->block->params)
        if (param.name.text == name && param.type)
          type = program.sources.text(param.type->range).str();
  std::string data = "'" + name.str() + ": " + type + "' declares what the data delivers";
  return lookupLocal("output") ? "'output' is what the model returns; " + data : data;
}

/// What may be meant by a name that is not bound.
std::string Evaluator::hintForUnknown(llvm::StringRef name, SourceRange range) {
  if (std::string hint = hintForBinding(name, range); !hint.empty())
    return hint;
  // ema = ema(0.99): what other libraries make an object of is a number here.
  if (llvm::StringRef value = valueOfSetting(name);
      !value.empty() && llvm::is_contained(frame->settings, name))
    return ("a setting is no function: " + name + " = " + value).str();
  if (wanted)
    if (std::string hint = hintForName(name, availableNames(*wanted)); !hint.empty())
      return hint;
  if (std::string hint = program.hintForImport(name, /*mayBeNear=*/false); !hint.empty())
    return hint;
  llvm::SmallVector<llvm::StringRef> candidates(frame->module->items.keys());
  for (const llvm::StringMap<Bound> &scope : frame->scopes)
    candidates.append(scope.keys().begin(), scope.keys().end());
  for (llvm::StringRef builtin : builtinNames())
    candidates.push_back(builtin);
  std::string hint = hintForName(name, candidates);
  if (hint.empty())
    hint = program.hintForImport(name, /*mayBeNear=*/true);
  if (hint.empty() && wanted)
    hint = "there is " + availableList(*wanted);
  bool mayBeData = frame->seesDimensions && !frame->block && name.size() <= 60;
  return hint.empty() && mayBeData ? hintForData(name) : hint;
}

Value Evaluator::errorUnknownName(llvm::StringRef name, SourceRange range) {
  if (auto ended = frame->ended.find(name); ended != frame->ended.end()) {
    auto [where, kind] = ended->second;
    error(range, "'" + name + "' is bound only inside the '" + kind + "'")
        .hint("bind it before the '" + kind + "'")
        .note(where, "bound here");
    return Poison{};
  }
  error(range, "unknown name '" + name.take_front(60) + "'").hint(hintForUnknown(name, range));
  return Poison{};
}

Value Evaluator::evaluateConstant(ConstantItem &constant, SourceRange range) {
  const Constant &node = *constant.node;
  if (constant.state == ConstantItem::Done)
    return constant.value;
  if (constant.state == ConstantItem::Running) {
    error(range, "the constant '" + node.name.text + "' depends on itself")
        .note(node.name.range, "declared here");
    return Poison{};
  }
  constant.state = ConstantItem::Running;
  NameScope names;
  Frame own(*constant.module, names);
  llvm::SaveAndRestore frameGuard(frame, &own);
  llvm::SaveAndRestore<EntryBuilder *> entryGuard(entry, nullptr);
  constant.value = evaluate(*node.value);
  if (constant.override && !constant.value.isPoison())
    constant.value = evaluateOverride(constant);
  constant.state = ConstantItem::Done;
  return constant.value;
}

void Evaluator::evaluateConstants() {
  for (const auto &constant : program.allConstants())
    evaluateConstant(*constant, constant->node->name.range);
}

/// The value of `-D`, which must be of the kind of the default.
Value Evaluator::evaluateOverride(ConstantItem &constant) {
  const Value &standard = constant.value;
  // A shell eats quotes: a bare word is a string where one is expected.
  auto *word = llvm::dyn_cast<NameExpr>(constant.override);
  bool isString = word && (standard.is<std::string>() || !isKnown(word->name));
  Value value = isString ? Value(word->name.str()) : evaluate(*constant.override);
  if (value.isPoison())
    return value;
  if (standard.is<double>() && value.isInteger())
    return value.number();
  bool sameKind = (standard.isInteger() && value.isInteger()) ||
                  (standard.is<double>() && value.is<double>()) ||
                  (standard.is<bool>() && value.is<bool>()) ||
                  (standard.isSequence() && value.isSequence()) ||
                  (standard.is<std::string>() && value.is<std::string>()) ||
                  (standard.is<DType>() && value.is<DType>());
  if (sameKind)
    return value;
  program.engine
      .error(constant.override->range, "'" + constant.node->name.text + "' is " +
                                           describe(standard) + " in the file, here it is " +
                                           describe(value))
      .note(constant.node->name.range, "declared here");
  return Poison{};
}

// --------------------------------------------------------------------------- sequences, conditions

Value Evaluator::evaluateSequence(const SequenceExpr &node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  bool failed = false;
  for (const Expr *item : node.items) {
    items.push_back(evaluate(*item));
    failed |= items.back().isPoison();
  }
  return failed ? Value(Poison{}) : makeSequence(std::move(items), node.range);
}

Value Evaluator::evaluateList(const ListExpr &node) {
  std::vector<Value> items;
  bool isMade = runLoop(node.head, /*makesList=*/true, [&] {
    bool isWanted = true;
    if (node.condition && !conditionOf(*node.condition, isWanted))
      return false;
    if (!isWanted)
      return true;
    items.push_back(evaluate(*node.element));
    return !items.back().isPoison() && spendElements(1, node.element->range);
  });
  return isMade ? makeSequence(std::move(items), node.range) : Value(Poison{});
}

/// Appending to the end of a list that nothing else was appended to takes its room: a loop of
/// `s = s + [x]` is linear.
Value Evaluator::joinSequences(const Value &a, const Value &b, SourceRange range) {
  const SequenceValue &begin = *a.as<Sequence>();
  const size_t more = b.items().size();
  std::vector<Value> *list = begin.list;
  bool hasRoom = list && list->size() == begin.count && list->capacity() - begin.count >= more;
  if (!spendElements(more + (hasRoom ? 0 : begin.count), range))
    return Poison{};
  if (!hasRoom) {
    list = &program.lists.emplace_back();
    list->reserve(2 * (begin.count + more));
    list->assign(a.items().begin(), a.items().end());
  }
  // `b` may be the list itself.
  for (size_t i = 0; i < more; ++i)
    list->push_back(b.items()[i]);
  return Sequence(std::make_shared<const SequenceValue>(
      SequenceValue{{}, list, begin.count + more, std::max(a.depth(), b.depth())}));
}

bool Evaluator::conditionOf(const Expr &expr, bool &result) {
  Value value = evaluate(expr);
  if (auto *flag = value.getIf<bool>()) {
    result = *flag;
    return true;
  }
  if (auto *tensor = value.getIf<Tensor>())
    error(expr.range,
          "a condition must be known at compile time, this is a tensor " + describe(tensor->type()))
        .hint("select(condition, a, b) chooses between tensors");
  else if (!value.isPoison())
    error(expr.range, "a condition must be a bool, found " + describe(value))
        .hint(value.isNumber()     ? "compare it: " + shortText(expr.range) + " != 0"
              : value.isSequence() ? "compare its length: len(s) != 0"
                                   : "");
  return false;
}

Value Evaluator::evaluateConditional(const ConditionalExpr &node) {
  bool condition;
  if (!conditionOf(*node.condition, condition))
    return Poison{};
  return evaluate(condition ? *node.thenValue : *node.elseValue);
}

// ------------------------------------------------------------------------- pipes, indices, members

Value Evaluator::evaluatePipe(const PipeExpr &node) {
  Value value = evaluate(*node.head);
  SourceRange valueAt = node.head->range;
  for (const Stage &stage : node.stages) {
    if (stopped)
      return Poison{};
    holes.push_back(value);
    std::vector<EvaluatedArgument> arguments;
    if (!stage.hasHole)
      arguments.push_back({{}, value, valueAt});
    bool valid = evaluateArguments(stage.arguments, arguments);
    holes.pop_back();
    // After a failed stage the rest is silent, but its names are still looked up.
    Value callee = evaluateName(stage.name.text, stage.name.range);
    if (callee.isPoison() || !valid) {
      value = Poison{};
    } else if (auto *callable = callee.getIf<Callable>()) {
      value = call(*callable, stage.name.range, std::move(arguments));
    } else {
      errorNotCallable(stage.name.range, "'" + stage.name.text + "'", callee);
      value = Poison{};
    }
    for (llvm::ArrayRef<Subscript> index : stage.indices)
      value = applyIndex(value, index, stage.range);
    valueAt = stage.range;
  }
  return value;
}

Value Evaluator::evaluateIndexExpr(const IndexExpr &node) {
  return applyIndex(evaluate(*node.base), node.subscripts, node.range);
}

bool Evaluator::subscriptInteger(const Expr *expr, int64_t missing, int64_t &result) {
  result = missing;
  if (!expr)
    return true;
  Value value = evaluate(*expr);
  if (value.isInteger()) {
    result = value.integer();
    return true;
  }
  if (!value.isPoison())
    error(expr->range, "an index is an integer, found " + describe(value));
  return false;
}

namespace {
/// The elements that a subscript picks of an axis or a sequence.
struct Pick {
  int64_t begin, count, step;
};
/// Of `size` elements, which `what` has. Nothing after an error.
using ReadSubscript = llvm::function_ref<std::optional<Pick>(
    const Subscript &subscript, int64_t size, const llvm::Twine &what)>;
} // namespace

static Value pickElements(Evaluator &evaluator, const Tensor &x,
                          llvm::ArrayRef<Subscript> subscripts, SourceRange range,
                          ReadSubscript read) {
  const int64_t rank = x.rank();
  if (int64_t(subscripts.size()) > rank) {
    evaluator
        .errorAbout(subscripts[rank].range,
                    "there is no axis " + llvm::Twine(rank) + ", the tensor " + describe(x.type()) +
                        " has " + llvm::Twine(rank),
                    x, "the tensor")
        .hint(rank == 0 ? "one number has no elements" : "one subscript an axis: leave this out");
    return Poison{};
  }
  llvm::SmallVector<int64_t> starts(rank, 0), sizes(x.shape()), steps(rank, 1), picked, kept;
  BatchAxis batch = x.batch;
  for (int64_t axis = 0; axis < rank; ++axis) {
    bool isGiven = axis < int64_t(subscripts.size());
    if (isGiven) {
      auto pick = read(subscripts[axis], sizes[axis], "axis " + llvm::Twine(axis));
      if (!pick)
        return Poison{};
      if (pick->count != sizes[axis] || !subscripts[axis].isSlice)
        picked.push_back(axis);
      starts[axis] = pick->begin;
      sizes[axis] = pick->count;
      steps[axis] = pick->step;
    }
    if (!isGiven || subscripts[axis].isSlice)
      kept.push_back(sizes[axis]);
    else
      batch.axis -= axis < x.batch.axis;
  }
  if (picked.empty())
    return x;
  Site site(evaluator, range, "slice", "'[ ]'");
  if (!site.checkNotBatch(x, picked, range, x.batch.axis ? "" : "the batch stays whole: x[:, 0]"))
    return Poison{};
  dl::TensorBuilder b = at(site);
  mlir::Value y = dl::SliceOp::create(b.builder, b.loc, x.value, starts, sizes, steps);
  return site.make(b.reshape(y, x.type().clone(kept)), batch, {&x});
}

Value Evaluator::applyIndex(const Value &base, llvm::ArrayRef<Subscript> subscripts,
                            SourceRange range) {
  auto read = [&](const Subscript &subscript, int64_t size,
                  const llvm::Twine &what) -> std::optional<Pick> {
    int64_t begin, end, step;
    if (!subscriptInteger(subscript.begin, 0, begin) ||
        !subscriptInteger(subscript.end, size, end) || !subscriptInteger(subscript.step, 1, step))
      return std::nullopt;
    auto fromEnd = [&](int64_t i) { return i < 0 ? i + size : i; };
    if (!subscript.isSlice) {
      if (fromEnd(begin) >= 0 && fromEnd(begin) < size)
        return Pick{fromEnd(begin), 1, 1};
      error(subscript.range, "there is no element " + llvm::Twine(begin) + ", " + what + " has " +
                                 llvm::Twine(size));
      return std::nullopt;
    }
    if (step <= 0) {
      error(subscript.range, "the step of a slice is 1 or more, found " + llvm::Twine(step));
      return std::nullopt;
    }
    begin = std::clamp<int64_t>(fromEnd(begin), 0, size);
    end = std::clamp<int64_t>(fromEnd(end), begin, size);
    step = std::min(step, std::max<int64_t>(size, 1));
    return Pick{begin, llvm::divideCeilSigned(end - begin, step), step};
  };
  if (base.isPoison())
    return base;
  if (base.isTensor())
    return pickElements(*this, base.as<Tensor>(), subscripts, range, read);
  if (!base.isSequence()) {
    error(range, "only sequences and tensors have elements, this is " + describe(base))
        .hint(base.is<Callable>() ? "arguments stand in '( )'"
              : base.is<DType>()  ? "a type stands behind ':', as in label: i32[N]"
                                  : "");
    return Poison{};
  }
  if (subscripts.size() != 1) {
    std::string hint = hintForResults(base);
    error(subscripts[1].range, "a sequence has one index")
        .hint(hint.empty() ? "of a sequence in a sequence: s[0][1]" : hint);
    return Poison{};
  }
  llvm::ArrayRef<Value> items = base.items();
  auto pick = read(subscripts.front(), items.size(), "the sequence");
  if (!pick)
    return Poison{};
  if (!subscripts.front().isSlice)
    return items[pick->begin];
  std::vector<Value> result;
  for (int64_t i = 0; i < pick->count; ++i)
    result.push_back(items[pick->begin + i * pick->step]);
  return spendElements(result.size(), subscripts.front().range) ? Value(std::move(result))
                                                                : Value(Poison{});
}

/// `nn` in nn.Linear; null if the path begins with more than a name.
static const NameExpr *rootOf(const MemberExpr &node) {
  const Expr *base = node.base;
  while (auto *member = llvm::dyn_cast<MemberExpr>(base))
    base = member->base;
  return llvm::dyn_cast<NameExpr>(base);
}

/// A path such as torch.nn.Linear: what it ends in may be known.
Value Evaluator::errorUnknownPath(const MemberExpr &node, const NameExpr &root) {
  llvm::StringRef native = nativeName(node.member.text, builtinNames());
  llvm::StringRef path = program.sources.text(node.range);
  std::string hint = native.empty() ? program.hintForImport(node.member.text, /*mayBeNear=*/false)
                                    : "did you mean '" + native.str() + "'?";
  if (hint.empty() || path.contains('\n') || path.size() > 60)
    return errorUnknownName(root.name, root.range);
  error(node.range, "unknown name '" + path + "'").hint(hint);
  return Poison{};
}

/// A tensor, a number or a block has no members; a method of elsewhere may be a function here.
Value Evaluator::errorNoMember(const MemberExpr &node, const Value &base) {
  llvm::StringRef member = node.member.text, native = nativeName(member, builtinNames());
  llvm::StringRef source = shortText(node.base->range);
  if (base.isTensor() && member == "T")
    native = "transpose";
  if (!source.empty() && base.isTensor() && !native.empty()) {
    bool takesMore = findBuiltin(native)->params.size() > 1;
    error(node.member.range, "a tensor has no member '" + member + "'")
        .hint(native + "(" + source + (takesMore ? ", ...)" : ")"));
    return Poison{};
  }
  if (base.isTensor()) {
    error(node.member.range, "a tensor has no member '" + member + "'")
        .hint(hintForMember(source.empty() ? "x" : source, member));
    return Poison{};
  }
  auto builder = error(node.member.range, describe(base) + " has no member '" + member + "'");
  if (base.isSequence())
    builder.hint(member == "append" ? source + " = " + source + " + [...]"
                                    : llvm::Twine("len(s), s[0], s + t"));
  else if (base.is<Callable>())
    builder.hint("layer f = ..., then f.weight");
  return Poison{};
}

Value Evaluator::evaluateMember(const MemberExpr &node) {
  if (const NameExpr *root = rootOf(node); root && !isKnown(root->name))
    return errorUnknownPath(node, *root);
  Value base = evaluate(*node.base);
  if (base.isPoison())
    return base;
  const Callable *callable = base.getIf<Callable>();
  if (!callable || !callable->layer || !callable->layer->callee.builtin)
    return errorNoMember(node, base);
  const LayerInstance &layer = *callable->layer;
  if (layer.hasFailed)
    return Poison{};
  std::string key = layer.path + "." + node.member.text.str();
  auto variable = program.variableByKey.find(key);
  if (usedKeys.contains(key) && variable != program.variableByKey.end()) {
    Tensor tensor;
    tensor.value = entry->read(key, variable->second->type, variable->second->location);
    tensor.origin = makeOrigin(node.member.range, "the weight '" + key + "'", tensor);
    return tensor;
  }
  llvm::SmallVector<llvm::StringRef> weights;
  for (const auto &[each, variable] : program.variableByKey)
    if (llvm::StringRef name = each;
        name.consume_front(layer.path + ".") && usedKeys.contains(each))
      weights.push_back(name);
  llvm::sort(weights);
  auto builder =
      error(node.member.range, "layer '" + layer.name + "' has no weight '" + node.member.text +
                                   "'" + (weights.empty() ? " before this point" : ""));
  if (weights.empty())
    builder.note(layer.node->name.range, "declared here; its weights exist from its first call on");
  else
    builder.hint("it has " + llvm::join(weights, ", "));
  return Poison{};
}

} // namespace dlc::frontend
