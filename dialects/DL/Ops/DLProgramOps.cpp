//===- DLProgramOps.cpp - variables, entries and the regions that passes build ----------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

static bool sameLogicalType(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getShape() == y.getShape() && x.getElementType() == y.getElementType();
}

//===------------------------------------------------------------------------------------------===//
// variable, read, assign
//===------------------------------------------------------------------------------------------===//

RankedTensorType VariableOp::getTensorType() { return cast<RankedTensorType>(getType()); }

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  bool isCopy = getInit().getKind() == program::InitialiserKind::Copy;
  if (!getOf())
    return isCopy ? emitOpError("(C2) the initialiser 'copy' needs 'of'") : success();
  if (getRole() != program::Role::Slot)
    return emitOpError("(C1) 'of' is for slots, but the role is ")
           << program::stringifyRole(getRole());
  auto of = symbols.lookupNearestSymbolFrom<VariableOp>(*this, getOfAttr());
  if (!of || of.getRole() != program::Role::Parameter)
    return emitOpError("(C1) ") << getOfAttr() << " is not a parameter of this module";
  bool isSame = isCopy ? sameLogicalType(of.getTensorType(), getTensorType())
                       : of.getTensorType().getShape() == getTensorType().getShape();
  if (!isSame) {
    InFlightDiagnostic error = emitOpError(isCopy ? "(C2) has type " : "(C1) has type ")
                               << getTensorType() << ", but its parameter has "
                               << of.getTensorType();
    error.attachNote(of.getLoc()) << "the parameter is here";
    return error;
  }
  return success();
}

/// A read or an assignment of `name` with `type`.
static LogicalResult verifyVariableUse(Operation *op, FlatSymbolRefAttr name, Type type,
                                       SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable)
    return op->emitOpError("(C1) ") << name << " is not a variable of this module";
  if (!sameLogicalType(variable.getTensorType(), type)) {
    InFlightDiagnostic error = op->emitOpError("(C1) has type ")
                               << type << ", but " << name << " has " << variable.getTensorType();
    error.attachNote(variable.getLoc()) << "the variable is here";
    return error;
  }
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, getVariableAttr(), getResult().getType(), symbols);
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, getVariableAttr(), getValue().getType(), symbols);
}

//===------------------------------------------------------------------------------------------===//
// entry
//===------------------------------------------------------------------------------------------===//

void EntryOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                    program::EntryKind kind) {
  OpBuilder::InsertionGuard guard(builder);
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addAttribute(getKindAttrName(state.name),
                     program::EntryKindAttr::get(builder.getContext(), kind));
  SmallVector<Location> locations(type.getNumInputs(), state.location);
  builder.createBlock(state.addRegion(), {}, type.getInputs(), locations);
}

ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void EntryOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

ReturnOp EntryOp::getReturn() { return cast<ReturnOp>(getBlock().getTerminator()); }

std::string EntryOp::getAccumulateName() {
  return getSymName() == "train_step" ? "accumulate_step" : (getSymName() + "_accumulate").str();
}

StringRef EntryOp::getInputName(unsigned index) {
  auto name = getArgAttrOfType<StringAttr>(index, "dl.name");
  return name ? name.getValue() : StringRef();
}

StringRef EntryOp::getOutputName(unsigned index) {
  auto name = getResultAttrOfType<StringAttr>(index, "dl.name");
  return name ? name.getValue() : StringRef();
}

program::ValueKind EntryOp::getOutputKind(unsigned index) {
  auto kind =
      getResultAttrOfType<program::ValueKindAttr>(index, StringAttr::get(getContext(), "dl.kind"));
  return kind ? kind.getValue() : program::ValueKind::Result;
}

EntryOutput::EntryOutput(Value value, StringRef name, program::ValueKind kind) : value(value) {
  MLIRContext *context = value.getContext();
  attributes.append("dl.name", StringAttr::get(context, name));
  attributes.append("dl.kind", program::ValueKindAttr::get(context, kind));
}

void EntryOp::addOutput(Value value, StringRef name, program::ValueKind kind) {
  addOutputs(EntryOutput(value, name, kind));
}

void EntryOp::addOutputs(ArrayRef<EntryOutput> added) {
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const EntryOutput &output : added) {
    values.push_back(output.value);
    attributes.push_back(output.attributes.getDictionary(getContext()));
  }
  const SmallVector<unsigned> behindAll(added.size(), getNumResults());
  LogicalResult inserted =
      insertResults(behindAll, llvm::to_vector(ValueRange(values).getTypes()), attributes);
  assert(succeeded(inserted) && "an entry's type accepts any results");
  (void)inserted;
  getReturn().getOutputsMutable().append(values);
}

void EntryOp::eraseOutputs(const llvm::BitVector &indices) {
  SmallVector<Value> kept;
  for (auto [index, value] : llvm::enumerate(getReturn().getOutputs()))
    if (!indices.test(index))
      kept.push_back(value);
  getReturn().getOutputsMutable().assign(kept);
  LogicalResult erased = eraseResults(indices);
  assert(succeeded(erased) && "an entry's type accepts any results");
  (void)erased;
}

/// (C1) Assigned at most once, and not read afterwards.
static LogicalResult verifyAssignments(EntryOp entry) {
  llvm::DenseMap<StringAttr, Operation *> assigned;
  for (Operation &op : entry.getBlock()) {
    StringAttr name;
    if (auto assign = dyn_cast<AssignOp>(op))
      name = assign.getVariableAttr().getAttr();
    else if (auto read = dyn_cast<ReadOp>(op))
      name = read.getVariableAttr().getAttr();
    else
      continue;
    if (Operation *first = assigned.lookup(name)) {
      InFlightDiagnostic error = op.emitOpError("(C1) @")
                                 << name.getValue() << " has already been assigned in this entry";
      error.attachNote(first->getLoc()) << "assigned here";
      return error;
    }
    if (isa<AssignOp>(op))
      assigned[name] = &op;
  }
  return success();
}

/// Whether a sum or count may have the type, by what is done with the total of its metric.
static bool fitsFinish(program::Finish finish, RankedTensorType type) {
  if (!type.getElementType().isF32() && !type.getElementType().isF64())
    return false;
  if (finish == program::Finish::Area)
    return type.getRank() == 3 && type.getDimSize(1) == 2;
  if (finish == program::Finish::Table)
    return type.getRank() == 2 && type.getDimSize(0) == type.getDimSize(1);
  return type.getRank() == 0;
}

/// (C3) Every sum and count of a metric is an accumulator among the results, and of the shape that
/// its finish takes.
static LogicalResult verifyMetrics(EntryOp entry) {
  llvm::StringMap<RankedTensorType> accumulators;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getOutputKind(i) == program::ValueKind::Accumulator)
      accumulators[entry.getOutputName(i)] = cast<RankedTensorType>(entry.getResultTypes()[i]);
  if (!entry.getMetrics())
    return success();
  for (auto metric : entry.getMetricsAttr().getAsRange<program::MetricAttr>()) {
    auto error = [&] {
      return entry.emitOpError("(C3) the metric '") << metric.getName().getValue() << "' ";
    };
    program::Finish finish = metric.getFinish();
    bool isArray = finish == program::Finish::Area || finish == program::Finish::Table;
    if (isArray && (metric.getTerms().size() != 1 || metric.getTerms()[0].getCount()))
      return error() << "finishes by " << program::stringifyFinish(finish)
                     << ", which takes one term without a count";
    for (program::TermAttr term : metric.getTerms())
      for (StringAttr name : {term.getSum(), term.getCount()}) {
        auto found = name ? accumulators.find(name.getValue()) : accumulators.end();
        if (name && found == accumulators.end())
          return error() << "needs the accumulator '" << name.getValue()
                         << "', which is not among the results";
        if (name && !fitsFinish(finish, found->second))
          return error() << "finishes by " << program::stringifyFinish(finish)
                         << ", which does not take the accumulator '" << name.getValue() << "' of "
                         << found->second;
      }
  }
  return success();
}

/// (C4) No name twice among `count` inputs or results; unnamed ones are free.
template <typename GetName>
static LogicalResult verifyNames(EntryOp entry, StringRef what, unsigned count, GetName getName) {
  llvm::StringSet<> names;
  for (unsigned i = 0; i < count; ++i)
    if (StringRef name = getName(i); !name.empty() && !names.insert(name).second)
      return entry.emitOpError("(C4) has two ") << what << " named '" << name << "'";
  return success();
}

LogicalResult EntryOp::verify() {
  if (getBlock().empty() || !isa<ReturnOp>(getBlock().back()))
    return emitOpError("must end with dl.return");
  if (failed(verifyAssignments(*this)) || failed(verifyMetrics(*this)))
    return failure();
  if (failed(verifyNames(*this, "inputs", getNumArguments(),
                         [&](unsigned i) { return getInputName(i); })))
    return failure();
  return verifyNames(*this, "results", getNumResults(),
                     [&](unsigned i) { return getOutputName(i); });
}

LogicalResult EntryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getUpdates())
    return success();
  llvm::StringSet<> seen;
  for (auto update : getUpdatesAttr().getAsRange<UpdateAttr>()) {
    FlatSymbolRefAttr name = update.getVariable();
    auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(*this, name);
    if (!variable || variable.getRole() != program::Role::Parameter)
      return emitOpError("(C2) updates ") << name << ", which is not a parameter of this module";
    if (!seen.insert(name.getValue()).second)
      return emitOpError("(C2) updates ") << name << " twice";
  }
  return success();
}

LogicalResult ReturnOp::verify() {
  auto entry = cast<EntryOp>((*this)->getParentOp());
  if (TypeRange(getOutputs()) != TypeRange(entry.getResultTypes()))
    return emitOpError("(C1) returns (") << getOutputs().getTypes() << "), but the entry declares ("
                                         << entry.getResultTypes() << ")";
  for (Value loss : getLosses())
    if (cast<RankedTensorType>(loss.getType()).getRank() != 0)
      return emitOpError("(C2) expects a loss of rank 0, found ") << loss.getType();
  if (!getLosses().empty() && !llvm::all_equal(getLosses().getTypes()))
    return emitOpError("(C2) expects losses of one type, found ") << getLosses().getTypes();
  const size_t losses = getLosses().size(), weights = getWeights().size();
  if (weights == 0 ? losses > 1 : losses != 0 && losses != weights)
    return emitOpError("(C3) expects a weight for each loss, found ")
           << losses << " losses and " << weights << " weights";
  return success();
}

//===------------------------------------------------------------------------------------------===//
// gradient
//===------------------------------------------------------------------------------------------===//

LogicalResult GradientOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                           ValueRange operands, DictionaryAttr attributes,
                                           OpaqueProperties properties, RegionRange regions,
                                           SmallVectorImpl<Type> &results) {
  if (cast<RankedTensorType>(operands[0].getType()).getRank() != 0)
    return emitOptionalError(location, getOperationName(), ": (C1) expects y of rank 0, found ",
                             operands[0].getType());
  if (operands.size() == 1)
    return emitOptionalError(location, getOperationName(),
                             ": (C2) has nothing to differentiate by");
  llvm::append_range(results, operands.drop_front().getTypes());
  return success();
}

//===------------------------------------------------------------------------------------------===//
// scalar
//===------------------------------------------------------------------------------------------===//

LogicalResult ScalarOp::verify() {
  Type element = getResult().getType().getElementType();
  if (isa<FloatType>(element))
    return success();
  double value = getValue().convertToDouble(), limit = element.isInteger(32) ? 0x1p31 : 0x1p63;
  if (value != std::floor(value) || value < -limit || value >= limit)
    return emitOpError("(C1) expects an ") << element << ", found " << getValueAttr();
  if (getScheduled())
    return emitOpError("(C2) is scheduled, but an ") << element;
  return success();
}

//===------------------------------------------------------------------------------------------===//
// fused, multi_tensor
//===------------------------------------------------------------------------------------------===//

LogicalResult FusedOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperation()->getOperandTypes())
    return emitOpError("(C1) the body takes (")
           << body.getArgumentTypes() << "), but the operands are ("
           << getOperation()->getOperandTypes() << ")";
  Operation *yield = body.getTerminator();
  if (yield->getOperandTypes() != getOperation()->getResultTypes())
    return emitOpError("(C2) the body yields (")
           << yield->getOperandTypes() << "), but the results are ("
           << getOperation()->getResultTypes() << ")";
  for (Operation &op : body)
    if (!isa<DLDialect>(op.getDialect()) || !isPure(&op)) {
      InFlightDiagnostic error = emitOpError("(C3) the body may hold pure dl ops only");
      error.attachNote(op.getLoc()) << op.getName() << " is here";
      return error;
    }
  return success();
}

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor); }

SmallVector<Type> MultiTensorOp::getStreamElements() {
  SmallVector<Type> elements;
  for (int64_t stream = 0; stream < int64_t(getStreams()); ++stream)
    elements.push_back(elementOf(getTensor(stream, 0)));
  return elements;
}

SmallVector<Type> MultiTensorOp::getResultElements() {
  SmallVector<Type> elements;
  for (int64_t run = 0; run < getResultStreams(); ++run)
    elements.push_back(elementOf(getResultTensor(run, 0)));
  return elements;
}

/// (C4) `tensor`, number i of what `where` names, beside the first stream's and the first of its
/// own run.
static LogicalResult verifyTensor(MultiTensorOp op, int64_t i, Value tensor, Value firstOfRun,
                                  const Twine &where) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto expected = cast<RankedTensorType>(op.getTensor(0, i).getType());
  if (type.clone(expected.getElementType()) != expected)
    return op.emitOpError("(C4) tensor ")
           << i << " is " << expected << " in stream 0, but " << type << " in " << where;
  if (elementOf(tensor) != elementOf(firstOfRun))
    return op.emitOpError("(C4) ") << where << " needs one element type, found " << type
                                   << " beside " << firstOfRun.getType();
  return success();
}

static LogicalResult verifyTensors(MultiTensorOp op) {
  for (int64_t i = 0; i < op.getCount(); ++i) {
    for (int64_t stream = 0; stream < int64_t(op.getStreams()); ++stream)
      if (failed(verifyTensor(op, i, op.getTensor(stream, i), op.getTensor(stream, 0),
                              "stream " + Twine(stream))))
        return failure();
    for (int64_t run = 0; run < op.getResultStreams(); ++run)
      if (failed(verifyTensor(op, i, op.getResultTensor(run, i), op.getResultTensor(run, 0),
                              "the results of value " + Twine(run))))
        return failure();
  }
  return success();
}

/// (C5), and the shapes of (C2) and (C3).
static LogicalResult verifyBody(MultiTensorOp op) {
  auto scalarOf = [](Type element) { return RankedTensorType::get({}, element); };
  SmallVector<Type> arguments = llvm::map_to_vector(
      op.getStreamElements(), [&](Type element) { return Type(scalarOf(element)); });
  SmallVector<Type> yielded = llvm::map_to_vector(
      op.getResultElements(), [&](Type element) { return Type(scalarOf(element)); });
  auto isForEach = [&](Value value) {
    return cast<ShapedType>(value.getType()).getShape() == ArrayRef<int64_t>(op.getCount());
  };
  for (Value each : op.getEach()) {
    if (!isForEach(each))
      return op.emitOpError("(C2) expects a number for each of ")
             << op.getCount() << " tensors, found " << each.getType();
    arguments.push_back(scalarOf(elementOf(each)));
  }
  llvm::append_range(arguments, op.getScalars().getTypes());
  for (int64_t i = 0; i < int64_t(op.getSums()); ++i) {
    Type element = elementOf(op.getSum(i));
    if (!isForEach(op.getSum(i)))
      return op.emitOpError("(C3) has a sum for each of ")
             << op.getCount() << " tensors, found " << op.getSum(i).getType();
    if (!element.isF32() && !element.isF64())
      return op.emitOpError("(C5) sums are f32 or f64, found ") << op.getSum(i).getType();
    yielded.push_back(scalarOf(element));
  }
  Block &body = op.getBody().front();
  if (TypeRange(arguments) != body.getArgumentTypes())
    return op.emitOpError("(C5) the body takes (")
           << body.getArgumentTypes() << "), expected (" << arguments << ")";
  if (TypeRange(yielded) != body.getTerminator()->getOperandTypes())
    return op.emitOpError("(C5) the body yields (")
           << body.getTerminator()->getOperandTypes() << "), expected (" << yielded << ")";
  return success();
}

LogicalResult MultiTensorOp::verify() {
  int64_t tensors = getTensors().size(), streams = getStreams(), sums = getSums();
  if (streams < 1 || tensors == 0 || tensors % streams != 0)
    return emitOpError("(C1) has ") << tensors << " tensors for " << streams << " streams";
  int64_t count = getCount(), yielded = getBody().front().getTerminator()->getNumOperands();
  if (sums < 0 || sums > yielded)
    return emitOpError("(C3) has ") << sums << " sums, but yields " << yielded << " values";
  if (int64_t(getOperation()->getNumResults()) != (yielded - sums) * count + sums)
    return emitOpError("(C3) has ")
           << getOperation()->getNumResults() << " results, expected " << yielded - sums
           << " yielded elements of " << count << " tensors and " << sums << " sums";
  if (failed(verifyTensors(*this)))
    return failure();
  return verifyBody(*this);
}

int64_t UpdateRowsOp::getWidth() {
  return llvm::product_of(
      getRows().getType().getShape().drop_front(getNumbers().getType().getRank()));
}

LogicalResult UpdateRowsOp::verify() {
  if (getTensors().empty() || getTensors().getTypes() != getResults().getTypes())
    return emitOpError("(C1) gives (")
           << getResults().getTypes() << ") for the tensors (" << getTensors().getTypes() << ")";
  SmallVector<int64_t> shape(getNumbers().getType().getShape());
  SmallVector<Type> arguments, yielded;
  auto scalarOf = [](Value tensor) { return RankedTensorType::get({}, elementOf(tensor)); };
  for (Value tensor : getTensors()) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> expected = shape;
    if (type.getRank() > 0)
      llvm::append_range(expected, type.getShape().drop_front());
    if (type.getRank() == 0 || getRows().getType().getShape() != ArrayRef(expected))
      return emitOpError("(C2) has rows of ") << getRows().getType() << " for numbers of "
                                              << getNumbers().getType() << " and " << type;
    yielded.push_back(scalarOf(tensor));
  }
  arguments = yielded;
  arguments.push_back(scalarOf(getRows()));
  llvm::append_range(arguments, getScalars().getTypes());
  Block &body = getBody().front();
  if (TypeRange(arguments) != body.getArgumentTypes())
    return emitOpError("(C3) the body takes (")
           << body.getArgumentTypes() << "), expected (" << arguments << ")";
  if (TypeRange(yielded) != body.getTerminator()->getOperandTypes())
    return emitOpError("(C3) the body yields (")
           << body.getTerminator()->getOperandTypes() << "), expected (" << yielded << ")";
  return success();
}
