//===- Recurrent.h - recurrent layers over sequences --------------------------------*- C++ -*-===//
//
// One layer in one direction: a product for the inputs of all steps, and an op over the sequence.
// Inputs are [steps, samples, channels], states [samples, units], weights as PyTorch has them, with
// a row for each unit of each gate.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_RECURRENT_H
#define DLC_DIALECTS_DL_FORMULAS_RECURRENT_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl::formulas {

/// [steps, samples, rows]: x w^T + bias of all steps in one product, with `weight` [rows, channels]
/// and biases [rows], each of which may be null.
mlir::Value gateInputs(TensorBuilder &b, mlir::Value x, mlir::Value weight, mlir::Value inputBias,
                       mlir::Value stateBias = {});

/// What a layer makes in one direction: the outputs of all steps, and each state behind the last.
struct Sequence {
  mlir::Value outputs;                    ///< [steps, samples, units]
  llvm::SmallVector<mlir::Value, 2> last; ///< [1, samples, units]: h, and c where there is one
};
/// Where `mask` [steps, samples] is false the states stay as they are; null for none. `isReverse`
/// runs from the last step to the first.
Sequence lstm(TensorBuilder &b, mlir::Value gates, mlir::Value h, mlir::Value c, mlir::Value weight,
              mlir::Value mask, bool isReverse);
/// A GRU's own bias of the state stands within the reset gate's reach; it may be null.
Sequence gru(TensorBuilder &b, mlir::Value gates, mlir::Value h, mlir::Value weight,
             mlir::Value stateBias, mlir::Value mask, bool isReverse);

/// [samples, units]: state number `part` of [parts, samples, units].
mlir::Value stateOf(TensorBuilder &b, mlir::Value states, int64_t part);
/// [steps, samples]: whether a step is before the end of its sample, by `lengths` [samples].
mlir::Value stepsWithin(TensorBuilder &b, mlir::Value lengths, int64_t steps);
/// `outputs` with 0 where the mask [steps, samples] is false.
mlir::Value zeroBeyond(TensorBuilder &b, mlir::Value outputs, mlir::Value mask);
/// Of three axes the first two in turn: steps before samples, or behind.
mlir::Value exchangeFirst(TensorBuilder &b, mlir::Value x);

} // namespace dlc::dl::formulas

#endif
