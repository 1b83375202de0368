// Any bytes: the parser reports errors or gives a tree; what it accepts can be formatted, and
// formatting is idempotent and keeps the program.
#include "frontend/DL/Syntax/Format.h"
#include "frontend/DL/Syntax/Lexer.h"
#include "llvm/Support/raw_ostream.h"

using namespace dlc::frontend;

/// The tokens of a text without their places.
static std::string words(SourceManager &sources, FileId file) {
  DiagnosticEngine engine;
  std::string text;
  for (const Token &token : tokenize(sources, file, engine))
    text += token.text.str() + " ";
  return text;
}

static std::optional<std::string> formatText(llvm::StringRef text, SourceManager &sources,
                                             FileId &file) {
  DiagnosticEngine engine;
  file = sources.add("fuzz.dl", text);
  std::optional<std::string> result = format(sources, file, engine);
  std::string shown;
  llvm::raw_string_ostream out(shown);
  render(engine, sources, out);
  if (result.has_value() == engine.hasErrors())
    __builtin_trap();
  return result;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceManager sources;
  FileId first, second;
  auto once = formatText({reinterpret_cast<const char *>(data), size}, sources, first);
  if (!once)
    return 0;
  auto twice = formatText(*once, sources, second);
  if (!twice || *twice != *once || words(sources, first) != words(sources, second))
    __builtin_trap();
  return 0;
}
