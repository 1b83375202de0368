//===- DLOpBase.td - shared pieces of the dl op definitions -----------------------------------===//
#ifndef DLC_DL_OP_BASE_TD
#define DLC_DL_OP_BASE_TD

include "dialects/DL/DLDialect.td"
include "dialects/DL/DLInterfaces.td"
include "dialects/DL/DLPoints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def DL_Float : AnyTypeOf<[F32, F64, BF16, F16]>;
def DL_Int : AnyTypeOf<[I32, I64, UI8]>;
def DL_Element : AnyTypeOf<[F32, F64, BF16, F16, I32, I64, UI8, I1]>;
/// Number of an element in a window, in row-major order; what is less than a byte is packed.
def DL_WindowIndex : AnyTypeOf<[UI8, UI<4>, UI<2>]>;
def DL_WindowIndexTensor : StaticShapeTensorOf<[DL_WindowIndex]>;
def DL_Tensor : StaticShapeTensorOf<[DL_Element]>;
def DL_StoredTensor : StaticShapeTensorOf<[DL_Element, DL_WindowIndex]>;
def DL_FloatTensor : StaticShapeTensorOf<[DL_Float]>;
def DL_NumberTensor : StaticShapeTensorOf<[F32, F64, BF16, F16, I32, I64, UI8]>;
def DL_IntTensor : StaticShapeTensorOf<[I32, I64]>;
/// A number that the runtime gives.
def DL_ScalarTensor : 0DTensorOf<[F32, F64, I32, I64]>;
def DL_BoolTensor : StaticShapeTensorOf<[I1]>;

class DL_Op<string mnemonic, list<Trait> traits = []> : Op<DL_Dialect, mnemonic, traits>;

def DL_Differentiable : DeclareOpInterfaceMethods<DL_DifferentiableOpInterface>;
def DL_Decomposable : DeclareOpInterfaceMethods<DL_DecomposableOpInterface>;
/// Computing the op again costs less than storing its result and reading it back.
def DL_CheapToRecompute : NativeOpTrait<"CheapToRecompute"> { let cppNamespace = "::dlc::dl"; }
/// Scales or shifts each of its two operands: where one is the same along an axis, the result is as
/// cheap to read as the other, and the one.
def DL_ScalesOrShifts : NativeOpTrait<"ScalesOrShifts"> { let cppNamespace = "::dlc::dl"; }
def DL_Index : DeclareOpInterfaceMethods<DL_IndexOpInterface>;
def DL_Batchwise : DeclareOpInterfaceMethods<DL_BatchwiseOpInterface>;
def DL_Splittable : DeclareOpInterfaceMethods<DL_SplittableOpInterface>;
/// There before the first kernel runs.
def DL_StandsFirst : NativeOpTrait<"StandsFirst"> { let cppNamespace = "::dlc::dl"; }
/// Says where a value of the entry goes, behind all kernels.
def DL_StandsLast : NativeOpTrait<"StandsLast"> { let cppNamespace = "::dlc::dl"; }
def DL_WindowOp : DeclareOpInterfaceMethods<DL_WindowOpInterface>;
/// `overridden`: the facts that differ from what the interface takes for granted.
class DL_Anchor<list<string> overridden = []>
    : DeclareOpInterfaceMethods<DL_AnchorOpInterface, overridden>;
def DL_Point : DeclareOpInterfaceMethods<DL_PointOpInterface>;
/// One number for each sample: of `logits` without `axis`, as many as `label` has.
def DL_PerSampleTypes : NativeOpTrait<"PerSample"> { let cppNamespace = "::dlc::dl"; }
def DL_PerSample : TraitList<[InferTypeOpInterface, DL_PerSampleTypes]>;
def DL_InferType : DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>;

#endif
