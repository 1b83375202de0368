//===- MachineFile.h - a machine's record as a text that people edit ----------------*- C++ -*-===//
//
//   {
//     "dlc_machine": 1,
//     "cpu": "znver4",
//     "l2_bytes": 2097152,
//     "memory_bytes_per_second": 9e9
//   }
//
// "cpu" or "gpu" names the record that the file begins from; what else stands in it replaces a
// number of that. Names are those of CpuMachine and GpuMachine: l2Bytes is "l2_bytes".
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_MACHINE_MACHINEFILE_H
#define DLC_CODEGEN_MACHINE_MACHINEFILE_H

#include "codegen/Machine/Machine.h"
#include "llvm/Support/Error.h"

namespace dlc::codegen {

/// The record of a file; fails with the file and the field. `vectorBytes`: of the code.
llvm::Expected<CpuMachine> readCpuMachine(const std::string &path, unsigned vectorBytes);
llvm::Expected<GpuMachine> readGpuMachine(const std::string &path);

/// The text of a file that has all of a record.
std::string printMachine(const CpuMachine &machine);
std::string printMachine(const GpuMachine &machine);

} // namespace dlc::codegen

#endif
