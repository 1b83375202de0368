//===- DLConvolutionOps.td - convolutions -----------------------------------------------------===//
#ifndef DLC_DL_CONVOLUTION_OPS_TD
#define DLC_DL_CONVOLUTION_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_ConvolutionFamily<string mnemonic,
                           list<Trait> traits = [DL_Anchor<["getAnchorName", "getGradientStage",
                                                            "takesAnyLayout", "takesPrologue"]>]>
    : DL_Op<mnemonic, !listconcat(traits, [Pure, DL_Differentiable, DL_Batchwise,
                                            DL_Point])> {
  let extraClassDeclaration = "ConvolutionGeometry getGeometry();";
}

def DL_ConvolutionOp
    : DL_ConvolutionFamily<"convolution", [DL_Anchor<["getAnchorName", "takesAnyLayout",
                                                      "takesReductions"]>,
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

def DL_ConvolutionBackwardDataOp
    : DL_ConvolutionFamily<"convolution_backward_data",
                           [DL_Anchor<["getAnchorName", "getGradientStage", "takesAnyLayout",
                                       "takesPrologue", "takesReductions"]>]> {
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

#endif
