//===- Names.h - layer and stage of an op -------------------------------------------*- C++ -*-===//
//
// Layer and stage travel as a NameLoc: `features.conv2` for what the model says,
// `features.conv2/backward_filter` for what a pass derives from it. Reports, traces and kernel
// names read it through these functions only. Within it a NameLoc may say what stands in the source
// there, `conv2d`, and within that where.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FACTS_NAMES_H
#define DLC_DIALECTS_DL_FACTS_NAMES_H

#include "mlir/IR/Operation.h"
#include <string>

namespace dlc::dl {

/// Layer and stage, `conv2/backward_filter`; only the layer in the forward pass; empty where
/// nothing is named.
std::string qualifiedName(mlir::Location loc);

/// The part before the slash: `conv2`.
std::string layerName(mlir::Operation *op);

/// The part behind the slash: `backward_filter`; empty in the forward pass.
std::string stageName(mlir::Operation *op);

/// What the source has there: `argmax`, `'>'`; empty where nothing is said of it.
std::string writtenName(mlir::Location loc);

/// The stage of the gradient of the parameter called `parameter` in its layer, `backward_weight`;
/// of another tensor, where that is empty, `backward`.
std::string gradientStage(llvm::StringRef parameter);

/// `loc` with its stage replaced, the place in the source kept. Without a layer the stage stands
/// alone, after a slash.
mlir::Location stageLoc(mlir::Location loc, llvm::StringRef stage);

} // namespace dlc::dl

#endif
