//===- MultiTensorBuilder.h - a multi_tensor, made by writing its body --------------*- C++ -*-===//
//
// The formula of one element asks for streams, multipliers and scalars where it needs them, and
// gets the body's argument for each. So no second list has to agree with the order of these.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_UPDATE_MULTITENSORBUILDER_H
#define DLC_PASSES_DL_UPDATE_MULTITENSORBUILDER_H

#include "dialects/DL/DLProgramOps.h"

namespace dlc::dl {

class MultiTensorBuilder {
public:
  /// The op will stand where `outside` stands when `finish` is called.
  MultiTensorBuilder(mlir::OpBuilder &outside, mlir::Location loc);

  /// One tensor for each of the parameters; returns the element.
  mlir::Value addStream(mlir::ValueRange tensors);
  /// One number for each of the parameters; returns that of the element's tensor, an f32.
  mlir::Value addMultiplier(llvm::ArrayRef<double> numbers);
  /// Returns the same argument for the same scalar.
  mlir::Value addScalar(mlir::Value scalar);

  /// Writes ops into the body.
  mlir::OpBuilder &body() { return inside; }
  /// Result r * count + i is element r of `yielded`, for tensor i.
  MultiTensorOp finish(mlir::ValueRange yielded);

private:
  mlir::OpBuilder &outside;
  mlir::Location loc;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder inside;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> streams;
  llvm::SmallVector<llvm::SmallVector<double>> multipliers;
  llvm::SmallVector<mlir::Value> scalars;
};

} // namespace dlc::dl

#endif
