// Errors and warnings of the model language, as data.
//
// Everything that refuses a program reports here and goes on. The engine keeps what was reported,
// drops a second error at the same place (a section is evaluated once per entry, so the same
// mistake is met several times), and stops taking errors after 20. Rendering is separate: a
// language server reads the fields, a terminal calls `render`:
//
//   vgg.dl:4:31: error: conv2d has no argument 'pading'
//       x = x |> conv2d(width, 3, pading=1) |> relu
//                                 ^~~~~~ did you mean 'padding'?
//   vgg.dl:2:13: note: width = 7, in turn 1 of this loop
#ifndef DLC_FRONTEND_DL_SYNTAX_DIAGNOSTICS_H
#define DLC_FRONTEND_DL_SYNTAX_DIAGNOSTICS_H

#include "frontend/DL/Syntax/Source.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace dlc::frontend {

enum class Severity { Error, Warning };

/// Another place that matters; printed without its source line.
struct Note {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  SourceRange range;
  /// Lower case, no full stop; what was expected and what was found.
  std::string message;
  /// Printed behind the caret: what to do. May be empty.
  std::string hint;
  std::vector<Note> notes;
};

class DiagnosticEngine;

/// Collects one diagnostic and hands it over when it goes out of scope:
///   engine.error(range, "unknown name 'x'").hint("did you mean 'y'?");
class DiagnosticBuilder {
public:
  DiagnosticBuilder(DiagnosticEngine &engine, Diagnostic diagnostic)
      : engine(&engine), diagnostic(std::move(diagnostic)) {}
  DiagnosticBuilder(DiagnosticBuilder &&other)
      : engine(other.engine), diagnostic(std::move(other.diagnostic)) {
    other.engine = nullptr;
  }
  DiagnosticBuilder(const DiagnosticBuilder &) = delete;
  ~DiagnosticBuilder();

  DiagnosticBuilder &hint(const llvm::Twine &text) {
    diagnostic.hint = text.str();
    return *this;
  }
  DiagnosticBuilder &note(SourceRange range, const llvm::Twine &text) {
    diagnostic.notes.push_back({range, text.str()});
    return *this;
  }

private:
  DiagnosticEngine *engine;
  Diagnostic diagnostic;
};

class DiagnosticEngine {
public:
  static constexpr unsigned maxErrors = 20;

  /// `-W error`: a warning is reported as an error.
  bool warningsAreErrors = false;

  /// While one lives nothing is kept: for what is tried and may fail.
  class Trial {
  public:
    explicit Trial(DiagnosticEngine &engine) : engine(engine) { engine.trial = this; }
    ~Trial() { engine.trial = nullptr; }
    Trial(const Trial &) = delete;
    bool hasFailed() const { return failed; }

  private:
    friend DiagnosticEngine;
    DiagnosticEngine &engine;
    bool failed = false;
  };

  DiagnosticBuilder error(SourceRange range, const llvm::Twine &message) {
    return {*this, {Severity::Error, range, message.str(), {}, {}}};
  }
  DiagnosticBuilder warning(SourceRange range, const llvm::Twine &message) {
    return {*this, {Severity::Warning, range, message.str(), {}, {}}};
  }
  void report(Diagnostic diagnostic);

  /// In the order of reporting.
  llvm::ArrayRef<Diagnostic> diagnostics() const { return list; }
  unsigned errorCount() const { return errors; }
  bool hasErrors() const { return errors != 0; }
  /// True when no further error will be taken; the work may stop.
  bool isFull() const { return errors >= maxErrors; }

private:
  Trial *trial = nullptr;
  std::vector<Diagnostic> list;
  llvm::DenseSet<std::pair<uint64_t, unsigned>> places;
  unsigned errors = 0;
};

/// One diagnostic as text, with its source line, caret, hint and notes.
void render(const Diagnostic &diagnostic, const SourceManager &sources, llvm::raw_ostream &out);
/// All of them, and a last line when the limit cut the list short.
void render(const DiagnosticEngine &engine, const SourceManager &sources, llvm::raw_ostream &out);

/// The candidate nearest to `word` by edit distance, empty if none is near enough to be a slip.
llvm::StringRef nearestName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);
/// "did you mean 'x'?", or empty.
std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace dlc::frontend

#endif
