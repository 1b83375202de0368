//===- DLAttentionOps.h - attention -------------------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLATTENTIONOPS_H
#define DLC_DIALECTS_DL_OPS_DLATTENTIONOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLAttentionOps.h.inc"

#endif
