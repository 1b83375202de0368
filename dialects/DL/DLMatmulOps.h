//===- DLMatmulOps.h - products of matrices -----------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLMATMULOPS_H
#define DLC_DIALECTS_DL_DLMATMULOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLMatmulOps.h.inc"

#endif
