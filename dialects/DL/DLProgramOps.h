//===- DLProgramOps.h - variables, entries and what they hold -----------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLPROGRAMOPS_H
#define DLC_DIALECTS_DL_DLPROGRAMOPS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {
class ReturnOp;
} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/DLProgramOps.h.inc"

#endif
