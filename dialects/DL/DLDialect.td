//===- DLDialect.td - the dl dialect ----------------------------------------------------------===//
// Graph of tensors with value semantics: what a model and its training step compute, before any
// decision on memory.
#ifndef DLC_DL_DIALECT_TD
#define DLC_DL_DIALECT_TD

include "dialects/DL/DLEnums.td"
include "dialects/Program/ProgramDialect.td"

def DL_Dialect : Dialect {
  let name = "dl";
  let cppNamespace = "::dlc::dl";
  let summary = "tensors of a neural network's training step, logical shapes, value semantics";
  let description = [{
    A module holds `dl.variable`s and `dl.entry`s. Every shape is static. A tensor type is the
    logical shape (channels before pixels: N C H W) with the physical layout as its encoding; no
    encoding means row-major.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::dlc::program::ProgramDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    #define DLC_OP_FAMILY(name) void register##name##Ops();
    #include "dialects/DL/DLOpFamilies.def"
  }];
}

class DL_Attr<string name, string mnemonic_, list<Trait> traits = []>
    : AttrDef<DL_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

//===------------------------------------------------------------------------------------------===//
// Attributes
//===------------------------------------------------------------------------------------------===//

def DL_OptimizerAttr : DL_Attr<"Optimizer", "optimizer"> {
  let summary = "the rule that makes a parameter's next value, see Optimizers.h";
  let description = [{
    `#dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>`: absent settings have
    the rule's defaults.
    (C1) There is a rule of this name. (C2) Settings are the rule's, of their kind and within their
    range; those without a default are given. (C3) They fit each other as the rule wants it.
  }];
  let parameters = (ins StringRefParameter<"of the rule">:$name,
      "::mlir::DictionaryAttr":$settings);
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
  let assemblyFormat =
      "`<` $variable `,` `lr_mult` `=` $lrMult `,` `decay_mult` `=` $decayMult `,` $optimizer `>`";
}

def DL_ClipAttr : DL_Attr<"Clip", "clip"> {
  let summary =
      "limit on the gradients of a training step, as PyTorch's clip_grad_value_ and "
      "clip_grad_norm_";
  let description = [{
    value: each element to -limit .. limit. parameter_norm, global_norm: the gradient of each
    parameter, or all of the step's together, times min(1, limit / (norm + 1e-6)), before weight
    decay. `#dl.clip<global_norm, 1.0>`
  }];
  let parameters = (ins EnumParameter<DL_ClipKind>:$kind, "::mlir::FloatAttr":$limit);
  let assemblyFormat = "`<` $kind `,` $limit `>`";
}

def DL_AcrossRanksAttr : EnumAttr<DL_Dialect, DL_AcrossRanks, "across_ranks"> {
  let summary = "how the gradients of all ranks become one for an update";
  let description = [{
    mean: each rank's loss counts alike. sum: each is its rank's share of the loss, or the update
    divides by what all of them weigh. `#dl.across_ranks<mean>`
  }];
  let assemblyFormat = "`<` $value `>`";
}

def DL_WishAttr : DL_Attr<"Wish", "wish"> {
  let summary = "how the user wants a convolution computed, where that can be";
  let description = [{
    An algorithm for each direction, and the most memory that one may use besides its tensors;
    what is absent is left to the compiler. All directions carry all of it, so that gradients know
    theirs. `#dl.wish<forward = winograd, backward_filter = direct, workspace = 8388608>`
    (C1) The workspace is 0 or more.
  }];
  defvar algorithm = DefaultValuedParameter<"::dlc::dl::ConvolutionAlgorithm",
                                            "::dlc::dl::ConvolutionAlgorithm::Heuristic">;
  let parameters = (ins algorithm:$forward, algorithm:$backward_data, algorithm:$backward_filter,
      OptionalParameter<"::std::optional<int64_t>">:$workspace);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
