//===- DLLossOps.td - losses and accuracy of classes ------------------------------------------===//
#ifndef DLC_DL_LOSS_OPS_TD
#define DLC_DL_LOSS_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_SoftmaxCrossEntropyOp : DL_Op<"softmax_cross_entropy", [
    Pure, DL_Differentiable, DL_Decomposable, DL_Batchwise, DL_PerSample]> {
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
    Pure, DL_Decomposable, DL_Batchwise, DL_InferType]> {
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

def DL_AccuracyOp : DL_Op<"accuracy", [Pure, DL_Decomposable, DL_Batchwise, DL_PerSample]> {
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

def DL_SmoothedCrossEntropyOp
    : DL_Op<"smoothed_cross_entropy",
            [Pure, DL_Differentiable, DL_Decomposable, DL_PerSample]> {
  let summary = "cross entropy with a share of each label spread over all classes";
  let description = [{
    loss = (1 - smoothing) * softmax_cross_entropy(x, label) - smoothing / classes * sum_c
    log_softmax(x)[c], along `axis`, which is dropped.
    `%l = dl.smoothed_cross_entropy %x, %label axis = 1 smoothing = 0.1 : tensor<64x10xf32>,
    tensor<64xi32>`, result tensor<64xf32>
    Constraints as dl.softmax_cross_entropy's; (C3) smoothing is from 0 to 1. Gradient: dx = dloss *
    ((1 - smoothing) * (softmax(x) - one_hot(label)) + smoothing * (softmax(x) - 1 / classes)), the
    first part 0 for labels that are no class. Composite.
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

#endif
