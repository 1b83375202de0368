// Tokens to tree: the whole grammar of the language, with two tokens of look-ahead and no
// back-tracking.
//
// A syntax error is reported once; the parser then goes on at the next line that begins a statement
// (or item). A file with errors still gives a tree of what was understood, which only tools may
// look at: evaluation wants a clean file.
#ifndef DLC_FRONTEND_DL_SYNTAX_PARSER_H
#define DLC_FRONTEND_DL_SYNTAX_PARSER_H

#include "frontend/DL/Syntax/AST.h"
#include "frontend/DL/Syntax/Diagnostics.h"

namespace dlc::frontend {

/// Expressions and bodies may nest this deep; deeper ones are an error, never a stack overflow.
inline constexpr unsigned maxNesting = 500;

std::unique_ptr<ast::File> parse(const SourceManager &sources, FileId file,
                                 DiagnosticEngine &engine);

} // namespace dlc::frontend

#endif
