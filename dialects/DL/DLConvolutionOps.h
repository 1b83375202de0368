//===- DLConvolutionOps.h - convolutions --------------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLCONVOLUTIONOPS_H
#define DLC_DIALECTS_DL_DLCONVOLUTIONOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLConvolutionOps.h.inc"

#endif
