//===- DLElementwiseOps.td - one element in, one element out ----------------------------------===//
#ifndef DLC_DL_ELEMENTWISE_OPS_TD
#define DLC_DL_ELEMENTWISE_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_Elementwise<string mnemonic, list<Trait> traits = []> : DL_Op<mnemonic, !listconcat(traits, [
    Pure, SameOperandsAndResultShape, DL_Differentiable, DeclareOpInterfaceMethods<DL_ElementwiseOpInterface>])>;

class DL_Unary<string mnemonic, string formula, string gradient, Type type = DL_FloatTensor>
    : DL_Elementwise<mnemonic, [SameOperandsAndResultType]> {
  let summary = formula;
  let description = "`%y = dl." # mnemonic # " %x : tensor<4x3xf32>` computes " # formula # ". Gradient: " # gradient # ".";
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let assemblyFormat = "$x attr-dict `:` type($y)";
}

def DL_ReluOp : DL_Unary<"relu", "max(x, 0)", "dy where y > 0, else 0">;
def DL_SigmoidOp : DL_Unary<"sigmoid", "1 / (1 + exp(-x))", "dy * y * (1 - y)">;
def DL_TanhOp : DL_Unary<"tanh", "tanh(x)", "dy * (1 - y * y)">;
def DL_ExpOp : DL_Unary<"exp", "exp(x)", "dy * y">;
def DL_LogOp : DL_Unary<"log", "natural logarithm of x", "dy / x">;
def DL_SqrtOp : DL_Unary<"sqrt", "square root of x", "dy / (2 * y)">;
def DL_NegateOp : DL_Unary<"negate", "-x", "-dy", DL_NumberTensor>;
def DL_AbsOp : DL_Unary<"abs", "|x|", "dy * sign(x), 0 at 0", DL_NumberTensor>;

class DL_Binary<string mnemonic, string formula, string gradient, list<Trait> traits = []>
    : DL_Elementwise<mnemonic, !listconcat(traits, [SameOperandsAndResultType])> {
  let summary = formula;
  let description = "`%c = dl." # mnemonic # " %a, %b : tensor<4x3xf32>` computes " # formula # ". Gradient: " # gradient # ".";
  let arguments = (ins DL_NumberTensor:$a, DL_NumberTensor:$b);
  let results = (outs DL_NumberTensor:$c);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($c)";
}

def DL_AddOp : DL_Binary<"add", "a + b", "dc and dc", [Commutative]> { let hasFolder = 1; }
def DL_SubtractOp : DL_Binary<"subtract", "a - b", "dc and -dc"> { let hasFolder = 1; }
def DL_MultiplyOp : DL_Binary<"multiply", "a * b", "dc * b and dc * a", [Commutative]> { let hasFolder = 1; }
def DL_DivideOp : DL_Binary<"divide", "a / b", "dc / b and -dc * c / b"> { let hasFolder = 1; }
def DL_MaximumOp : DL_Binary<"maximum", "max(a, b)", "dc to the larger; half to each where equal", [Commutative]>;
def DL_MinimumOp : DL_Binary<"minimum", "min(a, b)", "dc to the smaller; half to each where equal", [Commutative]>;

def DL_CompareOp : DL_Elementwise<"compare", [SameTypeOperands, DL_InferType]> {
  let summary = "a < b and its kin, as bool";
  let description = [{`%m = dl.compare gt %a, %b : tensor<4xf32>`, result tensor<4xi1>. Comparisons with NaN are false, but for `ne`.
    Not differentiable (no gradient flows).}];
  let arguments = (ins DL_Predicate:$predicate, DL_NumberTensor:$a, DL_NumberTensor:$b);
  let results = (outs DL_BoolTensor:$result);
  let assemblyFormat = "$predicate $a `,` $b attr-dict `:` type($a)";
}

def DL_SelectOp : DL_Elementwise<"select", [AllTypesMatch<["a", "b", "result"]>, TypesMatchWith<
    "condition is bool of the same shape", "result", "condition",
    "::llvm::cast<::mlir::RankedTensorType>($_self).clone(::mlir::IntegerType::get($_self.getContext(), 1))">]> {
  let summary = "condition ? a : b";
  let description = "`%c = dl.select %m, %a, %b : tensor<4xf32>`. Gradient: dc where the operand was chosen, else 0.";
  let arguments = (ins DL_BoolTensor:$condition, DL_Tensor:$a, DL_Tensor:$b);
  let results = (outs DL_Tensor:$result);
  let assemblyFormat = "$condition `,` $a `,` $b attr-dict `:` type($result)";
}

def DL_CastOp : DL_Elementwise<"cast"> {
  let summary = "conversion of the element type";
  let description = [{`%f = dl.cast %u : tensor<4xui8> to tensor<4xf32>`: round to nearest even to a smaller float, towards zero to an
    integer. Gradient: the cast back, between floats.}];
  let arguments = (ins DL_Tensor:$x);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}

def DL_ConvertLayoutOp : DL_Op<"convert_layout", [
    Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType,
    DeclareOpInterfaceMethods<DL_ElementwiseOpInterface>]> {
  let summary = "the same values in another physical layout";
  let description = [{
    `%y = dl.convert_layout %x : tensor<2x3x4x5xf32, #dl.layout<order = [0, 2, 3, 1]>> to tensor<2x3x4x5xf32>`
    At the borders of a dl.fused it says how operands and results are stored; between them values have no layout.
    Not differentiable: layouts come after differentiation.
  }];
  let arguments = (ins DL_Tensor:$x);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}

#endif
