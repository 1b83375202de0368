//===- LanguageScan.h - what each name of a text is ---------------------------------*- C++ -*-===//
//
// Reads tokens, not trees, so that it works on a text as it is being typed, errors and all. Within
// a block, a model or a section a name is one symbol, however often it is bound; outside, the
// blocks, models, constants and imports of the file are. What it cannot resolve is a symbol of its
// own.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DLC_LANGUAGESCAN_H
#define DLC_TOOLS_DLC_LANGUAGESCAN_H

#include "frontend/DL/Syntax/Lexer.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace dlc::tool {

/// What is open at a place: brackets, a call, a body.
struct OpenBracket {
  enum Kind { Params, Call, List, Dimensions, Body, Group } kind = List;
  /// Of a Call: the function, whether a `|>` gives its first argument, whether a `_` takes it.
  llvm::StringRef callee;
  bool isPiped = false, hasHole = false;
  /// Of a Call: arguments without a name before the last comma, the name of the one behind it, and
  /// all names of arguments.
  unsigned positional = 0;
  llvm::StringRef argument;
  llvm::SmallVector<llvm::StringRef, 8> named;
  /// Of a Body: the index of the first token of its last statement.
  size_t statement = 0;
};

/// A block, model, section, constant or import; names of all but sections are those of the file.
struct LanguageItem {
  enum Kind { Constant, Block, Model, Train, Infer, Import } kind = Constant;
  /// Indices of tokens: all of it, its name (the same as `first` if it has none).
  size_t first = 0, last = 0, name = 0;
  llvm::SmallVector<size_t, 8> params;
};

struct LanguageSymbol {
  enum Kind { Item, Import, Param, Local, Setting, Other } kind = Other;
  llvm::StringRef name;
  /// Indices of tokens.
  std::vector<size_t> definitions, all;
};

class LanguageScan {
public:
  static constexpr size_t none = ~size_t(0);

  /// Reads the tokens that end before `end`, a byte of the file.
  explicit LanguageScan(llvm::ArrayRef<frontend::Token> tokens, uint32_t end = ~0u);
  LanguageScan(LanguageScan &&) = default;
  LanguageScan &operator=(LanguageScan &&) = default;

  llvm::ArrayRef<LanguageItem> items() const { return itemList; }
  /// The symbol of a token; null if it names none.
  const LanguageSymbol *symbolOf(size_t token) const;
  /// All symbols, those of each item together.
  std::vector<const LanguageSymbol *> symbols() const;
  /// What can be named in the item: its own symbols, then those of the file.
  std::vector<const LanguageSymbol *> visibleIn(size_t item) const;
  /// The block or model of that name; null if there is none.
  const LanguageItem *findCallable(llvm::StringRef name) const;

  // Where the text ended.

  /// From the outermost to the innermost.
  llvm::ArrayRef<OpenBracket> open() const { return brackets; }
  /// The item that is not finished, or `none`.
  size_t openItem() const { return item; }
  /// The number of tokens read.
  size_t size() const { return count; }

private:
  enum class Role : uint8_t { None, Read, Definition, Argument, Member, Word };
  struct Use {
    Role role = Role::None;
    size_t item = none;
    llvm::StringRef callee;
  };

  void read(size_t at);
  void readName(size_t at);
  void openItemAt(size_t at);
  void openBracket(size_t at);
  void closeBracket(size_t at);
  Role roleOf(size_t at) const;
  bool isBindingList(size_t at) const;
  bool beginsStatement(size_t at) const;
  bool isKind(size_t at, frontend::TokenKind kind) const {
    return at < count && tokens[at].is(kind);
  }
  OpenBracket *top() { return brackets.empty() ? nullptr : &brackets.back(); }
  const OpenBracket *top() const { return brackets.empty() ? nullptr : &brackets.back(); }
  void resolve();
  LanguageSymbol &symbol(size_t item, llvm::StringRef name);
  /// The item whose symbol a name is: `item` or `none` for the file.
  size_t scopeOf(size_t item, llvm::StringRef name) const;

  llvm::ArrayRef<frontend::Token> tokens;
  size_t count = 0;
  std::vector<Use> uses;
  std::vector<LanguageItem> itemList;
  std::vector<OpenBracket> brackets;
  size_t item = none;
  bool inPattern = false;
  std::map<std::pair<size_t, llvm::StringRef>, LanguageSymbol> table;
  std::vector<const LanguageSymbol *> byToken;
};

} // namespace dlc::tool

#endif
