// One pass over the text; knows nothing of the grammar.
#include "frontend/DL/Syntax/Lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
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

namespace {
/// What a sign of another language is here.
struct ForeignSign {
  llvm::StringLiteral spelling;
  llvm::StringLiteral hint;
};
} // namespace

/// Signs whose characters are those of ours, longest first; no program has them side by side.
static constexpr ForeignSign foreignSigns[] = {
    {"***", "'**' is the power"},
    {"===", "'==' compares"},
    {"!==", "'!=' compares"},
    {"...", "each axis has its place: x[:, :, 0]"},
    {"/*", "a comment begins with '//', on each of its lines"},
    {"<>", "'!=' compares"},
    {"=>", "'->' stands before a result, '|>' before a stage"},
    {":=", "a value is bound by '='"},
    {"++", "'i = i + 1'"}};

/// Characters that begin no token of ours.
static constexpr ForeignSign foreignCharacters[] = {
    {"#", "a comment begins with '//'"},
    {";", "a statement ends without a sign"},
    {"'", "strings stand in '\"'"},
    {"&", "'and' joins conditions"},
    {"&&", "'and' joins conditions"},
    {"|", "a pipe is '|>'"},
    {"||", "'or' joins conditions"},
    {"!", "'not' turns a condition around"},
    {"~", "'not' turns a condition around"},
    {"^", "'**' is the power"},
    {"?", "if condition then a else b"},
    {"\\", "lines need no sign to go on: a pipe may begin the next one"},
    {"`", "strings stand in '\"'"},
    {"\u201C", "strings stand in '\"'"},
    {"\u201D", "strings stand in '\"'"},
    {"\u2018", "strings stand in '\"'"},
    {"\u2019", "strings stand in '\"'"},
    {"\u2212", "minus is '-'"},
    {"\u2013", "minus is '-'"},
    {"\u2014", "minus is '-'"},
    {"\u00D7", "times is '*'"},
    {"\u00F7", "'/' divides"},
    {"\u2264", "write '<='"},
    {"\u2265", "write '>='"},
    {"\u2260", "write '!='"},
    {"\u2192", "write '->', or '|>' for a pipe"},
    {"\u00A0", "a space of another kind: write a plain one"},
    {"\u200B", "a space of another kind: leave it out"},
    {"\u3000", "a space of another kind: write a plain one"},
    {"\uFEFF", "a byte order mark stands at the start of a file only: leave it out"}};

static llvm::StringRef hintForSign(llvm::StringRef sign) {
  auto found = llvm::find_if(foreignCharacters,
                             [&](const ForeignSign &each) { return each.spelling == sign; });
  return found == std::end(foreignCharacters) ? llvm::StringRef() : llvm::StringRef(found->hint);
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
    } else if (skipForeign()) {
      return;
    } else if (auto [kind, size] = classifySign(rest()); size != 0) {
      finish(kind, at + size);
    } else {
      skipUnknown();
    }
  }

  /// What may be meant by letters behind a number.
  static llvm::StringRef hintForTail(llvm::StringRef number, llvm::StringRef tail) {
    if (tail.starts_with("_"))
      return "digits stand without '_'";
    if (number == "0" && llvm::StringRef("xXbBoO").contains(tail.front()))
      return "integers are decimal";
    if (tail.size() <= 2 && tail.find_first_not_of("fFlLuU") == llvm::StringRef::npos)
      return "a number has no suffix: its tensor gives it a dtype";
    return "a space, or a name that begins with a letter";
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
          .hint(hintForTail(text.slice(at, end), text.slice(end, tail)));
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

  /// Reports a sign of another language that is made of our characters. True if there was one.
  bool skipForeign() {
    for (const ForeignSign &sign : foreignSigns) {
      if (!rest().starts_with(sign.spelling))
        continue;
      engine.error(range(at, at + sign.spelling.size()), "unexpected '" + sign.spelling + "'")
          .hint(sign.hint);
      // Words of a comment are no tokens.
      size_t end = sign.spelling == "/*" ? rest().find("*/") : llvm::StringRef::npos;
      at += end == llvm::StringRef::npos ? sign.spelling.size() : end + 2;
      return true;
    }
    return false;
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
    bool isInvisible = hintForSign(first).starts_with("a space") || first == "\uFEFF";
    std::string shown = byte < 0x20 || byte == 0x7F || isInvisible
                            ? "with code " + std::to_string(codeOf(first))
                            : "'" + first.str() + "'";
    llvm::StringRef hint = hintForSign(hintForSign(bad).empty() ? first : bad);
    if (hint.empty() && byte >= 0x80)
      hint = "letters other than ASCII may stand in comments and strings only";
    engine.error(range(begin, skipQuoted(first, begin)), "unexpected character " + shown)
        .hint(hint);
  }

  /// The code point of one character.
  static unsigned codeOf(llvm::StringRef character) {
    unsigned char first = character.front();
    unsigned code = character.size() == 1 ? first : first & (0x7Fu >> character.size());
    for (char next : character.drop_front())
      code = code << 6 | (next & 0x3F);
    return code;
  }

  /// What stands behind the sign of a comment, or up to the quote that ends a string, is no
  /// program: one error tells of it. The end of what the error marks.
  size_t skipQuoted(llvm::StringRef sign, size_t begin) {
    size_t lineEnd = std::min(text.find('\n', begin), text.size());
    size_t marked = at;
    if (sign == "#") {
      at = lineEnd;
      return begin + 1;
    }
    llvm::StringRef closing = sign == "'" || sign == "`" ? sign
                              : sign == "\u201C"         ? "\u201D"
                              : sign == "\u2018"         ? "\u2019"
                                                         : "";
    size_t end = closing.empty() ? llvm::StringRef::npos
                                 : text.slice(0, lineEnd).find(closing, begin + sign.size());
    if (end == llvm::StringRef::npos)
      return marked;
    return at = end + closing.size();
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

bool endsOperand(TokenKind kind) {
  switch (kind) {
  case TokenKind::Name:
  case TokenKind::Underscore:
  case TokenKind::Integer:
  case TokenKind::Float:
  case TokenKind::String:
  case TokenKind::DType:
  case TokenKind::True:
  case TokenKind::False:
  case TokenKind::None:
  case TokenKind::RightParen:
  case TokenKind::RightBracket:
    return true;
  default:
    return false;
  }
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
