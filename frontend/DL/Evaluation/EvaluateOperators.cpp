// Operators. On compile-time values they are computed here; on tensors, by TensorOps.cpp.
#include "frontend/DL/Builtins/BuiltinFormulas.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace dlc::frontend {

using namespace ast;

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
  /// Met something that has no equality: a tensor inside a sequence, a function, an optimizer.
  const Value *incomparable = nullptr;
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
    // Anything may be compared with none: it is how a default is told from a value.
    if (a.isNone() || b.isNone())
      return a.isNone() && b.isNone();
    for (const Value *each : {&a, &b})
      if (each->isTensor() || each->is<Callable>() || each->is<Plan>())
        incomparable = each;
    return false;
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
    if (!tensors || lhs.isNone() || rhs.isNone()) {
      Equality equal;
      bool result = equal(lhs, rhs) == (node.op == BinaryOp::Equal);
      if (equal.incomparable) {
        error(node.opRange, label + " does not compare " + describe(*equal.incomparable));
        return Poison{};
      }
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
    if (lhs.isSequence() && rhs.isSequence())
      return joinSequences(lhs, rhs, node.opRange);
    [[fallthrough]];
  default:
    if (numbers)
      return numberArithmetic(*this, node, lhs, rhs);
    if (auto kind = arithmeticOf(node.op); kind && tensors) {
      Site site(*this, node.opRange, wordOf(*kind), label);
      return applyArithmetic(site, *kind, a, b);
    }
    if (tensors && node.op == BinaryOp::Power) {
      Site site(*this, node.opRange, "pow", label);
      return applyPower(site, a, b);
    }
  }
  auto builder =
      error(node.opRange, label + " does not work on " + describe(lhs) + " and " + describe(rhs));
  if (lhs.is<std::string>() || rhs.is<std::string>())
    builder.hint("format(\"layer{}\", i) puts numbers into a string");
  else if (lhs.isSequence() && node.op == BinaryOp::Add)
    builder.hint("a sequence joins sequences: s + [x]");
  else if (lhs.isSequence() || rhs.isSequence())
    builder.hint("a loop computes with elements: for x in s { ... }");
  return Poison{};
}

} // namespace dlc::frontend
