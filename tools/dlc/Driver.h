//===- Driver.h - one compilation ---------------------------------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_DRIVER_H
#define DLC_TOOLS_DLC_DRIVER_H

#include "tools/dlc/Options.h"

namespace dlc::tool {

/// Compiles as asked; errors go to standard error. Returns the exit code: 0, or 1 if there was an
/// error.
int compileModel(const Options &options);
/// Writes the plan of dlc tune to the output; returns the exit code.
int tuneModel(const Options &options);
/// The same for how fast this machine is, without a model.
int measureMachine(const Options &options);

} // namespace dlc::tool

#endif
