// The canonical layout of a .dl file, for `dlc fmt`.
//
// Statements get lines of their own, bodies two spaces a level, tokens their spaces. Where a person
// broke a line inside a statement it stays broken (before a '|>', not behind it); a line of more
// than 100 characters is broken before a '|>', else behind a comma. A body of one statement that
// was written on one line stays there if it fits. Comments keep their places, blank lines become
// one. Formatting twice is formatting once.
#ifndef DLC_FRONTEND_DL_SYNTAX_FORMAT_H
#define DLC_FRONTEND_DL_SYNTAX_FORMAT_H

#include "frontend/DL/Syntax/Diagnostics.h"

#include <optional>

namespace dlc::frontend {

/// The file in canonical layout; nothing (and errors) if it has a syntax error.
std::optional<std::string> format(const SourceManager &sources, FileId file,
                                  DiagnosticEngine &engine);

} // namespace dlc::frontend

#endif
