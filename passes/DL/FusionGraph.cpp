//===- FusionGraph.cpp - which ops of an entry become one kernel ------------------------------===//
#include "passes/DL/FusionGraph.h"
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLProgramOps.h"
#include "dialects/DL/DLTensorOps.h"
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

bool FusionGraph::isOutside(Operation *op) {
  if (isa<ConstantOp>(op))
    return !isSplat(op);
  return isa<ReadOp, AssignOp, ScalarOp, ReshapeOp, MultiTensorOp, FusedOp, ReturnOp>(op);
}

bool FusionGraph::isElementwise(Operation *op) {
  return isa<ElementwiseOp, BroadcastOp, IotaOp>(op) || isSplat(op);
}

/// Anchors whose generators apply element-wise ops to what they have just computed.
static bool takesEpilogue(Operation *anchor) {
  return isa<ConvolutionOp, ConvolutionBackwardDataOp, ConvolutionBackwardFilterOp, MatmulOp,
             ReduceOp, MaxPoolOp, MaxPoolBackwardOp, MaxPoolGatherOp, AveragePoolOp,
             AveragePoolBackwardOp>(anchor);
}

/// Operands that an anchor reads only a few times, so that computing them while reading costs
/// little.
static bool takesPrologue(Operation *anchor, unsigned operand) {
  if (isa<ConvolutionBackwardDataOp, SoftmaxCrossEntropyBackwardOp, MaxPoolBackwardOp,
          AveragePoolBackwardOp>(anchor))
    return operand == 0;
  if (isa<ConvolutionBackwardFilterOp>(anchor))
    return operand == 1;
  return isa<ReduceOp, MatmulOp>(anchor);
}

/// Backwards, since an op is recomputed only if all its users let it be.
void FusionGraph::classify(bool recompute) {
  for (Operation &op : llvm::reverse(block)) {
    bool always = isSplat(&op) || isa<IotaOp>(op);
    if (!recompute || (!always && !isa<BroadcastOp, CastOp, CompareOp>(op)))
      continue;
    if (llvm::all_of(op.getUsers(), [&](Operation *user) {
          return isRecomputed(user) ||
                 (always ? !isOutside(user) : isElementwise(user) || isa<ReduceOp>(user));
        }))
      recomputed.insert(&op);
  }
}

//===------------------------------------------------------------------------------------------===//
// The graph
//===------------------------------------------------------------------------------------------===//

FusionGraph::FusionGraph(Block &block, bool recompute) : block(block) {
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
              isa<ElementwiseOp>(op)                           ? Link::Chain
              : takesPrologue(&op, operand.getOperandNumber()) ? Link::Prologue
                                                               : Link::Barrier);
  }
}

/// Adds the edges that end in `consumer`, through recomputed ops.
void FusionGraph::connect(Value operand, Node consumer, Link link) {
  Operation *producer = operand.getDefiningOp();
  if (!producer)
    return;
  if (isRecomputed(producer)) {
    for (Value source : producer->getOperands())
      connect(source, consumer, isa<ElementwiseOp>(producer) ? link : Link::Barrier);
    return;
  }
  incoming[consumer].push_back(edges.size());
  outgoing[nodes.lookup(producer)].push_back(edges.size());
  edges.push_back({nodes.lookup(producer), consumer, link});
}

/// Finds the groups behind `producer` in the order that `consumer` depends on. Fails if a group
/// would depend on itself were the two one: a path leads from `producer` through a third group to
/// `consumer`, or an edge between the two is no `link`.
LogicalResult FusionGraph::findBetween(Node producer, Node consumer, Link link,
                                       DenseSet<Node> &between) const {
  SmallVector<Node> pending = {consumer};
  while (!pending.empty()) {
    Node group = pending.pop_back_val();
    for (Node node : members[group])
      for (unsigned index : incoming[node]) {
        Node source = groupOf(edges[index].from);
        if (source == producer && (group != consumer || edges[index].link != link))
          return failure();
        if (source != group && place[source] > place[producer] && between.insert(source).second)
          pending.push_back(source);
      }
  }
  return success();
}

bool FusionGraph::tryMerge(const Edge &edge) {
  Node producer = groupOf(edge.from), consumer = groupOf(edge.to);
  DenseSet<Node> between;
  if (failed(findBetween(producer, consumer, edge.link, between)))
    return false;
  bool swapped = members[producer].size() < members[consumer].size();
  Node kept = swapped ? consumer : producer, gone = swapped ? producer : consumer;
  moveTogether(place[producer], place[consumer], kept, between);
  for (Node node : members[gone])
    owner[node] = kept;
  members[kept].append(members[gone]);
  members[gone].clear();
  if (!anchor[kept])
    anchor[kept] = anchor[gone];
  return true;
}

/// Keeps every group behind those it depends on when the groups at `first` and `last` become
/// `kept`: what the later one depends on goes before it, the rest behind.
void FusionGraph::moveTogether(size_t first, size_t last, Node kept, const DenseSet<Node> &before) {
  SmallVector<Node> moved, behind;
  for (size_t i = first + 1; i < last; ++i)
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
      tryMerge(edge);
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
        tryMerge(edges[index]);
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

void FusionGraph::fuseBeforeAnchors() {
  for (const Edge &edge : edges)
    if (mayPrecede(edge))
      tryMerge(edge);
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
