//===- FusionGraph.cpp - which ops of an entry become one kernel ------------------------------===//
#include "passes/DL/Fusion/FusionGraph.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// Classes of ops
//===------------------------------------------------------------------------------------------===//

static bool isSplat(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// Whether the result lies in its operand's memory, so that no kernel computes it: a reshape, or a
/// piece of what is stored anyway. A piece that begins where no buffer may begin is read out of the
/// whole, by the kernels that need it or, where a reshape stands between, by one that copies it.
static bool isPlaceInOperand(IndexOp op) {
  if (op.isView() || !op.canLieInOperand())
    return op.isView();
  Operation *source = op->getOperand(0).getDefiningOp();
  return !source || !(isSplat(source) || source->hasTrait<CheapToRecompute>());
}

/// Whether a kernel, or another op that joins what kernels make, computes the value for itself.
static bool isComputed(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  Operation *op = value.getDefiningOp();
  auto index = dyn_cast_or_null<IndexOp>(op);
  if (index && index.canHoldOperands())
    return true;
  return op && !FusionGraph::isOutside(op) && !isSplat(op) && !op->hasTrait<CheapToRecompute>();
}

/// Whether the result is memory in which its operands are computed, or into which they are copied.
/// A few that are stored elsewhere, or cost less than a copy, are read where the result is needed.
static bool isPlaceOfOperands(IndexOp op) {
  const unsigned few = 4;
  return op.canHoldOperands() &&
         (op->getNumOperands() > few || llvm::all_of(op->getOperands(), isComputed));
}

/// An index op that is a matter of memory only.
static bool isPlacement(IndexOp op) { return isPlaceInOperand(op) || isPlaceOfOperands(op); }

/// An index op whose operands are not turned: it is computed where its elements are needed.
static bool isOrderedIndex(Operation *op) {
  auto index = dyn_cast<IndexOp>(op);
  return index && !isPlacement(index) && index.keepsOrder();
}

bool FusionGraph::isOutside(Operation *op) {
  if (isa<ConstantOp>(op))
    return !isSplat(op);
  if (auto index = dyn_cast<IndexOp>(op))
    return isPlacement(index);
  // An anchor with a region of its own is a kernel already.
  return !isa<ElementwiseOp, AnchorOp>(op) || op->getNumRegions() != 0;
}

bool FusionGraph::isElementwise(Operation *op) {
  return isa<ElementwiseOp>(op) || isOrderedIndex(op) || isSplat(op);
}

static bool takesEpilogue(Operation *op) {
  auto anchor = dyn_cast<AnchorOp>(op);
  return anchor && anchor.takesEpilogue();
}

/// Whether the operand may be computed while the anchor reads it: that is cheap, and what the
/// target would run can do it.
static bool takesPrologue(Operation *op, unsigned operand, CandidateSource *target) {
  auto anchor = dyn_cast<AnchorOp>(op);
  return anchor && anchor.takesPrologue(operand) && !(target && target->readsStored(anchor));
}

/// Whether what is read there may be computed there: an element-wise op reads it once.
static bool recomputes(OpOperand &use) {
  auto anchor = dyn_cast<AnchorOp>(use.getOwner());
  return FusionGraph::isElementwise(use.getOwner()) ||
         (anchor && anchor.recomputesOperand(use.getOperandNumber()));
}

/// Whether the op gives elements of its operand several times.
static bool repeatsOperand(Operation *op) {
  auto index = dyn_cast<IndexOp>(op);
  if (!index || op->getNumOperands() == 0)
    return false;
  return llvm::any_of(index.getIndexMaps(), [](const IndexMap &map) { return map.repeats(); });
}

/// Whether a value is in memory whatever becomes of its element-wise users.
static bool isStoredAnyway(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || FusionGraph::isOutside(op) || llvm::any_of(value.getUsers(), [](Operation *user) {
    return !FusionGraph::isElementwise(user);
  });
}

/// Sums and products of a tensor that is stored anyway with numbers that are the same along an
/// axis, also a few of them in a row: (x - mean) * factor. To read x and compute them costs less
/// than to store them and read them.
static DenseSet<Operation *> findScaledAndShifted(Block &block) {
  const unsigned longest = 4;
  llvm::DenseMap<Operation *, unsigned> length;
  auto isSpread = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && (repeatsOperand(op) || isSplat(op));
  };
  for (Operation &op : block) {
    if (!op.hasTrait<ScalesOrShifts>())
      continue;
    Value x = isSpread(op.getOperand(0)) ? op.getOperand(1) : op.getOperand(0);
    Value spread = x == op.getOperand(0) ? op.getOperand(1) : op.getOperand(0);
    if (isSpread(x) || !isSpread(spread))
      continue;
    unsigned before = length.lookup(x.getDefiningOp());
    if (before < longest && (before > 0 || isStoredAnyway(x)))
      length[&op] = before + 1;
  }
  DenseSet<Operation *> found;
  for (auto [op, steps] : length)
    found.insert(op);
  return found;
}

/// Backwards, since an op is recomputed only if all its users let it be.
void FusionGraph::classify(bool recompute) {
  DenseSet<Operation *> scaled = findScaledAndShifted(block);
  for (Operation &op : llvm::reverse(block)) {
    // With one user nothing is stored between the two anyway.
    bool isScaled = scaled.contains(&op) && (!op.hasOneUse() || isRecomputed(*op.user_begin()));
    if (!recompute || isOutside(&op) ||
        (!isSplat(&op) && !op.hasTrait<CheapToRecompute>() && !isScaled))
      continue;
    // What needs no operand can be computed anywhere.
    bool always = op.getNumOperands() == 0;
    if (llvm::all_of(op.getUses(), [&](OpOperand &use) {
          Operation *user = use.getOwner();
          return isRecomputed(user) || (always ? !isOutside(user) : recomputes(use));
        }))
      recomputed.insert(&op);
  }
}

//===------------------------------------------------------------------------------------------===//
// The graph
//===------------------------------------------------------------------------------------------===//

FusionGraph::FusionGraph(Block &block, bool recompute, CandidateSource *target)
    : block(block),
      mostRowBytes(target ? target->mostRowBytes() : std::numeric_limits<int64_t>::max()) {
  classify(recompute);
  for (Operation &op : block) {
    if (isRecomputed(&op))
      continue;
    Node node = nodes.size();
    nodes.insert({&op, node});
    owner.push_back(node);
    order.push_back(node);
    place.push_back(node);
    anchor.push_back(isOutside(&op) || isElementwise(&op) ? nullptr : &op);
    members.push_back({node});
    incoming.emplace_back();
    outgoing.emplace_back();
    for (OpOperand &operand : op.getOpOperands())
      connect(operand.get(), node,
              isa<ElementwiseOp>(op)                                   ? Link::Chain
              : takesPrologue(&op, operand.getOperandNumber(), target) ? Link::Prologue
                                                                       : Link::Barrier);
  }
}

/// Adds the edges that end in `consumer`, through recomputed ops.
void FusionGraph::connect(Value operand, Node consumer, Link link, IndexOp spread) {
  Operation *producer = operand.getDefiningOp();
  if (!producer)
    return;
  if (isRecomputed(producer)) {
    const bool spreads = !spread && link != Link::Barrier && repeatsOperand(producer);
    for (Value source : producer->getOperands())
      if (isa<ElementwiseOp>(producer))
        connect(source, consumer, link, spread);
      else if (spreads)
        connect(source, consumer, Link::Spread, cast<IndexOp>(producer));
      else
        connect(source, consumer, Link::Barrier);
    return;
  }
  incoming[consumer].push_back(edges.size());
  outgoing[nodes.lookup(producer)].push_back(edges.size());
  edges.push_back({nodes.lookup(producer), consumer, link, spread});
}

/// Finds the groups behind `producer` in the order that `consumer` depends on. Fails if a group
/// would depend on itself were the two one: a path leads from `producer` through a third group to
/// `consumer`, or an edge between the two is of a kind that is not among `allowed`.
LogicalResult FusionGraph::findBetween(Node producer, Node consumer, ArrayRef<Link> allowed,
                                       DenseSet<Node> &between) const {
  SmallVector<Node> pending = {consumer};
  while (!pending.empty()) {
    Node group = pending.pop_back_val();
    for (Node node : members[group])
      for (unsigned index : incoming[node]) {
        Node source = groupOf(edges[index].from);
        if (source == producer &&
            (group != consumer || !llvm::is_contained(allowed, edges[index].link)))
          return failure();
        if (source != group && place[source] > place[producer] && between.insert(source).second)
          pending.push_back(source);
      }
  }
  return success();
}

/// Makes one group of two, the first of which comes first in the order.
bool FusionGraph::tryMerge(Node producer, Node consumer, ArrayRef<Link> allowed) {
  // The code generators' time for one kernel grows with the square of what is in it.
  const size_t mostMembers = 256;
  if (members[producer].size() + members[consumer].size() > mostMembers)
    return false;
  DenseSet<Node> between;
  if (failed(findBetween(producer, consumer, allowed, between)))
    return false;
  bool swapped = members[producer].size() < members[consumer].size();
  Node kept = swapped ? consumer : producer, gone = swapped ? producer : consumer;
  moveTogether(place[producer], kept, between);
  for (Node node : members[gone])
    owner[node] = kept;
  members[kept].append(members[gone]);
  members[gone].clear();
  if (!anchor[kept])
    anchor[kept] = anchor[gone];
  return true;
}

/// Keeps every group behind those it depends on when the group at `first` and a later one become
/// `kept`: what the later one depends on goes before it, the rest stays behind.
void FusionGraph::moveTogether(size_t first, Node kept, const DenseSet<Node> &before) {
  size_t last = first;
  for (Node group : before)
    last = std::max(last, place[group]);
  SmallVector<Node> moved, behind;
  for (size_t i = first + 1; i <= last; ++i)
    if (Node group = order[i]; place[group] == i) // else a place that a merge has left free
      (before.contains(group) ? moved : behind).push_back(group);
  moved.push_back(kept);
  moved.append(behind);
  for (Node group : moved) {
    order[first] = group;
    place[group] = first++;
  }
}

//===------------------------------------------------------------------------------------------===//
// Users
//===------------------------------------------------------------------------------------------===//

/// Whether `accepts` holds for all users of `value`, those through recomputed ops in their place.
bool FusionGraph::allUsers(Value value, llvm::function_ref<bool(Operation *)> accepts) const {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isRecomputed(user) ? allUsers(user->getResult(0), accepts) : accepts(user);
  });
}

bool FusionGraph::allUsers(Operation *op, llvm::function_ref<bool(Operation *)> accepts) const {
  return llvm::all_of(op->getResults(), [&](Value result) { return allUsers(result, accepts); });
}

/// An op that the graph does not know, a region that has been built, is in no group.
bool FusionGraph::isIn(Operation *op, Node group) const {
  auto node = nodes.find(op);
  return node != nodes.end() && groupOf(node->second) == group;
}

bool FusionGraph::escapes(Value value) const {
  Node group = groupOf(nodes.lookup(value.getDefiningOp()));
  return !allUsers(value, [&](Operation *user) { return isIn(user, group); });
}

//===------------------------------------------------------------------------------------------===//
// The three rounds
//===------------------------------------------------------------------------------------------===//

/// From the last consumer on, so that when an op is reached its users are together if they can be.
void FusionGraph::fuseChains() {
  for (const Edge &edge : llvm::reverse(edges)) {
    Operation *op = opOf(edge.from);
    Node consumer = groupOf(edge.to);
    if (edge.link == Link::Chain && !isOutside(op) && isElementwise(op) &&
        groupOf(edge.from) != consumer &&
        allUsers(op, [&](Operation *user) { return isIn(user, consumer); }))
      tryMerge(groupOf(edge.from), consumer, edge.link);
  }
}

/// An element-wise op may join the group of its producer if at most one of the two groups has an
/// anchor, which then takes an epilogue.
bool FusionGraph::mayFollow(const Edge &edge) const {
  Node producer = groupOf(edge.from), consumer = groupOf(edge.to);
  Operation *before = anchor[producer], *behind = anchor[consumer];
  return edge.link == Link::Chain && producer != consumer && !isOutside(opOf(edge.from)) &&
         !(before && behind) && (!before || takesEpilogue(before));
}

/// In block order, so that groups grow from their producers on. Of several producers the one with
/// an anchor comes first, and of those the last computed: what it waits for is there then.
void FusionGraph::fuseBehindProducers() {
  for (Node node = 0; node < nodes.size(); ++node) {
    auto follows = [&](unsigned index) { return mayFollow(edges[index]); };
    SmallVector<unsigned> candidates = llvm::filter_to_vector(incoming[node], follows);
    if (candidates.empty() || prefersPrologue(groupOf(node)))
      continue;
    llvm::sort(candidates, [&](unsigned a, unsigned b) {
      auto order = [&](const Edge &edge) {
        return std::make_pair(anchor[groupOf(edge.from)] != nullptr, edge.from);
      };
      return order(edges[a]) > order(edges[b]);
    });
    for (unsigned index : candidates)
      if (mayFollow(edges[index]))
        tryMerge(groupOf(edges[index].from), groupOf(edges[index].to), edges[index].link);
  }
}

/// The one op outside of `group` that uses values of it; null if there are several or none.
Operation *FusionGraph::soleUser(Node group) const {
  Operation *sole = nullptr;
  auto isSole = [&](Operation *user) {
    if (!sole && !isIn(user, group))
      sole = user;
    return user == sole || isIn(user, group);
  };
  bool one = llvm::all_of(members[group], [&](Node node) { return allUsers(opOf(node), isSole); });
  return one ? sole : nullptr;
}

/// An element-wise group may join the anchor that reads it if nothing else uses any of its values:
/// else it is computed and stored once, not once a user.
bool FusionGraph::mayPrecede(const Edge &edge) const {
  Node group = groupOf(edge.from);
  return edge.link == Link::Prologue && !isOutside(opOf(edge.from)) && !anchor[group] &&
         soleUser(group) == opOf(edge.to);
}

/// Whether `group` would be stored in addition to what it is computed from if it stood behind a
/// producer, and not stored at all in front of its consumer.
bool FusionGraph::prefersPrologue(Node group) const {
  bool mayBePrologue = llvm::any_of(members[group], [&](Node member) {
    return llvm::any_of(outgoing[member], [&](unsigned index) { return mayPrecede(edges[index]); });
  });
  if (!mayBePrologue)
    return false;
  return llvm::all_of(members[group], [&](Node member) {
    return llvm::all_of(incoming[member], [&](unsigned index) {
      Node producer = groupOf(edges[index].from);
      Operation *op = opOf(edges[index].from);
      return producer == group || isOutside(op) || edges[index].link != Link::Chain ||
             !allUsers(op,
                       [&](Operation *user) { return isIn(user, group) || isIn(user, producer); });
    });
  });
}

/// The group that computes all operands of an element-wise op of another group and would store two
/// of them or more for this op only; none: the op's own.
FusionGraph::Node FusionGraph::groupOfOperands(Node node) const {
  Operation *op = opOf(node);
  const Node own = groupOf(node);
  if (!isa<ElementwiseOp>(op) || incoming[node].empty() ||
      incoming[node].size() < op->getNumOperands() || members[own].size() == 1)
    return own;
  const Node group = groupOf(edges[incoming[node].front()].from);
  llvm::SmallPtrSet<Operation *, 4> stored;
  for (unsigned index : incoming[node]) {
    Operation *source = opOf(edges[index].from);
    const bool joins =
        edges[index].link == Link::Chain && !isOutside(source) &&
        groupOf(edges[index].from) == group &&
        allUsers(source, [&](Operation *user) { return user == op || isIn(user, group); });
    if (!joins)
      return own;
    stored.insert(source);
  }
  const bool mayBeBehind = !anchor[group] || takesEpilogue(anchor[group]);
  return stored.size() > 1 && mayBeBehind ? group : own;
}

void FusionGraph::moveToOperands() {
  for (Node node = 0; node < nodes.size(); ++node) {
    const Node from = groupOf(node), to = groupOfOperands(node);
    if (from == to)
      continue;
    llvm::erase(members[from], node);
    members[to].push_back(node);
    if (from == node) { // another member stands for the group that it leaves
      const Node other = members[from].front();
      for (Node member : members[from])
        owner[member] = other;
      std::swap(members[from], members[other]);
      order[place[from]] = other;
      place[other] = place[from];
      std::swap(anchor[from], anchor[other]);
    }
    owner[node] = to;
  }
}

void FusionGraph::fuseBeforeAnchors() {
  for (const Edge &edge : edges)
    if (mayPrecede(edge))
      tryMerge(groupOf(edge.from), groupOf(edge.to), edge.link);
}

//===------------------------------------------------------------------------------------------===//
// Reductions
//===------------------------------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// What a reduction walks.
static ArrayRef<int64_t> spaceOf(Operation *reduction) {
  return shapeOf(cast<ReductionOp>(reduction).getReduced());
}

/// The tensors of the index space `space` that `group` reads from outside.
llvm::SetVector<Value> FusionGraph::walkedBy(Node group, ArrayRef<int64_t> space) const {
  llvm::SetVector<Value> pending, result;
  for (Node node : members[group])
    pending.insert(opOf(node)->operand_begin(), opOf(node)->operand_end());
  for (size_t i = 0; i < pending.size(); ++i) {
    Operation *producer = pending[i].getDefiningOp();
    if (producer && isRecomputed(producer))
      pending.insert(producer->operand_begin(), producer->operand_end());
    else if (!(producer && isIn(producer, group)) && shapeOf(pending[i]) == space)
      result.insert(pending[i]);
  }
  return result;
}

/// Whether two groups of one index space, one behind the other, are one walk over rows: one of them
/// at least reduces, between them stand only the same rows, and they have an element of a row in
/// common that is then read once.
bool FusionGraph::mayShareRows(Node producer, Node consumer) const {
  auto isOfRows = [&](Node group) {
    auto reduction = dyn_cast_or_null<ReductionOp>(anchor[group]);
    return reduction && cachedRowsOf(reduction, mostRowBytes);
  };
  const bool producerReduces = isOfRows(producer), consumerReduces = isOfRows(consumer);
  if ((anchor[producer] && !producerReduces) || (anchor[consumer] && !consumerReduces) ||
      !(producerReduces || consumerReduces) ||
      (producerReduces && consumerReduces &&
       !shareLoops(cast<ReductionOp>(anchor[producer]), cast<ReductionOp>(anchor[consumer]))))
    return false;
  auto reduction = cast<ReductionOp>(anchor[producerReduces ? producer : consumer]);
  ArrayRef<int64_t> space = shapeOf(reduction.getReduced());
  auto isOfSpace = [&](Node group) {
    return anchor[group] || llvm::all_of(members[group], [&](Node node) {
             return shapeOf(opOf(node)->getResult(0)) == space;
           });
  };
  if (!isOfSpace(producer) || !isOfSpace(consumer))
    return false;
  llvm::SetVector<Value> read = walkedBy(producer, space);
  bool sharesElements = llvm::any_of(walkedBy(consumer, space), [&](Value value) {
    return read.contains(value) || isIn(value.getDefiningOp(), producer);
  });
  for (Node node : members[consumer])
    for (unsigned index : incoming[node]) {
      const Edge &edge = edges[index];
      if (groupOf(edge.from) == producer && edge.link == Link::Spread &&
          !spreadsOverRows(edge.spread, *rowsOf(reduction)))
        return false;
    }
  return sharesElements;
}

/// Whether a group of few operations, one element a row, is needed by one walk over rows alone:
/// what a sample weighs, or whether it has a label.
bool FusionGraph::mayPrecedeRows(const Edge &edge) const {
  const uint64_t fewFlops = 4;
  Node group = groupOf(edge.from), consumer = groupOf(edge.to);
  auto reduction = dyn_cast_or_null<ReductionOp>(anchor[consumer]);
  std::optional<Rows> rows = reduction ? cachedRowsOf(reduction, mostRowBytes) : std::nullopt;
  if (edge.link != Link::Spread || !rows || anchor[group] || isOutside(opOf(edge.from)) ||
      !spreadsOverRows(edge.spread, *rows))
    return false;
  uint64_t flops = 0;
  return llvm::all_of(members[group], [&](Node node) {
    Operation *op = opOf(node);
    if (auto elementwise = dyn_cast<ElementwiseOp>(op))
      flops += elementwise.getElementFlops();
    return flops <= fewFlops && llvm::product_of(shapeOf(op->getResult(0))) == rows->count &&
           allUsers(op, [&](Operation *user) { return isIn(user, group) || isIn(user, consumer); });
  });
}

/// In block order, so that rows are joined from what waits for nothing on.
void FusionGraph::fuseRows() {
  const SmallVector<Link> allowed = {Link::Chain, Link::Prologue, Link::Spread};
  for (const Edge &edge : edges) {
    Node producer = groupOf(edge.from), consumer = groupOf(edge.to);
    if (producer != consumer && edge.link != Link::Barrier && !isOutside(opOf(edge.from)) &&
        !isOutside(opOf(edge.to)) && mayShareRows(producer, consumer))
      tryMerge(producer, consumer, allowed);
  }
  for (const Edge &edge : edges)
    if (groupOf(edge.from) != groupOf(edge.to) && mayPrecedeRows(edge))
      tryMerge(groupOf(edge.from), groupOf(edge.to), allowed);
}

void FusionGraph::fuseSiblingReductions() {
  llvm::MapVector<Value, SmallVector<Node>> readers;
  for (Node node = 0; node < nodes.size(); ++node)
    if (groupOf(node) == node && isa_and_nonnull<ReductionOp>(anchor[node]))
      for (Value value : walkedBy(node, spaceOf(anchor[node])))
        readers[value].push_back(node);
  for (auto &[value, groups] : readers) {
    // The last group of each loop nest: a reader that may not join it opens another.
    SmallVector<Node> nests;
    for (Node reader : groups) {
      auto *nest = llvm::find_if(nests, [&](Node other) {
        return shareLoops(cast<ReductionOp>(anchor[groupOf(other)]),
                          cast<ReductionOp>(anchor[groupOf(reader)]));
      });
      if (nest == nests.end()) {
        nests.push_back(reader);
        continue;
      }
      Node first = groupOf(*nest), last = groupOf(reader);
      if (place[first] > place[last])
        std::swap(first, last);
      if (first != last && !tryMerge(first, last, {}))
        *nest = reader;
    }
  }
}

/// A group that no anchor could take whole, since it is stored for others too, is stored by the
/// reductions that read it. One that has become theirs alone, as they have been joined, is stored
/// nowhere.
void FusionGraph::fuseStoresBesideReductions() {
  for (const Edge &edge : edges) {
    Node group = groupOf(edge.from), consumer = groupOf(edge.to);
    if (isOutside(opOf(edge.from)) || anchor[group] ||
        !isa_and_nonnull<ReductionOp>(anchor[consumer]))
      continue;
    const bool isReduced = edge.link == Link::Prologue && isa<ReductionOp>(opOf(edge.to));
    const bool isTheirs = llvm::all_of(members[group], [&](Node node) {
      Operation *op = opOf(node);
      return shapeOf(op->getResult(0)) == spaceOf(anchor[consumer]) &&
             allUsers(op,
                      [&](Operation *user) { return isIn(user, group) || isIn(user, consumer); });
    });
    if (isReduced || isTheirs)
      tryMerge(group, consumer, {Link::Prologue, Link::Chain});
  }
}

//===------------------------------------------------------------------------------------------===//
// The result
//===------------------------------------------------------------------------------------------===//

SmallVector<SmallVector<Operation *>> FusionGraph::groups() const {
  SmallVector<SmallVector<Node>> sorted;
  for (auto [op, node] : nodes) {
    if (isOutside(op) || groupOf(node) != node)
      continue;
    sorted.push_back(members[node]);
    llvm::sort(sorted.back());
  }
  llvm::sort(sorted, [](ArrayRef<Node> a, ArrayRef<Node> b) { return a.back() < b.back(); });
  SmallVector<SmallVector<Operation *>> result;
  for (ArrayRef<Node> group : sorted)
    result.push_back(llvm::map_to_vector(group, [&](Node node) { return opOf(node); }));
  return result;
}
