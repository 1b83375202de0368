//===- DLProgramOps.td - variables, entries and the regions that passes build -----------------===//
#ifndef DLC_DL_PROGRAM_OPS_TD
#define DLC_DL_PROGRAM_OPS_TD

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
    initialiser `copy`, the first value of `of`, needs it, of the same element type. Not
    differentiable itself; see dl.read.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<DL_Tensor>:$type,
      Program_RoleAttr:$role, Program_InitialiserAttr:$init, OptionalAttr<FlatSymbolRefAttr>:$of);
  let assemblyFormat = [{
    $sym_name `:` $type `role` `` $role (`of` `` `(` $of^ `)`)? `init` `` `(` $init `)` attr-dict
  }];
  let extraClassDeclaration = "::mlir::RankedTensorType getTensorType();";
}

def DL_EntryOp : DL_Op<"entry", [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one program: a training step, evaluation, inference";
  let description = [{
    A function whose arguments are what the data delivers. Reads of variables stand at the top,
    assignments at the end. Argument attributes: `dl.name`, `dl.batch_axis` (i64), `dl.valid` (unit:
    the number of samples that count), `dl.classes` (i64: each number is a class, from 0 to this
    less 1), `dl.ignored` (i64: one more number beside the classes). Result attributes: `dl.name`,
    `dl.kind` (#program.value<result|accumulator|gradient>), `dl.batch_axis`, `dl.of` (symbol of the
    variable whose gradient this is).
    `updates`: #dl.update list of the parameters that the step trains. `metrics`: #program.metric
    list over accumulators.
    `every`: a training step runs on each so many batches. `schedule`: #program.schedule_part list,
    of its learning rates.
    `clip`: the limit on the gradients that `updates` takes. `accumulate`: how many runs' gradients
    are averaged for an update.
    `ema`: the decay of the moving average of each parameter in `updates`, which evaluation and
    inference read. Before dl-differentiate the terminator of an entry with updates carries the
    loss.
    (C1) A variable is assigned at most once, and not read behind its assignment. (C2) `updates`
    name parameters of the module, each once. (C3) The terms of `metrics` name accumulators among
    the results. (C4) Names of inputs are distinct, and names of results are distinct. Not
    differentiable: dl-differentiate extends it.
    ```mlir
    dl.entry @train_step(%x: tensor<64x784xf32> {dl.name = "image", dl.batch_axis = 0 : i64}, ...)
        -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>})
        attributes {kind = #program.entry<train>, ...} {
      ...
      dl.return %sum : tensor<f32> loss(%loss : tensor<f32>)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
      OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
      Program_EntryKindAttr:$kind,
      OptionalAttr<TypedArrayAttrBase<DL_UpdateAttr, "updates">>:$updates,
      OptionalAttr<TypedArrayAttrBase<Program_MetricAttr, "metrics">>:$metrics,
      OptionalAttr<I64Attr>:$every, OptionalAttr<I64Attr>:$accumulate,
      OptionalAttr<TypedArrayAttrBase<Program_SchedulePartAttr, "schedule">>:$schedule,
      OptionalAttr<DL_ClipAttr>:$clip, OptionalAttr<F64Attr>:$ema);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type,
      "::dlc::program::EntryKind":$kind)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::mlir::Block &getBlock() { return getBody().front(); }
    ReturnOp getReturn();
    /// What the part of this training step is called that runs on each batch, where gradients
    /// accumulate.
    ::std::string getAccumulateName();
    ::llvm::StringRef getInputName(unsigned index);
    ::llvm::StringRef getOutputName(unsigned index);
    program::ValueKind getOutputKind(unsigned index);
    /// Adds a result at the end: extends the type, the attributes and the terminator.
    void addOutput(::mlir::Value value, ::llvm::StringRef name, program::ValueKind kind,
                   ::mlir::FlatSymbolRefAttr of = {});
    /// Removes the results whose bit is set from the type, the attributes and the terminator.
    void eraseOutputs(const ::llvm::BitVector &indices);
  }];
}

def DL_ReturnOp
    : DL_Op<"return", [Pure, Terminator, HasParent<"EntryOp">, AttrSizedOperandSegments]> {
  let summary = "ends an entry: its results and, before differentiation, the loss";
  let description = [{
    `dl.return %sum : tensor<f32> loss(%loss : tensor<f32>)`, and
    `dl.return %sum : tensor<f32> loss(%loss : tensor<f32>) weight(%weight : tensor<f32>)` where the
    loss is a mean over %weight things: over several batches or ranks it is the mean of the losses
    by their weights. The weight stays until dl-build-update has built the update.
    (C1) The outputs have the types of the entry's results. (C2) The loss has rank 0, the weight is
    an f32 of rank 0. Not differentiable.
  }];
  let arguments = (ins Variadic<DL_Tensor>:$outputs, Optional<DL_FloatTensor>:$loss,
      Optional<0DTensorOf<[F32]>>:$weight);
  let assemblyFormat = [{
    ($outputs^ `:` type($outputs))? (`loss` `(` $loss^ `:` type($loss) `)`)?
    (`weight` `(` $weight^ `:` type($weight) `)`)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$outputs, "::mlir::Value":$loss),
      "build($_builder, $_state, outputs, loss, /*weight=*/{});">];
  let hasVerifier = 1;
}

def DL_ReadOp : DL_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "value of a variable at the beginning of the entry";
  let description =
      "`%w = dl.read @conv1.weight : tensor<20x1x5x5xf32>`. (C1) The variable exists and has the "
      "result's logical type. Gradient: what differentiation is asked for.";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs DL_Tensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def DL_AssignOp : DL_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "gives a variable its value for the next run; at most once an entry, at the end";
  let description =
      "`dl.assign @conv1.weight, %new : tensor<20x1x5x5xf32>`. (C1) The variable exists and has "
      "the value's logical type. Not differentiable.";
  let arguments = (ins FlatSymbolRefAttr:$variable, DL_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def DL_GradientOp : DL_Op<"gradient", [Pure, HasParent<"EntryOp">, DL_InferType]> {
  let summary = "dy/dx of a scalar y, as a value";
  let description = [{
    `%dx, %dw = dl.gradient %y by %x, %w : tensor<f32> by tensor<64x3xf32>, tensor<3xf32>`: one
    result for each of `xs`, of its type. An x is any value that y is computed from; what y has of
    it by other ways is not counted. dl-differentiate builds the gradients in its place, so that
    they can be differentiated again.
    (C1) y has rank 0. (C2) There is an x. Gradient: that of what dl-differentiate builds.
  }];
  let arguments = (ins DL_FloatTensor:$y, Variadic<DL_FloatTensor>:$xs);
  let results = (outs Variadic<DL_FloatTensor>:$gradients);
  let assemblyFormat = "$y `by` $xs attr-dict `:` type($y) `by` type($xs)";
}

def DL_ScalarOp : DL_Op<"scalar", [Pure]> {
  let summary = "a number that the runtime gives before each step: learning rate, momentum, step";
  let description = [{
    Its place is the scalars block; equal names are one scalar. `scheduled` ones are multiplied by
    the schedule's factor. What counts is an integer, exact where an f32 has long been rounded.
    ```mlir
    %lr = dl.scalar "optimizer.learning_rate", 1.0e-02 scheduled : tensor<f32>
    %step = dl.scalar "step", 0.0 : tensor<i64>
    ```
    (C1) The value of an integer is whole and of its range. (C2) A scheduled one is an f32.
    Not differentiable.
  }];
  let arguments = (ins StrAttr:$name, F64Attr:$value, UnitAttr:$scheduled);
  let results = (outs DL_ScalarTensor:$result);
  let assemblyFormat = "$name `,` $value (`scheduled` $scheduled^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def DL_MultiTensorOp : DL_Op<"multi_tensor", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">, DL_Anchor<["getAnchorName"]>]> {
  let summary = "one element-wise function over many tensors at once: the optimizer's update";
  let description = [{
    `tensors` are `streams` runs of `count` tensors: all parameters, then all gradients, then all
    first slots, ... Streams have an element type each. The body sees one element (rank 0) of each
    stream, then for its tensor i element i of `each` (factors of a parameter's own, norms), then
    the scalars. It yields new elements, of which result r * count + i holds those of tensor i, and
    behind them `sums` values that are added up over each tensor: a result each, of which element i
    is the sum over tensor i.
    (C1) tensors.size == streams * count, both positive. (C2) `each` are of shape [count]. (C3)
    There is a result for each yielded element and tensor, and one of shape [count] for each of the
    `sums`, which are at most as many as there are yielded values. (C4) Tensor i of every stream,
    and result r * count + i, have one shape and layout; tensors of one stream, and results of one
    yielded value, have one element type. (C5) The body's arguments are of rank 0: the streams'
    element types, then those of `each`, then the scalars'; the yielded values have rank 0 and the
    results' element types; sums are f32 or f64.
    ```mlir
    %new, %squares = dl.multi_tensor(%p0, %g0) each(%factors) scalars(%lr)
        {streams = 2, sums = 1} ... {
      ^bb0(%p: tensor<f32>, %g: tensor<f32>, %factor: tensor<f32>, %lr: tensor<f32>):
        ...
        dl.yield %q, %gg : tensor<f32>, tensor<f32>
    }
    ```
    Not differentiable.
  }];
  let arguments = (ins Variadic<DL_FloatTensor>:$tensors, Variadic<DL_FloatTensor>:$each,
                       Variadic<DL_ScalarTensor>:$scalars, I64Attr:$streams,
                       DefaultValuedAttr<I64Attr, "0">:$sums);
  let results = (outs Variadic<DL_FloatTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $tensors `)` (`each` `(` $each^ `)`)? `scalars` `(` $scalars `)` attr-dict
    `:` functional-type(operands, $results) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of tensors in one stream.
    int64_t getCount() { return getTensors().size() / getStreams(); }
    ::mlir::Value getTensor(int64_t stream, int64_t index) {
      return getTensors()[stream * getCount() + index];
    }
    /// Runs of `count` results; the sums come behind them.
    int64_t getResultStreams() { return (getResults().size() - getSums()) / getCount(); }
    ::mlir::Value getResultTensor(int64_t run, int64_t index) {
      return getResults()[run * getCount() + index];
    }
    ::mlir::Value getSum(int64_t number) {
      return getResults()[getResultStreams() * getCount() + number];
    }
    /// The element types of the streams, and of the runs of results.
    ::llvm::SmallVector<::mlir::Type> getStreamElements();
    ::llvm::SmallVector<::mlir::Type> getResultElements();
  }];
}

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
    (C3) The body holds pure dl ops only. Not differentiable: fusion comes after differentiation.
  }];
  let arguments = (ins Variadic<DL_Tensor>:$operands);
  let results = (outs Variadic<DL_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` functional-type($operands, $results) $body";
  let hasVerifier = 1;
}

def DL_YieldOp : DL_Op<"yield", [Pure, Terminator]> {
  let summary = "results of a fused or multi_tensor body";
  let description =
      "`dl.yield %5 : tensor<64x20x24x24xf32>`. The op around it states what is yielded. Not "
      "differentiable.";
  let arguments = (ins Variadic<DL_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange{});">];
}

#endif
