//===- Diagnostics.h - errors of passes in the frontend's style ---------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_DIAGNOSTICS_H
#define DLC_TOOLS_DLC_DIAGNOSTICS_H

#include "frontend/DL/Syntax/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"

namespace dlc::tool {

/// While it lives, errors that passes report on ops go to `engine`, at the place in the source from
/// which the op comes.
class DiagnosticForwarder {
public:
  DiagnosticForwarder(mlir::MLIRContext &context, const frontend::SourceManager &sources,
                      frontend::DiagnosticEngine &engine);

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace dlc::tool

#endif
