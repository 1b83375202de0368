//===- DLSampleOps.td - images read at places that a tensor gives -----------------------------===//
#ifndef DLC_DL_SAMPLE_OPS_TD
#define DLC_DL_SAMPLE_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_Sample<string mnemonic, list<Trait> traits = []>
    : DL_Op<mnemonic, !listconcat(traits, [Pure, DL_Point, DL_Batchwise, DL_Anchor<>])> {
  let hasVerifier = 1;
}

def DL_GridSampleOp : DL_Sample<"grid_sample", [DL_Differentiable, DL_InferType]> {
  let summary = "x at the places that a grid gives, between four pixels: a spatial transformer";
  let description = [{
    y[n, c, p, q] is the image x[n, c] at grid[n, p, q] = (along W, along H), which go from -1 to 1
    through the image: from the middle of its first pixel to that of its last with `align_corners`,
    else from edge to edge. Between pixels it is bilinear, or with `nearest` the pixel whose middle
    is nearest, the even one of two. Outside it is 0; with `border` the nearest pixel inside; with
    `reflect` the image is mirrored at its edges, at the middles of these pixels with
    `align_corners`. What is not a number gives 0. PyTorch's grid_sample.
    `%y = dl.grid_sample %x, %grid border align_corners : tensor<2x3x7x5xf32>, tensor<2x4x6x2xf32>`,
    result tensor<2x3x4x6xf32>
    (C1) x is [N, C, H, W] and the grid [N, P, Q, 2] of its element type. (C2) the image has pixels.
    (C3) `border` and `reflect` exclude each other. Gradient: dl.grid_sample_backward_image and
    dl.grid_sample_backward_grid.
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$grid, UnitAttr:$nearest, UnitAttr:$border,
      UnitAttr:$reflect, UnitAttr:$align_corners);
  let results = (outs DL_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $grid (`nearest` $nearest^)? (`border` $border^)? (`reflect` $reflect^)?
    (`align_corners` $align_corners^)? attr-dict `:` type($x) `,` type($grid)
  }];
}

def DL_GridSampleBackwardImageOp : DL_Sample<"grid_sample_backward_image", [DL_Differentiable]> {
  let summary = "gradient of dl.grid_sample by the image: dy is added where it was read";
  let description = [{
    dx[n, c, h, w] = sum of dy[n, c, p, q] times the share that pixel (h, w) has of y[n, c, p, q],
    over all p and q in row-major order.
    `%dx = dl.grid_sample_backward_image %dy, %grid border : tensor<2x3x4x6xf32>,
    tensor<2x4x6x2xf32> to tensor<2x3x7x5xf32>` Constraints as dl.grid_sample's, for dx in place of
    x. Gradient: dl.grid_sample, and dl.grid_sample_backward_grid.
  }];
  let arguments = (ins DL_FloatTensor:$dy, DL_FloatTensor:$grid, UnitAttr:$nearest,
      UnitAttr:$border, UnitAttr:$reflect, UnitAttr:$align_corners);
  let results = (outs DL_FloatTensor:$dx);
  let assemblyFormat = [{
    $dy `,` $grid (`nearest` $nearest^)? (`border` $border^)? (`reflect` $reflect^)?
    (`align_corners` $align_corners^)? attr-dict `:` type($dy) `,` type($grid) `to` type($dx)
  }];
}

def DL_GridSampleBackwardGridOp
    : DL_Sample<"grid_sample_backward_grid", [AllTypesMatch<["grid", "dgrid"]>]> {
  let summary = "gradient of dl.grid_sample by the grid: the image's slope between its pixels";
  let description = [{
    dgrid[n, p, q] = the sum over c of dy[n, c, p, q] times the slope of y[n, c, p, q], by W and H.
    It is 0 with `nearest`, and where `border` or `reflect` moved a place onto the image's edge.
    `%dgrid = dl.grid_sample_backward_grid %dy, %x, %grid border : tensor<2x3x4x6xf32>,
    tensor<2x3x7x5xf32>, tensor<2x4x6x2xf32>` Constraints as dl.grid_sample's. Not differentiable.
  }];
  let arguments = (ins DL_FloatTensor:$dy, DL_FloatTensor:$x, DL_FloatTensor:$grid,
      UnitAttr:$nearest, UnitAttr:$border, UnitAttr:$reflect, UnitAttr:$align_corners);
  let results = (outs DL_FloatTensor:$dgrid);
  let assemblyFormat = [{
    $dy `,` $x `,` $grid (`nearest` $nearest^)? (`border` $border^)? (`reflect` $reflect^)?
    (`align_corners` $align_corners^)? attr-dict `:` type($dy) `,` type($x) `,` type($grid)
  }];
}

#endif
