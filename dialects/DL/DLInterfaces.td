//===- DLInterfaces.td - what passes and generators ask of a dl op ----------------------------===//
#ifndef DLC_DL_INTERFACES_TD
#define DLC_DL_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DL_ElementwiseOpInterface : OpInterface<"ElementwiseOp"> {
  let description = [{
    The op computes each element of its one result from the elements of its operands at the same
    place. All operands and the result have the same shape.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      The op on scalars: arith and math ops that compute one element, or a vector of elements, from
      `operands`. Storage types are already loaded as compute types (bool as i1, u8 as signless i8).
    }], "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      Additions, multiplications and functions of one element, as reports count them. An op with
      none, which only chooses or converts, does not appear in the name of a kernel.
    }], "uint64_t", "getElementFlops">,
    InterfaceMethod<"Whether the result of numbers of a type is always one that the type holds.",
    "bool", "isExact">,
    InterfaceMethod<"What the result is where operand `operand` is 0 and the result is finite.",
    "::dlc::dl::WhereZero", "getWhereZero", (ins "unsigned":$operand)>
  ];
}

def DL_IndexOpInterface : OpInterface<"IndexOp"> {
  let description = [{
    Each element of the op's one result is an element of an operand, or 0 where there is none. Of
    several operands exactly one has it. Without an operand it is the index itself.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      Where an element of the result comes from: one map for each operand that has elements of it,
      from the first on, or one without an operand's axes. Further operands are what maps look
      indices up in.
    }], "::llvm::SmallVector<::dlc::dl::IndexMap>", "getIndexMaps">,
    InterfaceMethod<"Whether the axes of the operands stand in the result in their order.", "bool",
                    "keepsOrder", (ins), [{}], [{
      return ::llvm::all_of($_op.getIndexMaps(), [](auto &map) { return map.keepsOrder(); });
    }]>,
    InterfaceMethod<"Whether an operand gives indices.", "bool", "looksUp", (ins), [{}], [{
      return $_op->getNumOperands() > $_op.getIndexMaps().size();
    }]>,
    InterfaceMethod<[{
      The attributes of the same op between permuted tensors: axis i of the permuted operand is axis
      `operandOrder[i]` of the operand, and likewise the result's. Fails if no such op exists.
    }], "::mlir::FailureOr<::mlir::NamedAttrList>", "permuteAxes",
    (ins "::llvm::ArrayRef<int64_t>":$operandOrder, "::llvm::ArrayRef<int64_t>":$resultOrder)>,
    InterfaceMethod<[{
      Whether the result is the operand's memory under another shape, so that no kernel computes it.
    }], "bool", "isView", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      If the result's elements stand in the operand in one piece and in their order: the number of
      the first of them.
    }], "::std::optional<int64_t>", "getPieceBegin", (ins), [{}], [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
      If the elements of each operand stand in the result in one piece and in their order: the
      numbers of the first of each; else nothing.
    }], "::llvm::SmallVector<int64_t>", "getPartBegins", (ins), [{}], [{ return {}; }]>
  ];
  let extraClassDeclaration = [{
    /// Whether the result can be memory of the operand's, if that is stored row-major: its elements
    /// stand there in one piece, which begins where a buffer may begin.
    bool canLieInOperand();
    /// Whether the operands can be memory of the result's, row-major: each stands there in one
    /// piece, which begins where a buffer may begin.
    bool canHoldOperands();
  }];
}

def DL_AnchorOpInterface : OpInterface<"AnchorOp"> {
  let description = [{
    The op needs loops of its own: it decides how the kernel that holds it runs. What stands before
    it in the kernel is computed while it reads its operands, what stands behind it element by
    element when it is done.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<"The kind of its loops.", "::dlc::dl::Anchor", "getAnchor">,
    InterfaceMethod<[{
      Multiplications, additions, comparisons and functions, a multiply-add counted as two.
    }], "uint64_t", "getFlops">,
    InterfaceMethod<[{
      Its part of a kernel's name, and the sizes that make it a problem: (conv3x3, 64x56x56).
    }], "::dlc::dl::AnchorName", "getAnchorName", (ins), [{}], [{
      return AnchorName::get($_op);
    }]>,
    InterfaceMethod<[{
      The stage in which it computes a gradient: that of the parameter called `parameter` in its
      layer, or, where that is empty, of another tensor.
    }], "::std::string", "getGradientStage", (ins "::llvm::StringRef":$parameter), [{}], [{
      return ::dlc::dl::gradientStage(parameter);
    }]>,
    InterfaceMethod<[{
      Whether computing the operand anew each time that it is read costs little: it is read a few
      times at most.
    }], "bool", "takesPrologue", (ins "unsigned":$operand), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether an operand that is cheap to recompute is computed where it is read although others
      need it too: its elements are read about once, or are too many to be stored.
    }], "bool", "recomputesOperand", (ins "unsigned":$operand), [{}],
    [{ return $_op.getAnchor() == ::dlc::dl::Anchor::Reduce; }]>,
    InterfaceMethod<"Whether element-wise ops may be applied to its results as they become ready.",
    "bool", "takesEpilogue", (ins), [{}], [{ return true; }]>,
    InterfaceMethod<[{
      Whether reductions over its one result may stand behind it, computed of each part of the
      result while that is at hand.
    }], "bool", "takesReductions", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether all its tensors can lie in one layout that is not row-major.
    }], "bool", "takesAnyLayout", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Of a composite: whether it is a kernel as it is. Else dl-decompose puts its formula in its
      place.
    }], "bool", "staysWhole", (ins), [{}], [{ return true; }]>
  ];
}

def DL_DifferentiableOpInterface : OpInterface<"DifferentiableOp"> {
  let description = [{
    The op has a gradient rule. An op without it, and without decompose(), is not differentiable.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      Builds dl ops that compute the gradient of each operand from those of the results.
      `resultGradients[i]` is null if nothing depends on result i. `operandGradients` comes with one
      null entry an operand; leave null what has no gradient (integers, labels) or is not `wanted`.
      Returns failure only after emitting an error.
    }], "::llvm::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
         "::llvm::ArrayRef<bool>":$wanted,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>
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

def DL_BatchwiseOpInterface : OpInterface<"BatchwiseOp"> {
  let description = [{
    The op may run on a part of the batch, with the attributes that it has. Element-wise ops and
    windows always do, and need not say so.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      How, if the leading axes of its tensors are the batch; nothing if it cannot.
    }], "::std::optional<::dlc::dl::BatchDivision>", "getBatchDivision">
  ];
}

def DL_SplittableOpInterface : OpInterface<"SplittableOp"> {
  let description = [{
    The op can be written with an axis of its tensors as two axes, one beside the other: that of 32
    channels as one of 2 blocks and one of 16 channels. Element-wise ops always can, and need not
    say so.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<[{
      Which axes of the op's other tensors run along axis `axis` of `value`, and so are split with
      it. Nothing if this one cannot be split.
    }], "::std::optional<::llvm::SmallVector<::dlc::dl::ValueAxis>>", "getAxesAlong",
    (ins "::mlir::Value":$value, "int64_t":$axis)>,
    InterfaceMethod<[{
      Takes the attributes for tensors of which axis `axisOf` has become two; where that is nothing,
      the tensor is as it was. Their types change later.
    }], "void", "splitAxes",
    (ins "::llvm::function_ref<::std::optional<int64_t>(::mlir::Value)>":$axisOf)>
  ];
}

def DL_WindowOpInterface : OpInterface<"WindowOp"> {
  let description = [{
    The op slides a window over the spatial axes of [N, C, spatial...], each channel for itself.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<"The window, and the sides that it stands between.",
                    "::dlc::dl::WindowGeometry", "getGeometry">,
    InterfaceMethod<"Whether the result is on the side that the window slides over.", "bool",
                    "isBackward">,
    InterfaceMethod<"Takes the window's size, strides, paddings and dilations from `axes`.", "void",
                    "setWindow", (ins "::llvm::ArrayRef<::dlc::dl::WindowAxis>":$axes), "", [{
      ::llvm::SmallVector<int64_t> kernel, strides, padding, dilations;
      for (const ::dlc::dl::WindowAxis &axis : axes) {
        kernel.push_back(axis.kernel);
        strides.push_back(axis.stride);
        padding.append({axis.low, axis.high});
        dilations.push_back(axis.dilation);
      }
      $_op.setKernel(kernel);
      $_op.setStrides(strides);
      $_op.setPadding(padding);
      $_op.setDilations(dilations);
    }]>
  ];
}

def DL_ReductionOpInterface : OpInterface<"ReductionOp"> {
  let description = [{
    The op combines the elements of its one operand along axes, which its results do not have.
    Reductions of equal shapes along equal axes can share a loop nest.
  }];
  let cppNamespace = "::dlc::dl";
  let methods = [
    InterfaceMethod<"The tensor whose elements are combined.", "::mlir::Value", "getReduced", (ins),
                    "", "return $_op.getX();">,
    InterfaceMethod<"The axes that are dropped.", "::llvm::ArrayRef<int64_t>", "getReducedAxes",
                    (ins), "", "return $_op.getAxes();">,
    InterfaceMethod<"The axes that the results have, as the reduced tensor numbers them.",
                    "::llvm::SmallVector<int64_t>", "getKeptAxes", (ins), "", [{
      auto type = ::llvm::cast<::mlir::RankedTensorType>($_op.getReduced().getType());
      ::llvm::SmallVector<int64_t> kept;
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        if (!::llvm::is_contained($_op.getReducedAxes(), axis))
          kept.push_back(axis);
      return kept;
    }]>,
    InterfaceMethod<"Names the axes anew.", "void", "setReducedAxes",
                    (ins "::llvm::ArrayRef<int64_t>":$axes), "", "$_op.setAxes(axes);">
  ];
}

#endif
