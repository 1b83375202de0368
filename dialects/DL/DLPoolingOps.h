//===- DLPoolingOps.h - pooling -----------------------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLPOOLINGOPS_H
#define DLC_DIALECTS_DL_DLPOOLINGOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLPoolingOps.h.inc"

#endif
