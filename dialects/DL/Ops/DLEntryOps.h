//===- DLEntryOps.h - entries, and gradients that they ask for ----------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLENTRYOPS_H
#define DLC_DIALECTS_DL_OPS_DLENTRYOPS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {
class ReturnOp;
} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLEntryOps.h.inc"

#endif
