//===- ReduceOverRanks.cpp - gradients of all ranks together ----------------------------------===//
//
//   %new = dl.multi_tensor(%w, %dw) scalars(%lr) { ... %dw ... }
// ->
//   %sum = dl.all_reduce sum %dw channel 0
//   %new = dl.multi_tensor(%w, %sum) scalars(%ranks.scale, %lr) { ... %sum * %ranks.scale ... }
//
// In front of clipping and norms, which so see what all ranks' samples give. Where gradients
// accumulate, the update's sums are reduced, not those of each run. One reduction for all gradients
// of a group: dl-bucket-gradients splits it when the order of execution is known.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/TensorBuilder.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc::dl;

void dlc::dl::reduceGradients(EntryUpdate &update) {
  update.rankScale = update.scalar("ranks.scale", 1);
  for (ParameterGroup &group : update.groups) {
    auto names = group.forEach(
        [](const UpdatedParameter &each) -> Attribute { return each.update.getVariable(); });
    auto reduced =
        AllReduceOp::create(update.builder, update.place("all_reduce"), group.gradients(),
                            /*channel=*/0, update.builder.getArrayAttr(names));
    for (auto [parameter, sum] : llvm::zip_equal(group.parameters, reduced.getYs())) {
      update.entry.getReturn()->replaceUsesOfWith(parameter.gradient, sum);
      parameter.gradient = sum;
    }
  }
}

Value dlc::dl::meanOverRanks(EntryUpdate &update, MultiTensorBuilder &function, Value gradient) {
  if (!update.rankScale)
    return gradient;
  // A product alone might become one operation with a sum behind it, which then rounds otherwise:
  // the gradient itself keeps one rank's update what it is without ranks, to the bit.
  TensorBuilder b{function.body(), update.place("update")};
  Value scale = b.castLike(function.addScalar(update.rankScale), gradient);
  Value isAlone = b.compare(Predicate::EQ, scale, b.splatLike(scale, 1));
  return b.select(isAlone, gradient, b.multiply(gradient, scale));
}
