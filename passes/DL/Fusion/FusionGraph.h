//===- FusionGraph.h - which ops of an entry become one kernel ----------------------*- C++ -*-===//
//
// The ops of an entry as a graph of groups that grow by merging. Knows what is legal (one anchor a
// group, or several reductions of one loop nest, no cycle between groups, values of one shape
// behind the anchor) and in which order to merge; does not touch the IR.
//
// Ops are of four classes:
//   outside       never in a region: what is no tensor computation (read, assign, scalar, return),
//                 constants that are no splat, views, joins of what kernels compute, and what has
//                 a region already
//   recomputed    too cheap to store, cloned into every region that uses them: splats and iota;
//                 other ops that are CheapToRecompute, and a stored tensor scaled or shifted, where
//                 only element-wise ops and reductions use them
//   element-wise  the other ElementwiseOps and IndexOps that keep the order of axes, and what could
//                 be recomputed but is not
//   anchor        AnchorOps and transpositions: they decide the kernel's loops
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_FUSION_FUSIONGRAPH_H
#define DLC_PASSES_DL_FUSION_FUSIONGRAPH_H

#include "dialects/DL/DL.h"
#include "passes/DL/Choice/CandidateSource.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace dlc::dl {

class FusionGraph {
public:
  /// Each op that is not outside and not recomputed in a group of its own. Without `recompute` no
  /// op is recomputed. `target` may be null: then only the ops themselves say what may be computed
  /// while it is read, and rows are as long as they like.
  FusionGraph(mlir::Block &block, bool recompute, CandidateSource *target);

  /// Element-wise ops with the one element-wise group that uses them: nothing between is stored.
  void fuseChains();
  /// Element-wise groups behind their producers: bias, activation and residual behind a
  /// convolution, the mask of a relu's gradient behind the op that computes dy.
  void fuseBehindProducers();
  /// An element-wise op to the group that computes its operands, where that stores it in the place
  /// of several.
  void moveToOperands();
  /// What is left of element-wise groups, in front of the one anchor that uses them.
  void fuseBeforeAnchors();
  /// Reductions of rows and what waits for them in the same rows: a softmax, a norm and its
  /// gradient. What one of them reads or computes of a row, the others find in the cache. With
  /// them goes what is computed of each row for them alone.
  void fuseRows();
  /// Reductions that read a tensor in common, over one index space: a batch norm's sums of dy and
  /// of dy times the normalised x.
  void fuseSiblingReductions();
  /// Element-wise groups that are stored, into reductions that read them: stored from their walk.
  void fuseStoresBesideReductions();

  static bool isOutside(mlir::Operation *op);
  /// Computes each element from at most one element of each operand, without any loop.
  static bool isElementwise(mlir::Operation *op);
  bool isRecomputed(mlir::Operation *op) const { return recomputed.contains(op); }
  /// Whether `value` is used outside the group of the op that computes it, also through recomputed
  /// ops.
  bool escapes(mlir::Value value) const;
  /// The groups' ops, each in block order; the groups in the order of their last ops.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> groups() const;

private:
  using Node = unsigned;
  enum class Link {
    Barrier,  ///< the shape changes on the way, or the consumer is an anchor that wants its operand
              ///< stored
    Chain,    ///< element by element
    Prologue, ///< into an anchor that could compute its operand while it reads
    Spread    ///< element by element, each to all of a row
  };
  struct Edge {
    Node from, to;
    Link link;
    IndexOp spread = {}; ///< what spreads
  };

  void classify(bool recompute);
  void connect(mlir::Value operand, Node consumer, Link link, IndexOp spread = {});
  Node groupOf(Node node) const { return owner[node]; }
  bool mayFollow(const Edge &edge) const;
  Node groupOfOperands(Node node) const;
  mlir::Operation *soleUser(Node group) const;
  bool mayPrecede(const Edge &edge) const;
  bool prefersPrologue(Node group) const;
  llvm::SetVector<mlir::Value> walkedBy(Node group, llvm::ArrayRef<int64_t> space) const;
  bool mayShareRows(Node producer, Node consumer) const;
  bool mayPrecedeRows(const Edge &edge) const;
  llvm::LogicalResult findBetween(Node producer, Node consumer, llvm::ArrayRef<Link> allowed,
                                  llvm::DenseSet<Node> &between) const;
  bool tryMerge(Node producer, Node consumer, llvm::ArrayRef<Link> allowed);
  void moveTogether(size_t first, Node kept, const llvm::DenseSet<Node> &before);
  bool allUsers(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> accepts) const;
  bool allUsers(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> accepts) const;
  bool isIn(mlir::Operation *op, Node group) const;
  mlir::Operation *opOf(Node node) const { return nodes.begin()[node].first; }

  mlir::Block &block;
  int64_t mostRowBytes; ///< of rows that a cache holds
  llvm::DenseSet<mlir::Operation *> recomputed;
  llvm::MapVector<mlir::Operation *, Node> nodes; ///< all ops but recomputed ones, in block order
  llvm::SmallVector<Edge> edges;
  llvm::SmallVector<llvm::SmallVector<unsigned>> incoming; ///< of a node, as indices into edges
  llvm::SmallVector<llvm::SmallVector<unsigned>> outgoing; ///< likewise
  llvm::SmallVector<Node> owner;   ///< of a node: the one that stands for its group
  llvm::SmallVector<Node> order;   ///< groups, each behind those that it depends on
  llvm::SmallVector<size_t> place; ///< of a group in that order
  llvm::SmallVector<mlir::Operation *>
      anchor; ///< of a group, one of its reductions; null: element-wise only
  llvm::SmallVector<llvm::SmallVector<Node>> members; ///< of a group
};

} // namespace dlc::dl

#endif
