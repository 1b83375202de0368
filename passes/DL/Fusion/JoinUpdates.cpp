//===- JoinUpdates.cpp - updates behind what makes the gradient -------------------------------===//
//
// What an update makes of a tensor joins the region that computes the tensor's gradient, if nothing
// else needs that: then it is stored nowhere, and the update reads and writes the variables alone.
//
//   %dw = fused{ matmul(%dy^T, %x) }
//   %new:4 = dl.multi_tensor(%w, %b, %dw, %db, %v, %u) scalars(%lr, %momentum) { ... }
//   dl.assign @w, %new#0
//   dl.assign @w.momentum, %new#2
// ->
//   %all:2 = fused{ matmul(%dy^T, %x); ... } {dl.update}
//   %new:2 = dl.multi_tensor(%b, %db, %u) scalars(%lr, %momentum) { ... }
//   dl.assign @w, %all#0
//   dl.assign @w.momentum, %all#1
//
// Stays as it is: what is summed over ranks, clipped by a norm, adds up something, or is read by
// anything but its assignments.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Fusion/Join.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Update/MultiTensorBuilder.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What is looked for
//===------------------------------------------------------------------------------------------===//

/// Whether an element of the update needs nothing but the same element of each stream, and numbers
/// that are there from the beginning.
static bool isByElement(MultiTensorOp update) {
  return update.getSums() == 0 &&
         llvm::all_of(update.getEach(),
                      [](Value each) { return each.getDefiningOp<ConstantOp>(); }) &&
         llvm::all_of(update.getScalars(), [](Value scalar) {
           return scalar.getDefiningOp() && scalar.getDefiningOp()->hasTrait<StandsFirst>();
         });
}

/// The variable that result `number` is assigned to, if it is used for nothing else.
static StringRef assignedTo(Value result) {
  auto assign = result.hasOneUse() ? dyn_cast<AssignOp>(*result.user_begin()) : AssignOp();
  return assign ? assign.getVariable() : StringRef();
}

namespace {
/// An update of one tensor, and the region that computes its gradient for nothing else.
struct Match {
  MultiTensorOp update;
  unsigned tensor;
  FusedOp gradient;
  int64_t stream; ///< of the gradient
};
} // namespace

/// Whether its one result is row-major and of an anchor that takes updates.
static bool makesGradient(FusedOp fused, CandidateSource &source) {
  if (!fused || fused.getNumResults() != 1 || !fused.getCandidateAttr() ||
      !fused.getResult(0).hasOneUse() ||
      cast<RankedTensorType>(fused.getResult(0).getType()).getEncoding())
    return false;
  auto anchors = bodyOf(fused).getOps<AnchorOp>();
  return llvm::hasSingleElement(anchors) && source.takesUpdates(*anchors.begin());
}

/// Every stream but the gradient's is a variable, which a result is assigned to, and so are all
/// results.
static std::optional<Match> match(MultiTensorOp update, unsigned tensor, CandidateSource &source) {
  Match found{update, tensor, {}, -1};
  llvm::SmallDenseSet<StringRef> variables, assigned;
  for (int64_t stream = 0; stream < int64_t(update.getStreams()); ++stream) {
    Value value = update.getTensor(stream, tensor);
    if (auto read = value.getDefiningOp<ReadOp>())
      variables.insert(read.getVariable());
    else if (auto fused = value.getDefiningOp<FusedOp>();
             !found.gradient && makesGradient(fused, source))
      found.gradient = fused, found.stream = stream;
    else
      return std::nullopt;
  }
  for (int64_t run = 0; run < update.getResultStreams(); ++run)
    assigned.insert(assignedTo(update.getResultTensor(run, tensor)));
  const bool isWhole = !assigned.contains("") && llvm::set_is_subset(variables, assigned);
  return found.gradient && isWhole ? std::optional(found) : std::nullopt;
}

//===------------------------------------------------------------------------------------------===//
// Rewrites
//===------------------------------------------------------------------------------------------===//

namespace {
/// Writes the update's body for whole tensors.
class BodyWriter {
public:
  BodyWriter(OpBuilder &builder, RankedTensorType shape) : builder(builder), shape(shape) {}

  /// `arguments`: what the body's arguments are, tensors or numbers. Returns what it yields.
  SmallVector<Value> write(MultiTensorOp update, ValueRange arguments);

private:
  Value inShape(Value value);

  OpBuilder &builder;
  RankedTensorType shape;
  llvm::DenseMap<Value, Value> repeated;
};
} // namespace

static bool isNumber(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; }

/// `value`, a number for each element.
Value BodyWriter::inShape(Value value) {
  if (!isNumber(value))
    return value;
  Value &known = repeated[value];
  if (!known)
    known = TensorBuilder{builder, value.getLoc()}.broadcast(
        value, shape.clone(getElementTypeOrSelf(value)), {});
  return known;
}

SmallVector<Value> BodyWriter::write(MultiTensorOp update, ValueRange arguments) {
  Block &body = update.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op.getOperands(), [&](Value value) { return mapping.lookup(value); });
    const bool isOfNumbers = llvm::all_of(operands, isNumber);
    if (!isOfNumbers)
      llvm::transform(operands, operands.begin(), [&](Value value) { return inShape(value); });
    Operation *copy = builder.clone(op, mapping);
    copy->setOperands(operands);
    if (!isOfNumbers)
      for (Value result : copy->getResults())
        result.setType(shape.clone(getElementTypeOrSelf(result)));
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return inShape(mapping.lookup(value)); });
}

/// The number of `each`, a constant, for a tensor.
static Value numberOf(OpBuilder &builder, Value each, unsigned tensor) {
  auto values = cast<DenseElementsAttr>(each.getDefiningOp<ConstantOp>().getValue());
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(each));
  return ConstantOp::create(builder, each.getLoc(), type,
                            DenseElementsAttr::get(type, values.getValues<Attribute>()[tensor]));
}

/// A region that does the update of the one tensor, in front of the update.
static FusedOp regionOf(Match match) {
  auto [update, tensor, gradient, stream] = match;
  OpBuilder builder(update);
  const Location loc = gradient.getLoc();
  SmallVector<Value> operands;
  for (int64_t each = 0; each < int64_t(update.getStreams()); ++each)
    operands.push_back(update.getTensor(each, tensor));
  llvm::append_range(operands, update.getScalars());
  SmallVector<Type> types;
  for (int64_t run = 0; run < update.getResultStreams(); ++run)
    types.push_back(update.getResultTensor(run, tensor).getType());
  auto region = FusedOp::create(builder, loc, types, operands);
  Block &body = region.getBody().emplaceBlock();
  for (Value operand : operands)
    body.addArgument(operand.getType(), loc);
  builder.setInsertionPointToEnd(&body);
  // The update's body knows streams, then a number for each, then scalars, then the element's.
  SmallVector<Value> arguments(body.getArguments());
  SmallVector<Value> numbers = llvm::map_to_vector(
      update.getEach(), [&](Value each) { return numberOf(builder, each, tensor); });
  arguments.insert(arguments.begin() + update.getStreams(), numbers.begin(), numbers.end());
  auto shape = cast<RankedTensorType>(gradient.getResult(0).getType());
  if (update.getNumbered())
    arguments.push_back(IotaOp::create(builder, loc, shape.clone(builder.getI32Type()),
                                       llvm::to_vector(llvm::seq(shape.getRank())),
                                       DenseI64ArrayAttr()));
  YieldOp::create(builder, update.getLoc(), BodyWriter(builder, shape).write(update, arguments));
  return region;
}

/// What the update takes for one of its tensors.
static double secondsFor(Match match) {
  MultiTensorOp update = match.update;
  int64_t all = 0;
  for (int64_t i = 0; i < update.getCount(); ++i)
    all += bytesOf(update.getTensor(match.stream, i));
  return secondsOf(update) * double(bytesOf(match.gradient.getResult(0))) / double(all);
}

/// True if it pays: the results of the update for this tensor then have no uses.
static bool joinGradient(Joiner &joiner, Match match) {
  FusedOp alone = regionOf(match);
  FusedOp joined = joinRegions(match.gradient, alone, OfFirst::NotStored);
  joined->setAttr(updateAttr, UnitAttr::get(joined.getContext()));
  alone.erase();
  const double apart = secondsFor(match);
  if (!joiner.accept({{match.gradient, joined, apart}}, apart, JoinedCode::Any))
    return false;
  for (auto [run, result] : llvm::enumerate(joined.getResults()))
    match.update.getResultTensor(run, match.tensor).replaceAllUsesWith(result);
  return true;
}

static void joinGradients(Joiner &joiner, MultiTensorOp update) {
  SmallVector<FusedOp> joined;
  SmallVector<unsigned> rest;
  for (unsigned tensor = 0; tensor < update.getCount(); ++tensor) {
    std::optional<Match> found = match(update, tensor, joiner.source);
    if (found && joinGradient(joiner, *found))
      joined.push_back(found->gradient);
    else
      rest.push_back(tensor);
  }
  if (joined.empty())
    return;
  OpBuilder builder(update);
  if (!rest.empty())
    createPart(builder, update.getLoc(), update, rest, [&](Value each) {
      return selectElements(builder, each.getDefiningOp<ConstantOp>(), rest);
    });
  update.erase();
  for (FusedOp gradient : joined)
    gradient.erase();
}

void dlc::dl::joinUpdates(Joiner &joiner) {
  SmallVector<MultiTensorOp> updates(joiner.block.getOps<MultiTensorOp>());
  for (MultiTensorOp update : updates)
    if (isByElement(update))
      joinGradients(joiner, update);
}
