// One pass over the text; knows nothing of the grammar.
#include "frontend/DL/Lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

namespace dlc::frontend {

static bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

namespace {
struct Keyword {
  llvm::StringLiteral word;
  TokenKind kind;
};
} // namespace
static constexpr Keyword keywordTable[] = {
    {"and", TokenKind::And},       {"as", TokenKind::As},         {"assert", TokenKind::Assert},
    {"block", TokenKind::Block},   {"else", TokenKind::Else},     {"false", TokenKind::False},
    {"for", TokenKind::For},       {"from", TokenKind::From},     {"if", TokenKind::If},
    {"import", TokenKind::Import}, {"in", TokenKind::In},         {"infer", TokenKind::Infer},
    {"model", TokenKind::Model},   {"none", TokenKind::None},     {"not", TokenKind::Not},
    {"or", TokenKind::Or},         {"repeat", TokenKind::Repeat}, {"return", TokenKind::Return},
    {"then", TokenKind::Then},     {"train", TokenKind::Train},   {"true", TokenKind::True}};
static constexpr llvm::StringLiteral dtypeTable[] = {"bf16", "bool", "f16", "f32",
                                                     "f64",  "i32",  "i64", "u8"};

llvm::ArrayRef<llvm::StringLiteral> keywords() {
  static const std::vector<llvm::StringLiteral> words = [] {
    std::vector<llvm::StringLiteral> list;
    for (const Keyword &keyword : keywordTable)
      list.push_back(keyword.word);
    return list;
  }();
  return words;
}
llvm::ArrayRef<llvm::StringLiteral> dtypeWords() { return dtypeTable; }

llvm::ArrayRef<llvm::StringLiteral> statementWords() {
  static constexpr llvm::StringLiteral words[] = {"layer",      "metric", "parameter",
                                                  "parameters", "state",  "step"};
  return words;
}

static TokenKind classifyWord(llvm::StringRef word) {
  if (word == "_")
    return TokenKind::Underscore;
  if (llvm::is_contained(dtypeTable, word))
    return TokenKind::DType;
  for (const Keyword &keyword : keywordTable)
    if (word == keyword.word)
      return keyword.kind;
  return TokenKind::Name;
}

/// The sign that begins `text`, longest first; EndOfFile if none does.
static std::pair<TokenKind, unsigned> classifySign(llvm::StringRef text) {
  struct Sign {
    llvm::StringLiteral spelling;
    TokenKind kind;
  };
  static constexpr Sign signs[] = {
      {"==", TokenKind::Equal},       {"!=", TokenKind::NotEqual},
      {"<=", TokenKind::LessEqual},   {">=", TokenKind::GreaterEqual},
      {"**", TokenKind::StarStar},    {"|>", TokenKind::Pipe},
      {"->", TokenKind::Arrow},       {"(", TokenKind::LeftParen},
      {")", TokenKind::RightParen},   {"[", TokenKind::LeftBracket},
      {"]", TokenKind::RightBracket}, {"{", TokenKind::LeftBrace},
      {"}", TokenKind::RightBrace},   {",", TokenKind::Comma},
      {":", TokenKind::Colon},        {".", TokenKind::Dot},
      {"=", TokenKind::Assign},       {"<", TokenKind::Less},
      {">", TokenKind::Greater},      {"+", TokenKind::Plus},
      {"-", TokenKind::Minus},        {"*", TokenKind::Star},
      {"/", TokenKind::Slash},        {"%", TokenKind::Percent},
      {"@", TokenKind::At},
  };
  for (const Sign &sign : signs)
    if (text.starts_with(sign.spelling))
      return {sign.kind, unsigned(sign.spelling.size())};
  return {TokenKind::EndOfFile, 0};
}

/// What signs of other languages are here.
static llvm::StringRef hintForSign(llvm::StringRef sign) {
  return llvm::StringSwitch<llvm::StringRef>(sign)
      .Case("#", "a comment begins with '//'")
      .Case(";", "a statement ends without a sign")
      .Case("'", "strings stand in '\"'")
      .Cases({"&", "&&"}, "'and' joins conditions")
      .Case("|", "a pipe is '|>'")
      .Case("||", "'or' joins conditions")
      .Case("!", "'not' turns a condition around")
      .Case("^", "'**' is the power")
      .Case("?", "if condition then a else b")
      .Default("");
}

llvm::StringRef describe(TokenKind kind) {
  switch (kind) {
  case TokenKind::EndOfFile:
    return "the end of the file";
  case TokenKind::Name:
    return "a name";
  case TokenKind::Underscore:
    return "'_'";
  case TokenKind::Integer:
    return "an integer";
  case TokenKind::Float:
    return "a number";
  case TokenKind::String:
    return "a string";
  case TokenKind::DType:
    return "a dtype";
  case TokenKind::And:
    return "'and'";
  case TokenKind::As:
    return "'as'";
  case TokenKind::Assert:
    return "'assert'";
  case TokenKind::Block:
    return "'block'";
  case TokenKind::Else:
    return "'else'";
  case TokenKind::False:
    return "'false'";
  case TokenKind::For:
    return "'for'";
  case TokenKind::From:
    return "'from'";
  case TokenKind::If:
    return "'if'";
  case TokenKind::Import:
    return "'import'";
  case TokenKind::In:
    return "'in'";
  case TokenKind::Infer:
    return "'infer'";
  case TokenKind::Model:
    return "'model'";
  case TokenKind::None:
    return "'none'";
  case TokenKind::Not:
    return "'not'";
  case TokenKind::Or:
    return "'or'";
  case TokenKind::Repeat:
    return "'repeat'";
  case TokenKind::Return:
    return "'return'";
  case TokenKind::Then:
    return "'then'";
  case TokenKind::Train:
    return "'train'";
  case TokenKind::True:
    return "'true'";
  case TokenKind::LeftParen:
    return "'('";
  case TokenKind::RightParen:
    return "')'";
  case TokenKind::LeftBracket:
    return "'['";
  case TokenKind::RightBracket:
    return "']'";
  case TokenKind::LeftBrace:
    return "'{'";
  case TokenKind::RightBrace:
    return "'}'";
  case TokenKind::Comma:
    return "','";
  case TokenKind::Colon:
    return "':'";
  case TokenKind::Dot:
    return "'.'";
  case TokenKind::Assign:
    return "'='";
  case TokenKind::Equal:
    return "'=='";
  case TokenKind::NotEqual:
    return "'!='";
  case TokenKind::Less:
    return "'<'";
  case TokenKind::LessEqual:
    return "'<='";
  case TokenKind::Greater:
    return "'>'";
  case TokenKind::GreaterEqual:
    return "'>='";
  case TokenKind::Plus:
    return "'+'";
  case TokenKind::Minus:
    return "'-'";
  case TokenKind::Star:
    return "'*'";
  case TokenKind::StarStar:
    return "'**'";
  case TokenKind::Slash:
    return "'/'";
  case TokenKind::Percent:
    return "'%'";
  case TokenKind::At:
    return "'@'";
  case TokenKind::Pipe:
    return "'|>'";
  case TokenKind::Arrow:
    return "'->'";
  }
  return "a token";
}

std::string describe(const Token &token) {
  // What a person wrote is quoted, unless it is too long to be read.
  bool shortText = token.text.size() <= 40;
  if (token.is(TokenKind::String))
    return shortText ? "the string " + token.text.str() : "a string";
  if (token.is(TokenKind::Name) || token.is(TokenKind::DType) || token.is(TokenKind::Integer) ||
      token.is(TokenKind::Float))
    return shortText ? "'" + token.text.str() + "'" : describe(token.kind).str();
  return describe(token.kind).str();
}

namespace {
class Lexer {
public:
  Lexer(const SourceManager &sources, FileId file, DiagnosticEngine &engine)
      : engine(engine), file(file), text(sources.text(file)) {}

  std::vector<Token> run() {
    if (checkEncoding())
      while (!engine.isFull() && skipSpace())
        lexToken();
    finish(TokenKind::EndOfFile, text.size());
    return std::move(tokens);
  }

private:
  SourceRange range(size_t begin, size_t end) const {
    return {file, uint32_t(begin), uint32_t(end - begin)};
  }
  llvm::StringRef rest() const { return text.substr(at); }

  bool checkEncoding() {
    auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data()), *bad = begin;
    if (llvm::isLegalUTF8String(&bad, begin + text.size()))
      return true;
    engine.error(range(bad - begin, bad - begin + 1),
                 "the file is not UTF-8: byte 0x" + llvm::utohexstr(*bad, /*LowerCase=*/true));
    at = text.size();
    return false;
  }

  /// Skips spaces and comments, keeps documentation. False at the end of the file.
  bool skipSpace() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n') {
        newLine = true;
        ++at;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at;
      } else if (rest().starts_with("//")) {
        skipComment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skipComment() {
    llvm::StringRef line = rest().take_until([](char c) { return c == '\n'; });
    at += line.size();
    if (!line.consume_front("///") || line.starts_with("/"))
      return;
    if (!documentation.empty())
      documentation += '\n';
    line.consume_front(" ");
    documentation += line.rtrim();
  }

  void finish(TokenKind kind, size_t end) {
    Token token;
    token.kind = kind;
    token.startsLine = newLine;
    token.range = range(at, end);
    token.text = text.slice(at, end);
    token.documentation = std::move(documentation);
    documentation.clear();
    tokens.push_back(std::move(token));
    newLine = false;
    at = end;
  }

  void lexToken() {
    char c = text[at];
    if (isNameStart(c)) {
      llvm::StringRef word = rest().take_while(isNamePart);
      finish(classifyWord(word), at + word.size());
    } else if (llvm::isDigit(c)) {
      lexNumber();
    } else if (c == '"') {
      lexString();
    } else if (auto [kind, size] = classifySign(rest()); size != 0) {
      finish(kind, at + size);
    } else {
      skipUnknown();
    }
  }

  void lexNumber() {
    size_t end = at;
    auto digits = [&] {
      while (end < text.size() && llvm::isDigit(text[end]))
        ++end;
    };
    auto digitAt = [&](size_t i) { return i < text.size() && llvm::isDigit(text[i]); };
    TokenKind kind = TokenKind::Integer;
    digits();
    if (end < text.size() && text[end] == '.' && digitAt(end + 1)) {
      kind = TokenKind::Float;
      ++end;
      digits();
    }
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      bool sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
      if (digitAt(end + 1 + sign)) {
        kind = TokenKind::Float;
        end += 1 + sign;
        digits();
      }
    }
    size_t tail = end;
    while (tail < text.size() && isNamePart(text[tail]))
      ++tail;
    if (tail != end)
      engine.error(range(at, tail), "a number cannot be followed by letters")
          .hint(text[end] == '_' ? "digits stand without '_'"
                                 : "a space, or a name that begins with a letter");
    finish(kind, end);
    at = tail;
  }

  void lexString() {
    size_t end = at + 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n') {
      if (text[end] == '\\') {
        char escaped = end + 1 < text.size() ? text[end + 1] : '\n';
        if (llvm::StringRef("\"\\nt").contains(escaped)) {
          ++end;
        } else {
          size_t size = escaped == '\n' || escaped == '\r' ? 1 : 2;
          engine.error(range(end, end + size), "unknown escape in a string")
              .hint("one of \\\" \\\\ \\n \\t");
        }
      }
      ++end;
    }
    if (end == text.size() || text[end] == '\n') {
      engine.error(range(at, at + 1), "this string is not closed")
          .hint("a string ends with '\"' on its line");
      finish(TokenKind::String, end);
      return;
    }
    finish(TokenKind::String, end + 1);
  }

  /// Reports a run of characters that begin no token, once.
  void skipUnknown() {
    size_t begin = at;
    auto isUnknown = [&] {
      char c = text[at];
      return !isNamePart(c) && !llvm::isSpace(c) && c != '"' && classifySign(rest()).second == 0;
    };
    do
      ++at;
    while (at < text.size() && isUnknown());
    llvm::StringRef bad = text.slice(begin, at);
    llvm::StringRef first =
        bad.take_front(std::min<size_t>(llvm::getNumBytesForUTF8(bad.front()), bad.size()));
    unsigned char byte = first.front();
    std::string shown = byte < 0x20 || byte == 0x7F ? "with code " + std::to_string(unsigned(byte))
                                                    : "'" + first.str() + "'";
    auto error = engine.error(range(begin, at), "unexpected character " + shown);
    if (byte >= 0x80)
      error.hint("letters other than ASCII may stand in comments and strings only");
    else
      error.hint(hintForSign(hintForSign(bad).empty() ? first : bad));
  }

  DiagnosticEngine &engine;
  FileId file;
  llvm::StringRef text;
  size_t at = 0;
  bool newLine = true;
  std::string documentation;
  std::vector<Token> tokens;
};
} // namespace

std::vector<Token> tokenize(const SourceManager &sources, FileId file, DiagnosticEngine &engine) {
  return Lexer(sources, file, engine).run();
}

std::string stringValue(llvm::StringRef text) {
  text.consume_front("\"");
  text.consume_back("\"");
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      value += text[i];
      continue;
    }
    char escaped = text[++i];
    value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
  }
  return value;
}

} // namespace dlc::frontend
