//===- Random.h - random numbers, and what is made of them --------------------------*- C++ -*-===//
//
// Random numbers are a function of the seed, the step, the sample's place in the batch of all
// ranks, the place within the sample and a number that tells one draw of an entry from its others.
// So every device and any number of threads and ranks draws the same, and the backward pass draws a
// mask again where it needs it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_RANDOM_H
#define DLC_DIALECTS_DL_FORMULAS_RANDOM_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include <optional>

namespace dlc::dl::formulas {

/// Where samples lie: `count` of them along `axis`, each of which is that of `outer` times with
/// `inner` elements behind each other. Most often both are 1, and the axis is the samples'.
struct DrawnSamples {
  int64_t axis, count, outer = 1, inner = 1;
};

/// f32 of `shape`: draws of the entry's stream number `stream`. Without samples all of the batch
/// have the same.
mlir::Value draw(TensorBuilder &b, RandomKind kind, llvm::ArrayRef<int64_t> shape,
                 std::optional<DrawnSamples> samples, int32_t stream);

/// 1 with probability p, else 0, of uniform draws.
mlir::Value bernoulli(TensorBuilder &b, mlir::Value draws, double p);
/// What dropout with `rate` keeps: bools, of uniform draws.
mlir::Value keptBy(TensorBuilder &b, mlir::Value draws, double rate);
/// `x` where it is kept, scaled by 1 / (1 - rate), else 0.
mlir::Value dropout(TensorBuilder &b, mlir::Value x, mlir::Value kept, double rate);

} // namespace dlc::dl::formulas

#endif
