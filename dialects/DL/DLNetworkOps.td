//===- DLNetworkOps.td - convolutions, pooling, losses ----------------------------------------===//
#ifndef DLC_DL_NETWORK_OPS_TD
#define DLC_DL_NETWORK_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_ConvolutionFamily<string mnemonic,
                           list<Trait> traits = [DL_Anchor<["getAnchorName", "takesAnyLayout",
                                                             "takesPrologue"]>]>
    : DL_Op<mnemonic, !listconcat(traits, [Pure, DL_Differentiable])> {
  let extraClassDeclaration = "ConvolutionGeometry getGeometry();";
}

def DL_ConvolutionOp
    : DL_ConvolutionFamily<"convolution", [DL_Anchor<["getAnchorName", "takesAnyLayout"]>,
                                           DL_InferType]> {
  let summary =
      "convolution (cross-correlation) of x [N, C, spatial...] with w [K, C / groups, kernel...]";
  let description = [{
    y[n, k, p...] = sum over c, r... of x[n, g C/groups + c, p * stride + r * dilation - low...] *
    w[k, c, r...], where g is k's group and x is zero outside. Spatial rank 1 to 3. `padding` has
    two numbers (low, high) an axis.
    ```mlir
    %y = dl.convolution %x, %w strides = [1, 1] padding = [2, 2, 2, 2] dilations = [1, 1] groups = 1
        : tensor<64x1x28x28xf32>, tensor<20x1x5x5xf32>
    ```
    (C1) rank 3 to 5, equal for x and w; equal element types. (C2) strides, dilations >= 1; padding
    >= 0; all below 2^31; one entry (padding: two) an axis. (C3) groups divides C and K; C of w is C
    of x over groups. (C4) the kernel is not empty and fits the padded input. Gradient:
    dl.convolution_backward_data and dl.convolution_backward_filter.
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$w, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
      OptionalAttr<DL_WishAttr>:$wish);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $w `strides` `=` $strides `padding` `=` $padding `dilations` `=` $dilations `groups` `=`
    $groups attr-dict
    `:` type($x) `,` type($w)
  }];
}

def DL_ConvolutionBackwardDataOp : DL_ConvolutionFamily<"convolution_backward_data"> {
  let summary =
      "gradient of dl.convolution in x: dx from dy and w; used forward, a transposed convolution";
  let description = [{
    dx[n, c, i...] = sum over the (k, p, r) with p * stride + r * dilation - low = i of dy[n, k,
    p...] * w[k, c, r...].
    ```mlir
    %dx = dl.convolution_backward_data %dy, %w strides = [1, 1] padding = [2, 2, 2, 2]
        dilations = [1, 1] groups = 1
        : tensor<64x20x28x28xf32>, tensor<20x1x5x5xf32> to tensor<64x1x28x28xf32>
    ```
    Constraints as dl.convolution's for (dx, w) -> dy; (C5) dy has the shape that dl.convolution
    gives. Gradient in dy: dl.convolution; in w: dl.convolution_backward_filter.
  }];
  let arguments = (ins DL_FloatTensor:$dy, DL_FloatTensor:$w, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
      OptionalAttr<DL_WishAttr>:$wish);
  let results = (outs DL_FloatTensor:$dx);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $dy `,` $w `strides` `=` $strides `padding` `=` $padding `dilations` `=` $dilations `groups` `=`
    $groups attr-dict
    `:` type($dy) `,` type($w) `to` type($dx)
  }];
}

def DL_ConvolutionBackwardFilterOp : DL_ConvolutionFamily<"convolution_backward_filter"> {
  let summary = "gradient of dl.convolution in w: dw from x and dy";
  let description = [{
    dw[k, c, r...] = sum over n, p... of dy[n, k, p...] * x[n, g C/groups + c, p * stride + r *
    dilation - low...].
    ```mlir
    %dw = dl.convolution_backward_filter %x, %dy strides = [1, 1] padding = [2, 2, 2, 2]
        dilations = [1, 1] groups = 1
        : tensor<64x1x28x28xf32>, tensor<64x20x28x28xf32> to tensor<20x1x5x5xf32>
    ```
    Constraints as dl.convolution's for (x, dw) -> dy; (C5) dy has the shape that dl.convolution
    gives. Gradient in x: dl.convolution_backward_data; in dy: dl.convolution.
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$dy, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
      OptionalAttr<DL_WishAttr>:$wish);
  let results = (outs DL_FloatTensor:$dw);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $x `,` $dy `strides` `=` $strides `padding` `=` $padding `dilations` `=` $dilations `groups` `=`
    $groups attr-dict
    `:` type($x) `,` type($dy) `to` type($dw)
  }];
}

class DL_Window<string mnemonic, list<string> facts = []>
    : DL_Op<mnemonic, [Pure, DL_Differentiable,
                       DL_Anchor<!listconcat(facts, ["takesAnyLayout"])>]> {
  let hasVerifier = 1;
  let extraClassDeclaration = "WindowGeometry getGeometry();";
}

def DL_MaxPoolOp : DL_Window<"max_pool"> {
  let summary = "maximum over a window of the spatial axes of [N, C, spatial...]";
  let description = [{
    Positions outside the input count as -infinity; the first of equal elements in row-major order
    of the window wins (PyTorch's ties); NaN wins. The optional second result is the winner's offset
    in the window (row-major), which backward uses.
    `%y, %i = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1,
    1] : tensor<2x5x14x13xf32> -> tensor<2x5x7x6xf32>, tensor<2x5x7x6xui8>` The result's size is
    floor or ceil of (size + padding - window) / stride + 1; with ceil the last window starts
    inside.
    (C1) rank 3 to 5; batch, channels and element type equal for x and y. (C2) kernel, strides,
    dilations in [1, 2^31), one an axis; low and high padding in [0, kernel extent). (C3) at most
    256 elements in the window if the index is asked for. (C4) the spatial size is one of the two
    above. (C5) the index has y's shape. Gradient: dl.max_pool_backward with the index; the op is
    replaced by one with an index if it has none.
  }];
  let arguments = (ins DL_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations);
  let results = (outs DL_FloatTensor:$y, Optional<StaticShapeTensorOf<[UI8]>>:$index);
  let assemblyFormat = [{
    $x `kernel` `=` $kernel `strides` `=` $strides `padding` `=` $padding `dilations` `=` $dilations
    attr-dict
    `:` type($x) `->` type($y) (`,` type($index)^)?
  }];
}

def DL_MaxPoolBackwardOp : DL_Window<"max_pool_backward", ["takesPrologue"]> {
  let summary = "gradient of dl.max_pool: each dy is added at its window's winner";
  let description = [{
    dx[n, c, i...] = sum of dy[n, c, p...] over the windows p whose offset index[n, c, p...] lies at
    i; an offset outside of x adds nothing.
    `%dx = dl.max_pool_backward %dy, %i kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0]
    dilations = [1, 1] : tensor<2x5x7x6xf32>, tensor<2x5x7x6xui8> to tensor<2x5x14x13xf32>`
    Constraints as dl.max_pool's. Gradient in dy: dl.max_pool_gather.
  }];
  let arguments = (ins DL_FloatTensor:$dy, StaticShapeTensorOf<[UI8]>:$index,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilations);
  let results = (outs DL_FloatTensor:$dx);
  let assemblyFormat = [{
    $dy `,` $index `kernel` `=` $kernel `strides` `=` $strides `padding` `=` $padding `dilations`
    `=` $dilations attr-dict
    `:` type($dy) `,` type($index) `to` type($dx)
  }];
}

def DL_MaxPoolGatherOp : DL_Window<"max_pool_gather"> {
  let summary = "picks from each window of x the element at the given offset";
  let description = [{
    y[n, c, p...] = x at the offset index[n, c, p...] of window p, 0 outside of x.
    `%y = dl.max_pool_gather %x, %i kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0]
    dilations = [1, 1] : tensor<2x5x14x13xf32>, tensor<2x5x7x6xui8> to tensor<2x5x7x6xf32>`
    Constraints as dl.max_pool's. Gradient in x: dl.max_pool_backward.
  }];
  let arguments = (ins DL_FloatTensor:$x, StaticShapeTensorOf<[UI8]>:$index,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilations);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $index `kernel` `=` $kernel `strides` `=` $strides `padding` `=` $padding `dilations` `=`
    $dilations attr-dict
    `:` type($x) `,` type($index) `to` type($y)
  }];
}

def DL_AveragePoolOp : DL_Window<"average_pool"> {
  let summary = "mean over a window of the spatial axes of [N, C, spatial...]";
  let description = [{
    With `count_include_pad` zeros of the padding count (but not what a ceil-mode window has beyond
    it), else only elements inside.
    `%y = dl.average_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1,
    1] : tensor<2x5x14x12xf32> -> tensor<2x5x7x6xf32>` Constraints as dl.max_pool's. Gradient:
    dl.average_pool_backward.
  }];
  let arguments = (ins DL_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations, UnitAttr:$count_include_pad);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = [{
    $x `kernel` `=` $kernel `strides` `=` $strides `padding` `=` $padding `dilations` `=` $dilations
    (`count_include_pad` $count_include_pad^)? attr-dict `:` type($x) `->` type($y)
  }];
}

def DL_AveragePoolBackwardOp : DL_Window<"average_pool_backward", ["takesPrologue"]> {
  let summary = "gradient of dl.average_pool";
  let description = [{
    dx[n, c, i...] = sum over the windows p that hold i of dy[n, c, p...] / (elements that count in
    p).
    `%dx = dl.average_pool_backward %dy kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0]
    dilations = [1, 1] : tensor<2x5x7x6xf32> to tensor<2x5x14x12xf32>` Constraints as dl.max_pool's.
    Gradient: dl.average_pool.
  }];
  let arguments = (ins DL_FloatTensor:$dy, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations, UnitAttr:$count_include_pad);
  let results = (outs DL_FloatTensor:$dx);
  let assemblyFormat = [{
    $dy `kernel` `=` $kernel `strides` `=` $strides `padding` `=` $padding
    `dilations` `=` $dilations
    (`count_include_pad` $count_include_pad^)? attr-dict `:` type($dy) `to` type($dx)
  }];
}

def DL_SoftmaxCrossEntropyOp : DL_Op<"softmax_cross_entropy", [
    Pure, DL_Differentiable, DL_Decomposable, DL_Anchor<["takesEpilogue"]>, DL_PerSample]> {
  let summary = "-log softmax(logits)[label] for each sample";
  let description = [{
    loss[i...] = log(sum_c exp(x[c] - max x)) + max x - x[label], along `axis`, which is dropped.
    `%l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<64x10xf32>, tensor<64xi32>`, result
    tensor<64xf32>
    (C1) axis < rank. (C2) label has logits' shape without the axis, and the axis is not empty. A
    label outside [0, classes) gives a loss of 0 and no gradient. Gradient in logits:
    dl.softmax_cross_entropy_backward. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$logits, DL_IntTensor:$label, I64Attr:$axis);
  let results = (outs DL_FloatTensor:$loss);
  let assemblyFormat =
      "$logits `,` $label `axis` `=` $axis attr-dict `:` type($logits) `,` type($label)";
}

def DL_SoftmaxCrossEntropyBackwardOp : DL_Op<"softmax_cross_entropy_backward", [
    Pure, DL_Decomposable, DL_Anchor<["takesEpilogue", "takesPrologue"]>, DL_InferType]> {
  let summary = "dloss * (softmax(logits) - one_hot(label))";
  let description = [{
    `%dx = dl.softmax_cross_entropy_backward %dloss, %x, %label axis = 1 : tensor<64xf32>,
    tensor<64x10xf32>, tensor<64xi32>` Constraints as dl.softmax_cross_entropy's; (C3) dloss has the
    loss's type. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$dloss, DL_FloatTensor:$logits, DL_IntTensor:$label,
      I64Attr:$axis);
  let results = (outs DL_FloatTensor:$dlogits);
  let assemblyFormat =
      "$dloss `,` $logits `,` $label `axis` `=` $axis attr-dict `:` type($dloss) `,` type($logits) "
      "`,` type($label)";
}

def DL_AccuracyOp
    : DL_Op<"accuracy", [Pure, DL_Decomposable, DL_Anchor<["takesEpilogue"]>, DL_PerSample]> {
  let summary = "1 where the largest logit is the label's, else 0, for each sample";
  let description = [{
    The first of equal logits counts as the largest.
    `%a = dl.accuracy %x, %label axis = 1 : tensor<64x10xf32>, tensor<64xi32>`, result
    tensor<64xf32>. Constraints as dl.softmax_cross_entropy's. Not differentiable. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$logits, DL_IntTensor:$label, I64Attr:$axis);
  let results = (outs DL_FloatTensor:$correct);
  let assemblyFormat =
      "$logits `,` $label `axis` `=` $axis attr-dict `:` type($logits) `,` type($label)";
}

// No generator takes these whole.
def DL_SmoothedCrossEntropyOp
    : DL_Op<"smoothed_cross_entropy", [Pure, DL_Decomposable, DL_PerSample]> {
  let summary = "cross entropy with a share of each label spread over all classes";
  let description = [{
    loss = (1 - smoothing) * softmax_cross_entropy(x, label) - smoothing / classes * sum_c
    log_softmax(x)[c], along `axis`, which is dropped.
    `%l = dl.smoothed_cross_entropy %x, %label axis = 1 smoothing = 0.1 : tensor<64x10xf32>,
    tensor<64xi32>`, result tensor<64xf32>
    Constraints as dl.softmax_cross_entropy's; (C3) smoothing is from 0 to 1. Gradient: that of its
    decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$logits, DL_IntTensor:$label, I64Attr:$axis,
      F64Attr:$smoothing);
  let results = (outs DL_FloatTensor:$loss);
  let assemblyFormat = [{
    $logits `,` $label `axis` `=` $axis `smoothing` `=` $smoothing attr-dict
    `:` type($logits) `,` type($label)
  }];
  let hasVerifier = 1;
}

def DL_ProbabilityCrossEntropyOp
    : DL_Op<"probability_cross_entropy",
            [Pure, DL_Decomposable, DL_InferType, AllTypesMatch<["logits", "target"]>]> {
  let summary = "-sum of target * log softmax(logits) for each sample";
  let description = [{
    `%l = dl.probability_cross_entropy %x, %t axis = 1 : tensor<64x10xf32>`, result tensor<64xf32>:
    the targets are probabilities of the classes along `axis`, which is dropped. (C1) axis < rank.
    Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$logits, DL_FloatTensor:$target, I64Attr:$axis);
  let results = (outs DL_FloatTensor:$loss);
  let assemblyFormat = "$logits `,` $target `axis` `=` $axis attr-dict `:` type($logits)";
}

def DL_TopAccuracyOp : DL_Op<"top_accuracy", [Pure, DL_Decomposable, DL_PerSample]> {
  let summary = "1 where fewer than k logits are above the label's, else 0, for each sample";
  let description = [{
    `%a = dl.top_accuracy %x, %label axis = 1 k = 5 : tensor<64x10xf32>, tensor<64xi32>`, result
    tensor<64xf32>. Constraints as dl.softmax_cross_entropy's; (C3) k is 1 or more. A label outside
    [0, classes) counts as a logit of 0. Not differentiable. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$logits, DL_IntTensor:$label, I64Attr:$axis, I64Attr:$k);
  let results = (outs DL_FloatTensor:$correct);
  let assemblyFormat = [{
    $logits `,` $label `axis` `=` $axis `k` `=` $k attr-dict `:` type($logits) `,` type($label)
  }];
  let hasVerifier = 1;
}

//===------------------------------------------------------------------------------------------===//
// Attention
//===------------------------------------------------------------------------------------------===//

// Operands and attributes that say which scores there are.
defvar attentionFormat = [{
  (`mask` `(` $mask^ `:` type($mask) `)`)? (`kept` `(` $kept^ `:` type($kept) `)`)?
  `scale` `=` $scale (`rate` `=` $rate^)? (`causal` $causal^)? attr-dict
}];

def DL_AttentionOp : DL_Op<"attention", [
    Pure, AttrSizedOperandSegments, DL_Differentiable, DL_Decomposable, DL_InferType,
    DL_Anchor<["takesPrologue", "recomputesOperand", "takesEpilogue", "staysWhole",
               "getAnchorName"]>]> {
  let summary = "softmax(scale * q k^T + mask) v, of which no score is stored";
  let description = [{
    For q [N, heads, T, D], k [N, heads, S, D] and v [N, heads, S, E], for each sample and head:
    s = scale * q k^T + mask, p = exp(s - lse) with lse = log(sum of exp(s)) along S,
    o = (p * kept / (1 - rate)) v. `mask` is added where it is of floats, and where it is of bools
    hides the scores at which it is false; with `causal` position t sees none behind t; `kept`, of
    bools, is dropout's. A row that sees nothing gives 0 and has no gradient.
    `%o, %lse = dl.attention %q, %k, %v mask(%m : tensor<2x3x5x7xi1>) scale = 0.5 causal :
    tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x6xf32>`, results tensor<2x3x5x6xf32> and
    tensor<2x3x5xf32>
    (C1) q, k and v have rank 4, one element type and equal N and heads, q and k equal D, k and v
    equal S of 1 or more. (C2) mask, of bools or q's element type, and kept are [N, heads, T, S].
    (C3) rate is from 0 to below 1, and there with kept. lse is of f32 where q is of bf16 or f16.
    Gradient: dl.attention_backward, which computes the scores anew; that of mask is its formula,
    kept has none. Composite; generators take f32 whole (Dao, FlashAttention-2, 2023).
  }];
  let arguments = (ins DL_FloatTensor:$q, DL_FloatTensor:$k, DL_FloatTensor:$v,
      Optional<DL_Tensor>:$mask, Optional<DL_BoolTensor>:$kept, F64Attr:$scale,
      OptionalAttr<F64Attr>:$rate, UnitAttr:$causal);
  let results = (outs DL_FloatTensor:$o, DL_FloatTensor:$lse);
  let assemblyFormat = !strconcat("$q `,` $k `,` $v ", attentionFormat,
                                  " `:` type($q) `,` type($k) `,` type($v)");
}

def DL_AttentionBackwardOp : DL_Op<"attention_backward", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["lse", "delta"]>, DL_Decomposable, DL_InferType,
    DL_Anchor<["takesPrologue", "recomputesOperand", "takesEpilogue", "staysWhole",
               "getAnchorName"]>]> {
  let summary = "gradients of dl.attention";
  let description = [{
    With p and `kept` as there: dv = (p * kept / (1 - rate))^T do,
    ds = p * (do v^T * kept / (1 - rate) - delta), dq = scale * ds k, dk = scale * ds^T q, where
    delta [N, heads, T] is the sum of do * o along E, less what is asked of lse.
    `%dq, %dk, %dv = dl.attention_backward %do, %q, %k, %v, %lse, %delta scale = 0.5 causal :
    tensor<2x3x5x6xf32>, tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x6xf32>,
    tensor<2x3x5xf32>` Constraints as dl.attention's; (C4) do is of its first result's type, lse and
    delta of its second's. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$dout, DL_FloatTensor:$q, DL_FloatTensor:$k,
      DL_FloatTensor:$v, DL_FloatTensor:$lse, DL_FloatTensor:$delta, Optional<DL_Tensor>:$mask,
      Optional<DL_BoolTensor>:$kept, F64Attr:$scale, OptionalAttr<F64Attr>:$rate,
      UnitAttr:$causal);
  let results = (outs DL_FloatTensor:$dq, DL_FloatTensor:$dk, DL_FloatTensor:$dv);
  let assemblyFormat = !strconcat("$dout `,` $q `,` $k `,` $v `,` $lse `,` $delta ",
                                  attentionFormat, [{
    `:` type($dout) `,` type($q) `,` type($k) `,` type($v) `,` type($lse)
  }]);
}

#endif
