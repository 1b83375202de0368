//===- DLIndexOps.td - where an element comes from: shapes, slices, tables --------------------===//
#ifndef DLC_DL_INDEX_OPS_TD
#define DLC_DL_INDEX_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_BroadcastOp
    : DL_Op<"broadcast", [Pure, DL_Differentiable, DL_Batchwise, DL_Splittable, DL_Index,
                          DL_CheapToRecompute]> {
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
    Pure, DL_Differentiable, DL_Batchwise,
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

def DL_TransposeOp
    : DL_Op<"transpose", [Pure, DL_Differentiable, DL_Batchwise, DL_Index, DL_InferType]> {
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
    : DL_Op<"concat", [Pure, DL_Differentiable, DL_Batchwise, DL_Splittable, DL_InferType,
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
    Pure, DL_Differentiable, DL_Point,
    DL_Anchor<["getAnchorName", "takesPrologue", "takesEpilogue"]>]> {
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

def DL_SumRowsOp : DL_Op<"sum_rows", [
    Pure, DL_InferType, DL_Point,
    DL_Anchor<["getAnchorName", "takesPrologue", "takesEpilogue"]>]> {
  let summary = "sums rows of one number, once for each number: a sparse gradient";
  let description = [{
    The rows of a `dl.scatter_add` along axis 0 that something is added to, and their numbers:
    rows[j.., k..] is the sum of values[i.., k..] over all i.. with index[i..] == index[j..], added
    in the order of i, where j.. is the first of these, and 0 elsewhere. numbers[j..] is index[j..]
    there, and -1 elsewhere. Numbers that are not in [0, extent) count for nothing.
    `%rows, %numbers = dl.sum_rows %values, %index extent = 10000 : tensor<35x4x64xf32>,
    tensor<35x4xi32>`
    (C1) the values' shape begins with the index's. (C2) extent >= 0.
    Not differentiable.
  }];
  let arguments = (ins DL_FloatTensor:$values, DL_IntTensor:$index, I64Attr:$extent);
  let results = (outs DL_FloatTensor:$rows, DL_IntTensor:$numbers);
  let assemblyFormat =
      "$values `,` $index `extent` `=` $extent attr-dict `:` type($values) `,` type($index)";
  let extraClassDeclaration = [{
    /// Rows, and the elements of each.
    int64_t getCount() { return getIndex().getType().getNumElements(); }
    int64_t getWidth();
  }];
}

#endif
