//===- ProgramDialect.cpp - the program dialect: registration and attributes ------------------===//
#include "dialects/Program/ProgramOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::program;

#include "dialects/Program/ProgramDialect.cpp.inc"
#include "dialects/Program/ProgramEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Program/ProgramAttrs.cpp.inc"

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

void ProgramDialect::initialize() {
  addInterfaces<LayoutAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Program/ProgramAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Program/ProgramOps.cpp.inc"
      >();
}

//===------------------------------------------------------------------------------------------===//
// CandidateAttr
//===------------------------------------------------------------------------------------------===//

LogicalResult CandidateAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    StringAttr generator, StringAttr schedule, FloatAttr seconds,
                                    int64_t workspace, bool) {
  if (!generator != !schedule)
    return emitError() << "(C1) expects a generator with its schedule";
  if (!seconds.getType().isF64() || !(seconds.getValueAsDouble() >= 0))
    return emitError() << "(C2) expects seconds of 0 or more as an f64, found " << seconds;
  if (workspace < 0)
    return emitError() << "(C3) expects a workspace of 0 or more, found " << workspace;
  return success();
}

std::string CandidateAttr::describe() const {
  return getGenerator() ? (getGenerator().getValue() + ": " + getSchedule().getValue()).str() : "";
}

CandidateAttr CandidateAttr::withMore(double more) const {
  auto seconds = FloatAttr::get(getSeconds().getType(), getSeconds().getValueAsDouble() + more);
  return get(getContext(), getGenerator(), getSchedule(), seconds, getWorkspace(), getNotInPlace());
}

bool CandidateAttr::isCode(StringRef generator, StringRef schedule) const {
  return getGenerator() && getGenerator() == generator && getSchedule() == schedule;
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

static SmallVector<int64_t> channelsLastOrder(int64_t rank) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

LayoutAttr LayoutAttr::getChannelsLast(MLIRContext *context, int64_t rank) {
  return get(context, channelsLastOrder(rank), {});
}

LayoutAttr LayoutAttr::getBlockedLast(MLIRContext *context, int64_t rank, int64_t block) {
  return get(context, channelsLastOrder(rank), {1, block});
}

bool LayoutAttr::isBlockedLast(RankedTensorType type) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  return layout && type.getRank() >= 3 && layout.getBlocks().size() == 2 &&
         layout == getBlockedLast(type.getContext(), type.getRank(), layout.getBlocks()[1]);
}

StringRef LayoutAttr::getShortName() const {
  static constexpr StringRef names[] = {"nwc", "nhwc", "ndhwc"};
  size_t rank = getOrder().size();
  if (*this == get(getContext(), {0, 1, 2, 3}, {1, 16}))
    return "nchw16c";
  if (*this == getBlockedLast(getContext(), 4, 16))
    return "nhwc16c";
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
