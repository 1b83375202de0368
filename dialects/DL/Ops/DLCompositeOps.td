//===- DLCompositeOps.td - norms, activations and losses with a formula in primitives ---------===//
// Whole until dl-decompose, so that passes see what the user wrote: none of them is a kernel by
// itself.
#ifndef DLC_DL_COMPOSITE_OPS_TD
#define DLC_DL_COMPOSITE_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_Composite<string mnemonic, list<Trait> traits = []>
    : DL_Op<mnemonic, !listconcat(traits, [Pure, DL_Decomposable])>;

//===------------------------------------------------------------------------------------------===//
// Norms
//===------------------------------------------------------------------------------------------===//

// A vector of one number a channel, beside a tensor [N, channels, ...].
class DL_OfChannels<string x, string each>
    : TypesMatchWith<each#" has one number for each channel of "#x, x, each,
                     "::dlc::dl::channelsType($_self)">;

defvar affineFormat =
    "(`scale` `(` $scale^ `:` type($scale) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?";

defvar ranksFormat = "(`ranks` `(` $ranks^ `:` type($ranks) `)`)?";

def DL_BatchNormOp
    : DL_Composite<"batch_norm", [AttrSizedOperandSegments, AllTypesMatch<["x", "y"]>,
                                  DL_OfChannels<"x", "mean">, DL_OfChannels<"x", "variance">,
                                  DL_Differentiable]> {
  let summary = "each channel normalised over the batch, and its mean and variance";
  let description = [{
    Over all axes but 1, of n elements: mean = sum(x) / n, variance = sum((x - mean)^2) / n,
    y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
    `%y, %mean, %variance = dl.batch_norm %x scale(%s : tensor<6xf32>) bias(%b : tensor<6xf32>)
    epsilon = 1.0e-05 : tensor<4x6x5x5xf32>`
    `ranks(%r : tensor<f32>)`, which is 1 / ranks, makes it one over the batches of all ranks;
    dl-distribute drops it where there are none.
    (C1) x has rank 2 or more, and elements. (C2) scale and bias are of x's channels and element
    type. (C3) epsilon is 0 or more. Gradient: dl.batch_norm_backward; with what is asked of mean
    and variance beside it. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, Optional<DL_FloatTensor>:$scale,
      Optional<DL_FloatTensor>:$bias, Optional<0DTensorOf<[F32]>>:$ranks, F64Attr:$epsilon);
  let results = (outs DL_FloatTensor:$y, DL_FloatTensor:$mean, DL_FloatTensor:$variance);
  let assemblyFormat =
      !strconcat("$x ", affineFormat, ranksFormat,
                 " `epsilon` `=` $epsilon attr-dict `:` type($x)");
  let hasVerifier = 1;
}

def DL_BatchNormBackwardOp : DL_Composite<"batch_norm_backward", [
    AttrSizedOperandSegments, AllTypesMatch<["dy", "x", "dx"]>, DL_OfChannels<"x", "mean">,
    DL_OfChannels<"x", "variance">, DL_OfChannels<"x", "dscale">, DL_OfChannels<"x", "dbias">]> {
  let summary = "gradients of dl.batch_norm";
  let description = [{
    With h = (x - mean) / sqrt(variance + epsilon) and n elements a channel: dbias = sum(dy), dscale
    = sum(dy * h), dx = scale / sqrt(variance + epsilon) * (dy - dbias / n - h * dscale / n); scale
    is 1 where it is absent. With `ranks` n, and dbias and dscale within dx, are those of all ranks.
    `%dx, %dscale, %dbias = dl.batch_norm_backward %dy, %x, %mean, %variance scale(%s :
    tensor<6xf32>) epsilon = 1.0e-05 : tensor<4x6x5x5xf32>` Constraints as dl.batch_norm's.
    Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$dy, DL_FloatTensor:$x, DL_FloatTensor:$mean,
      DL_FloatTensor:$variance, Optional<DL_FloatTensor>:$scale,
      Optional<0DTensorOf<[F32]>>:$ranks, F64Attr:$epsilon);
  let results = (outs DL_FloatTensor:$dx, DL_FloatTensor:$dscale, DL_FloatTensor:$dbias);
  let assemblyFormat = !strconcat([{
    $dy `,` $x `,` $mean `,` $variance (`scale` `(` $scale^ `:` type($scale) `)`)?
  }], ranksFormat, [{
    `epsilon` `=` $epsilon attr-dict `:` type($x)
  }]);
  let hasVerifier = 1;
}

def DL_BatchNormInferenceOp
    : DL_Composite<"batch_norm_inference", [AttrSizedOperandSegments, AllTypesMatch<["x", "y"]>,
                                            DL_OfChannels<"x", "mean">,
                                            DL_OfChannels<"x", "variance">]> {
  let summary = "each channel normalised by a mean and variance that are given";
  let description = [{
    y = (x - mean) / sqrt(variance + epsilon) * scale + bias, along axis 1.
    `%y = dl.batch_norm_inference %x, %mean, %variance scale(%s : tensor<6xf32>) bias(%b :
    tensor<6xf32>) epsilon = 1.0e-05 : tensor<4x6x5x5xf32>` Constraints as dl.batch_norm's, but x
    may be empty. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$mean, DL_FloatTensor:$variance,
      Optional<DL_FloatTensor>:$scale, Optional<DL_FloatTensor>:$bias, F64Attr:$epsilon);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = !strconcat("$x `,` $mean `,` $variance ", affineFormat,
                                  " `epsilon` `=` $epsilon attr-dict `:` type($x)");
  let hasVerifier = 1;
}

def DL_LayerNormOp
    : DL_Composite<"layer_norm", [AttrSizedOperandSegments, AllTypesMatch<["x", "y"]>]> {
  let summary = "normalised over axes of each sample";
  let description = [{
    With mean and variance over `axes`: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
    `%y = dl.layer_norm %x scale(%s : tensor<24xf32>) bias(%b : tensor<24xf32>) axes = [2] epsilon =
    1.0e-05 : tensor<4x7x24xf32>`
    (C1) axes rise within the rank, at least one, and x has elements. (C2) scale and bias have x's
    sizes along the axes, and its element type.
    (C3) epsilon is 0 or more. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, Optional<DL_FloatTensor>:$scale,
      Optional<DL_FloatTensor>:$bias, DenseI64ArrayAttr:$axes, F64Attr:$epsilon);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = !strconcat(
      "$x ", affineFormat, " `axes` `=` $axes `epsilon` `=` $epsilon attr-dict `:` type($x)");
  let hasVerifier = 1;
}

def DL_RmsNormOp : DL_Composite<"rms_norm", [AllTypesMatch<["x", "y"]>]> {
  let summary = "divided by the root of the mean square over axes of each sample";
  let description = [{
    y = x / sqrt(sum(x^2) / n + epsilon) * scale, over `axes` of n elements.
    `%y = dl.rms_norm %x scale(%s : tensor<24xf32>) axes = [2] epsilon = 1.0e-05 :
    tensor<4x7x24xf32>` Constraints as dl.layer_norm's. Gradient: that of its decomposition.
    Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, Optional<DL_FloatTensor>:$scale, DenseI64ArrayAttr:$axes,
      F64Attr:$epsilon);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = [{
    $x (`scale` `(` $scale^ `:` type($scale) `)`)? `axes` `=` $axes `epsilon` `=` $epsilon attr-dict
    `:` type($x)
  }];
  let hasVerifier = 1;
}

def DL_GroupNormOp
    : DL_Composite<"group_norm", [AttrSizedOperandSegments, AllTypesMatch<["x", "y"]>]> {
  let summary = "groups of channels of each sample normalised over channels and pixels";
  let description = [{
    Channels are axis 1; as many groups as channels are an instance norm. With mean and variance of
    a sample's group: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
    `%y = dl.group_norm %x scale(%s : tensor<12xf32>) bias(%b : tensor<12xf32>) groups = 3 epsilon =
    1.0e-05 : tensor<3x12x5x4xf32>`
    (C1) x has rank 2 or more, and elements; groups divide its channels. (C2) scale and bias are of
    x's channels and element type.
    (C3) epsilon is 0 or more. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, Optional<DL_FloatTensor>:$scale,
      Optional<DL_FloatTensor>:$bias, I64Attr:$groups, F64Attr:$epsilon);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = !strconcat(
      "$x ", affineFormat, " `groups` `=` $groups `epsilon` `=` $epsilon attr-dict `:` type($x)");
  let hasVerifier = 1;
}

def DL_LocalResponseNormOp
    : DL_Composite<"local_response_norm", [AllTypesMatch<["x", "y"]>, DL_Differentiable]> {
  let summary = "divided by a power of the mean square of neighbouring channels";
  let description = [{
    y[n, c, p] = x[n, c, p] / (k + alpha / size * sum_j x[n, j, p]^2)^beta for the channels j from
    c - size / 2 to c - size / 2 + size - 1; those beyond the border count as 0.
    `%y = dl.local_response_norm %x size = 5 alpha = 1.0e-04 beta = 0.75 k = 2.0 :
    tensor<2x12x6x6xf32>`
    (C1) x has rank 3 or more. (C2) size is 1 or more, alpha 0 or more, k above 0. Gradient, with b
    the divisor's base and the sum over all channels j that x[c] counts for:
    dx[c] = dy[c] b[c]^-beta - 2 alpha beta / size * x[c] sum_j dy[j] x[j] b[j]^(-beta - 1).
    Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$k);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat =
      "$x `size` `=` $size `alpha` `=` $alpha `beta` `=` $beta `k` `=` $k attr-dict `:` type($x)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Channels of a window in front of its own, and behind it: no more than there are.
    int64_t getBefore();
    int64_t getAfter();
    /// What x is divided by a power of.
    ::mlir::Value buildBase(::mlir::OpBuilder &builder);
  }];
}

//===------------------------------------------------------------------------------------------===//
// Activations
//===------------------------------------------------------------------------------------------===//

class DL_AlongAxis<string mnemonic, string formula, string gradient>
    : DL_Composite<mnemonic, [AllTypesMatch<["x", "y"]>, DL_Differentiable]> {
  let summary = formula;
  let description = "`%y = dl." # mnemonic # " %x axis = 1 : tensor<5x37xf32>` computes " # formula
      # ", sums along `axis`. (C1) axis < rank. Gradient: " # gradient # ". Composite.";
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$axis);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = "$x `axis` `=` $axis attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def DL_SoftmaxOp : DL_AlongAxis<"softmax", "exp(x) / sum(exp(x))", "y * (dy - sum(dy * y))">;
def DL_LogSoftmaxOp : DL_AlongAxis<"log_softmax", "x - log(sum(exp(x)))", "dy - exp(y) * sum(dy)">;

def DL_GeluOp : DL_Composite<"gelu", [SameOperandsAndResultType]> {
  let summary = "x * Phi(x), exact or by its formula with tanh";
  let description = [{
    y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), or `exact`: y = x / 2 * (1 + erf(x /
    sqrt(2))). `%y = dl.gelu %x exact : tensor<3x41xf32>`.
    Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, UnitAttr:$exact);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = "$x (`exact` $exact^)? attr-dict `:` type($x)";
}

//===------------------------------------------------------------------------------------------===//
// Of gradients alone
//===------------------------------------------------------------------------------------------===//

def DL_StopGradientOp
    : DL_Composite<"stop_gradient", [SameOperandsAndResultType, DL_Differentiable]> {
  let summary = "x, through which no gradient flows";
  let description = [{
    y = x. `%y = dl.stop_gradient %x : tensor<3x41xf32>`. Not differentiable (no gradient flows).
    Composite: it ends with differentiation.
  }];
  let arguments = (ins DL_FloatTensor:$x);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

//===------------------------------------------------------------------------------------------===//
// Losses, element by element
//===------------------------------------------------------------------------------------------===//

class DL_ElementLoss<string mnemonic, string formula, list<Trait> traits = []>
    : DL_Composite<mnemonic, !listconcat(traits, [SameOperandsAndResultType])> {
  let summary = formula;
  let arguments = (ins DL_FloatTensor:$a, DL_FloatTensor:$target);
  let results = (outs DL_FloatTensor:$loss);
  let assemblyFormat = "$a `,` $target attr-dict `:` type($a)";
}

def DL_SigmoidCrossEntropyOp : DL_ElementLoss<
    "sigmoid_cross_entropy", "cross entropy of sigmoid(a) and target", [DL_Differentiable]> {
  let description = [{
    loss = log(1 + exp(a)) - a * target, for logits a.
    `%l = dl.sigmoid_cross_entropy %a, %t : tensor<6x14xf32>`. Gradient: (sigmoid(a) - target) *
    dloss and -a * dloss. Composite.
  }];
}
def DL_HuberOp : DL_ElementLoss<"huber", "squared near 0, absolute beyond delta"> {
  let description = [{
    loss = d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), for d = a - target. (C1)
    delta is above 0.
    `%l = dl.huber %a, %t delta = 1.0 : tensor<6x14xf32>`. Gradient: that of its decomposition.
    Composite.
  }];
  let arguments = (ins DL_FloatTensor:$a, DL_FloatTensor:$target, F64Attr:$delta);
  let assemblyFormat = "$a `,` $target `delta` `=` $delta attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def DL_HingeOp : DL_ElementLoss<"hinge", "max(0, margin - target * a)"> {
  let description = [{
    loss = max(0, margin - target * a). `%l = dl.hinge %a, %t margin = 1.0 : tensor<6x14xf32>`.
    Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$a, DL_FloatTensor:$target, F64Attr:$margin);
  let assemblyFormat = "$a `,` $target `margin` `=` $margin attr-dict `:` type($a)";
}
def DL_KlDivergenceOp
    : DL_ElementLoss<"kl_divergence", "target * (log(target) - a), 0 where target is not above 0"> {
  let description = [{
    loss = target * (log(target) - a) where target > 0, else 0, for a log-probability a; the
    divergence is its sum.
    `%l = dl.kl_divergence %a, %t : tensor<6x14xf32>`. Gradient: that of its decomposition.
    Composite.
  }];
}

def DL_BinaryAccuracyOp
    : DL_ElementLoss<"binary_accuracy", "1 where a > threshold and target > 0.5 agree, else 0"> {
  let description = [{
    `%c = dl.binary_accuracy %a, %t threshold = 0.0 : tensor<6x14xf32>`. Not differentiable.
    Composite.
  }];
  let arguments = (ins DL_FloatTensor:$a, DL_FloatTensor:$target, F64Attr:$threshold);
  let assemblyFormat = "$a `,` $target `threshold` `=` $threshold attr-dict `:` type($a)";
}

#endif
