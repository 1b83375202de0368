//===- System.h - what this machine says of its processor ---------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_MACHINE_SYSTEM_H
#define DLC_CODEGEN_MACHINE_SYSTEM_H

#include "codegen/Machine/Machine.h"

namespace dlc::codegen {

/// Replaces sizes of caches by those of a processor in the files of /sys below `root`, and the
/// number of cores by `cores` where those are more. What is absent there, or cannot be, stays as it
/// is.
void readSystem(CpuMachine &machine, const std::string &root, unsigned processor, int64_t cores);

} // namespace dlc::codegen

#endif
