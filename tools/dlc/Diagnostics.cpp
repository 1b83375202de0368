//===- Diagnostics.cpp - errors of passes in the frontend's style -----------------------------===//
#include "tools/dlc/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace dlc::tool {

/// The character at a location, as a range of the file; without a file if the location is not in
/// the source.
static frontend::SourceRange findRange(Location loc, const frontend::SourceManager &sources) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  return place ? sources.find(place.getFilename(), {place.getLine(), place.getColumn()})
               : frontend::SourceRange();
}

static void forward(Diagnostic &diagnostic, const frontend::SourceManager &sources,
                    frontend::DiagnosticEngine &engine) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error &&
      diagnostic.getSeverity() != DiagnosticSeverity::Warning)
    return;
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  frontend::Diagnostic result;
  result.severity = isError ? frontend::Severity::Error : frontend::Severity::Warning;
  result.range = findRange(diagnostic.getLocation(), sources);
  result.message = diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    result.notes.push_back({findRange(note.getLocation(), sources), note.str()});
  engine.report(std::move(result));
}

DiagnosticForwarder::DiagnosticForwarder(MLIRContext &context,
                                         const frontend::SourceManager &sources,
                                         frontend::DiagnosticEngine &engine)
    : handler(&context, [&sources, &engine](Diagnostic &diagnostic) {
        forward(diagnostic, sources, engine);
        return success();
      }) {}

} // namespace dlc::tool
