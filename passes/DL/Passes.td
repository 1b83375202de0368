//===- Passes.td - passes on the dl dialect, in the order of passes/Pipelines.cpp -------------===//
#ifndef DLC_PASSES_DL_PASSES_TD
#define DLC_PASSES_DL_PASSES_TD

include "mlir/Pass/PassBase.td"

def Simplify : Pass<"dl-simplify", "::dlc::dl::EntryOp"> {
  let summary = "folds, moves relu behind max_pool and factors behind sums, drops dead ops";
  let description = [{
    Folds constants and identities, and rewrites `max_pool(relu(x))` into `relu(max_pool(x))` where
    the relu has no other use: the same values from fewer relus, and a smaller tensor is saved for
    the backward pass. A factor that all terms of a sum have, and a sign, are multiplied behind it.
    An element-wise op of one operand goes in front of a reshape of what is computed element by
    element, and one of reshaped operands behind the next reshape: no kernel reaches over one.
    Drops ops and reads that nothing uses. An entry with `dl.gradient` stays as it is: folds make
    one value of two that a gradient tells apart.
  }];
}

def AssignPrecision : Pass<"dl-assign-precision", "::mlir::ModuleOp"> {
  let summary = "which ops compute in bf16 or f16, by the rules of PyTorch's autocast";
  let description = [{
    In entries with `dl.precision`, and for ops with one of their own: products and convolutions
    take and give 16 bits; losses, exponentials, sums, and norms compute in f32; everything else in
    the type of its widest operand. Casts stand where types meet. Variables, inputs, results and
    losses keep their types, and so do tensors of f64. The attribute disappears.
  }];
}

def Distribute : Pass<"dl-distribute", "::mlir::ModuleOp"> {
  let summary = "what several ranks exchange: on entries and ops, which ask no module behind it";
  let description = [{
    In a data-parallel module (`program.data_parallel`) each entry with updates gets `across_ranks`:
    `mean` where each rank's loss counts alike, else `sum`. A loss that is a mean over `weight`
    things is then multiplied by this rank's part of them all, unless gradients accumulate: then
    the update divides by all weights. In any other module `ranks` of batch norms disappear.
  }];
}

def Differentiate : Pass<"dl-differentiate", "::mlir::ModuleOp"> {
  let summary = "reverse-mode derivatives: dl.gradient, and each entry's loss";
  let description = [{
    Builds what each `dl.gradient` asks for in its place, the first of the block first. Then, for
    each entry with `updates`: computes the gradient of the terminator's loss in every variable
    listed there and in every float input, and returns each as the result `gradient.<name>`.
    Composites without a rule are decomposed first. The loss operand disappears. A gradient op is
    named after its forward op and its stage: `conv2/backward_filter`.
  }];
}

def PruneGradients : Pass<"dl-prune-gradients", "::dlc::dl::EntryOp"> {
  let summary = "drops the gradients that nobody asked for";
  let description = [{
    Removes the results `gradient.<input>` unless they are asked for, what was computed only for
    them (the first layer's backward_data), and results of ops that nothing uses (the index of a
    max_pool).
  }];
  let options = [Option<"keepInputGradients", "keep-input-gradients", "bool", "false",
                        "keep the gradients of inputs">];
}

def FoldBatchNorm : Pass<"dl-fold-batch-norm", "::mlir::ModuleOp"> {
  let summary = "batch norm within the weights of the convolution before it";
  let description = [{
    In entries that evaluate or infer, `dl.batch_norm_inference` of a convolution, with or without a
    bias, becomes a convolution with other weights and another bias: functions of variables, which
    dl-derive-variables computes once.
  }];
}

def Decompose : Pass<"dl-decompose", "::dlc::dl::EntryOp"> {
  let summary = "puts the formulas of composites in their place";
  let description = [{
    Norms, activations and losses become primitives; what generators take whole stays: attention of
    float32. Drops dead ops.
  }];
}

def BuildUpdate : Pass<"dl-build-update", "::mlir::ModuleOp"> {
  let summary = "the optimizer's update from gradients, as dl.multi_tensor and dl.assign";
  let description = [{
    Parameters of an entry with the same optimizer settings and element type share one
    `dl.multi_tensor`. Creates the slots and the scalars (`optimizer.learning_rate`, ...;
    `optimizer1.` and on where settings differ; `<entry>.optimizer` for entries other than
    train_step). Consumes `updates`, `clip` and `ema`; with `ema`, entries that evaluate or infer
    read the averages of the parameters.

    With `accumulate = k` the entry becomes `accumulate_step` (`<entry>_accumulate`), which adds a
    k-th of its gradients to slots, and the update becomes an entry with the old name that takes
    these, clears them and runs k times less often.

    With `across_ranks` gradients are summed over the ranks by a `dl.all_reduce` a group, in front
    of clipping and norms and, where they accumulate, when the update is due. If that is `mean`, the
    update makes means of them with the scalar `ranks.scale`, which is 1 / ranks.
    With `compress` gradients of at least 4,096 elements, and of a wider type, are summed in bf16 or
    f16: they are rounded where they are made, and widened where the update reads them. `1bit` and
    `top-k` make compressed sums of such gradients of f32.

    The gradients are no results any more, unless they are asked for.
  }];
  let options = [Option<"keepWeightGradients", "keep-weight-gradients", "bool", "false",
                        "keep the gradients of variables as results">,
                 Option<"compress", "compress", "std::string", "",
                        "sum large gradients over ranks as bf16, f16, 1bit or top-k">];
}

def SparsifyUpdates : Pass<"dl-sparsify-updates", "::dlc::dl::EntryOp"> {
  let summary = "updates only the rows of a table that have a gradient";
  let description = [{
    The gradient of a table that is only looked up is a `dl.scatter_add` of a few rows among zeros.
    Where it has fewer numbers than the table has rows, and where the update leaves a parameter and
    its slots as they are when the gradient is 0, it becomes rows and their numbers, `dl.sum_rows`,
    and a `dl.update_rows` of these; a norm of all gradients takes the rows for the gradient. So SGD
    and Adagrad without momentum, decay and averages need no pass over the table. What else reads
    the gradient keeps it as it is: a product with the same weight, a sum over ranks or over several
    runs, an output, a norm of each parameter's own.
  }];
}

def NarrowVariables : Pass<"dl-narrow-variables", "::mlir::ModuleOp"> {
  let summary = "stores weights in 16 bits that are read in 16 bits alone";
  let description = [{
    In a module without training entries a variable that no entry assigns, and whose reads are all
    cast to one narrower float type, has that type itself. What fills it rounds as the cast did: the
    runtime, where a checkpoint has the wider type.
  }];
}

def DeriveVariables : Pass<"dl-derive-variables", "::mlir::ModuleOp"> {
  let summary = "computes once what depends on variables alone where a model is used";
  let description = [{
    In entries that evaluate or infer, what is computed from variables that no such entry assigns,
    and from nothing else, becomes a variable of role `derived`: folded weights, a cast copy. The
    entry `prepare` computes all of them; the runtime runs of it what such an entry needs, before it
    and when variables have changed. No result is kept that is larger than what it is computed from,
    nor one that only index ops make.
  }];
}

def DivideBatch : Pass<"dl-divide-batch", "::mlir::ModuleOp"> {
  let summary = "runs ops with large tensors on one part of the batch at a time";
  let description = [{
    Ops that read or write a tensor of `least-bytes` or more along the batch, each sample for itself
    or as a sum over it, run `parts` times. Those that lead to each other run part by part, so that
    what they hand on lies in memory for one part at a time; slices and concats along the leading
    axis cost nothing. Sums over the batch, gradients of weights, are added up part by part: they
    may differ in the last bits.

    Within a memory budget the pass tries out what computing again alone does not reach: more and
    smaller tensors, in 2 to 32 parts, 16 divisions at most, each compiled as far as to know its
    memory and its seconds, or that it does not fit by what its ops read and write at once. What
    fits and takes the least time is taken; where nothing fits, it is an error that says the least
    that was found to be needed. An entry that is divided has `dl.division`: the `parts`, and the
    bytes that it needed `before` and the `seconds` that it took.
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "1", "parts of the batch; 1: as a memory budget asks for">,
    Option<"leastBytes", "least-bytes", "int64_t", "0", "bytes of the smallest tensor to divide">];
}

def DivideConcats : Pass<"dl-divide-concats", "::dlc::dl::EntryOp"> {
  let summary = "concats of many parts, so that no element is chosen among all of them";
  let description = [{
    A `dl.concat` of more than sixteen parts that is no matter of memory as it stands (parts that
    follow each other at multiples of 64 bytes) becomes one, of equal parts behind each other and a
    transposition, or is divided into concats of sixteen parts, and these again.
  }];
}

def Fuse : Pass<"dl-fuse", "::dlc::dl::EntryOp"> {
  let summary = "groups ops into dl.fused regions, each of which becomes one kernel";
  let description = [{
    Afterwards an entry consists of read, assign, scalar, constant (not splat), reshape (a view),
    slice and concat where they are a matter of memory, fused, multi_tensor and return. A region
    holds at most one anchor (convolution, product,
    reduction, window, transpose) and the element-wise ops before and behind it. Reductions
    along equal axes that read a tensor in common are one anchor: their kernel reads it once, and
    stores what it computes on the way where others need it too. Reductions of rows that a cache
    holds are one anchor also where one waits for another, with all that waits for them in the same
    row: a softmax, a norm, a cross entropy with its gradient. A stored tensor that is scaled and
    shifted by channel, as a norm does it, is so again wherever it is read. Element-wise ops stand
    before an anchor where the op says that computing them while it reads is cheap (AnchorOp), and
    the target that it can (CandidateSource).
  }];
  let options = [Option<"enable", "enable", "bool", "true", "false: each op alone in its region">];
}

// Between these stand dl-choose, and dl-join in front of it and behind it. They ask a target's
// generators: a source of candidates is no option of a pass, so they are declared in Passes.h.

def PackIndices : Pass<"dl-pack-indices", "::dlc::dl::EntryOp"> {
  let summary = "stores the index of a max_pool in 2 or 4 bits";
  let description = [{
    An index numbers the elements of a window: those of 2 x 2 fit 2 bits, of 3 x 3 four. It is
    stored so where it lies in blocks of channels, with all that its kernel makes and reads of its
    rank: there a vector is whole bytes.
  }];
}

def Schedule : Pass<"dl-schedule", "::dlc::dl::EntryOp"> {
  let summary = "fixes the order of execution: from here on it is the order of the block";
  let description = [{
    Reads first, assigns last. Between them: weight gradients as soon as they can be computed, with
    what is converted for them, otherwise the op that adds least to the live bytes; equal ones in
    the order in which they stood. What no op reads soon then moves down to the first that does,
    where that saves bytes. Drops dead ops.
  }];
}

def Rematerialize : Pass<"dl-rematerialize", "::mlir::ModuleOp"> {
  let summary = "computes values again where they would lie in memory for long";
  let description = [{
    On regions in the order of execution: what is stored and what it took to compute is known only
    then. Copies of regions, in front of the ops that read them; a copy is the same kernel and gives
    the same bits. LiveMemory.h says which ones. What an update, a reduction over ranks or the entry
    gives back is computed once, statistics of batch norm with it.

    `memory-budget` is the most that an entry may need: its arena, as the plan will have it, and the
    state. As little time as is found is spent on it, and none if it is enough as it is. A budget
    that cannot be reached is an error that says what can. Without one, training entries are brought
    as low as is found.

    What was done stands on the entry as `dl.memory`: `budget`, the bytes needed `before`, how many
    regions are `recomputed`, and the `seconds` that these take, as estimated; of a divided batch
    `parts`, and the `divided_seconds` that all else takes more. Where a budget is not met, it says
    `before`, the `least` that was found, and the `bound` below that by what an op reads and writes.
    With `early`, a budget below the bound is not looked for: then there is no `least`.
  }];
  let options = [
    Option<"cheap", "cheap", "bool", "false", "no product and no convolution is computed again">,
    Option<"memoryBudget", "memory-budget", "int64_t", "0", "most bytes of an entry; 0: no limit">,
    Option<"early", "early", "bool", "false", "what is out of reach by its bound is not tried">];
}

def BucketGradients : Pass<"dl-bucket-gradients", "::dlc::dl::EntryOp"> {
  let summary =
      "splits the reduction of gradients over ranks, so that it runs beside the backward pass";
  let description = [{
    Each `dl.all_reduce` of channel 0 becomes several, of buckets: gradients in the order in which
    the block finishes them. A bucket's reduction stands directly behind its last gradient. Updates
    are split likewise, each bucket's into a `dl.multi_tensor` of its own; they stand at the end, in
    the same order, where they hide what is left of the last reductions. Where something reads all
    gradients, such as their common norm, updates stay whole: then buckets are runs of parameters,
    the last ones first, and the update waits for all of them.

    How many buckets there are follows from a model: a bucket of b bytes takes alpha + beta * b
    seconds, begins when its last gradient is there and the bucket before it is done. Of all
    partitions that end as early as can be, give or take 1% of what one reduction of all takes or
    the `taken` seconds that each takes from what is computed meanwhile, one with the fewest buckets
    is taken. It has to end so early on a link twice as slow (and `taken`) as well, since
    ranks do not come to a sum at the same time and estimates err; where none does on both, the one
    that is least late is taken. The last bucket, which nothing may hide, has at most 4 MB unless a
    single gradient is larger. `bucket-size` fixes the most bytes of a bucket instead. A gradient
    that several parameters have is reduced once. Each reduction is cut as if the link were its own:
    those of several optimizers' settings are finished in turn all over the backward pass, so that
    none of them knows when the others leave it alone.
  }];
  let options = [
    Option<"bucketBytes", "bucket-size", "int64_t", "0", "most bytes of a bucket; 0: by the model">,
    Option<"alpha", "alpha", "double", "5e-5", "seconds that any reduction takes">,
    Option<"beta", "beta", "double", "1.6e-9", "seconds a byte more">,
    Option<"taken", "taken", "double", "0", "seconds that each takes from what is computed">];
}

#endif
