// Expressions: names, operators, pipes, indices. Operators on compile-time values are computed
// here, on tensors in TensorOps.cpp.
#include "frontend/DL/TensorOps.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

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

// -------------------------------------------------------------------------------------------------------------
// names

Value Evaluator::evaluateName(llvm::StringRef name, SourceRange range) {
  if (const Bound *bound = lookupLocal(name))
    return bound->value;
  if (auto item = frame->module->items.find(name); item != frame->module->items.end()) {
    if (item->second.constant)
      return evaluateConstant(*item->second.constant, range);
    Callable callable;
    callable.block = item->second.block;
    callable.module = item->second.module;
    return callable;
  }
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

Value Evaluator::errorUnknownName(llvm::StringRef name, SourceRange range) {
  if (auto ended = frame->ended.find(name); ended != frame->ended.end()) {
    auto [where, kind] = ended->second;
    error(range, "'" + name + "' is bound only inside the '" + kind + "'")
        .hint("bind it before the '" + kind + "'")
        .note(where, "bound here");
    return Poison{};
  }
  llvm::SmallVector<llvm::StringRef> candidates(frame->module->items.keys());
  for (const llvm::StringMap<Bound> &scope : frame->scopes)
    candidates.append(scope.keys().begin(), scope.keys().end());
  for (const Builtin &builtin : builtins())
    candidates.push_back(builtin.name);
  error(range, "unknown name '" + name.take_front(60) + "'").hint(didYouMean(name, candidates));
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
  Frame own;
  own.module = constant.module;
  own.names = &names;
  own.scopes.emplace_back();
  llvm::SaveAndRestore frameGuard(frame, &own);
  llvm::SaveAndRestore<EntryBuilder *> entryGuard(entry, nullptr);
  constant.value = evaluate(*node.value);
  if (constant.override && !constant.value.isPoison())
    constant.value = evaluateOverride(constant);
  constant.state = ConstantItem::Done;
  return constant.value;
}

/// The value of `-D`, which must be of the kind of the default.
Value Evaluator::evaluateOverride(ConstantItem &constant) {
  const Value &standard = constant.value;
  // A shell eats quotes: a bare word is a string where one is expected.
  if (auto *word = llvm::dyn_cast<NameExpr>(constant.override); word && standard.is<std::string>())
    return word->name.str();
  Value value = evaluate(*constant.override);
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

// ----------------------------------------------------------------------------------------------
// sequences, operators

Value Evaluator::evaluateSequence(const SequenceExpr &node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  bool failed = false;
  for (const Expr *item : node.items) {
    items.push_back(evaluate(*item));
    failed |= items.back().isPoison();
  }
  if (failed)
    return Poison{};
  return items;
}

Value Evaluator::evaluateUnary(const UnaryExpr &node) {
  Value operand = evaluate(*node.operand);
  if (operand.isPoison())
    return operand;
  if (node.op == UnaryOp::Not) {
    if (auto *flag = operand.getIf<bool>())
      return !*flag;
    error(node.operand->range, "'not' expects a bool, found " + describe(operand))
        .hint(operand.isTensor() ? "logical_not(x) works on tensors" : "");
    return Poison{};
  }
  if (auto *number = operand.getIf<double>())
    return -*number;
  if (auto *tensor = operand.getIf<Tensor>()) {
    Site site(*this, node.range, "negate", "'-'");
    return applyNegate(site, *tensor);
  }
  if (!operand.isInteger()) {
    error(node.operand->range, "'-' expects a number or a tensor, found " + describe(operand));
    return Poison{};
  }
  int64_t result;
  if (!llvm::SubOverflow(int64_t(0), operand.integer(), result))
    return result;
  error(node.range, "integer overflow");
  return Poison{};
}

/// A chain `a + b + c` is walked by a loop, so that its length is not recursion.
Value Evaluator::evaluateBinary(const BinaryExpr &node) {
  if (node.op == BinaryOp::And || node.op == BinaryOp::Or)
    return evaluateLogical(node);
  std::vector<const BinaryExpr *> chain{&node};
  while (auto *lhs = llvm::dyn_cast<BinaryExpr>(chain.back()->lhs)) {
    if (lhs->op == BinaryOp::And || lhs->op == BinaryOp::Or)
      break;
    chain.push_back(lhs);
  }
  Value value = evaluate(*chain.back()->lhs);
  for (const BinaryExpr *each : llvm::reverse(chain)) {
    Value rhs = evaluate(*each->rhs);
    value = value.isPoison() || rhs.isPoison() ? Value(Poison{}) : applyBinary(*each, value, rhs);
  }
  return value;
}

Value Evaluator::evaluateLogical(const BinaryExpr &node) {
  auto check = [&](const Expr &operand, const Value &value) {
    if (!value.isPoison() && !value.is<bool>())
      error(operand.range, "'" + spelling(node.op) + "' expects a bool, found " + describe(value))
          .hint(value.isTensor() ? "logical_" + spelling(node.op) + "(a, b) works on tensors" : "");
    return value.is<bool>();
  };
  Value lhs = evaluate(*node.lhs);
  if (!check(*node.lhs, lhs))
    return Poison{};
  if (lhs.as<bool>() == (node.op == BinaryOp::Or))
    return lhs;
  Value rhs = evaluate(*node.rhs);
  return check(*node.rhs, rhs) ? rhs : Value(Poison{});
}

namespace {
/// Compile-time equality; counts its steps, because shared sequences can be exponentially large
/// when walked.
struct Equality {
  int64_t steps = 0;
  bool tooMany() const { return steps > maxWork; }
  bool operator()(const Value &a, const Value &b) {
    if (++steps > maxWork)
      return false;
    if (a.isNumber() && b.isNumber())
      return a.isInteger() && b.isInteger() ? a.integer() == b.integer() : a.number() == b.number();
    if (a.isSequence() && b.isSequence()) {
      if (a.items().size() != b.items().size())
        return false;
      for (auto [x, y] : llvm::zip(a.items(), b.items()))
        if (!(*this)(x, y))
          return false;
      return true;
    }
    if (a.is<std::string>() && b.is<std::string>())
      return a.as<std::string>() == b.as<std::string>();
    if (a.is<bool>() && b.is<bool>())
      return a.as<bool>() == b.as<bool>();
    if (a.is<DType>() && b.is<DType>())
      return a.as<DType>() == b.as<DType>();
    return a.isNone() && b.isNone();
  }
};

std::optional<bool> compareNumbers(BinaryOp op, const Value &a, const Value &b) {
  auto compare = [&](auto x, auto y) -> std::optional<bool> {
    switch (op) {
    case BinaryOp::Less:
      return x < y;
    case BinaryOp::LessEqual:
      return x <= y;
    case BinaryOp::Greater:
      return x > y;
    case BinaryOp::GreaterEqual:
      return x >= y;
    default:
      return std::nullopt;
    }
  };
  if (a.isInteger() && b.isInteger())
    return compare(a.integer(), b.integer());
  return compare(a.number(), b.number());
}

dl::Predicate predicateOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Equal:
    return dl::Predicate::EQ;
  case BinaryOp::NotEqual:
    return dl::Predicate::NE;
  case BinaryOp::Less:
    return dl::Predicate::LT;
  case BinaryOp::LessEqual:
    return dl::Predicate::LE;
  case BinaryOp::Greater:
    return dl::Predicate::GT;
  default:
    return dl::Predicate::GE;
  }
}

std::optional<Arithmetic> arithmeticOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return Arithmetic::Add;
  case BinaryOp::Subtract:
    return Arithmetic::Subtract;
  case BinaryOp::Multiply:
    return Arithmetic::Multiply;
  case BinaryOp::Divide:
    return Arithmetic::Divide;
  default:
    return std::nullopt;
  }
}

llvm::StringRef wordOf(Arithmetic kind) {
  switch (kind) {
  case Arithmetic::Add:
    return "add";
  case Arithmetic::Subtract:
    return "subtract";
  case Arithmetic::Multiply:
    return "multiply";
  case Arithmetic::Divide:
    return "divide";
  case Arithmetic::Maximum:
    return "maximum";
  case Arithmetic::Minimum:
    return "minimum";
  }
  return "";
}
} // namespace

/// Numbers of which both are integers. Null after an error.
static std::optional<int64_t> integerArithmetic(Evaluator &evaluator, const BinaryExpr &node,
                                                int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (node.op) {
  case BinaryOp::Add:
    overflow = llvm::AddOverflow(a, b, result);
    break;
  case BinaryOp::Subtract:
    overflow = llvm::SubOverflow(a, b, result);
    break;
  case BinaryOp::Multiply:
    overflow = llvm::MulOverflow(a, b, result);
    break;
  case BinaryOp::Power: {
    result = 1;
    int64_t base = a;
    for (int64_t rest = b; rest != 0 && !overflow; rest >>= 1) {
      if (rest & 1)
        overflow = llvm::MulOverflow(result, base, result);
      if (rest > 1)
        overflow |= llvm::MulOverflow(base, base, base);
    }
    break;
  }
  default: {
    if (b == 0) {
      evaluator.error(node.opRange, "division by zero");
      return std::nullopt;
    }
    overflow = a == INT64_MIN && b == -1;
    if (overflow)
      break;
    if (node.op == BinaryOp::Remainder) {
      int64_t rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    if (a % b != 0) {
      llvm::StringRef left = evaluator.shortText(node.lhs->range),
                      right = evaluator.shortText(node.rhs->range);
      auto error = evaluator.error(node.opRange,
                                   llvm::Twine(a) + " / " + llvm::Twine(b) + " is not an integer");
      if (!left.empty() && !right.empty())
        error.hint("div(" + left + ", " + right + ") rounds down");
      evaluator.noteNames(error, node);
      return std::nullopt;
    }
    return a / b;
  }
  }
  if (!overflow)
    return result;
  evaluator.error(node.opRange, "integer overflow: " + llvm::Twine(a) + " " + spelling(node.op) +
                                    " " + llvm::Twine(b));
  return std::nullopt;
}

static Value numberArithmetic(Evaluator &evaluator, const BinaryExpr &node, const Value &lhs,
                              const Value &rhs) {
  bool wholePower = node.op != BinaryOp::Power || (rhs.isInteger() && rhs.integer() >= 0);
  if (lhs.isInteger() && rhs.isInteger() && wholePower) {
    auto result = integerArithmetic(evaluator, node, lhs.integer(), rhs.integer());
    return result ? Value(*result) : Value(Poison{});
  }
  double a = lhs.number(), b = rhs.number();
  switch (node.op) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Subtract:
    return a - b;
  case BinaryOp::Multiply:
    return a * b;
  case BinaryOp::Power:
    return std::pow(a, b);
  default:
    break;
  }
  if (b == 0) {
    evaluator.error(node.opRange, "division by zero");
    return Poison{};
  }
  if (node.op == BinaryOp::Divide)
    return a / b;
  return a - b * std::floor(a / b);
}

Value Evaluator::applyBinary(const BinaryExpr &node, const Value &lhs, const Value &rhs) {
  bool tensors = lhs.isTensor() || rhs.isTensor();
  bool numbers = lhs.isNumber() && rhs.isNumber();
  std::string label = ("'" + spelling(node.op) + "'").str();
  Operand a{lhs, node.lhs->range}, b{rhs, node.rhs->range};
  switch (node.op) {
  case BinaryOp::MatMul: {
    Site site(*this, node.opRange, "matmul", label);
    return applyMatmul(site, a, b);
  }
  case BinaryOp::Equal:
  case BinaryOp::NotEqual:
    if (!tensors) {
      Equality equal;
      bool result = equal(lhs, rhs) == (node.op == BinaryOp::Equal);
      return spend(equal.steps, node.opRange) ? Value(result) : Value(Poison{});
    }
    [[fallthrough]];
  case BinaryOp::Less:
  case BinaryOp::LessEqual:
  case BinaryOp::Greater:
  case BinaryOp::GreaterEqual: {
    if (numbers)
      return *compareNumbers(node.op, lhs, rhs);
    Site site(*this, node.opRange, "compare", label);
    if (tensors)
      return applyCompare(site, predicateOf(node.op), a, b);
    break;
  }
  case BinaryOp::Add:
    if (lhs.isSequence() && rhs.isSequence()) {
      if (!spend(lhs.items().size() + rhs.items().size(), node.opRange))
        return Poison{};
      std::vector<Value> items(lhs.items());
      items.insert(items.end(), rhs.items().begin(), rhs.items().end());
      return items;
    }
    [[fallthrough]];
  default:
    if (numbers)
      return numberArithmetic(*this, node, lhs, rhs);
    if (auto kind = arithmeticOf(node.op); kind && tensors) {
      Site site(*this, node.opRange, wordOf(*kind), label);
      return applyArithmetic(site, *kind, a, b);
    }
    if (tensors && node.op == BinaryOp::Power) {
      error(node.opRange, "'**' on tensors is not available yet")
          .hint("square(x), sqrt(x), exp(x), log(x)");
      return Poison{};
    }
  }
  error(node.opRange, label + " does not work on " + describe(lhs) + " and " + describe(rhs));
  return Poison{};
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
    error(expr.range, "a condition must be a bool, found " + describe(value));
  return false;
}

Value Evaluator::evaluateConditional(const ConditionalExpr &node) {
  bool condition;
  if (!conditionOf(*node.condition, condition))
    return Poison{};
  return evaluate(condition ? *node.thenValue : *node.elseValue);
}

// -------------------------------------------------------------------------------------------
// pipes, indices, members

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
      value = call(*callable, stage.name.range, stage.range, std::move(arguments));
    } else {
      error(stage.name.range,
            "'" + stage.name.text + "' cannot be called: it is " + describe(callee));
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

Value Evaluator::applyIndex(const Value &base, llvm::ArrayRef<Subscript> subscripts,
                            SourceRange range) {
  if (base.isPoison())
    return base;
  if (base.isTensor()) {
    error(range, "indexing a tensor is not available yet");
    return Poison{};
  }
  if (!base.isSequence()) {
    error(range, "only sequences and tensors have elements, this is " + describe(base));
    return Poison{};
  }
  if (subscripts.size() != 1) {
    error(subscripts[1].range, "a sequence has one index");
    return Poison{};
  }
  const Subscript &subscript = subscripts.front();
  llvm::ArrayRef<Value> items = base.items();
  int64_t size = items.size(), begin, end, step;
  if (!subscriptInteger(subscript.begin, 0, begin) || !subscriptInteger(subscript.end, size, end) ||
      !subscriptInteger(subscript.step, 1, step))
    return Poison{};
  auto fromEnd = [&](int64_t i) { return i < 0 ? i + size : i; };
  if (!subscript.isSlice) {
    begin = fromEnd(begin);
    if (begin >= 0 && begin < size)
      return items[begin];
    error(subscript.range, "there is no element " + text(evaluate(*subscript.begin)) +
                               ", the sequence has " + llvm::Twine(size));
    return Poison{};
  }
  if (step <= 0) {
    error(subscript.range, "the step of a slice is 1 or more, found " + llvm::Twine(step));
    return Poison{};
  }
  begin = std::clamp<int64_t>(fromEnd(begin), 0, size);
  end = std::clamp<int64_t>(fromEnd(end), 0, size);
  std::vector<Value> result;
  for (int64_t i = begin; i < end; i += std::min(step, size))
    result.push_back(items[i]);
  return spend(result.size(), subscript.range) ? Value(std::move(result)) : Value(Poison{});
}

Value Evaluator::evaluateMember(const MemberExpr &node) {
  Value base = evaluate(*node.base);
  if (base.isPoison())
    return base;
  const Callable *callable = base.getIf<Callable>();
  if (!callable || !callable->layer || !callable->layer->callee.builtin) {
    error(node.member.range, "only a layer has weights to name, this is " + describe(base))
        .hint("layer f = ..., then f.weight");
    return Poison{};
  }
  const LayerInstance &layer = *callable->layer;
  std::string key = layer.path + "." + node.member.text.str();
  auto variable = program.variableByKey.find(key);
  if (usedKeys.contains(key) && variable != program.variableByKey.end()) {
    Tensor tensor;
    tensor.value = entry->read(key, variable->second->type, variable->second->location);
    tensor.origin = makeOrigin(node.member.range, "the weight '" + key + "'");
    return tensor;
  }
  error(node.member.range,
        "layer '" + layer.name + "' has no weight '" + node.member.text + "' before this point")
      .note(layer.node->name.range, "declared here; its weights exist from its first call on");
  return Poison{};
}

} // namespace dlc::frontend
