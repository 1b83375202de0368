//===- DLOps.td - all ops of the dl dialect ---------------------------------------------------===//
include "dialects/DL/DLProgramOps.td"
include "dialects/DL/DLElementwiseOps.td"
include "dialects/DL/DLTensorOps.td"
include "dialects/DL/DLNetworkOps.td"
include "dialects/DL/DLCompositeOps.td"
include "dialects/DL/DLRecurrentOps.td"
