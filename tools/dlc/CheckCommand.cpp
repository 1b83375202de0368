//===- CheckCommand.cpp - dlc check: errors only ----------------------------------------------===//
//
// Runs the frontend and stops: text to verified dl, no pass and no code. Exit code 1 if there is an
// error.
//
//===------------------------------------------------------------------------------------------===//
#include "frontend/DL/Frontend.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/CommandLine/CommandLine.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/CommonOptions.h"
#include "tools/dlc/Library.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace dlc::frontend;
namespace json = llvm::json;

namespace dlc::tool {

/// Lines and columns count from 1, columns in characters; the end is the place behind the last
/// character.
static json::Object toJson(SourceRange range, const SourceManager &sources) {
  if (!range.isValid())
    return {};
  LineColumn begin = sources.lineColumn(range),
             end = sources.lineColumn({range.file, range.end(), 0});
  return json::Object{{"file", sources.name(range.file)},
                      {"line", begin.line},
                      {"column", begin.column},
                      {"endLine", end.line},
                      {"endColumn", end.column}};
}

static json::Value toJson(const Diagnostic &diagnostic, const SourceManager &sources) {
  json::Object object = toJson(diagnostic.range, sources);
  object["severity"] = diagnostic.severity == Severity::Error ? "error" : "warning";
  object["message"] = diagnostic.message;
  if (!diagnostic.hint.empty())
    object["hint"] = diagnostic.hint;
  json::Array notes;
  for (const Note &note : diagnostic.notes) {
    json::Object each = toJson(note.range, sources);
    each["message"] = note.message;
    notes.push_back(std::move(each));
  }
  if (!notes.empty())
    object["notes"] = std::move(notes);
  return object;
}

int runCheck(int argc, char **argv) {
  CLI::App app("Checks a model and compiles nothing: errors and warnings, as text or as JSON.",
               "dlc check");
  std::string input, werror;
  bool asJson = false;
  FrontendOptions options;
  app.add_option("model", input, "model file (.dl)")->required()->option_text(" ");
  app.add_flag("--json", asJson, "a list of diagnostics as JSON, on standard output");
  app.add_option("-W", werror, "-Werror: a warning is an error")
      ->check(oneOf({"error"}))
      ->option_text("error");
  addLanguageOptions(app, "check", options.defines, options.includeDirs, options.trainSection);
  if (const std::optional<int> ended = readCommandLine(app, argc, argv, advise))
    return *ended;
  options.includeDirs = withLibrary(std::move(options.includeDirs));
  options.mayBeLibrary = true;

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  SourceManager sources;
  DiagnosticEngine engine;
  engine.warningsAreErrors = !werror.empty();
  bool valid = bool(compile(sources, input, options, context, engine));
  if (!asJson) {
    render(engine, sources, llvm::errs());
  } else {
    json::Array list;
    for (const Diagnostic &diagnostic : engine.diagnostics())
      list.push_back(toJson(diagnostic, sources));
    llvm::outs() << llvm::formatv("{0:2}\n", json::Value(std::move(list)));
  }
  return valid ? 0 : 1;
}

} // namespace dlc::tool
