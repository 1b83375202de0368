//===- DLFusedOps.td - regions that become kernels --------------------------------------------===//
#ifndef DLC_DL_FUSED_OPS_TD
#define DLC_DL_FUSED_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_FusedOp
    : DL_Op<"fused", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a group of ops that becomes one kernel";
  let description = [{
    The block's arguments are the operands; the body holds dl ops: at most one anchor (convolution,
    matmul, reduce, pooling, softmax family) with element-wise, broadcast, reshape, constant and
    cast ops before and behind it. Beside a matmul there may be sums (`dl.reduce sum`) that are
    results and nothing else: of its operands, or of what is made of it.
    ```mlir
    %y = dl.fused(%x, %w, %b) : (...) -> tensor<64x20x24x24xf32> {
    ^bb0(%0: ..., %1: ..., %2: tensor<20xf32>):
      %3 = dl.convolution %0, %1 ...
      %4 = dl.broadcast %2 dims = [1] : ...
      %5 = dl.add %3, %4 : tensor<64x20x24x24xf32>
      dl.yield %5 : tensor<64x20x24x24xf32>
    }
    ```
    (C1) The block's arguments have the operands' types. (C2) The yielded values have the results'
    types.
    (C3) The body holds pure dl ops only. dl-choose notes which candidate runs the region, and which
    would come next, with what that takes around it. Not differentiable: fusion comes after
    differentiation.
  }];
  let arguments = (ins Variadic<DL_StoredTensor>:$operands,
      OptionalAttr<Program_CandidateAttr>:$candidate,
      OptionalAttr<Program_CandidateAttr>:$second_best);
  let results = (outs Variadic<DL_StoredTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` functional-type($operands, $results) $body";
  let hasVerifier = 1;
}

def DL_YieldOp : DL_Op<"yield", [Pure, Terminator]> {
  let summary = "results of a fused or multi_tensor body";
  let description =
      "`dl.yield %5 : tensor<64x20x24x24xf32>`. The op around it states what is yielded. Not "
      "differentiable.";
  let arguments = (ins Variadic<DL_StoredTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange{});">];
}

#endif
