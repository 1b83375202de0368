//===- DLAttentionOps.td - attention ----------------------------------------------------------===//
#ifndef DLC_DL_ATTENTION_OPS_TD
#define DLC_DL_ATTENTION_OPS_TD

include "dialects/DL/DLOpBase.td"

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
