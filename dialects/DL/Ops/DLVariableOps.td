//===- DLVariableOps.td - variables, and what entries read and assign of them -----------------===//
#ifndef DLC_DL_VARIABLE_OPS_TD
#define DLC_DL_VARIABLE_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_VariableOp : DL_Op<"variable", [
    Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tensor that lives from step to step";
  let description = [{
    Symbol name = checkpoint key. `of` names the parameter that a slot belongs to.
    ```mlir
    dl.variable @conv1.weight : tensor<20x1x5x5xf32> role<parameter> init(<uniform, -0.2, 0.2>)
    dl.variable @conv1.weight.momentum : tensor<20x1x5x5xf32> role<slot> of(@conv1.weight)
        init(<constant, 0.0, 0.0>)
    ```
    (C1) `of` is given for slots only, and names a parameter of the same logical shape. (C2) The
    initialiser `copy`, the first value of `of`, needs it, of the same element type, or of 16 bits
    where the copy is f32. Not differentiable itself; see dl.read.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<DL_Tensor>:$type,
      Program_RoleAttr:$role, Program_InitialiserAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of);
  let assemblyFormat = [{
    $sym_name `:` $type `role` `` $role (`of` `` `(` $of^ `)`)? `init` `` `(` $init `)` attr-dict
  }];
  let extraClassDeclaration = "::mlir::RankedTensorType getTensorType();";
}

def DL_ReadOp
    : DL_Op<"read", [DL_StandsFirst, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "value of a variable at the beginning of the entry";
  let description =
      "`%w = dl.read @conv1.weight : tensor<20x1x5x5xf32>`. (C1) The variable exists and has the "
      "result's logical type. Gradient: what differentiation is asked for.";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs DL_Tensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def DL_AssignOp
    : DL_Op<"assign", [DL_StandsLast, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "gives a variable its value for the next run; at most once an entry, at the end";
  let description =
      "`dl.assign @conv1.weight, %new : tensor<20x1x5x5xf32>`. (C1) The variable exists and has "
      "the value's logical type. Not differentiable.";
  let arguments = (ins FlatSymbolRefAttr:$variable, DL_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

#endif
