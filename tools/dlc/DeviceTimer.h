//===- DeviceTimer.h - times kernels on this machine's device -----------------------*- C++ -*-===//
//
// A kernel's candidates become the entries of a small module, which the runtime runs as it runs any
// other: on all cores, or on the GPU. Operands and results are variables that all entries share.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DLC_DEVICETIMER_H
#define DLC_TOOLS_DLC_DEVICETIMER_H

#include "codegen/Compile/Target.h"
#include "codegen/Tune/Tuner.h"

namespace dlc::tool {

/// Opens the device that the target is for. Fails with one line if there is none.
llvm::Expected<std::unique_ptr<codegen::KernelTimer>>
openDeviceTimer(const codegen::Target &target, codegen::CompileOptions options);

} // namespace dlc::tool

#endif
