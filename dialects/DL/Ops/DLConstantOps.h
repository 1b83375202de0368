//===- DLConstantOps.h - values known at compile time -------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLCONSTANTOPS_H
#define DLC_DIALECTS_DL_OPS_DLCONSTANTOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLConstantOps.h.inc"

#endif
