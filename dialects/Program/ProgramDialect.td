//===- ProgramDialect.td - what dl and exec both say of a program -----------------------------===//
// Variables, entries, their inputs and results, metrics, schedules, layouts and settings are the
// same things before and after memory is decided.
#ifndef DLC_PROGRAM_DIALECT_TD
#define DLC_PROGRAM_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Program_Dialect : Dialect {
  let name = "program";
  let cppNamespace = "::dlc::program";
  let summary =
      "what a program is made of, whatever its values are: roles, initialisers, metrics, "
      "schedules, layouts";
  let description = [{
    The words that the dl and the exec dialect share. The two dialects do not know each other, and a
    conversion hands these attributes on, and its one op, as they are.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Program_Attr<string name, string mnemonic_, list<Trait> traits = []>
    : AttrDef<Program_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

//===------------------------------------------------------------------------------------------===//
// Enums: the numbers are those of runtime/include/dlc/abi.h, so that the plan needs no translation
//===------------------------------------------------------------------------------------------===//

class Program_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dlc::program";
  let genSpecializedAttr = 0;
}
class Program_EnumAttr<EnumInfo info, string name> : EnumAttr<Program_Dialect, info, name> {
  let assemblyFormat = "`<` $value `>`";
}

def Program_Role : Program_Enum<"Role", "what a variable is for", [
  I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"Slot", 2, "slot">,
  I32EnumAttrCase<"Statistic", 3, "statistic">, I32EnumAttrCase<"State", 4, "state">,
  I32EnumAttrCase<"Counter", 5, "counter">, I32EnumAttrCase<"Metric", 6, "metric">,
  I32EnumAttrCase<"Derived", 7, "derived">]>;
def Program_EntryKind : Program_Enum<"EntryKind", "what an entry of the module is for", [
  I32EnumAttrCase<"Train", 1, "train">, I32EnumAttrCase<"Evaluate", 2, "evaluate">,
  I32EnumAttrCase<"Infer", 3, "infer">, I32EnumAttrCase<"Prepare", 4, "prepare">,
  I32EnumAttrCase<"Accumulate", 5, "accumulate">]>;
def Program_ValueKind : Program_Enum<"ValueKind", "what an input or result of an entry is", [
  I32EnumAttrCase<"Input", 1, "input">, I32EnumAttrCase<"Result", 2, "result">,
  I32EnumAttrCase<"Accumulator", 3, "accumulator">, I32EnumAttrCase<"Gradient", 4, "gradient">,
  I32EnumAttrCase<"Check", 5, "check">]>;
def Program_MetricKind : Program_Enum<"MetricKind", "loss or metric", [
  I32EnumAttrCase<"Loss", 1, "loss">, I32EnumAttrCase<"Metric", 2, "metric">]>;
def Program_Finish : Program_Enum<"Finish", "what is applied to a metric's total", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Exp", 1, "exp">,
  I32EnumAttrCase<"Area", 2, "area">, I32EnumAttrCase<"Table", 3, "table">]>;
def Program_InitialiserKind
    : Program_Enum<
          "InitialiserKind", "distribution of a variable's first value",
          [I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Uniform", 2, "uniform">,
           I32EnumAttrCase<"Normal", 3, "normal">,
           I32EnumAttrCase<"TruncatedNormal", 4, "truncated_normal">,
           I32EnumAttrCase<"Orthogonal", 5, "orthogonal">, I32EnumAttrCase<"Copy", 6, "copy">]>;
def Program_ScheduleKind
    : Program_Enum<
          "ScheduleKind", "curve of a part of a schedule, see dlc_schedule_kind",
          [I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Step", 2, "step">,
           I32EnumAttrCase<"Exponential", 3, "exponential">,
           I32EnumAttrCase<"Polynomial", 4, "polynomial">, I32EnumAttrCase<"Cosine", 5, "cosine">,
           I32EnumAttrCase<"CosineRestarts", 6, "cosine_restarts">,
           I32EnumAttrCase<"OneCycle", 7, "one_cycle">, I32EnumAttrCase<"Cyclic", 8, "cyclic">,
           I32EnumAttrCase<"Warmup", 9, "warmup">, I32EnumAttrCase<"Plateau", 10, "plateau">]>;

def Program_CollectiveKind
    : Program_Enum<"CollectiveKind", "what ranks make of the values that they have each",
                   [I32EnumAttrCase<"Sum", 1, "sum">,
                    I32EnumAttrCase<"SumOneBit", 2, "sum_one_bit">,
                    I32EnumAttrCase<"SumTopK", 3, "sum_top_k">]>;

def Program_CollectiveKindAttr
    : EnumAttr<Program_Dialect, Program_CollectiveKind, "collective">;
def Program_RoleAttr : Program_EnumAttr<Program_Role, "role">;
def Program_EntryKindAttr : Program_EnumAttr<Program_EntryKind, "entry">;
def Program_ValueKindAttr : Program_EnumAttr<Program_ValueKind, "value">;

//===------------------------------------------------------------------------------------------===//
// Attributes
//===------------------------------------------------------------------------------------------===//

def Program_LayoutAttr : Program_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "physical layout of a tensor: the encoding of its type";
  let description = [{
    `blocks` split an axis into (axis / size, size); the inner parts stand last, in the order given,
    and the first of two on one axis is the inner one. `order` permutes the outer axes. A block that
    does not divide its axis is padded with zeros. A bijection; nothing else is a layout.
    (C1) order is a permutation of the axes. (C2) blocks has an axis and a size > 1 in turn, axis <
    rank. Example: nchw16c is `#program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>` (pairs of
    axis and size).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order,
      OptionalArrayRefParameter<"int64_t">:$blocks);
  let assemblyFormat = "`<` `order` `=` `[` $order `]` (`,` `blocks` `=` `[` $blocks^ `]`)? `>`";
  let extraClassDeclaration = [{
    /// The axis of channels, 1, innermost, all others in their order: nhwc. `rank` is at least 3.
    static LayoutAttr getChannelsLast(::mlir::MLIRContext *context, int64_t rank);
    /// Whether `type` is stored so.
    static bool isChannelsLast(::mlir::RankedTensorType type);
    /// The same elements in the same places where `block` divides the channels, these as two axes,
    /// so that code for blocks of channels may walk them: nhwc16c is
    /// `#program.layout<order = [0, 2, 3, 1], blocks = [1, 16]>`.
    static LayoutAttr getBlockedLast(::mlir::MLIRContext *context, int64_t rank, int64_t block);
    /// Whether `type` is stored so, in blocks of any size.
    static bool isBlockedLast(::mlir::RankedTensorType type);
    /// "nwc", "nhwc" or "ndhwc" for channels last, "nchw16c", "nhwc16c"; empty for other layouts.
    ::llvm::StringRef getShortName() const;
  }];
}

def Program_InitialiserAttr : Program_Attr<"Initialiser", "init"> {
  let summary = "first value of a variable: kind(a, b), see dlc_initialiser_kind";
  let parameters = (ins EnumParameter<Program_InitialiserKind>:$kind,
      APFloatParameter<"first number">:$a,
      APFloatParameter<"second number, 0 where the kind has one">:$b);
  let description =
      "Written with all three parts: `#program.init<uniform, -0.2, 0.2>`, "
      "`#program.init<constant, 1.0, 0.0>`.";
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "InitialiserKind":$kind, "double":$a,
      CArg<"double", "0.0">:$b)>];
}

def Program_TermAttr : Program_Attr<"Term", "term"> {
  let summary =
      "coefficient * sum / count, where sum (and count, unless constant) name accumulators of the "
      "entry";
  let parameters = (ins "::mlir::StringAttr":$sum, OptionalParameter<"::mlir::StringAttr">:$count,
                        "::mlir::FloatAttr":$constantCount, "::mlir::FloatAttr":$coefficient);
  let assemblyFormat = [{
    `<` $sum (`over` $count^)? `,` `count` `=` $constantCount `,` `coefficient` `=` $coefficient `>`
  }];
}

def Program_MetricAttr : Program_Attr<"Metric", "metric"> {
  let summary = "a loss or metric of an entry: finish(sum of terms)";
  let description = [{
    `area` and `table` have one term, whose sum alone counts: histograms f32[outputs, 2, bins] of
    the answers no and yes over bins of rising scores, of which the value is the mean area under the
    receiver operating curve; or counts f32[classes, classes]. Other sums and counts are scalars.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<Program_MetricKind>:$kind,
      EnumParameter<Program_Finish>:$finish, ArrayRefParameter<"::dlc::program::TermAttr">:$terms);
  let assemblyFormat = "`<` $name `,` $kind `,` $finish `,` `[` $terms `]` `>`";
}

def Program_SchedulePartAttr : Program_Attr<"SchedulePart", "schedule_part"> {
  let summary = "a part of the schedule of the learning rate, see dlc_schedule_part";
  let description = [{
    `#program.schedule_part<cosine, in_epochs = true, length = 2.0, n = 2.0, 0.0, 0.0, 0.0>`: the
    numbers are a, b and c.
  }];
  let parameters = (ins EnumParameter<Program_ScheduleKind>:$kind, "bool":$inEpochs,
      "::mlir::FloatAttr":$length, "::mlir::FloatAttr":$n, "::mlir::FloatAttr":$a,
      "::mlir::FloatAttr":$b, "::mlir::FloatAttr":$c,
      OptionalParameter<"::mlir::StringAttr">:$metric);
  let assemblyFormat = [{
    `<` $kind `,` `in_epochs` `=` $inEpochs `,` `length` `=` $length `,` `n` `=` $n `,` $a `,` $b
    `,` $c
    (`,` `metric` `=` $metric^)? `>`
  }];
}

def Program_CandidateAttr : Program_Attr<"Candidate", "candidate"> {
  let summary = "one way to run a region, and the kernel that it becomes";
  let description = [{
    Which generator runs it, by which schedule; both are absent where only the time is known.
    Seconds are estimated or measured, on one core or one GPU; workspace: bytes besides the region's
    tensors; not_in_place: no result may lie in an operand's memory.
    `#program.candidate<generator = "cpu-map", schedule = "map", seconds = 1.0e-6 : f64>`
    (C1) A generator has a schedule. (C2) Seconds are an f64 of 0 or more. (C3) The workspace is 0
    or more.
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$generator,
      OptionalParameter<"::mlir::StringAttr">:$schedule, "::mlir::FloatAttr":$seconds,
      DefaultValuedParameter<"int64_t", "0">:$workspace,
      DefaultValuedParameter<"bool", "false">:$not_in_place);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// "cpu-map: map"; empty without a generator.
    std::string describe() const;
    /// Whether that code runs it: the schedule of a generator.
    bool isCode(::llvm::StringRef generator, ::llvm::StringRef schedule) const;
    /// The same, beside which something else runs for `more` seconds.
    CandidateAttr withMore(double more) const;
  }];
}

#endif
