//===- LanguageIndex.h - what an editor may ask about a model -----------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_LANGUAGEINDEX_H
#define DLC_TOOLS_DLC_LANGUAGEINDEX_H

#include "frontend/DL/Frontend.h"
#include "frontend/DL/Lexer.h"
#include <map>

namespace dlc::tool {

/// One state of one file: its diagnostics and tokens, and the values, definitions and calls that
/// its evaluation met. A file with errors is known as far as it was evaluated.
class LanguageIndex : private frontend::EvaluationObserver {
public:
  /// `path` is where imports are relative to; the text need not be what is on the disk.
  LanguageIndex(llvm::StringRef path, llvm::StringRef text);

  /// Markdown on what stands at an offset of the file; empty if there is nothing to say.
  std::string hover(uint32_t offset, frontend::SourceRange &range) const;
  /// Where the name at the offset got its value; an invalid range for a built-in.
  frontend::SourceRange definition(uint32_t offset) const;

  struct Completion {
    enum Kind { Argument, Function, Name, Keyword } kind;
    std::string label, detail;
  };
  /// What may be written at the offset: arguments of the call around it first, then names.
  std::vector<Completion> completions(uint32_t offset) const;

  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  frontend::FileId file;

private:
  void onName(frontend::SourceRange use, frontend::SourceRange definition) override;
  void onValue(frontend::SourceRange range, const std::string &description) override;
  void onCall(frontend::SourceRange callee, int64_t newParameters) override;
  const frontend::Token *tokenAt(uint32_t offset) const;
  std::string calleeAround(uint32_t offset) const;

  struct Place {
    std::string value;
    frontend::SourceRange definition;
    /// Calls of the function named here, and the parameters they made.
    int64_t calls = 0, parameters = 0;
  };
  /// By the offset in the file.
  std::map<uint32_t, Place> places;
  std::vector<frontend::Token> tokens;
};

} // namespace dlc::tool

#endif
