//===- DLEntryOps.cpp - entries, what ends them, and gradients that they ask for --------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// entry, return
//===------------------------------------------------------------------------------------------===//

bool dlc::dl::isTF32(Operation *op) {
  auto precision = op->getAttrOfType<TypeAttr>(precisionName);
  return precision && precision.getValue().isTF32();
}

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
