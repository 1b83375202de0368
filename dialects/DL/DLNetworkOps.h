//===- DLNetworkOps.h - the network ops of the dl dialect ---------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLNETWORKOPS_H
#define DLC_DIALECTS_DL_DLNETWORKOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLNetworkOps.h.inc"

#endif
