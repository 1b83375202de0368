//===- ExecDialect.td - the exec dialect ------------------------------------------------------===//
// The static plan: memory, launches and their order, as straight-line programs. Knows nothing of
// tensors' meaning.
#ifndef DLC_EXEC_DIALECT_TD
#define DLC_EXEC_DIALECT_TD

include "dialects/Exec/ExecEnums.td"
include "dialects/Program/ProgramDialect.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dlc::exec";
  let summary = "the static plan of a compiled model: buffers, launches, streams";
  let description = [{
    A module holds `exec.variable`s, `exec.kernel`s and one `exec.program` an entry. A program has
    no loop, branch or call: its records (launch, copy, fill, events) run in the order of the text
    within a stream, and streams are ordered by events only. Values are buffers of a known number of
    bytes. What a kernel computes stands in its region and is opaque here.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::dlc::program::ProgramDialect"];
}

class Exec_Attr<string name, string mnemonic_> : AttrDef<Exec_Dialect, name> {
  let mnemonic = mnemonic_;
}

//===------------------------------------------------------------------------------------------===//
// Attributes and the type
//===------------------------------------------------------------------------------------------===//

def Exec_ArgumentAttr : Exec_Attr<"Argument", "argument"> {
  let summary = "one buffer that a kernel takes: how it is touched and how many bytes it has";
  let parameters = (ins EnumParameter<Exec_Access>:$access, "int64_t":$bytes);
  let assemblyFormat = "`<` $access $bytes `>`";
}

def Exec_PhaseAttr : Exec_Attr<"Phase", "phase"> {
  let summary = "one launch of a kernel: its function, size of the grid, scratch bytes of one task";
  let description =
      "`#exec.phase<\"relu_0a1b2c3d\" tasks = 64 scratch = 4096>`. Phases of a kernel run one "
      "after the other. `side = 8192`: a phase beside the work itself, such as packing, and the "
      "bytes that it reads and writes; the kernel's `flops` and `bytes_moved` are not its own.";
  let parameters = (ins "::mlir::StringAttr":$function, "int64_t":$tasks, "int64_t":$scratch,
      DefaultValuedParameter<"int64_t", "0">:$side);
  let assemblyFormat = [{
    `<` $function `tasks` `=` $tasks `scratch` `=` $scratch (`side` `=` $side^)? `>`
  }];
}

def Exec_PreparationAttr : Exec_Attr<"Preparation", "preparation"> {
  let summary = "the first phases of a kernel, which need one operand only";
  let description = [{
    `#exec.preparation<operand = 1 phases = 1 form = "winograd 4x4" seconds = 1.0e-04>`: the first
    `phases` read buffer `operand` and nothing else, and write all of the first workspace and
    nothing else; the phases behind them do not touch the operand, and do not write that workspace.
    Equal bytes in equal forms are equal bytes of it. `seconds` are those phases' part of the
    kernel's.
  }];
  let parameters = (ins "int64_t":$operand, "int64_t":$phases, "::mlir::StringAttr":$form,
      "::mlir::FloatAttr":$seconds);
  let assemblyFormat = [{
    `<` `operand` `=` $operand `phases` `=` $phases `form` `=` $form `seconds` `=` $seconds `>`
  }];
}

def Exec_InPlaceAttr : Exec_Attr<"InPlace", "in_place"> {
  let summary = "result buffer `result` may be the memory of operand buffer `operand`";
  let description = [{
    Each element of the result needs the operand's element at the same index only. Code must not
    read an element of the operand again after it has written the result's element at that index,
    nor assume that the two buffers differ.
    `#exec.in_place<1 into 3>`: buffer 3 may lie where buffer 1 lies.
  }];
  let parameters = (ins "int64_t":$operand, "int64_t":$result);
  let assemblyFormat = "`<` $operand `into` $result `>`";
}

def Exec_ValueAttr : Exec_Attr<"Value", "value"> {
  let summary = "an input or output of a program";
  let description = [{
    `#exec.value<"image" input tensor<64x1x28x28xf32> batch_axis = 0>`; `of` names the variable
    whose gradient this is.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<Program_ValueKind>:$kind,
      "::mlir::RankedTensorType":$type, DefaultValuedParameter<"int64_t", "-1">:$batchAxis,
      OptionalParameter<"::mlir::FlatSymbolRefAttr">:$of);
  let assemblyFormat = "`<` $name $kind $type (`batch_axis` `=` $batchAxis^)? (`of` `=` $of^)? `>`";
}

def Exec_PartAttr : EnumAttr<Exec_Dialect, Exec_Part, "part">;

def Exec_BufferType : TypeDef<Exec_Dialect, "Buffer"> {
  let summary = "memory of a known number of bytes";
  let description = "`!exec.buffer<3200>`: 3,200 bytes. Zero bytes are legal.";
  let mnemonic = "buffer";
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

#endif
