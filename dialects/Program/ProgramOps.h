//===- ProgramOps.h - what a program says beside its entries ------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_PROGRAM_PROGRAMOPS_H
#define DLC_DIALECTS_PROGRAM_PROGRAMOPS_H

#include "dialects/Program/Program.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"

#define GET_OP_CLASSES
#include "dialects/Program/ProgramOps.h.inc"

#endif
