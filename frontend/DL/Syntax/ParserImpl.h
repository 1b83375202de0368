// The parser's class, shared by ParseExpressions.cpp, ParseStatements.cpp and ParseItems.cpp.
//
// A parse function returns null (or false) after it has reported an error; its caller passes that
// on until a body or the file recovers. Only `recover...` skips tokens.
#ifndef DLC_FRONTEND_DL_SYNTAX_PARSERIMPL_H
#define DLC_FRONTEND_DL_SYNTAX_PARSERIMPL_H

#include "frontend/DL/Syntax/Lexer.h"
#include "frontend/DL/Syntax/Parser.h"

namespace dlc::frontend {

class Parser {
public:
  Parser(const SourceManager &sources, DiagnosticEngine &engine, ast::File &file);
  void parseFile();

private:
  /// What the statements of a body may be.
  enum class BodyKind { Block, Nested, Train, Infer, Step };

  // ---- tokens
  const Token &peek(unsigned ahead = 0) const {
    return tokens[std::min<size_t>(position + ahead, tokens.size() - 1)];
  }
  bool at(TokenKind kind) const { return peek().is(kind); }
  bool atWord(llvm::StringRef word) const { return at(TokenKind::Name) && peek().text == word; }
  const Token &advance();
  bool accept(TokenKind kind);
  /// Takes a token of this kind or reports "expected ..., found ...".
  bool expect(TokenKind kind);
  /// `hint` is for a token that is no word.
  bool expectName(ast::Name &name, llvm::StringRef hint = "");
  /// A name that gets a value, or `_` for a value of no interest.
  bool expectTarget(ast::Name &name);
  /// Always false, so that a parse function can return it.
  bool errorExpected(llvm::StringRef expected, llvm::StringRef hint = "");
  /// The same where something was begun: the line may have ended too early.
  bool errorMissing(llvm::StringRef expected, llvm::StringRef hint = "");
  SourceRange previousRange() const { return tokens[position - 1].range; }
  /// The rest of a bracketed list after an item: the closing sign, or an error that finds the
  /// unclosed one.
  bool expectClose(const Token &open, TokenKind close);
  std::string hintInBrackets(const Token &open) const;
  std::string hintForOperand() const;
  bool beginsStatement(size_t index) const;
  bool beginsItem(size_t index) const;
  /// An item inside a body, by its indentation: else the body is not closed.
  bool beginsNestedItem() const;
  unsigned lineOf(const Token &token) const { return sources.lineColumn(token.range).line; }

  // ---- nodes
  template <typename T> llvm::ArrayRef<T> keep(llvm::ArrayRef<T> items) {
    return items.copy(file.arena);
  }
  llvm::StringRef keep(const std::string &text) { return llvm::StringRef(text).copy(file.arena); }
  template <typename T> T *create() { return new (file.arena.Allocate<T>()) T(); }
  template <typename T> T *createExpr(ast::ExprKind kind, SourceRange range) {
    T *node = create<T>();
    node->kind = kind;
    node->depth = 1;
    node->range = range;
    return node;
  }
  template <typename T> T *createStatement(ast::StatementKind kind, SourceRange range) {
    T *node = create<T>();
    node->kind = kind;
    node->range = range;
    return node;
  }
  /// Sets the depth above `children` (null ones are skipped); false and an error if it is too deep.
  bool deepen(ast::Expr *node, llvm::ArrayRef<const ast::Expr *> children);
  bool deepen(ast::Expr *node, llvm::ArrayRef<ast::Argument> arguments);
  bool deepen(ast::Expr *node, llvm::ArrayRef<ast::Subscript> subscripts);
  bool errorTooDeep(SourceRange range);

  /// Counts one level of recursion for as long as it lives.
  class Nesting {
  public:
    explicit Nesting(Parser &parser) : parser(parser) { ++parser.nesting; }
    ~Nesting() { --parser.nesting; }
    bool isTooDeep() const { return parser.nesting > maxNesting; }

  private:
    Parser &parser;
  };

  // ---- expressions
  ast::Expr *parseExpr();
  ast::Expr *parseConditional();
  ast::Expr *parsePipe();
  bool parseStage(ast::Stage &stage);
  bool errorPathAsStage(const Token &root);
  void errorOperatorAfterStage(uint32_t pipeBegin);
  ast::Expr *parseBinary(int minPrecedence);
  ast::Expr *parseOperand(int minPrecedence);
  ast::Expr *parseUnary();
  ast::Expr *parsePower();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseInteger();
  ast::Expr *parseFloat();
  ast::Expr *parseParenthesized();
  ast::Expr *parseBracketed();
  ast::Expr *parseList(const Token &open, ast::Expr *element);
  /// After the opening sign, up to and with the closing one; `endsInComma` tells "(a,)" from "(a)".
  /// With `isList`, which is set then, only up to the `for` behind the element of a list.
  bool parseItems(const Token &open, TokenKind close, llvm::SmallVectorImpl<ast::Expr *> &items,
                  bool &endsInComma, bool *isList = nullptr);
  /// `forLayer`: a `_` that is a whole argument is a value to come.
  bool parseArguments(llvm::ArrayRef<ast::Argument> &arguments, bool forLayer = false);
  bool parseArgument(ast::Argument &argument, bool forLayer);
  bool parseSubscripts(llvm::ArrayRef<ast::Subscript> &subscripts);
  bool parseSubscript(ast::Subscript &subscript);
  bool atCall() const { return at(TokenKind::LeftParen) && !peek().startsLine; }
  bool atIndex() const { return at(TokenKind::LeftBracket) && !peek().startsLine; }
  bool parseType(ast::Type &type);
  std::string hintForTypeHere() const;

  // ---- statements
  bool parseBody(ast::Body &body, BodyKind kind, SourceRange &end);
  ast::Statement *parseStatement(BodyKind kind);
  ast::Statement *parseWordStatement(BodyKind kind);
  ast::Statement *parseBinding();
  ast::Statement *parseLayer();
  ast::Statement *parseParameter();
  ast::Statement *parseState();
  ast::Statement *parseFor();
  /// `for` to the label.
  bool parseLoopHead(ast::LoopHead &head, llvm::StringRef example);
  bool parsePattern(ast::Pattern &pattern);
  ast::Statement *parseRepeat();
  bool parseLabel(ast::Name &label);
  ast::Statement *parseIf();
  ast::Statement *parseAssert();
  ast::Statement *parseReturn(BodyKind kind);
  ast::Statement *parseFieldStatement();
  ast::Statement *parseMetric();
  bool parseSetting(ast::Setting &setting);
  ast::Statement *parseGroup();
  ast::Statement *parseStep();
  bool parseStepTarget(ast::StepTarget &target);
  bool parseStringPattern(ast::PatternString &pattern);
  bool errorNoBody();
  void errorNoStatement();
  std::string hintForStatementHere() const;
  void recoverStatement(unsigned openBrackets);

  // ---- items
  void parseItem();
  void parseImport();
  void parseConstant();
  void parseBlock(bool isModel);
  bool parseParams(ast::Block &block);
  void checkParams(const ast::Block &block);
  bool parseResults(ast::Results &results);
  bool parseField(ast::Field &field);
  void parseSection(bool isTrain);
  bool parseUses(llvm::ArrayRef<ast::Use> &uses);
  std::string hintForItem() const;
  void recoverItem();

  const SourceManager &sources;
  DiagnosticEngine &engine;
  ast::File &file;
  std::vector<Token> tokens;
  size_t position = 0;
  unsigned nesting = 0;
  /// Brackets that were open at the last error, so that recovery can look for their ends.
  unsigned openBrackets = 0;
  /// One unclosed '{' leaves all bodies around it unclosed: the innermost is reported.
  bool braceReported = false;
  bool returnReported = false;
  /// Set when a `_` is met; null outside the arguments of a pipe stage.
  bool *stageHole = nullptr;
};

} // namespace dlc::frontend

#endif
