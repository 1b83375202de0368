//===- ExecDialect.td - the exec dialect ------------------------------------------------------===//
// The static plan: memory, launches and their order, as straight-line programs. Knows nothing of tensors' meaning.
#ifndef DLC_EXEC_DIALECT_TD
#define DLC_EXEC_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dlc::exec";
  let summary = "the static plan of a compiled model: buffers, launches, streams";
  let description = [{
    A module holds `exec.variable`s, `exec.kernel`s and one `exec.program` an entry. A program has no loop, branch or call: its
    records (launch, copy, fill, events) run in the order of the text within a stream, and streams are ordered by events only.
    Values are buffers of a known number of bytes. What a kernel computes stands in its region and is opaque here.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Exec_Attr<string name, string mnemonic_> : AttrDef<Exec_Dialect, name> { let mnemonic = mnemonic_; }

//===------------------------------------------------------------------------------------------===//
// Enums: the numbers are those of runtime/include/dlc/abi.h
//===------------------------------------------------------------------------------------------===//

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dlc::exec";
  let genSpecializedAttr = 0;
}
class Exec_EnumAttr<EnumInfo info, string name> : EnumAttr<Exec_Dialect, info, name> {
  let assemblyFormat = "`<` $value `>`";
}

def Exec_Role : Exec_Enum<"Role", "what a variable is for", [
  I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"Slot", 2, "slot">,
  I32EnumAttrCase<"Statistic", 3, "statistic">, I32EnumAttrCase<"State", 4, "state">,
  I32EnumAttrCase<"Counter", 5, "counter">, I32EnumAttrCase<"Metric", 6, "metric">,
  I32EnumAttrCase<"Derived", 7, "derived">]>;
def Exec_InitialiserKind : Exec_Enum<"InitialiserKind", "distribution of a variable's first value", [
  I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Uniform", 2, "uniform">,
  I32EnumAttrCase<"Normal", 3, "normal">, I32EnumAttrCase<"TruncatedNormal", 4, "truncated_normal">,
  I32EnumAttrCase<"Orthogonal", 5, "orthogonal">, I32EnumAttrCase<"Copy", 6, "copy">]>;
def Exec_ProgramKind : Exec_Enum<"ProgramKind", "what a program is for", [
  I32EnumAttrCase<"Train", 1, "train">, I32EnumAttrCase<"Evaluate", 2, "evaluate">,
  I32EnumAttrCase<"Infer", 3, "infer">, I32EnumAttrCase<"Prepare", 4, "prepare">,
  I32EnumAttrCase<"Accumulate", 5, "accumulate">]>;
def Exec_ValueKind : Exec_Enum<"ValueKind", "what an input or output is", [
  I32EnumAttrCase<"Input", 1, "input">, I32EnumAttrCase<"Result", 2, "result">,
  I32EnumAttrCase<"Accumulator", 3, "accumulator">, I32EnumAttrCase<"Gradient", 4, "gradient">]>;
def Exec_MetricKind : Exec_Enum<"MetricKind", "loss or metric", [
  I32EnumAttrCase<"Loss", 1, "loss">, I32EnumAttrCase<"Metric", 2, "metric">]>;
def Exec_Finish : Exec_Enum<"Finish", "what is applied to a metric's total", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Exp", 1, "exp">]>;
def Exec_ScheduleKind : Exec_Enum<"ScheduleKind", "curve of a part of a schedule, see dlc_schedule_kind", [
  I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Step", 2, "step">,
  I32EnumAttrCase<"Exponential", 3, "exponential">, I32EnumAttrCase<"Polynomial", 4, "polynomial">,
  I32EnumAttrCase<"Cosine", 5, "cosine">, I32EnumAttrCase<"CosineRestarts", 6, "cosine_restarts">,
  I32EnumAttrCase<"OneCycle", 7, "one_cycle">, I32EnumAttrCase<"Cyclic", 8, "cyclic">,
  I32EnumAttrCase<"Warmup", 9, "warmup">, I32EnumAttrCase<"Plateau", 10, "plateau">]>;
def Exec_Access : Exec_Enum<"Access", "how a record touches a buffer", [
  I32EnumAttrCase<"Read", 1, "read">, I32EnumAttrCase<"Write", 2, "write">, I32EnumAttrCase<"ReadWrite", 3, "update">]>;

def Exec_RoleAttr : Exec_EnumAttr<Exec_Role, "role">;
def Exec_ProgramKindAttr : Exec_EnumAttr<Exec_ProgramKind, "program">;

//===------------------------------------------------------------------------------------------===//
// Attributes and the type
//===------------------------------------------------------------------------------------------===//

def Exec_InitialiserAttr : Exec_Attr<"Initialiser", "init"> {
  let summary = "first value of a variable: kind(a, b), see dlc_initialiser_kind";
  let description = "`#exec.init<uniform, -0.2 : f64, 0.2 : f64>`";
  let parameters = (ins EnumParameter<Exec_InitialiserKind>:$kind, "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b);
  let assemblyFormat = "`<` $kind `,` $a `,` $b `>`";
}

def Exec_ArgumentAttr : Exec_Attr<"Argument", "argument"> {
  let summary = "one buffer that a kernel takes: how it is touched and how many bytes it has";
  let parameters = (ins EnumParameter<Exec_Access>:$access, "int64_t":$bytes);
  let assemblyFormat = "`<` $access $bytes `>`";
}

def Exec_PhaseAttr : Exec_Attr<"Phase", "phase"> {
  let summary = "one launch of a kernel: its function, size of the grid, scratch bytes of one task";
  let description = "`#exec.phase<\"relu_0a1b2c3d\" tasks = 64 scratch = 4096>`. Phases of a kernel run one after the other.";
  let parameters = (ins "::mlir::StringAttr":$function, "int64_t":$tasks, "int64_t":$scratch);
  let assemblyFormat = "`<` $function `tasks` `=` $tasks `scratch` `=` $scratch `>`";
}

def Exec_InPlaceAttr : Exec_Attr<"InPlace", "in_place"> {
  let summary = "result buffer `result` may be the memory of operand buffer `operand`";
  let description = [{
    Each element of the result needs the operand's element at the same index only. Code must not read an element of the operand
    again after it has written the result's element at that index, nor assume that the two buffers differ.
    `#exec.in_place<1 into 3>`: buffer 3 may lie where buffer 1 lies.
  }];
  let parameters = (ins "int64_t":$operand, "int64_t":$result);
  let assemblyFormat = "`<` $operand `into` $result `>`";
}

def Exec_ValueAttr : Exec_Attr<"Value", "value"> {
  let summary = "an input or output of a program";
  let description = [{
    `#exec.value<"image" input tensor<64x1x28x28xf32> batch_axis = 0>`; `of` names the variable whose gradient this is.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<Exec_ValueKind>:$kind,
                        "::mlir::RankedTensorType":$type, DefaultValuedParameter<"int64_t", "-1">:$batchAxis,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$of);
  let assemblyFormat = "`<` $name $kind $type (`batch_axis` `=` $batchAxis^)? (`of` `=` $of^)? `>`";
}

def Exec_TermAttr : Exec_Attr<"Term", "term"> {
  let summary = "coefficient * output[sum] / (output[count], or the constant if count is absent)";
  let parameters = (ins "int64_t":$sum, DefaultValuedParameter<"int64_t", "-1">:$count,
                        "::mlir::FloatAttr":$constantCount, "::mlir::FloatAttr":$coefficient);
  let assemblyFormat = [{ `<` $sum (`over` $count^)? `,` `count` `=` $constantCount `,` `coefficient` `=` $coefficient `>` }];
}

def Exec_MetricAttr : Exec_Attr<"Metric", "metric"> {
  let summary = "a loss or metric of a program: finish(sum of terms)";
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<Exec_MetricKind>:$kind,
                        EnumParameter<Exec_Finish>:$finish, ArrayRefParameter<"::dlc::exec::TermAttr">:$terms);
  let assemblyFormat = "`<` $name `,` $kind `,` $finish `,` `[` $terms `]` `>`";
}

def Exec_SchedulePartAttr : Exec_Attr<"SchedulePart", "schedule_part"> {
  let summary = "a part of the schedule of the learning rate, see dlc_schedule_part";
  let description = [{
    `#exec.schedule_part<cosine, in_epochs = true, length = 2.0, n = 2.0, 0.0, 0.0, 0.0>`: the numbers are a, b and c.
  }];
  let parameters = (ins EnumParameter<Exec_ScheduleKind>:$kind, "bool":$inEpochs, "::mlir::FloatAttr":$length,
                        "::mlir::FloatAttr":$n, "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b, "::mlir::FloatAttr":$c,
                        OptionalParameter<"::mlir::StringAttr">:$metric);
  let assemblyFormat = [{
    `<` $kind `,` `in_epochs` `=` $inEpochs `,` `length` `=` $length `,` `n` `=` $n `,` $a `,` $b `,` $c
    (`,` `metric` `=` $metric^)? `>`
  }];
}

def Exec_BufferType : TypeDef<Exec_Dialect, "Buffer"> {
  let summary = "memory of a known number of bytes";
  let description = "`!exec.buffer<3200>`: 3,200 bytes. Zero bytes are legal.";
  let mnemonic = "buffer";
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

#endif
