//===- DLUpdateOps.td - updates of many tensors at once, and the numbers of a step ------------===//
#ifndef DLC_DL_UPDATE_OPS_TD
#define DLC_DL_UPDATE_OPS_TD

include "dialects/DL/DLOpBase.td"

def DL_ScalarOp : DL_Op<"scalar", [Pure, DL_StandsFirst]> {
  let summary = "a number that the runtime gives before each step: learning rate, momentum, step";
  let description = [{
    Its place is the scalars block; equal names are one scalar. `scheduled` ones are multiplied by
    the schedule's factor. What counts is an integer, exact where an f32 has long been rounded.
    ```mlir
    %lr = dl.scalar "optimizer.learning_rate", 1.0e-02 scheduled : tensor<f32>
    %step = dl.scalar "step", 0.0 : tensor<i64>
    ```
    (C1) The value of an integer is whole and of its range. (C2) A scheduled one is a float.
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
    the scalars, and where it is `numbered` the number that the element has in its tensor's memory,
    an i32 that wraps. It yields new elements, of which result r * count + i holds those of tensor
    i, and behind them `sums` values that are added up over each tensor: a result each, of which
    element i is the sum over tensor i.
    (C1) tensors.size == streams * count, both positive. (C2) `each` are of shape [count]. (C3)
    There is a result for each yielded element and tensor, and one of shape [count] for each of the
    `sums`, which are at most as many as there are yielded values. (C4) Tensor i of every stream,
    and result r * count + i, have one shape and layout; tensors of one stream, and results of one
    yielded value, have one element type. (C5) The body's arguments are of rank 0: the streams'
    element types, then those of `each`, then the scalars', then i32 if it is numbered; the yielded
    values have rank 0 and the results' element types; sums are f32 or f64.
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
  let arguments = (ins Variadic<DL_FloatTensor>:$tensors, Variadic<DL_NumberTensor>:$each,
                       Variadic<DL_ScalarTensor>:$scalars, I64Attr:$streams,
                       DefaultValuedAttr<I64Attr, "0">:$sums, UnitAttr:$numbered);
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

def DL_UpdateRowsOp : DL_Op<"update_rows", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">, DL_Anchor<["getAnchorName"]>]> {
  let summary = "the optimizer's update of those rows of tables that have a gradient";
  let description = [{
    `tensors` are a parameter and its slots. The body sees an element (rank 0) of each, then one of
    `rows`, the gradient, then the scalars, and yields a new element of each tensor: result t is
    tensor t where no j.. has numbers[j..] == n, and in row n what the body makes of it and
    rows[j..] where one has. A number of a row stands once; others stand for nothing.
    (C1) there is a tensor, and a result of its type for each. (C2) the rows' shape is that of the
    numbers, and then that of the tensors without their first axis. (C3) the body's arguments are
    the element types of tensors and rows, then the scalars'; it yields those of the tensors.
    ```mlir
    %new = dl.update_rows(%table) rows(%rows, %numbers) scalars(%lr) : (...) -> ... {
      ^bb0(%p: tensor<f32>, %g: tensor<f32>, %lr: tensor<f32>):
        ...
        dl.yield %q : tensor<f32>
    }
    ```
    A kernel of it touches these rows only: its results lie in the tensors' memory.
    Not differentiable.
  }];
  let arguments = (ins Variadic<DL_FloatTensor>:$tensors, DL_FloatTensor:$rows,
                       DL_IntTensor:$numbers, Variadic<DL_ScalarTensor>:$scalars);
  let results = (outs Variadic<DL_FloatTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $tensors `)` `rows` `(` $rows `,` $numbers `)` `scalars` `(` $scalars `)` attr-dict
    `:` functional-type(operands, $results) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows at most, and the elements of each.
    int64_t getCount() { return getNumbers().getType().getNumElements(); }
    int64_t getWidth();
  }];
}

#endif
