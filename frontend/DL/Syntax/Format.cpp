// See Format.h. Works on tokens; the parser says where statements begin.
#include "frontend/DL/Syntax/Format.h"
#include "frontend/DL/Syntax/Lexer.h"
#include "frontend/DL/Syntax/Parser.h"

#include <set>

namespace dlc::frontend {

static constexpr unsigned lineWidth = 100, indentWidth = 2;
/// Statements with more tokens keep their long lines: choosing breaks is quadratic.
static constexpr size_t maxBrokenTokens = 5000;

namespace {

struct Comment {
  llvm::StringRef text;
  /// Nothing but spaces stands before it on its line.
  bool ownLine;
  bool blankBefore;
};

/// What stands between a token and the one before it.
struct Gap {
  std::vector<Comment> comments;
  bool newLine = false;
  /// An empty line right before the token.
  bool blankBefore = false;
};

bool isOpen(TokenKind kind) {
  return kind == TokenKind::LeftParen || kind == TokenKind::LeftBracket;
}
bool isClose(TokenKind kind) {
  return kind == TokenKind::RightParen || kind == TokenKind::RightBracket;
}

class Formatter {
public:
  Formatter(llvm::StringRef text, std::vector<Token> allTokens, llvm::ArrayRef<uint32_t> starts)
      : text(text), tokens(std::move(allTokens)), starts(starts.begin(), starts.end()) {
    readGaps();
    findBraces();
  }

  std::string run() {
    formatBody(0, tokens.size() - 1);
    trailingComments(tokens.size() - 1);
    ownComments(tokens.size() - 1);
    flush();
    return std::move(out);
  }

private:
  void readGaps();
  void findBraces();
  bool is(size_t i, TokenKind kind) const { return tokens[i].is(kind); }
  bool startsStatement(size_t i) const { return starts.contains(tokens[i].range.begin); }

  // ---- output
  void flush() {
    llvm::StringRef trimmed = llvm::StringRef(line).rtrim(' ');
    if (!trimmed.empty())
      out += trimmed.str() + "\n";
    line.clear();
  }
  void beginLine(unsigned indent) {
    flush();
    line.assign(indent, ' ');
  }
  void blankLine() {
    flush();
    llvm::StringRef before = out;
    if (!before.empty() && !before.ends_with("\n\n") && !before.ends_with("{\n"))
      out += '\n';
  }
  void trailingComments(size_t i);
  void ownComments(size_t i);

  // ---- layout
  void formatBody(size_t begin, size_t end);
  size_t statementEnd(size_t i) const;
  void formatBraces(size_t open);
  bool fitsOneLine(size_t open) const;
  void formatTokens(size_t begin, size_t end);
  bool needsSpace(size_t i, llvm::ArrayRef<TokenKind> open) const;
  /// The text of a token behind the one before it.
  std::string spaced(size_t i, llvm::ArrayRef<TokenKind> open) const {
    return (needsSpace(i, open) ? " " : "") + tokens[i].text.str();
  }
  bool isUnaryMinus(size_t i) const {
    return is(i, TokenKind::Minus) &&
           (i == 0 || startsStatement(i) || !endsOperand(tokens[i - 1].kind));
  }
  /// The `for` of `[f(i) for i in s]`.
  bool isListLoop(size_t i, size_t depth) const { return depth && is(i, TokenKind::For); }
  bool breaksBefore(size_t i) const;
  struct Placed {
    /// With the space before it, if it begins no line.
    std::string text;
    bool breakBefore;
    unsigned indent;
    /// Brackets open before it, counted from the statement's beginning.
    unsigned depth;
  };
  std::vector<Placed> place(size_t begin, size_t end, const std::set<size_t> &breaks) const;
  size_t chooseBreak(size_t begin, size_t end, llvm::ArrayRef<Placed> placed) const;

  llvm::StringRef text;
  std::vector<Token> tokens;
  std::set<uint32_t> starts;
  std::vector<Gap> gaps;
  /// Of a '{': its '}'.
  std::vector<size_t> closing;
  unsigned level = 0;
  std::string out, line;
};

void Formatter::readGaps() {
  size_t at = 0;
  for (const Token &token : tokens) {
    Gap gap;
    unsigned newLines = at == 0 ? 1 : 0;
    llvm::StringRef between = text.slice(at, token.range.begin);
    while (!between.empty()) {
      if (between.starts_with("//")) {
        llvm::StringRef comment = between.take_until([](char c) { return c == '\n'; });
        between = between.drop_front(comment.size());
        gap.comments.push_back({comment.rtrim(" \t\r"), newLines != 0, newLines > 1 && at != 0});
        newLines = 0;
        at = at ? at : 1;
        continue;
      }
      if (between.front() == '\n') {
        ++newLines;
        gap.newLine = true;
      }
      between = between.drop_front();
    }
    gap.blankBefore = newLines > 1;
    gaps.push_back(std::move(gap));
    at = token.range.end();
  }
}

void Formatter::findBraces() {
  closing.assign(tokens.size(), 0);
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (is(i, TokenKind::LeftBrace))
      open.push_back(i);
    if (is(i, TokenKind::RightBrace)) {
      closing[open.back()] = i;
      open.pop_back();
    }
  }
}

/// Comments on the line of the token before `i`.
void Formatter::trailingComments(size_t i) {
  for (const Comment &comment : gaps[i].comments)
    if (!comment.ownLine) {
      line += (llvm::StringRef(line).trim().empty() ? "" : "  ") + comment.text.str();
      flush();
    }
}

/// Comments on lines of their own before token `i`, at the body's indent.
void Formatter::ownComments(size_t i) {
  for (const Comment &comment : gaps[i].comments)
    if (comment.ownLine) {
      if (comment.blankBefore)
        blankLine();
      beginLine(level * indentWidth);
      line += comment.text.str();
      flush();
    }
}

// ------------------------------------------------------------------------------------------ spaces

bool Formatter::needsSpace(size_t i, llvm::ArrayRef<TokenKind> open) const {
  TokenKind kind = tokens[i].kind, before = tokens[i - 1].kind;
  bool inBrackets = !open.empty();
  if (isOpen(before) || isClose(kind) || kind == TokenKind::Comma || kind == TokenKind::Dot ||
      before == TokenKind::Dot || (kind == TokenKind::Colon && before != TokenKind::Comma))
    return false;
  if (before == TokenKind::Colon)
    return !(inBrackets && open.back() == TokenKind::LeftBracket);
  if (kind == TokenKind::Assign || before == TokenKind::Assign)
    return !inBrackets;
  if (isOpen(kind) && endsOperand(before))
    return false;
  return !isUnaryMinus(i - 1);
}

// ------------------------------------------------------------------------------------------- lines

/// Did a person break the line before token `i`, as it is to be broken?
bool Formatter::breaksBefore(size_t i) const {
  if (!gaps[i].comments.empty())
    return true;
  // A break behind '|>' moves before it.
  if (is(i, TokenKind::Pipe) && gaps[i + 1].newLine && gaps[i + 1].comments.empty())
    return true;
  return gaps[i].newLine && !is(i - 1, TokenKind::Pipe);
}

/// Where each token of a statement goes, its lines broken before the tokens of `breaks`.
std::vector<Formatter::Placed> Formatter::place(size_t begin, size_t end,
                                                const std::set<size_t> &breaks) const {
  std::vector<Placed> placed;
  std::vector<TokenKind> open;
  std::vector<unsigned> indents;
  unsigned indent = level * indentWidth;
  for (size_t i = begin; i < end; ++i) {
    Placed each{tokens[i].text.str(), false, indent, unsigned(open.size())};
    if (breaks.contains(i)) {
      bool closes = isClose(tokens[i].kind) && !open.empty();
      bool continues = !closes && !isOpen(tokens[i - 1].kind) && !is(i - 1, TokenKind::Comma) &&
                       !isListLoop(i, open.size());
      unsigned base = open.empty() ? level * indentWidth : indents.back();
      indent = base + (open.empty() || closes ? 0 : indentWidth) + (continues ? indentWidth : 0);
      each.breakBefore = true;
      each.indent = indent;
    } else if (i != begin) {
      each.text = spaced(i, open);
    }
    placed.push_back(std::move(each));
    if (isOpen(tokens[i].kind)) {
      open.push_back(tokens[i].kind);
      indents.push_back(indent);
    } else if (isClose(tokens[i].kind) && !open.empty()) {
      open.pop_back();
      indents.pop_back();
    }
  }
  return placed;
}

/// The token before which the first too long line is to be broken; `end` if none is or none can be.
/// The last '|>' that is inside no bracket of the line, else behind the last comma, or before the
/// last `for` of a list, inside the fewest.
size_t Formatter::chooseBreak(size_t begin, size_t end, llvm::ArrayRef<Placed> placed) const {
  unsigned column = countCharacters(line), depthAtStart = 0;
  std::optional<size_t> pipe, comma;
  unsigned commaDepth = 0;
  for (size_t i = begin; i < end; ++i) {
    const Placed &each = placed[i - begin];
    if (each.breakBefore) {
      column = each.indent;
      depthAtStart = each.depth;
      pipe = comma = std::nullopt;
    } else if (i != begin && column <= lineWidth) {
      if (is(i, TokenKind::Pipe) && each.depth <= depthAtStart)
        pipe = i;
      bool endsItem = is(i - 1, TokenKind::Comma) || isListLoop(i, each.depth);
      if (endsItem && (!comma || each.depth <= commaDepth)) {
        comma = i;
        commaDepth = each.depth;
      }
    }
    column += countCharacters(each.text);
    if (column > lineWidth && (pipe || comma))
      return pipe ? *pipe : *comma;
  }
  return end;
}

/// The tokens of one statement, or of the head of a body, behind what is on the line already.
void Formatter::formatTokens(size_t begin, size_t end) {
  std::set<size_t> breaks;
  for (size_t i = begin + 1; i < end; ++i)
    if (breaksBefore(i))
      breaks.insert(i);
  std::vector<Placed> placed = place(begin, end, breaks);
  if (end - begin <= maxBrokenTokens)
    for (size_t at; (at = chooseBreak(begin, end, placed)) != end;) {
      breaks.insert(at);
      placed = place(begin, end, breaks);
    }
  for (size_t i = begin; i < end; ++i) {
    const Placed &each = placed[i - begin];
    if (each.breakBefore) {
      trailingComments(i);
      for (const Comment &comment : gaps[i].comments)
        if (comment.ownLine) {
          beginLine(each.indent);
          line += comment.text.str();
        }
      beginLine(each.indent);
    }
    line += each.text;
  }
}

// ------------------------------------------------------------------------------------------ bodies

/// Where the tokens of a statement, or of the head of a body, end.
size_t Formatter::statementEnd(size_t i) const {
  while (!is(i, TokenKind::EndOfFile) && !is(i, TokenKind::LeftBrace) &&
         !is(i, TokenKind::RightBrace) && !startsStatement(i))
    ++i;
  return i;
}

/// A body of one statement, written on one line.
bool Formatter::fitsOneLine(size_t open) const {
  size_t close = closing[open];
  unsigned width = countCharacters(line) + 4;
  std::vector<TokenKind> brackets;
  for (size_t i = open + 1; i <= close; ++i) {
    bool isOther = i != open + 1 && i != close && startsStatement(i);
    if (gaps[i].newLine || !gaps[i].comments.empty() || is(i, TokenKind::LeftBrace) || isOther)
      return false;
    if (i == close)
      break;
    width += countCharacters(i == open + 1 ? tokens[i].text : spaced(i, brackets));
    if (isOpen(tokens[i].kind))
      brackets.push_back(tokens[i].kind);
    else if (isClose(tokens[i].kind) && !brackets.empty())
      brackets.pop_back();
  }
  return width <= lineWidth;
}

/// '{' to '}', behind the head on the line.
void Formatter::formatBraces(size_t open) {
  size_t close = closing[open];
  trailingComments(open);
  if (llvm::StringRef(line).trim().empty()) {
    ownComments(open);
    beginLine(level * indentWidth);
    line += "{";
  } else {
    line += " {";
  }
  if (close == open + 1 && gaps[close].comments.empty()) {
    line += "}";
    return;
  }
  if (fitsOneLine(open)) {
    line += " ";
    formatTokens(open + 1, close);
    line += " }";
    return;
  }
  ++level;
  trailingComments(open + 1);
  flush();
  formatBody(open + 1, close);
  // Comments before the '}' belong to the body.
  if (close != open + 1)
    trailingComments(close);
  ownComments(close);
  --level;
  beginLine(level * indentWidth);
  line += "}";
}

/// Statements up to `end`, which is a '}' or the end of the file.
void Formatter::formatBody(size_t begin, size_t end) {
  for (size_t position = begin; position < end;) {
    bool isFirst = position == begin;
    if (!isFirst || level == 0)
      trailingComments(position);
    ownComments(position);
    if (gaps[position].blankBefore && (!isFirst || !gaps[position].comments.empty()))
      blankLine();
    beginLine(level * indentWidth);
    bool goesOn;
    do {
      if (is(position, TokenKind::Else))
        line += " ";
      size_t last = statementEnd(position + 1);
      formatTokens(position, last);
      position = last;
      if (!is(position, TokenKind::LeftBrace))
        break;
      size_t close = closing[position];
      formatBraces(position);
      position = close + 1;
      goesOn = is(position, TokenKind::Else);
      if (goesOn && !gaps[position].comments.empty()) {
        trailingComments(position);
        ownComments(position);
        beginLine(level * indentWidth);
      }
    } while (goesOn);
  }
}

} // namespace

std::optional<std::string> format(const SourceManager &sources, FileId file,
                                  DiagnosticEngine &engine) {
  unsigned before = engine.errorCount();
  std::unique_ptr<ast::File> tree = parse(sources, file, engine);
  if (engine.errorCount() != before)
    return std::nullopt;
  DiagnosticEngine quiet;
  return Formatter(sources.text(file), tokenize(sources, file, quiet), tree->statementStarts).run();
}

} // namespace dlc::frontend
