// The raw side of evaluation: one dl op at a time.
#include "frontend/DL/Evaluation/EntryBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dlc::frontend {

static mlir::TypeAttr precisionAttribute(DType precision, mlir::MLIRContext *context) {
  return mlir::TypeAttr::get(elementType(precision, context));
}

void PrecisionMarker::notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) {
  if (llvm::isa<dl::ReadOp>(op))
    return;
  std::optional<DType> asked = precision;
  for (mlir::Value operand : op->getOperands()) {
    auto weight = ofWeights.find(operand);
    if (weight == ofWeights.end())
      continue;
    const DType dtype = weight->second;
    if (!asked)
      asked = dtype;
    if (op->getNumOperands() == 1 && op->getNumResults() == 1)
      ofWeights[op->getResult(0)] = dtype;
  }
  if (asked)
    op->setAttr(dl::precisionName, precisionAttribute(*asked, op->getContext()));
}

void EntryBuilder::setPrecision(DType precision) {
  if (precision != DType::F32)
    entry()->setAttr(dl::precisionName, precisionAttribute(precision, builder.getContext()));
}

EntryBuilder::EntryBuilder(mlir::ModuleOp module, llvm::StringRef name, program::EntryKind kind,
                           int64_t samples, mlir::Location location)
    : builder(module.getContext()), kind(kind), batchSize(samples) {
  builder.setInsertionPointToEnd(module.getBody());
  op = dl::EntryOp::create(builder, location, name, builder.getFunctionType({}, {}), kind);
  if (entry().getBody().empty())
    builder.createBlock(&entry().getBody());
  builder.setInsertionPointToEnd(&entry().getBlock());
  builder.setListener(&marker);
}

dl::EntryOp EntryBuilder::entry() { return llvm::cast<dl::EntryOp>(op); }

llvm::StringRef EntryBuilder::name() { return entry().getSymName(); }

static mlir::NamedAttribute named(mlir::OpBuilder &builder, llvm::StringRef name,
                                  mlir::Attribute value) {
  return builder.getNamedAttr(name, value);
}

mlir::Value EntryBuilder::addInput(llvm::StringRef name, mlir::RankedTensorType type,
                                   BatchAxis batch, mlir::Location location) {
  llvm::SmallVector<mlir::NamedAttribute> attributes{
      named(builder, "dl.name", builder.getStringAttr(name))};
  if (batch.exists())
    attributes.push_back(named(builder, "dl.batch_axis", builder.getI64IntegerAttr(batch.axis)));
  inputAttributes.push_back(builder.getDictionaryAttr(attributes));
  return entry().getBlock().addArgument(type, location);
}

/// Whether all elements of the op's one operand are elements of its result.
static bool hasAllOfOperand(mlir::Operation *made) {
  auto index = llvm::dyn_cast<dl::IndexOp>(made);
  return index && made->getNumOperands() == 1 && index.getIndexMaps().front().isWhole();
}

/// As whole numbers; a fraction is cut off, as a cast does.
static llvm::SmallVector<int64_t> wholeNumbers(mlir::DenseElementsAttr numbers) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(numbers.getElementType());
  if (!integer)
    return llvm::map_to_vector(numbers.getValues<llvm::APFloat>(), [](const llvm::APFloat &number) {
      llvm::APSInt whole(64, /*isUnsigned=*/false);
      bool isExact;
      number.convertToInteger(whole, llvm::APFloat::rmTowardZero, &isExact);
      return whole.getSExtValue();
    });
  bool isSigned = !integer.isUnsigned() && integer.getWidth() > 1;
  return llvm::map_to_vector(numbers.getValues<llvm::APInt>(), [&](const llvm::APInt &number) {
    return isSigned ? number.getSExtValue() : int64_t(number.getZExtValue());
  });
}

std::optional<int64_t> EntryBuilder::findNoClass(mlir::Value numbers, int64_t classes,
                                                 std::optional<int64_t> ignored) {
  mlir::Operation *made = numbers.getDefiningOp();
  auto keepsNumbers = [](mlir::Operation *op) {
    auto cast = llvm::dyn_cast<dl::CastOp>(op);
    auto integer =
        cast ? llvm::dyn_cast<mlir::IntegerType>(getElementTypeOrSelf(cast.getType())) : nullptr;
    return (integer && integer.getWidth() >= 32) || hasAllOfOperand(op);
  };
  while (made && keepsNumbers(made))
    made = made->getOperand(0).getDefiningOp();
  auto constant = llvm::dyn_cast_or_null<dl::ConstantOp>(made);
  auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || elements.empty())
    return std::nullopt;
  if (elements.isSplat())
    elements = elements.resizeSplat(elements.getType().clone(llvm::ArrayRef<int64_t>{1}));
  for (int64_t number : wholeNumbers(elements))
    if ((number < 0 || number >= classes) && number != ignored)
      return number;
  return std::nullopt;
}

void EntryBuilder::markClasses(mlir::Value label, int64_t classes, std::optional<int64_t> ignored) {
  if (classes == 0)
    return;
  while (mlir::Operation *made = label.getDefiningOp()) {
    auto cast = llvm::dyn_cast<dl::CastOp>(made);
    bool isNumber = cast && llvm::isa<mlir::IntegerType>(getElementTypeOrSelf(cast.getX()));
    if (!hasAllOfOperand(made) && !isNumber)
      return;
    label = made->getOperand(0);
  }
  mlir::Attribute &known = inputAttributes[llvm::cast<mlir::BlockArgument>(label).getArgNumber()];
  mlir::NamedAttrList attributes(llvm::cast<mlir::DictionaryAttr>(known));
  if (auto before = llvm::dyn_cast_or_null<mlir::IntegerAttr>(attributes.get("dl.classes"))) {
    classes = std::min(classes, before.getInt());
    // What one use does not ignore is no class to it.
    auto other = llvm::dyn_cast_or_null<mlir::IntegerAttr>(attributes.get("dl.ignored"));
    if (!other || other.getInt() != ignored)
      ignored.reset();
  }
  attributes.set("dl.classes", builder.getI64IntegerAttr(classes));
  if (ignored)
    attributes.set("dl.ignored", builder.getI64IntegerAttr(*ignored));
  else
    attributes.erase("dl.ignored");
  known = attributes.getDictionary(builder.getContext());
}

mlir::Value EntryBuilder::valid() {
  if (validInput)
    return validInput;
  auto type = mlir::RankedTensorType::get({}, builder.getI32Type());
  inputAttributes.push_back(
      builder.getDictionaryAttr({named(builder, "dl.name", builder.getStringAttr("valid")),
                                 named(builder, "dl.valid", builder.getUnitAttr())}));
  return validInput = entry().getBlock().addArgument(type, entry().getLoc());
}

/// Ops that serve the whole entry are named by what they are for.
static mlir::Location maskLocation(dl::EntryOp op) {
  return mlir::NameLoc::get(mlir::StringAttr::get(op.getContext(), "valid"), op.getLoc());
}

mlir::Value EntryBuilder::validCount() {
  if (!validFloat)
    validFloat = dl::CastOp::create(builder, maskLocation(entry()),
                                    mlir::RankedTensorType::get({}, builder.getF32Type()), valid());
  return validFloat;
}

mlir::Value EntryBuilder::read(llvm::StringRef key, mlir::RankedTensorType type,
                               mlir::Location location) {
  mlir::Value &value = reads[key];
  if (value)
    return value;
  // Reads stand at the top, in the order of first use.
  mlir::OpBuilder::InsertionGuard guard(builder);
  if (lastRead)
    builder.setInsertionPointAfter(lastRead);
  else
    builder.setInsertionPointToStart(&entry().getBlock());
  auto read = dl::ReadOp::create(builder, location, type,
                                 mlir::FlatSymbolRefAttr::get(builder.getContext(), key));
  lastRead = read;
  return value = read;
}

mlir::Value EntryBuilder::current(llvm::StringRef key, mlir::RankedTensorType type,
                                  mlir::Location location) {
  for (const Statistic &each : llvm::reverse(statistics))
    if (each.key == key)
      return each.value;
  return read(key, type, location);
}

// --------------------------------------------------------------------------------------------- ops

mlir::RankedTensorType EntryBuilder::withShape(mlir::Value like, llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(
      shape, llvm::cast<mlir::RankedTensorType>(like.getType()).getElementType());
}

mlir::Value EntryBuilder::splat(mlir::Location location, mlir::RankedTensorType type,
                                double value) {
  mlir::Type element = type.getElementType();
  mlir::Attribute attribute;
  if (auto real = llvm::dyn_cast<mlir::FloatType>(element))
    attribute = builder.getFloatAttr(real, value);
  else
    attribute = builder.getIntegerAttr(element, int64_t(value));
  return dl::ConstantOp::create(
      builder, location, type,
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, attribute)));
}

mlir::Value EntryBuilder::broadcast(mlir::Location location, mlir::Value x,
                                    llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape) {
  return dl::BroadcastOp::create(builder, location, withShape(x, shape), x, dims);
}

mlir::Value EntryBuilder::expandTo(mlir::Location location, mlir::Value x,
                                   llvm::ArrayRef<int64_t> shape) {
  auto type = llvm::cast<mlir::RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  llvm::SmallVector<int64_t> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(int64_t(shape.size()) - type.getRank() + i);
  return broadcast(location, x, dims, shape);
}

mlir::Value EntryBuilder::arithmetic(mlir::Location location, Arithmetic kind, mlir::Value a,
                                     mlir::Value b) {
  mlir::Type type = a.getType();
  switch (kind) {
  case Arithmetic::Add:
    return dl::AddOp::create(builder, location, type, a, b);
  case Arithmetic::Subtract:
    return dl::SubtractOp::create(builder, location, type, a, b);
  case Arithmetic::Multiply:
    return dl::MultiplyOp::create(builder, location, type, a, b);
  case Arithmetic::Divide:
    return dl::DivideOp::create(builder, location, type, a, b);
  case Arithmetic::Maximum:
    return dl::MaximumOp::create(builder, location, type, a, b);
  case Arithmetic::Minimum:
    return dl::MinimumOp::create(builder, location, type, a, b);
  }
  llvm_unreachable("all kinds are listed");
}

mlir::Value EntryBuilder::reshape(mlir::Location location, mlir::Value x,
                                  llvm::ArrayRef<int64_t> shape) {
  if (llvm::cast<mlir::RankedTensorType>(x.getType()).getShape() == shape)
    return x;
  return dl::ReshapeOp::create(builder, location, withShape(x, shape), x);
}

mlir::Value EntryBuilder::reduce(mlir::Location location, dl::ReduceKind reduceKind, mlir::Value x,
                                 llvm::ArrayRef<int64_t> axes) {
  llvm::SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(llvm::cast<mlir::RankedTensorType>(x.getType()).getShape()))
    if (!llvm::is_contained(axes, int64_t(i)))
      shape.push_back(size);
  return dl::ReduceOp::create(builder, location, withShape(x, shape), reduceKind, x, axes);
}

/// bool[N]: true for the samples that count.
mlir::Value EntryBuilder::sampleMask() {
  if (mask)
    return mask;
  mlir::Location location = maskLocation(entry());
  auto type = mlir::RankedTensorType::get({batchSize}, builder.getI32Type());
  mlir::Value index =
      dl::IotaOp::create(builder, location, type, llvm::ArrayRef<int64_t>{0}, nullptr);
  mlir::Value limit = broadcast(location, valid(), {}, type.getShape());
  mask = dl::CompareOp::create(builder, location, type.clone(builder.getI1Type()),
                               dl::Predicate::LT, index, limit);
  return mask;
}

mlir::Value EntryBuilder::maskPadding(mlir::Location location, mlir::Value x, BatchAxis batch,
                                      double fill) {
  if (!hasPadding() || !batch.exists())
    return x;
  auto type = llvm::cast<mlir::RankedTensorType>(x.getType());
  mlir::Value along = sampleMask();
  if (!batch.isPlain()) {
    along = broadcast(location, along, {1}, {batch.outer, batchSize, batch.inner});
    along = reshape(location, along, {batch.outer * batchSize * batch.inner});
  }
  if (type.getRank() > 1)
    along = broadcast(location, along, {batch.axis}, type.getShape());
  return dl::SelectOp::create(builder, location, type, along, x, splat(location, type, fill));
}

// ----------------------------------------------------------------------------------------- the end

void EntryBuilder::addOutput(mlir::Value value, llvm::StringRef name, program::ValueKind outputKind,
                             BatchAxis batch) {
  llvm::SmallVector<mlir::NamedAttribute> attributes{
      named(builder, "dl.name", builder.getStringAttr(name)),
      named(builder, "dl.kind", program::ValueKindAttr::get(builder.getContext(), outputKind))};
  if (batch.isPlain())
    attributes.push_back(named(builder, "dl.batch_axis", builder.getI64IntegerAttr(batch.axis)));
  outputAttributes.push_back(builder.getDictionaryAttr(attributes));
  outputs.push_back(value);
}

void EntryBuilder::eraseUnused() {
  for (mlir::Operation &each : llvm::make_early_inc_range(llvm::reverse(entry().getBlock())))
    if (each.use_empty() && !each.hasTrait<mlir::OpTrait::IsTerminator>() &&
        !llvm::isa<dl::AssignOp>(each))
      each.erase();
}

/// Of the updates of one statistic the last that is needed holds those before it.
void EntryBuilder::assignStatistics() {
  llvm::DenseSet<mlir::Operation *> needed;
  for (mlir::Operation &each : llvm::reverse(entry().getBlock())) {
    bool isRoot = each.hasTrait<mlir::OpTrait::IsTerminator>() || llvm::isa<dl::AssignOp>(each);
    if (isRoot || llvm::any_of(each.getUsers(), [&](auto *user) { return needed.contains(user); }))
      needed.insert(&each);
  }
  llvm::StringMap<bool> assigned;
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entry().getBlock().getTerminator());
  for (const Statistic &each : llvm::reverse(statistics))
    if (needed.contains(each.anchor.getDefiningOp()) && assigned.try_emplace(each.key).second)
      dl::AssignOp::create(builder, each.value.getLoc(),
                           mlir::FlatSymbolRefAttr::get(builder.getContext(), each.key),
                           each.value);
}

void EntryBuilder::finish(mlir::ValueRange losses, mlir::ValueRange weights) {
  for (const Assignment &each : assignments)
    dl::AssignOp::create(builder, each.location,
                         mlir::FlatSymbolRefAttr::get(builder.getContext(), each.key), each.value);
  dl::ReturnOp::create(builder, entry().getLoc(), outputs, losses, weights);
  assignStatistics();
  eraseUnused();
  entry().setFunctionType(builder.getFunctionType(entry().getBlock().getArgumentTypes(),
                                                  mlir::ValueRange(outputs).getTypes()));
  entry().setArgAttrsAttr(builder.getArrayAttr(inputAttributes));
  entry().setResAttrsAttr(builder.getArrayAttr(outputAttributes));
}

} // namespace dlc::frontend
