//===- KernelSpec.cpp - reads a kernel's region: anchor, types, identity, name ----------------===//
#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/DLPoints.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "passes/Conversion/FlatLayout.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Analysis
//===------------------------------------------------------------------------------------------===//

bool KernelSpec::hasPoints() const {
  return !isa_and_nonnull<dl::AnchorOp>(op) || isa<dl::PointOp>(op);
}

static LogicalResult checkBodyOp(Operation &op) {
  if (auto constant = dyn_cast<dl::ConstantOp>(op)) {
    if (!isa<SplatElementsAttr>(constant.getValue()))
      return op.emitError("a kernel holds splat constants only: make this one an operand");
    return success();
  }
  if (isa<dl::ElementwiseOp, dl::IndexOp, dl::YieldOp>(op))
    return success();
  return op.emitError("this op cannot be part of a kernel");
}

/// Sums stand beside a product if they are results and nothing else, of one number a column: that
/// of all its elements stands behind it.
static bool areSumsBeside(Block &block) {
  return llvm::range_size(block.getOps<dl::MatmulOp>()) == 1 &&
         llvm::all_of(block.getOps<dl::ReductionOp>(), [](dl::ReductionOp reduction) {
           auto reduce = dyn_cast<dl::ReduceOp>(*reduction);
           return reduce && reduce.getKind() == dl::ReduceKind::Sum &&
                  reduce.getType().getRank() != 0 && reduce->hasOneUse() &&
                  isa<dl::YieldOp>(*reduce->user_begin());
         });
}

/// Whether `op` is one more reduction of the anchor's loop nest.
bool KernelSpec::joinsAnchor(Operation &op) const {
  auto reduction = dyn_cast<dl::ReductionOp>(op);
  return reduction && kind == Anchor::Reduce && dl::shareLoops(reductionOps.front(), reduction);
}

/// Whether `reduction` may be computed of the anchor's result part by part.
bool KernelSpec::standsBehind(dl::ReductionOp reduction) const {
  auto anchor = dyn_cast_or_null<dl::AnchorOp>(op);
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  return reduction && anchor && anchor.takesReductions() && passOf(reduction.getReduced()) == 1 &&
         shapeOf(reduction.getReduced()) == shapeOf(op->getResult(0)) &&
         (reductionOps.empty() || dl::shareLoops(reductionOps.front(), reduction));
}

void KernelSpec::addAnchor(Operation &op, Anchor anchor) {
  kind = anchor;
  if (!this->op)
    this->op = &op;
  if (auto reduction = dyn_cast<dl::ReductionOp>(op))
    reductionOps.push_back(reduction);
  llvm::append_range(anchorValues, op.getResults());
  unsigned pass = 0;
  for (Value operand : op.getOperands())
    pass = std::max(pass, passOf(operand));
  for (Value result : op.getResults())
    behindAnchor[result] = pass + 1;
}

/// What reads a value behind the anchor is behind it.
void KernelSpec::follow(Operation &op) {
  for (Value operand : op.getOperands())
    if (dependsOnAnchor(operand))
      for (Value result : op.getResults())
        behindAnchor[result] = std::max(passOf(result), passOf(operand));
}

/// Whether a reduction waits for another, or a result needs each element of a row once more.
bool KernelSpec::needsRowPasses() const {
  if (kind != Anchor::Reduce)
    return false;
  const int64_t kept = cast<RankedTensorType>(anchorValues.front().getType()).getNumElements();
  return llvm::any_of(reductionOps,
                      [&](dl::ReductionOp op) { return dependsOnAnchor(op.getReduced()); }) ||
         llvm::any_of(body->back().getOperands(), [&](Value result) {
           return dependsOnAnchor(result) &&
                  cast<RankedTensorType>(result.getType()).getNumElements() > kept;
         });
}

std::optional<dl::Rows> KernelSpec::rows() const {
  if (kind != Anchor::RowPasses)
    return std::nullopt;
  std::optional<dl::Rows> rows = dl::rowsOf(reductionOps.front());
  for (Operation &inner : *body) {
    auto index = dyn_cast<dl::IndexOp>(inner);
    if (!rows || !index || !dependsOnAnchor(index->getResult(0)))
      continue;
    const bool staysInRow =
        llvm::all_of(index.getIndexMaps(), [](const auto &map) { return map.isIdentity(); });
    if (!staysInRow && !dl::spreadsOverRows(index, *rows))
      return std::nullopt;
  }
  return rows;
}

/// Gives an op of the region its part in the kernel.
LogicalResult KernelSpec::addOp(Operation &op) {
  follow(op);
  auto reduction = dyn_cast<dl::ReductionOp>(op);
  auto anchor = dyn_cast<dl::AnchorOp>(op);
  if (sumsBeside && reduction)
    return reductionOps.push_back(reduction), success();
  if (standsBehind(reduction))
    return addAnchor(op, kind), success();
  if (!anchor)
    return checkBodyOp(op);
  if (this->op && !joinsAnchor(op)) {
    InFlightDiagnostic error = op.emitError("a kernel has one anchor, this is the second");
    error.attachNote(this->op->getLoc()) << "the first";
    return failure();
  }
  return addAnchor(op, anchor.getAnchor()), success();
}

/// A transposition only changes indices; where there is no anchor, the last one decides the loops.
void KernelSpec::anchorTransposition() {
  Operation *last = nullptr;
  for (Operation &op : *body)
    if (auto index = dyn_cast<dl::IndexOp>(op); index && !index.keepsOrder())
      last = &op;
  if (!last)
    return;
  addAnchor(*last, Anchor::Transpose);
  for (Operation &op : *body)
    follow(op);
}

FailureOr<KernelSpec> KernelSpec::get(Block &block) {
  if (block.empty() || !isa<dl::YieldOp>(block.back()))
    return emitError(block.getParent()->getLoc(), "a kernel's region ends with dl.yield"),
           failure();
  KernelSpec spec;
  spec.body = &block;
  spec.sumsBeside = areSumsBeside(block);
  for (Operation &op : block)
    if (failed(spec.addOp(op)))
      return failure();
  if (spec.needsRowPasses())
    spec.kind = Anchor::RowPasses;
  if (!spec.op)
    spec.anchorTransposition();
  if (auto update = dyn_cast_or_null<dl::MultiTensorOp>(spec.op)) {
    spec.setFlatBuffers(update);
    return spec;
  }
  for (Type type : block.getArgumentTypes())
    spec.operands.push_back(cast<RankedTensorType>(type));
  for (Type type : block.back().getOperandTypes())
    spec.results.push_back(cast<RankedTensorType>(type));
  return spec;
}

void KernelSpec::setFlatBuffers(dl::MultiTensorOp update) {
  MLIRContext *context = update.getContext();
  FlatLayout flat(update);
  auto add = [](auto &buffers, Type type) { buffers.push_back(cast<RankedTensorType>(type)); };
  for (Type element : update.getStreamElements())
    add(operands, RankedTensorType::get(flat.total, element));
  for (ValueRange values : {ValueRange(update.getEach()), ValueRange(update.getScalars())})
    for (Type type : values.getTypes())
      add(operands, type);
  add(operands, flat.pieceTable(context).getType());
  if (update.getSums() != 0)
    add(operands, flat.firstPieces(context).getType());
  for (Type element : update.getResultElements())
    add(results, RankedTensorType::get(flat.total, element));
  for (int64_t sum = 0; sum < int64_t(update.getSums()); ++sum)
    add(results, update.getSum(sum).getType());
}

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

int64_t codegen::product(ArrayRef<int64_t> extents) { return llvm::product_of(extents); }

static uint64_t flopsOf(Operation &op) {
  if (auto anchor = dyn_cast<dl::AnchorOp>(op))
    return anchor.getFlops();
  auto elementwise = dyn_cast<dl::ElementwiseOp>(op);
  if (!elementwise)
    return 0;
  return elementwise.getElementFlops() *
         cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
}

uint64_t KernelSpec::flops() const {
  uint64_t total = 0;
  for (Operation &inner : *body)
    total += flopsOf(inner);
  return total;
}

/// What is gathered from a table; nothing where something else reads it.
static std::optional<uint64_t> gatheredBytes(Value table) {
  uint64_t total = 0;
  for (OpOperand &use : table.getUses()) {
    auto gather = dyn_cast<dl::GatherOp>(use.getOwner());
    if (!gather || use.getOperandNumber() != 0)
      return std::nullopt;
    total += program::storageBytes(gather.getY().getType());
  }
  return total;
}

uint64_t KernelSpec::bytesOf(unsigned buffer) const {
  const bool isOperand = buffer < operands.size();
  const uint64_t whole =
      program::storageBytes(isOperand ? operands[buffer] : results[buffer - operands.size()]);
  if (auto update = dyn_cast_or_null<dl::UpdateRowsOp>(op);
      update && (buffer < update.getTensors().size() || !isOperand))
    return std::min(whole, uint64_t(program::storageBytes(update.getRows().getType())));
  if (!isOperand)
    return whole;
  // The buffers of an update are no arguments of the block.
  if (kind == Anchor::MultiTensor)
    return whole;
  return std::min(whole, gatheredBytes(body->getArgument(buffer)).value_or(whole));
}

uint64_t KernelSpec::bytes() const {
  uint64_t total = 0;
  for (unsigned buffer = 0; buffer < operands.size() + results.size(); ++buffer)
    total += bytesOf(buffer);
  return total;
}

//===------------------------------------------------------------------------------------------===//
// Identity and name
//===------------------------------------------------------------------------------------------===//

/// Leaves of an op's further attributes those that its code depends on.
static void keepWhatCounts(Operation *op) {
  NamedAttrList kept;
  if (Attribute precision = op->getDiscardableAttr(dl::precisionName))
    kept.set(dl::precisionName, precision);
  op->setDiscardableAttrs(kept);
}

/// A region travels as the body of a dl.fused whose operands come from nowhere.
static std::string printBody(Block &body, MLIRContext *context) {
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Value> inputs;
  if (body.getNumArguments() != 0) {
    auto source =
        UnrealizedConversionCastOp::create(builder, loc, body.getArgumentTypes(), ValueRange());
    inputs.append(source.result_begin(), source.result_end());
  }
  auto fused = dl::FusedOp::create(builder, loc, body.back().getOperandTypes(), inputs);
  Block *copy = &fused.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : body.getArguments())
    mapping.map(argument, copy->addArgument(argument.getType(), loc));
  builder.setInsertionPointToEnd(copy);
  for (Operation &inner : body)
    keepWhatCounts(builder.clone(inner, mapping));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

std::string KernelSpec::canonicalText() const {
  return printBody(*body, body->getParent()->getContext());
}

/// The same update of one tensor of one element.
static void buildSmallest(dl::MultiTensorOp update, Block &block) {
  OpBuilder builder(update.getContext());
  builder.setInsertionPointToEnd(&block);
  auto one = [](Type element) -> Type { return RankedTensorType::get({1}, element); };
  auto add = [&](SmallVector<Value> &operands, Type type) {
    operands.push_back(block.addArgument(type, update.getLoc()));
  };
  SmallVector<Value> tensors, each, scalars;
  for (Type element : update.getStreamElements())
    add(tensors, one(element));
  for (Value value : update.getEach())
    add(each, one(getElementTypeOrSelf(value)));
  for (Value value : update.getScalars())
    add(scalars, value.getType());
  SmallVector<Type> results = llvm::map_to_vector(update.getResultElements(), one);
  for (int64_t sum = 0; sum < int64_t(update.getSums()); ++sum)
    results.push_back(one(getElementTypeOrSelf(update.getSum(sum))));
  auto copy =
      dl::MultiTensorOp::create(builder, update.getLoc(), results, tensors, each, scalars,
                                update.getStreams(), update.getSums(), update.getNumbered());
  IRMapping mapping;
  update.getBody().cloneInto(&copy.getBody(), mapping);
  dl::YieldOp::create(builder, update.getLoc(), copy.getResults());
}

std::optional<std::string> KernelSpec::sizelessText() const {
  auto update = dyn_cast_or_null<dl::MultiTensorOp>(op);
  if (!update)
    return std::nullopt;
  Block smallest;
  buildSmallest(update, smallest);
  return printBody(smallest, update.getContext());
}

FailureOr<OwningOpRef<ModuleOp>> codegen::parseKernel(StringRef text, MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(context));
  if (!module)
    return failure();
  auto fused = module->getOps<dl::FusedOp>();
  if (std::distance(fused.begin(), fused.end()) != 1)
    return emitError(module->getLoc(), "a kernel's text holds one dl.fused"), failure();
  return module;
}

Block &codegen::kernelBlock(ModuleOp module) {
  return (*module.getOps<dl::FusedOp>().begin()).getBody().front();
}

void codegen::registerKernelDialects(DialectRegistry &registry) {
  registry
      .insert<program::ProgramDialect, dl::DLDialect, arith::ArithDialect, cf::ControlFlowDialect,
              math::MathDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
}

/// Whether some axis of the value has the same elements throughout: added, it is a bias.
static bool isRepeated(Value value) {
  auto index = value.getDefiningOp<dl::IndexOp>();
  if (!index || index->getNumOperands() == 0)
    return false;
  return index.getIndexMaps().front().repeats();
}

std::string KernelSpec::stem() const {
  const size_t maxOps = 3;
  std::string before, after;
  dl::AnchorName anchor;
  size_t named = 0;
  for (Operation &inner : *body) {
    if (anchorResult(inner.getNumResults() ? inner.getResult(0) : Value())) {
      auto known = dyn_cast<dl::AnchorOp>(inner);
      dl::AnchorName one = known ? known.getAnchorName() : dl::AnchorName::get(&inner);
      anchor = {anchor.name + (anchor.name.empty() ? "" : "_") + one.name, one.sizes};
      continue;
    }
    auto elementwise = dyn_cast<dl::ElementwiseOp>(inner);
    if (!elementwise || elementwise.getElementFlops() == 0 || ++named > maxOps)
      continue;
    bool bias = isa<dl::AddOp>(inner) && llvm::any_of(inner.getOperands(), isRepeated);
    std::string name = bias ? "bias" : inner.getName().stripDialect().str();
    (dependsOnAnchor(inner.getResult(0)) || !op ? after : before) += "_" + name;
  }
  if (anchor.sizes.empty() && !results.empty() && kind != Anchor::MultiTensor)
    anchor.sizes = dl::timesText(results.front().getShape());
  std::string text = before + (anchor.name.empty() ? "" : "_" + anchor.name) + after;
  if (text.empty())
    text = "_copy";
  return text.substr(1) + (anchor.sizes.empty() ? "" : "_" + anchor.sizes);
}
