//===- EntryConverter.cpp - one dl.entry becomes one exec.program -----------------------------===//
#include "passes/Conversion/EntryConverter.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/Layout.h"
#include "passes/DL/Memory/Buffers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc {

using dl::bytesOf;

FailureOr<int64_t> ScalarLayout::getOffset(dl::ScalarOp op) {
  auto [known, isNew] = scalars.insert({op.getName(), {op, 0}});
  dl::ScalarOp first = known->second.op;
  bool sameType = first.getResult().getType() == op.getResult().getType();
  if (first.getValue() != op.getValue() || first.getScheduled() != op.getScheduled() || !sameType) {
    (op.emitError() << "scalar '" << op.getName() << "' has another "
                    << (sameType ? "default" : "type") << " here")
            .attachNote(first.getLoc())
        << "first used here";
    return failure();
  }
  if (isNew) {
    int64_t bytes = bytesOf(op.getResult());
    known->second.offset = llvm::alignTo(end, bytes);
    end = known->second.offset + bytes;
  }
  return known->second.offset;
}

EntryConverter::EntryConverter(dl::EntryOp entry, const StateLayout &state, KernelOutliner &kernels,
                               ScalarLayout &scalars)
    : entry(entry), state(state), kernels(kernels), scalars(scalars),
      builder(entry->getParentRegion()) {}

LogicalResult EntryConverter::convert() {
  createProgram();
  builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
  planInPlace();
  for (BlockArgument input : entry.getBlock().getArguments())
    buffers[input] = exec::InputOp::create(builder, input.getLoc(), bufferType(bytesOf(input)),
                                           input.getArgNumber());
  for (auto read : entry.getBlock().getOps<dl::ReadOp>())
    emitRead(read);
  for (Operation &op : entry.getBlock())
    if (failed(emit(&op)))
      return failure();
  emitAssignments();
  emitOutputs();
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Planning: which values are computed where they are needed
//===------------------------------------------------------------------------------------------===//

void EntryConverter::planInPlace() {
  for (auto read : entry.getBlock().getOps<dl::ReadOp>())
    reads[read.getVariable()].push_back(read);
  for (auto assign : entry.getBlock().getOps<dl::AssignOp>()) {
    assignments[skipReshapes(assign.getValue())].push_back(assign);
    assigned.insert(assign.getVariable());
  }
  for (auto op : entry.getBlock().getOps<dl::MultiTensorOp>())
    planStreams(op);
  for (auto op : entry.getBlock().getOps<dl::MultiTensorOp>())
    planFlatResults(op);
  for (auto op : entry.getBlock().getOps<dl::AllReduceOp>())
    planReduction(op);
  // From the last on, since one may be part of another.
  for (Operation &op : llvm::reverse(entry.getBlock()))
    if (dl::isJoin(&op))
      planJoin(cast<dl::IndexOp>(op));
  for (auto assign : entry.getBlock().getOps<dl::AssignOp>())
    planAssignment(assign);
}

/// A stream of variables that follow each other in the state is passed as it is. Any other gets a
/// flat buffer, into which its tensors are computed if a kernel makes them and they are not
/// computed elsewhere, and copied otherwise.
void EntryConverter::planStreams(dl::MultiTensorOp op) {
  FlatLayout layout(op);
  for (auto [s, element] : llvm::enumerate(op.getStreamElements())) {
    FlatBuffer flat(layout, element);
    auto tensors = op.getTensors().slice(s * op.getCount(), op.getCount());
    Stream &stream = streams[op].emplace_back();
    auto variables =
        llvm::map_to_vector(tensors, [&](Value t) { return getReadVariable(memoryOf(t)); });
    if (StringRef first = state.findFlat(variables, flat); !first.empty()) {
      stream.flat = createState(first, flat.total, op.getLoc());
      continue;
    }
    // What an update before this one reads, in the same order, lies there already.
    std::vector<void *> values;
    for (Value tensor : tensors)
      values.push_back(memoryOf(tensor).getAsOpaquePointer());
    Value &shared = flatStreams[{std::move(values), {flat.offsets.begin(), flat.offsets.end()}}];
    if (shared) {
      stream.flat = shared;
      continue;
    }
    shared = stream.flat = createAlloc(flat.total, op.getLoc());
    if (flat.step > exec::alignment)
      shared.getDefiningOp()->setAttr(exec::stepName, builder.getI64IntegerAttr(flat.step));
    for (auto [tensor, offset, bytes] : llvm::zip(tensors, flat.offsets, flat.bytes)) {
      Value value = memoryOf(tensor);
      Operation *producer = value.getDefiningOp();
      bool direct =
          (isa_and_nonnull<dl::FusedOp, dl::AllReduceOp>(producer) || dl::isJoin(producer)) &&
          !placed.count(value);
      stream.copied.push_back(!direct);
      if (direct)
        placed[value] = createView(stream.flat, offset, bytes, value.getLoc());
    }
  }
}

/// Results that are all assigned to variables which follow each other are computed there, if no one
/// needs the old values.
void EntryConverter::planFlatResults(dl::MultiTensorOp op) {
  FlatLayout layout(op);
  int64_t count = op.getCount();
  for (auto [r, element] : llvm::enumerate(op.getResultElements())) {
    FlatBuffer flat(layout, element);
    SmallVector<dl::AssignOp> targets;
    SmallVector<StringRef> variables;
    for (int64_t i = 0; i < count; ++i) {
      auto known = assignments.find(op.getResultTensor(r, i));
      if (known == assignments.end())
        break;
      dl::AssignOp assign = known->second.front();
      // At the update itself every tensor of the same number may be read: it is at the same place
      // of its flat buffer.
      auto sameTensor = [&](OpOperand &use) {
        int64_t number = use.getOperandNumber();
        return number < static_cast<int64_t>(op.getTensors().size()) && number % count == i;
      };
      if (!canOverwrite(assign.getVariable(), op, sameTensor))
        break;
      targets.push_back(assign);
      variables.push_back(assign.getVariable());
    }
    bool all = static_cast<int64_t>(targets.size()) == count;
    StringRef first = all ? state.findFlat(variables, flat) : "";
    flatResults[op].push_back(first.empty() ? Value()
                                            : createState(first, flat.total, op.getLoc()));
    if (!first.empty())
      assignedInPlace.insert_range(targets);
  }
}

/// True if the sum over ranks may take the place of operand `number`: no one needs the operand
/// behind that. In the memory of a variable, what the entry assigns must take its place later, and
/// only updates, which come before that, may read the sum.
bool EntryConverter::isReducedInPlace(dl::AllReduceOp op, unsigned number) {
  Value operand = skipReshapes(op.getXs()[number]);
  if (auto read = operand.getDefiningOp<dl::ReadOp>()) {
    auto isOperand = [&](OpOperand &use) { return use.getOperandNumber() == number; };
    return assigned.contains(read.getVariable()) &&
           canOverwrite(read.getVariable(), op, isOperand) &&
           llvm::all_of(op.getYs()[number].getUsers(), llvm::IsaPred<dl::MultiTensorOp>);
  }
  if (!isa_and_nonnull<dl::FusedOp, dl::MultiTensorOp, dl::AllReduceOp>(operand.getDefiningOp()))
    return false;
  SmallVector<Value> same = {operand};
  for (size_t i = 0; i < same.size(); ++i)
    for (OpOperand &use : same[i].getUses()) {
      Operation *user = use.getOwner();
      if (dl::isView(user))
        same.push_back(user->getResult(0));
      else if (user == op ? use.getOperandNumber() != number
                          : isa<dl::ReturnOp, dl::AssignOp>(user) || dl::isJoin(user) ||
                                !user->isBeforeInBlock(op))
        return false;
    }
  return true;
}

/// The value in whose memory `value` lies: without reshapes and sums over ranks in place.
Value EntryConverter::memoryOf(Value value) {
  value = skipReshapes(value);
  while (auto reduced = value.getDefiningOp<dl::AllReduceOp>()) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (!isReducedInPlace(reduced, number))
      break;
    value = skipReshapes(reduced.getXs()[number]);
  }
  return value;
}

/// Tensors that no update has placed get one buffer, so that they are reduced as one.
void EntryConverter::planReduction(dl::AllReduceOp op) {
  SmallVector<Value> loose;
  for (Value y : op.getYs()) {
    Value value = memoryOf(y);
    if (isa<dl::FusedOp, dl::AllReduceOp>(value.getDefiningOp()) && !placed.count(value) &&
        !llvm::is_contained(loose, value))
      loose.push_back(value);
  }
  int64_t end = 0;
  SmallVector<int64_t> offsets;
  for (Value value : loose) {
    offsets.push_back(end);
    end += exec::alignUp(bytesOf(value));
  }
  if (loose.empty())
    return;
  Value flat = createAlloc(end, op.getLoc());
  for (auto [value, offset] : llvm::zip_equal(loose, offsets))
    placed[value] = createView(flat, offset, bytesOf(value), value.getLoc());
}

/// What is computed for this join, or for this one first, is computed where it lies in the result.
void EntryConverter::planJoin(dl::IndexOp op) {
  Value &whole = placed[op->getResult(0)];
  if (!whole)
    whole = createAlloc(bytesOf(op->getResult(0)), op.getLoc());
  for (auto [operand, view] : llvm::zip_equal(op->getOperands(), createPartViews(op, whole)))
    if (Value value = skipReshapes(operand); dl::joinOf(value) == op)
      placed.try_emplace(value, view);
}

/// A result of a kernel is computed in the variable that it is assigned to, if no one needs the old
/// value.
void EntryConverter::planAssignment(dl::AssignOp assign) {
  auto value = dyn_cast<OpResult>(skipReshapes(assign.getValue()));
  auto fused = value ? dyn_cast<dl::FusedOp>(value.getOwner()) : dl::FusedOp();
  if (!fused || placed.count(value))
    return;
  exec::KernelOp kernel = kernels.outline(fused);
  unsigned result = fused.getNumOperands() + value.getResultNumber();
  // Without dl-choose an anchor's code is taken later, and may be one that cannot work in place.
  const bool isKnown = fused.getCandidateAttr() || fused.getBody().getOps<dl::AnchorOp>().empty();
  auto sameIndex = [&](OpOperand &use) {
    auto pairs = kernel.getInPlaceAttr();
    return isKnown && pairs &&
           llvm::is_contained(
               pairs, exec::InPlaceAttr::get(assign.getContext(), use.getOperandNumber(), result));
  };
  if (!canOverwrite(assign.getVariable(), fused, sameIndex))
    return;
  placed[value] = createState(assign.getVariable(), bytesOf(value), assign.getLoc());
  assignedInPlace.insert(assign);
}

/// True if every use of the old value of `variable` comes before `producer` writes the new one.
/// Uses by the producer itself must be `allowed`. Outputs and assignments take a copy made at the
/// beginning.
bool EntryConverter::canOverwrite(StringRef variable, Operation *producer,
                                  llvm::function_ref<bool(OpOperand &)> allowed) {
  SmallVector<Value> olds(reads.lookup(variable));
  for (size_t i = 0; i < olds.size(); ++i)
    for (OpOperand &use : olds[i].getUses()) {
      Operation *user = use.getOwner();
      auto reduced = dyn_cast<dl::AllReduceOp>(user);
      if (dl::isView(user))
        olds.push_back(user->getResult(0));
      else if (isa<dl::ReturnOp, dl::AssignOp>(user))
        continue;
      else if (user == producer ? !allowed(use) : !user->isBeforeInBlock(producer))
        return false;
      else if (reduced && user != producer && isReducedInPlace(reduced, use.getOperandNumber()))
        olds.push_back(reduced.getYs()[use.getOperandNumber()]);
    }
  return true;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

LogicalResult EntryConverter::emit(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](dl::FusedOp fused) { return emitFused(fused); })
      .Case([&](dl::MultiTensorOp multi) { return emitMultiTensor(multi); })
      .Case([&](dl::UpdateRowsOp update) { return emitUpdateRows(update), success(); })
      .Case([&](dl::AllReduceOp reduced) { return emitAllReduce(reduced), success(); })
      .Case([&](dl::ScalarOp scalar) { return emitScalar(scalar); })
      .Case([&](dl::ConstantOp constant) {
        auto type = cast<RankedTensorType>(constant.getType());
        auto value = packConstant(cast<DenseElementsAttr>(constant.getValue()), type);
        buffers[constant] = createConstant(value, op->getLoc());
        return success();
      })
      .Case([&](dl::ReshapeOp reshape) -> LogicalResult {
        if (bytesOf(reshape.getX()) != bytesOf(reshape.getY()))
          return reshape.emitError() << "between these layouts a reshape is not a view";
        buffers[reshape] = buffers.lookup(reshape.getX());
        return success();
      })
      .Case([&](dl::IndexOp index) { return emitPlacement(index); })
      .Case<dl::ReadOp, dl::AssignOp, dl::ReturnOp>([](Operation *) { return success(); })
      .Default([](Operation *op) -> LogicalResult {
        return op->emitError() << "stands outside of a dl.fused, but runs as a kernel";
      });
}

/// A read is the variable's memory. Who needs the old value at the end, when it may be overwritten,
/// gets a copy of it.
void EntryConverter::emitRead(dl::ReadOp op) {
  Value buffer = buffers[op] = createState(op.getVariable(), bytesOf(op), op.getLoc());
  SmallVector<Value> olds = {op};
  bool isOutput = false, isMoved = false;
  for (size_t i = 0; i < olds.size(); ++i)
    for (Operation *user : olds[i].getUsers()) {
      if (dl::isView(user))
        olds.push_back(user->getResult(0));
      isOutput |= isa<dl::ReturnOp>(user);
      auto assign = dyn_cast<dl::AssignOp>(user);
      isMoved |=
          assign && assign.getVariable() != op.getVariable() && assigned.contains(op.getVariable());
    }
  if (isOutput || isMoved)
    snapshots[op] = createCopy(buffer, (op.getVariable() + "/read").str());
}

/// A piece of what is stored lies where it lies there.
LogicalResult EntryConverter::emitPlacement(dl::IndexOp op) {
  if (dl::isJoin(op))
    return emitJoin(op), success();
  if (!op.canLieInOperand())
    return op.emitError() << "stands outside of a dl.fused, but runs as a kernel";
  buffers[op->getResult(0)] = createView(buffers.lookup(op->getOperand(0)), op);
  return success();
}

/// Copies the parts that lie elsewhere.
void EntryConverter::emitJoin(dl::IndexOp op) {
  Value whole = buffers[op->getResult(0)] = placed.lookup(op->getResult(0));
  std::string name = (exec::getRecordName(op.getLoc()) + "/join").str();
  for (auto [operand, view] : llvm::zip_equal(op->getOperands(), createPartViews(op, whole))) {
    Value part = buffers.lookup(operand);
    exec::Extent from = exec::getExtent(part), to = exec::getExtent(view);
    if (from.getRegion() != to.getRegion() || from.offset != to.offset)
      createCopy(part, view, name);
  }
}

LogicalResult EntryConverter::emitScalar(dl::ScalarOp op) {
  FailureOr<int64_t> offset = scalars.getOffset(op);
  if (failed(offset))
    return failure();
  buffers[op] = exec::ScalarOp::create(builder, op.getLoc(), bufferType(bytesOf(op.getResult())),
                                       op.getNameAttr(), op.getValueAttr(),
                                       TypeAttr::get(op.getResult().getType().getElementType()),
                                       op.getScheduledAttr(), builder.getI64IntegerAttr(*offset));
  return success();
}

LogicalResult EntryConverter::emitFused(dl::FusedOp op) {
  SmallVector<Value> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(buffers.lookup(operand));
  bool empty = true;
  for (Value result : op.getResults()) {
    Value chosen = placed.lookup(result);
    buffers[result] = chosen ? chosen : createAlloc(bytesOf(result), op.getLoc());
    arguments.push_back(buffers[result]);
    empty &= bytesOf(result) == 0;
  }
  if (empty)
    return success();
  exec::LaunchOp launch = createLaunch(kernels.outline(op), arguments, op.getLoc());
  if (op->hasAttr("dl.recomputed"))
    launch->setAttr(exec::keepsPlaceName, builder.getUnitAttr());
  return success();
}

/// Copies the tensors of a stream that lie elsewhere into its flat buffer.
void EntryConverter::gatherStream(dl::MultiTensorOp op, size_t number) {
  const Stream &stream = streams[op][number];
  FlatBuffer flat{FlatLayout(op), op.getStreamElements()[number]};
  std::string name = (exec::getRecordName(op.getLoc()) + "/gather").str();
  for (auto [i, copied] : llvm::enumerate(stream.copied))
    if (copied)
      createCopy(buffers.lookup(op.getTensor(number, i)),
                 createView(stream.flat, flat.offsets[i], flat.bytes[i], op.getLoc()), name);
}

Value EntryConverter::createConstant(DenseElementsAttr value, Location loc) {
  return exec::ConstantOp::create(
      builder, loc, bufferType(program::storageBytes(cast<RankedTensorType>(value.getType()))),
      value);
}

LogicalResult EntryConverter::emitMultiTensor(dl::MultiTensorOp op) {
  FlatLayout layout(op);
  SmallVector<Value> arguments;
  for (auto [number, stream] : llvm::enumerate(streams[op])) {
    gatherStream(op, number);
    arguments.push_back(stream.flat);
  }
  for (ValueRange operands : {ValueRange(op.getEach()), ValueRange(op.getScalars())})
    for (Value operand : operands)
      arguments.push_back(buffers.lookup(operand));
  arguments.push_back(createConstant(layout.pieceTable(op.getContext()), op.getLoc()));
  if (op.getSums() != 0)
    arguments.push_back(createConstant(layout.firstPieces(op.getContext()), op.getLoc()));
  for (auto [r, element] : llvm::enumerate(op.getResultElements())) {
    FlatBuffer flat(layout, element);
    Value range = flatResults[op][r];
    arguments.push_back(range ? range : createAlloc(flat.total, op.getLoc()));
    for (int64_t i = 0; i < op.getCount(); ++i)
      buffers[op.getResultTensor(r, i)] =
          createView(arguments.back(), flat.offsets[i], flat.bytes[i], op.getLoc());
  }
  for (int64_t sum = 0; sum < int64_t(op.getSums()); ++sum) {
    arguments.push_back(createAlloc(bytesOf(op.getSum(sum)), op.getLoc()));
    buffers[op.getSum(sum)] = arguments.back();
  }
  if (layout.total > 0 || op.getSums() != 0)
    createLaunch(kernels.outline(op), arguments, op.getLoc());
  return success();
}

/// Each tensor is updated where it is, if it is a variable that no one needs as it was, and else in
/// a copy.
void EntryConverter::emitUpdateRows(dl::UpdateRowsOp op) {
  SmallVector<Value> arguments, results;
  for (auto [number, tensor, result] : llvm::enumerate(op.getTensors(), op->getResults())) {
    auto isTensor = [number = number](OpOperand &use) { return use.getOperandNumber() == number; };
    auto known = assignments.find(result);
    dl::AssignOp assign = known == assignments.end() ? dl::AssignOp() : known->second.front();
    Value place = buffers.lookup(tensor);
    if (assign && getReadVariable(tensor) == assign.getVariable() &&
        canOverwrite(assign.getVariable(), op, isTensor))
      assignedInPlace.insert(assign);
    else
      place = createCopy(place, (exec::getRecordName(op.getLoc()) + "/copy").str());
    results.push_back(buffers[result] = place);
  }
  arguments = results;
  for (Value operand : op->getOperands().drop_front(results.size()))
    arguments.push_back(buffers.lookup(operand));
  llvm::append_range(arguments, results);
  if (op.getRows().getType().getNumElements() != 0)
    createLaunch(kernels.outline(op), arguments, op.getLoc());
}

/// Tensors that lie one behind the other are reduced as one; where that compresses them without
/// gaps, whose contents would be part of it.
void EntryConverter::emitAllReduce(dl::AllReduceOp op) {
  std::string name = (exec::getRecordName(op.getLoc()) + "/gather").str();
  SmallVector<unsigned> run;
  auto finish = [&] {
    if (!run.empty())
      emitReduction(op, run);
    run.clear();
  };
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    Value buffer = buffers.lookup(op.getXs()[i]);
    if (!isReducedInPlace(op, i)) {
      Value sum = placed.lookup(op.getYs()[i]);
      createCopy(buffer, sum, name);
      buffer = sum;
    }
    buffers[op.getYs()[i]] = buffer;
    if (exec::getBytes(buffer) == 0)
      continue;
    if (!run.empty()) {
      exec::Extent last = exec::getExtent(buffers.lookup(op.getYs()[run.back()]));
      exec::Extent next = exec::getExtent(buffer);
      const int64_t behind = op.getKind() == program::CollectiveKind::Sum
                                 ? int64_t(llvm::alignTo(last.end(), exec::getStep(last)))
                                 : last.end();
      if (last.getRegion() != next.getRegion() || next.offset != behind)
        finish();
    }
    run.push_back(i);
  }
  finish();
}

/// Of tensors that follow each other, with the gaps between them.
void EntryConverter::emitReduction(dl::AllReduceOp op, ArrayRef<unsigned> tensors) {
  Value buffer = buffers.lookup(op.getYs()[tensors.front()]);
  exec::Extent first = exec::getExtent(buffer);
  int64_t bytes = exec::getExtent(buffers.lookup(op.getYs()[tensors.back()])).end() - first.offset;
  if (tensors.size() > 1 && first.space == exec::Space::Arena)
    buffer = createView(first.root->getResult(0), first.offset, bytes, op.getLoc());
  else if (tensors.size() > 1)
    buffer =
        createState(cast<exec::StateOp>(buffer.getDefiningOp()).getVariable(), bytes, op.getLoc());
  ArrayAttr of = op.getOfAttr();
  if (of)
    of = builder.getArrayAttr(
        llvm::map_to_vector(tensors, [&](unsigned i) -> Attribute { return of[i]; }));
  FloatAttr seconds = op.getSecondsAttr();
  if (seconds && tensors.size() < op.getNumResults()) {
    int64_t all = 0;
    for (Value y : op.getYs())
      all += bytesOf(y);
    seconds = builder.getF64FloatAttr(seconds.getValueAsDouble() * double(bytes) / double(all));
  }
  exec::AllReduceOp::create(builder, op.getLoc(), op.getKind(), buffer,
                            getElementTypeOrSelf(op.getYs().front().getType()), op.getChannel(),
                            /*stream=*/0, of, seconds);
}

/// Where `value` lies at the end, when a variable that it is, or is a piece of, may have changed.
Value EntryConverter::bufferAtEnd(Value value) {
  value = skipReshapes(value);
  if (Value snapshot = snapshots.lookup(value))
    return snapshot;
  if (!dl::isView(value.getDefiningOp()))
    return buffers.lookup(value);
  auto piece = cast<dl::IndexOp>(value.getDefiningOp());
  Value source = bufferAtEnd(piece->getOperand(0));
  return source != buffers.lookup(piece->getOperand(0)) ? createView(source, piece)
                                                        : buffers.lookup(value);
}

/// At the end, assigned values that were computed elsewhere are copied into their variables.
void EntryConverter::emitAssignments() {
  for (auto assign : entry.getBlock().getOps<dl::AssignOp>()) {
    Value value = skipReshapes(assign.getValue());
    bool isOldValue = getReadVariable(value) == assign.getVariable();
    if (assignedInPlace.contains(assign) || isOldValue)
      continue;
    Value target = createState(assign.getVariable(), bytesOf(value), assign.getLoc());
    createCopy(bufferAtEnd(value), target, (assign.getVariable() + "/assign").str());
  }
}

void EntryConverter::emitOutputs() {
  SmallVector<Value> outputs;
  for (auto [i, output] : llvm::enumerate(entry.getReturn().getOutputs())) {
    Value buffer = bufferAtEnd(output);
    if (exec::getExtent(buffer).space != exec::Space::Arena)
      buffer = createCopy(buffer, (entry.getOutputName(i) + "/output").str());
    outputs.push_back(buffer);
  }
  exec::OutputOp::create(builder, entry.getReturn().getLoc(), outputs);
}

//===------------------------------------------------------------------------------------------===//
// Attributes of the program
//===------------------------------------------------------------------------------------------===//

/// `dl.batch_axis` of an argument or result, -1 without one.
static int64_t getBatchAxis(DictionaryAttr attributes) {
  auto axis = attributes ? attributes.getAs<IntegerAttr>("dl.batch_axis") : IntegerAttr();
  return axis ? axis.getInt() : -1;
}

static DictionaryAttr getAttributes(ArrayAttr all, unsigned number) {
  return all ? cast<DictionaryAttr>(all[number]) : DictionaryAttr();
}

/// `name` of each argument, 0 without; null if no argument has it.
static DenseI64ArrayAttr getNumbers(dl::EntryOp entry, StringRef name) {
  SmallVector<int64_t> numbers;
  for (unsigned i = 0; i < entry.getArgumentTypes().size(); ++i) {
    auto number = entry.getArgAttrOfType<IntegerAttr>(i, name);
    numbers.push_back(number ? number.getInt() : 0);
  }
  return llvm::any_of(numbers, [](int64_t number) { return number != 0; })
             ? DenseI64ArrayAttr::get(entry.getContext(), numbers)
             : DenseI64ArrayAttr();
}

static SmallVector<Attribute> getInputs(dl::EntryOp entry) {
  SmallVector<Attribute> inputs;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    inputs.push_back(exec::ValueAttr::get(
        entry.getContext(), StringAttr::get(entry.getContext(), entry.getInputName(i)),
        program::ValueKind::Input, cast<RankedTensorType>(type),
        getBatchAxis(getAttributes(entry.getArgAttrsAttr(), i)), {}));
  return inputs;
}

static SmallVector<Attribute> getOutputs(dl::EntryOp entry) {
  SmallVector<Attribute> outputs;
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes())) {
    DictionaryAttr attributes = getAttributes(entry.getResAttrsAttr(), i);
    auto of = attributes ? attributes.getAs<FlatSymbolRefAttr>("dl.of") : FlatSymbolRefAttr();
    outputs.push_back(exec::ValueAttr::get(
        entry.getContext(), StringAttr::get(entry.getContext(), entry.getOutputName(i)),
        entry.getOutputKind(i), cast<RankedTensorType>(type), getBatchAxis(attributes), of));
  }
  return outputs;
}

void EntryConverter::createProgram() {
  builder.setInsertionPointToEnd(entry->getBlock());
  IntegerAttr valid;
  int64_t batch = 0;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    DictionaryAttr attributes = getAttributes(entry.getArgAttrsAttr(), i);
    if (attributes && attributes.contains("dl.valid"))
      valid = builder.getI64IntegerAttr(i);
    if (int64_t axis = getBatchAxis(attributes); axis >= 0 && batch == 0)
      batch = cast<RankedTensorType>(type).getDimSize(axis);
  }
  ArrayAttr metrics = entry.getMetricsAttr() ? entry.getMetricsAttr() : builder.getArrayAttr({});
  program = exec::ProgramOp::create(builder, entry.getLoc(), entry.getSymName(), entry.getKind(),
                                    batch, builder.getArrayAttr(getInputs(entry)),
                                    builder.getArrayAttr(getOutputs(entry)), metrics,
                                    entry.getScheduleAttr(), valid);
  if (entry.getEvery())
    program.setEvery(*entry.getEvery());
  for (StringRef forReport : {"dl.memory", "dl.conversions"})
    if (Attribute value = entry->getAttr(forReport))
      program->setAttr(forReport, value);
  for (StringRef name : {"dl.classes", "dl.ignored"})
    if (DenseI64ArrayAttr numbers = getNumbers(entry, name))
      program->setAttr(name, numbers);
}

//===------------------------------------------------------------------------------------------===//
// Small parts
//===------------------------------------------------------------------------------------------===//

exec::BufferType EntryConverter::bufferType(int64_t bytes) {
  return exec::BufferType::get(entry.getContext(), bytes);
}

Value EntryConverter::createAlloc(int64_t bytes, Location loc) {
  return exec::AllocOp::create(builder, loc, bufferType(bytes), IntegerAttr());
}

Value EntryConverter::createView(Value source, int64_t offset, int64_t bytes, Location loc) {
  return exec::ViewOp::create(builder, loc, bufferType(bytes), source, offset);
}

Value EntryConverter::createView(Value source, dl::IndexOp piece) {
  Value result = piece->getResult(0);
  int64_t element = program::elementBytes(getElementTypeOrSelf(result));
  return createView(source, *piece.getPieceBegin() * element, bytesOf(result), piece.getLoc());
}

/// Where the operands lie in the result's memory.
SmallVector<Value> EntryConverter::createPartViews(dl::IndexOp join, Value whole) {
  SmallVector<Value> views;
  int64_t element = program::elementBytes(getElementTypeOrSelf(join->getResult(0)));
  for (auto [operand, begin] : llvm::zip_equal(join->getOperands(), join.getPartBegins()))
    views.push_back(createView(whole, begin * element, bytesOf(operand), join.getLoc()));
  return views;
}

Value EntryConverter::createState(StringRef variable, int64_t bytes, Location loc) {
  return exec::StateOp::create(builder, loc, bufferType(bytes), variable,
                               state.getOffset(variable));
}

Value EntryConverter::createCopy(Value source, StringRef name) {
  Value copy = createAlloc(exec::getBytes(source), entry.getLoc());
  createCopy(source, copy, name);
  return copy;
}

void EntryConverter::createCopy(Value source, Value destination, StringRef name) {
  if (exec::getBytes(source) > 0)
    exec::CopyOp::create(builder, NameLoc::get(builder.getStringAttr(name)), source, destination);
}

exec::LaunchOp EntryConverter::createLaunch(exec::KernelOp kernel, ArrayRef<Value> arguments,
                                            Location loc) {
  SmallVector<int32_t> access;
  for (unsigned i = 0; i < kernel.getNumBuffers(); ++i)
    access.push_back(static_cast<int32_t>(kernel.getBuffer(i).getAccess()));
  return exec::LaunchOp::create(builder, loc, kernel.getSymName(), arguments, access);
}

} // namespace dlc
