//===- DLConvolutionOps.h - convolutions --------------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLCONVOLUTIONOPS_H
#define DLC_DIALECTS_DL_OPS_DLCONVOLUTIONOPS_H

#include "dialects/DL/DL.h"
#include "dialects/DL/DLPoints.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLConvolutionOps.h.inc"

#endif
