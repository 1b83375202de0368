// Expressions and types: precedence climbing over one table; a pipe is a flat list of stages.
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/ParserImpl.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstdlib>

namespace dlc::frontend {

using namespace ast;

namespace {
struct Operator {
  BinaryOp op;
  /// Larger binds tighter; 0: not an operator.
  int precedence;
};
constexpr int notPrecedence = 3, comparePrecedence = 4;

Operator binaryOperator(TokenKind kind) {
  switch (kind) {
  case TokenKind::Or:
    return {BinaryOp::Or, 1};
  case TokenKind::And:
    return {BinaryOp::And, 2};
  case TokenKind::Equal:
    return {BinaryOp::Equal, comparePrecedence};
  case TokenKind::NotEqual:
    return {BinaryOp::NotEqual, comparePrecedence};
  case TokenKind::Less:
    return {BinaryOp::Less, comparePrecedence};
  case TokenKind::LessEqual:
    return {BinaryOp::LessEqual, comparePrecedence};
  case TokenKind::Greater:
    return {BinaryOp::Greater, comparePrecedence};
  case TokenKind::GreaterEqual:
    return {BinaryOp::GreaterEqual, comparePrecedence};
  case TokenKind::Plus:
    return {BinaryOp::Add, 5};
  case TokenKind::Minus:
    return {BinaryOp::Subtract, 5};
  case TokenKind::Star:
    return {BinaryOp::Multiply, 6};
  case TokenKind::Slash:
    return {BinaryOp::Divide, 6};
  case TokenKind::Percent:
    return {BinaryOp::Remainder, 6};
  case TokenKind::At:
    return {BinaryOp::MatMul, 6};
  default:
    return {BinaryOp::Or, 0};
  }
}

/// The built-in that does the same as an operator on tensors, for hints.
llvm::StringRef functionOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return "add";
  case BinaryOp::Subtract:
    return "subtract";
  case BinaryOp::Multiply:
    return "multiply";
  case BinaryOp::Divide:
    return "divide";
  case BinaryOp::MatMul:
    return "matmul";
  case BinaryOp::Power:
    return "pow";
  default:
    return "";
  }
}
} // namespace

llvm::StringRef ast::spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return "or";
  case BinaryOp::And:
    return "and";
  case BinaryOp::Equal:
    return "==";
  case BinaryOp::NotEqual:
    return "!=";
  case BinaryOp::Less:
    return "<";
  case BinaryOp::LessEqual:
    return "<=";
  case BinaryOp::Greater:
    return ">";
  case BinaryOp::GreaterEqual:
    return ">=";
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Subtract:
    return "-";
  case BinaryOp::Multiply:
    return "*";
  case BinaryOp::Divide:
    return "/";
  case BinaryOp::Remainder:
    return "%";
  case BinaryOp::MatMul:
    return "@";
  case BinaryOp::Power:
    return "**";
  }
  return "";
}

// ------------------------------------------------------------------------------------------- depth

bool Parser::errorTooDeep(SourceRange range) {
  engine.error(range, "this is nested more than " + llvm::Twine(maxNesting) + " levels deep");
  return false;
}

bool Parser::deepen(Expr *node, llvm::ArrayRef<const Expr *> children) {
  for (const Expr *child : children)
    if (child)
      node->depth = std::max(node->depth, child->depth + 1);
  return node->depth <= maxNesting || errorTooDeep(node->range);
}

bool Parser::deepen(Expr *node, llvm::ArrayRef<Argument> arguments) {
  for (const Argument &argument : arguments)
    if (!deepen(node, argument.value))
      return false;
  return true;
}

bool Parser::deepen(Expr *node, llvm::ArrayRef<Subscript> subscripts) {
  for (const Subscript &subscript : subscripts)
    if (!deepen(node, {subscript.begin, subscript.end, subscript.step}))
      return false;
  return true;
}

// -------------------------------------------------------------------------------- operators, pipes

Expr *Parser::parseExpr() {
  Nesting level(*this);
  if (level.isTooDeep()) {
    errorTooDeep(peek().range);
    return nullptr;
  }
  return at(TokenKind::If) ? parseConditional() : parsePipe();
}

Expr *Parser::parseConditional() {
  SourceRange begin = advance().range;
  Expr *condition = parseExpr();
  if (!condition || !expect(TokenKind::Then))
    return nullptr;
  Expr *thenValue = parseExpr();
  if (!thenValue || !expect(TokenKind::Else))
    return nullptr;
  Expr *elseValue = parseExpr();
  if (!elseValue)
    return nullptr;
  auto *node = createExpr<ConditionalExpr>(ExprKind::Conditional, begin.to(elseValue->range));
  node->condition = condition;
  node->thenValue = thenValue;
  node->elseValue = elseValue;
  return deepen(node, {condition, thenValue, elseValue}) ? node : nullptr;
}

Expr *Parser::parsePipe() {
  uint32_t begin = peek().range.begin;
  Expr *head = parseBinary(1);
  if (!head || !at(TokenKind::Pipe))
    return head;
  llvm::SmallVector<Stage> stages;
  auto *node = createExpr<PipeExpr>(ExprKind::Pipe, head->range);
  node->head = head;
  if (!deepen(node, head))
    return nullptr;
  while (accept(TokenKind::Pipe)) {
    Stage stage;
    if (!parseStage(stage) || !deepen(node, stage.arguments))
      return nullptr;
    for (llvm::ArrayRef<Subscript> index : stage.indices)
      if (!deepen(node, index))
        return nullptr;
    stages.push_back(stage);
    if (binaryOperator(peek().kind).precedence || at(TokenKind::StarStar)) {
      errorOperatorAfterStage(begin);
      return nullptr;
    }
  }
  node->range = head->range.to(previousRange());
  node->stages = keep<Stage>(stages);
  return node;
}

bool Parser::parseStage(Stage &stage) {
  if (!at(TokenKind::Name) && !at(TokenKind::DType))
    return errorMissing("the name of a function or layer after '|>'",
                        at(TokenKind::String) ? "names stand without '\"'" : "");
  const Token &name = advance();
  if (at(TokenKind::Dot))
    return errorPathAsStage(name);
  stage.isDType = name.is(TokenKind::DType);
  stage.name = {name.text, name.range};
  if (atCall()) {
    bool *outer = std::exchange(stageHole, &stage.hasHole);
    llvm::scope_exit restore([&] { stageHole = outer; });
    if (!parseArguments(stage.arguments))
      return false;
  }
  llvm::SmallVector<llvm::ArrayRef<Subscript>> indices;
  while (atIndex()) {
    llvm::ArrayRef<Subscript> subscripts;
    if (!parseSubscripts(subscripts))
      return false;
    indices.push_back(subscripts);
  }
  stage.indices = keep<llvm::ArrayRef<Subscript>>(indices);
  stage.range = name.range.to(previousRange());
  return true;
}

/// At the first '.' of `x |> nn.ReLU()`; false.
bool Parser::errorPathAsStage(const Token &root) {
  llvm::StringRef last;
  while (accept(TokenKind::Dot))
    last = advance().text;
  SourceRange path = root.range.to(previousRange());
  llvm::SmallVector<llvm::StringRef> builtins = builtinNames();
  llvm::StringRef native = nativeName(last, builtins);
  engine
      .error(path, "expected the name of a function or layer after '|>', found '" +
                       sources.text(path).take_front(60) + "'")
      .hint(native.empty() ? hintForName(root.text, builtins) : "did you mean '" + native + "'?");
  return false;
}

/// At an operator after a stage: reports it with both ways to write what may be meant.
void Parser::errorOperatorAfterStage(uint32_t pipeBegin) {
  Token sign = advance();
  SourceRange pipe = {sign.range.file, pipeBegin, tokens[position - 2].range.end() - pipeBegin};
  Operator found =
      sign.is(TokenKind::StarStar) ? Operator{BinaryOp::Power, 7} : binaryOperator(sign.kind);
  size_t operandBegin = peek().range.begin;
  Expr *operand = parseBinary(std::min(found.precedence + 1, 7));
  if (!operand)
    return;
  llvm::StringRef left = sources.text(pipe);
  llvm::StringRef right = sources.text(sign.range.file).slice(operandBegin, previousRange().end());
  auto error = engine.error(sign.range, "an operator cannot follow a pipe stage");
  if (left.contains('\n') || right.contains('\n') || left.size() + right.size() > 60) {
    error.hint("put the pipe in parentheses");
    return;
  }
  std::string hint = ("write '(" + left + ") " + spelling(found.op) + " " + right + "'").str();
  if (llvm::StringRef function = functionOf(found.op); !function.empty())
    hint += (" or '" + left + " |> " + function + "(" + right + ")'").str();
  error.hint(hint);
}

Expr *Parser::parseBinary(int minPrecedence) {
  Expr *lhs = parseOperand(minPrecedence);
  bool compared = false;
  while (lhs) {
    Operator found = binaryOperator(peek().kind);
    if (found.precedence < minPrecedence || found.precedence == 0)
      return lhs;
    if (found.precedence == comparePrecedence && std::exchange(compared, true)) {
      engine.error(peek().range, "comparisons do not chain").hint("join two comparisons by 'and'");
      return nullptr;
    }
    SourceRange opRange = advance().range;
    Expr *rhs = parseBinary(found.precedence + 1);
    if (!rhs)
      return nullptr;
    auto *node = createExpr<BinaryExpr>(ExprKind::Binary, lhs->range.to(rhs->range));
    node->op = found.op;
    node->opRange = opRange;
    node->lhs = lhs;
    node->rhs = rhs;
    if (!deepen(node, {lhs, rhs}))
      return nullptr;
    lhs = node;
  }
  return nullptr;
}

Expr *Parser::parseOperand(int minPrecedence) {
  if (!at(TokenKind::Not))
    return parseUnary();
  Nesting level(*this);
  if (level.isTooDeep()) {
    errorTooDeep(peek().range);
    return nullptr;
  }
  if (minPrecedence > notPrecedence) {
    errorExpected("an expression", "'not' needs parentheses here");
    return nullptr;
  }
  SourceRange begin = advance().range;
  Expr *operand = at(TokenKind::Not) ? parseOperand(notPrecedence) : parseBinary(comparePrecedence);
  if (!operand)
    return nullptr;
  auto *node = createExpr<UnaryExpr>(ExprKind::Unary, begin.to(operand->range));
  node->op = UnaryOp::Not;
  node->operand = operand;
  return deepen(node, operand) ? node : nullptr;
}

Expr *Parser::parseUnary() {
  if (!at(TokenKind::Minus))
    return parsePower();
  Nesting level(*this);
  if (level.isTooDeep()) {
    errorTooDeep(peek().range);
    return nullptr;
  }
  SourceRange begin = advance().range;
  Expr *operand = parseUnary();
  if (!operand)
    return nullptr;
  auto *node = createExpr<UnaryExpr>(ExprKind::Unary, begin.to(operand->range));
  node->op = UnaryOp::Negate;
  node->operand = operand;
  return deepen(node, operand) ? node : nullptr;
}

Expr *Parser::parsePower() {
  Expr *base = parsePostfix();
  if (!base || !at(TokenKind::StarStar))
    return base;
  Nesting level(*this);
  if (level.isTooDeep()) {
    errorTooDeep(peek().range);
    return nullptr;
  }
  SourceRange opRange = advance().range;
  Expr *exponent = parseUnary();
  if (!exponent)
    return nullptr;
  auto *node = createExpr<BinaryExpr>(ExprKind::Binary, base->range.to(exponent->range));
  node->op = BinaryOp::Power;
  node->opRange = opRange;
  node->lhs = base;
  node->rhs = exponent;
  return deepen(node, {base, exponent}) ? node : nullptr;
}

// ------------------------------------------------------------------------- calls, indices, members

Expr *Parser::parsePostfix() {
  SourceRange begin = peek().range;
  Expr *base = parsePrimary();
  while (base) {
    Expr *next = nullptr;
    if (atCall()) {
      auto *node = createExpr<CallExpr>(ExprKind::Call, begin);
      node->callee = base;
      if (!parseArguments(node->arguments) || !deepen(node, node->arguments))
        return nullptr;
      next = node;
    } else if (atIndex()) {
      auto *node = createExpr<IndexExpr>(ExprKind::Index, begin);
      node->base = base;
      if (!parseSubscripts(node->subscripts) || !deepen(node, node->subscripts))
        return nullptr;
      next = node;
    } else if (accept(TokenKind::Dot)) {
      auto *node = createExpr<MemberExpr>(ExprKind::Member, begin);
      node->base = base;
      if (llvm::isa<IntegerExpr>(base)) {
        engine.error(previousRange(), "a float has digits on both sides of its point")
            .hint("such as 1.0");
        return nullptr;
      }
      if (!expectName(node->member))
        return nullptr;
      next = node;
    } else {
      return base;
    }
    next->range = begin.to(previousRange());
    if (!deepen(next, base))
      return nullptr;
    base = next;
  }
  return nullptr;
}

bool Parser::parseArguments(llvm::ArrayRef<Argument> &arguments, bool forLayer) {
  Token open = advance();
  ++openBrackets;
  llvm::SmallVector<Argument> list;
  while (!at(TokenKind::RightParen)) {
    Argument argument;
    if (!parseArgument(argument, forLayer))
      return false;
    if (argument.name.text.empty() && !list.empty() && !list.back().name.text.empty()) {
      engine.error(argument.value->range, "a positional argument cannot follow a keyword argument")
          .hint("keyword arguments come last");
      return false;
    }
    list.push_back(argument);
    if (!accept(TokenKind::Comma))
      break;
  }
  arguments = keep<Argument>(list);
  return expectClose(open, TokenKind::RightParen);
}

bool Parser::parseArgument(Argument &argument, bool forLayer) {
  if (at(TokenKind::Name) && peek(1).is(TokenKind::Assign)) {
    if (!expectName(argument.name))
      return false;
    advance();
  }
  bool whole = peek(1).is(TokenKind::Comma) || peek(1).is(TokenKind::RightParen);
  if (forLayer && at(TokenKind::Underscore) && whole) {
    argument.value = createExpr<HoleExpr>(ExprKind::Hole, advance().range);
    return true;
  }
  argument.value = parseExpr();
  return argument.value != nullptr;
}

bool Parser::parseSubscripts(llvm::ArrayRef<Subscript> &subscripts) {
  Token open = advance();
  ++openBrackets;
  llvm::SmallVector<Subscript> list;
  do {
    Subscript subscript;
    if (!parseSubscript(subscript))
      return false;
    list.push_back(subscript);
  } while (accept(TokenKind::Comma));
  subscripts = keep<Subscript>(list);
  return expectClose(open, TokenKind::RightBracket);
}

bool Parser::parseSubscript(Subscript &subscript) {
  subscript.range = peek().range;
  auto ends = [&] {
    return at(TokenKind::Colon) || at(TokenKind::Comma) || at(TokenKind::RightBracket);
  };
  if (!at(TokenKind::Colon) && !(subscript.begin = parseExpr()))
    return false;
  if (accept(TokenKind::Colon)) {
    subscript.isSlice = true;
    if (!ends() && !(subscript.end = parseExpr()))
      return false;
    if (accept(TokenKind::Colon) && !(subscript.step = parseExpr()))
      return false;
  }
  subscript.range = subscript.range.to(previousRange());
  return true;
}

// --------------------------------------------------------------------------------------- primaries

Expr *Parser::parsePrimary() {
  const Token &token = peek();
  switch (token.kind) {
  case TokenKind::Integer:
    return parseInteger();
  case TokenKind::Float:
    return parseFloat();
  case TokenKind::String: {
    auto *node = createExpr<StringExpr>(ExprKind::String, token.range);
    node->value = keep(stringValue(advance().text));
    return node;
  }
  case TokenKind::True:
  case TokenKind::False: {
    auto *node = createExpr<BoolExpr>(ExprKind::Bool, token.range);
    node->value = advance().is(TokenKind::True);
    return node;
  }
  case TokenKind::None:
    return createExpr<NoneExpr>(ExprKind::None, advance().range);
  case TokenKind::DType: {
    auto *node = createExpr<DTypeExpr>(ExprKind::DType, token.range);
    node->name = advance().text;
    return node;
  }
  case TokenKind::Underscore:
    if (!stageHole) {
      engine.error(token.range, "there is no piped value for '_' to stand for")
          .hint("'_' is an argument of a pipe stage, or a whole argument of 'layer'");
      return nullptr;
    }
    *stageHole = true;
    return createExpr<HoleExpr>(ExprKind::Hole, advance().range);
  case TokenKind::Name: {
    if (token.startsLine && peek(1).is(TokenKind::Assign)) {
      errorExpected("an expression",
                    "line " + std::to_string(lineOf(token)) + " begins a new statement");
      return nullptr;
    }
    bool isWord = peek(1).is(TokenKind::Name) && !peek(1).startsLine;
    if (llvm::StringRef hint = isWord ? hintForStatement(token.text) : ""; !hint.empty()) {
      errorExpected("an expression", hint);
      return nullptr;
    }
    auto *node = createExpr<NameExpr>(ExprKind::NameRef, token.range);
    node->name = advance().text;
    return node;
  }
  case TokenKind::LeftParen:
    return parseParenthesized();
  case TokenKind::LeftBracket:
    return parseBracketed();
  default:
    errorMissing("an expression", hintForOperand());
    return nullptr;
  }
}

/// What may be meant by a token that begins no expression.
std::string Parser::hintForOperand() const {
  switch (peek().kind) {
  case TokenKind::Dot:
    return peek(1).is(TokenKind::Integer) ? "a float has digits on both sides of its point" : "";
  case TokenKind::Star:
  case TokenKind::StarStar:
    return "a sequence is not unpacked: each argument stands for itself";
  case TokenKind::Plus:
    return "a number needs no '+'";
  case TokenKind::LeftBrace:
    return "a sequence stands in '[ ]'; there are no dictionaries";
  case TokenKind::If:
    return "'if ... then ... else ...' needs parentheses here";
  default:
    break;
  }
  llvm::StringRef text = peek().text;
  bool isWord = !text.empty() && llvm::isAlpha(text.front()) && !peek().startsLine;
  return isWord ? "'" + text.str() + "' is a word of the language" : "";
}

Expr *Parser::parseInteger() {
  const Token &token = advance();
  auto *node = createExpr<IntegerExpr>(ExprKind::Integer, token.range);
  if (!token.text.getAsInteger(10, node->value))
    return node;
  engine.error(token.range, "this integer does not fit in 64 bits");
  return nullptr;
}

Expr *Parser::parseFloat() {
  const Token &token = advance();
  auto *node = createExpr<FloatExpr>(ExprKind::Float, token.range);
  // StringRef::getAsDouble crashes on a million digits.
  node->value = std::strtod(token.text.str().c_str(), nullptr);
  if (std::isfinite(node->value))
    return node;
  engine.error(token.range, "this number does not fit in 64 bits");
  return nullptr;
}

Expr *Parser::parseParenthesized() {
  const Token &open = advance();
  llvm::SmallVector<Expr *> items;
  bool endsInComma = false;
  if (!parseItems(open, TokenKind::RightParen, items, endsInComma))
    return nullptr;
  if (items.size() == 1 && !endsInComma)
    return items.front();
  auto *node = createExpr<SequenceExpr>(ExprKind::Sequence, open.range.to(previousRange()));
  node->items = keep<Expr *>(items);
  return deepen(node, llvm::ArrayRef<const Expr *>(items.data(), items.size())) ? node : nullptr;
}

Expr *Parser::parseBracketed() {
  const Token &open = advance();
  llvm::SmallVector<Expr *> items;
  bool endsInComma = false;
  bool isList = false;
  if (!parseItems(open, TokenKind::RightBracket, items, endsInComma, &isList))
    return nullptr;
  if (isList)
    return parseList(open, items.front());
  auto *node = createExpr<SequenceExpr>(ExprKind::Sequence, open.range.to(previousRange()));
  node->items = keep<Expr *>(items);
  return deepen(node, llvm::ArrayRef<const Expr *>(items.data(), items.size())) ? node : nullptr;
}

/// At the `for` behind `[element`.
Expr *Parser::parseList(const Token &open, Expr *element) {
  bool startsLine = peek().startsLine;
  auto *node = createExpr<ListExpr>(ExprKind::List, open.range);
  node->element = element;
  if (!parseLoopHead(node->head, "[f(i) for i in range(3)]"))
    return nullptr;
  // The '[' was forgotten, and what looked like its loop is a statement.
  if (startsLine && at(TokenKind::LeftBrace)) {
    engine
        .error(open.range, "this '[' is not closed; line " +
                               std::to_string(sources.lineColumn(node->head.range).line) +
                               " begins a new statement")
        .hint("expected ',' or ']'");
    openBrackets = 0;
    return nullptr;
  }
  if (accept(TokenKind::If) && !(node->condition = parseExpr()))
    return nullptr;
  if (at(TokenKind::For) || at(TokenKind::If)) {
    errorExpected("']'", at(TokenKind::For) ? "lists nest: [[f(a, b) for b in t] for a in s]"
                                            : "join two conditions by 'and'");
    return nullptr;
  }
  if (!expectClose(open, TokenKind::RightBracket))
    return nullptr;
  node->range = open.range.to(previousRange());
  return deepen(node, {node->element, node->head.sequence, node->condition}) ? node : nullptr;
}

bool Parser::parseItems(const Token &open, TokenKind close, llvm::SmallVectorImpl<Expr *> &items,
                        bool &endsInComma, bool *isList) {
  ++openBrackets;
  while (!at(close)) {
    Expr *item = parseExpr();
    if (!item)
      return false;
    items.push_back(item);
    if (isList && items.size() == 1 && at(TokenKind::For))
      return *isList = true;
    endsInComma = accept(TokenKind::Comma);
    if (!endsInComma)
      break;
  }
  return expectClose(open, close);
}

/// What may be meant by a token that begins no type.
std::string Parser::hintForTypeHere() const {
  if (at(TokenKind::LeftBracket))
    return "a dtype stands before the dimensions: f32[N, 10]";
  std::string hint = at(TokenKind::Name) ? hintForType(peek().text) : "";
  bool isValue = at(TokenKind::Name) || at(TokenKind::Integer) || at(TokenKind::Float);
  return hint.empty() && isValue ? "a value is bound by '='" : hint;
}

bool Parser::parseType(Type &type) {
  if (!at(TokenKind::DType))
    return errorExpected("a type such as f32[N, 10]", hintForTypeHere());
  const Token &dtype = advance();
  type.dtype = dtype.text;
  if (!at(TokenKind::LeftBracket))
    return errorExpected("'[' and the dimensions of a type",
                         at(TokenKind::LeftParen)
                             ? "dimensions stand in '[ ]': " + type.dtype.str() + "[N, 10]"
                             : "a scalar is " + type.dtype.str() + "[]");
  Token open = advance();
  llvm::SmallVector<Expr *> dimensions;
  bool endsInComma = false;
  if (!parseItems(open, TokenKind::RightBracket, dimensions, endsInComma))
    return false;
  type.dimensions = keep<Expr *>(dimensions);
  type.range = dtype.range.to(previousRange());
  return true;
}

} // namespace dlc::frontend
