// Statements and their bodies, and how parsing goes on after an error in one.
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/ParserImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

bool Parser::beginsStatement(size_t index) const {
  const Token &token = tokens[index];
  if (!token.startsLine)
    return false;
  switch (token.kind) {
  case TokenKind::For:
  case TokenKind::Repeat:
  case TokenKind::If:
  case TokenKind::Assert:
  case TokenKind::Return:
    return true;
  case TokenKind::Underscore:
    return tokens[index + 1].is(TokenKind::Assign) || tokens[index + 1].is(TokenKind::Comma);
  case TokenKind::Name: {
    const Token &next = tokens[index + 1];
    if (next.is(TokenKind::Assign) || next.is(TokenKind::Comma) || next.is(TokenKind::Colon))
      return true;
    return (next.is(TokenKind::Name) || next.is(TokenKind::String)) &&
           llvm::is_contained(statementWords(), token.text);
  }
  default:
    return false;
  }
}

/// Always false.
bool Parser::errorNoBody() {
  std::string hint = "a body stands in '{ }'";
  if (at(TokenKind::Assign))
    hint = "'==' compares";
  else if (at(TokenKind::Then) || at(TokenKind::Else))
    hint = "'if ... then ... else ...' is an expression, bind it to a name";
  else if (at(TokenKind::Arrow))
    hint = "only a model says what it returns";
  return errorExpected("'{'", hint);
}

/// Parses `{ statements }`. `end` is the closing brace.
bool Parser::parseBody(Body &body, BodyKind kind, SourceRange &end) {
  Nesting level(*this);
  if (level.isTooDeep())
    return errorTooDeep(peek().range);
  Token open = peek();
  if (!at(TokenKind::LeftBrace))
    return errorNoBody();
  advance();
  llvm::SmallVector<Statement *> statements;
  while (!at(TokenKind::RightBrace)) {
    if (beginsNestedItem() && !engine.isFull()) {
      engine
          .error(peek().range,
                 describe(peek().kind) + " stands outside of blocks, models and sections")
          .hint("put it before this body, or close the body with '}'");
      unsigned errorsBefore = engine.errorCount();
      parseItem();
      if (engine.errorCount() != errorsBefore)
        recoverStatement(openBrackets);
      continue;
    }
    if (at(TokenKind::EndOfFile) || beginsItem(position) || engine.isFull()) {
      if (!std::exchange(braceReported, true))
        engine.error(open.range,
                     "this '{' is not closed; " +
                         (at(TokenKind::EndOfFile)
                              ? std::string("the file ends")
                              : "line " + std::to_string(lineOf(peek())) + " begins a new item"));
      return false;
    }
    auto reportReturn = [&] {
      if (!statements.empty() && statements.back()->kind == StatementKind::Return &&
          !std::exchange(returnReported, true))
        engine.error(statements.back()->range, "'return' must be the last statement of its body");
    };
    // What follows in the same line may be no statement, but a slip in the returned value.
    if (peek().startsLine)
      reportReturn();
    size_t before = position;
    openBrackets = 0;
    file.statementStarts.push_back(peek().range.begin);
    if (Statement *statement = parseStatement(kind)) {
      reportReturn();
      statements.push_back(statement);
      continue;
    }
    if (position == before)
      advance();
    recoverStatement(openBrackets);
  }
  end = advance().range;
  returnReported = false;
  body = keep<Statement *>(statements);
  return true;
}

/// Skips to the next line that begins a statement, past bodies in between, or to the brace that
/// ends this body.
void Parser::recoverStatement(unsigned open) {
  size_t i = position;
  for (unsigned depth = open; depth != 0; ++i) {
    const Token &token = tokens[i];
    bool ends = token.is(TokenKind::EndOfFile) || token.is(TokenKind::LeftBrace) ||
                token.is(TokenKind::RightBrace) || beginsItem(i) ||
                (beginsStatement(i) && !token.is(TokenKind::Name));
    if (ends)
      break;
    if (token.is(TokenKind::LeftParen) || token.is(TokenKind::LeftBracket))
      ++depth;
    if ((token.is(TokenKind::RightParen) || token.is(TokenKind::RightBracket)) && --depth == 0)
      position = i;
  }
  unsigned braces = 0;
  for (; !at(TokenKind::EndOfFile) && !beginsItem(position); advance()) {
    if (braces == 0 && (at(TokenKind::RightBrace) || beginsStatement(position)))
      return;
    braces += at(TokenKind::LeftBrace);
    braces -= at(TokenKind::RightBrace);
  }
}

/// What may be meant by tokens that begin no statement.
std::string Parser::hintForStatementHere() const {
  if (at(TokenKind::Arrow))
    return "a pipe is '|>'";
  if (at(TokenKind::Comma))
    return "a statement ends without a sign";
  if (at(TokenKind::RightParen) || at(TokenKind::RightBracket))
    return "nothing is open that it could close";
  if (at(TokenKind::Minus) && peek(1).is(TokenKind::Minus))
    return "a comment begins with '//'";
  if (at(TokenKind::Assign))
    return "a field has no value: the data delivers it";
  if (at(TokenKind::At))
    return "there are no decorators: leave it out";
  bool isOpening = at(TokenKind::LeftParen) || at(TokenKind::LeftBracket);
  if (isOpening && peek().startsLine)
    return ("a " + describe(peek().kind) + " that goes on with a line stands on it").str();
  std::string name = peek().text.str();
  const Token &next = peek(1);
  bool isCall = next.is(TokenKind::LeftParen);
  bool isMeantAsName = next.is(TokenKind::Assign) || next.is(TokenKind::Colon);
  if (isMeantAsName && !at(TokenKind::Name) && !name.empty() && llvm::isAlpha(name.front()))
    return "'" + name + "' is a word of the language";
  if (at(TokenKind::Name) && next.is(TokenKind::LeftBracket) && !next.startsLine)
    return "no value changes in place: a new one is bound to a name";
  llvm::StringRef habit = hintForStatement(name);
  if (!habit.empty() && (!isCall || name == "print"))
    return habit.str();
  if (at(TokenKind::DType))
    return "a value is bound without a type: 'name = value'";
  if (!at(TokenKind::Name))
    return "";
  if (isCall)
    return "a value is bound to a name: 'name = " + name + "(...)'";
  if (next.is(TokenKind::Equal))
    return "a value is bound by '='";
  bool isUpdate = peek(2).is(TokenKind::Assign) && next.range.length == 1 &&
                  llvm::StringRef("+-*/").contains(sources.text(next.range));
  if (isUpdate)
    return "'" + name + " = " + name + " " + sources.text(next.range).str() + " ...'";
  if (next.is(TokenKind::Dot))
    return hintForMethod(name, peek(2).text);
  if (next.startsLine || next.is(TokenKind::RightBrace))
    return "a value is bound by '" + name + " = value', data is declared by '" + name + ": i32[N]'";
  return "";
}

void Parser::errorNoStatement() {
  static constexpr llvm::StringLiteral words[] = {"layer",  "parameter",  "state",  "for",
                                                  "repeat", "if",         "assert", "return",
                                                  "metric", "parameters", "step"};
  if (at(TokenKind::Else)) {
    engine.error(peek().range, "'else' without an 'if' before it");
    return;
  }
  llvm::SmallVector<llvm::StringRef> candidates(std::begin(words), std::end(words));
  bool isAlone = peek(1).startsLine || peek(1).is(TokenKind::RightBrace);
  bool mayBeSlip = at(TokenKind::Name) && !isAlone && hintForStatement(peek().text).empty();
  std::string hint = mayBeSlip ? didYouMean(peek().text, candidates) : "";
  errorExpected("a statement", hint.empty() ? hintForStatementHere() : hint);
}

Statement *Parser::parseStatement(BodyKind kind) {
  switch (peek().kind) {
  case TokenKind::For:
    return parseFor();
  case TokenKind::Repeat:
    return parseRepeat();
  case TokenKind::If:
    return parseIf();
  case TokenKind::Assert:
    return parseAssert();
  case TokenKind::Return:
    return parseReturn(kind);
  case TokenKind::Name:
    break;
  case TokenKind::Underscore:
    return parseBinding();
  default:
    errorNoStatement();
    return nullptr;
  }
  const Token &next = peek(1);
  if (next.is(TokenKind::Assign) || next.is(TokenKind::Comma))
    return parseBinding();
  if (next.is(TokenKind::Colon)) {
    if (kind == BodyKind::Train || kind == BodyKind::Infer)
      return parseFieldStatement();
    engine.error(peek().range, "a field stands in a train or infer section only")
        .hint("a value is bound without a type; 'parameter' declares a weight");
    return nullptr;
  }
  if (llvm::is_contained(statementWords(), peek().text))
    return parseWordStatement(kind);
  errorNoStatement();
  return nullptr;
}

/// A statement that begins with a word which is a name elsewhere.
Statement *Parser::parseWordStatement(BodyKind kind) {
  bool inTrain = kind == BodyKind::Train, inStep = kind == BodyKind::Step;
  llvm::StringRef word = peek().text;
  llvm::StringRef hint = kind == BodyKind::Nested ? "and not inside 'for', 'repeat' or 'if'" : "";
  if ((word == "metric" || word == "parameters") && !inTrain && !inStep)
    engine.error(peek().range, "'" + word + "' stands in a train section or a step only")
        .hint(hint);
  if (word == "step" && !inTrain)
    engine.error(peek().range, "'step' stands in a train section only").hint(hint);
  if (word == "layer")
    return parseLayer();
  if (word == "parameter")
    return parseParameter();
  if (word == "state")
    return parseState();
  if (word == "metric")
    return parseMetric();
  if (word == "parameters")
    return parseGroup();
  return parseStep();
}

Statement *Parser::parseBinding() {
  llvm::SmallVector<Name> names;
  SourceRange begin = peek().range;
  do {
    Name name;
    if (!expectTarget(name))
      return nullptr;
    names.push_back(name);
  } while (accept(TokenKind::Comma));
  if (at(TokenKind::Colon)) {
    errorExpected("'='", "each field stands by itself: 'name: i32[N]'");
    return nullptr;
  }
  if (!expect(TokenKind::Assign))
    return nullptr;
  Expr *value = parseExpr();
  if (!value)
    return nullptr;
  auto *node = createStatement<BindingStatement>(StatementKind::Binding, begin.to(previousRange()));
  node->names = keep<Name>(names);
  node->value = value;
  return node;
}

Statement *Parser::parseLayer() {
  SourceRange begin = advance().range;
  auto *node = createStatement<LayerStatement>(StatementKind::Layer, begin);
  if (!expectName(node->name) || !expect(TokenKind::Assign) || !expectName(node->callee))
    return nullptr;
  if (!atCall()) {
    errorExpected("'(' and the arguments of the layer", "'_' stands for each value to come");
    return nullptr;
  }
  bool *outer = std::exchange(stageHole, nullptr);
  bool parsed = parseArguments(node->arguments, /*forLayer=*/true);
  stageHole = outer;
  node->range = begin.to(previousRange());
  return parsed ? node : nullptr;
}

Statement *Parser::parseParameter() {
  SourceRange begin = advance().range;
  auto *node = createStatement<ParameterStatement>(StatementKind::Parameter, begin);
  if (!expectName(node->name))
    return nullptr;
  llvm::StringRef name = node->name.text;
  if (!at(TokenKind::Colon)) {
    errorExpected("':' and a type", ("parameter " + name + ": f32[3] = 0").str());
    return nullptr;
  }
  advance();
  if (!parseType(node->type))
    return nullptr;
  if (!at(TokenKind::Assign)) {
    errorExpected("'='", "what it begins with: = normal(0, 0.02)");
    return nullptr;
  }
  advance();
  if (!(node->init = parseExpr()))
    return nullptr;
  node->range = begin.to(previousRange());
  return node;
}

Statement *Parser::parseState() {
  SourceRange begin = advance().range;
  auto *node = createStatement<StateStatement>(StatementKind::State, begin);
  if (!expectName(node->name) || !expect(TokenKind::Colon) || !parseType(node->type))
    return nullptr;
  if (accept(TokenKind::Assign) && !(node->init = parseExpr()))
    return nullptr;
  node->range = begin.to(previousRange());
  return node;
}

Statement *Parser::parseFor() {
  auto *node = createStatement<ForStatement>(StatementKind::For, peek().range);
  SourceRange end;
  if (!parseLoopHead(node->head, "for i in range(3) { ... }") ||
      !parseBody(node->body, BodyKind::Nested, end))
    return nullptr;
  return node;
}

bool Parser::parseLoopHead(LoopHead &head, llvm::StringRef example) {
  head.range = advance().range;
  llvm::SmallVector<Pattern> patterns;
  do {
    Pattern pattern;
    if (!parsePattern(pattern))
      return false;
    patterns.push_back(pattern);
  } while (accept(TokenKind::Comma));
  head.patterns = keep<Pattern>(patterns);
  if (!at(TokenKind::In))
    return errorExpected("'in'", example);
  advance();
  return (head.sequence = parseExpr()) && parseLabel(head.label);
}

bool Parser::parsePattern(Pattern &pattern) {
  Nesting level(*this);
  if (level.isTooDeep())
    return errorTooDeep(peek().range);
  pattern.range = peek().range;
  if (!at(TokenKind::LeftParen)) {
    Name name;
    if (!expectTarget(name))
      return false;
    pattern.name = name.text;
    return true;
  }
  Token open = advance();
  ++openBrackets;
  llvm::SmallVector<Pattern> items;
  do {
    Pattern item;
    if (!parsePattern(item))
      return false;
    items.push_back(item);
  } while (accept(TokenKind::Comma));
  if (!expectClose(open, TokenKind::RightParen))
    return false;
  pattern.items = keep<Pattern>(items);
  pattern.range = pattern.range.to(previousRange());
  return true;
}

Statement *Parser::parseRepeat() {
  SourceRange begin = advance().range, end;
  auto *node = createStatement<RepeatStatement>(StatementKind::Repeat, begin);
  if (!(node->count = parseExpr()) || !parseLabel(node->label) ||
      !parseBody(node->body, BodyKind::Nested, end))
    return nullptr;
  return node;
}

bool Parser::parseLabel(Name &label) { return !accept(TokenKind::As) || expectName(label); }

Statement *Parser::parseIf() {
  Nesting level(*this);
  if (level.isTooDeep()) {
    errorTooDeep(peek().range);
    return nullptr;
  }
  SourceRange begin = advance().range, end;
  auto *node = createStatement<IfStatement>(StatementKind::If, begin);
  if (!(node->condition = parseExpr()))
    return nullptr;
  if (at(TokenKind::Else)) {
    llvm::StringRef condition = sources.text(node->condition->range);
    engine.error(begin, "the condition of a choice stands before both values")
        .hint("if " + (condition.size() > 60 ? "condition" : condition) + " then a else b");
    return nullptr;
  }
  if (!parseBody(node->thenBody, BodyKind::Nested, end))
    return nullptr;
  if (!accept(TokenKind::Else))
    return node;
  if (!at(TokenKind::If))
    return parseBody(node->elseBody, BodyKind::Nested, end) ? node : nullptr;
  Statement *elseIf = parseIf();
  if (!elseIf)
    return nullptr;
  node->elseBody = keep<Statement *>(elseIf);
  return node;
}

Statement *Parser::parseAssert() {
  SourceRange begin = advance().range;
  auto *node = createStatement<AssertStatement>(StatementKind::Assert, begin);
  if (!(node->condition = parseExpr()))
    return nullptr;
  if (accept(TokenKind::Comma) && !(node->message = parseExpr()))
    return nullptr;
  node->range = begin.to(previousRange());
  return node;
}

Statement *Parser::parseReturn(BodyKind kind) {
  SourceRange begin = advance().range;
  if (kind == BodyKind::Nested)
    engine.error(begin, "'return' stands at the end of a block, not inside 'for', 'repeat' or 'if'")
        .hint("bind a name here and return it at the end");
  if (kind == BodyKind::Train || kind == BodyKind::Step)
    engine.error(begin, "a train section returns nothing").hint("'loss = ...' or 'metric ...'");
  auto *node = createStatement<ReturnStatement>(StatementKind::Return, begin);
  llvm::SmallVector<Expr *> values;
  do {
    Expr *value = parseExpr();
    if (!value)
      return nullptr;
    values.push_back(value);
  } while (accept(TokenKind::Comma));
  node->values = keep<Expr *>(values);
  node->range = begin.to(previousRange());
  return node;
}

// -------------------------------------------------------------------------------- of sections only

Statement *Parser::parseFieldStatement() {
  auto *node = createStatement<FieldStatement>(StatementKind::Field, peek().range);
  if (!parseField(node->field))
    return nullptr;
  node->range = node->range.to(previousRange());
  return node;
}

Statement *Parser::parseMetric() {
  SourceRange begin = advance().range;
  auto *node = createStatement<MetricStatement>(StatementKind::Metric, begin);
  if (!expectName(node->name, "metric accuracy = accuracy(output, label)"))
    return nullptr;
  if (!at(TokenKind::Assign)) {
    errorExpected("'='", ("metric " + node->name.text + " = accuracy(output, label)").str());
    return nullptr;
  }
  advance();
  if (!(node->value = parseExpr()))
    return nullptr;
  node->range = begin.to(previousRange());
  return node;
}

bool Parser::parseStringPattern(PatternString &pattern) {
  if (!at(TokenKind::String))
    return errorExpected("a string");
  const Token &token = advance();
  pattern = {keep(stringValue(token.text)), token.range};
  return true;
}

/// `lr_mult = 2` of a group.
bool Parser::parseSetting(Setting &setting) {
  if (!at(TokenKind::Name))
    return errorExpected("'name = value' or '}'");
  if (!expectName(setting.name))
    return false;
  if (!at(TokenKind::Assign))
    return errorExpected("'='", (setting.name.text + " = value").str());
  advance();
  setting.value = parseExpr();
  return setting.value != nullptr;
}

Statement *Parser::parseGroup() {
  SourceRange begin = advance().range;
  auto *node = createStatement<GroupStatement>(StatementKind::Group, begin);
  llvm::SmallVector<PatternString> patterns;
  do {
    PatternString pattern;
    if (!at(TokenKind::String)) {
      errorExpected("a pattern of parameter names", "such as \"head.*\" or \"**.bias\"");
      return nullptr;
    }
    parseStringPattern(pattern);
    patterns.push_back(pattern);
  } while (accept(TokenKind::Comma));
  if (!at(TokenKind::LeftBrace)) {
    errorNoBody();
    return nullptr;
  }
  advance();
  llvm::SmallVector<Setting> settings;
  while (!accept(TokenKind::RightBrace)) {
    Setting setting;
    file.statementStarts.push_back(peek().range.begin);
    if (!parseSetting(setting)) {
      // The rest of the group's line is no statement of the section.
      while (!at(TokenKind::RightBrace) && !peek().startsLine && !at(TokenKind::EndOfFile))
        advance();
      accept(TokenKind::RightBrace);
      return nullptr;
    }
    settings.push_back(setting);
  }
  node->patterns = keep<PatternString>(patterns);
  node->settings = keep<Setting>(settings);
  node->range = begin.to(previousRange());
  return node;
}

bool Parser::parseStepTarget(StepTarget &target) {
  if (at(TokenKind::String)) {
    PatternString pattern;
    parseStringPattern(pattern);
    target = {pattern.text, pattern.range, true};
    return true;
  }
  if (!at(TokenKind::Name))
    return errorExpected("the name of a model or a pattern of parameter names");
  const Token &token = advance();
  target = {token.text, token.range, false};
  return true;
}

Statement *Parser::parseStep() {
  SourceRange begin = advance().range, end;
  auto *node = createStatement<StepStatement>(StatementKind::Step, begin);
  node->every = 1;
  if (!expectName(node->name))
    return nullptr;
  if (!atWord("updates")) {
    errorExpected("'updates'", "a step says which parameters it trains");
    return nullptr;
  }
  advance();
  llvm::SmallVector<StepTarget> targets;
  do {
    StepTarget target;
    if (!parseStepTarget(target))
      return nullptr;
    targets.push_back(target);
  } while (accept(TokenKind::Comma));
  node->targets = keep<StepTarget>(targets);
  if (atWord("every")) {
    advance();
    if (!at(TokenKind::Integer)) {
      errorExpected("an integer after 'every'");
      return nullptr;
    }
    Expr *every = parseInteger();
    if (!every)
      return nullptr;
    node->every = llvm::cast<IntegerExpr>(every)->value;
    if (node->every == 0) {
      engine.error(every->range, "'every' counts from 1");
      return nullptr;
    }
  }
  return parseBody(node->body, BodyKind::Step, end) ? node : nullptr;
}

} // namespace dlc::frontend
