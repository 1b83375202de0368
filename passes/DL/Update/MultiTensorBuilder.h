//===- MultiTensorBuilder.h - a multi_tensor, made by writing its body --------------*- C++ -*-===//
//
// The formula of one element asks for streams, numbers of its tensor, sums, what is made of whole
// tensors, and scalars where it needs them, and gets the body's argument for each. So no second
// list has to agree with the order of these.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_UPDATE_MULTITENSORBUILDER_H
#define DLC_PASSES_DL_UPDATE_MULTITENSORBUILDER_H

#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"

namespace dlc::dl {

class MultiTensorBuilder {
public:
  /// The op will stand where `outside` stands when `finish` is called.
  MultiTensorBuilder(mlir::OpBuilder &outside, mlir::Location loc);

  /// One tensor for each of the parameters; returns the element.
  mlir::Value addStream(mlir::ValueRange tensors);
  /// What `make` makes of `term`, a value of the body, for all elements of tensor `number`: an op
  /// before this one computes that. Returns the element.
  using Make = std::function<mlir::Value(mlir::Value tensor, unsigned number)>;
  mlir::Value addMade(mlir::Value term, Make make);
  /// One number for each of the parameters, tensor<[count]>; returns that of the element's tensor.
  mlir::Value addEach(mlir::Value numbers);
  /// The same with constants, as elements of the type of `like`: f64 where that is, else f32 cast
  /// to it.
  mlir::Value addEach(llvm::ArrayRef<double> numbers, mlir::Value like);
  mlir::Value addEach(llvm::ArrayRef<int32_t> numbers);
  /// The sum of `term`, a value of the body, over the element's tensor: an op before this one
  /// computes it, for all sums that do not wait for each other at once.
  mlir::Value addSum(mlir::Value term);
  /// Behind `finish`: the sums, tensor<[count]>, of which `addSum` returned the element.
  mlir::Value sumsFor(mlir::Value element) const;
  /// Returns the same argument for the same scalar.
  mlir::Value addScalar(mlir::Value scalar);
  /// The element's number in its tensor's memory, i32.
  mlir::Value addNumber();

  /// Writes ops into the body.
  mlir::OpBuilder &body() { return inside; }
  /// Result r * count + i is element r of `yielded`, for tensor i; behind them the sums of
  /// `summed`.
  MultiTensorOp finish(mlir::ValueRange yielded, mlir::ValueRange summed = {});

private:
  /// A tensor<[count]> that the body reads, or what it will be the sum of.
  struct Each {
    mlir::Value numbers, term;
  };

  /// A tensor for each parameter, or what they will be made of.
  struct Stream {
    llvm::SmallVector<mlir::Value> tensors;
    mlir::Value term = {};
    Make make = {};
  };

  void computeTerms();
  void eraseUnused(mlir::ValueRange kept);
  bool isReady(mlir::Value term) const;
  MultiTensorOp partOf(llvm::ArrayRef<mlir::Value> yielded, llvm::ArrayRef<mlir::Value> summed);
  mlir::Value addStream(Stream stream, mlir::Type element);
  mlir::Value addEach(Each each, mlir::Type element);

  mlir::OpBuilder &outside;
  mlir::Location loc;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder inside;
  llvm::SmallVector<Stream> streams;
  llvm::SmallVector<Each> eachs;
  llvm::SmallVector<mlir::Value> scalars;
  mlir::BlockArgument number; ///< null without
};

/// An op over some of the tensors of `all`; `select` gives their part of a number for each.
MultiTensorOp createPart(mlir::OpBuilder &builder, mlir::Location loc, MultiTensorOp all,
                         llvm::ArrayRef<unsigned> tensors,
                         llvm::function_ref<mlir::Value(mlir::Value each)> select);
/// Some of the elements of a constant.
mlir::Value selectElements(mlir::OpBuilder &builder, ConstantOp constant,
                           llvm::ArrayRef<unsigned> elements);

} // namespace dlc::dl

#endif
