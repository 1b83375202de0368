//===- DeriveVariables.cpp - functions of parameters alone are computed once ------------------===//
//
//   dl.entry @infer_n1(%x: ...) {        dl.variable @w.derived : ... role<derived>
//     %w = dl.read @w                    dl.entry @infer_n1(%x: ...) {
//     %s = dl.read @s                      %v = dl.read @w.derived
//     %v = dl.multiply %w, %s              %y = dl.matmul %x, %v
//     %y = dl.matmul %x, %v                ...
//     ...                                dl.entry @prepare() attributes {kind = prepare} {
//                                          %w = dl.read @w
//                                          %s = dl.read @s
//                                          %v = dl.multiply %w, %s
//                                          dl.assign @w.derived, %v
//
// In entries that use a model, of ops that need variables which stay as they are and nothing else,
// those whose results others need become variables of role `derived`; equal ones of several entries
// are one. Index ops at their end, such as the broadcast of a bias, stay where they are: they cost
// nothing in the kernel that reads them, and may be far larger than what they read; and so do casts
// to wider floats that element-wise or index ops read.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Choice/Prepare.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "passes/DL/Simplify/Unchanging.h"
#include "llvm/ADT/SetVector.h"

namespace dlc::dl {
#define GEN_PASS_DEF_DERIVEVARIABLES
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

namespace {

/// Ops that compute the same are equal, wherever they are.
struct SameComputation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return static_cast<unsigned>(OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations));
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a),
                                                const_cast<Operation *>(b),
                                                OperationEquivalence::IgnoreLocations);
  }
};

class Deriver {
public:
  explicit Deriver(ModuleOp module)
      : module(module), symbols(module), builder(module), unchanging(module) {}
  void derive(EntryOp entry);

private:
  bool isDerived(ReadOp read) const;
  llvm::SetVector<Value> findRoots(EntryOp entry) const;
  Value copyToPrepare(Value value, IRMapping &mapping);
  VariableOp variableOf(Value root, IRMapping &mapping);

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  Unchanging unchanging;
  EntryOp prepare;
  llvm::DenseMap<Value, VariableOp> known; ///< by the value in `prepare`
  /// Those of `prepare`, each once.
  llvm::DenseSet<Operation *, SameComputation> computed;
  VariableOp last;
};

} // namespace

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Reads of variables that `value` is computed from, each once.
static llvm::SetVector<Operation *> sourcesOf(Value value) {
  llvm::SetVector<Operation *> ops, reads;
  ops.insert(value.getDefiningOp());
  for (size_t i = 0; i < ops.size(); ++i) {
    if (isa<ReadOp>(ops[i]))
      reads.insert(ops[i]);
    for (Value operand : ops[i]->getOperands())
      ops.insert(operand.getDefiningOp());
  }
  return reads;
}

static bool widens(CastOp cast) {
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getX())),
       to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getY()));
  return from && to && from.getWidth() < to.getWidth();
}

/// What stands in front of the ops that `reader` computes where it reads `value`.
static Value skipFreeOps(Value value, Operation *reader) {
  const bool widensFreely = isa<IndexOp, ElementwiseOp>(reader);
  while (Operation *op = value.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(op);
    if (!(widensFreely && cast && widens(cast)) && !(isa<IndexOp>(op) && op->getNumOperands() == 1))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether `prepare` makes what is read.
bool Deriver::isDerived(ReadOp read) const {
  auto variable = symbols.lookup<VariableOp>(read.getVariableAttr().getAttr());
  return variable && variable.getRole() == program::Role::Derived;
}

/// The values to keep: none larger than the variables that it is computed from.
llvm::SetVector<Value> Deriver::findRoots(EntryOp entry) const {
  llvm::DenseSet<Operation *> derived, constants;
  for (Operation &op : entry.getBlock()) {
    auto isKnown = [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return source && (derived.contains(source) || constants.contains(source));
    };
    if (isa<ReadOp>(op) ? unchanging.contains(op.getResult(0)) && !isDerived(cast<ReadOp>(op))
                        : isPure(&op) && op.getNumOperands() > 0 && op.getNumRegions() == 0 &&
                              llvm::all_of(op.getOperands(), isKnown))
      derived.insert(&op);
    else if (isa<ConstantOp>(op) || (isa<IndexOp>(op) && op.getNumOperands() == 0))
      constants.insert(&op);
  }
  llvm::SetVector<Value> roots;
  for (Operation &op : entry.getBlock()) {
    if (derived.contains(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Value root = skipFreeOps(operand, &op);
      Operation *source = root.getDefiningOp();
      if (!source || !derived.contains(source) || isa<ReadOp>(source))
        continue;
      int64_t elements = 0;
      for (Operation *read : sourcesOf(root))
        elements += elementsOf(read->getResult(0));
      if (elements > 0 && elementsOf(root) <= elements)
        roots.insert(root);
    }
  }
  return roots;
}

/// `value` of an entry as a value of `prepare`, computed there if it is not yet.
Value Deriver::copyToPrepare(Value value, IRMapping &mapping) {
  if (Value copy = mapping.lookupOrNull(value))
    return copy;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copyToPrepare(operand, mapping);
  if (!prepare)
    prepare = getPrepare(module);
  builder.setInsertionPoint(prepare.getReturn());
  Operation *copy = builder.clone(*op, mapping);
  if (const auto [same, isNew] = computed.insert(copy); !isNew) {
    mapping.map(op->getResults(), (*same)->getResults());
    copy->erase();
  }
  return mapping.lookup(value);
}

/// Named after the largest variable that it is computed from.
VariableOp Deriver::variableOf(Value root, IRMapping &mapping) {
  VariableOp &variable = known[copyToPrepare(root, mapping)];
  if (variable)
    return variable;
  ReadOp largest;
  for (Operation *read : sourcesOf(root))
    if (!largest || elementsOf(read->getResult(0)) > elementsOf(largest))
      largest = cast<ReadOp>(read);
  if (!last)
    for (auto other : module.getOps<VariableOp>())
      last = other;
  builder.setInsertionPointAfter(last);
  auto zero =
      program::InitialiserAttr::get(builder.getContext(), program::InitialiserKind::Constant, 0.0);
  StringAttr name = builder.getStringAttr(largest.getVariable() + ".derived");
  variable =
      VariableOp::create(builder, root.getLoc(), name, TypeAttr::get(root.getType()),
                         program::RoleAttr::get(builder.getContext(), program::Role::Derived), zero,
                         FlatSymbolRefAttr());
  symbols.insert(variable);
  last = variable;
  builder.setInsertionPoint(prepare.getReturn());
  AssignOp::create(builder, root.getLoc(), variable.getSymName(), mapping.lookup(root));
  return variable;
}

void Deriver::derive(EntryOp entry) {
  IRMapping mapping; // of values of this entry to those of `prepare`
  // One root may be computed from another: all of them are copied before one is replaced.
  SmallVector<std::pair<Value, VariableOp>> roots;
  for (Value root : findRoots(entry))
    roots.push_back({root, variableOf(root, mapping)});
  builder.setInsertionPointToStart(&entry.getBlock());
  for (auto [root, variable] : roots) {
    auto read = ReadOp::create(builder, root.getLoc(), root.getType(), variable.getSymName());
    root.replaceAllUsesWith(read);
  }
  eraseDeadOps(entry);
}

namespace {
struct DeriveVariables : dlc::dl::impl::DeriveVariablesBase<DeriveVariables> {
  void runOnOperation() override {
    SmallVector<EntryOp> entries(getOperation().getOps<EntryOp>());
    Deriver deriver(getOperation());
    for (EntryOp entry : entries)
      if (program::usesModel(entry.getKind()))
        deriver.derive(entry);
  }
};
} // namespace
