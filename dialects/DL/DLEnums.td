//===- DLEnums.td - the enums of the dl dialect alone -----------------------------------------===//
// A file of their own: mlir-tblgen makes the code of every enum that it sees, of included files
// too.
#ifndef DLC_DL_ENUMS_TD
#define DLC_DL_ENUMS_TD

include "mlir/IR/EnumAttr.td"

class DL_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dlc::dl";
  let genSpecializedAttr = 0;
}
// An enum that only ever stands in one op's syntax, as a keyword.
class DL_KeywordEnum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dlc::dl";
}

def DL_ClipKind : DL_Enum<"ClipKind", "what of the gradients is limited", [
  I32EnumAttrCase<"Value", 1, "value">, I32EnumAttrCase<"ParameterNorm", 2, "parameter_norm">,
  I32EnumAttrCase<"GlobalNorm", 3, "global_norm">]>;
def DL_AcrossRanks
    : DL_Enum<"AcrossRanks", "how the gradients of all ranks become one",
              [I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Sum", 2, "sum">]>;
def DL_ConvolutionAlgorithm
    : DL_Enum<"ConvolutionAlgorithm", "how a convolution is computed",
              [I32EnumAttrCase<"Heuristic", 0, "heuristic">, I32EnumAttrCase<"Direct", 1, "direct">,
               I32EnumAttrCase<"Gemm", 2, "gemm">, I32EnumAttrCase<"Winograd", 3, "winograd">,
               I32EnumAttrCase<"FFT", 4, "fft">]>;
def DL_ReduceKind
    : DL_KeywordEnum<"ReduceKind", "how elements are combined",
                     [I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
                      I32EnumAttrCase<"Min", 2, "min">]>;
def DL_RandomKind
    : DL_KeywordEnum<"RandomKind", "distribution of random numbers",
                     [I32EnumAttrCase<"Uniform", 0, "uniform">,
                      I32EnumAttrCase<"Normal", 1, "normal">,
                      I32EnumAttrCase<"Bits", 2, "bits">]>;
def DL_Predicate : DL_KeywordEnum<"Predicate", "comparison", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
  I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;

#endif
