//===- DLEntryOps.td - entries, and gradients that they ask for -------------------------------===//
#ifndef DLC_DL_ENTRY_OPS_TD
#define DLC_DL_ENTRY_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_EntryOp : DL_Op<"entry", [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one program: training step, evaluation, inference";
  let description = [{
    A function whose arguments are what the data delivers. Reads of variables stand at the top,
    assignments at the end. Argument attributes: `dl.name`, `dl.batch_axis` (i64), `dl.valid` (unit:
    the number of samples that count), `dl.classes` (i64: each number is a class, from 0 to this
    less 1), `dl.ignored` (i64: one more number beside the classes). Result attributes: `dl.name`,
    `dl.kind` (#program.value<result|accumulator|gradient>), `dl.batch_axis`, `dl.of` (symbol of the
    variable whose gradient this is), `dl.loss` (i64: of which of several losses, counted from 0).
    `updates`: #dl.update list of the parameters that the step trains. `metrics`: #program.metric
    list over accumulators.
    `every`: a training step runs on each so many batches. `schedule`: #program.schedule_part list,
    of its learning rates.
    `clip`: the limit on the gradients that `updates` takes. `accumulate`: how many runs' gradients
    are averaged for an update.
    `ema`: the decay of the moving average of each parameter in `updates`, which evaluation and
    inference read. `across_ranks`: what dl-distribute gives the training entries of a data-parallel
    module. Before dl-differentiate the terminator of an entry with updates carries the loss.
    (C1) A variable is assigned at most once, and not read behind its assignment. (C2) `updates`
    name parameters of the module, each once. (C3) The terms of `metrics` name accumulators among
    the results, f32 or f64 in the shapes that their finish takes. (C4) Names of inputs are
    distinct, and names of results are distinct. Not differentiable: dl-differentiate extends it.
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
      OptionalAttr<DL_ClipAttr>:$clip, OptionalAttr<F64Attr>:$ema,
      OptionalAttr<DL_AcrossRanksAttr>:$across_ranks);
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
    void addOutput(::mlir::Value value, ::llvm::StringRef name, program::ValueKind kind);
    /// The same for several at once, which takes no longer than one: the type is made anew.
    void addOutputs(::llvm::ArrayRef<EntryOutput> added);
    /// Removes the results whose bit is set from the type, the attributes and the terminator.
    void eraseOutputs(const ::llvm::BitVector &indices);
  }];
}

def DL_ReturnOp
    : DL_Op<"return", [
          Pure, Terminator, DL_StandsLast, HasParent<"EntryOp">, AttrSizedOperandSegments]> {
  let summary = "ends an entry: its results and, before differentiation, the loss";
  let description = [{
    `dl.return %sum : tensor<f32> loss(%loss : tensor<f32>)`, and
    `dl.return %sum : tensor<f32> loss(%loss : tensor<f32>) weight(%weight : tensor<f32>)` where the
    loss is a mean over %weight things: over several batches or ranks it is the mean of the losses
    by their weights. Where means over different numbers of things are added up, the loss is the sum
    of `losses`, one for each of the `weights`. These stay until dl-build-update has built the
    update.
    (C1) The outputs have the types of the entry's results. (C2) The losses have rank 0 and one
    type. (C3) Without weights there is one loss at most; else there are as many weights, f32 or f64
    of rank 0, as were losses before differentiation. Not differentiable.
  }];
  let arguments = (ins Variadic<DL_Tensor>:$outputs, Variadic<DL_FloatTensor>:$losses,
      Variadic<0DTensorOf<[F32, F64]>>:$weights);
  let assemblyFormat = [{
    ($outputs^ `:` type($outputs))? (`loss` `(` $losses^ `:` type($losses) `)`)?
    (`weight` `(` $weights^ `:` type($weights) `)`)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$outputs),
      "build($_builder, $_state, outputs, /*losses=*/{}, /*weights=*/{});">];
  let hasVerifier = 1;
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

#endif
