//===- MultiTensorBuilder.cpp - a multi_tensor, made by writing its body ----------------------===//
#include "passes/DL/Update/MultiTensorBuilder.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/Slice.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc::dl;

MultiTensorBuilder::MultiTensorBuilder(OpBuilder &outside, Location loc)
    : outside(outside), loc(loc), block(std::make_unique<Block>()), inside(outside.getContext()) {
  inside.setInsertionPointToEnd(block.get());
}

static RankedTensorType scalarOf(Value tensor) {
  return RankedTensorType::get({}, getElementTypeOrSelf(tensor));
}

Value MultiTensorBuilder::addStream(Stream stream, Type element) {
  streams.push_back(std::move(stream));
  return block->insertArgument(streams.size() - 1, element, loc);
}

Value MultiTensorBuilder::addStream(ValueRange tensors) {
  return addStream({llvm::to_vector(tensors)}, scalarOf(tensors.front()));
}

Value MultiTensorBuilder::addMade(Value term, Make make) {
  return addStream({{}, term, std::move(make)}, term.getType());
}

Value MultiTensorBuilder::addEach(Each each, Type element) {
  eachs.push_back(each);
  return block->insertArgument(streams.size() + eachs.size() - 1, element, loc);
}

Value MultiTensorBuilder::addEach(Value numbers) {
  return addEach({numbers, {}}, scalarOf(numbers));
}

Value MultiTensorBuilder::addEach(ArrayRef<double> numbers, Value like) {
  Builder b(outside.getContext());
  Type element = getElementTypeOrSelf(like).isF64() ? b.getF64Type() : b.getF32Type();
  auto type = RankedTensorType::get(int64_t(numbers.size()), element);
  SmallVector<Attribute> values = llvm::map_to_vector(
      numbers, [&](double number) -> Attribute { return b.getFloatAttr(element, number); });
  Value each =
      addEach(ConstantOp::create(outside, loc, type, DenseElementsAttr::get(type, values)));
  return TensorBuilder{inside, loc}.castLike(each, like);
}

Value MultiTensorBuilder::addEach(ArrayRef<int32_t> numbers) {
  auto type = RankedTensorType::get(int64_t(numbers.size()), outside.getI32Type());
  return addEach(
      ConstantOp::create(outside, loc, type, DenseElementsAttr::get(type, numbers)).getResult());
}

Value MultiTensorBuilder::addSum(Value term) { return addEach({{}, term}, term.getType()); }

Value MultiTensorBuilder::sumsFor(Value element) const {
  return eachs[cast<BlockArgument>(element).getArgNumber() - streams.size()].numbers;
}

Value MultiTensorBuilder::addScalar(Value scalar) {
  size_t index = llvm::find(scalars, scalar) - scalars.begin();
  if (index < scalars.size())
    return block->getArgument(streams.size() + eachs.size() + index);
  scalars.push_back(scalar);
  return block->insertArgument(streams.size() + eachs.size() + index, scalar.getType(), loc);
}

Value MultiTensorBuilder::addNumber() {
  if (!number)
    number = block->addArgument(RankedTensorType::get({}, outside.getI32Type()), loc);
  return number;
}

/// Whether all that `term` is computed from has been computed.
bool MultiTensorBuilder::isReady(Value term) const {
  auto slice = backwardSlice(term);
  for (auto [i, stream] : llvm::enumerate(streams))
    if (stream.tensors.empty() && slice.contains(block->getArgument(i)))
      return false;
  for (auto [i, each] : llvm::enumerate(eachs))
    if (!each.numbers && slice.contains(block->getArgument(streams.size() + i)))
      return false;
  return true;
}

/// An op that computes these, with so much of the body as they need.
MultiTensorOp MultiTensorBuilder::partOf(ArrayRef<Value> yielded, ArrayRef<Value> summed) {
  llvm::SetVector<Value> needed;
  for (ArrayRef<Value> terms : {yielded, summed})
    for (Value term : terms)
      needed.insert_range(backwardSlice(term));
  MultiTensorBuilder part(outside, loc);
  IRMapping mapping;
  for (BlockArgument argument : block->getArguments()) {
    size_t number = argument.getArgNumber();
    if (!needed.contains(argument))
      continue;
    if (argument == this->number)
      mapping.map(argument, part.addNumber());
    else if (number < streams.size())
      mapping.map(argument, part.addStream(streams[number].tensors));
    else if (number < streams.size() + eachs.size())
      mapping.map(argument, part.addEach(eachs[number - streams.size()].numbers));
    else
      mapping.map(argument, part.addScalar(scalars[number - streams.size() - eachs.size()]));
  }
  for (Operation &op : *block)
    if (needed.contains(op.getResult(0)))
      part.body().clone(op, mapping);
  auto own = [&](Value term) { return mapping.lookup(term); };
  return part.finish(llvm::map_to_vector(yielded, own), llvm::map_to_vector(summed, own));
}

/// Computes what the body asks for as sums and of whole tensors, in as few ops as they wait for
/// each other.
void MultiTensorBuilder::computeTerms() {
  auto isOpen = [](const Each &each) { return !each.numbers; };
  auto isUnmade = [](const Stream &stream) { return stream.tensors.empty(); };
  while (llvm::any_of(eachs, isOpen) || llvm::any_of(streams, isUnmade)) {
    SmallVector<Each *> sums;
    SmallVector<Stream *> made;
    for (Each &each : eachs)
      if (isOpen(each) && isReady(each.term))
        sums.push_back(&each);
    for (Stream &stream : streams)
      if (isUnmade(stream) && isReady(stream.term))
        made.push_back(&stream);
    auto termOf = [](const auto *waiting) { return waiting->term; };
    MultiTensorOp op = partOf(llvm::map_to_vector(made, termOf), llvm::map_to_vector(sums, termOf));
    for (auto [number, each] : llvm::enumerate(sums))
      each->numbers = op.getSum(number);
    for (auto [run, stream] : llvm::enumerate(made))
      for (unsigned i = 0; i < op.getCount(); ++i)
        stream->tensors.push_back(stream->make(op.getResultTensor(run, i), i));
  }
}

/// What the body holds for terms alone.
void MultiTensorBuilder::eraseUnused(ValueRange kept) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (op.use_empty() && !llvm::is_contained(kept, op.getResult(0)))
      op.erase();
}

Value dlc::dl::selectElements(OpBuilder &builder, ConstantOp constant,
                              ArrayRef<unsigned> elements) {
  auto values = cast<DenseElementsAttr>(constant.getValue()).getValues<Attribute>();
  SmallVector<Attribute> kept =
      llvm::map_to_vector(elements, [&](unsigned i) -> Attribute { return values[i]; });
  auto type = RankedTensorType::get({int64_t(kept.size())}, getElementTypeOrSelf(constant));
  return ConstantOp::create(builder, constant.getLoc(), type, DenseElementsAttr::get(type, kept));
}

MultiTensorOp dlc::dl::createPart(OpBuilder &builder, Location loc, MultiTensorOp all,
                                  ArrayRef<unsigned> tensors,
                                  llvm::function_ref<Value(Value)> select) {
  SmallVector<Value> some, each;
  for (int64_t stream = 0; stream < int64_t(all.getStreams()); ++stream)
    for (unsigned i : tensors)
      some.push_back(all.getTensor(stream, i));
  for (Value numbers : all.getEach())
    each.push_back(select(numbers));
  SmallVector<Type> types;
  for (int64_t run = 0; run < all.getResultStreams(); ++run)
    for (unsigned i : tensors)
      types.push_back(all.getResultTensor(run, i).getType());
  for (int64_t sum = 0; sum < int64_t(all.getSums()); ++sum)
    types.push_back(RankedTensorType::get({int64_t(tensors.size())},
                                          getElementTypeOrSelf(all.getSum(sum).getType())));
  auto part = MultiTensorOp::create(builder, loc, types, some, each, all.getScalars(),
                                    all.getStreams(), all.getSums(), all.getNumbered());
  IRMapping mapping;
  part.getBody().getBlocks().clear();
  all.getBody().cloneInto(&part.getBody(), mapping);
  for (int64_t run = 0; run < all.getResultStreams(); ++run)
    for (auto [place, i] : llvm::enumerate(tensors))
      all.getResultTensor(run, i).replaceAllUsesWith(part.getResultTensor(run, place));
  return part;
}

MultiTensorOp MultiTensorBuilder::finish(ValueRange yielded, ValueRange summed) {
  computeTerms();
  SmallVector<Type> types;
  for (Value value : yielded)
    for (Value tensor : streams.front().tensors)
      types.push_back(cast<RankedTensorType>(tensor.getType()).clone(getElementTypeOrSelf(value)));
  for (Value value : summed)
    types.push_back(RankedTensorType::get(int64_t(streams.front().tensors.size()),
                                          getElementTypeOrSelf(value)));
  SmallVector<Value> tensors, values(yielded);
  llvm::append_range(values, summed);
  for (const Stream &stream : streams)
    llvm::append_range(tensors, stream.tensors);
  eraseUnused(values);
  YieldOp::create(inside, loc, values);
  auto op = MultiTensorOp::create(
      outside, loc, types, tensors,
      llvm::map_to_vector(eachs, [](const Each &each) { return each.numbers; }), scalars,
      streams.size(), summed.size(), /*numbered=*/bool(number));
  op.getBody().getBlocks().clear();
  op.getBody().push_back(block.release());
  return op;
}
