//===- DLTensorOps.h - the tensor ops of the dl dialect -----------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLTENSOROPS_H
#define DLC_DIALECTS_DL_DLTENSOROPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLTensorOps.h.inc"

#endif
