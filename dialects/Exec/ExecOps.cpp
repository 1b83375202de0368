//===- ExecOps.cpp - verifiers and accesses of the exec ops -----------------------------------===//
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/Layout.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::exec;

/// `read %x, write %y, update %z`
static ParseResult parseAccesses(OpAsmParser &parser,
                                 SmallVectorImpl<OpAsmParser::UnresolvedOperand> &buffers,
                                 DenseI32ArrayAttr &access) {
  SmallVector<int32_t> values;
  auto parseOne = [&]() -> ParseResult {
    StringRef keyword;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Access> value = symbolizeAccess(keyword);
    if (!value)
      return parser.emitError(loc, "expected read, write or update, found '") << keyword << "'";
    values.push_back(static_cast<int32_t>(*value));
    return parser.parseOperand(buffers.emplace_back());
  };
  if (failed(parser.parseCommaSeparatedList(parseOne)))
    return failure();
  access = parser.getBuilder().getDenseI32ArrayAttr(values);
  return success();
}

static void printAccesses(OpAsmPrinter &printer, LaunchOp, OperandRange buffers,
                          DenseI32ArrayAttr access) {
  llvm::interleaveComma(llvm::zip_equal(buffers, access.asArrayRef()), printer, [&](auto pair) {
    printer << stringifyAccess(static_cast<Access>(std::get<1>(pair))) << ' ';
    printer.printOperand(std::get<0>(pair));
  });
}

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

/// Fails unless `offset` of `op` is a multiple of the alignment and not negative.
static LogicalResult verifyOffset(Operation *op, int64_t offset) {
  if (offset < 0 || offset % alignment)
    return op->emitOpError() << "offset " << offset << " is not a multiple of " << alignment;
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Module level
//===------------------------------------------------------------------------------------------===//

LogicalResult VariableOp::verify() {
  if (failed(verifyOffset(*this, getOffsetAttr().getInt()))) // (C1)
    return failure();
  if (getBytesAttr().getInt() < 0)
    return emitOpError() << "has " << getBytesAttr().getInt() << " bytes";
  if (getOfAttr() && !SymbolTable::lookupNearestSymbolFrom<VariableOp>(*this, getOfAttr())) // (C2)
    return emitOpError() << "belongs to @" << *getOf() << ", which is no variable";
  return success();
}

LogicalResult KernelOp::verify() {
  if (!getBody().hasOneBlock()) // (C1)
    return emitOpError() << "needs one block";
  auto writes = [&](int64_t i) { return static_cast<int>(getBuffer(i).getAccess()) & 2; };
  if (ArrayAttr pairs = getInPlaceAttr()) // (C2)
    for (auto pair : pairs.getAsRange<InPlaceAttr>()) {
      int64_t operand = pair.getOperand(), result = pair.getResult(), count = getNumBuffers();
      if (operand < 0 || operand >= count || result < 0 || result >= count || writes(operand) ||
          !writes(result) || getBuffer(operand).getBytes() != getBuffer(result).getBytes())
        return emitOpError() << "in_place " << operand << " into " << result
                             << " is not a read and a written buffer of equal size";
    }
  if (getPhasesAttr() && getPhasesAttr().empty()) // (C3)
    return emitOpError() << "has an empty list of phases";
  if (PreparationAttr preparation = getPreparationAttr()) { // (C4)
    const int64_t operand = preparation.getOperand(), phases = preparation.getPhases();
    if (operand < 0 || operand >= getNumBuffers() || writes(operand))
      return emitOpError() << "prepares buffer " << operand << ", which is none that it reads";
    const int64_t all = getPhasesAttr() ? getPhasesAttr().size() : 0;
    if (phases < 1 || phases >= all || getWorkspace() == 0)
      return emitOpError() << "prepares " << getWorkspace() << " bytes of workspace in " << phases
                           << " of " << all << " phases";
  }
  if (getRestWorkspace() != 0 && getWorkspace() == 0) // (C5)
    return emitOpError() << "has a rest_workspace, but no workspace";
  return success();
}

OutputOp ProgramOp::getOutput() { return cast<OutputOp>(getBlock().back()); }

std::optional<unsigned> ProgramOp::findOutput(StringAttr name) {
  for (auto [i, output] : llvm::enumerate(getOutputs().getAsRange<ValueAttr>()))
    if (output.getName() == name)
      return i;
  return std::nullopt;
}

/// Fails unless the terms of all metrics name outputs of the program.
static LogicalResult verifyMetrics(ProgramOp op) {
  for (auto metric : op.getMetrics().getAsRange<program::MetricAttr>())
    for (program::TermAttr term : metric.getTerms())
      for (StringAttr name : {term.getSum(), term.getCount()})
        if (name && !op.findOutput(name))
          return op.emitOpError() << "metric " << metric.getName() << " needs the output " << name
                                  << ", which does not exist";
  return success();
}

LogicalResult ProgramOp::verify() {
  if (getBlock().empty() || !isa<OutputOp>(getBlock().back()))
    return emitOpError() << "does not end with exec.output";
  size_t expected = getOutputs().size(), found = getOutput().getBuffers().size();
  if (expected != found) // (C1)
    return emitOpError() << "lists " << expected << " outputs, exec.output has " << found;
  if (failed(verifyMetrics(*this))) // (C2)
    return failure();
  if (getValidAttr() && getValid() >= getInputs().size()) // (C3)
    return emitOpError() << "valid is input " << *getValid() << ", there are "
                         << getInputs().size();
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  if (!getOffsetAttr())
    return success();
  int64_t offset = getOffsetAttr().getInt();
  if (failed(verifyOffset(*this, offset))) // (C1)
    return failure();
  int64_t arena = cast<ProgramOp>((*this)->getParentOp()).getArenaBytes();
  if (offset + getBytes(getBuffer()) > arena)
    return emitOpError() << "ends at byte " << offset + getBytes(getBuffer()) << " of an arena of "
                         << arena << " bytes";
  return success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(*this, getVariableAttr());
  if (!variable)
    return emitOpError() << "names @" << getVariable() << ", which is no variable";
  if (variable.getOffset() != getOffset()) // (C1)
    return (emitOpError() << "is at byte " << getOffset() << " of the state, its variable at "
                          << variable.getOffset())
               .attachNote(variable.getLoc())
           << "declared here";
  return success();
}

LogicalResult InputOp::verify() {
  size_t inputs = cast<ProgramOp>((*this)->getParentOp()).getInputs().size();
  if (getNumber() >= inputs)
    return emitOpError() << "is input " << getNumber() << ", there are " << inputs;
  return success();
}

LogicalResult ConstantOp::verify() {
  auto value = dyn_cast<DenseElementsAttr>(getValue());
  if (!value)
    return emitOpError() << "needs dense elements";
  int64_t bytes = value.getNumElements() * program::elementBytes(value.getElementType());
  if (bytes != getBytes(getBuffer())) // (C1)
    return emitOpError() << "has " << bytes << " bytes, its buffer " << getBytes(getBuffer());
  return success();
}

LogicalResult ScalarOp::verify() {
  int64_t bytes = getType().getIntOrFloatBitWidth() / 8, offset = getOffset();
  if (bytes != getBytes(getBuffer()) || offset < 0 || offset % bytes != 0) // (C1)
    return emitOpError() << "is an " << getType() << " at byte " << offset << " in a buffer of "
                         << getBytes(getBuffer()) << " bytes";
  return success();
}

LogicalResult ViewOp::verify() {
  int64_t offset = getOffsetAttr().getInt(), size = getBytes(getSource());
  if (failed(verifyOffset(*this, offset))) // (C2)
    return failure();
  if (offset + getBytes(getBuffer()) > size) // (C1)
    return emitOpError() << "ends at byte " << offset + getBytes(getBuffer()) << " of a buffer of "
                         << size;
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Records
//===------------------------------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "names @" << getKernel() << ", which is no kernel";
  if (getAccess().size() != getBuffers().size())
    return emitOpError() << "has " << getBuffers().size() << " buffers and " << getAccess().size()
                         << " accesses";
  size_t listed = kernel.getNumBuffers(), found = getBuffers().size();
  const SmallVector<int64_t> workspaces = kernel.getWorkspaces();
  const bool isPlaced = found == listed + workspaces.size();
  const Part part = getPart();
  const bool hasFirst = found > listed;
  // A rest has the first workspace before the other one is placed.
  if (found != listed && !isPlaced && (part != Part::Rest || found != listed + 1)) // (C1)
    return emitOpError() << "passes " << found << " buffers to @" << getKernel() << ", which takes "
                         << listed;
  PreparationAttr preparation = kernel.getPreparationAttr();
  if (part != Part::Whole && (!preparation || !hasFirst)) // (C2)
    return emitOpError() << "is the " << stringifyPart(part) << " of @" << getKernel()
                         << (preparation ? ", but has no workspace" : ", which has none");
  const Access ofWorkspace = part == Part::Whole         ? Access::ReadWrite
                             : part == Part::Preparation ? Access::Write
                                                         : Access::Read;
  for (size_t i = 0; i < found; ++i) {
    const bool extra = i >= listed, isFirst = i == listed;
    Access access = isFirst ? ofWorkspace
                    : extra ? Access::ReadWrite
                            : kernel.getBuffer(i).getAccess();
    int64_t bytes = extra ? workspaces[i - listed] : kernel.getBuffer(i).getBytes();
    const bool isTouched = part == Part::Whole || isFirst ||
                           (int64_t(i) == preparation.getOperand()) == (part == Part::Preparation);
    if (!isTouched)
      bytes = 0;
    if (getBufferAccess(i) != access || getBytes(getBuffers()[i]) < bytes)
      return emitOpError() << "buffer " << i << " is " << stringifyAccess(getBufferAccess(i)) << " "
                           << getBytes(getBuffers()[i]) << " bytes, @" << getKernel() << " takes "
                           << stringifyAccess(access) << " " << bytes;
  }
  return success();
}

std::pair<unsigned, unsigned> LaunchOp::getPhaseRange(KernelOp kernel) {
  const unsigned all = kernel.getPhasesAttr() ? kernel.getPhasesAttr().size() : 0;
  if (getPart() == Part::Whole)
    return {0, all};
  const unsigned border = kernel.getPreparationAttr().getPhases();
  return getPart() == Part::Preparation ? std::pair(0u, border) : std::pair(border, all);
}

double LaunchOp::getSeconds(KernelOp kernel) {
  const double all = kernel.getSeconds().value_or(0);
  if (getPart() == Part::Whole)
    return all;
  const double first = kernel.getPreparationAttr().getSeconds().getValueAsDouble();
  return getPart() == Part::Preparation ? first : std::max(0.0, all - first);
}

void LaunchOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  for (auto [buffer, access] : llvm::zip_equal(getBuffers(), getAccess()))
    accesses.push_back({buffer, (access & 1) != 0, (access & 2) != 0});
}

LogicalResult CopyOp::verify() {
  if (getSource().getType() != getDestination().getType())
    return emitOpError() << "copies " << getBytes(getSource()) << " bytes to "
                         << getBytes(getDestination());
  return success();
}

void CopyOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getSource(), true, false});
  accesses.push_back({getDestination(), false, true});
}

LogicalResult FillOp::verify() {
  if (getValueAttr().getInt() < 0 || getValueAttr().getInt() > 255) // (C1)
    return emitOpError() << "fills with " << getValueAttr().getInt() << ", not a byte";
  return success();
}

void FillOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getDestination(), false, true});
}

LogicalResult AllReduceOp::verify() {
  int64_t bytes = getBytes(getBuffer()), element = program::elementBytes(getType());
  if (bytes % element != 0) // (C1)
    return emitOpError() << "reduces " << bytes << " bytes, not a multiple of the " << element
                         << " of " << getType();
  if (getChannel() > 1) // (C2)
    return emitOpError() << "is on channel " << getChannelAttr().getInt() << ", expected 0 or 1";
  if (getKind() != program::CollectiveKind::Sum && !getType().isF32()) // (C3)
    return emitOpError() << "compresses f32, found " << getType();
  return success();
}

int64_t AllReduceOp::getBytesSent() {
  const int64_t element = program::elementBytes(getType());
  return program::bytesSent(getKind(), getBytes(getBuffer()) / element, element);
}

void AllReduceOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getBuffer(), true, true});
}

void RecordEventOp::getAccesses(SmallVectorImpl<BufferAccess> &) {}

void WaitEventOp::getAccesses(SmallVectorImpl<BufferAccess> &) {}
