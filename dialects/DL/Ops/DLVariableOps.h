//===- DLVariableOps.h - variables, and what entries read and assign of them --------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLVARIABLEOPS_H
#define DLC_DIALECTS_DL_OPS_DLVARIABLEOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLVariableOps.h.inc"

#endif
