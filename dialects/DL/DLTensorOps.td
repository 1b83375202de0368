//===- DLTensorOps.td - shapes, reductions, products ------------------------------------------===//
#ifndef DLC_DL_TENSOR_OPS_TD
#define DLC_DL_TENSOR_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_ConstantOp : DL_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time";
  let description =
      "`%z = dl.constant dense<0.0> : tensor<64x20xf32>`. A splat is a number wherever it is "
      "fused. No gradient.";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs DL_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// A splat of `value`, converted to the element type of `type`.
    static ConstantOp createSplat(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                  ::mlir::RankedTensorType type,
                                  double value);
  }];
}

def DL_IotaOp : DL_Op<"iota", [
    Pure, DeclareOpInterfaceMethods<DL_IndexOpInterface, ["keepsOrder"]>, DL_CheapToRecompute]> {
  let summary = "each element is its number along axes";
  let description = [{
    Along one axis its index; along several the last of `axes` is the fastest. `space` is another
    shape of as many elements in row-major order, which the axes are of in the result's place.
    `%i = dl.iota axes = [0] : tensor<64xi32>`
    `%j = dl.iota axes = [0, 2] space = [2, 64, 5] : tensor<128x5xi32>`
    (C1) axes < rank, none twice. (C2) the space has as many elements as the result. No gradient.
  }];
  let arguments = (ins DenseI64ArrayAttr:$axes, OptionalAttr<DenseI64ArrayAttr>:$space);
  let results = (outs DL_IntTensor:$result);
  let assemblyFormat =
      "`axes` `=` $axes (`space` `=` $space^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def DL_BroadcastOp : DL_Op<"broadcast", [Pure, DL_Differentiable, DL_Index, DL_CheapToRecompute]> {
  let summary = "repeats a tensor along new axes, and along axes of size 1";
  let description = [{
    y[i...] = x[i at dims...], 0 where x has size 1.
    `%y = dl.broadcast %b dims = [1] : tensor<20xf32> to tensor<64x20x24x24xf32>`
    (C1) dims.size == rank(x), strictly increasing, < rank(y). (C2) shape(x)[k] is 1 or
    shape(y)[dims[k]].
    (C3) equal element types. Gradient: the sum over the repeated axes.
  }];
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x `dims` `=` $dims attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def DL_ReshapeOp : DL_Op<"reshape", [
    Pure, DL_Differentiable,
    DeclareOpInterfaceMethods<DL_IndexOpInterface, ["isView", "getPieceBegin"]>]> {
  let summary = "the same elements in row-major order under another shape";
  let description =
      "`%y = dl.reshape %x : tensor<64x50x4x4xf32> to tensor<64x800xf32>`. (C1) equal element "
      "counts and types. Gradient: the reshape back.";
  let arguments = (ins DL_Tensor:$x);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def DL_TransposeOp : DL_Op<"transpose", [Pure, DL_Differentiable, DL_Index, DL_InferType]> {
  let summary = "permutes the axes: axis i of y is axis order[i] of x";
  let description =
      "`%y = dl.transpose %x order = [0, 2, 3, 1] : tensor<2x3x4x5xf32>`. (C1) order is a "
      "permutation. Gradient: the inverse permutation.";
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$order);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x `order` `=` $order attr-dict `:` type($x)";
  let hasFolder = 1;
}

def DL_SliceOp
    : DL_Op<"slice", [Pure, DL_Differentiable, DL_InferType, DL_CheapToRecompute,
          DeclareOpInterfaceMethods<DL_IndexOpInterface, ["getPieceBegin"]>]> {
  let summary = "some elements along each axis, a step apart";
  let description = [{
    y[i...] = x[starts[k] + i_k * steps[k]...], sizes[k] elements along axis k.
    `%y = dl.slice %x starts = [0, 1] sizes = [4, 5] steps = [1, 2] : tensor<4x10xf32>`, result
    tensor<4x5xf32>
    (C1) one start, size and step an axis. (C2) starts and sizes >= 0, steps >= 1, the last element
    lies in x. Gradient: dl.pad.
  }];
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes,
      DenseI64ArrayAttr:$steps);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat =
      "$x `starts` `=` $starts `sizes` `=` $sizes `steps` `=` $steps attr-dict `:` type($x)";
  let hasFolder = 1;
}

def DL_PadOp : DL_Op<"pad", [Pure, DL_Differentiable, DL_Index]> {
  let summary = "zeros before, between and behind the elements of each axis";
  let description = [{
    y[low[k] + i_k * steps[k]...] = x[i...], all else is 0: what dl.slice with these starts and
    steps takes apart.
    `%y = dl.pad %x low = [0, 1] steps = [1, 2] : tensor<4x5xf32> to tensor<4x10xf32>`
    (C1) equal ranks and element types; one low and one step an axis. (C2) low >= 0, steps >= 1, the
    last element lies in y. Gradient: dl.slice.
  }];
  let arguments = (ins DL_Tensor:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$steps);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x `low` `=` $low `steps` `=` $steps attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def DL_ConcatOp
    : DL_Op<"concat", [Pure, DL_Differentiable, DL_InferType,
          DeclareOpInterfaceMethods<DL_IndexOpInterface, ["getPartBegins"]>]> {
  let summary = "tensors one behind the other along an axis";
  let description = [{
    y[.., j + i, ..] = x[.., i, ..] along `axis`, where x is one of `xs` and j the size of all in
    front of it.
    `%y = dl.concat %a, %b axis = 1 : tensor<4x3xf32>, tensor<4x5xf32>`, result tensor<4x8xf32>
    (C1) there is a tensor, and axis < rank. (C2) equal element types, and equal sizes along all
    other axes. Gradient: dl.slice.
  }];
  let arguments = (ins Variadic<DL_Tensor>:$xs, I64Attr:$axis);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$xs `axis` `=` $axis attr-dict `:` type($xs)";
  let hasFolder = 1;
}

def DL_GatherOp : DL_Op<"gather", [Pure, DL_Differentiable, DL_Index, DL_InferType]> {
  let summary = "parts of a tensor, each by its number along an axis";
  let description = [{
    y[i.., j.., k..] = x[i.., index[j..], k..], i.. and k.. being the axes in front of `axis` and
    behind it; 0 where x has no such element.
    `%y = dl.gather %x, %index axis = 0 : tensor<10000x64xf32>, tensor<35x4xi32>`, result
    tensor<35x4x64xf32>
    (C1) axis < rank of x. Gradient: dl.scatter_add.
  }];
  let arguments = (ins DL_Tensor:$x, DL_IntTensor:$index, I64Attr:$axis);
  let results = (outs DL_Tensor:$y);
  let assemblyFormat = "$x `,` $index `axis` `=` $axis attr-dict `:` type($x) `,` type($index)";
}

def DL_ScatterAddOp : DL_Op<"scatter_add", [
    Pure, DL_Differentiable, DL_Anchor<["getAnchorName", "takesPrologue", "takesEpilogue"]>]> {
  let summary = "sums of what has one number along an axis";
  let description = [{
    y[i.., n, k..] = sum of values[i.., j.., k..] over all j.. with index[j..] == n, i.. and k..
    being the axes in front of `axis` and behind it. Added in the order of j.
    `%y = dl.scatter_add %values, %index axis = 0 : tensor<35x4x64xf32>, tensor<35x4xi32> to
    tensor<10000x64xf32>`
    (C1) axis < rank of y. (C2) equal element types; the values' shape is the result's with the
    index's in the place of the axis. Gradient: dl.gather.
  }];
  let arguments = (ins DL_NumberTensor:$values, DL_IntTensor:$index, I64Attr:$axis);
  let results = (outs DL_NumberTensor:$y);
  let assemblyFormat = [{
    $values `,` $index `axis` `=` $axis attr-dict `:` type($values) `,` type($index) `to` type($y)
  }];
  let hasVerifier = 1;
}

def DL_ReduceOp : DL_Op<"reduce", [
    Pure, DL_Differentiable, DL_Anchor<["getAnchorName", "takesAnyLayout", "takesPrologue"]>,
    DL_InferType, DL_ReductionOpInterface]> {
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
    DL_InferType, DL_ReductionOpInterface]> {
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

def DL_MatmulOp : DL_Op<"matmul", [
    Pure, DL_Differentiable, DL_Anchor<["getAnchorName", "takesPrologue"]>, DL_InferType]> {
  let summary = "matrix product over the last two axes; leading axes are batches";
  let description = [{
    c = op(a) @ op(b), op transposes the last two axes if asked. A linear layer is
    `dl.matmul %x, %w transpose_b`.
    `%y = dl.matmul %x, %w transpose_b : tensor<64x800xf32>, tensor<500x800xf32>`, result
    tensor<64x500xf32>
    (C1) equal ranks >= 2 and equal batch axes. (C2) the inner sizes agree. (C3) equal element
    types. Gradient: two products.
  }];
  let arguments = (ins DL_FloatTensor:$a, DL_FloatTensor:$b, UnitAttr:$transpose_a,
      UnitAttr:$transpose_b);
  let results = (outs DL_FloatTensor:$c);
  let assemblyFormat = [{
    $a `,` $b (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? attr-dict `:` type($a)
    `,` type($b)
  }];
}

#endif
