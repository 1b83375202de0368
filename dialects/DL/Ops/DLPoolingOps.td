//===- DLPoolingOps.td - pooling --------------------------------------------------------------===//
#ifndef DLC_DL_POOLING_OPS_TD
#define DLC_DL_POOLING_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_Window<string mnemonic, list<string> facts = []>
    : DL_Op<mnemonic, [Pure, DL_Differentiable, DL_WindowOp, DL_Splittable, DL_Point,
                       DL_Anchor<!listconcat(facts, ["takesAnyLayout"])>]> {
  let hasVerifier = 1;
  bit backward = 0;
  let extraClassDefinition = [{
    bool $cppClass::isBackward() { return }] # !if(backward, "true", "false") # [{; }
    ::std::optional<::llvm::SmallVector<::dlc::dl::ValueAxis>>
    $cppClass::getAxesAlong(::mlir::Value, int64_t axis) {
      return windowAlong(*this, axis);
    }
    void $cppClass::splitAxes(
        ::llvm::function_ref<::std::optional<int64_t>(::mlir::Value)> axisOf) {
      splitWindow(*this, axisOf);
    }
  }];
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
    dilations in [1, 2^31), one an axis; low and high padding in [0, kernel extent). (C3) the type
    of the index, ui8, ui4 or ui2, has a number for each element in the window. (C4) the spatial
    size is one of the two above. (C5) the index has y's shape. Gradient: dl.max_pool_backward with
    the index; the op is replaced by one with an index if it has none.
  }];
  let arguments = (ins DL_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations);
  let results = (outs DL_FloatTensor:$y, Optional<DL_WindowIndexTensor>:$index);
  let assemblyFormat = [{
    $x `kernel` `=` $kernel `strides` `=` $strides `padding` `=` $padding `dilations` `=` $dilations
    attr-dict
    `:` type($x) `->` type($y) (`,` type($index)^)?
  }];
}

def DL_MaxPoolBackwardOp : DL_Window<"max_pool_backward", ["takesPrologue"]> {
  let backward = 1;
  let summary = "gradient of dl.max_pool: each dy is added at its window's winner";
  let description = [{
    dx[n, c, i...] = sum of dy[n, c, p...] over the windows p whose offset index[n, c, p...] lies at
    i; an offset outside of x adds nothing.
    `%dx = dl.max_pool_backward %dy, %i kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0]
    dilations = [1, 1] : tensor<2x5x7x6xf32>, tensor<2x5x7x6xui8> to tensor<2x5x14x13xf32>`
    Constraints as dl.max_pool's. Gradient in dy: dl.max_pool_gather.
  }];
  let arguments = (ins DL_FloatTensor:$dy, DL_WindowIndexTensor:$index,
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
  let arguments = (ins DL_FloatTensor:$x, DL_WindowIndexTensor:$index,
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
  let backward = 1;
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

def DL_SlidingSumOp : DL_Op<"sliding_sum", [
    Pure, DL_Differentiable, AllTypesMatch<["x", "y"]>, DL_Point,
    DL_Anchor<["takesPrologue"]>]> {
  let summary = "sums of neighbours along one axis";
  let description = [{
    y[.., i, ..] = sum of x[.., j, ..] over the j along `axis` from i - before to i + after; where
    there is no such element, 0.
    `%y = dl.sliding_sum %x axis = 1 before = 2 after = 2 : tensor<2x12x6x6xf32>`
    (C1) axis < rank. (C2) before and after are from 0 to the axis's extent. Gradient:
    dl.sliding_sum, before and after exchanged.
  }];
  let arguments = (ins DL_FloatTensor:$x, I64Attr:$axis, I64Attr:$before, I64Attr:$after);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat =
      "$x `axis` `=` $axis `before` `=` $before `after` `=` $after attr-dict `:` type($x)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements of a whole sum.
    int64_t getSize() { return getBefore() + getAfter() + 1; }
    /// What is in front of the axis, along it and behind it.
    ::std::array<int64_t, 3> getExtents();
  }];
}

#endif
