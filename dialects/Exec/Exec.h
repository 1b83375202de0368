//===- Exec.h - the exec dialect: attributes, interfaces, ops -----------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_EXEC_EXEC_H
#define DLC_DIALECTS_EXEC_EXEC_H

#include "dialects/Program/Program.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dlc::exec {

class OutputOp;
class ProgramOp;

using program::alignment;

/// One buffer that a record touches.
struct BufferAccess {
  mlir::Value buffer;
  bool reads = false, writes = false;
};

} // namespace dlc::exec

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"
#include "dialects/Exec/ExecInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

#endif
