//===- DLDialect.td - the dl dialect ----------------------------------------------------------===//
// Graph of tensors with value semantics: what a model and its training step compute, before any decision on memory.
#ifndef DLC_DL_DIALECT_TD
#define DLC_DL_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def DL_Dialect : Dialect {
  let name = "dl";
  let cppNamespace = "::dlc::dl";
  let summary = "tensors of a neural network's training step, logical shapes, value semantics";
  let description = [{
    A module holds `dl.variable`s and `dl.entry`s. Every shape is static. A tensor type is the logical shape (channels
    before pixels: N C H W) with the physical layout as its encoding; no encoding means row-major.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    void registerProgramOps();
    void registerElementwiseOps();
    void registerTensorOps();
    void registerNetworkOps();
    void registerCompositeOps();
  }];
}

class DL_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<DL_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

//===------------------------------------------------------------------------------------------===//
// Enums
//===------------------------------------------------------------------------------------------===//

class DL_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dlc::dl";
  let genSpecializedAttr = 0;
}
// An enum that only ever stands in one op's syntax, as a keyword.
class DL_KeywordEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dlc::dl";
}
class DL_EnumAttr<EnumInfo info, string name> : EnumAttr<DL_Dialect, info, name> {
  let assemblyFormat = "`<` $value `>`";
}

// The numbers equal those of runtime/include/dlc/abi.h, so that the plan needs no translation.
def DL_Role : DL_Enum<"Role", "what a variable is for", [
  I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"Slot", 2, "slot">,
  I32EnumAttrCase<"Statistic", 3, "statistic">, I32EnumAttrCase<"State", 4, "state">,
  I32EnumAttrCase<"Counter", 5, "counter">, I32EnumAttrCase<"Metric", 6, "metric">,
  I32EnumAttrCase<"Derived", 7, "derived">]>;
def DL_EntryKind : DL_Enum<"EntryKind", "what an entry is for", [
  I32EnumAttrCase<"Train", 1, "train">, I32EnumAttrCase<"Evaluate", 2, "evaluate">,
  I32EnumAttrCase<"Infer", 3, "infer">, I32EnumAttrCase<"Prepare", 4, "prepare">,
  I32EnumAttrCase<"Accumulate", 5, "accumulate">]>;
def DL_ValueKind : DL_Enum<"ValueKind", "what a result of an entry is", [
  I32EnumAttrCase<"Result", 2, "result">, I32EnumAttrCase<"Accumulator", 3, "accumulator">,
  I32EnumAttrCase<"Gradient", 4, "gradient">]>;
def DL_MetricKind : DL_Enum<"MetricKind", "loss or metric", [
  I32EnumAttrCase<"Loss", 1, "loss">, I32EnumAttrCase<"Metric", 2, "metric">]>;
def DL_Finish : DL_Enum<"Finish", "what is applied to a metric's total", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Exp", 1, "exp">]>;
def DL_InitialiserKind : DL_Enum<"InitialiserKind", "distribution of a variable's first value", [
  I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Uniform", 2, "uniform">,
  I32EnumAttrCase<"Normal", 3, "normal">, I32EnumAttrCase<"TruncatedNormal", 4, "truncated_normal">,
  I32EnumAttrCase<"Orthogonal", 5, "orthogonal">, I32EnumAttrCase<"Copy", 6, "copy">]>;
def DL_ScheduleKind : DL_Enum<"ScheduleKind", "curve of a part of a schedule, see dlc_schedule_kind", [
  I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Step", 2, "step">,
  I32EnumAttrCase<"Exponential", 3, "exponential">, I32EnumAttrCase<"Polynomial", 4, "polynomial">,
  I32EnumAttrCase<"Cosine", 5, "cosine">, I32EnumAttrCase<"CosineRestarts", 6, "cosine_restarts">,
  I32EnumAttrCase<"OneCycle", 7, "one_cycle">, I32EnumAttrCase<"Cyclic", 8, "cyclic">,
  I32EnumAttrCase<"Warmup", 9, "warmup">, I32EnumAttrCase<"Plateau", 10, "plateau">]>;
def DL_ClipKind : DL_Enum<"ClipKind", "what of the gradients is limited", [
  I32EnumAttrCase<"Value", 1, "value">, I32EnumAttrCase<"ParameterNorm", 2, "parameter_norm">,
  I32EnumAttrCase<"GlobalNorm", 3, "global_norm">]>;
def DL_ReduceKind : DL_KeywordEnum<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;
def DL_Predicate : DL_KeywordEnum<"Predicate", "comparison", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
  I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;

def DL_RoleAttr : DL_EnumAttr<DL_Role, "role">;
def DL_EntryKindAttr : DL_EnumAttr<DL_EntryKind, "entry">;
def DL_ValueKindAttr : DL_EnumAttr<DL_ValueKind, "value">;

//===------------------------------------------------------------------------------------------===//
// Attributes
//===------------------------------------------------------------------------------------------===//

def DL_LayoutAttr : DL_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "physical layout of a tensor: the encoding of its type";
  let description = [{
    `blocks` split an axis into (axis / size, size); the inner parts stand last, in the order given. `order` permutes the
    outer axes. A block that does not divide its axis is padded with zeros. A bijection; nothing else is a layout.
    (C1) order is a permutation of the axes. (C2) blocks has an axis and a size > 1 in turn, axis < rank.
    Example: nchw16c is `#dl.layout<order = [0, 1, 2, 3], blocks = [1, 16]>` (pairs of axis and size).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, OptionalArrayRefParameter<"int64_t">:$blocks);
  let assemblyFormat = "`<` `order` `=` `[` $order `]` (`,` `blocks` `=` `[` $blocks^ `]`)? `>`";
  let extraClassDeclaration = [{
    /// The axis of channels, 1, innermost, all others in their order: nhwc. `rank` is at least 3.
    static LayoutAttr getChannelsLast(::mlir::MLIRContext *context, int64_t rank);
    /// Whether `type` is stored so.
    static bool isChannelsLast(::mlir::RankedTensorType type);
    /// "nwc", "nhwc" or "ndhwc" for channels last; empty for other layouts.
    ::llvm::StringRef getShortName() const;
  }];
}

def DL_InitialiserAttr : DL_Attr<"Initialiser", "init"> {
  let summary = "first value of a variable: kind(a, b), see dlc_initialiser_kind";
  let parameters = (ins EnumParameter<DL_InitialiserKind>:$kind, APFloatParameter<"first number">:$a,
                        APFloatParameter<"second number, 0 where the kind has one">:$b);
  let description = "Written with all three parts: `#dl.init<uniform, -0.2, 0.2>`, `#dl.init<constant, 1.0, 0.0>`.";
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "InitialiserKind":$kind, "double":$a, CArg<"double", "0.0">:$b)>];
}

def DL_OptimizerAttr : DL_Attr<"Optimizer", "optimizer"> {
  let summary = "the rule that makes a parameter's next value, see Optimizers.h";
  let description = [{
    `#dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>`: absent settings have the rule's defaults.
    (C1) There is a rule of this name. (C2) Settings are the rule's, of their kind and within their range; those without a
    default are given. (C3) They fit each other as the rule wants it.
  }];
  let parameters = (ins StringRefParameter<"of the rule">:$name, "::mlir::DictionaryAttr":$settings);
  let assemblyFormat = "`<` $name `,` $settings `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    const OptimizerRule &getRule() const;
    /// The setting as a number; a flag is 0 or 1.
    double number(::llvm::StringRef name) const;
  }];
}

def DL_UpdateAttr : DL_Attr<"Update", "update"> {
  let summary = "one parameter that a training entry updates: multipliers and its optimizer";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$variable, "::mlir::FloatAttr":$lrMult,
                        "::mlir::FloatAttr":$decayMult, "::dlc::dl::OptimizerAttr":$optimizer);
  let assemblyFormat = "`<` $variable `,` `lr_mult` `=` $lrMult `,` `decay_mult` `=` $decayMult `,` $optimizer `>`";
}

def DL_ClipAttr : DL_Attr<"Clip", "clip"> {
  let summary = "limit on the gradients of a training step, as PyTorch's clip_grad_value_ and clip_grad_norm_";
  let description = [{
    value: each element to -limit .. limit. parameter_norm, global_norm: the gradient of each parameter, or all of the step's
    together, times min(1, limit / (norm + 1e-6)), before weight decay. `#dl.clip<global_norm, 1.0>`
  }];
  let parameters = (ins EnumParameter<DL_ClipKind>:$kind, "::mlir::FloatAttr":$limit);
  let assemblyFormat = "`<` $kind `,` $limit `>`";
}

def DL_TermAttr : DL_Attr<"Term", "term"> {
  let summary = "coefficient * sum / count, where sum (and count, unless constant) name accumulators of the entry";
  let parameters = (ins "::mlir::StringAttr":$sum, OptionalParameter<"::mlir::StringAttr">:$count,
                        "::mlir::FloatAttr":$constantCount, "::mlir::FloatAttr":$coefficient);
  let assemblyFormat = [{ `<` $sum (`over` $count^)? `,` `count` `=` $constantCount `,` `coefficient` `=` $coefficient `>` }];
}

def DL_MetricAttr : DL_Attr<"Metric", "metric"> {
  let summary = "a loss or metric of an entry: finish(sum of terms)";
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<DL_MetricKind>:$kind,
                        EnumParameter<DL_Finish>:$finish, ArrayRefParameter<"::dlc::dl::TermAttr">:$terms);
  let assemblyFormat = "`<` $name `,` $kind `,` $finish `,` `[` $terms `]` `>`";
}

def DL_SchedulePartAttr : DL_Attr<"SchedulePart", "schedule_part"> {
  let summary = "a part of the schedule of the learning rate, see dlc_schedule_part";
  let description = [{
    `#dl.schedule_part<cosine, in_epochs = true, length = 2.0, n = 2.0, 0.0, 0.0, 0.0>`: the numbers are a, b and c.
  }];
  let parameters = (ins EnumParameter<DL_ScheduleKind>:$kind, "bool":$inEpochs, "::mlir::FloatAttr":$length,
                        "::mlir::FloatAttr":$n, "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b, "::mlir::FloatAttr":$c,
                        OptionalParameter<"::mlir::StringAttr">:$metric);
  let assemblyFormat = [{
    `<` $kind `,` `in_epochs` `=` $inEpochs `,` `length` `=` $length `,` `n` `=` $n `,` $a `,` $b `,` $c
    (`,` `metric` `=` $metric^)? `>`
  }];
}

#endif
