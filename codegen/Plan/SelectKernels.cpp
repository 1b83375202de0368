//===- SelectKernels.cpp - how each exec.kernel will run --------------------------------------===//
//
// Runs behind convert-dl-to-exec, where equal kernels are one, and before exec-plan-memory, which
// places the workspaces. A kernel whose region dl-choose has seen has its candidate already, and
// here gets what follows from it; any other takes the first candidate that there is.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/SelectKernels.h"
#include "codegen/Targets.h"

using namespace mlir;

namespace dlc::codegen {

/// `alternative`: a kernel that may run instead, or null.
static void setSelection(exec::KernelOp kernel, const SelectedKernel &selected,
                         const SelectedKernel *alternative) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> phases;
  for (auto [phase, function] : llvm::zip_equal(selected.candidate.phases, selected.symbols))
    phases.push_back(exec::PhaseAttr::get(kernel.getContext(), builder.getStringAttr(function),
                                          phase.tasks, phase.scratchBytes, phase.sideBytes));
  kernel.setPhasesAttr(builder.getArrayAttr(phases));
  if (!selected.candidate.inPlace || (alternative && !alternative->candidate.inPlace))
    kernel.removeInPlaceAttr();
  kernel.setWorkspace(std::max(selected.candidate.workspaceBytes,
                               alternative ? alternative->candidate.workspaceBytes : uint64_t(0)));
  kernel.setRestWorkspace(selected.candidate.restBytes);
  kernel.setKey(selected.keyText());
  kernel.setCandidateAttr(selected.asAttr(kernel.getContext()));
  if (alternative)
    kernel.setAlternativeAttr(alternative->asAttr(kernel.getContext()));
  if (const std::optional<Preparation> &first = selected.candidate.preparation)
    kernel.setPreparationAttr(exec::PreparationAttr::get(
        kernel.getContext(), first->operand, first->phases, builder.getStringAttr(first->form),
        builder.getF64FloatAttr(first->seconds)));
  kernel.setFlops(selected.flops);
  kernel.setBytesMoved(selected.bytes);
  kernel.setSymName(selected.symbol);
}

FailureOr<std::vector<SelectedKernel>> selectKernels(ModuleOp module, KernelSelector &selector) {
  std::vector<SelectedKernel> all, alternatives;
  llvm::DenseMap<StringAttr, FlatSymbolRefAttr> renamed;
  llvm::StringMap<unsigned> uses; ///< of each code, by its symbol
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<SelectedKernel> selected =
        selector.select(kernel.getBlock(), kernel.getCandidateAttr());
    if (failed(selected))
      return failure();
    StringAttr name = kernel.getSymNameAttr();
    std::optional<SelectedKernel> alternative = selector.selectAlternative(*selected);
    setSelection(kernel, *selected, alternative ? &*alternative : nullptr);
    const unsigned use = ++uses[selected->symbol];
    if (use > 1)
      kernel.setSymName(selected->symbol + "." + std::to_string(use));
    renamed[name] = FlatSymbolRefAttr::get(kernel);
    if (use > 1)
      continue;
    if (alternative) {
      selected->alternative = alternatives.size();
      alternatives.push_back(std::move(*alternative));
    }
    all.push_back(std::move(*selected));
  }
  for (SelectedKernel &kernel : all)
    if (kernel.alternative)
      *kernel.alternative += all.size();
  llvm::append_range(all, std::move(alternatives));
  module.walk([&](exec::LaunchOp launch) {
    if (auto known = renamed.find(launch.getKernelAttr().getAttr()); known != renamed.end())
      launch.setKernelAttr(known->second);
  });
  return all;
}

namespace {
struct SelectSchedules : PassWrapper<SelectSchedules, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SelectSchedules)

  SelectSchedules() = default;
  SelectSchedules(const SelectSchedules &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "exec-select-schedules"; }
  StringRef getDescription() const override {
    return "chooses the code of every kernel for a target";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }

  void runOnOperation() override {
    auto parsed = getTarget(target);
    if (!parsed) {
      getOperation().emitError() << llvm::toString(parsed.takeError());
      return signalPassFailure();
    }
    KernelSelector selector(std::move(*parsed));
    if (failed(selectKernels(getOperation(), selector)))
      signalPassFailure();
  }

  Option<std::string> target{*this, "target", llvm::cl::desc("cpu, cpu:avx2, cuda:sm_90, ..."),
                             llvm::cl::init("cpu")};
};
} // namespace

void registerSelectSchedules() { PassRegistration<SelectSchedules>(); }

} // namespace dlc::codegen
