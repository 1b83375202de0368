//===- DLDialect.cpp - the dl dialect: registration and attributes ----------------------------===//
#include "dialects/DL/DLTensorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::dl;

#include "dialects/DL/DLDialect.cpp.inc"
#include "dialects/DL/DLEnums.cpp.inc"
#include "dialects/DL/DLInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/DL/DLAttrs.cpp.inc"

namespace {
/// Types print as tensor<2x3x4x5xf32, #nhwc>.
struct LayoutAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto layout = dyn_cast<LayoutAttr>(attribute);
    if (!layout || layout.getShortName().empty())
      return AliasResult::NoAlias;
    os << layout.getShortName();
    return AliasResult::FinalAlias;
  }
};
} // namespace

void DLDialect::initialize() {
  addInterfaces<LayoutAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/DL/DLAttrs.cpp.inc"
      >();
  registerProgramOps();
  registerElementwiseOps();
  registerTensorOps();
  registerNetworkOps();
  registerCompositeOps();
}

Operation *DLDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
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
  return op->emitOpError("has an unknown or malformed attribute ")
         << attribute.getName() << " = " << attribute.getValue() << " on argument " << argIndex;
}

LogicalResult DLDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                                     unsigned resultIndex,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if ((name == "dl.name" && isa<StringAttr>(value)) ||
      (name == "dl.kind" && isa<ValueKindAttr>(value)) ||
      (name == "dl.of" && isa<FlatSymbolRefAttr>(value)))
    return success();
  if (name == "dl.batch_axis")
    return verifyBatchAxis(op, value, cast<FunctionOpInterface>(op).getResultTypes()[resultIndex]);
  return op->emitOpError("has an unknown or malformed attribute ")
         << attribute.getName() << " = " << value << " on result " << resultIndex;
}

//===------------------------------------------------------------------------------------------===//
// LayoutAttr
//===------------------------------------------------------------------------------------------===//

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  int64_t rank = shape.size();
  llvm::SmallBitVector seen(rank);
  for (int64_t axis : getOrder())
    if (axis >= 0 && axis < rank)
      seen.set(axis);
  if (int64_t(getOrder().size()) != rank || !seen.all())
    return emitError() << "(C1) the layout's order [" << getOrder() << "] is not a permutation of "
                       << rank << " axes";
  ArrayRef<int64_t> blocks = getBlocks();
  if (blocks.size() % 2 != 0)
    return emitError() << "(C2) the layout's blocks [" << blocks
                       << "] are not pairs of axis and size";
  for (size_t i = 0; i < blocks.size(); i += 2)
    if (blocks[i] < 0 || blocks[i] >= rank || blocks[i + 1] < 2)
      return emitError() << "(C2) the layout's block of axis " << blocks[i] << " by "
                         << blocks[i + 1] << " needs an axis below " << rank
                         << " and a size above 1";
  return success();
}

LayoutAttr LayoutAttr::getChannelsLast(MLIRContext *context, int64_t rank) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return get(context, order, {});
}

StringRef LayoutAttr::getShortName() const {
  static constexpr StringRef names[] = {"nwc", "nhwc", "ndhwc"};
  size_t rank = getOrder().size();
  bool isNamed =
      rank >= 3 && rank < 3 + std::size(names) && *this == getChannelsLast(getContext(), rank);
  return isNamed ? names[rank - 3] : "";
}

bool LayoutAttr::isChannelsLast(RankedTensorType type) {
  return type.getRank() >= 3 &&
         type.getEncoding() == getChannelsLast(type.getContext(), type.getRank());
}

//===------------------------------------------------------------------------------------------===//
// InitialiserAttr
//===------------------------------------------------------------------------------------------===//

InitialiserAttr InitialiserAttr::get(MLIRContext *context, InitialiserKind kind, double a,
                                     double b) {
  return get(context, kind, APFloat(a), APFloat(b));
}

Attribute InitialiserAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  double a = 0, b = 0;
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<InitialiserKind> kind = symbolizeInitialiserKind(keyword);
  if (!kind) {
    parser.emitError(loc, "unknown initialiser '")
        << keyword << "', expected constant, uniform, normal, truncated_normal, orthogonal or copy";
    return {};
  }
  if (parser.parseComma() || parser.parseFloat(a) || parser.parseComma() || parser.parseFloat(b) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), *kind, a, b);
}

void InitialiserAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyInitialiserKind(getKind()) << ", ";
  printer.printFloat(getA());
  printer << ", ";
  printer.printFloat(getB());
  printer << ">";
}
