//===- DLMatmulOps.td - products of matrices --------------------------------------------------===//
#ifndef DLC_DL_MATMUL_OPS_TD
#define DLC_DL_MATMUL_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_MatmulOp : DL_Op<"matmul", [
    Pure, DL_Differentiable, DL_Batchwise, DL_Point,
    DL_Anchor<["getAnchorName", "getGradientStage", "takesPrologue", "takesReductions"]>,
    DL_InferType]> {
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
