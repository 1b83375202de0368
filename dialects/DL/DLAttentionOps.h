//===- DLAttentionOps.h - attention -------------------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLATTENTIONOPS_H
#define DLC_DIALECTS_DL_DLATTENTIONOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLAttentionOps.h.inc"

#endif
