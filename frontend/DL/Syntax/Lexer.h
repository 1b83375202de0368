// Characters to tokens.
//
// Spaces and line ends only separate tokens; each token knows whether it begins a line, because a
// '(' or '[' continues an expression on the same line only and because recovery looks for lines
// that begin a statement. Errors are reported and skipped: the parser never sees a damaged token. A
// file that is not UTF-8 gives one error and no tokens.
#ifndef DLC_FRONTEND_DL_SYNTAX_LEXER_H
#define DLC_FRONTEND_DL_SYNTAX_LEXER_H

#include "frontend/DL/Syntax/Diagnostics.h"

namespace dlc::frontend {

enum class TokenKind : uint8_t {
  EndOfFile,
  Name,
  Underscore,
  Integer,
  Float,
  String,
  DType,
  // Keywords.
  And,
  As,
  Assert,
  Block,
  Else,
  False,
  For,
  From,
  If,
  Import,
  In,
  Infer,
  Model,
  None,
  Not,
  Or,
  Repeat,
  Return,
  Then,
  Train,
  True,
  // Punctuation.
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Colon,
  Dot,
  Assign,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Plus,
  Minus,
  Star,
  StarStar,
  Slash,
  Percent,
  At,
  Pipe,
  Arrow,
};

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  /// The first token of its line.
  bool startsLine = false;
  SourceRange range;
  /// Name, number and DTYPE as written; a string with its quotes.
  llvm::StringRef text;
  /// The `///` lines right before, joined by newlines.
  std::string documentation;

  bool is(TokenKind other) const { return kind == other; }
};

/// The token as an error message names it: "'('", "the name 'x'", "the end of the file".
std::string describe(const Token &token);
/// The fixed spelling of a keyword or sign, in quotes; "a name" and such for the others.
llvm::StringRef describe(TokenKind kind);

/// Whether an operand may end with the token: a '(', '[' or '-' behind it on the line continues the
/// expression.
bool endsOperand(TokenKind kind);

/// All keywords but the DTYPEs, and the DTYPEs, in alphabetical order.
llvm::ArrayRef<llvm::StringLiteral> keywords();
llvm::ArrayRef<llvm::StringLiteral> dtypeWords();
/// Names that mean something at the start of a statement: `layer`, `step`.
llvm::ArrayRef<llvm::StringLiteral> statementWords();

/// The whole file, ended by one EndOfFile token.
std::vector<Token> tokenize(const SourceManager &sources, FileId file, DiagnosticEngine &engine);

/// The value of a String token: without quotes, escapes resolved.
std::string stringValue(llvm::StringRef text);

} // namespace dlc::frontend

#endif
