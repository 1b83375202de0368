// Keeps diagnostics and prints them in the one style of the language.
#include "frontend/DL/Syntax/Diagnostics.h"

#include "runtime/Core/NearestName.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>

namespace dlc::frontend {

/// Characters of a source line that are printed at most; a longer line is cut around the caret.
static constexpr unsigned maxLineCharacters = 160;

DiagnosticBuilder::~DiagnosticBuilder() {
  if (engine)
    engine->report(std::move(diagnostic));
}

/// A message is one line: what a string of the program brought in must not break it.
static void keepOneLine(std::string &text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
}

void DiagnosticEngine::report(Diagnostic diagnostic) {
  if (trial) {
    trial->failed |= diagnostic.severity == Severity::Error;
    return;
  }
  if (warningsAreErrors)
    diagnostic.severity = Severity::Error;
  if (diagnostic.severity == Severity::Error && isFull())
    return;
  if (diagnostic.range.isValid()) {
    uint64_t place = uint64_t(diagnostic.range.file) << 32 | diagnostic.range.begin;
    if (!places.insert({place, unsigned(diagnostic.severity)}).second)
      return;
  }
  keepOneLine(diagnostic.message);
  keepOneLine(diagnostic.hint);
  for (Note &note : diagnostic.notes)
    keepOneLine(note.message);
  errors += diagnostic.severity == Severity::Error;
  list.push_back(std::move(diagnostic));
}

/// Splits a line into characters: code points, or single bytes where it is not UTF-8.
static llvm::SmallVector<llvm::StringRef> splitCharacters(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> characters;
  while (!line.empty()) {
    size_t size = std::min<size_t>(llvm::getNumBytesForUTF8(line.front()), line.size());
    auto *bytes = reinterpret_cast<const llvm::UTF8 *>(line.data());
    if (!llvm::isLegalUTF8Sequence(bytes, bytes + size))
      size = 1;
    characters.push_back(line.take_front(size));
    line = line.drop_front(size);
  }
  return characters;
}

/// Control characters and broken UTF-8 would damage a terminal: they print as '?'.
static llvm::StringRef printable(llvm::StringRef character) {
  unsigned char byte = character.front();
  bool broken = character.size() == 1 && byte >= 0x80;
  bool control = character.size() == 1 && (byte < 0x20 || byte == 0x7F) && byte != '\t';
  return broken || control ? llvm::StringRef("?") : character;
}

static void renderLine(const Diagnostic &diagnostic, const SourceManager &sources,
                       llvm::raw_ostream &out) {
  LineColumn at = sources.lineColumn(diagnostic.range);
  auto characters = splitCharacters(sources.line(diagnostic.range.file, at.line));
  size_t caret = std::min<size_t>(at.column - 1, characters.size());
  size_t length = std::max(1u, countCharacters(sources.text(diagnostic.range)));
  // A range that goes on in the next line is marked to the end of the first.
  if (caret < characters.size())
    length = std::min(length, characters.size() - caret);
  else
    length = 1;

  size_t first = 0;
  if (characters.size() > maxLineCharacters && caret > maxLineCharacters / 2)
    first = caret - maxLineCharacters / 2;
  size_t last = std::min(characters.size(), first + maxLineCharacters);
  length = std::max<size_t>(1, std::min(length, last - caret));

  llvm::StringRef before = first > 0 ? "..." : "", after = last < characters.size() ? "..." : "";
  out << before;
  for (size_t i = first; i < last; ++i)
    out << printable(characters[i]);
  out << after << '\n';
  out.indent(before.size());
  for (size_t i = first; i < caret; ++i)
    out << (characters[i] == "\t" ? '\t' : ' ');
  out << '^' << std::string(length - 1, '~');
  if (!diagnostic.hint.empty())
    out << ' ' << diagnostic.hint;
  out << '\n';
}

void render(const Diagnostic &diagnostic, const SourceManager &sources, llvm::raw_ostream &out) {
  llvm::StringRef word = diagnostic.severity == Severity::Error ? "error: " : "warning: ";
  if (diagnostic.range.isValid()) {
    out << sources.describe(diagnostic.range) << ": " << word << diagnostic.message << '\n';
    renderLine(diagnostic, sources, out);
  } else {
    out << word << diagnostic.message;
    if (!diagnostic.hint.empty())
      out << ": " << diagnostic.hint;
    out << '\n';
  }
  for (const Note &note : diagnostic.notes) {
    if (note.range.isValid())
      out << sources.describe(note.range) << ": ";
    out << "note: " << note.message << '\n';
  }
}

void render(const DiagnosticEngine &engine, const SourceManager &sources, llvm::raw_ostream &out) {
  for (const Diagnostic &diagnostic : engine.diagnostics())
    render(diagnostic, sources, out);
  if (engine.isFull())
    out << DiagnosticEngine::maxErrors << " errors are the limit, there may be more\n";
}

llvm::StringRef nearestName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  return runtime::nearestName(word, {candidates.begin(), candidates.end()});
}

std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  llvm::StringRef nearest = nearestName(word, candidates);
  return nearest.empty() ? "" : ("did you mean '" + nearest + "'?").str();
}

} // namespace dlc::frontend
