//===- MultiTensorBuilder.cpp - a multi_tensor, made by writing its body ----------------------===//
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc::dl;

MultiTensorBuilder::MultiTensorBuilder(OpBuilder &outside, Location loc)
    : outside(outside), loc(loc), block(std::make_unique<Block>()), inside(outside.getContext()) {
  inside.setInsertionPointToEnd(block.get());
}

Value MultiTensorBuilder::addStream(ValueRange tensors) {
  Type element = RankedTensorType::get({}, getElementTypeOrSelf(tensors.front().getType()));
  streams.push_back(llvm::to_vector(tensors));
  return block->insertArgument(streams.size() - 1, element, loc);
}

Value MultiTensorBuilder::addMultiplier(ArrayRef<double> numbers) {
  multipliers.push_back(llvm::to_vector(numbers));
  return block->insertArgument(streams.size() + multipliers.size() - 1,
                               RankedTensorType::get({}, outside.getF32Type()), loc);
}

Value MultiTensorBuilder::addScalar(Value scalar) {
  size_t index = llvm::find(scalars, scalar) - scalars.begin();
  if (index < scalars.size())
    return block->getArgument(streams.size() + multipliers.size() + index);
  scalars.push_back(scalar);
  return block->addArgument(scalar.getType(), loc);
}

MultiTensorOp MultiTensorBuilder::finish(ValueRange yielded) {
  SmallVector<Type> types;
  for (size_t i = 0; i < yielded.size(); ++i)
    for (Value tensor : streams.front())
      types.push_back(tensor.getType());
  SmallVector<double> numbers;
  for (size_t i = 0; i < streams.front().size(); ++i)
    for (ArrayRef<double> each : multipliers)
      numbers.push_back(each[i]);
  SmallVector<Value> tensors;
  for (ArrayRef<Value> stream : streams)
    llvm::append_range(tensors, stream);
  YieldOp::create(inside, loc, yielded);
  auto op = MultiTensorOp::create(outside, loc, types, tensors, scalars, streams.size(), numbers);
  op.getBody().getBlocks().clear();
  op.getBody().push_back(block.release());
  return op;
}
