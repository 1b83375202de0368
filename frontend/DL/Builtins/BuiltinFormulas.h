// Built-ins that are formulas of the dialect's library (dialects/DL/Formulas): one function a row
// of the table, which reads and checks the arguments.
#ifndef DLC_FRONTEND_DL_BUILTINS_BUILTINFORMULAS_H
#define DLC_FRONTEND_DL_BUILTINS_BUILTINFORMULAS_H

#include "frontend/DL/Builtins/Call.h"

namespace dlc::frontend {

// Of one tensor, element by element.
Value buildRelu6(Call &call);
Value buildLeakyRelu(Call &call);
Value buildElu(Call &call);
Value buildSelu(Call &call);
Value buildGelu(Call &call);
Value buildHardsigmoid(Call &call);
Value buildSoftplus(Call &call);
Value buildRsqrt(Call &call);
Value buildSign(Call &call);
Value buildSoftmax(Call &call);
Value buildLogSoftmax(Call &call);

/// Of tensors, and of one with a number.
Value applyPower(Site &site, const Operand &base, const Operand &exponent);
Value buildPower(Call &call);

enum class Logic { And, Or };
template <Logic kind> Value buildLogical(Call &call);
Value buildLogicalNot(Call &call);

// Along axes.
Value buildNorm(Call &call);
Value buildProduct(Call &call);
Value buildCumulativeSum(Call &call);
Value buildTopK(Call &call);
Value buildArgmax(Call &call);
Value buildOneHot(Call &call);

/// What dropout with `rate` keeps of a tensor of `shape`: bools, drawn anew in each step.
mlir::Value drawKept(Call &call, llvm::ArrayRef<int64_t> shape, BatchAxis batch, double rate);
Value buildAttention(Call &call);

} // namespace dlc::frontend

#endif
