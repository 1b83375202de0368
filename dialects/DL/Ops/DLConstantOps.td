//===- DLConstantOps.td - values known at compile time ----------------------------------------===//
#ifndef DLC_DL_CONSTANT_OPS_TD
#define DLC_DL_CONSTANT_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_ConstantOp : DL_Op<"constant", [
    Pure, ConstantLike, DL_StandsFirst, AllTypesMatch<["value", "result"]>]> {
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

#endif
