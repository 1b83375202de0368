//===- Differentiate.cpp - gradient(y, xs), and the gradients of an entry's loss --------------===//
//
//   %dx = dl.gradient %y by %x : tensor<f32> by tensor<8x3xf32>
//   %loss = ... %dx ...
//   dl.return %sum loss(%loss)
// ->
//   %dx = ...
//   %loss = ... %dx ...
//   %dw = dl.convolution_backward_filter %x, %dy ...
//   dl.return %sum, %dw
//
// A gradient is one reverse sweep over what stands in front of it, which is in topological order:
// when an op is reached, all contributions to the gradients of its results are there. Each
// dl.gradient is one, in the order of the block, so that what it builds is there when a later one
// or the loss is differentiated; the loss is the last. Rules stand with the ops
// (DifferentiableOp); a composite without a rule is replaced by its decomposition when the sweep
// reaches it. A y that does not depend on its x is an error, as is a loss that depends on no
// updated parameter: it names the op at which the gradient ends; a parameter of several that the
// loss does not depend on has gradient zero, with a warning.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Precision/LossScale.h"
#include "passes/DL/Precision/Precision.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "passes/DL/Simplify/JoinPads.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc::dl {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

namespace {

/// For ops made from a composite: what the user wrote.
using CompositeNames = llvm::DenseMap<Operation *, std::string>;

/// One gradient(y, xs).
class ReverseSweep {
public:
  /// What it builds stands in front of `end`, behind y. Messages call y by `phrase`, "the loss".
  ReverseSweep(Value y, StringRef phrase, Operation *end, CompositeNames &composites)
      : y(y), phrase(phrase), end(end), builder(end), composites(composites) {}

  /// Builds dy/dx for each of `xs`; failure after an error.
  LogicalResult run(ArrayRef<Value> xs);

  /// dy/dx, null where y does not depend on x.
  Value gradientOf(Value x) const { return gradients.lookup(x); }

  /// The error that y depends on none of what it should, with `message` and the op where the
  /// gradient ends, if there is one; otherwise at `loc`.
  LogicalResult failUnreached(Location loc, StringRef message);

private:
  void markActive(Operation *op);
  bool isActiveFloat(Value value) { return isFloat(value.getType()) && active.contains(value); }
  LogicalResult visit(Operation *&op);
  Operation *decompose(DecomposableOp op);
  LogicalResult applyRule(DifferentiableOp rule);
  LogicalResult buildWide(Operation *op, ArrayRef<Value> resultGradients, ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGradients);
  void nameStages(Operation *op, Operation *before, ArrayRef<Value> operandGradients);
  void accumulate(Value value, Value contribution);
  void add(Value value, Value contribution);
  void joinPieces(Value value);
  Operation *whereGradientEnds(Operation *op);

  std::string spelling(Operation *op);
  void notePath(InFlightDiagnostic &diagnostic, Operation *op);

  Value y;
  StringRef phrase;
  Operation *end;
  OpBuilder builder;
  CompositeNames &composites;
  /// Values that depend on an x.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
  /// Gradients of pieces of values, still to be joined.
  llvm::MapVector<Value, SmallVector<PadOp>> pieces;
  /// Ops through which no gradient flowed although one arrived: for the error that names one.
  SmallVector<Operation *> blocked;
};

/// All gradients of one entry.
class EntryGradients {
public:
  EntryGradients(EntryOp entry, SymbolTable &symbols) : entry(entry), symbols(symbols) {}

  /// Leaves the entry without dl.gradient, and one that trains with gradients as results and
  /// without a loss; failure after an error.
  LogicalResult run();

private:
  void mergeReads();
  LogicalResult resolve(GradientOp request);
  LogicalResult differentiateParts(SmallVectorImpl<UpdateAttr> &updates);
  LogicalResult differentiateLoss();
  SmallVector<Value> readsOf(ArrayRef<UpdateAttr> updates);
  Value scaled(Value loss);
  Value unscaled(Value gradient);
  void addGradient(VariableOp parameter, Value gradient, StringRef suffix = {});
  void addOutputs();
  Value zeroGradient(VariableOp parameter);

  EntryOp entry;
  SymbolTable &symbols;
  /// What the loss is multiplied by and gradients are divided by; null without.
  Value scale;
  /// The one value of each variable that the entry reads.
  llvm::DenseMap<StringAttr, Value> reads;
  CompositeNames composites;
  SmallVector<EntryOutput> added; ///< results that the entry gets when all of a loss's are there
};

} // namespace

/// A parameter's layer and own name: `features.conv2` and `weight`.
static std::pair<StringRef, StringRef> splitName(StringRef parameter) {
  auto [layer, name] = parameter.rsplit('.');
  return name.empty() ? std::pair(StringRef(), layer) : std::pair(layer, name);
}

/// The words of the stage in which `gradientOp` computes an operand's gradient.
static std::string stageOf(Operation *gradientOp, Value operand) {
  auto isView = [](Operation *op) {
    auto index = dyn_cast<IndexOp>(op);
    return isa<CastOp>(op) || (index && index.isView());
  };
  Operation *source = operand.getDefiningOp();
  while (source && isView(source))
    source = source->getOperand(0).getDefiningOp();
  auto read = dyn_cast_or_null<ReadOp>(source);
  StringRef parameter = read ? splitName(read.getVariable()).second : StringRef();
  auto anchor = dyn_cast<AnchorOp>(gradientOp);
  return anchor ? anchor.getGradientStage(parameter) : gradientStage(parameter);
}

void ReverseSweep::markActive(Operation *op) {
  if (llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
    active.insert(op->result_begin(), op->result_end());
}

LogicalResult ReverseSweep::run(ArrayRef<Value> xs) {
  active.insert(xs.begin(), xs.end());
  for (Operation *op = &end->getBlock()->front(); op != end; op = op->getNextNode())
    markActive(op);

  Operation *last = end->getPrevNode();
  gradients[y] = ConstantOp::createSplat(builder, stageLoc(y.getLoc(), "backward"),
                                         cast<RankedTensorType>(y.getType()), 1.0);
  while (last)
    if (failed(visit(last)))
      return failure();
  for (Value input : end->getBlock()->getArguments())
    joinPieces(input);
  return success();
}

/// Differentiates `op` if a gradient arrives at it, and moves `op` on to the next one to visit.
LogicalResult ReverseSweep::visit(Operation *&op) {
  llvm::for_each(op->getResults(), [&](Value result) { joinPieces(result); });
  bool arrives =
      llvm::any_of(op->getResults(), [&](Value result) { return gradients.contains(result); });
  bool depends =
      llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); });
  if (arrives && depends) {
    if (auto composite = dyn_cast<DecomposableOp>(op); composite && !isa<DifferentiableOp>(op)) {
      op = decompose(composite);
      return success();
    }
    auto rule = dyn_cast<DifferentiableOp>(op);
    if (!rule &&
        llvm::any_of(op->getOperands(), [&](Value operand) { return isActiveFloat(operand); })) {
      InFlightDiagnostic error = emitError(op->getLoc()) << spelling(op) << " has no gradient, and "
                                                         << phrase << " depends on it";
      notePath(error, op);
      return error;
    }
    if (!rule)
      blocked.push_back(op);
    else if (failed(applyRule(rule)))
      return failure();
  }
  op = op->getPrevNode();
  return success();
}

/// Puts the formula of `composite` in its place and returns the last op of it, where the sweep goes
/// on. The composite stays, dead, as its results may be an x.
Operation *ReverseSweep::decompose(DecomposableOp composite) {
  Operation *op = composite, *before = op->getPrevNode();
  OpBuilder inPlace(op);
  std::string name = spelling(op);
  SmallVector<Value> formula = composite.decompose(inPlace);
  passTF32On(op, before, op);
  for (Operation *part = before ? before->getNextNode() : &op->getBlock()->front(); part != op;
       part = part->getNextNode()) {
    composites[part] = name;
    markActive(part);
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), formula)) {
    result.replaceAllUsesWith(value);
    if (Value arrived = gradients.lookup(result))
      accumulate(value, arrived);
  }
  return op->getPrevNode();
}

/// The rule of an element-wise op of 16 bits in f32: what it gives is rounded once, as the op's
/// own result is.
LogicalResult ReverseSweep::buildWide(Operation *op, ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandGradients) {
  TensorBuilder b{builder, op->getLoc()};
  Type f32 = builder.getF32Type();
  auto widen = [&](Value value) {
    return value && isFloat(value.getType()) ? b.cast(value, f32) : value;
  };
  Operation *wide = builder.clone(*op);
  builder.setInsertionPoint(wide);
  wide->setOperands(llvm::map_to_vector(op->getOperands(), widen));
  wide->getResult(0).setType(b.typeOf(op->getResult(0)).clone(f32));
  Value result = widen(op->getResult(0));
  builder.setInsertionPoint(end);
  SmallVector<Value> gradients = llvm::map_to_vector(resultGradients, widen),
                     found(operandGradients.size());
  if (failed(cast<DifferentiableOp>(wide).buildGradient(builder, gradients, wanted, found)))
    return failure();
  for (auto [operand, wider, gradient] :
       llvm::zip_equal(op->getOperands(), found, operandGradients))
    gradient = wider ? b.castLike(wider, operand) : Value();
  wide->getResult(0).replaceAllUsesWith(result);
  wide->erase();
  return success();
}

LogicalResult ReverseSweep::applyRule(DifferentiableOp rule) {
  Operation *op = rule;
  SmallVector<Value> resultGradients, operandGradients(op->getNumOperands());
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands())
    wanted.push_back(isActiveFloat(operand));

  Operation *before = end->getPrevNode();
  const bool isWide = roundsGradient(op) && getElementTypeOrSelf(op->getResult(0)).isFloat(16);
  if (failed(isWide ? buildWide(op, resultGradients, wanted, operandGradients)
                    : rule.buildGradient(builder, resultGradients, wanted, operandGradients)))
    return failure();
  nameStages(op, before, operandGradients);
  passTF32On(op, before, end);
  if (llvm::none_of(operandGradients, [](Value gradient) { return gradient != nullptr; }))
    blocked.push_back(op);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients))
    if (gradient)
      accumulate(operand, gradient);
  return success();
}

/// Names the ops that a rule made (those behind `before`) after the forward op and the operand that
/// they serve.
void ReverseSweep::nameStages(Operation *op, Operation *before, ArrayRef<Value> operandGradients) {
  llvm::DenseSet<Operation *> unnamed;
  for (Operation *made = before->getNextNode(); made != end; made = made->getNextNode())
    unnamed.insert(made);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients)) {
    Operation *root = gradient ? gradient.getDefiningOp() : nullptr;
    if (!root)
      continue;
    std::string stage = stageOf(root, operand);
    SmallVector<Operation *> pending = {root};
    while (!pending.empty()) {
      Operation *made = pending.pop_back_val();
      if (!made || !unnamed.erase(made))
        continue;
      made->setLoc(stageLoc(op->getLoc(), stage));
      for (Value source : made->getOperands())
        pending.push_back(source.getDefiningOp());
    }
  }
  for (Operation *made : unnamed)
    made->setLoc(stageLoc(op->getLoc(), "backward"));
}

void ReverseSweep::accumulate(Value value, Value contribution) {
  if (auto piece = contribution.getDefiningOp<PadOp>())
    pieces[value].push_back(piece);
  else
    add(value, contribution);
}

/// What the gradients of pieces add up to: tensors that pieces lie in side by side, not one tensor
/// for each piece, mostly zeros.
void ReverseSweep::joinPieces(Value value) {
  auto found = pieces.find(value);
  if (found == pieces.end())
    return;
  for (Value sum : joinPads(builder, stageLoc(value.getLoc(), "backward_sum"), found->second))
    add(value, sum);
  pieces.erase(found);
}

void ReverseSweep::add(Value value, Value contribution) {
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, stageLoc(value.getLoc(), "backward_sum"), sum, contribution)
                  .getResult()
            : contribution;
}

/// From an op that passes no gradient on, up to the op that makes integers or bools of floats: not
/// the cast of an argmax to float is what has no gradient, but the argmax.
Operation *ReverseSweep::whereGradientEnds(Operation *op) {
  while (llvm::none_of(op->getOperands(), [&](Value operand) { return isActiveFloat(operand); })) {
    auto operand =
        llvm::find_if(op->getOperands(), [&](Value operand) { return active.contains(operand); });
    op = (*operand).getDefiningOp();
  }
  return op;
}

LogicalResult ReverseSweep::failUnreached(Location loc, StringRef message) {
  if (blocked.empty())
    return emitError(loc) << message;
  Operation *last = whereGradientEnds(blocked.front());
  InFlightDiagnostic error = emitError(last->getLoc())
                             << message << ": " << spelling(last) << " has no gradient";
  notePath(error, last);
  return error;
}

/// The op as the user knows it: what the source has there, else the name of the composite that it
/// comes from, else its own.
std::string ReverseSweep::spelling(Operation *op) {
  if (std::string written = writtenName(op->getLoc()); !written.empty())
    return (stageName(op).empty() ? "" : "the gradient of ") + written;
  auto composite = composites.find(op);
  return composite != composites.end() ? composite->second : op->getName().stripDialect().str();
}

/// Adds the note `path to the loss: argmax -> cast -> reduce -> loss`, a shortest path from `op`.
void ReverseSweep::notePath(InFlightDiagnostic &diagnostic, Operation *op) {
  llvm::DenseMap<Operation *, Operation *> next;
  SmallVector<Operation *> pending = {y.getDefiningOp()};
  next[y.getDefiningOp()] = nullptr;
  for (size_t i = 0; i < pending.size() && !next.contains(op); ++i)
    for (Value operand : pending[i]->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && next.try_emplace(source, pending[i]).second)
        pending.push_back(source);

  std::string path, previous;
  for (Operation *step = op; step; step = next.lookup(step)) {
    std::string name = spelling(step);
    if (name != previous)
      path += name + " -> ";
    previous = name;
  }
  diagnostic.attachNote(y.getLoc())
      << "path to " << phrase << ": " << path << phrase.substr(phrase.rfind(' ') + 1);
}

//===------------------------------------------------------------------------------------------===//
// Entries
//===------------------------------------------------------------------------------------------===//

/// Several reads of one variable become one, so that there is one value to differentiate by.
void EntryGradients::mergeReads() {
  for (ReadOp read : llvm::make_early_inc_range(entry.getBlock().getOps<ReadOp>())) {
    auto [first, inserted] = reads.try_emplace(read.getVariableAttr().getAttr(), read.getResult());
    if (!inserted) {
      read.getResult().replaceAllUsesWith(first->second);
      read.erase();
    }
  }
}

LogicalResult EntryGradients::resolve(GradientOp request) {
  // Rules and decompositions put other values in the place of those that it names.
  SmallVector<Value> xs(request.getXs());
  ReverseSweep sweep(request.getY(), "y", request, composites);
  if (failed(sweep.run(xs)))
    return failure();
  for (auto [x, result] : llvm::zip_equal(xs, request.getResults())) {
    Value gradient = sweep.gradientOf(x);
    if (!gradient)
      return sweep.failUnreached(request.getLoc(),
                                 "the y of this gradient does not depend on its x");
    result.replaceAllUsesWith(gradient);
  }
  request.erase();
  return success();
}

/// Warns about a parameter whose gradient is zero, and makes it.
Value EntryGradients::zeroGradient(VariableOp parameter) {
  emitWarning(parameter.getLoc()) << "the loss of '" << entry.getSymName()
                                  << "' does not depend on the parameter '"
                                  << parameter.getSymName() << "': its gradient is zero";
  auto [layer, name] = splitName(parameter.getSymName());
  OpBuilder builder(entry.getReturn());
  Location loc =
      NameLoc::get(builder.getStringAttr(layer + "/backward_" + name), parameter.getLoc());
  return ConstantOp::createSplat(builder, loc, parameter.getTensorType(), 0.0);
}

/// A zero of `input` where the loss does not depend on it.
static Value inputGradient(const ReverseSweep &sweep, BlockArgument input, Value loss) {
  if (Value gradient = sweep.gradientOf(input))
    return gradient;
  OpBuilder builder(input.getOwner()->getTerminator());
  return ConstantOp::createSplat(builder, stageLoc(loss.getLoc(), "backward"),
                                 cast<RankedTensorType>(input.getType()), 0.0);
}

/// The sum of the losses.
static Value wholeLoss(ReturnOp end) {
  OpBuilder builder(end);
  Value whole;
  for (Value loss : end.getLosses())
    whole = whole ? TensorBuilder{builder, stageLoc(loss.getLoc(), "sum")}.add(whole, loss) : loss;
  return whole;
}

/// The loss as it is differentiated.
Value EntryGradients::scaled(Value loss) {
  if (!scale)
    return loss;
  OpBuilder builder(entry.getReturn());
  TensorBuilder b{builder, stageLoc(loss.getLoc(), "scale")};
  return b.multiply(loss, b.castLike(scale, loss));
}

/// A gradient of the scaled loss as one of the loss. Of 16 bits it is divided in f32: f16 has no
/// room for a scale of 65536. Where few rows of a table have one, these are divided: their sum is
/// what SparsifyUpdates looks for.
Value EntryGradients::unscaled(Value gradient) {
  if (!scale)
    return gradient;
  OpBuilder builder(entry.getReturn());
  TensorBuilder b{builder, gradient.getLoc()};
  RankedTensorType type = b.typeOf(gradient);
  Type element = type.getElementType();
  auto rows = gradient.getDefiningOp<ScatterAddOp>();
  if (rows && element.getIntOrFloatBitWidth() >= 32 &&
      rows.getValues().getType().getNumElements() < type.getNumElements())
    return ScatterAddOp::create(builder, rows.getLoc(), type, unscaled(rows.getValues()),
                                rows.getIndex(), rows.getAxis());
  Value wide = b.cast(gradient, element.isF64() ? element : builder.getF32Type());
  Value quotient = b.divide(wide, b.broadcast(b.castLike(scale, wide), b.typeOf(wide), {}));
  return b.cast(quotient, element);
}

void EntryGradients::addGradient(VariableOp parameter, Value gradient, StringRef suffix) {
  added.emplace_back(unscaled(gradient), ("gradient." + parameter.getSymName() + suffix).str(),
                     program::ValueKind::Gradient);
  added.back().attributes.append("dl.of", FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
}

void EntryGradients::addOutputs() {
  entry.addOutputs(added);
  added.clear();
}

/// Batches whose gradients an update averages weigh each loss by a number of its own, and what all
/// of them weigh is not known before the last: a parameter has a gradient of each loss that it is
/// behind. Leaves in `updates` those that are behind none.
LogicalResult EntryGradients::differentiateParts(SmallVectorImpl<UpdateAttr> &updates) {
  llvm::DenseSet<UpdateAttr> reached;
  Builder builder(entry.getContext());
  for (unsigned part = 0; part < entry.getReturn().getLosses().size(); ++part) {
    ReverseSweep sweep(scaled(entry.getReturn().getLosses()[part]), "the loss", entry.getReturn(),
                       composites);
    if (failed(sweep.run(readsOf(updates))))
      return failure();
    for (UpdateAttr update : updates) {
      auto variable = symbols.lookup<VariableOp>(update.getVariable().getAttr());
      Value gradient = sweep.gradientOf(reads.lookup(variable.getSymNameAttr()));
      if (!gradient)
        continue;
      addGradient(variable, gradient, ("#" + Twine(part + 1)).str());
      added.back().attributes.append("dl.loss", builder.getI64IntegerAttr(part));
      reached.insert(update);
    }
    addOutputs();
  }
  llvm::erase_if(updates, [&](UpdateAttr update) { return reached.contains(update); });
  return success();
}

/// What the entry reads of the parameters that it updates.
SmallVector<Value> EntryGradients::readsOf(ArrayRef<UpdateAttr> updates) {
  SmallVector<Value> values;
  for (UpdateAttr update : updates)
    if (Value read = reads.lookup(update.getVariable().getAttr()))
      values.push_back(read);
  return values;
}

/// Turns gradients of the loss into results: of the parameters in the order of `updates`, then of
/// the float inputs.
LogicalResult EntryGradients::differentiateLoss() {
  auto updates = llvm::to_vector(entry.getUpdatesAttr().getAsRange<UpdateAttr>());
  const bool isApart = entry.getAccumulate() && entry.getReturn().getLosses().size() > 1;
  if (isApart && failed(differentiateParts(updates)))
    return failure();
  SmallVector<Value> parameters = readsOf(updates), inputs;
  for (BlockArgument argument : entry.getBlock().getArguments())
    if (isFloat(argument.getType()))
      inputs.push_back(argument);

  Value loss = scaled(wholeLoss(entry.getReturn()));
  ReverseSweep sweep(loss, "the loss", entry.getReturn(), composites);
  if (failed(sweep.run(llvm::to_vector(llvm::concat<Value>(parameters, inputs)))))
    return failure();
  if (!updates.empty() && updates.size() == entry.getUpdates()->size() &&
      llvm::none_of(parameters, [&](Value read) { return bool(sweep.gradientOf(read)); }))
    return sweep.failUnreached(loss.getLoc(), "the loss does not depend on any updated parameter");

  entry.getReturn().getLossesMutable().clear();
  for (UpdateAttr update : updates) {
    auto variable = symbols.lookup<VariableOp>(update.getVariable().getAttr());
    Value gradient = sweep.gradientOf(reads.lookup(variable.getSymNameAttr()));
    addGradient(variable, gradient ? gradient : zeroGradient(variable));
  }
  for (Value input : inputs) {
    unsigned index = cast<BlockArgument>(input).getArgNumber();
    // A parameter of that name has its own.
    StringRef inputName = entry.getInputName(index);
    std::string name =
        (symbols.lookup(inputName) ? "gradient.input." : "gradient.") + inputName.str();
    added.emplace_back(unscaled(inputGradient(sweep, cast<BlockArgument>(input), loss)), name,
                       program::ValueKind::Gradient);
    if (Attribute axis = entry.getArgAttr(index, "dl.batch_axis"))
      added.back().attributes.append("dl.batch_axis", axis);
  }
  addOutputs();
  return success();
}

LogicalResult EntryGradients::run() {
  bool hasLoss = entry.getUpdates() && !entry.getReturn().getLosses().empty();
  SmallVector<GradientOp> requests(entry.getBlock().getOps<GradientOp>());
  if (!hasLoss && requests.empty())
    return success();
  mergeReads();
  for (GradientOp request : requests)
    if (failed(resolve(request)))
      return failure();
  if (hasLoss)
    scale = readLossScale(entry, symbols);
  if (hasLoss && failed(differentiateLoss()))
    return failure();
  eraseDeadOps(entry);
  return success();
}

namespace {
struct Differentiate : dlc::dl::impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (failed(EntryGradients(entry, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace
