//===- ExecOps.td - all ops of the exec dialect -----------------------------------------------===//
#ifndef DLC_EXEC_OPS_TD
#define DLC_EXEC_OPS_TD

include "dialects/Exec/ExecDialect.td"
include "dialects/Exec/ExecInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

//===------------------------------------------------------------------------------------------===//
// Module level
//===------------------------------------------------------------------------------------------===//

def Exec_VariableOp : Exec_Op<"variable", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a tensor in the state, with its place";
  let description = [{
    `offset` and `bytes` are its place in the state. Variables that one multi_tensor kernel updates
    follow each other, each at the next multiple of 64, so that parameters and slots have equal
    offsets within their ranges.
    ```mlir
    exec.variable @conv1.weight : tensor<20x1x5x5xf32> role<parameter>
        init(<uniform, -0.2, 0.2>) at 0 bytes 2000
    ```
    (C1) offset is a multiple of 64 and not negative. (C2) `of` names a variable.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
      Program_RoleAttr:$role, Program_InitialiserAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of,
      I64Attr:$offset, I64Attr:$bytes);
  let assemblyFormat = [{
    $sym_name `:` $type `role` `` $role (`of` `` `(` $of^ `)`)? `init` `` `(` $init `)` `at` $offset
    `bytes` $bytes attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a piece of code that launches run";
  let description = [{
    The region says what is computed, in ops of another dialect: its block's arguments are the
    operands, its terminator's operands the results. `buffers` are the launch's arguments, operands
    first, then results; workspaces come last in a launch and are not listed here. `workspace` holds
    what phases hand to each other. Where it holds what a preparation makes, `rest_workspace`, which
    comes behind it, holds what the phases behind that hand to each other.

    The region of a multi-tensor update is not that plain: it holds one op over `count` tensors in
    each of its `streams`, and a launch passes ONE flat buffer a stream, then what belongs to each
    tensor, then the scalars, then the table of pieces (i64: tensor, offset, elements) and, where
    there are sums, the number of each tensor's first piece; then one flat buffer a yielded element,
    and the sums. Tensor i stands at the same element of each flat buffer, whatever its type
    (`FlatLayout`): at a multiple of 64 bytes in all of them. Bytes between two tensors are not the
    kernel's: it does not write them.

    Selection fills the rest: `phases`, bytes of workspaces, `key` (32 hexadecimal digits),
    `candidate`, `flops`, `bytes_moved`. Kernels of equal key share their code and differ in sizes:
    multi-tensor updates by one rule, whose code knows the table only. A candidate that is there
    before names the code to take. `alternative` runs where the device refuses it, `second_best` is
    what would have run instead, with the conversions around it.
    `in_place` lists the results that may lie in an operand's memory; `preparation` says what of a
    run need not be repeated while an operand stays as it is.
    ```mlir
    exec.kernel @relu_20x24_0a1b2c3d [#exec.argument<read 1920>, #exec.argument<write 1920>]
        in_place [#exec.in_place<0 into 1>] {
    ^bb0(%x: tensor<20x24xf32>): ...
    }
    ```
    (C1) one block. (C2) in_place numbers a read and a written buffer of equal size. (C3) phases is
    not empty if present. (C4) preparation numbers a read buffer and leaves a phase behind it; there
    is a workspace. (C5) a rest_workspace stands behind a workspace.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      TypedArrayAttrBase<Exec_ArgumentAttr, "arguments">:$buffers,
      OptionalAttr<TypedArrayAttrBase<Exec_InPlaceAttr, "in-place pairs">>:$in_place,
      OptionalAttr<TypedArrayAttrBase<Exec_PhaseAttr, "phases">>:$phases,
      DefaultValuedAttr<I64Attr, "0">:$workspace,
      DefaultValuedAttr<I64Attr, "0">:$rest_workspace, OptionalAttr<StrAttr>:$key,
      OptionalAttr<Program_CandidateAttr>:$candidate,
      OptionalAttr<Program_CandidateAttr>:$alternative,
      OptionalAttr<Program_CandidateAttr>:$second_best, DefaultValuedAttr<I64Attr, "0">:$flops,
      DefaultValuedAttr<I64Attr, "0">:$bytes_moved,
      OptionalAttr<Exec_PreparationAttr>:$preparation);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $buffers (`in_place` $in_place^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getNumBuffers() { return getBuffers().size(); }
    /// Bytes of what a launch passes behind the buffers, as far as there are such.
    ::llvm::SmallVector<int64_t> getWorkspaces() {
      ::llvm::SmallVector<int64_t> all = {int64_t(getWorkspace()), int64_t(getRestWorkspace())};
      ::llvm::erase(all, 0);
      return all;
    }
    /// Of a run, as estimated; nothing before it has a candidate.
    ::std::optional<double> getSeconds() {
      if (!getCandidateAttr())
        return ::std::nullopt;
      return getCandidateAttr().getSeconds().getValueAsDouble();
    }
    ArgumentAttr getBuffer(unsigned number) {
      return ::llvm::cast<ArgumentAttr>(getBuffers()[number]);
    }
  }];
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">,
    SingleBlock]> {
  let summary = "what one entry of the module runs";
  let description = [{
    References to memory and records in straight line, ended by exec.output. `arena_bytes` is set by
    exec-plan-memory, and beside it `live_bytes`, the most bytes of it that are in use at once when
    records run in the order of the text; `streams` and
    `events` by exec-schedule-streams. `batch` is 0 for a program without a batch axis; `valid`
    numbers the input that says how many samples count; a training step runs on each `every`-th
    batch, with scheduled scalars multiplied by the factor of `schedule`.
    ```mlir
    exec.program @infer_n1 attributes {kind = #program.entry<infer>, batch = 1, inputs = [...],
        outputs = [...], metrics = []} {
      %x = exec.input 0 : !exec.buffer<3136>
      %w = exec.state @w at 0 : !exec.buffer<31360>
      %y = exec.alloc : !exec.buffer<40>
      exec.launch @matmul_1x10_0a1b2c3d(read %x, read %w, write %y) stream 0
          : !exec.buffer<3136>, !exec.buffer<31360>, !exec.buffer<40>
      exec.output %y : !exec.buffer<40>
    }
    ```
    (C1) one output operand an `outputs` entry. (C2) terms of metrics name outputs. (C3) `valid` and
    exec.input number inputs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Program_EntryKindAttr:$kind,
      DefaultValuedAttr<I64Attr, "0">:$batch, TypedArrayAttrBase<Exec_ValueAttr, "inputs">:$inputs,
      TypedArrayAttrBase<Exec_ValueAttr, "outputs">:$outputs,
      TypedArrayAttrBase<Program_MetricAttr, "metrics">:$metrics,
      OptionalAttr<TypedArrayAttrBase<Program_SchedulePartAttr, "schedule">>:$schedule,
      OptionalAttr<I64Attr>:$valid, DefaultValuedAttr<I64Attr, "1">:$every,
      DefaultValuedAttr<I64Attr, "0">:$arena_bytes, DefaultValuedAttr<I64Attr, "1">:$streams,
      DefaultValuedAttr<I64Attr, "0">:$events, DefaultValuedAttr<I64Attr, "0">:$live_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    OutputOp getOutput();
    /// The number of the output of this name.
    ::std::optional<unsigned> findOutput(::mlir::StringAttr name);
  }];
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

class Exec_Reference<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [HasParent<"ProgramOp">])> {
  let results = (outs Exec_BufferType:$buffer);
}

def Exec_AllocOp : Exec_Reference<"alloc"> {
  let summary = "memory of the arena";
  let description = [{
    Its contents are undefined before the first write of a run. `at` is its place, given by
    exec-plan-memory: buffers whose lifetimes do not meet share memory.
    `%0 = exec.alloc at 4096 : !exec.buffer<1024>`
    (C1) the offset is a multiple of 64, and the buffer ends within the program's arena_bytes.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_StateOp
    : Exec_Reference<"state", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "memory of a variable, or of several that follow each other";
  let description = [{
    Begins where the variable begins; larger than the variable, it covers the following ones.
    `%w = exec.state @conv1.weight at 0 : !exec.buffer<2000>`. (C1) the offset is the variable's.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, I64Attr:$offset);
  let assemblyFormat = "$variable `at` $offset attr-dict `:` type($buffer)";
}

def Exec_InputOp : Exec_Reference<"input", [Pure]> {
  let summary = "memory of an input, by number";
  let description = "`%x = exec.input 0 : !exec.buffer<200704>`. Read-only.";
  let arguments = (ins I64Attr:$number);
  let assemblyFormat = "$number attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_ConstantOp : Exec_Reference<"constant", [Pure]> {
  let summary = "memory with contents known at compile time";
  let description = [{
    The attribute's raw bytes in the physical layout that the readers expect; bool is one byte.
    Read-only.
    `%t = exec.constant dense<[1, 2]> : tensor<2xi32> : !exec.buffer<8>`. (C1) as many bytes as the
    buffer has.
  }];
  let arguments = (ins ElementsAttr:$value);
  let assemblyFormat = "$value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_ScalarOp : Exec_Reference<"scalar", [Pure]> {
  let summary = "a number in the scalars block, written by the runtime before each run";
  let description = [{
    Equal names are one scalar. Its type is f32, f64, i32 or i64. Read-only.
    ```mlir
    %lr = exec.scalar "optimizer.learning_rate", 1.0e-02 as f32 scheduled at 0 : !exec.buffer<4>
    ```
    (C1) As many bytes as the type has, at a multiple of them.
  }];
  let arguments = (ins StrAttr:$name, F64Attr:$value,
                       TypeAttrOf<AnyTypeOf<[F32, F64, I32, I64]>>:$type,
                       UnitAttr:$scheduled, I64Attr:$offset);
  let assemblyFormat = [{
    $name `,` $value `as` $type (`scheduled` $scheduled^)? `at` $offset attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Reference<"view", [Pure]> {
  let summary = "a piece of a buffer";
  let description = [{
    `%g = exec.view %all at 2048 : !exec.buffer<8192> to !exec.buffer<80>`
    (C1) within the source. (C2) the offset is a multiple of 64.
  }];
  let arguments = (ins Exec_BufferType:$source, I64Attr:$offset);
  let assemblyFormat = "$source `at` $offset attr-dict `:` type($source) `to` type($buffer)";
  let hasVerifier = 1;
}

//===------------------------------------------------------------------------------------------===//
// Records
//===------------------------------------------------------------------------------------------===//

class Exec_RecordOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [Exec_Record, HasParent<"ProgramOp">])>;

def Exec_LaunchOp : Exec_RecordOp<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel: its phases, one after the other";
  let description = [{
    Its location names layer and stage. Workspaces, if the kernel has any, are the last buffers,
    accessed by `update`. Of a kernel with a preparation, `part` may be `preparation`, whose phases
    write the first workspace, or `rest`, whose phases read it.
    `exec.launch @relu_0a1b2c3d(read %x, write %y) stream 0 : !exec.buffer<1920>,
    !exec.buffer<1920>`
    (C1) buffers and accesses are the kernel's, each at least as large; one more for each workspace,
    once they are placed. (C2) A part is one of a kernel with a preparation, and has the first
    workspace; in `preparation`, buffers other than its operand and that are empty, in `rest` its
    operand.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_BufferType>:$buffers,
      DenseI32ArrayAttr:$access, DefaultValuedAttr<I64Attr, "0">:$stream,
      DefaultValuedAttr<Exec_PartAttr, "::dlc::exec::Part::Whole">:$part);
  let assemblyFormat =
      "$kernel `` `(` custom<Accesses>($buffers, $access) `)` `stream` $stream attr-dict `:` "
      "type($buffers)";
  let extraClassDeclaration = [{
    Access getBufferAccess(unsigned number) { return static_cast<Access>(getAccess()[number]); }
    /// The first phase of `kernel` that it runs, and the one behind its last.
    ::std::pair<unsigned, unsigned> getPhaseRange(KernelOp kernel);
    /// Estimated seconds of these phases; 0 if none are known.
    double getSeconds(KernelOp kernel);
  }];
}

def Exec_CopyOp : Exec_RecordOp<"copy"> {
  let summary = "copies a buffer to another of the same size";
  let description =
      "`exec.copy %x to %y stream 0 : !exec.buffer<64>`. (C1) they do not overlap, unless through "
      "planning.";
  let arguments = (ins Exec_BufferType:$source, Exec_BufferType:$destination,
      DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat =
      "$source `to` $destination `stream` $stream attr-dict `:` type($source) `,` "
      "type($destination)";
  let hasVerifier = 1;
}

def Exec_FillOp : Exec_RecordOp<"fill"> {
  let summary = "sets each byte of a buffer";
  let description = "`exec.fill %x with 0 stream 0 : !exec.buffer<64>`. (C1) the byte is 0 to 255.";
  let arguments = (ins Exec_BufferType:$destination, I64Attr:$value,
      DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat =
      "$destination `with` $value `stream` $stream attr-dict `:` type($destination)";
  let hasVerifier = 1;
}

def Exec_AllReduceOp : Exec_RecordOp<"all_reduce"> {
  let summary = "replaces a buffer on every rank by the sum of all ranks' buffers";
  let description = [{
    Runs beside what is computed, on a stream of its channel's own. Every rank issues the
    collectives of a channel in the same order. `of` names the variables whose gradients these are,
    `seconds` estimates it.
    `exec.all_reduce sum %g as f32 channel 0 stream 1 : !exec.buffer<4096>`
    (C1) whole elements, of a float type. (C2) the channel is 0 (buckets of gradients) or 1 (small
    ones that what follows waits for). (C3) compressed sums are of f32.
  }];
  let arguments = (ins Program_CollectiveKindAttr:$kind, Exec_BufferType:$buffer,
      TypeAttrOf<AnyTypeOf<[F32, F64, BF16, F16]>>:$type, I64Attr:$channel,
      DefaultValuedAttr<I64Attr, "0">:$stream, OptionalAttr<FlatSymbolRefArrayAttr>:$of,
      OptionalAttr<F64Attr>:$seconds);
  let assemblyFormat = [{
    `` $kind $buffer `as` $type `channel` $channel `stream` $stream attr-dict `:` type($buffer)
  }];
  let extraClassDeclaration = [{
    /// What a rank sends of the buffer.
    int64_t getBytesSent();
  }];
  let hasVerifier = 1;
}

def Exec_RecordEventOp : Exec_RecordOp<"record_event"> {
  let summary = "marks an event that completes when everything before it on the stream has";
  let description = "`exec.record_event 0 stream 1`. Each event is recorded once in a program.";
  let arguments = (ins I64Attr:$event, DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = "$event `stream` $stream attr-dict";
}

def Exec_WaitEventOp : Exec_RecordOp<"wait_event"> {
  let summary = "what follows on the stream starts after the event";
  let description =
      "`exec.wait_event 0 stream 0`. The event is recorded before, in the order of the text.";
  let arguments = (ins I64Attr:$event, DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = "$event `stream` $stream attr-dict";
}

def Exec_OutputOp : Exec_Op<"output", [Terminator, HasParent<"ProgramOp">]> {
  let summary = "where the program's outputs stand after a run, until the next";
  let description =
      "`exec.output %y, %loss : !exec.buffer<40>, !exec.buffer<4>`. (C1) memory of the arena.";
  let arguments = (ins Variadic<Exec_BufferType>:$buffers);
  let assemblyFormat = "($buffers^ `:` type($buffers))? attr-dict";
}

#endif
