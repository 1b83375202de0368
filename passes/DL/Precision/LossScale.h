//===- LossScale.h - a loss that is multiplied, for small gradients -----------------*- C++ -*-===//
//
//   dl.entry @train_step(...) attributes {dl.loss_scale = "dynamic", ...} {
//     dl.return loss(%loss)
// ->
//   dl.variable @loss_scale : tensor<f32> role<counter> init(<constant, 65536.0, 0.0>)
//   dl.entry @train_step(...) attributes {dl.loss_scale = @loss_scale, ...} {
//     %scale = dl.read @loss_scale
//     %scaled = dl.multiply %loss, %scale
//     ...
//     %dw = dl.divide %scaled_dw, broadcast(%scale)
//
// `dl.loss_scale` of an entry is a number, or "dynamic": what PyTorch's GradScaler does. What the
// entry gives, and what its update takes, is divided by the scale as soon as it is of f32, or in
// f32 where it is of 16 bits itself. The update then is left out where a gradient is not finite,
// and the scale changes (Update/Guard.cpp).
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_PRECISION_LOSSSCALE_H
#define DLC_PASSES_DL_PRECISION_LOSSSCALE_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

namespace dlc::dl {

/// A counter of an entry's updates, of rank 0, in front of `entry` in the module.
inline VariableOp createCounter(EntryOp entry, mlir::SymbolTable &symbols, llvm::StringRef name,
                                mlir::Type element, double first) {
  mlir::OpBuilder builder(entry);
  auto init = program::InitialiserAttr::get(builder.getContext(),
                                            program::InitialiserKind::Constant, first);
  auto counter =
      VariableOp::create(builder, entry.getLoc(), name, mlir::RankedTensorType::get({}, element),
                         program::Role::Counter, init, mlir::FlatSymbolRefAttr());
  symbols.insert(counter);
  return counter;
}

/// The scale of the entry's loss as a value of it, f32[]; null without one. Makes the variable of
/// one that changes.
inline mlir::Value readLossScale(EntryOp entry, mlir::SymbolTable &symbols) {
  mlir::Attribute scale = entry->getAttr(lossScaleName);
  if (!scale)
    return {};
  mlir::OpBuilder builder(&entry.getBlock(), entry.getBlock().begin());
  auto type = mlir::RankedTensorType::get({}, builder.getF32Type());
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(scale))
    return TensorBuilder{builder, entry.getLoc()}.splat(type, number.getValueAsDouble());
  std::string name = entry.getSymName() == "train_step"
                         ? "loss_scale"
                         : (entry.getSymName() + ".loss_scale").str();
  VariableOp variable = createCounter(entry, symbols, name, builder.getF32Type(), 65536);
  auto symbol = mlir::FlatSymbolRefAttr::get(variable.getSymNameAttr());
  entry->setAttr(lossScaleName, symbol);
  return ReadOp::create(builder, entry.getLoc(), type, symbol);
}

} // namespace dlc::dl

#endif
