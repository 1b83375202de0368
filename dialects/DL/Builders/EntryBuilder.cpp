//===- EntryBuilder.cpp - one dl.entry, from its inputs to its end ----------------------------===//
#include "dialects/DL/Builders/EntryBuilder.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

void PrecisionMarker::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  if (isa<ReadOp>(op))
    return;
  Type asked = precision;
  for (Value operand : op->getOperands()) {
    auto weight = ofWeights.find(operand);
    if (weight == ofWeights.end())
      continue;
    const Type type = weight->second;
    if (!asked)
      asked = type;
    if (op->getNumOperands() == 1 && op->getNumResults() == 1)
      ofWeights[op->getResult(0)] = type;
  }
  if (asked)
    op->setAttr(precisionName, TypeAttr::get(asked));
}

void EntryBuilder::setPrecision(Type precision) {
  if (!precision.isF32())
    entry()->setAttr(precisionName, TypeAttr::get(precision));
}

bool EntryBuilder::computesIn(Type precision) {
  const auto asked = TypeAttr::get(precision);
  return entry()->getAttr(precisionName) == asked ||
         llvm::any_of(entry().getBlock(),
                      [&](Operation &op) { return op.getAttr(precisionName) == asked; });
}

bool EntryBuilder::hasHalves() {
  return computesIn(builder.getBF16Type()) || computesIn(builder.getF16Type()) ||
         llvm::any_of(entry().getBlock(), [](Operation &op) {
           return llvm::any_of(op.getResultTypes(),
                               [](Type type) { return getElementTypeOrSelf(type).isFloat(16); });
         });
}

EntryBuilder::EntryBuilder(ModuleOp module, StringRef name, program::EntryKind kind,
                           int64_t samples, Location location)
    : builder(module.getContext()), kind(kind), batchSize(samples) {
  builder.setInsertionPointToEnd(module.getBody());
  op = EntryOp::create(builder, location, name, builder.getFunctionType({}, {}), kind);
  if (entry().getBody().empty())
    builder.createBlock(&entry().getBody());
  builder.setInsertionPointToEnd(&entry().getBlock());
  builder.setListener(&marker);
}

EntryOp EntryBuilder::entry() { return cast<EntryOp>(op); }

StringRef EntryBuilder::name() { return entry().getSymName(); }

static NamedAttribute named(OpBuilder &builder, StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}

Value EntryBuilder::addInput(StringRef name, RankedTensorType type, BatchAxis batch,
                             Location location) {
  SmallVector<NamedAttribute> attributes{named(builder, "dl.name", builder.getStringAttr(name))};
  if (batch.exists())
    attributes.push_back(named(builder, "dl.batch_axis", builder.getI64IntegerAttr(batch.axis)));
  inputAttributes.push_back(builder.getDictionaryAttr(attributes));
  return entry().getBlock().addArgument(type, location);
}

/// Whether all elements of the op's one operand are elements of its result.
static bool hasAllOfOperand(Operation *made) {
  auto index = dyn_cast<IndexOp>(made);
  return index && made->getNumOperands() == 1 && index.getIndexMaps().front().isWhole();
}

/// As whole numbers; a fraction is cut off, as a cast does.
static SmallVector<int64_t> wholeNumbers(DenseElementsAttr numbers) {
  auto integer = dyn_cast<IntegerType>(numbers.getElementType());
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

std::optional<int64_t> EntryBuilder::findNoClass(Value numbers, int64_t classes,
                                                 std::optional<int64_t> ignored) {
  Operation *made = numbers.getDefiningOp();
  auto keepsNumbers = [](Operation *op) {
    auto cast = dyn_cast<CastOp>(op);
    auto integer = cast ? dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getType())) : nullptr;
    return (integer && integer.getWidth() >= 32) || hasAllOfOperand(op);
  };
  while (made && keepsNumbers(made))
    made = made->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(made);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || elements.empty())
    return std::nullopt;
  if (elements.isSplat())
    elements = elements.resizeSplat(elements.getType().clone(ArrayRef<int64_t>{1}));
  for (int64_t number : wholeNumbers(elements))
    if ((number < 0 || number >= classes) && number != ignored)
      return number;
  return std::nullopt;
}

void EntryBuilder::markClasses(Value label, int64_t classes, std::optional<int64_t> ignored) {
  if (classes == 0)
    return;
  while (Operation *made = label.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(made);
    bool isNumber = cast && isa<IntegerType>(getElementTypeOrSelf(cast.getX()));
    if (!hasAllOfOperand(made) && !isNumber)
      return;
    label = made->getOperand(0);
  }
  Attribute &known = inputAttributes[cast<BlockArgument>(label).getArgNumber()];
  NamedAttrList attributes(cast<DictionaryAttr>(known));
  if (auto before = dyn_cast_or_null<IntegerAttr>(attributes.get("dl.classes"))) {
    classes = std::min(classes, before.getInt());
    // What one use does not ignore is no class to it.
    auto other = dyn_cast_or_null<IntegerAttr>(attributes.get("dl.ignored"));
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

Value EntryBuilder::valid() {
  if (validInput)
    return validInput;
  auto type = RankedTensorType::get({}, builder.getI32Type());
  inputAttributes.push_back(
      builder.getDictionaryAttr({named(builder, "dl.name", builder.getStringAttr("valid")),
                                 named(builder, "dl.valid", builder.getUnitAttr())}));
  return validInput = entry().getBlock().addArgument(type, entry().getLoc());
}

/// Ops that serve the whole entry are named by what they are for.
static Location maskLocation(EntryOp op) {
  return NameLoc::get(StringAttr::get(op.getContext(), "valid"), op.getLoc());
}

Value EntryBuilder::validCount() {
  if (!validFloat)
    validFloat = CastOp::create(builder, maskLocation(entry()),
                                RankedTensorType::get({}, builder.getF32Type()), valid());
  return validFloat;
}

Value EntryBuilder::read(StringRef key, RankedTensorType type, Location location) {
  Value &value = reads[key];
  if (value)
    return value;
  // Reads stand at the top, in the order of first use.
  OpBuilder::InsertionGuard guard(builder);
  if (lastRead)
    builder.setInsertionPointAfter(lastRead);
  else
    builder.setInsertionPointToStart(&entry().getBlock());
  auto read =
      ReadOp::create(builder, location, type, FlatSymbolRefAttr::get(builder.getContext(), key));
  lastRead = read;
  return value = read;
}

Value EntryBuilder::current(StringRef key, RankedTensorType type, Location location) {
  for (const Statistic &each : llvm::reverse(statistics))
    if (each.key == key)
      return each.value;
  return read(key, type, location);
}

//===------------------------------------------------------------------------------------------===//
// Samples that count
//===------------------------------------------------------------------------------------------===//

/// bool[N]: true for the samples that count.
Value EntryBuilder::sampleMask() {
  if (mask)
    return mask;
  TensorBuilder b{builder, maskLocation(entry())};
  Value index = b.iota(batchSize, builder.getI32Type(), 0);
  Value limit = b.broadcast(valid(), b.typeOf(index), {});
  mask = b.compare(Predicate::LT, index, limit);
  return mask;
}

Value EntryBuilder::maskPadding(Location location, Value x, BatchAxis batch, double fill) {
  if (!hasPadding() || !batch.exists())
    return x;
  TensorBuilder b{builder, location};
  const RankedTensorType type = b.typeOf(x);
  Value along = sampleMask();
  if (!batch.isPlain()) {
    const RankedTensorType bools = b.typeOf(along);
    along = b.broadcast(along, bools.clone({batch.outer, batchSize, batch.inner}), {1});
    along = b.reshape(along, bools.clone({batch.outer * batchSize * batch.inner}));
  }
  if (type.getRank() > 1)
    along = b.broadcast(along, b.typeOf(along).clone(type.getShape()), {batch.axis});
  return b.select(along, x, b.splat(type, fill));
}

Value EntryBuilder::divideByValid(Location location, Value sum, int64_t elements) {
  TensorBuilder b{builder, location};
  if (!hasPadding())
    return b.divide(sum, b.splatLike(sum, double(elements)));
  Value valid = b.castLike(validCount(), sum);
  Value total = b.scale(valid, double(elements / batchSize));
  return b.divide(sum, b.broadcast(total, b.typeOf(sum), {}));
}

//===------------------------------------------------------------------------------------------===//
// The end
//===------------------------------------------------------------------------------------------===//

void EntryBuilder::addOutput(Value value, StringRef name, program::ValueKind outputKind,
                             BatchAxis batch) {
  SmallVector<NamedAttribute> attributes{
      named(builder, "dl.name", builder.getStringAttr(name)),
      named(builder, "dl.kind", program::ValueKindAttr::get(builder.getContext(), outputKind))};
  if (batch.isPlain())
    attributes.push_back(named(builder, "dl.batch_axis", builder.getI64IntegerAttr(batch.axis)));
  outputAttributes.push_back(builder.getDictionaryAttr(attributes));
  outputs.push_back(value);
}

void EntryBuilder::eraseUnused() {
  for (Operation &each : llvm::make_early_inc_range(llvm::reverse(entry().getBlock())))
    if (each.use_empty() && !each.hasTrait<OpTrait::IsTerminator>() && !isa<AssignOp>(each))
      each.erase();
}

/// Of the updates of one statistic the last that is needed holds those before it.
void EntryBuilder::assignStatistics() {
  llvm::DenseSet<Operation *> needed;
  for (Operation &each : llvm::reverse(entry().getBlock())) {
    bool isRoot = each.hasTrait<OpTrait::IsTerminator>() || isa<AssignOp>(each);
    if (isRoot || llvm::any_of(each.getUsers(), [&](auto *user) { return needed.contains(user); }))
      needed.insert(&each);
  }
  llvm::StringMap<bool> assigned;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entry().getBlock().getTerminator());
  for (const Statistic &each : llvm::reverse(statistics))
    if (needed.contains(each.anchor.getDefiningOp()) && assigned.try_emplace(each.key).second)
      AssignOp::create(builder, each.value.getLoc(),
                       FlatSymbolRefAttr::get(builder.getContext(), each.key), each.value);
}

void EntryBuilder::finish(ValueRange losses, ValueRange weights) {
  for (const Assignment &each : assignments)
    AssignOp::create(builder, each.location, FlatSymbolRefAttr::get(builder.getContext(), each.key),
                     each.value);
  ReturnOp::create(builder, entry().getLoc(), outputs, losses, weights);
  assignStatistics();
  eraseUnused();
  entry().setFunctionType(builder.getFunctionType(entry().getBlock().getArgumentTypes(),
                                                  ValueRange(outputs).getTypes()));
  entry().setArgAttrsAttr(builder.getArrayAttr(inputAttributes));
  entry().setResAttrsAttr(builder.getArrayAttr(outputAttributes));
}
