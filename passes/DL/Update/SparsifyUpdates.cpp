//===- SparsifyUpdates.cpp - updates of those rows of a table that have a gradient ------------===//
//
//   %g = dl.scatter_add %dy, %index axis = 0 : ... to tensor<10000x256xf32>
//   %new = dl.multi_tensor(%table, %g) scalars(%lr) { %p - %lr * %g }
// ->
//   %rows, %numbers = dl.sum_rows %dy, %index extent = 10000
//   %new = dl.update_rows(%table) rows(%rows, %numbers) scalars(%lr) { %p - %lr * %g }
//
// The bits are those of the dense update: a row without a gradient has one of 0 there, which leaves
// it as it is, and sums are added in the same order. A norm of all gradients adds up fewer zeros.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

namespace dlc::dl {
#define GEN_PASS_DEF_SPARSIFYUPDATES
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What a body makes of a gradient of 0
//===------------------------------------------------------------------------------------------===//

namespace {
/// Follows the elements of a body where one of its arguments is 0.
class AtZero {
public:
  AtZero(Block &body, unsigned zero) {
    same[body.getArgument(zero)] = Value();
    for (Operation &op : body.without_terminator())
      visit(&op);
  }

  bool isZero(Value value) const {
    auto found = same.find(value);
    return found != same.end() ? !found->second : matchPattern(value, m_AnyZeroFloat());
  }
  /// The value that `value` is equal to: itself if no other is known.
  Value of(Value value) const {
    Value known = same.lookup(value);
    return known ? known : value;
  }

private:
  void visit(Operation *op);

  llvm::DenseMap<Value, Value> same; ///< null: 0
};
} // namespace

void AtZero::visit(Operation *op) {
  // An update that an overflow leaves out: what it makes, or what there was.
  if (auto select = dyn_cast<SelectOp>(op)) {
    Value a = select.getA(), b = select.getB();
    if (isZero(a) && isZero(b))
      same[select] = Value();
    else if (!isZero(a) && !isZero(b) && of(a) == of(b))
      same[select] = of(a);
    return;
  }
  auto elementwise = dyn_cast<ElementwiseOp>(op);
  if (!elementwise)
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isZero(operand.get()))
      continue;
    const WhereZero result = elementwise.getWhereZero(operand.getOperandNumber());
    if (result == WhereZero::Unknown)
      continue;
    Value other;
    if (result == WhereZero::Other)
      other = op->getOperand(1 - operand.getOperandNumber());
    same[op->getResult(0)] = other && !isZero(other) ? of(other) : Value();
    return;
  }
}

//===------------------------------------------------------------------------------------------===//
// Which gradients
//===------------------------------------------------------------------------------------------===//

namespace {
/// A gradient as rows, and who reads it: tensor number `tensor` of an update's stream, and numbers
/// of ops that add up something over each tensor. `runs`: see findRuns.
struct SparseGradient {
  ScatterAddOp gradient;
  MultiTensorOp update;
  unsigned tensor = 0, stream = 0;
  SmallVector<std::pair<MultiTensorOp, unsigned>> norms;
  SmallVector<int64_t> runs;
};
} // namespace

/// Whether the op adds up what is 0 for a gradient of 0, and only the sums of all are needed.
static bool addsUpGradients(MultiTensorOp op) {
  if (op.getStreams() != 1 || op.getResultStreams() != 0 || !op.getEach().empty())
    return false;
  Block &body = op.getBody().front();
  AtZero atZero(body, 0);
  auto isTotal = [](Operation *user) {
    auto reduce = dyn_cast<ReduceOp>(user);
    return reduce && reduce.getKind() == ReduceKind::Sum;
  };
  return llvm::all_of(body.back().getOperands(), [&](Value term) { return atZero.isZero(term); }) &&
         llvm::all_of(op->getUsers(), isTotal);
}

/// By stream, but for the gradient's: the run of results that a gradient of 0 leaves as the stream
/// is. Nothing if there is another run, or numbers that are not known of each tensor or element.
static std::optional<SmallVector<int64_t>> findRuns(MultiTensorOp op, unsigned gradient) {
  Block &body = op.getBody().front();
  AtZero atZero(body, gradient);
  SmallVector<int64_t> runs(op.getStreams(), -1);
  if (op.getSums() != 0 || op.getNumbered() ||
      op.getResultStreams() + 1 != int64_t(op.getStreams()) ||
      !llvm::all_equal(op.getStreamElements()))
    return std::nullopt;
  for (auto [run, value] : llvm::enumerate(body.back().getOperands())) {
    auto same = dyn_cast<BlockArgument>(atZero.of(value));
    if (atZero.isZero(value) || !same || same.getArgNumber() >= op.getStreams() ||
        std::exchange(runs[same.getArgNumber()], int64_t(run)) != -1)
      return std::nullopt;
  }
  auto isKnown = [](Value each) { return each.getDefiningOp<ConstantOp>() != nullptr; };
  return llvm::all_of(op.getEach(), isKnown) ? std::optional(runs) : std::nullopt;
}

/// Nothing if the gradient is needed as it is, or has as many rows as the table.
static std::optional<SparseGradient> findReaders(ScatterAddOp gradient) {
  SparseGradient found{gradient, {}};
  RankedTensorType type = gradient.getY().getType();
  const int64_t count = gradient.getIndex().getType().getNumElements();
  if (gradient.getAxis() != 0 ||
      !(type.getElementType().isF32() || type.getElementType().isF64()) ||
      count >= type.getDimSize(0))
    return std::nullopt;
  for (OpOperand &use : gradient->getUses()) {
    auto reader = dyn_cast<MultiTensorOp>(use.getOwner());
    if (!reader || use.getOperandNumber() >= reader.getTensors().size())
      return std::nullopt;
    const unsigned tensor = use.getOperandNumber() % reader.getCount();
    if (addsUpGradients(reader)) {
      found.norms.push_back({reader, tensor});
      continue;
    }
    if (found.update)
      return std::nullopt;
    found.update = reader;
    found.tensor = tensor;
    found.stream = use.getOperandNumber() / reader.getCount();
  }
  if (!found.update)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> runs = findRuns(found.update, found.stream);
  if (!runs)
    return std::nullopt;
  found.runs = std::move(*runs);
  return found;
}

//===------------------------------------------------------------------------------------------===//
// The rows
//===------------------------------------------------------------------------------------------===//

/// All numbers below `count` but one.
static SmallVector<unsigned> allBut(unsigned one, int64_t count) {
  SmallVector<unsigned> others;
  for (unsigned i = 0; i < count; ++i)
    if (i != one)
      others.push_back(i);
  return others;
}

/// Tensor `tensor` is added up as rows, and its total added to that of the others.
static void addUpRows(MultiTensorOp norm, unsigned tensor, Value rows) {
  OpBuilder builder(norm);
  auto none = [](Value each) { return each; };
  MultiTensorOp own = createPart(builder, norm.getLoc(), norm, tensor, none);
  own->setOperand(0, rows);
  MultiTensorOp others;
  if (SmallVector<unsigned> kept = allBut(tensor, norm.getCount()); !kept.empty())
    others = createPart(builder, norm.getLoc(), norm, kept, none);
  for (int64_t sum = 0; sum < int64_t(norm.getSums()); ++sum)
    for (Operation *user : llvm::make_early_inc_range(norm.getSum(sum).getUsers())) {
      auto total = cast<ReduceOp>(user);
      TensorBuilder b{builder, total.getLoc()};
      builder.setInsertionPoint(total);
      Value all = b.reduce(ReduceKind::Sum, own.getSum(sum), {0});
      if (others)
        all = b.add(b.reduce(ReduceKind::Sum, others.getSum(sum), {0}), all);
      total.getY().replaceAllUsesWith(all);
      total.erase();
    }
  norm.erase();
}

/// The body for one tensor: what belongs to it is a constant there.
static void cloneBody(const SparseGradient &sparse, UpdateRowsOp rows) {
  MultiTensorOp update = sparse.update;
  Block &from = update.getBody().front();
  Block *to = &rows.getBody().emplaceBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(to);
  IRMapping mapping;
  auto addArgument = [&](unsigned number) {
    BlockArgument argument = from.getArgument(number);
    mapping.map(argument, to->addArgument(argument.getType(), argument.getLoc()));
  };
  const unsigned streams = update.getStreams(), each = update.getEach().size();
  for (unsigned stream : allBut(sparse.stream, streams))
    addArgument(stream);
  addArgument(sparse.stream);
  for (unsigned i = 0; i < each; ++i) {
    auto values =
        cast<DenseElementsAttr>(update.getEach()[i].getDefiningOp<ConstantOp>().getValue());
    BlockArgument argument = from.getArgument(streams + i);
    auto type = cast<RankedTensorType>(argument.getType());
    mapping.map(argument,
                ConstantOp::create(
                    builder, update.getLoc(), type,
                    DenseElementsAttr::get(type, values.getValues<Attribute>()[sparse.tensor])));
  }
  for (unsigned i = 0; i < update.getScalars().size(); ++i)
    addArgument(streams + each + i);
  for (Operation &op : from.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> yielded;
  for (unsigned stream : allBut(sparse.stream, streams))
    yielded.push_back(mapping.lookup(from.back().getOperand(sparse.runs[stream])));
  YieldOp::create(builder, update.getLoc(), yielded);
}

/// Numbers that are equal for all tensors are constants of the body: no kernel need store them.
static void foldEqualNumbers(MultiTensorOp update) {
  Block &body = update.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (unsigned i = update.getEach().size(); i-- > 0;) {
    auto constant = update.getEach()[i].getDefiningOp<ConstantOp>();
    auto equal = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!equal)
      continue;
    BlockArgument argument = body.getArgument(update.getStreams() + i);
    auto type = cast<RankedTensorType>(argument.getType());
    argument.replaceAllUsesWith(
        ConstantOp::create(builder, update.getLoc(), type, equal.resizeSplat(type)));
    body.eraseArgument(argument.getArgNumber());
    update.getEachMutable().erase(i);
    constant.erase();
  }
}

static void useRows(const SparseGradient &sparse) {
  ScatterAddOp gradient = sparse.gradient;
  MultiTensorOp update = sparse.update;
  OpBuilder builder(gradient);
  auto sums = SumRowsOp::create(builder, gradient.getLoc(), gradient.getValues(),
                                gradient.getIndex(), gradient.getY().getType().getDimSize(0));
  for (auto [norm, tensor] : sparse.norms)
    addUpRows(norm, tensor, sums.getRows());
  SmallVector<Value> tensors;
  for (unsigned stream : allBut(sparse.stream, update.getStreams()))
    tensors.push_back(update.getTensor(stream, sparse.tensor));
  builder.setInsertionPoint(update);
  const std::string name = qualifiedName(gradient.getLoc());
  Location loc = NameLoc::get(builder.getStringAttr(StringRef(name).split('/').first + "/update"),
                              update.getLoc());
  auto rows = UpdateRowsOp::create(builder, loc, TypeRange(ValueRange(tensors)), tensors,
                                   sums.getRows(), sums.getNumbers(), update.getScalars());
  cloneBody(sparse, rows);
  for (auto [stream, result] :
       llvm::zip_equal(allBut(sparse.stream, update.getStreams()), rows.getResults()))
    update.getResultTensor(sparse.runs[stream], sparse.tensor).replaceAllUsesWith(result);
  if (SmallVector<unsigned> kept = allBut(sparse.tensor, update.getCount()); !kept.empty())
    foldEqualNumbers(createPart(builder, update.getLoc(), update, kept, [&](Value each) {
      return selectElements(builder, each.getDefiningOp<ConstantOp>(), kept);
    }));
  update.erase();
  gradient.erase();
}

namespace {
struct SparsifyUpdates : dlc::dl::impl::SparsifyUpdatesBase<SparsifyUpdates> {
  void runOnOperation() override {
    for (auto gradient :
         llvm::make_early_inc_range(getOperation().getBlock().getOps<ScatterAddOp>()))
      if (std::optional<SparseGradient> sparse = findReaders(gradient))
        useRows(*sparse);
  }
};
} // namespace
