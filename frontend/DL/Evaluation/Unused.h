// Warnings about what a file names and never reads.
#ifndef DLC_FRONTEND_DL_EVALUATION_UNUSED_H
#define DLC_FRONTEND_DL_EVALUATION_UNUSED_H

#include "frontend/DL/Evaluation/Program.h"

namespace dlc::frontend {

/// Values, parameters, imports and constants of a file that nothing reads. A name that begins with
/// '_' is meant to be unused. What a section binds in vain is an error, see checkUnusedNames.
void warnUnused(Program &program, const Module &module);

} // namespace dlc::frontend

#endif
