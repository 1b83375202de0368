//===- AssignLayouts.cpp - which stored tensors keep their channels innermost -----------------===//
//
//   %y = dl.fused(%x, %w) {          %y = dl.fused(%x, %w) : (... #nhwc, ... #nhwc) -> ... #nhwc {
//   ^bb0(%x, %w):                    ^bb0(%x, %w):
//     %0 = dl.convolution %x, %w ->    %1 = dl.convert_layout %x ...
//     dl.yield %0 }                    %2 = dl.convert_layout %w ...
//                                      %0 = dl.convolution %1, %2
//                                      %3 = dl.convert_layout %0 ...
//                                      dl.yield %3 }
//
// Runs on regions, since only what goes into one and comes out of one is stored. Tensors that must
// lie alike (a parameter, its gradient and its slots; what a read gives and an assignment takes)
// are one class, and a class has one layout:
//
//   fixed      row-major: inputs and results of entries, both sides of a reshape, constants, and
//              all that a product, a softmax or a transposition reads or writes
//   wanted     channels last: what a float32 convolution reads or writes
//   followed   element-wise kernels, reductions and pooling take all their tensors alike
//
// A kernel that meets both converts at its border, on the way in or out.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLProgramOps.h"
#include "dialects/DL/DLTensorOps.h"
#include "passes/DL/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"

namespace dlc::dl {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

namespace {

/// What a kernel asks of its tensors.
enum class Wish { RowMajor, ChannelsLast, Alike };

/// Classes of stored tensors and variables.
class LayoutClasses {
public:
  explicit LayoutClasses(ModuleOp module) : module(module) {}

  void build();
  /// Gives the tensors of all classes that want channels last their types.
  void apply();

private:
  /// A value or the name of a variable.
  using Item = const void *;
  static Item itemOf(Value value) { return value.getAsOpaquePointer(); }
  static Item itemOf(StringAttr variable) { return variable.getAsOpaquePointer(); }

  template <typename A, typename B> void unite(A a, B b) {
    classes.unionSets(itemOf(a), itemOf(b));
  }
  void addEntry(EntryOp entry);
  void propagate();
  bool follow(FusedOp fused);
  bool want(Value value);
  template <typename T> bool isChannelsLast(T item) {
    return wanted.contains(classes.getOrInsertLeaderValue(itemOf(item)));
  }
  void convertBorders(FusedOp fused);

  ModuleOp module;
  llvm::EquivalenceClasses<Item> classes;
  SmallVector<Value> rowMajor;        ///< values whose classes are fixed
  llvm::DenseSet<Item> fixed, wanted; ///< leaders of classes; none is both
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static Wish wishOf(FusedOp fused) {
  Wish wish = Wish::Alike;
  for (Operation &op : fused.getBody().front()) {
    if (isa<ConvolutionOp, ConvolutionBackwardDataOp, ConvolutionBackwardFilterOp>(op) &&
        getElementTypeOrSelf(op.getResult(0)).isF32())
      return Wish::ChannelsLast;
    if (!isa<ElementwiseOp, BroadcastOp, ConstantOp, IotaOp, ReductionOp, MaxPoolOp,
             MaxPoolBackwardOp, MaxPoolGatherOp, AveragePoolOp, AveragePoolBackwardOp, YieldOp>(op))
      wish = Wish::RowMajor;
  }
  return wish;
}

/// All tensors that a kernel reads or writes in memory.
static SmallVector<Value> storedBy(FusedOp fused) {
  SmallVector<Value> all(fused.getOperands());
  llvm::append_range(all, fused.getResults());
  return all;
}

/// True if that is news.
bool LayoutClasses::want(Value value) {
  Item leader = classes.getOrInsertLeaderValue(itemOf(value));
  return typeOf(value).getRank() >= 3 && !fixed.contains(leader) && wanted.insert(leader).second;
}

void LayoutClasses::addEntry(EntryOp entry) {
  llvm::append_range(rowMajor, entry.getBlock().getArguments());
  for (Operation &op : entry.getBlock())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ReadOp read) { unite(read.getResult(), read.getVariableAttr().getAttr()); })
        .Case(
            [&](AssignOp assign) { unite(assign.getValue(), assign.getVariableAttr().getAttr()); })
        .Case([&](MultiTensorOp multi) {
          for (int64_t i = 0; i < multi.getCount(); ++i) {
            for (int64_t stream = 1; stream < int64_t(multi.getStreams()); ++stream)
              unite(multi.getTensor(0, i), multi.getTensor(stream, i));
            for (size_t r = i; r < multi.getNumResults(); r += multi.getCount())
              unite(multi.getTensor(0, i), Value(multi.getResult(r)));
          }
        })
        .Case([&](ReturnOp end) {
          // A gradient lies as its variable does.
          for (auto [i, value] : llvm::enumerate(end.getOutputs()))
            if (entry.getOutputKind(i) != ValueKind::Gradient)
              rowMajor.push_back(value);
        })
        .Case([&](FusedOp fused) {
          if (wishOf(fused) == Wish::RowMajor)
            llvm::append_range(rowMajor, storedBy(fused));
        })
        .Default([&](Operation *other) {
          llvm::append_range(rowMajor, other->getOperands());
          llvm::append_range(rowMajor, other->getResults());
        });
}

bool LayoutClasses::follow(FusedOp fused) {
  SmallVector<Value> all = storedBy(fused);
  auto leader = llvm::find_if(all, [&](Value value) { return isChannelsLast(value); });
  if (leader == all.end())
    return false;
  bool changed = false;
  for (Value value : all)
    if (typeOf(value).getRank() == typeOf(*leader).getRank())
      changed |= want(value);
  return changed;
}

void LayoutClasses::propagate() {
  SmallVector<FusedOp> followers;
  module.walk([&](FusedOp fused) {
    Wish wish = wishOf(fused);
    if (wish == Wish::Alike)
      followers.push_back(fused);
    if (wish == Wish::ChannelsLast)
      for (Value value : storedBy(fused))
        want(value);
  });
  // There and back, so that a chain of any length takes one turn.
  bool changed = true;
  while (std::exchange(changed, false)) {
    for (FusedOp fused : followers)
      changed |= follow(fused);
    for (FusedOp fused : llvm::reverse(followers))
      changed |= follow(fused);
  }
}

void LayoutClasses::build() {
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getOf())
      unite(variable.getSymNameAttr(), variable.getOfAttr().getAttr());
  for (auto entry : module.getOps<EntryOp>())
    addEntry(entry);
  for (Value value : rowMajor)
    fixed.insert(classes.getOrInsertLeaderValue(itemOf(value)));
  propagate();
}

static RankedTensorType channelsLast(RankedTensorType type) {
  auto layout = LayoutAttr::getChannelsLast(type.getContext(), type.getRank());
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

/// Inside of the region the types stay as they are.
void LayoutClasses::convertBorders(FusedOp fused) {
  Block &body = fused.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), fused.getOperands())) {
    Type logical = argument.getType();
    if (logical == operand.getType())
      continue;
    argument.setType(operand.getType());
    auto converted = ConvertLayoutOp::create(builder, fused.getLoc(), logical, argument);
    argument.replaceAllUsesExcept(converted, converted);
  }
  Operation *yield = body.getTerminator();
  builder.setInsertionPoint(yield);
  for (auto [yielded, result] : llvm::zip_equal(yield->getOpOperands(), fused.getResults()))
    if (yielded.get().getType() != result.getType())
      yielded.set(
          builder.createOrFold<ConvertLayoutOp>(fused.getLoc(), result.getType(), yielded.get()));
}

void LayoutClasses::apply() {
  for (auto entry : module.getOps<EntryOp>())
    for (Operation &op : entry.getBlock())
      for (Value value : op.getResults())
        if (isChannelsLast(value))
          value.setType(channelsLast(typeOf(value)));
  for (auto variable : module.getOps<VariableOp>())
    if (isChannelsLast(variable.getSymNameAttr()))
      variable.setType(channelsLast(variable.getTensorType()));
  for (auto entry : module.getOps<EntryOp>()) {
    TypeRange results = entry.getReturn().getOutputs().getTypes();
    entry.setFunctionType(FunctionType::get(entry.getContext(), entry.getArgumentTypes(), results));
  }
  module.walk([&](FusedOp fused) { convertBorders(fused); });
}

namespace {
struct AssignLayouts : dlc::dl::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    LayoutClasses classes(getOperation());
    classes.build();
    classes.apply();
  }
};
} // namespace
