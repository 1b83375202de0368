//===- PrepareOperands.cpp - what kernels make of weights is made once ------------------------===//
//
// See Passes.td for the rules with a before and after. Runs behind the selection of kernels, which
// says what each of them prepares, and before anything that looks at records: to the passes behind
// it a prepared operand is a variable, or a result, like any other.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Exec/Bytes.h"
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
  void share(ProgramOp each);
  void prepareFor(ArrayRef<LaunchOp> launches);
  bool isWritten(const Extent &extent) const;
  VariableOp derive(LaunchOp launch, KernelOp kernel, StateOp operand);
  void findComputed();
  Operation *lastWriter(const Extent &extent);
  void release();
  void addToPrepare(LaunchOp launch, KernelOp kernel, StateOp operand, VariableOp derived);
  void createPreparation(LaunchOp launch, Value operand, Value prepared);
  void usePrepared(LaunchOp launch, Value prepared);
  ProgramOp getProgram();
  Value createState(VariableOp variable, int64_t bytes);
  Value createEmpty(Location loc);

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  SmallVector<Extent> written; ///< of the state, by programs that look for prepared operands
  std::map<Prepared, VariableOp> known;
  ProgramOp program;                  ///< the one that prepares
  SmallVector<Operation *> computing; ///< its records, without those that this pass adds
  RegionHistory computed;             ///< what they write, by their numbers
  VariableOp last;                    ///< of all variables, where the state ends
  int64_t stateEnd = 0;
};

} // namespace

void Preparer::run() {
  SmallVector<LaunchOp> launches;
  for (auto each : module.getOps<ProgramOp>()) {
    if (each.getKind() == program::EntryKind::Prepare) {
      program = each;
      findComputed();
    }
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
  for (auto variable : module.getOps<VariableOp>()) {
    last = variable;
    stateEnd = std::max<int64_t>(stateEnd, alignUp(variable.getOffset() + variable.getBytes()));
  }
  for (LaunchOp launch : launches)
    prepare(launch);
  release();
  for (auto each : module.getOps<ProgramOp>())
    share(each);
}

bool Preparer::isWritten(const Extent &extent) const {
  return llvm::any_of(written, [&](const Extent &other) { return other.overlaps(extent); });
}

void Preparer::prepare(LaunchOp launch) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  PreparationAttr preparation = kernel.getPreparationAttr();
  if (!preparation ||
      preparation.getSeconds().getValueAsDouble() < leastGain * *kernel.getSeconds())
    return;
  auto operand = launch.getBuffers()[preparation.getOperand()].getDefiningOp<StateOp>();
  if (!operand || isWritten(getExtent(operand)))
    return;
  VariableOp derived = derive(launch, kernel, operand);
  builder.setInsertionPoint(launch);
  usePrepared(launch, createState(derived, kernel.getWorkspace()));
}

/// Leaves a launch the phases behind its preparation, which stands in `prepared`.
void Preparer::usePrepared(LaunchOp launch, Value prepared) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  builder.setInsertionPoint(launch);
  launch.setOperand(kernel.getPreparationAttr().getOperand(), createEmpty(launch.getLoc()));
  launch.getBuffersMutable().append(prepared);
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
  builder.setInsertionPointAfter(last);
  const int64_t bytes = kernel.getWorkspace();
  auto type = RankedTensorType::get({bytes}, builder.getIntegerType(8, /*isSigned=*/false));
  auto zero =
      program::InitialiserAttr::get(builder.getContext(), program::InitialiserKind::Constant, 0.0);
  derived =
      VariableOp::create(builder, operand.getLoc(), (operand.getVariable() + ".prepared").str(),
                         type, program::Role::Derived, zero, FlatSymbolRefAttr(), stateEnd, bytes);
  // Another form of the same variable gets another name.
  symbols.insert(derived);
  last = derived;
  stateEnd = alignUp(stateEnd + bytes);
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

/// What this pass adds writes nothing that it looks for: only derived variables of its own.
void Preparer::findComputed() {
  for (auto record : program.getBlock().getOps<RecordOp>()) {
    SmallVector<BufferAccess> accesses;
    record.getAccesses(accesses);
    for (const BufferAccess &access : accesses)
      if (Extent extent = getExtent(access.buffer); access.writes)
        computed[extent.getRegion()].touch(computing.size(), {extent.offset, extent.end()},
                                           /*writes=*/true, [](unsigned) {});
    computing.push_back(record);
  }
}

/// Of the records that prepare; null if the operand is no result of theirs.
Operation *Preparer::lastWriter(const Extent &extent) {
  Operation *writer = nullptr;
  unsigned latest = 0;
  computed[extent.getRegion()].touch(computing.size(), {extent.offset, extent.end()},
                                     /*writes=*/false, [&](unsigned number) {
                                       latest = std::max(latest, number);
                                       writer = computing[latest];
                                     });
  return writer;
}

/// Directly behind what computes the operand, which may then be needed no longer.
void Preparer::addToPrepare(LaunchOp launch, KernelOp kernel, StateOp operand, VariableOp derived) {
  if (Operation *writer = lastWriter(getExtent(operand)))
    builder.setInsertionPointAfter(writer);
  else
    builder.setInsertionPoint(getProgram().getOutput());
  Value copy = builder.clone(*operand)->getResult(0);
  createPreparation(launch, copy, createState(derived, kernel.getWorkspace()));
}

/// The part of `launch` that makes `prepared` of `operand`.
void Preparer::createPreparation(LaunchOp launch, Value operand, Value prepared) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  Location loc = NameLoc::get(
      builder.getStringAttr(getRecordName(launch.getLoc()).split('/').first.str() + "/prepare"));
  SmallVector<Value> buffers;
  for (int64_t i = 0; i < int64_t(kernel.getNumBuffers()); ++i)
    buffers.push_back(i == int64_t(kernel.getPreparationAttr().getOperand()) ? operand
                                                                             : createEmpty(loc));
  buffers.push_back(prepared);
  SmallVector<int32_t> access(launch.getAccess().take_front(kernel.getNumBuffers()));
  access.push_back(static_cast<int32_t>(Access::Write));
  if (kernel.getRestWorkspace() != 0) {
    buffers.push_back(createEmpty(loc));
    access.push_back(static_cast<int32_t>(Access::ReadWrite));
  }
  LaunchOp::create(builder, loc, launch.getKernel(), buffers, access).setPart(Part::Preparation);
}

/// Finds launches of a program that want the same bytes in the same form, which nothing writes
/// between them: the steps of a recurrent layer, the calls of a model with the same weights. What
/// is to run late for the sake of memory keeps to itself.
void Preparer::share(ProgramOp each) {
  using Wanted = std::tuple<decltype(Extent().getRegion()), int64_t, int64_t, StringRef>;
  std::vector<SmallVector<LaunchOp>> groups;
  std::map<Wanted, size_t> open;
  int64_t longest = 0;
  for (auto record : each.getBlock().getOps<RecordOp>()) {
    auto launch = dyn_cast<LaunchOp>(*record);
    PreparationAttr preparation;
    if (launch && launch.getPart() == Part::Whole && !launch->hasAttr(keepsPlaceName))
      preparation = symbols.lookup<KernelOp>(launch.getKernel()).getPreparationAttr();
    if (preparation) {
      Extent extent = getExtent(launch.getBuffers()[preparation.getOperand()]);
      longest = std::max(longest, extent.bytes);
      auto [place, isNew] = open.try_emplace(
          {extent.getRegion(), extent.offset, extent.bytes, preparation.getForm().getValue()},
          groups.size());
      if (isNew)
        groups.emplace_back();
      groups[place->second].push_back(launch);
    }
    SmallVector<BufferAccess> accesses;
    record.getAccesses(accesses);
    for (const BufferAccess &access : accesses) {
      if (!access.writes)
        continue;
      Extent extent = getExtent(access.buffer);
      auto next = open.lower_bound({extent.getRegion(), extent.offset - longest, 0, ""});
      while (next != open.end() && std::get<0>(next->first) == extent.getRegion() &&
             std::get<1>(next->first) < extent.end())
        next = std::get<1>(next->first) + std::get<2>(next->first) > extent.offset
                   ? open.erase(next)
                   : std::next(next);
    }
  }
  for (ArrayRef<LaunchOp> group : groups)
    prepareFor(group);
}

/// Prepares in front of the first launch what all of them want, unless it saves too little.
void Preparer::prepareFor(ArrayRef<LaunchOp> launches) {
  LaunchOp first = launches.front();
  auto kernel = symbols.lookup<KernelOp>(first.getKernel());
  PreparationAttr preparation = kernel.getPreparationAttr();
  const double uses = double(launches.size());
  if (preparation.getSeconds().getValueAsDouble() * (uses - 1) / uses <
          leastGain * *kernel.getSeconds() ||
      launches.size() == 1)
    return;
  builder.setInsertionPoint(first);
  Value prepared =
      AllocOp::create(builder, first.getLoc(),
                      BufferType::get(builder.getContext(), kernel.getWorkspace()), IntegerAttr());
  createPreparation(first, first.getBuffers()[preparation.getOperand()], prepared);
  for (LaunchOp launch : launches)
    usePrepared(launch, prepared);
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
