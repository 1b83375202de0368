//===- DLReductionOps.td - sums, extremes, moments; sums over ranks ---------------------------===//
#ifndef DLC_DL_REDUCTION_OPS_TD
#define DLC_DL_REDUCTION_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_ReduceOp : DL_Op<"reduce", [
    Pure, DL_Differentiable, DL_Anchor<["getAnchorName", "takesAnyLayout", "takesPrologue"]>,
    DL_Point, DL_InferType, DL_Batchwise, DL_Splittable, DL_ReductionOpInterface]> {
  let summary = "combines all elements along axes, which are dropped";
  let description = [{
    `%s = dl.reduce sum %x axes = [0, 2, 3] : tensor<64x20x24x24xf32>`, result tensor<20xf32>.
    (C1) axes strictly increasing, < rank. (C2) max and min need a non-empty extent.
    Gradient: sum: broadcast; max and min: shared evenly among the elements equal to the result.
  }];
  let arguments = (ins DL_ReduceKind:$kind, DL_NumberTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs DL_NumberTensor:$y);
  let assemblyFormat = "$kind $x `axes` `=` $axes attr-dict `:` type($x)";
}

def DL_MomentsOp : DL_Op<"moments", [
    Pure, DL_Differentiable, DL_Anchor<["getAnchorName", "takesAnyLayout", "takesPrologue"]>,
    DL_Point, DL_InferType, DL_Batchwise, DL_Splittable, DL_ReductionOpInterface]> {
  let summary = "mean, and sum of squared deviations from it, along axes, which are dropped";
  let description = [{
    mean = sum(x) / n, m2 = sum((x - mean)^2), where n elements are combined; m2 / n is the
    variance. One pass: parts have a count, a mean and an m2 each, and two parts become one by Chan,
    Golub and LeVeque's formula (1979), always in the same order; the difference of sum(x^2) and n
    mean^2 would be lost in rounding where the mean is large.
    `%mean, %m2 = dl.moments %x axes = [0, 2, 3] : tensor<64x20x24x24xf32>`, results tensor<20xf32>,
    tensor<20xf32>.
    (C1) axes strictly increasing, < rank. (C2) no axis of them is empty.
    Gradient: dx = dmean / n + 2 dm2 (x - mean).
  }];
  let arguments = (ins DL_FloatTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs DL_FloatTensor:$mean, DL_FloatTensor:$m2);
  let assemblyFormat = "$x `axes` `=` $axes attr-dict `:` type($x)";
  let extraClassDeclaration = [{
    /// n, the number of elements that are combined to one.
    int64_t getCount() {
      int64_t count = 1;
      for (int64_t axis : getAxes())
        count *= getX().getType().getDimSize(axis);
      return count;
    }
  }];
}

def DL_AllReduceOp : DL_Op<"all_reduce", [Pure, DL_Differentiable, DL_InferType]> {
  let summary = "sums tensors over all ranks, each of which has its own and gets the same result";
  let description = [{
    y[i] = sum over the ranks of x[i]; with one rank, x. Tensors that lie one behind the other in
    memory are reduced as one. Reductions of a channel run in the order of the block on every rank,
    beside what is computed: buckets of gradients use channel 0, small ones that the next op waits
    for channel 1. `of`: the parameters whose gradients these are. `seconds`: what it is estimated
    to take. `sum_one_bit` and `sum_top_k` add up what the ranks make of their tensors with few
    bits, see dlc_collective.
    `%s:2 = dl.all_reduce sum %a, %b channel 0 : tensor<20x1x5x5xf32>, tensor<20xf32>`
    (C1) there is a tensor, and all have one element type. (C2) the channel is 0 or 1. (C3) `of` has
    a name for each. (C4) compressed sums are of f32.
    Gradient: all_reduce, as each rank's result depends on all ranks' operands, and the loss is the
    sum of all ranks' losses.
  }];
  let arguments = (ins Program_CollectiveKindAttr:$kind, Variadic<DL_FloatTensor>:$xs,
      I64Attr:$channel, OptionalAttr<FlatSymbolRefArrayAttr>:$of, OptionalAttr<F64Attr>:$seconds);
  let results = (outs Variadic<DL_FloatTensor>:$ys);
  let assemblyFormat = "`` $kind $xs `channel` $channel attr-dict `:` type($xs)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$xs, "int64_t":$channel,
      CArg<"::mlir::ArrayAttr", "{}">:$of)>];
}

#endif
