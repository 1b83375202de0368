//===- DLPoints.td - the definition of an anchor, an element at a time ------------------------===//
#ifndef DLC_DL_POINTS_TD
#define DLC_DL_POINTS_TD

include "mlir/IR/OpBase.td"

def DL_PointOpInterface : OpInterface<"PointOp"> {
  let description = [{
    An anchor each element of which can be computed by itself. Its definition, written once, is the
    loops of last resort of every target: compiled for CPUs, printed for GPUs.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      The element of result `result` at `e.at`: right, and as slow as it may be. Sums of 16-bit
      floats are of f32, and are rounded by the caller.
    }], "::mlir::Value", "emitPoint", (ins "::dlc::dl::PointBuilder &":$e, "unsigned":$result)>
  ];
}

#endif
