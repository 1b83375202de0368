// Initialisers of the language as #program.init: a number, uniform, normal, ..., kaiming_*,
// xavier_*.
#ifndef DLC_FRONTEND_DL_EVALUATION_INITIALISERS_H
#define DLC_FRONTEND_DL_EVALUATION_INITIALISERS_H

#include "frontend/DL/Evaluation/Evaluator.h"

namespace dlc::frontend {

/// The attribute for a number or an initialiser value; null after an error at `range`.
/// `fanIn` and `fanOut` are the inputs and outputs of one unit.
program::InitialiserAttr resolveInitialiser(Evaluator &evaluator, const Value &init, int64_t fanIn,
                                            int64_t fanOut, SourceRange range);

/// PyTorch's default for weights and biases of linear and convolution: uniform within 1 /
/// sqrt(fanIn), as a value.
Value defaultInitialiser(int64_t fanIn);
/// normal(mean, std) as a value.
Value normalInitialiser(double mean, double deviation);

} // namespace dlc::frontend

#endif
