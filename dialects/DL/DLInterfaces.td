//===- DLInterfaces.td - what passes and generators ask of a dl op ----------------------------===//
#ifndef DLC_DL_INTERFACES_TD
#define DLC_DL_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DL_ElementwiseOpInterface : OpInterface<"ElementwiseOp"> {
  let description = [{
    The op computes each element of its one result from the elements of its operands at the same place. All operands and
    the result have the same shape.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      The op on scalars: arith and math ops that compute one element, or a vector of elements, from `operands`. Storage
      types are already loaded as compute types (bool as i1, u8 as signless i8).
    }], "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>
  ];
}

def DL_DifferentiableOpInterface : OpInterface<"DifferentiableOp"> {
  let description = "The op has a gradient rule. An op without it, and without decompose(), is not differentiable.";
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      Builds dl ops that compute the gradient of each operand from those of the results. `resultGradients[i]` is null if
      nothing depends on result i. `operandGradients` comes with one null entry an operand; leave null what has no
      gradient (integers, labels) or is not `wanted`. Returns failure only after emitting an error.
    }], "::llvm::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
         "::llvm::ArrayRef<bool>":$wanted, "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>
  ];
}

def DL_DecomposableOpInterface : OpInterface<"DecomposableOp"> {
  let description = "A composite: its formula in primitives.";
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<"Builds the op from primitives; one value a result.",
    "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def DL_ReductionOpInterface : OpInterface<"ReductionOp"> {
  let description = [{
    The op combines the elements of its one operand along axes, which its results do not have. Reductions of equal shapes
    along equal axes can share a loop nest.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<"The tensor whose elements are combined.", "::mlir::Value", "getReduced", (ins), "",
                    "return $_op.getX();">,
    InterfaceMethod<"The axes that are dropped.", "::llvm::ArrayRef<int64_t>", "getReducedAxes", (ins), "",
                    "return $_op.getAxes();">,
    InterfaceMethod<"Names the axes anew.", "void", "setReducedAxes", (ins "::llvm::ArrayRef<int64_t>":$axes), "",
                    "$_op.setAxes(axes);">
  ];
}

#endif
