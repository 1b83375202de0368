//===- DLElementwiseOps.h - the element-wise ops of the dl dialect ------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLELEMENTWISEOPS_H
#define DLC_DIALECTS_DL_OPS_DLELEMENTWISEOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLElementwiseOps.h.inc"

#endif
