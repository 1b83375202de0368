//===- LanguageIndex.h - what an editor may ask about a model -----------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_LANGUAGEINDEX_H
#define DLC_TOOLS_DLC_LANGUAGEINDEX_H

#include "frontend/DL/Frontend.h"
#include "tools/dlc/LanguageScan.h"
#include "llvm/Support/Error.h"

namespace dlc::tool {

/// Something that is called, as people read it.
struct LanguageCallable {
  /// "Head(x, classes=10)", and what documents it.
  std::string label, documentation;
  /// The parameters: their names, and where they stand in the label.
  struct Param {
    std::string name;
    size_t begin, end;
  };
  std::vector<Param> params;
  /// Whether it takes all attributes of layers.
  bool isLayer = false;
};

/// One state of one file: its diagnostics and tokens, and the values, definitions and calls that
/// its evaluation met. A file with errors is known as far as it was evaluated; what the tokens tell
/// is known always.
class LanguageIndex : private frontend::EvaluationObserver {
public:
  /// `path` is where imports are relative to; the text need not be what is on the disk.
  LanguageIndex(llvm::StringRef path, llvm::StringRef text);

  /// Markdown on what stands at an offset of the file; empty if there is nothing to say.
  std::string hover(uint32_t offset, frontend::SourceRange &range) const;
  /// Where the name at the offset got its value, or the file that is imported there; an invalid
  /// range for a built-in.
  frontend::SourceRange definition(uint32_t offset) const;

  struct Completion {
    enum Kind { Argument, Function, Name, Keyword, Type } kind;
    std::string label, detail;
  };
  /// What may be written at the offset, the likely first.
  std::vector<Completion> completions(uint32_t offset) const;

  struct Signature {
    LanguageCallable callable;
    /// The number of the parameter that the offset gives; that of all if it is none of them.
    size_t active;
  };
  /// The call around the offset.
  std::optional<Signature> signature(uint32_t offset) const;

  /// All places of the name at the offset; a name in two blocks is two names.
  std::vector<frontend::SourceRange> references(uint32_t offset, bool withDefinitions) const;
  /// The name at the offset if the file may call it otherwise, or why not.
  llvm::Expected<frontend::SourceRange> findRenamable(uint32_t offset) const;
  /// The places to change, or why it cannot have that name.
  llvm::Expected<std::vector<frontend::SourceRange>> placesToRename(uint32_t offset,
                                                                    llvm::StringRef name) const;

  struct Outline {
    enum Kind { Constant, Block, Model, Section, Param, Value } kind;
    std::string name, detail;
    frontend::SourceRange range, nameRange;
    std::vector<Outline> children;
  };
  /// Constants, blocks, models and sections with what they name, in the order of the text.
  std::vector<Outline> outline() const;

  /// The text in canonical layout; nothing if it has a syntax error.
  std::optional<std::string> formatted() const;

  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  frontend::FileId file;

private:
  /// A file that is imported, and what it says of its names.
  struct OtherFile {
    frontend::FileId file;
    std::vector<frontend::Token> tokens;
    LanguageScan scan;
  };
  /// An item of this file or of another.
  struct Found {
    frontend::FileId file;
    llvm::ArrayRef<frontend::Token> tokens;
    const LanguageItem *item = nullptr;
  };

  void onName(frontend::SourceRange use, frontend::SourceRange definition) override;
  void onValue(frontend::SourceRange range, const std::string &description) override;
  void onCall(frontend::SourceRange callee, int64_t newParameters) override;

  /// The name, keyword or string at an offset, its end included; `LanguageScan::none` if there is
  /// none.
  size_t tokenAt(uint32_t offset) const;
  /// Follows imports.
  Found findItem(llvm::StringRef name) const;
  Found findItemIn(const Found &where, const LanguageScan &scan, llvm::StringRef name,
                   unsigned depth) const;
  const OtherFile *importedFile(const Found &where) const;
  void loadImports(frontend::FileId from, const LanguageScan &scan,
                   llvm::ArrayRef<frontend::Token> tokens);
  LanguageCallable describe(const Found &found) const;
  /// A block or model of this file or an imported one, or a built-in.
  std::optional<LanguageCallable> findCallable(llvm::StringRef name) const;

  void addArguments(const OpenBracket &call, std::vector<Completion> &list) const;
  void addSettings(const LanguageScan &before, std::vector<Completion> &list) const;
  void addNames(const LanguageScan &before, std::vector<Completion> &list) const;
  void addValuesOf(const LanguageScan &before, std::vector<Completion> &list) const;

  llvm::Error refuseRename(const LanguageSymbol *symbol) const;
  bool isTaken(const LanguageSymbol &symbol, llvm::StringRef name) const;
  std::vector<Outline> outlineOf(const LanguageItem &item) const;

  struct Place {
    std::string value;
    frontend::SourceRange definition;
    /// Calls of the function named here, and the parameters they made.
    int64_t calls = 0, parameters = 0;
  };
  /// By the offset in the file.
  std::map<uint32_t, Place> places;
  std::vector<frontend::Token> tokens;
  LanguageScan scan{llvm::ArrayRef<frontend::Token>()};
  /// By the path under which they were found.
  std::map<std::string, OtherFile> others;
};

} // namespace dlc::tool

#endif
