//===- LanguageScan.cpp - what each name of a text is -----------------------------------------===//
#include "tools/dlc/LanguageScan.h"
#include "frontend/DL/Sections/Sections.h"
#include "llvm/ADT/STLExtras.h"

using namespace dlc::frontend;

namespace dlc::tool {

LanguageScan::LanguageScan(llvm::ArrayRef<Token> tokens, uint32_t end) : tokens(tokens) {
  while (count < tokens.size() && !tokens[count].is(TokenKind::EndOfFile) &&
         tokens[count].range.end() <= end)
    ++count;
  uses.resize(count);
  for (size_t at = 0; at < count; ++at)
    read(at);
  resolve();
}

//===------------------------------------------------------------------------------------------===//
// Brackets and items
//===------------------------------------------------------------------------------------------===//

void LanguageScan::openItemAt(size_t at) {
  LanguageItem next;
  next.first = next.last = next.name = at;
  switch (tokens[at].kind) {
  case TokenKind::From:
    next.kind = LanguageItem::Import;
    break;
  case TokenKind::Block:
  case TokenKind::Model:
    next.kind = tokens[at].is(TokenKind::Block) ? LanguageItem::Block : LanguageItem::Model;
    next.name = isKind(at + 1, TokenKind::Name) ? at + 1 : at;
    break;
  case TokenKind::Train:
  case TokenKind::Infer:
    next.kind = tokens[at].is(TokenKind::Train) ? LanguageItem::Train : LanguageItem::Infer;
    break;
  default:
    if (!isKind(at, TokenKind::Name) || !isKind(at + 1, TokenKind::Assign))
      return;
  }
  item = itemList.size();
  itemList.push_back(next);
}

void LanguageScan::openBracket(size_t at) {
  OpenBracket next;
  next.statement = at + 1;
  const bool afterName = at > 0 && isKind(at - 1, TokenKind::Name);
  const bool isHeader =
      item != none && at == itemList[item].name + 1 && itemList[item].name != itemList[item].first;
  if (tokens[at].is(TokenKind::LeftBrace)) {
    const Token *first = top() && top()->statement < at ? &tokens[top()->statement] : nullptr;
    next.kind = first && first->text == "parameters" ? OpenBracket::Group : OpenBracket::Body;
  } else if (tokens[at].is(TokenKind::LeftParen) && isHeader) {
    next.kind = OpenBracket::Params;
  } else if (tokens[at].is(TokenKind::LeftParen) && afterName) {
    next.kind = OpenBracket::Call;
    next.callee = tokens[at - 1].text;
    next.isPiped = at > 1 && isKind(at - 2, TokenKind::Pipe);
  } else if (at > 0 && isKind(at - 1, TokenKind::DType)) {
    next.kind = OpenBracket::Dimensions;
  }
  brackets.push_back(std::move(next));
}

/// A '}' closes what was forgotten inside of it.
void LanguageScan::closeBracket(size_t at) {
  auto isBody = [](const OpenBracket &open) { return open.kind >= OpenBracket::Body; };
  if (tokens[at].is(TokenKind::RightBrace)) {
    while (!brackets.empty() && !isBody(brackets.back()))
      brackets.pop_back();
    if (!brackets.empty())
      brackets.pop_back();
    if (!brackets.empty())
      brackets.back().statement = at + 1;
    if (brackets.empty())
      item = none;
  } else if (!brackets.empty() && !isBody(brackets.back())) {
    brackets.pop_back();
  }
}

/// Whether a token that begins a line goes on with what the line before has begun.
static bool continues(TokenKind before) {
  return !endsOperand(before) && before != TokenKind::LeftBrace && before != TokenKind::RightBrace;
}

bool LanguageScan::beginsStatement(size_t at) const {
  static constexpr TokenKind first[] = {TokenKind::Name, TokenKind::For,    TokenKind::Repeat,
                                        TokenKind::If,   TokenKind::Assert, TokenKind::Return};
  return tokens[at].startsLine && at > 0 && llvm::is_contained(first, tokens[at].kind) &&
         !continues(tokens[at - 1].kind);
}

void LanguageScan::read(size_t at) {
  const Token &token = tokens[at];
  const bool startsItem = token.is(TokenKind::Block) || token.is(TokenKind::Model) ||
                          token.is(TokenKind::Train) || token.is(TokenKind::Infer) ||
                          token.is(TokenKind::From);
  // An item begins where a line begins with its keyword, whatever was left open before.
  if (startsItem && token.startsLine)
    brackets.clear();
  if (brackets.empty() && (startsItem || (token.is(TokenKind::Name) && token.startsLine &&
                                          isKind(at + 1, TokenKind::Assign))))
    openItemAt(at);
  if (item != none)
    itemList[item].last = at;
  if (OpenBracket *open = top(); open && open->kind >= OpenBracket::Body && beginsStatement(at)) {
    open->statement = at;
    inPattern = false;
  }
  uses[at].item = item;
  switch (token.kind) {
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
  case TokenKind::LeftBrace:
    return openBracket(at);
  case TokenKind::RightParen:
  case TokenKind::RightBracket:
  case TokenKind::RightBrace:
    return closeBracket(at);
  case TokenKind::For:
  case TokenKind::In:
    inPattern = token.is(TokenKind::For);
    return;
  case TokenKind::Comma:
    if (top() && top()->kind == OpenBracket::Call) {
      top()->positional += top()->argument.empty();
      top()->argument = {};
    }
    return;
  case TokenKind::Underscore:
    if (top() && top()->kind == OpenBracket::Call)
      top()->hasHole = true;
    return;
  case TokenKind::Name:
    return readName(at);
  default:
    return;
  }
}

void LanguageScan::readName(size_t at) {
  uses[at].role = roleOf(at);
  if (uses[at].role == Role::Argument) {
    uses[at].callee = top()->callee;
    top()->argument = tokens[at].text;
    top()->named.push_back(tokens[at].text);
  }
  if (uses[at].role == Role::Definition && top() && top()->kind == OpenBracket::Params)
    itemList[item].params.push_back(at);
}

//===------------------------------------------------------------------------------------------===//
// Names
//===------------------------------------------------------------------------------------------===//

/// `a, b =` at the beginning of a statement.
bool LanguageScan::isBindingList(size_t at) const {
  while (isKind(at + 1, TokenKind::Comma) &&
         (isKind(at + 2, TokenKind::Name) || isKind(at + 2, TokenKind::Underscore)))
    at += 2;
  return isKind(at + 1, TokenKind::Assign);
}

LanguageScan::Role LanguageScan::roleOf(size_t at) const {
  const Token &token = tokens[at];
  auto before = [&](TokenKind kind) { return at > 0 && isKind(at - 1, kind); };
  const OpenBracket *open = top();
  const bool inBody = open && open->kind == OpenBracket::Body;
  if (before(TokenKind::Dot))
    return Role::Member;
  if (before(TokenKind::As) || (at > 1 && tokens[at - 2].text == "step" && token.text == "updates"))
    return Role::Word;
  const bool isWord = inBody && llvm::is_contained(statementWords(), token.text) &&
                      (isKind(at + 1, TokenKind::Name) || isKind(at + 1, TokenKind::String));
  if (isWord || (token.text == "every" && isKind(at + 1, TokenKind::Integer)))
    return Role::Word;
  if (item != none && itemList[item].kind == LanguageItem::Import)
    return Role::Definition;
  if (item != none && at == itemList[item].name && !open)
    return Role::Definition;
  if (inPattern)
    return Role::Definition;
  if (open && open->kind == OpenBracket::Call && isKind(at + 1, TokenKind::Assign))
    return Role::Argument;
  if (open && open->kind == OpenBracket::Group && isKind(at + 1, TokenKind::Assign))
    return Role::Word;
  if (open && open->kind == OpenBracket::Params &&
      (before(TokenKind::LeftParen) || before(TokenKind::Comma)))
    return Role::Definition;
  if (open && open->kind == OpenBracket::List && isKind(at + 1, TokenKind::Colon) &&
      (before(TokenKind::LeftParen) || before(TokenKind::Comma)) && brackets.size() == 1)
    return Role::Word; // a name of results
  const bool afterWord = inBody && at > 0 && uses[at - 1].role == Role::Word &&
                         llvm::is_contained(statementWords(), tokens[at - 1].text);
  if (afterWord || (inBody && (isKind(at + 1, TokenKind::Colon) || isBindingList(at))))
    return Role::Definition;
  return Role::Read;
}

LanguageSymbol &LanguageScan::symbol(size_t in, llvm::StringRef name) {
  LanguageSymbol &found = table[{in, name}];
  found.name = name;
  return found;
}

size_t LanguageScan::scopeOf(size_t in, llvm::StringRef name) const {
  auto own = table.find({in, name});
  return own != table.end() && !own->second.definitions.empty() ? in : none;
}

const LanguageItem *LanguageScan::findCallable(llvm::StringRef name) const {
  for (const LanguageItem &each : itemList)
    if ((each.kind == LanguageItem::Block || each.kind == LanguageItem::Model) &&
        each.name != each.first && tokens[each.name].text == name)
      return &each;
  return nullptr;
}

static LanguageSymbol::Kind kindOfDefinition(const LanguageItem &item, bool isOfFile,
                                             llvm::StringRef name) {
  if (item.kind == LanguageItem::Import)
    return LanguageSymbol::Import;
  if (isOfFile)
    return LanguageSymbol::Item;
  const bool isSection = item.kind == LanguageItem::Train || item.kind == LanguageItem::Infer;
  return isSection && llvm::is_contained(settingNames(item.kind == LanguageItem::Train), name)
             ? LanguageSymbol::Setting
             : LanguageSymbol::Local;
}

void LanguageScan::resolve() {
  for (size_t at = 0; at < count; ++at) {
    if (uses[at].role != Role::Definition || uses[at].item == none)
      continue;
    const LanguageItem &in = itemList[uses[at].item];
    const bool isOfFile = in.kind == LanguageItem::Import || in.name == at;
    LanguageSymbol &found = symbol(isOfFile ? none : uses[at].item, tokens[at].text);
    const bool isParam = llvm::is_contained(in.params, at);
    if (found.definitions.empty())
      found.kind =
          isParam ? LanguageSymbol::Param : kindOfDefinition(in, isOfFile, tokens[at].text);
    found.definitions.push_back(at);
  }
  std::vector<LanguageSymbol *> found(count, nullptr);
  for (size_t at = 0; at < count; ++at) {
    const Use &use = uses[at];
    size_t in = use.item;
    if (use.role == Role::Argument) {
      const LanguageItem *callee = findCallable(use.callee);
      in = callee ? size_t(callee - itemList.data()) : none;
      if (!callee || scopeOf(in, tokens[at].text) == none)
        continue;
    } else if (use.role == Role::Definition && in != none) {
      const bool isOfFile = itemList[in].kind == LanguageItem::Import || itemList[in].name == at;
      in = isOfFile ? none : in;
    } else if (use.role != Role::Read) {
      continue;
    } else {
      in = scopeOf(in, tokens[at].text);
    }
    found[at] = &symbol(in, tokens[at].text);
    found[at]->all.push_back(at);
  }
  byToken.assign(found.begin(), found.end());
}

const LanguageSymbol *LanguageScan::symbolOf(size_t token) const {
  return token < byToken.size() ? byToken[token] : nullptr;
}

std::vector<const LanguageSymbol *> LanguageScan::symbols() const {
  std::vector<const LanguageSymbol *> all;
  for (const auto &[place, each] : table)
    all.push_back(&each);
  return all;
}

std::vector<const LanguageSymbol *> LanguageScan::visibleIn(size_t in) const {
  std::vector<const LanguageSymbol *> own, file;
  for (const auto &[place, each] : table)
    if (!each.definitions.empty() && (place.first == in || place.first == none))
      (place.first == none ? file : own).push_back(&each);
  own.insert(own.end(), file.begin(), file.end());
  return own;
}

} // namespace dlc::tool
