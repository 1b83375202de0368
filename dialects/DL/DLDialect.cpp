//===- DLDialect.cpp - the dl dialect: registration and attributes ----------------------------===//
#include "dialects/DL/DLPoints.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/Program/Layout.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

#include "dialects/DL/DLDialect.cpp.inc"
#include "dialects/DL/DLEnums.cpp.inc"
#include "dialects/DL/DLInterfaces.cpp.inc"
#include "dialects/DL/DLPoints.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/DL/DLAttrs.cpp.inc"

void DLDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/DL/DLAttrs.cpp.inc"
      >();
#define DLC_OP_FAMILY(name) register##name##Ops();
#include "dialects/DL/DLOpFamilies.def"
}

/// Whether a part of `whole` that stands there in one piece row-major does so as they are stored.
static bool isStoredInPieces(Type whole, Type part) {
  auto type = cast<RankedTensorType>(whole), piece = cast<RankedTensorType>(part);
  if (!type.getEncoding() && !piece.getEncoding())
    return true;
  auto isDense = [&](RankedTensorType each) {
    return program::storageBytes(each) ==
           each.getNumElements() * program::elementBytes(each.getElementType());
  };
  return type.getEncoding() == piece.getEncoding() &&
         program::keepsLeadingAxis(cast<program::LayoutAttr>(type.getEncoding())) &&
         type.getShape().drop_front() == piece.getShape().drop_front() && isDense(type) &&
         isDense(piece);
}

bool IndexOp::canLieInOperand() {
  std::optional<int64_t> begin = getPieceBegin();
  if (isView() || !begin)
    return isView();
  auto source = cast<RankedTensorType>((*this)->getOperand(0).getType());
  return isStoredInPieces(source, (*this)->getResult(0).getType()) &&
         *begin * program::elementBytes(source.getElementType()) % program::alignment == 0;
}

bool IndexOp::canHoldOperands() {
  auto isPiece = [&](Type part) { return isStoredInPieces((*this)->getResult(0).getType(), part); };
  SmallVector<int64_t> begins = getPartBegins();
  if (begins.empty() || !llvm::all_of((*this)->getOperandTypes(), isPiece))
    return false;
  int64_t element = program::elementBytes(getElementTypeOrSelf((*this)->getResult(0)));
  return llvm::all_of(begins,
                      [&](int64_t begin) { return begin * element % program::alignment == 0; });
}

Operation *DLDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

LogicalResult WishAttr::verify(function_ref<InFlightDiagnostic()> emitError, ConvolutionAlgorithm,
                               ConvolutionAlgorithm, ConvolutionAlgorithm,
                               std::optional<int64_t> workspace) {
  if (workspace && *workspace < 0)
    return emitError() << "expected a workspace of 0 or more bytes, found " << *workspace;
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Attributes on the arguments and results of an entry
//===------------------------------------------------------------------------------------------===//

static LogicalResult verifyBatchAxis(Operation *op, Attribute value, Type type) {
  auto axis = dyn_cast<IntegerAttr>(value);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!axis || !axis.getType().isSignlessInteger(64))
    return op->emitOpError("expects dl.batch_axis to be an i64, found ") << value;
  if (!tensor || axis.getInt() < 0 || axis.getInt() >= tensor.getRank())
    return op->emitOpError("has dl.batch_axis ") << axis.getInt() << " outside of " << type;
  return success();
}

static LogicalResult verifyClasses(Operation *op, Attribute value, Type type) {
  auto classes = dyn_cast<IntegerAttr>(value);
  if (!classes || !classes.getType().isSignlessInteger(64) || classes.getInt() < 1)
    return op->emitOpError("expects dl.classes to be an i64 of 1 or more, found ") << value;
  if (!isa<IntegerType>(getElementTypeOrSelf(type)))
    return op->emitOpError("has dl.classes on ") << type << ", which is no tensor of integers";
  return success();
}

static LogicalResult verifyIgnored(Operation *op, Attribute value, Type type) {
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || !number.getType().isSignlessInteger(64))
    return op->emitOpError("expects dl.ignored to be an i64, found ") << value;
  if (!isa<IntegerType>(getElementTypeOrSelf(type)))
    return op->emitOpError("has dl.ignored on ") << type << ", which is no tensor of integers";
  return success();
}

static LogicalResult verifyLoss(Operation *op, Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0)
    return op->emitOpError("expects dl.loss to be an i64 of 0 or more, found ") << value;
  return success();
}

LogicalResult DLDialect::verifyRegionArgAttribute(Operation *op, unsigned regionIndex,
                                                  unsigned argIndex, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == "dl.name" && isa<StringAttr>(attribute.getValue()))
    return success();
  if (name == "dl.valid" && isa<UnitAttr>(attribute.getValue()))
    return success();
  Type type = cast<FunctionOpInterface>(op).getArgumentTypes()[argIndex];
  if (name == "dl.batch_axis")
    return verifyBatchAxis(op, attribute.getValue(), type);
  if (name == "dl.classes")
    return verifyClasses(op, attribute.getValue(), type);
  if (name == "dl.ignored")
    return verifyIgnored(op, attribute.getValue(), type);
  return op->emitOpError("has an unknown or malformed attribute ")
         << attribute.getName() << " = " << attribute.getValue() << " on argument " << argIndex;
}

LogicalResult DLDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                                     unsigned resultIndex,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto kind = dyn_cast<program::ValueKindAttr>(value);
  if ((name == "dl.name" && isa<StringAttr>(value)) ||
      (name == "dl.kind" && kind && kind.getValue() != program::ValueKind::Input) ||
      (name == "dl.of" && isa<FlatSymbolRefAttr>(value)))
    return success();
  if (name == "dl.loss")
    return verifyLoss(op, value);
  if (name == "dl.batch_axis")
    return verifyBatchAxis(op, value, cast<FunctionOpInterface>(op).getResultTypes()[resultIndex]);
  return op->emitOpError("has an unknown or malformed attribute ")
         << attribute.getName() << " = " << value << " on result " << resultIndex;
}
