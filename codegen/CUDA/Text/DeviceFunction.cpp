//===- DeviceFunction.cpp - see DeviceFunction.h ----------------------------------------------===//
#include "codegen/CUDA/Text/DeviceFunction.h"
#include "codegen/Kernel/Address.h"
#include "codegen/Kernel/PlainLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Types
//===------------------------------------------------------------------------------------------===//

std::string codegen::computedTypeName(Type element) {
  if (element.isF32() || isSmallFloat(element))
    return "float";
  if (element.isF64())
    return "double";
  if (element.isInteger(1))
    return "bool";
  if (element.isInteger(8))
    return "unsigned char";
  if (element.isInteger(32))
    return "int";
  if (element.isInteger(64))
    return "long long";
  return "";
}

std::string codegen::storedTypeName(Type element) {
  if (element.isBF16())
    return "__nv_bfloat16";
  if (element.isF16())
    return "__half";
  return element.isInteger(1) ? "unsigned char" : computedTypeName(element);
}

std::string codegen::bufferName(const KernelSpec &spec, unsigned number) {
  unsigned operands = spec.operandTypes().size();
  return number < operands ? "x" + std::to_string(number) : "y" + std::to_string(number - operands);
}

Type codegen::storedType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), std::max(integer.getWidth(), 8u));
  return element;
}

//===------------------------------------------------------------------------------------------===//
// Building
//===------------------------------------------------------------------------------------------===//

DeviceFunction::DeviceFunction(const KernelSpec &spec, StringRef name,
                               ArrayRef<StringRef> parameterNames)
    : spec(spec), block(std::make_unique<Block>()), builder(spec.block().getParent()->getContext()),
      loc(builder.getUnknownLoc()), e(builder, loc), name(name) {
  builder.getContext()
      ->loadDialect<arith::ArithDialect, math::MathDialect, LLVM::LLVMDialect, scf::SCFDialect>();
  builder.setInsertionPointToEnd(block.get());
  for (StringRef parameter : parameterNames) {
    indices.push_back(block->addArgument(builder.getI64Type(), loc));
    names[indices.back()] = parameter.str();
    parameters.push_back(("int " + parameter).str());
  }
}

Value DeviceFunction::addValue(StringRef name, Type element) {
  Value value = block->addArgument(computedType(element), loc);
  names[value] = name.str();
  parameters.push_back(computedTypeName(element) + " " + name.str());
  return value;
}

Value DeviceFunction::rounded(Value sum, Type element) {
  if (!isSmallFloat(element))
    return sum;
  return arith::TruncFOp::create(builder, loc, element, sum);
}

Value DeviceFunction::addSum(StringRef name, Type element) {
  return rounded(addValue(name, accumulatorType(element)), element);
}

LogicalResult DeviceFunction::assign(StringRef name, Type element, Value value) {
  if (!value)
    return failure();
  references.push_back(storedTypeName(element) + " &" + name.str());
  assigned.emplace_back(name.str(), value);
  return success();
}

Point DeviceFunction::point(ArrayRef<int64_t> shape, ArrayRef<Value> indices) {
  Point point;
  point.shape.assign(shape.begin(), shape.end());
  point.indices.assign(indices.begin(), indices.end());
  return point;
}

Point DeviceFunction::reshape(const Point &point, ArrayRef<int64_t> shape) {
  // Scalars fit every index space.
  return *reshapePoint(builder, loc, point, shape);
}

SmallVector<Value> DeviceFunction::delinearize(Value linear, ArrayRef<int64_t> shape) {
  return reshape(linearPoint(linear, product(shape)), shape).indices;
}

Value DeviceFunction::bufferPointer(unsigned number) {
  Value &pointer = buffers[number];
  if (!pointer) {
    pointer = block->addArgument(LLVM::LLVMPointerType::get(builder.getContext()), loc);
    names[pointer] = bufferName(spec, number);
  }
  return pointer;
}

/// The sum of products of an index and a stride.
Value DeviceFunction::sumOf(ArrayRef<std::pair<Value, int64_t>> terms) {
  Value sum;
  for (auto [index, stride] : terms) {
    if (matchPattern(index, m_Zero()))
      continue;
    Value part = stride == 1 ? index : e.mul(index, stride);
    sum = sum ? e.add(sum, part) : part;
  }
  return sum ? sum : e.constant(0);
}

Value DeviceFunction::linear(const Point &point) {
  SmallVector<std::pair<Value, int64_t>> terms;
  int64_t stride = product(point.shape);
  for (auto [extent, index] : llvm::zip_equal(point.shape, point.indices)) {
    stride = extent ? stride / extent : 0;
    terms.emplace_back(index, stride);
  }
  return sumOf(terms);
}

/// Offset in elements.
Value DeviceFunction::offsetOf(RankedTensorType type, const Point &point) {
  const auto layout = program::PhysicalLayout::get(type);
  if (layout.rowMajor)
    return linear(point);
  Point own = reshape(point, type.getShape());
  SmallVector<std::pair<Value, int64_t>> terms;
  for (const program::PhysicalLayout::Dimension &d : layout.dimensions)
    terms.emplace_back(physicalIndex(e, d, type.getDimSize(d.axis), own.indices[d.axis]), d.stride);
  return sumOf(terms);
}

std::optional<int64_t> DeviceFunction::periodOf(unsigned number, const Point &point) {
  auto rest = offset(number, point).getDefiningOp<arith::RemUIOp>();
  APInt period;
  if (!rest || rest.getLhs() != index(0) || !matchPattern(rest.getRhs(), m_ConstantInt(&period)))
    return std::nullopt;
  return period.getSExtValue();
}

Value DeviceFunction::load(unsigned number, const Point &point) {
  RankedTensorType type = spec.operandTypes()[number];
  Type element = storedType(type.getElementType());
  Value pointer = bufferPointer(number);
  Value place = LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                                    LLVM::GEPArg(offsetOf(type, point)));
  return LLVM::LoadOp::create(builder, loc, element, place);
}

BodyEmitter DeviceFunction::body(BodyEmitter::AnchorValue anchor) {
  return BodyEmitter(
      spec, builder, loc,
      [this](unsigned number, const Point &point) { return load(number, point); },
      std::move(anchor));
}

BodyEmitter DeviceFunction::bodyGiven(std::function<Value(unsigned, const Point &)> known,
                                      BodyEmitter::AnchorValue anchor) {
  return BodyEmitter(
      spec, builder, loc,
      [this, known = std::move(known)](unsigned number, const Point &point) {
        Value value = known(number, point);
        return value ? value : load(number, point);
      },
      std::move(anchor));
}

BodyEmitter DeviceFunction::body(const KernelSpec &other, std::function<Value(unsigned)> operand) {
  return BodyEmitter(
      other, builder, loc,
      [operand = std::move(operand)](unsigned number, const Point &) { return operand(number); },
      {});
}

static void emitStore(OpBuilder &builder, Location loc, Value value, Value pointer, Value offset) {
  Value place = LLVM::GEPOp::create(builder, loc, pointer.getType(), value.getType(), pointer,
                                    LLVM::GEPArg(offset));
  LLVM::StoreOp::create(builder, loc, value, place);
}

LogicalResult DeviceFunction::store(BodyEmitter &body, unsigned number, const Point &point) {
  Value value = body.emitStored(spec.result(number), point);
  if (!value)
    return failure();
  emitStore(builder, loc, value, bufferPointer(spec.operandTypes().size() + number),
            offsetOf(spec.resultTypes()[number], point));
  return success();
}

LogicalResult DeviceFunction::storeElement(unsigned number, Value linear) {
  auto values = [this](BodyEmitter::AnchorValue anchor) { return body(std::move(anchor)); };
  Value value = plainElement({spec, e, values}, number, linear);
  if (!value)
    return failure();
  emitStore(builder, loc, value, bufferPointer(spec.operandTypes().size() + number), linear);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Printing
//===------------------------------------------------------------------------------------------===//

std::string codegen::literalText(double value, bool single) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::format(single ? "%.9g" : "%.17g", std::fabs(value));
  if (StringRef(text).find_first_of(".e") == StringRef::npos)
    text += ".0";
  text += single ? "f" : "";
  return std::signbit(value) ? "(-" + text + ")" : text;
}

namespace {

/// An expression, and how strongly its outermost operator binds.
struct Expression {
  enum Strength { Ternary, Or, And, Compare, Add, Multiply, Atom };
  std::string text;
  Strength strength = Atom;

  std::string within(Strength needed) const { return strength < needed ? "(" + text + ")" : text; }
};

/// Prints the ops of a block as statements. Sticky failure: `text` is of no use after an unknown
/// op.
class StatementPrinter {
public:
  StatementPrinter(llvm::DenseMap<Value, std::string> &names, ArrayRef<Value> indices)
      : names(names), indices(indices) {}

  /// Prints all ops that matter for stores and for the operands of the last one.
  void print(Block &block);
  Expression expression(Value value);
  /// What is stored or assigned as `value`: that rounds it.
  Expression stored(Value value);
  bool failed() const { return isFailed; }
  std::string text;

private:
  using E = Expression;
  std::optional<Expression> compute(Operation &op);
  Expression binary(Operation &op, const char *sign, E::Strength strength) {
    // Operators group to the left.
    return {expression(op.getOperand(0)).within(strength) + " " + sign + " " +
                expression(op.getOperand(1)).within(E::Strength(strength + 1)),
            strength};
  }
  /// Sums and products of i32 wrap, which C++ says of unsigned numbers alone.
  Expression wrapping(Operation &op, const char *sign, E::Strength strength) {
    if (!op.getResult(0).getType().isInteger(32))
      return binary(op, sign, strength);
    return {"int(unsigned(" + expression(op.getOperand(0)).text + ") " + sign + " unsigned(" +
            expression(op.getOperand(1)).text + "))"};
  }
  /// On bools, or bit by bit: that operator binds more weakly than C++'s comparisons.
  Expression logical(Operation &op, const char *sign, E::Strength strength, const char *bits) {
    if (op.getResult(0).getType().isInteger(1))
      return binary(op, sign, strength);
    return {"(" + expression(op.getOperand(0)).within(E::Add) + " " + bits + " " +
            expression(op.getOperand(1)).within(E::Add) + ")"};
  }
  Expression call(Operation &op, StringRef function) {
    std::string arguments;
    for (Value operand : op.getOperands())
      arguments += (arguments.empty() ? "" : ", ") + expression(operand).text;
    return {function.str() + "(" + arguments + ")"};
  }
  Expression onFloat(Operation &op, StringRef function) {
    bool single = op.getResult(0).getType().isF32();
    return call(op, (function + (single ? "f" : "")).str());
  }
  /// Whether a float is one of `type` without being rounded.
  static bool isOf(Type type, Value value);
  /// To bf16 and f16: a float with such a value.
  Expression cast(Operation &op) {
    Type type = op.getResult(0).getType();
    if (isa<arith::TruncFOp>(op) && isOf(type, op.getOperand(0)))
      return expression(op.getOperand(0));
    Expression result = call(op, wordOf(computedTypeName(type)));
    if (!isSmallFloat(type))
      return result;
    // A float is rounded once, not to f32 before.
    std::string value = isa<arith::TruncFOp>(op) ? expression(op.getOperand(0)).text : result.text;
    return {"float(" + storedTypeName(type) + "(" + value + "))"};
  }
  /// Types of two words cannot be called.
  static std::string wordOf(const std::string &type) {
    return StringRef(type).contains(' ') ? "static_cast<" + type + ">" : type;
  }
  /// The template argument where an integer literal would not tell it.
  std::string argumentOf(Operation &op) {
    Value result = op.getResult(0);
    if (isa<FloatType>(result.getType()))
      return "";
    return "<" + (isIndex(result) ? "int" : computedTypeName(result.getType())) + ">";
  }
  /// NaN is not equal to itself.
  std::string isNaN(Value value) {
    std::string text = expression(value).within(E::Add);
    return text + " != " + text;
  }
  static Expression constant(arith::ConstantOp op);
  static std::string compareSign(Operation &op);
  std::string place(Value pointer);
  void line(const Twine &statement) { text += (Twine(indent) + statement + "\n").str(); }
  std::string define(Value value, const std::string &expression);
  bool standsWhereUsed(Value result);
  void printValue(Value result);
  void printLoop(scf::ForOp loop);
  void printBranch(scf::IfOp branch);
  bool isIndex(Value value);

  llvm::DenseMap<Value, std::string> &names;
  ArrayRef<Value> indices;
  std::string indent = "    ";
  unsigned next = 0;
  bool isFailed = false;
};

} // namespace

/// Whether a 64-bit integer is index arithmetic, which is done in ints.
bool StatementPrinter::isIndex(Value value) {
  if (!value.getType().isInteger(64))
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop ? value == loop.getInductionVar() : llvm::is_contained(indices, value);
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::ConstantOp>(op))
    return true;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp,
             arith::RemUIOp, arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isIndex(operand); });
}

Expression StatementPrinter::constant(arith::ConstantOp op) {
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    if (integer.getType().isInteger(1))
      return {integer.getValue().isZero() ? "false" : "true"};
    if (integer.getType().isInteger(8))
      return {std::to_string(integer.getValue().getZExtValue())};
    int64_t value = integer.getInt();
    if (value == std::numeric_limits<int64_t>::min())
      return {"(-9223372036854775807 - 1)"};
    std::string text = std::to_string(value);
    return {value < 0 ? "(" + text + ")" : text};
  }
  auto number = cast<FloatAttr>(op.getValue());
  bool single = !number.getType().isF64();
  double value = number.getValueAsDouble();
  if (std::isfinite(value))
    return {literalText(value, single)};
  std::string text = std::isnan(value) ? "notANumber()" : "infinity()";
  if (!single)
    text = "double(" + text + ")";
  return {std::signbit(value) ? "(-" + text + ")" : text};
}

bool StatementPrinter::isOf(Type type, Value value) {
  Operation *op = value.getDefiningOp();
  if (auto wider = dyn_cast_or_null<arith::ExtFOp>(op))
    return wider.getIn().getType() == type;
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isOf(type, select.getTrueValue()) && isOf(type, select.getFalseValue());
  if (isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::NegFOp, math::AbsFOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isOf(type, operand); });
  FloatAttr number;
  if (!op || !matchPattern(value, m_Constant(&number)))
    return false;
  APFloat rounded = number.getValue();
  bool lost;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return !lost;
}

Expression StatementPrinter::stored(Value value) {
  auto narrower = value.getDefiningOp<arith::TruncFOp>();
  return expression(narrower && isSmallFloat(value.getType()) && narrower.getIn().getType().isF32()
                        ? narrower.getIn()
                        : value);
}

std::string StatementPrinter::compareSign(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    switch (compare.getPredicate()) {
    case P::eq:
      return "==";
    case P::ne:
      return "!=";
    case P::slt:
    case P::ult:
      return "<";
    case P::sle:
    case P::ule:
      return "<=";
    case P::sgt:
    case P::ugt:
      return ">";
    case P::sge:
    case P::uge:
      return ">=";
    }
  }
  // C++ compares as these do: false for NaN, but for !=.
  using P = arith::CmpFPredicate;
  switch (::cast<arith::CmpFOp>(op).getPredicate()) {
  case P::OEQ:
    return "==";
  case P::UNE:
    return "!=";
  case P::OLT:
    return "<";
  case P::OLE:
    return "<=";
  case P::OGT:
    return ">";
  case P::OGE:
    return ">=";
  default:
    return "";
  }
}

/// x0[i]
std::string StatementPrinter::place(Value pointer) {
  auto gep = pointer.getDefiningOp<LLVM::GEPOp>();
  return expression(gep.getBase()).text + "[" + expression(gep.getDynamicIndices()[0]).text + "]";
}

std::optional<Expression> StatementPrinter::compute(Operation &op) {
  using E = Expression;
  std::string sign;
  return llvm::TypeSwitch<Operation *, std::optional<Expression>>(&op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return wrapping(op, "+", E::Add); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return wrapping(op, "-", E::Add); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return wrapping(op, "*", E::Multiply); })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return binary(op, "/", E::Multiply); })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) { return binary(op, "%", E::Multiply); })
      .Case<arith::AndIOp>([&](auto) { return logical(op, "&&", E::And, "&"); })
      .Case<arith::OrIOp>([&](auto) { return logical(op, "||", E::Or, "|"); })
      .Case<arith::XOrIOp>([&](auto) { return logical(op, "!=", E::Compare, "^"); })
      .Case<arith::ShRUIOp>([&](auto) -> std::optional<E> {
        if (!op.getResult(0).getType().isInteger(32))
          return std::nullopt;
        return E{"int(unsigned(" + expression(op.getOperand(0)).text + ") >> " +
                 expression(op.getOperand(1)).within(E::Add) + ")"};
      })
      .Case<arith::CmpFOp, arith::CmpIOp>([&](auto) -> std::optional<E> {
        auto compare = dyn_cast<arith::CmpFOp>(op);
        if (compare && compare.getPredicate() == arith::CmpFPredicate::UNO)
          return E{isNaN(op.getOperand(0)) + " || " + isNaN(op.getOperand(1)), E::Or};
        if (compare && compare.getPredicate() == arith::CmpFPredicate::ORD)
          return E{"!(" + isNaN(op.getOperand(0)) + " || " + isNaN(op.getOperand(1)) + ")"};
        if ((sign = compareSign(op)).empty())
          return std::nullopt;
        return binary(op, sign.c_str(), E::Compare);
      })
      .Case<arith::NegFOp>(
          [&](auto) { return E{"-" + expression(op.getOperand(0)).within(E::Atom), E::Multiply}; })
      .Case<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto) { return call(op, "maximum" + argumentOf(op)); })
      .Case<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(
          [&](auto) { return call(op, "minimum" + argumentOf(op)); })
      .Case<arith::SelectOp>([&](auto) {
        return E{expression(op.getOperand(0)).within(E::Or) + " ? " +
                     expression(op.getOperand(1)).within(E::Or) + " : " +
                     expression(op.getOperand(2)).within(E::Or),
                 E::Ternary};
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp,
            arith::FPToUIOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](auto) { return cast(op); })
      .Case<arith::BitcastOp>([&](auto) {
        const bool isFloat = isa<FloatType>(op.getResult(0).getType());
        return call(op, isFloat ? "__int_as_float" : "__float_as_int");
      })
      .Case<math::ExpOp>([&](auto) { return onFloat(op, "exp"); })
      .Case<math::LogOp>([&](auto) { return onFloat(op, "log"); })
      .Case<math::TanhOp>([&](auto) { return onFloat(op, "tanh"); })
      .Case<math::ErfOp>([&](auto) { return onFloat(op, "erf"); })
      .Case<math::FloorOp>([&](auto) { return onFloat(op, "floor"); })
      .Case<math::PowFOp>([&](auto) { return onFloat(op, "pow"); })
      .Case<math::SqrtOp>([&](auto) { return onFloat(op, "sqrt"); })
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) { return call(op, "magnitude"); })
      .Case<LLVM::LoadOp>([&](LLVM::LoadOp load) { return E{place(load.getAddr())}; })
      .Default([](auto) { return std::nullopt; });
}

/// Constants and index arithmetic that is used once stand where they are used; all else has a name.
Expression StatementPrinter::expression(Value value) {
  if (auto name = names.find(value); name != names.end())
    return {name->second};
  Operation &op = *value.getDefiningOp();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constant(constantOp);
  if (isa<arith::MulUIExtendedOp>(op))
    return call(op, value == op.getResult(0) ? "productLow" : "productHigh");
  if (std::optional<Expression> result = compute(op))
    return *result;
  isFailed = true;
  return {};
}

/// Declares a variable for `value`, with that expression; returns its name.
std::string StatementPrinter::define(Value value, const std::string &expression) {
  std::string type = isIndex(value) ? "int" : computedTypeName(value.getType());
  isFailed |= type.empty();
  std::string name = "v" + std::to_string(next++);
  line(type + " " + name + " = " + expression + ";");
  return name;
}

/// Index arithmetic that is used once, and what is rounded for nothing but a store.
bool StatementPrinter::standsWhereUsed(Value result) {
  if (isIndex(result))
    return result.hasOneUse();
  return result.getDefiningOp<arith::TruncFOp>() &&
         llvm::all_of(result.getUsers(), llvm::IsaPred<LLVM::StoreOp, scf::YieldOp>);
}

void StatementPrinter::printValue(Value result) {
  std::string value = expression(result).text;
  names[result] = define(result, value);
}

/// What is carried from turn to turn is a variable; the new values are all there before one is
/// assigned.
void StatementPrinter::printLoop(scf::ForOp loop) {
  for (auto [carried, init, result] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    std::string name = define(carried, expression(init).text);
    names[carried] = name;
    names[result] = name;
  }
  std::string index = "i" + std::to_string(next++);
  names[loop.getInductionVar()] = index;
  line("for (int " + index + " = " + expression(loop.getLowerBound()).text + "; " + index + " < " +
       expression(loop.getUpperBound()).within(Expression::Add) + "; " + index +
       " += " + expression(loop.getStep()).text + ") {");
  indent += "  ";
  print(*loop.getBody());
  SmallVector<std::string> values;
  for (Value value : loop.getYieldedValues())
    values.push_back(expression(value).text);
  if (values.size() > 1)
    for (auto [value, carried] : llvm::zip_equal(values, loop.getRegionIterArgs()))
      value = define(carried, value);
  for (auto [value, carried] : llvm::zip_equal(values, loop.getRegionIterArgs()))
    line(names[carried] + " = " + value + ";");
  indent.resize(indent.size() - 2);
  line("}");
}

/// One value, which is what the else branch gives, and nothing but that, unless the condition
/// holds.
void StatementPrinter::printBranch(scf::IfOp branch) {
  isFailed |= branch.getNumResults() != 1 || !llvm::hasSingleElement(*branch.elseBlock());
  if (isFailed)
    return;
  Value result = branch.getResult(0);
  std::string name = define(result, expression(branch.elseYield().getOperand(0)).text);
  names[result] = name;
  line("if (" + expression(branch.getCondition()).text + ") {");
  indent += "  ";
  print(*branch.thenBlock());
  line(name + " = " + expression(branch.thenYield().getOperand(0)).text + ";");
  indent.resize(indent.size() - 2);
  line("}");
}

/// Backwards, so that what only dead ops used is dead too.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !isa<LLVM::StoreOp, scf::YieldOp>(op))
      op.erase();
    else
      for (Region &region : op.getRegions())
        eraseDead(region.front());
}

void StatementPrinter::print(Block &block) {
  for (Operation &op : llvm::make_range(block.begin(), std::prev(block.end()))) {
    if (auto store = dyn_cast<LLVM::StoreOp>(op))
      line(place(store.getAddr()) + " = " + stored(store.getValue()).text + ";");
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      printLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      printBranch(branch);
    else if (!isa<LLVM::GEPOp, arith::ConstantOp>(op))
      for (Value result : op.getResults())
        if (!result.use_empty() && !standsWhereUsed(result))
          printValue(result);
  }
}

std::string DeviceFunction::print() {
  // A last op holds what leaves the function.
  SmallVector<Value> kept;
  for (auto &[target, value] : assigned)
    kept.push_back(value);
  if (returned)
    kept.push_back(returned);
  scf::YieldOp::create(builder, loc, kept);
  eraseDead(*block);
  StatementPrinter printer(names, indices);
  printer.print(*block);
  for (auto &[target, value] : assigned)
    printer.text += "    " + target + " = " + printer.stored(value).text + ";\n";
  std::string type = "void";
  if (returned) {
    type = computedTypeName(returned.getType());
    printer.text += "    return " + printer.expression(returned).text + ";\n";
  }
  if (printer.failed() || type.empty())
    return "";
  std::vector<std::string> all = parameters;
  llvm::append_range(all, references);
  return "  __device__ " + type + " " + name + "(" + llvm::join(all, ", ") + ") const {\n" +
         printer.text + "  }\n";
}
