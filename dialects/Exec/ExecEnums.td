//===- ExecEnums.td - the enums of the exec dialect alone -------------------------------------===//
// A file of its own: mlir-tblgen makes the code of every enum that it sees, of included files too.
#ifndef DLC_EXEC_ENUMS_TD
#define DLC_EXEC_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Exec_Access : I32EnumAttr<"Access", "how a record touches a buffer", [
  I32EnumAttrCase<"Read", 1, "read">, I32EnumAttrCase<"Write", 2, "write">,
  I32EnumAttrCase<"ReadWrite", 3, "update">]> {
  let cppNamespace = "::dlc::exec";
  let genSpecializedAttr = 0;
}

def Exec_Part : I32EnumAttr<"Part", "which of a kernel's phases a launch runs", [
  I32EnumAttrCase<"Whole", 0, "whole">, I32EnumAttrCase<"Preparation", 1, "preparation">,
  I32EnumAttrCase<"Rest", 2, "rest">]> {
  let cppNamespace = "::dlc::exec";
  let genSpecializedAttr = 0;
}

#endif
