//===- PrepareOperands.cpp - what kernels make of weights is made once ------------------------===//
//
// See Passes.td for the rules with a before and after. Runs behind the selection of kernels, which
// says what each of them prepares, and before anything that looks at records: to the passes behind
// it a prepared operand is a variable like any other.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/Exec/Memory.h"
#include "passes/Exec/Passes.h"
#include <map>

using namespace mlir;

namespace dlc::exec {

#define GEN_PASS_DEF_PREPAREOPERANDS
#include "passes/Exec/Passes.h.inc"

namespace {

/// Least part of a kernel's time that is worth the memory of a derived variable.
constexpr double leastGain = 0.01;

/// A range of the state, in a form.
using Prepared = std::tuple<int64_t, int64_t, StringRef>;

class Preparer {
public:
  explicit Preparer(ModuleOp module) : module(module), symbols(module), builder(module) {}
  void run();

private:
  void prepare(LaunchOp launch);
  bool isWritten(const Extent &extent) const;
  VariableOp derive(LaunchOp launch, KernelOp kernel, StateOp operand);
  Operation *lastWriter(const Extent &extent);
  void release();
  void addToPrepare(LaunchOp launch, KernelOp kernel, StateOp operand, VariableOp derived);
  ProgramOp getProgram();
  Value createState(VariableOp variable, int64_t bytes);
  Value createEmpty(Location loc);

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  SmallVector<Extent> written; ///< of the state, by programs that look for prepared operands
  std::map<Prepared, VariableOp> known;
  ProgramOp program; ///< the one that prepares
};

} // namespace

void Preparer::run() {
  SmallVector<LaunchOp> launches;
  for (auto each : module.getOps<ProgramOp>()) {
    if (each.getKind() == program::EntryKind::Prepare)
      program = each;
    if (!program::usesModel(each.getKind()))
      continue;
    for (auto record : each.getBlock().getOps<RecordOp>()) {
      SmallVector<BufferAccess> accesses;
      record.getAccesses(accesses);
      for (const BufferAccess &access : accesses)
        if (Extent extent = getExtent(access.buffer); access.writes && extent.space == Space::State)
          written.push_back(extent);
      if (auto launch = dyn_cast<LaunchOp>(*record))
        launches.push_back(launch);
    }
  }
  for (LaunchOp launch : launches)
    prepare(launch);
  release();
}

bool Preparer::isWritten(const Extent &extent) const {
  return llvm::any_of(written, [&](const Extent &other) { return other.overlaps(extent); });
}

void Preparer::prepare(LaunchOp launch) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  PreparationAttr preparation = kernel.getPreparationAttr();
  if (!preparation || preparation.getSeconds().getValueAsDouble() <
                          leastGain * kernel.getSecondsAttr().getValueAsDouble())
    return;
  auto operand = launch.getBuffers()[preparation.getOperand()].getDefiningOp<StateOp>();
  if (!operand || isWritten(getExtent(operand)))
    return;
  VariableOp derived = derive(launch, kernel, operand);
  builder.setInsertionPoint(launch);
  launch.setOperand(preparation.getOperand(), createEmpty(launch.getLoc()));
  launch.getBuffersMutable().append(createState(derived, kernel.getWorkspace()));
  SmallVector<int32_t> access(launch.getAccess());
  access.push_back(static_cast<int32_t>(Access::Read));
  launch.setAccess(access);
  launch.setPart(Part::Rest);
}

/// The variable that holds the operand in the kernel's form; made by the first who asks.
VariableOp Preparer::derive(LaunchOp launch, KernelOp kernel, StateOp operand) {
  const Extent extent = getExtent(operand);
  VariableOp &derived =
      known[{extent.offset, extent.bytes, kernel.getPreparationAttr().getForm().getValue()}];
  if (derived)
    return derived;
  VariableOp last;
  int64_t end = 0;
  for (auto variable : module.getOps<VariableOp>()) {
    last = variable;
    end = std::max<int64_t>(end, alignUp(variable.getOffset() + variable.getBytes()));
  }
  builder.setInsertionPointAfter(last);
  const int64_t bytes = kernel.getWorkspace();
  auto type = RankedTensorType::get({bytes}, builder.getIntegerType(8, /*isSigned=*/false));
  auto zero =
      program::InitialiserAttr::get(builder.getContext(), program::InitialiserKind::Constant, 0.0);
  derived =
      VariableOp::create(builder, operand.getLoc(), (operand.getVariable() + ".prepared").str(),
                         type, program::Role::Derived, zero, FlatSymbolRefAttr(), end, bytes);
  // Another form of the same variable gets another name.
  symbols.insert(derived);
  addToPrepare(launch, kernel, operand, derived);
  return derived;
}

/// Made behind all others if there is none yet.
ProgramOp Preparer::getProgram() {
  if (program)
    return program;
  builder.setInsertionPointToEnd(module.getBody());
  ArrayAttr none = builder.getArrayAttr({});
  program = ProgramOp::create(builder, module.getLoc(), "prepare", program::EntryKind::Prepare,
                              /*batch=*/0, none, none, none, ArrayAttr(), IntegerAttr());
  builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
  OutputOp::create(builder, module.getLoc(), ValueRange());
  symbols.insert(program);
  return program;
}

Value Preparer::createState(VariableOp variable, int64_t bytes) {
  return StateOp::create(builder, variable.getLoc(), BufferType::get(builder.getContext(), bytes),
                         variable.getSymName(), variable.getOffset());
}

/// What a part of a kernel does not touch.
Value Preparer::createEmpty(Location loc) {
  return AllocOp::create(builder, loc, BufferType::get(builder.getContext(), 0), IntegerAttr());
}

/// Of the records that prepare; null if the operand is no result of theirs.
Operation *Preparer::lastWriter(const Extent &extent) {
  Operation *last = nullptr;
  for (auto record : getProgram().getBlock().getOps<RecordOp>()) {
    SmallVector<BufferAccess> accesses;
    record.getAccesses(accesses);
    for (const BufferAccess &access : accesses)
      if (access.writes && getExtent(access.buffer).overlaps(extent))
        last = record;
  }
  return last;
}

/// Directly behind what computes the operand, which may then be needed no longer.
void Preparer::addToPrepare(LaunchOp launch, KernelOp kernel, StateOp operand, VariableOp derived) {
  if (Operation *writer = lastWriter(getExtent(operand)))
    builder.setInsertionPointAfter(writer);
  else
    builder.setInsertionPoint(getProgram().getOutput());
  Location loc = NameLoc::get(
      builder.getStringAttr(getRecordName(launch.getLoc()).split('/').first.str() + "/prepare"));
  SmallVector<Value> buffers;
  for (int64_t i = 0; i < int64_t(kernel.getNumBuffers()); ++i)
    if (i == int64_t(kernel.getPreparationAttr().getOperand()))
      buffers.push_back(builder.clone(*operand)->getResult(0));
    else
      buffers.push_back(createEmpty(loc));
  buffers.push_back(createState(derived, kernel.getWorkspace()));
  SmallVector<int32_t> access(launch.getAccess().take_front(kernel.getNumBuffers()));
  access.push_back(static_cast<int32_t>(Access::Write));
  auto copy = LaunchOp::create(builder, loc, launch.getKernel(), buffers, access);
  copy.setPart(Part::Preparation);
}

/// Derived variables that only `prepare` still looks at, which writes them first, become memory of
/// its own; those behind them move up.
void Preparer::release() {
  if (!program)
    return;
  llvm::DenseMap<StringAttr, SmallVector<StateOp>> uses;
  llvm::DenseSet<StringAttr> kept;
  module.walk([&](StateOp state) {
    if (state.use_empty())
      return state.erase();
    uses[state.getVariableAttr().getAttr()].push_back(state);
    if (state->getParentOfType<ProgramOp>() != program)
      kept.insert(state.getVariableAttr().getAttr());
  });
  int64_t released = 0;
  for (auto variable : llvm::make_early_inc_range(module.getOps<VariableOp>())) {
    const ArrayRef<StateOp> states = uses[variable.getSymNameAttr()];
    if (variable.getRole() != program::Role::Derived) {
      released = 0;
    } else if (kept.contains(variable.getSymNameAttr())) {
      variable.setOffset(variable.getOffset() - released);
      for (StateOp state : states)
        state.setOffset(variable.getOffset());
    } else {
      released += alignUp(variable.getBytes());
      builder.setInsertionPointToStart(&program.getBlock());
      Value memory = AllocOp::create(builder, variable.getLoc(),
                                     BufferType::get(builder.getContext(), variable.getBytes()),
                                     IntegerAttr());
      for (StateOp state : states) {
        state.getBuffer().replaceAllUsesWith(memory);
        state.erase();
      }
      variable.erase();
    }
  }
}

namespace {
struct PrepareOperands : impl::PrepareOperandsBase<PrepareOperands> {
  void runOnOperation() override { Preparer(getOperation()).run(); }
};
} // namespace

} // namespace dlc::exec
