//===- AssignPrecision.cpp - which ops of an entry compute in 16 bits -------------------------===//
//
//   dl.entry @train_step(%x: tensor<64x784xf32>, ...) attributes {dl.precision = bf16, ...} {
//     %w = dl.read @linear1.weight
//     %y = dl.matmul %x, %w transpose_b : tensor<64x784xf32>, tensor<300x784xf32>
//     %r = dl.relu %y : tensor<64x300xf32>
// ->
//     %w = dl.read @linear1.weight
//     %a = dl.cast %x : tensor<64x784xf32> to tensor<64x784xbf16>
//     %b = dl.cast %w : tensor<300x784xf32> to tensor<300x784xbf16>
//     %y = dl.matmul %a, %b transpose_b : tensor<64x784xbf16>, tensor<300x784xbf16>
//     %r = dl.relu %y : tensor<64x300xbf16>
//
// What an op computes in says Precision.h; `dl.precision` of an op stands for the entry's: f32 has
// all of it computed so, 16 bits and tf32 concern its products alone. Those of tf32 compute with
// tensors of f32 and keep the mark, by which libraries may round; their entry keeps its own, for
// the layouts of what stands between them. Variables, what the entry takes and
// gives, and the loss keep their types. Tensors of f64 stay, and so does what the user has cast.
// Two do not decide what an op computes in: a number that the program holds, which is multiplied as
// f32 where 16 bits would round it, and a bias, which is added to a product in f32. A number that
// 16 bits have no room for does decide: -1e9, which masks in f32, would be -inf in f16.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/Folding.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Precision/Precision.h"

namespace dlc::dl {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

/// The type that `op` names, null if none.
static Type precisionIn(Operation *op) {
  auto attribute = op->getAttrOfType<TypeAttr>(precisionName);
  return attribute ? attribute.getValue() : Type();
}

static Type elementOf(Value value) { return getElementTypeOrSelf(value); }
static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

/// What an op computes with: f32, and what the pass or the user has made of it.
static bool isSingleOrHalf(Value value) {
  return elementOf(value).isF32() || isHalf(elementOf(value));
}

static Value skipShape(Value value) {
  while (isa_and_nonnull<ReshapeOp, BroadcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Of what has one value all over, that value.
static std::optional<APFloat> numberOf(Value value) {
  auto constant = skipShape(value).getDefiningOp<ConstantOp>();
  return constant ? getFloatSplat(constant.getValue()) : std::nullopt;
}

/// A number that the program holds, or one of two of them.
static bool isNumber(Value value) {
  if (auto select = value.getDefiningOp<SelectOp>())
    return isNumber(select.getA()) && isNumber(select.getB());
  return numberOf(value).has_value();
}

static bool isExactIn(Value number, Type type) {
  std::optional<APFloat> value = numberOf(number);
  bool losesInfo = true;
  if (value)
    value->convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
  return !losesInfo;
}

/// Whether 16 bits make infinity of a number, or of one of two of them.
static bool overflowsIn(Value number, Type type) {
  if (auto select = number.getDefiningOp<SelectOp>())
    return overflowsIn(select.getA(), type) || overflowsIn(select.getB(), type);
  std::optional<APFloat> value = numberOf(number);
  bool losesInfo;
  return value && value->isFinite() &&
         value->convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                        &losesInfo) &
             APFloat::opOverflow;
}

/// Whether `op` adds to a product what is read from a variable.
static bool addsBias(Operation *op) {
  if (!isa<AddOp>(op))
    return false;
  auto isProduct = [](Value value) {
    Operation *source = skipShape(value).getDefiningOp();
    return source && precisionOf(source) == Precision::Narrow && isHalf(elementOf(value));
  };
  auto isRead = [](Value value) { return bool(skipShape(value).getDefiningOp<ReadOp>()); };
  Value a = op->getOperand(0), b = op->getOperand(1);
  return (isProduct(a) && isRead(b)) || (isProduct(b) && isRead(a));
}

namespace {
class EntryPrecision {
public:
  explicit EntryPrecision(EntryOp entry)
      : entry(entry), builder(entry.getContext()), single(builder.getF32Type()) {}

  void run();

private:
  void visit(Operation *op);
  Type widestOf(ArrayRef<OpOperand *> operands);
  void compute(Operation *op, ArrayRef<OpOperand *> operands, Type type);
  void computeRounded(Operation *op, ArrayRef<OpOperand *> operands, Type type);
  void setResults(Operation *op, Type type);
  Value cast(Value value, Type type, Operation *user);
  void restore(Operation *op, MutableOperandRange operands, TypeRange types);

  EntryOp entry;
  OpBuilder builder;
  Type single;
  /// Of the entry: f32 where it says nothing.
  Type narrow;
  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
};
} // namespace

/// One cast of a value for all that need it, in front of the first.
Value EntryPrecision::cast(Value value, Type type, Operation *user) {
  if (elementOf(value) == type)
    return value;
  Value &made = casts[{value, type}];
  if (!made) {
    builder.setInsertionPoint(user);
    made = TensorBuilder{builder, value.getLoc()}.cast(value, type);
  }
  return made;
}

/// Results that have the type of an operand.
void EntryPrecision::setResults(Operation *op, Type type) {
  if (auto infers = dyn_cast<InferTypeOpInterface>(op)) {
    SmallVector<Type> types;
    if (succeeded(infers.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                          op->getAttrDictionary(), op->getPropertiesStorage(),
                                          op->getRegions(), types)))
      for (auto [result, inferred] : llvm::zip_equal(op->getResults(), types))
        result.setType(inferred);
    return;
  }
  for (Value result : op->getResults())
    if (isSingleOrHalf(result))
      result.setType(llvm::cast<RankedTensorType>(result.getType()).clone(type));
}

void EntryPrecision::compute(Operation *op, ArrayRef<OpOperand *> operands, Type type) {
  for (OpOperand *operand : operands)
    operand->set(cast(operand->get(), type, op));
  setResults(op, type);
}

/// In f32, and what it gives in `type`, which all that comes behind takes for it.
void EntryPrecision::computeRounded(Operation *op, ArrayRef<OpOperand *> operands, Type type) {
  compute(op, operands, single);
  Value result = op->getResult(0);
  if (!elementOf(result).isF32() || type == single)
    return;
  builder.setInsertionPointAfter(op);
  Value rounded = TensorBuilder{builder, result.getLoc()}.cast(result, type);
  result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

/// The type of the widest of those that decide; null where none of them does.
Type EntryPrecision::widestOf(ArrayRef<OpOperand *> operands) {
  Type widest;
  for (OpOperand *operand : operands) {
    Type type = elementOf(operand->get());
    if (isNumber(operand->get()))
      continue;
    widest = !widest || widest == type ? type : single;
  }
  return widest;
}

/// What the user has cast has made of what `op` gives, null where it is none of 16 bits.
static Type halfOf(Operation *op) {
  for (Value result : op->getResults())
    if (isHalf(elementOf(result)))
      return elementOf(result);
  return {};
}

void EntryPrecision::visit(Operation *op) {
  Type asked = precisionIn(op);
  op->removeAttr(precisionName);
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    if (elementOf(operand.get()).isF64())
      return;
    if (isSingleOrHalf(operand.get()))
      operands.push_back(&operand);
  }
  if (operands.empty() || isa<CastOp>(op))
    return;
  if (auto gradient = dyn_cast<GradientOp>(op)) {
    for (auto [x, result] : llvm::zip_equal(gradient.getXs(), gradient.getGradients()))
      result.setType(x.getType());
    return;
  }
  if (asked && asked.isF32())
    return compute(op, operands, single);
  if (Type own = halfOf(op); own && !asked)
    return compute(op, operands, own);
  const Precision precision = precisionOf(op);
  const Type product = asked ? asked : narrow;
  if (takesTF32(op) && product.isTF32()) {
    op->setAttr(precisionName, TypeAttr::get(product));
    return compute(op, operands, single);
  }
  if (precision == Precision::Narrow)
    return compute(op, operands, product);
  if (precision == Precision::Wide)
    return compute(op, operands, single);
  // Its own weights are f32's.
  if (precision == Precision::Rounded)
    return computeRounded(op, operands, elementOf(op->getOperand(0)));
  Type widest = widestOf(operands);
  if (addsBias(op))
    widest = isHalf(elementOf(op->getOperand(0))) ? elementOf(op->getOperand(0))
                                                  : elementOf(op->getOperand(1));
  if (!widest)
    return;
  if (isHalf(widest) && llvm::any_of(operands, [&](OpOperand *operand) {
        return overflowsIn(operand->get(), widest);
      }))
    widest = single;
  const bool isRounded =
      isHalf(widest) && isa<ElementwiseOp>(op) && !isa<SelectOp>(op) &&
      llvm::any_of(operands, [&](OpOperand *operand) {
        return elementOf(operand->get()) != widest && !isExactIn(operand->get(), widest);
      });
  if (isRounded)
    return computeRounded(op, operands, widest);
  compute(op, operands, widest);
}

/// Gives what leaves the entry the types that it had.
void EntryPrecision::restore(Operation *op, MutableOperandRange operands, TypeRange types) {
  for (auto [operand, type] : llvm::zip_equal(operands, types))
    operand.set(cast(operand.get(), getElementTypeOrSelf(type), op));
}

void EntryPrecision::run() {
  narrow = precisionIn(entry);
  if (!narrow)
    narrow = single;
  if (!isTF32(entry))
    entry->removeAttr(precisionName);
  ReturnOp end = entry.getReturn();
  const SmallVector<Type> losses(end.getLosses().getTypes()), weights(end.getWeights().getTypes());
  for (Operation &op : llvm::make_early_inc_range(entry.getBlock().without_terminator()))
    if (!isa<AssignOp>(op))
      visit(&op);
  // Assignments stand behind all that is computed.
  for (AssignOp assign : entry.getBlock().getOps<AssignOp>()) {
    auto variable =
        SymbolTable::lookupNearestSymbolFrom<VariableOp>(entry, assign.getVariableAttr());
    const Type type = variable.getTensorType();
    restore(assign, assign.getValueMutable(), type);
  }
  restore(end, end.getOutputsMutable(), entry.getResultTypes());
  restore(end, end.getLossesMutable(), losses);
  restore(end, end.getWeightsMutable(), weights);
}

namespace {
struct AssignPrecision : dlc::dl::impl::AssignPrecisionBase<AssignPrecision> {
  /// Nothing says otherwise than f32.
  static bool isPlain(EntryOp entry) {
    return !precisionIn(entry) &&
           llvm::none_of(entry.getBlock(), [](Operation &op) { return bool(precisionIn(&op)); });
  }

  void runOnOperation() override {
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (!isPlain(entry))
        EntryPrecision(entry).run();
    warnOfLosses(getOperation());
  }
};
} // namespace
