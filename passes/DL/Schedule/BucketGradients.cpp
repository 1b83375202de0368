//===- BucketGradients.cpp - reduces gradients over ranks while others are computed -----------===//
//
//   %dw2 = dl.fused(...)                            %dw2 = dl.fused(...)
//   %dw1 = dl.fused(...)                            %s2 = dl.all_reduce sum %dw2 channel 0
//   %s:2 = dl.all_reduce sum %dw1, %dw2 channel 0   %dw1 = dl.fused(...)
//   %new:2 = dl.multi_tensor(%w1, %w2, %s#0, %s#1)  %s1 = dl.all_reduce sum %dw1 channel 0
//                                              ->   %new2 = dl.multi_tensor(%w2, %s2)
//                                                   %new1 = dl.multi_tensor(%w1, %s1)
//
// Behind dl-schedule, whose order says when a gradient is there, and behind dl-choose, whose
// candidates say how long what is computed meanwhile takes. See Passes.td for the rules.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/Layout.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Schedule/Buckets.h"
#include "passes/DL/Update/MultiTensorBuilder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace dlc::dl {
#define GEN_PASS_DEF_BUCKETGRADIENTS
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

namespace {

/// The numbers of some tensors of a reduction, and of the updates that read its results.
using Numbers = SmallVector<unsigned>;

/// Splits the reductions of one entry.
class Bucketing {
public:
  Bucketing(EntryOp entry, const Link &link, int64_t bucketBytes);

  void run();

private:
  void split(AllReduceOp all);
  bool canSplit(AllReduceOp all, MultiTensorOp update) const;
  Numbers orderOf(AllReduceOp all, bool byTime) const;
  double timeOf(Value gradient) const { return finished.lookup(gradient.getDefiningOp()); }
  SmallVector<Numbers> cut(AllReduceOp all, bool byTime) const;
  void reduce(AllReduceOp all, ArrayRef<unsigned> bucket, Operation *&behind);
  void update(MultiTensorOp all, ArrayRef<unsigned> bucket);
  void returnPart(Value all, Value some);
  void eraseReturned(MultiTensorOp all);
  Value select(Value each, ArrayRef<unsigned> bucket);
  Location place(Operation *op);

  EntryOp entry;
  Link link;
  int64_t bucketBytes;
  /// When each op is done, by the candidates of those before it; null is at the beginning.
  llvm::DenseMap<Operation *, double> finished;
  Operation *lastFirst = nullptr;       ///< what the ops that stand first end with
  SetVector<Operation *> updates;       ///< that are split with the reduction at hand
  llvm::DenseMap<Value, Value> reduced; ///< gradients of the reduction at hand, and their sums
  OpBuilder builder;                    ///< where the updates of buckets stand
  IRMapping sums;                       ///< of an update's results: those of the bucket at hand
  unsigned number = 0;                  ///< of the bucket at hand, from 1
};

} // namespace

Bucketing::Bucketing(EntryOp entry, const Link &link, int64_t bucketBytes)
    : entry(entry), link(link), bucketBytes(bucketBytes), builder(entry.getContext()) {
  double time = 0;
  for (Operation &op : entry.getBlock())
    finished[&op] = time += secondsOf(&op);
  for (Operation &op : entry.getBlock()) {
    if (!op.hasTrait<StandsFirst>())
      break;
    lastFirst = &op;
  }
}

/// What a rank sends of a gradient.
static int64_t bytesSent(AllReduceOp all, Value gradient) {
  const int64_t element = program::elementBytes(getElementTypeOrSelf(gradient));
  return program::bytesSent(all.getKind(), bytesOf(gradient) / element, element);
}

/// The op behind which the gradient is there; null if it is from the beginning.
static Operation *producerOf(Value gradient) {
  Operation *op = gradient.getDefiningOp();
  return op && !op->hasTrait<StandsFirst>() ? op : nullptr;
}

static bool comesFirst(Operation *a, Operation *b) {
  return a != b && b && (!a || a->isBeforeInBlock(b));
}

//===------------------------------------------------------------------------------------------===//
// Which gradients make a bucket
//===------------------------------------------------------------------------------------------===//

/// Whether each tensor is updated without the others: number i of a stream is sum i, what each
/// tensor has of its own is known or a sum of another such update, and no one else reads sums.
bool Bucketing::canSplit(AllReduceOp all, MultiTensorOp update) const {
  auto sumsOver = all.getYs();
  bool reads = false;
  for (int64_t stream = 0; stream < int64_t(update.getStreams()); ++stream)
    reads |= ValueRange(update.getTensors().slice(stream * update.getCount(), update.getCount())) ==
             ValueRange(sumsOver);
  auto isOwn = [&](Value each) {
    Operation *op = each.getDefiningOp();
    return isa_and_nonnull<ConstantOp>(op) || updates.contains(op);
  };
  auto isReadAlone = [&](Operation *user) {
    return user->hasTrait<StandsLast>() || updates.contains(user);
  };
  return reads && llvm::all_of(update.getEach(), isOwn) &&
         llvm::all_of(update->getUsers(), isReadAlone);
}

/// The order in which the gradients are there; or that of their parameters, backwards.
Numbers Bucketing::orderOf(AllReduceOp all, bool byTime) const {
  Numbers order = llvm::to_vector(llvm::seq<unsigned>(all.getNumOperands()));
  if (!byTime) {
    std::reverse(order.begin(), order.end());
    return order;
  }
  llvm::sort(order, [&](unsigned a, unsigned b) {
    Operation *first = producerOf(all.getXs()[a]), *second = producerOf(all.getXs()[b]);
    return first == second ? a < b : comesFirst(first, second);
  });
  return order;
}

/// Buckets are good on a link that takes `margin` times as long, too: ranks do not come to a sum at
/// the same time, and both the link and what runs beside it are estimates.
static constexpr double margin = 2;

SmallVector<Numbers> Bucketing::cut(AllReduceOp all, bool byTime) const {
  Numbers order = orderOf(all, byTime);
  SmallVector<FinishedGradient> gradients;
  llvm::DenseSet<Value> known; // what several parameters have alike is sent once
  double time = 0;
  for (unsigned i : order) {
    Value gradient = all.getXs()[i];
    time = std::max(time, timeOf(gradient));
    gradients.push_back({known.insert(gradient).second ? bytesSent(all, gradient) : 0, time});
  }
  SmallVector<Numbers> buckets;
  ArrayRef<unsigned> rest = order;
  for (unsigned size :
       bucketBytes ? cutBySize(gradients, bucketBytes) : cutByTime(gradients, link, margin)) {
    buckets.push_back(llvm::to_vector(rest.take_front(size)));
    if (!byTime)
      std::reverse(buckets.back().begin(), buckets.back().end());
    rest = rest.drop_front(size);
  }
  return buckets;
}

//===------------------------------------------------------------------------------------------===//
// Making buckets
//===------------------------------------------------------------------------------------------===//

/// "bucket2/update" for "optimizer/update".
Location Bucketing::place(Operation *op) {
  std::string name = ("bucket" + Twine(number) + "/" + stageName(op)).str();
  Location loc = op->getLoc();
  if (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  return NameLoc::get(builder.getStringAttr(name), loc);
}

/// The reduction of a bucket, behind its last gradient and the bucket before it, which is `behind`.
void Bucketing::reduce(AllReduceOp all, ArrayRef<unsigned> bucket, Operation *&behind) {
  SmallVector<Value> gradients;
  SmallVector<Attribute> of;
  int64_t bytes = 0;
  for (unsigned i : bucket) {
    Value gradient = all.getXs()[i];
    if (!reduced.insert({gradient, nullptr}).second)
      continue;
    gradients.push_back(gradient);
    bytes += bytesSent(all, gradient);
    if (all.getOf())
      of.push_back((*all.getOf())[i]);
    if (Operation *producer = producerOf(gradient); comesFirst(behind, producer))
      behind = producer;
  }
  if (!gradients.empty()) {
    OpBuilder at = OpBuilder::atBlockBegin(&entry.getBlock());
    if (Operation *before = behind ? behind : lastFirst)
      at.setInsertionPointAfter(before);
    auto sum = AllReduceOp::create(at, place(all), gradients, all.getChannel(),
                                   all.getOf() ? at.getArrayAttr(of) : ArrayAttr());
    sum.setKind(all.getKind());
    sum.setSecondsAttr(at.getF64FloatAttr(link.secondsFor(bytes)));
    for (auto [gradient, y] : llvm::zip_equal(gradients, sum.getYs()))
      reduced[gradient] = y;
    behind = sum;
  }
  for (unsigned i : bucket)
    all.getYs()[i].replaceAllUsesWith(reduced.lookup(all.getXs()[i]));
}

/// The bucket's elements of a number for each tensor.
Value Bucketing::select(Value each, ArrayRef<unsigned> bucket) {
  if (Value known = sums.lookupOrNull(each))
    return known;
  return selectElements(builder, each.getDefiningOp<ConstantOp>(), bucket);
}

void Bucketing::update(MultiTensorOp all, ArrayRef<unsigned> bucket) {
  MultiTensorOp some = createPart(builder, place(all), all, bucket,
                                  [&](Value each) { return select(each, bucket); });
  for (int64_t sum = 0; sum < int64_t(all.getSums()); ++sum) {
    sums.map(all.getSum(sum), some.getSum(sum));
    returnPart(all.getSum(sum), some.getSum(sum));
  }
}

/// Sums that the entry returns become those of each bucket.
void Bucketing::returnPart(Value all, Value some) {
  for (unsigned i = 0, end = entry.getNumResults(); i < end; ++i)
    if (entry.getReturn().getOutputs()[i] == all)
      entry.addOutput(some, (entry.getOutputName(i) + ".bucket" + Twine(number)).str(),
                      entry.getOutputKind(i));
}

/// Removes the returned sums of an update whose buckets' are returned.
void Bucketing::eraseReturned(MultiTensorOp all) {
  llvm::BitVector returned(entry.getNumResults());
  for (auto [i, output] : llvm::enumerate(entry.getReturn().getOutputs()))
    if (output.getDefiningOp() == all)
      returned.set(i);
  entry.eraseOutputs(returned);
}

/// Before the first of the assignments that take what the updates make, which come last.
static Operation *endOf(ArrayRef<Operation *> updates) {
  Operation *end = updates.back();
  for (Operation *update : updates)
    for (Operation *user : update->getUsers())
      if (isa<AssignOp>(user) && (!isa<AssignOp>(end) || user->isBeforeInBlock(end)))
        end = user;
  return end;
}

void Bucketing::split(AllReduceOp all) {
  SmallVector<Operation *> inOrder = llvm::to_vector(llvm::make_filter_range(
      all->getUsers(), [](Operation *user) { return !isa<ReturnOp>(user); }));
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a != b && a->isBeforeInBlock(b); });
  SetVector<Operation *> readers(inOrder.begin(), inOrder.end());
  updates.clear();
  bool isSplit = llvm::all_of(readers, llvm::IsaPred<MultiTensorOp>);
  if (isSplit) {
    updates = readers;
    isSplit = llvm::all_of(
        readers, [&](Operation *reader) { return canSplit(all, cast<MultiTensorOp>(reader)); });
  }
  if (isSplit && !updates.empty())
    builder.setInsertionPoint(endOf(updates.getArrayRef()));
  Operation *behind = nullptr;
  reduced.clear();
  SmallVector<Numbers> buckets = cut(all, /*byTime=*/isSplit);
  for (const Numbers &bucket : buckets) {
    ++number;
    reduce(all, bucket, behind);
    if (!isSplit)
      continue;
    for (Operation *each : updates)
      update(cast<MultiTensorOp>(each), bucket);
    sums.clear();
  }
  if (isSplit)
    for (Operation *each : llvm::reverse(updates)) {
      eraseReturned(cast<MultiTensorOp>(each));
      each->erase();
    }
  all.erase();
}

void Bucketing::run() {
  SmallVector<AllReduceOp> reductions;
  for (auto op : entry.getBlock().getOps<AllReduceOp>())
    if (op.getChannel() == 0)
      reductions.push_back(op);
  for (AllReduceOp op : reductions)
    split(op);
}

namespace {
struct BucketGradients : dlc::dl::impl::BucketGradientsBase<BucketGradients> {
  using BucketGradientsBase::BucketGradientsBase;
  void runOnOperation() override {
    Bucketing(getOperation(), {alpha, beta, taken}, bucketBytes).run();
  }
};
} // namespace
