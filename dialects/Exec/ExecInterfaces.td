//===- ExecInterfaces.td - what passes ask of a record ----------------------------------------===//
#ifndef DLC_EXEC_INTERFACES_TD
#define DLC_EXEC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Exec_RecordOpInterface : OpInterface<"RecordOp"> {
  let description =
      "One step of the plan: runs on a stream, after everything before it on that stream.";
  let cppNamespace = "::dlc::exec";
  let methods = [InterfaceMethod<"Number of the stream.", "int64_t", "getStreamNumber", (ins), [{}],
                                 [{ return $_op.getStream(); }]>,
                 InterfaceMethod<"Moves the record to another stream.", "void", "setStreamNumber",
                                 (ins "int64_t":$stream), [{}], [{ $_op.setStream(stream); }]>,
                 InterfaceMethod<
                     "Adds the buffers that the record touches; none for events.", "void",
                     "getAccesses",
                     (ins "::llvm::SmallVectorImpl<::dlc::exec::BufferAccess> &":$accesses)>];
}

def Exec_Record : DeclareOpInterfaceMethods<Exec_RecordOpInterface>;

#endif
