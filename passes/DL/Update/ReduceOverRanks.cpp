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
// Gradients of f64 are divided by "ranks.count": a scale would be an f32, and 1 / 3 of that off by
// 1e-8.
//
// Narrowed, a gradient is rounded by a cast in front and widened in the update's body: dl-fuse
// moves the cast into the kernel that makes the gradient, which so writes it narrow into its
// bucket. Compressed to single bits, or to the largest elements, it stays f32: the runtime packs
// what goes to other ranks.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc::dl;

/// Fewer are soon sent, and rounding them spares nothing.
static constexpr int64_t leastCompressed = 4096;

static bool isCompressed(const UpdatedParameter &parameter, const Compression &compression) {
  auto type = cast<RankedTensorType>(parameter.gradient.getType());
  if (!compression.isOn() || type.getNumElements() < leastCompressed)
    return false;
  FloatType narrow = compression.narrow;
  return narrow ? type.getElementTypeBitWidth() > narrow.getWidth() : type.getElementType().isF32();
}

/// Splits each group into parameters whose gradients are compressed, and others: tensors of one
/// type make a reduction, and a stream of an update.
static void separate(EntryUpdate &update, const Compression &compression) {
  SmallVector<ParameterGroup> split;
  for (ParameterGroup &group : update.groups) {
    ParameterGroup large{group.optimizer, {}}, small{group.optimizer, {}};
    for (UpdatedParameter &parameter : group.parameters)
      (isCompressed(parameter, compression) ? large : small).parameters.push_back(parameter);
    for (ParameterGroup *part : {&large, &small})
      if (!part->parameters.empty())
        split.push_back(std::move(*part));
  }
  update.groups = std::move(split);
}

static bool isWide(const ParameterGroup &group) {
  VariableOp variable = group.parameters.front().variable;
  return variable.getTensorType().getElementType().isF64();
}

static Value castTo(OpBuilder &builder, Location loc, Value x, Type element) {
  return CastOp::create(builder, loc, cast<RankedTensorType>(x.getType()).clone(element), x);
}

void dlc::dl::reduceGradients(EntryUpdate &update, const Compression &compression) {
  if (update.acrossRanks == AcrossRanks::Mean) {
    update.gradientScale =
        update.scalar("ranks.scale", 1, /*scheduled=*/false, update.builder.getF32Type());
    if (llvm::any_of(update.groups, isWide))
      update.rankCount =
          update.scalar("ranks.count", 1, /*scheduled=*/false, update.builder.getI32Type());
  }
  if (compression.isOn())
    separate(update, compression);
  for (ParameterGroup &group : update.groups) {
    auto names = group.forEach(
        [](const UpdatedParameter &each) -> Attribute { return each.update.getVariable(); });
    SmallVector<Value> gradients = group.gradients();
    const bool compresses = isCompressed(group.parameters.front(), compression);
    const bool rounds = compresses && compression.narrow;
    if (rounds)
      for (auto [gradient, parameter] : llvm::zip_equal(gradients, group.parameters)) {
        auto place = NameLoc::get(
            update.builder.getStringAttr(parameter.variable.getSymName() + "/compress"));
        gradient = castTo(update.builder, place, gradient, compression.narrow);
      }
    auto reduced = AllReduceOp::create(update.builder, update.place("all_reduce"), gradients,
                                       /*channel=*/0, update.builder.getArrayAttr(names));
    if (compresses)
      reduced.setKind(compression.kind);
    for (auto [parameter, sum] : llvm::zip_equal(group.parameters, reduced.getYs())) {
      Value returned = sum;
      if (rounds && llvm::is_contained(update.entry.getReturn().getOperands(), parameter.gradient))
        returned = castTo(update.builder, update.place("widen"), sum,
                          getElementTypeOrSelf(parameter.gradient));
      update.entry.getReturn()->replaceUsesOfWith(parameter.gradient, returned);
      parameter.gradient = sum;
    }
  }
}

Value dlc::dl::addGradients(EntryUpdate &update, MultiTensorBuilder &function,
                            const ParameterGroup &group) {
  TensorBuilder b{function.body(), update.place("update")};
  Value gradient = b.cast(function.addStream(group.gradients()),
                          computedElement(group.parameters.front().variable));
  if (!update.gradientScale)
    return gradient;
  if (isWide(group) && update.rankCount)
    return b.divide(gradient, b.castLike(function.addScalar(update.rankCount), gradient));
  // A product alone might become one operation with a sum behind it, which then rounds otherwise:
  // the gradient itself keeps one rank's update what it is without ranks, to the bit.
  Value scale = b.castLike(function.addScalar(update.gradientScale), gradient);
  Value isAlone = b.compare(Predicate::EQ, scale, b.splatLike(scale, 1));
  return b.select(isAlone, gradient, b.multiply(gradient, scale));
}
