//===- DLElementwiseOps.td - one element in, one element out ----------------------------------===//
#ifndef DLC_DL_ELEMENTWISE_OPS_TD
#define DLC_DL_ELEMENTWISE_OPS_TD

include "dialects/DL/DLOpBase.td"

/// `flops`: of one element, see ElementwiseOp. `whereZero`: of each operand, what the result is
/// where the operand is 0; of those left out that is unknown. `exact`: see ElementwiseOp.
class DL_Elementwise<string mnemonic, int flops, list<Trait> traits = []>
    : DL_Op<mnemonic, !listconcat(traits, [Pure, SameOperandsAndResultShape,
                                           DeclareOpInterfaceMethods<DL_ElementwiseOpInterface>])> {
  code methods = "";
  list<string> whereZero = [];
  bit exact = 0;
  let extraClassDefinition = [{
    ::dlc::dl::WhereZero $cppClass::getWhereZero(unsigned operand) {
      using enum ::dlc::dl::WhereZero;
      constexpr ::std::array<::dlc::dl::WhereZero, }] # !size(whereZero) # [{> known = {}] #
      !interleave(whereZero, ", ") # [{};
      return operand < known.size() ? known[operand] : Unknown;
    }
    uint64_t $cppClass::getElementFlops() { return }] # !cast<string>(flops) # [{;}
    bool $cppClass::isExact() { return }] # !cast<string>(exact) # ";}" # methods;
}

/// One operand x, one result y. `scalar` computes an element y of x, `gradient` the tensor dx from
/// dy, x and y. Both are C++ on terms (Term.h), which is written like the formula that it stands
/// for.
class DL_Unary<string mnemonic, string formula, string scalar, string gradient,
               Type type = DL_FloatTensor, int flops = 1>
    : DL_Elementwise<mnemonic, flops, [SameOperandsAndResultType, DL_Differentiable]> {
  let summary = formula;
  let description = "`%y = dl." # mnemonic # " %x : tensor<4x3xf32>` computes " # formula
                    # ". Gradient: `" # gradient # "`.";
  let arguments = (ins type:$x);
  let results = (outs type:$y);
  let assemblyFormat = "$x attr-dict `:` type($y)";
  let methods = [{
    ::mlir::Value $cppClass::buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                         ::mlir::ValueRange operands) {
      ScalarTerm x(scalars(*this, builder, loc), operands[0]);
      return }] # scalar # [{;
    }
    ::llvm::LogicalResult $cppClass::buildGradient(::mlir::OpBuilder &builder,
                                                   Gradients resultGradients, Wanted wanted,
                                                   OperandGradients &operandGradients) {
      if (!resultGradients[0] || !flowsInto(*this, wanted, 0))
        return ::mlir::success();
      TensorBuilder tensors{builder, getLoc()};
      [[maybe_unused]] TensorTerm x(tensors, getX()), y(tensors, getY());
      TensorTerm dy(tensors, resultGradients[0]);
      operandGradients[0] = }] # gradient # [{;
      return ::mlir::success();
    }
  }];
}

def DL_ReluOp : DL_Unary<"relu", "max(x, 0)", "maximum(x, 0)", "select(y > 0, dy, 0)"> {
  let exact = 1;
  let whereZero = ["Zero"];
}
def DL_SigmoidOp
    : DL_Unary<"sigmoid", "1 / (1 + exp(-x))", "stableSigmoid(x)", "dy * (y * (1 - y))">;
def DL_TanhOp : DL_Unary<"tanh", "tanh(x)", "tanh(x)", "dy * (1 - square(y))"> {
  let whereZero = ["Zero"];
}
def DL_ExpOp : DL_Unary<"exp", "exp(x)", "exp(x)", "dy * y">;
def DL_LogOp : DL_Unary<"log", "natural logarithm of x", "log(x)", "dy / x">;
def DL_SqrtOp : DL_Unary<"sqrt", "square root of x", "sqrt(x)", "dy / (y * 2)"> {
  let whereZero = ["Zero"];
}
def DL_NegateOp : DL_Unary<"negate", "-x", "-x", "-dy", DL_NumberTensor> {
  let exact = 1;
  let whereZero = ["Zero"];
}
def DL_SoftsignOp : DL_Unary<"softsign", "x / (1 + |x|)", "x / (1 + abs(x))",
                             "dy / square(1 + abs(x))", DL_FloatTensor, 3> {
  let whereZero = ["Zero"];
}
def DL_SiluOp : DL_Unary<"silu", "x / (1 + exp(-x))", "x * stableSigmoid(x)",
                         "siluGradient(tensors, x, y, dy)", DL_FloatTensor, 2> {
  let whereZero = ["Zero"];
}
def DL_HardswishOp : DL_Unary<"hardswish", "x * min(max(x + 3, 0), 6) / 6", "hardswish(x)",
                              "hardswishGradient(x, dy)", DL_FloatTensor, 5> {
  let whereZero = ["Zero"];
}
def DL_ErfOp : DL_Unary<"erf", "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", "erf(x)",
                       "dy * (exp(-square(x)) * std::numbers::inv_sqrtpi * 2)"> {
  let whereZero = ["Zero"];
}
def DL_FloorOp : DL_Unary<"floor", "the largest whole number not above x", "floor(x)",
                         "noGradient(tensors)"> {
  let exact = 1;
  let whereZero = ["Zero"];
  let description = "`%y = dl.floor %x : tensor<4x3xf32>`. Not differentiable (no gradient flows).";
}
def DL_AbsOp : DL_Unary<"abs", "|x|", "abs(x)", "timesSign(x, dy)", DL_NumberTensor> {
  let exact = 1;
  let whereZero = ["Zero"];
}

def DL_EluOp : DL_Unary<"elu", "x where it is above 0, else alpha * (exp(x) - 1)",
                        "elu(x, getAlpha().convertToDouble())",
                        "eluGradient(x, y, dy, getAlpha().convertToDouble())", DL_FloatTensor, 4> {
  let description = [{
    `%y = dl.elu %x alpha = 1.0 : tensor<4x3xf32>`. Gradient: dy where x is above 0, else
    dy * (y + alpha).
  }];
  let arguments = (ins DL_FloatTensor:$x, F64Attr:$alpha);
  let whereZero = ["Zero"];
  let assemblyFormat = "$x `alpha` `=` $alpha attr-dict `:` type($y)";
}

/// Operands a and b, result c; da and db are computed from dc, a, b and c.
class DL_Binary<string mnemonic, string formula, string scalar, string da, string db,
                list<Trait> traits = [], Type type = DL_NumberTensor>
    : DL_Elementwise<mnemonic, 1,
                     !listconcat(traits, [SameOperandsAndResultType, DL_Differentiable])> {
  let summary = formula;
  let description = "`%c = dl." # mnemonic # " %a, %b : tensor<4x3xf32>` computes " # formula
                    # ". Gradient: `" # da # "` and `" # db # "`.";
  let arguments = (ins type:$a, type:$b);
  let results = (outs type:$c);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($c)";
  let methods = [{
    ::mlir::Value $cppClass::buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                         ::mlir::ValueRange operands) {
      ScalarBuilder elements = scalars(*this, builder, loc);
      ScalarTerm a(elements, operands[0]), b(elements, operands[1]);
      return }] # scalar # [{;
    }
    ::llvm::LogicalResult $cppClass::buildGradient(::mlir::OpBuilder &builder,
                                                   Gradients resultGradients, Wanted wanted,
                                                   OperandGradients &operandGradients) {
      if (!resultGradients[0])
        return ::mlir::success();
      TensorBuilder tensors{builder, getLoc()};
      [[maybe_unused]] TensorTerm a(tensors, getA()), b(tensors, getB()), c(tensors, getC());
      TensorTerm dc(tensors, resultGradients[0]);
      if (flowsInto(*this, wanted, 0))
        operandGradients[0] = }] # da # [{;
      if (flowsInto(*this, wanted, 1))
        operandGradients[1] = }] # db # [{;
      return ::mlir::success();
    }
  }];
}

def DL_AddOp : DL_Binary<"add", "a + b", "a + b", "dc", "dc", [Commutative, DL_ScalesOrShifts]> {
  let whereZero = ["Other", "Other"];
  let hasFolder = 1;
}
def DL_SubtractOp : DL_Binary<"subtract", "a - b", "a - b", "dc", "-dc", [DL_ScalesOrShifts]> {
  let whereZero = ["Unknown", "Other"];
  let hasFolder = 1;
}
def DL_MultiplyOp : DL_Binary<"multiply", "a * b", "a * b", "dc * b", "dc * a",
                              [Commutative, DL_ScalesOrShifts]> {
  let whereZero = ["Zero", "Zero"];
  let hasFolder = 1;
}
def DL_DivideOp : DL_Binary<"divide", "a / b", "a / b", "dc / b", "-(dc * c / b)"> {
  let whereZero = ["Zero"];
  let hasFolder = 1;
}
def DL_MaximumOp : DL_Binary<"maximum", "max(a, b)", "maximum(a, b)", "toWinner(a > b, a, b, dc)",
                             "toWinner(b > a, b, a, dc)", [Commutative]> {
  let exact = 1;
}
def DL_MinimumOp : DL_Binary<"minimum", "min(a, b)", "minimum(a, b)", "toWinner(a < b, a, b, dc)",
                             "toWinner(b < a, b, a, dc)", [Commutative]> {
  let exact = 1;
}

// As C's pow: a below 0 to a whole power is a number, to another NaN; 0 to the power 0 is 1.
def DL_PowerOp : DL_Binary<"power", "a to the power b", "power(a, b)", "dc * (b * power(a, b - 1))",
                           "powerSlope(a, c, dc)", [], DL_FloatTensor>;

/// Ops that choose or convert.
class DL_Choice<string mnemonic, list<Trait> traits, string scalar>
    : DL_Elementwise<mnemonic, 0, traits> {
  let methods = [{
    ::mlir::Value $cppClass::buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                         ::mlir::ValueRange operands) {
      return }] # scalar # [{;
    }
  }];
}

def DL_CompareOp
    : DL_Choice<"compare", [SameTypeOperands, DL_InferType, DL_Differentiable, DL_CheapToRecompute],
                "scalars(*this, builder, loc).compare(getPredicate(), operands[0], operands[1])"> {
  let summary = "a < b and its kin, as bool";
  let description = [{
    `%m = dl.compare gt %a, %b : tensor<4xf32>`, result tensor<4xi1>. Comparisons with NaN are
    false, but for `ne`. Not differentiable (no gradient flows).
  }];
  let arguments = (ins DL_Predicate:$predicate, DL_NumberTensor:$a, DL_NumberTensor:$b);
  let results = (outs DL_BoolTensor:$result);
  let assemblyFormat = "$predicate $a `,` $b attr-dict `:` type($a)";
}

def DL_SelectOp
    : DL_Choice<"select",
                [AllTypesMatch<["a", "b", "result"]>, DL_Differentiable,
                 TypesMatchWith<"condition is bool of the same shape", "result", "condition",
                                "::llvm::cast<::mlir::RankedTensorType>($_self)"
                                ".clone(::mlir::IntegerType::get($_self.getContext(), 1))">],
                "scalars(*this, builder, loc).select(operands[0], operands[1], operands[2])"> {
  let exact = 1;
  let summary = "condition ? a : b";
  let description = "`%c = dl.select %m, %a, %b : tensor<4xf32>`. "
                    "Gradient: dc where the operand was chosen, else 0.";
  let arguments = (ins DL_BoolTensor:$condition, DL_Tensor:$a, DL_Tensor:$b);
  let results = (outs DL_Tensor:$result);
  let assemblyFormat = "$condition `,` $a `,` $b attr-dict `:` type($result)";
}

def DL_CastOp : DL_Elementwise<"cast", 0, [DL_Differentiable, DL_CheapToRecompute]> {
  let whereZero = ["Zero"];
  let summary = "conversion of the element type";
  let description = [{
    `%f = dl.cast %u : tensor<4xui8> to tensor<4xf32>`: round to nearest even to a smaller float,
    towards zero to an integer, of which what is out of range becomes the least or the largest, and
    what is no number 0; integers lose their upper bits. Gradient: the cast back, between floats.
  }];
  let arguments = (ins DL_Tensor:$x);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}

def DL_RandomOp
    : DL_Elementwise<"random", 100,
                     [AllTypesMatch<["element", "sample", "first", "step", "seed_low",
                                     "seed_high"]>,
                      DL_CheapToRecompute]> {
  let summary = "random numbers, each a function of where it stands and of the step";
  let description = [{
    Element by element word element % 4 of Philox4x32-10 (Salmon, Moraes, Dror, Shaw; SC 2011) with
    the key (seed_low, seed_high) and the counter (element / 4, first + sample, step, path). `bits`:
    the word.
    `uniform`: its upper 24 bits as a fraction, in [0, 1). `normal`: of the words 0 and 1, and of 2
    and 3, as fractions u and v, sqrt(-2 log(u + 2^-24)) times cos(2 pi v), and times sin(2 pi v).
    `%r = dl.random uniform %element, %sample, %first, %step, %low, %high path = 7 : tensor<4x3xi32>
    to tensor<4x3xf32>`. (C1) `bits` are i32, the others f32. No gradient.
  }];
  let arguments = (ins DL_RandomKind:$kind, StaticShapeTensorOf<[I32]>:$element,
      StaticShapeTensorOf<[I32]>:$sample, StaticShapeTensorOf<[I32]>:$first,
      StaticShapeTensorOf<[I32]>:$step, StaticShapeTensorOf<[I32]>:$seed_low,
      StaticShapeTensorOf<[I32]>:$seed_high, I32Attr:$path);
  let results = (outs StaticShapeTensorOf<[F32, I32]>:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $kind $element `,` $sample `,` $first `,` $step `,` $seed_low `,` $seed_high `path` `=` $path
    attr-dict `:` type($element) `to` type($result)
  }];
}

def DL_StochasticRoundOp
    : DL_Elementwise<"stochastic_round", 16, [AllTypesMatch<["number", "key"]>]> {
  let summary = "x as one of its two neighbours in 16 bits, by chance, whose mean is x";
  let description = [{
    With u the distance of the result's numbers around |x| and n = floor(x / u): (n + 1) u where
    draw < x / u - n, else n u. So a number that 16 bits hold stays, and so do infinity and what is
    no number. The draw: the upper 24 bits, as a fraction, of MurmurHash3's finaliser (Appleby,
    2011) of number + key. The element's number tells it apart from others of its tensor, the key,
    a word of dl.random, from other tensors, steps and seeds.
    `%y = dl.stochastic_round %x, %number, %key : tensor<4xf32>, tensor<4xi32> to tensor<4xbf16>`.
    No gradient.
  }];
  let arguments = (ins StaticShapeTensorOf<[F32]>:$x, StaticShapeTensorOf<[I32]>:$number,
      StaticShapeTensorOf<[I32]>:$key);
  let results = (outs StaticShapeTensorOf<[BF16, F16]>:$y);
  let assemblyFormat = [{
    $x `,` $number `,` $key attr-dict `:` type($x) `,` type($number) `to` type($y)
  }];
}

def DL_ConvertLayoutOp
    : DL_Choice<"convert_layout", [SameOperandsAndResultElementType], "operands[0]"> {
  let whereZero = ["Zero"];
  let summary = "the same values in another physical layout";
  let description = [{
    `%y = dl.convert_layout %x : tensor<2x3x4x5xf32, #program.layout<order = [0, 2, 3, 1]>> to
    tensor<2x3x4x5xf32>` At the borders of a dl.fused it says how operands and results are stored;
    between them values have no layout. Not differentiable: layouts come after differentiation.
  }];
  let arguments = (ins DL_StoredTensor:$x);
  let results = (outs DL_StoredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}

#endif
