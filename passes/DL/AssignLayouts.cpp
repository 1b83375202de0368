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
#include "dialects/DL/DL.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/DL/Passes.h"

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
  using Class = unsigned;
  struct State {
    bool fixed = false, wanted = false;
  };

  void addEntry(EntryOp entry);
  void addVariable(VariableOp variable);
  void propagate();
  bool follow(FusedOp fused);

  Class classOf(Value value) {
    return find(values.try_emplace(value, parent.size()).first->second);
  }
  Class classOf(StringAttr variable) {
    return find(variables.try_emplace(variable, parent.size()).first->second);
  }
  Class find(Class number);
  template <typename A, typename B> void unite(A a, B b);
  void fix(ValueRange range) {
    for (Value value : range)
      states[classOf(value)].fixed = true;
  }
  bool want(Value value);
  bool isChannelsLast(Class number) {
    State state = states[find(number)];
    return state.wanted && !state.fixed;
  }
  void convertBorders(FusedOp fused);

  ModuleOp module;
  llvm::DenseMap<Value, Class> values;
  llvm::DenseMap<StringAttr, Class> variables;
  SmallVector<Class> parent; ///< union-find
  SmallVector<State> states; ///< of a class, at its root
};

} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static Wish wishOf(FusedOp fused) {
  Wish wish = Wish::Alike;
  for (Operation &op : fused.getBody().front()) {
    if (isa<ConvolutionOp, ConvolutionBackwardDataOp, ConvolutionBackwardFilterOp>(op) &&
        getElementTypeOrSelf(op.getResult(0)).isF32())
      return Wish::ChannelsLast;
    if (!isa<ElementwiseOp, BroadcastOp, ConstantOp, IotaOp, ReduceOp, MaxPoolOp, MaxPoolBackwardOp,
             MaxPoolGatherOp, AveragePoolOp, AveragePoolBackwardOp, YieldOp>(op))
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

LayoutClasses::Class LayoutClasses::find(Class number) {
  while (parent.size() <= number) {
    parent.push_back(parent.size());
    states.emplace_back();
  }
  while (parent[number] != number)
    number = parent[number] = parent[parent[number]];
  return number;
}

template <typename A, typename B> void LayoutClasses::unite(A a, B b) {
  Class one = classOf(a), other = classOf(b);
  parent[other] = one;
  states[one].fixed |= states[other].fixed;
  states[one].wanted |= states[other].wanted;
}

/// True if that is news.
bool LayoutClasses::want(Value value) {
  State &state = states[classOf(value)];
  if (typeOf(value).getRank() < 3 || state.fixed || state.wanted)
    return false;
  return state.wanted = true;
}

void LayoutClasses::addVariable(VariableOp variable) {
  if (variable.getOf())
    unite(variable.getSymNameAttr(), variable.getOfAttr().getAttr());
}

void LayoutClasses::addEntry(EntryOp entry) {
  fix(entry.getBlock().getArguments());
  for (Operation &op : entry.getBlock())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ReadOp read) { unite(read.getResult(), read.getVariableAttr().getAttr()); })
        .Case([&](AssignOp assign) {
          unite(assign.getValue(), assign.getVariableAttr().getAttr());
        })
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
              fix(value);
        })
        .Case([&](FusedOp fused) {
          if (wishOf(fused) == Wish::RowMajor)
            fix(storedBy(fused));
        })
        .Default([&](Operation *other) {
          fix(other->getOperands());
          fix(other->getResults());
        });
}

bool LayoutClasses::follow(FusedOp fused) {
  SmallVector<Value> all = storedBy(fused);
  auto leader = llvm::find_if(all, [&](Value value) { return isChannelsLast(classOf(value)); });
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
    addVariable(variable);
  for (auto entry : module.getOps<EntryOp>())
    addEntry(entry);
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
  for (auto [value, number] : values)
    if (isChannelsLast(number))
      Value(value).setType(channelsLast(typeOf(value)));
  for (auto variable : module.getOps<VariableOp>())
    if (isChannelsLast(classOf(variable.getSymNameAttr())))
      variable.setType(channelsLast(variable.getTensorType()));
  for (auto entry : module.getOps<EntryOp>()) {
    TypeRange results = entry.getReturn().getOutputs().getTypes();
    entry.setFunctionType(
        FunctionType::get(entry.getContext(), entry.getArgumentTypes(), results));
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
