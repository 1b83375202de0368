// Tokens, and the items of a file: imports, constants, blocks, models, train and infer sections.
#include "frontend/DL/Syntax/Parser.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/ParserImpl.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

static constexpr llvm::StringLiteral modelHint =
    "a network is 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }'";
static constexpr llvm::StringLiteral resultsHint =
    "several results have names: -> (a: f32[N, 10], b: f32[N, 2])";

Parser::Parser(const SourceManager &sources, DiagnosticEngine &engine, ast::File &file)
    : sources(sources), engine(engine), file(file), tokens(tokenize(sources, file.file, engine)) {}

std::unique_ptr<ast::File> parse(const SourceManager &sources, FileId file,
                                 DiagnosticEngine &engine) {
  auto tree = std::make_unique<ast::File>();
  tree->file = file;
  // Damaged tokens would only bring errors that follow from them.
  unsigned errorsBefore = engine.errorCount();
  Parser parser(sources, engine, *tree);
  if (engine.errorCount() == errorsBefore)
    parser.parseFile();
  return tree;
}

// ------------------------------------------------------------------------------------------ tokens

const Token &Parser::advance() {
  const Token &token = peek();
  if (position + 1 < tokens.size())
    ++position;
  return token;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind))
    return false;
  advance();
  return true;
}

bool Parser::expect(TokenKind kind) { return accept(kind) || errorMissing(describe(kind)); }

bool Parser::expectName(Name &name, llvm::StringRef hint) {
  if (!at(TokenKind::Name)) {
    // The keyword or dtype that a person took for a name deserves its own words.
    llvm::StringRef text = peek().text;
    bool word = !text.empty() && (llvm::isAlpha(text.front()) || text.front() == '_');
    return errorExpected("a name", word ? "'" + text.str() + "' is a word of the language"
                                   : at(TokenKind::String) ? "names stand without '\"'"
                                                           : hint.str());
  }
  const Token &token = advance();
  name = {token.text, token.range};
  return true;
}

bool Parser::expectTarget(Name &name) {
  if (!at(TokenKind::Underscore))
    return expectName(name);
  const Token &token = advance();
  name = {token.text, token.range};
  return true;
}

bool Parser::errorExpected(llvm::StringRef expected, llvm::StringRef hint) {
  engine.error(peek().range, "expected " + expected + ", found " + describe(peek())).hint(hint);
  return false;
}

bool Parser::errorMissing(llvm::StringRef expected, llvm::StringRef hint) {
  bool isNextLine = peek().startsLine && position && !at(TokenKind::EndOfFile);
  if (!hint.empty() || !isNextLine)
    return errorExpected(expected, hint);
  return errorExpected(expected,
                       "line " + std::to_string(lineOf(tokens[position - 1])) + " ends without it");
}

bool Parser::expectClose(const Token &open, TokenKind close) {
  if (accept(close)) {
    --openBrackets;
    return true;
  }
  std::string expected = ("',' or " + describe(close)).str();
  std::string why;
  if (at(TokenKind::EndOfFile))
    why = "the file ends";
  else if (at(TokenKind::RightBrace))
    why = "line " + std::to_string(lineOf(peek())) + " ends the body";
  else if (beginsStatement(position) || beginsItem(position))
    why = "line " + std::to_string(lineOf(peek())) + " begins a new statement";
  if (why.empty())
    return errorExpected(expected, hintInBrackets(open));
  // The rest of the line may be a comment that was meant as a division.
  llvm::StringRef line = sources.line(open.range.file, lineOf(open));
  bool isComment = line.contains("//");
  engine.error(open.range, "this " + describe(open.kind) + " is not closed; " + why)
      .hint(isComment ? "'//' begins a comment; div(a, b) rounds down" : "expected " + expected);
  openBrackets = 0;
  return false;
}

/// What may be meant by a sign that cannot follow an item in brackets.
std::string Parser::hintInBrackets(const Token &open) const {
  if (at(TokenKind::For))
    return open.is(TokenKind::LeftBracket) ? "one element stands before 'for': [(a, b) for i in s]"
                                           : "a list stands in '[ ]': [f(i) for i in s]";
  if (at(TokenKind::If))
    return "a choice is 'if condition then a else b'";
  bool isNamed = position && tokens[position - 1].is(TokenKind::Name);
  if (at(TokenKind::Colon) && isNamed)
    return "an argument by name is " + tokens[position - 1].text.str() + "=value";
  if (at(TokenKind::String) && isNamed)
    return "a string has no prefix";
  if (at(TokenKind::RightParen) || at(TokenKind::RightBracket))
    return ("a " + describe(open.kind) + " is open here").str();
  return "";
}

// ------------------------------------------------------------------------------------------- items

bool Parser::beginsItem(size_t index) const {
  const Token &token = tokens[index];
  if (!token.startsLine)
    return false;
  // A word of the language where a name was meant.
  const Token &next = tokens[std::min(index + 1, tokens.size() - 1)];
  if (next.is(TokenKind::Colon) || next.is(TokenKind::Assign) || next.is(TokenKind::Comma))
    return false;
  switch (token.kind) {
  case TokenKind::Block:
  case TokenKind::Model:
  case TokenKind::Train:
  case TokenKind::Infer:
  case TokenKind::From:
    return true;
  default:
    return false;
  }
}

bool Parser::beginsNestedItem() const {
  return beginsItem(position) && sources.lineColumn(peek().range).column > 1;
}

void Parser::parseFile() {
  while (!at(TokenKind::EndOfFile) && !engine.isFull()) {
    unsigned errorsBefore = engine.errorCount();
    size_t before = position;
    openBrackets = 0;
    braceReported = returnReported = false;
    file.statementStarts.push_back(peek().range.begin);
    parseItem();
    if (engine.errorCount() == errorsBefore)
      continue;
    if (position == before)
      advance();
    recoverItem();
  }
}

void Parser::parseItem() {
  switch (peek().kind) {
  case TokenKind::From:
    return parseImport();
  case TokenKind::Block:
    return parseBlock(/*isModel=*/false);
  case TokenKind::Model:
    return parseBlock(/*isModel=*/true);
  case TokenKind::Train:
    return parseSection(/*isTrain=*/true);
  case TokenKind::Infer:
    return parseSection(/*isTrain=*/false);
  case TokenKind::Name:
    if (peek(1).is(TokenKind::Assign))
      return parseConstant();
    break;
  default:
    break;
  }
  if (position == 0 && atWord("language") && peek(1).is(TokenKind::Integer)) {
    engine.error(peek().range, "a version line is not part of the language")
        .hint("'language' before an integer is kept free for one");
    return;
  }
  errorExpected("a block, model, train, infer or 'name = value'", hintForItem());
}

/// What may be meant by tokens that begin no item.
std::string Parser::hintForItem() const {
  static constexpr llvm::StringLiteral words[] = {"block", "model", "train", "infer", "from"};
  const Token &token = peek(), &next = peek(1);
  if (at(TokenKind::String))
    return "documentation is '///' before an item";
  bool isField = at(TokenKind::Name) && next.is(TokenKind::Colon);
  if (isField && (peek(2).is(TokenKind::Name) || peek(2).is(TokenKind::DType)))
    return "a constant has no type: '" + token.text.str() + " = value'";
  if (at(TokenKind::LeftBrace) || isField)
    return modelHint.str();
  if (at(TokenKind::RightBrace))
    return "nothing is open that it could close";
  if (at(TokenKind::Name) && next.is(TokenKind::Dot))
    return hintForMethod(token.text, peek(2).text);
  if (!at(TokenKind::Name) && next.is(TokenKind::Assign))
    return "'" + token.text.str() + "' is a word of the language";
  bool isStatement = at(TokenKind::For) || at(TokenKind::Repeat) || at(TokenKind::If) ||
                     at(TokenKind::Return) || at(TokenKind::Assert) ||
                     llvm::is_contained(statementWords(), token.text);
  if (isStatement)
    return "'" + token.text.str() + "' stands in a block, a model or a section";
  if (llvm::StringRef habit = hintForStatement(token.text); !habit.empty())
    return habit.str();
  if (!at(TokenKind::Name))
    return "";
  llvm::SmallVector<llvm::StringRef> candidates(std::begin(words), std::end(words));
  std::string near = didYouMean(token.text, candidates);
  return near.empty() && next.is(TokenKind::LeftParen)
             ? "calls stand in a block, a model or a section"
             : near;
}

/// Skips to the next line that begins an item, past bodies.
void Parser::recoverItem() {
  unsigned braces = 0;
  for (; !at(TokenKind::EndOfFile) && !beginsItem(position); advance()) {
    bool constant = at(TokenKind::Name) && peek().startsLine && peek(1).is(TokenKind::Assign);
    if (braces == 0 && constant)
      return;
    braces += at(TokenKind::LeftBrace);
    if (at(TokenKind::RightBrace) && braces != 0)
      --braces;
  }
}

void Parser::parseImport() {
  auto *import = create<Import>();
  SourceRange begin = advance().range;
  if (!at(TokenKind::String)) {
    errorExpected("a file in '\"'", hintForStatement("import"));
    return;
  }
  if (!parseStringPattern(import->path) || !expect(TokenKind::Import))
    return;
  llvm::SmallVector<Name> names;
  do {
    Name name;
    if (at(TokenKind::Star) || at(TokenKind::LeftParen)) {
      errorExpected("a name", at(TokenKind::Star)
                                  ? "only listed names arrive: import Bottleneck, BasicBlock"
                                  : "names stand without parentheses");
      return;
    }
    if (!expectName(name))
      return;
    names.push_back(name);
  } while (accept(TokenKind::Comma));
  if (at(TokenKind::As)) {
    errorExpected("',' or the next item", "an imported name stays as it is");
    return;
  }
  import->names = keep<Name>(names);
  import->range = begin.to(previousRange());
  if (!file.constants.empty() || !file.blocks.empty() || !file.sections.empty())
    engine.error(begin, "imports stand at the start of the file");
  file.imports.push_back(import);
}

void Parser::parseConstant() {
  auto *constant = create<Constant>();
  constant->documentation = keep(peek().documentation);
  if (!expectName(constant->name) || !expect(TokenKind::Assign) || !(constant->value = parseExpr()))
    return;
  file.constants.push_back(constant);
}

void Parser::parseBlock(bool isModel) {
  unsigned errorsBefore = engine.errorCount();
  auto *block = create<Block>();
  block->isModel = isModel;
  block->documentation = keep(peek().documentation);
  advance();
  if (!expectName(block->name, isModel ? llvm::StringRef(modelHint) : hintForStatement("def")) ||
      !parseParams(*block))
    return;
  if (isModel) {
    if (!at(TokenKind::Arrow)) {
      errorExpected("'->' and what the model returns", "-> f32[N, 10]");
      return;
    }
    advance();
    if (!parseResults(block->results))
      return;
  }
  if (!parseBody(block->body, BodyKind::Block, block->end))
    return;
  // After an error in the body the return may only have been lost.
  if (engine.errorCount() != errorsBefore)
    return;
  if (block->body.empty() || block->body.back()->kind != StatementKind::Return)
    engine
        .error(block->end, (isModel ? "model '" : "block '") + block->name.text +
                               "' has no 'return' at its end")
        .hint("return ...");
  file.blocks.push_back(block);
}

bool Parser::parseParams(Block &block) {
  Token open = peek();
  if (!at(TokenKind::LeftParen))
    return errorExpected("'('",
                         block.isModel ? llvm::StringRef(modelHint) : hintForStatement("def"));
  advance();
  ++openBrackets;
  llvm::SmallVector<Param> params;
  while (!at(TokenKind::RightParen)) {
    Param param;
    if (!expectName(param.name))
      return false;
    if (!block.isModel && at(TokenKind::Colon)) {
      engine.error(param.name.range, "a parameter of a block has no type")
          .hint("the ops inside check what they are given");
      return false;
    }
    if (accept(TokenKind::Colon)) {
      param.type.emplace();
      if (!parseType(*param.type))
        return false;
      if (at(TokenKind::Assign))
        return errorExpected("',' or ')'", "an input has no default: the data delivers it");
    } else if (accept(TokenKind::Assign) && !(param.defaultValue = parseExpr())) {
      return false;
    }
    params.push_back(param);
    if (!accept(TokenKind::Comma))
      break;
  }
  block.params = keep<Param>(params);
  checkParams(block);
  return expectClose(open, TokenKind::RightParen);
}

/// What the grammar leaves to words: a model has typed inputs, then settings; a block untyped ones,
/// defaults last.
void Parser::checkParams(const Block &block) {
  bool defaults = false;
  for (const Param &param : block.params) {
    if (block.isModel && !param.type && !param.defaultValue)
      engine.error(param.name.range, "a model's parameter needs a type or a default")
          .hint("an input is '" + param.name.text + ": f32[N, ...]', a setting '" +
                param.name.text + " = value'");
    else if (defaults && !param.defaultValue)
      engine.error(param.name.range, block.isModel
                                         ? "the inputs of a model stand before its settings"
                                         : "parameters with defaults stand last");
    defaults |= param.defaultValue != nullptr;
  }
}

bool Parser::parseResults(Results &results) {
  SourceRange begin = peek().range;
  if (!at(TokenKind::LeftParen)) {
    if (at(TokenKind::Name) && peek(1).is(TokenKind::Colon)) {
      errorExpected("a type such as f32[N, 10]", "results with names stand in parentheses: (" +
                                                     peek().text.str() + ": f32[N, 10])");
      return false;
    }
    results.single.emplace();
    if (!parseType(*results.single))
      return false;
    results.range = results.single->range;
    return !at(TokenKind::Comma) || errorExpected("'{'", resultsHint);
  }
  Token open = advance();
  ++openBrackets;
  llvm::SmallVector<Field> fields;
  do {
    Field field;
    if (at(TokenKind::DType))
      return errorExpected("a name", resultsHint);
    if (!parseField(field))
      return false;
    fields.push_back(field);
  } while (accept(TokenKind::Comma));
  results.fields = keep<Field>(fields);
  if (!expectClose(open, TokenKind::RightParen))
    return false;
  results.range = begin.to(previousRange());
  return true;
}

bool Parser::parseField(Field &field) {
  return expectName(field.name) && expect(TokenKind::Colon) && parseType(field.type);
}

void Parser::parseSection(bool isTrain) {
  auto *section = create<Section>();
  section->isTrain = isTrain;
  section->documentation = keep(peek().documentation);
  section->range = advance().range;
  if (!at(TokenKind::Name)) {
    errorExpected("the name of a model", isTrain ? "train Model { ... }" : "infer Model { ... }");
    return;
  }
  if (!parseUses(section->uses))
    return;
  if (accept(TokenKind::As) && !expectName(section->name))
    return;
  if (!isTrain && accept(TokenKind::Arrow)) {
    section->results.emplace();
    if (!parseResults(*section->results))
      return;
  }
  BodyKind kind = isTrain ? BodyKind::Train : BodyKind::Infer;
  if (parseBody(section->body, kind, section->end))
    file.sections.push_back(section);
}

bool Parser::parseUses(llvm::ArrayRef<Use> &uses) {
  llvm::SmallVector<Use> list;
  do {
    Use use;
    if (!expectName(use.model) || (atCall() && !parseArguments(use.settings)))
      return false;
    list.push_back(use);
  } while (accept(TokenKind::Comma));
  uses = keep<Use>(list);
  return true;
}

} // namespace dlc::frontend
