//===- DeviceTimer.cpp - see DeviceTimer.h ----------------------------------------------------===//
#include "tools/dlc/DeviceTimer.h"
#include "codegen/Kernel/Status.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dlc/context.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Device/Device.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace dlc::tool {

namespace {
class DeviceTimer : public codegen::KernelTimer {
public:
  DeviceTimer(std::shared_ptr<runtime::Device> device, std::string name, unsigned cores,
              codegen::CompileOptions options)
      : device(std::move(device)), name(std::move(name)), cores(cores),
        options(std::move(options)) {
    codegen::registerKernelDialects(registry);
    registry.insert<exec::ExecDialect>();
  }

  std::string machine() const override { return name; }
  llvm::Expected<std::vector<Run>> load(codegen::KernelSelector &selector,
                                        ArrayRef<codegen::SelectedKernel> candidates) override;

private:
  using Contexts = std::vector<std::shared_ptr<runtime::Context>>; ///< of each candidate
  llvm::Expected<Contexts> contextsOf(codegen::KernelSelector &selector,
                                      ArrayRef<codegen::SelectedKernel> candidates,
                                      bool prepares) const;
  llvm::Expected<std::shared_ptr<const runtime::Module>>
  compile(codegen::KernelSelector &selector, ArrayRef<codegen::SelectedKernel> candidates,
          bool prepares) const;

  std::shared_ptr<runtime::Device> device;
  std::string name;
  unsigned cores; ///< that share a kernel's tasks
  codegen::CompileOptions options;
  DialectRegistry registry;
};
} // namespace

/// What a record of the kernel is called, beside copies and whatever else an entry needs.
static constexpr StringRef timedName = "timed/forward";

/// Numbers between 1 and 2, so that none ends as infinite or as none; indices and flags are 0.
static program::InitialiserAttr initialiserFor(Type element, MLIRContext *context) {
  if (isa<FloatType>(element))
    return program::InitialiserAttr::get(context, program::InitialiserKind::Uniform, 1, 2);
  return program::InitialiserAttr::get(context, program::InitialiserKind::Constant, 0);
}

/// A module with one entry for each candidate: reads the variables that are the operands, runs,
/// assigns the results.
static OwningOpRef<ModuleOp> buildModule(ArrayRef<codegen::SelectedKernel> candidates,
                                         Block &kernel) {
  MLIRContext *context = kernel.getParent()->getContext();
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto declare = [&](const std::string &name, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    dl::VariableOp::create(builder, loc, name, tensor, program::Role::State,
                           initialiserFor(tensor.getElementType(), context), FlatSymbolRefAttr());
  };
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    declare("x" + std::to_string(i), type);
  for (auto [i, type] : llvm::enumerate(kernel.back().getOperandTypes()))
    declare("y" + std::to_string(i), type);
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    builder.setInsertionPointToEnd(module->getBody());
    auto entry = dl::EntryOp::create(builder, loc, "candidate" + std::to_string(number),
                                     builder.getFunctionType({}, {}), program::EntryKind::Infer);
    builder.setInsertionPointToEnd(&entry.getBlock());
    SmallVector<Value> operands;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
      operands.push_back(dl::ReadOp::create(builder, loc, type, "x" + std::to_string(i)));
    auto fused = dl::FusedOp::create(builder, NameLoc::get(builder.getStringAttr(timedName)),
                                     kernel.back().getOperandTypes(), operands);
    IRMapping mapping;
    kernel.getParent()->cloneInto(&fused.getBody(), mapping);
    fused.setCandidateAttr(candidate.asAttr(context));
    for (auto [i, result] : llvm::enumerate(fused.getResults()))
      dl::AssignOp::create(builder, loc, "y" + std::to_string(i), result);
    dl::ReturnOp::create(builder, loc, ValueRange());
  }
  return module;
}

/// The module goes through a file, which is what the runtime loads; it keeps a copy of its own.
static llvm::Expected<std::shared_ptr<const runtime::Module>> loadBytes(StringRef bytes) {
  SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("dlc-tune", "so", path))
    return llvm::createStringError(error, "cannot make a temporary file: " + error.message());
  llvm::scope_exit remove([&] { llvm::sys::fs::remove(path); });
  if (llvm::Error error = codegen::toError(
          runtime::writeFile(path.str().str(), bytes, runtime::Durability::Cached)))
    return std::move(error);
  return codegen::toExpected(runtime::Module::load(path.str().str()));
}

/// `prepares`: whether what a kernel makes of an operand of its own is left to the module's prepare
/// entry, as in inference; otherwise it runs with the kernel, as in training.
llvm::Expected<std::shared_ptr<const runtime::Module>>
DeviceTimer::compile(codegen::KernelSelector &selector,
                     ArrayRef<codegen::SelectedKernel> candidates, bool prepares) const {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
  });
  auto fail = [&] {
    return llvm::createStringError("kernel " + candidates.front().symbol +
                                   " cannot be timed: " + message);
  };
  FailureOr<OwningOpRef<ModuleOp>> source = codegen::parseKernel(candidates.front().text, &context);
  if (failed(source))
    return fail();
  OwningOpRef<ModuleOp> module = buildModule(candidates, codegen::kernelBlock(**source));
  DLPipelineOptions pipeline;
  if (!prepares)
    pipeline.disable.push_back("exec-prepare-operands");
  FailureOr<std::vector<codegen::SelectedKernel>> kernels =
      codegen::planModule(*module, selector, pipeline);
  if (failed(kernels))
    return fail();
  llvm::Expected<std::string> bytes = codegen::compileModule(*module, *kernels, selector, options);
  if (!bytes)
    return bytes.takeError();
  return loadBytes(*bytes);
}

/// Seconds of the kernel's records.
static llvm::Expected<double> timeRun(runtime::Context &context) {
  runtime::Trace trace;
  if (runtime::Status status = context.run(&trace); !status.ok())
    return codegen::toError(status);
  const runtime::Plan &plan = context.state()->module()->plan();
  double seconds = 0;
  for (auto [i, taken] : llvm::enumerate(trace.seconds))
    if (StringRef(plan.recordNames[context.entry().records.first + i]) == timedName)
      seconds += taken;
  return seconds;
}

llvm::Expected<DeviceTimer::Contexts>
DeviceTimer::contextsOf(codegen::KernelSelector &selector,
                        ArrayRef<codegen::SelectedKernel> candidates, bool prepares) const {
  if (candidates.empty())
    return Contexts();
  auto module = compile(selector, candidates, prepares);
  if (!module)
    return module.takeError();
  auto state = codegen::toExpected(runtime::State::create(*module, device, /*seed=*/0));
  if (!state)
    return state.takeError();
  Contexts contexts;
  for (size_t number = 0; number < candidates.size(); ++number) {
    auto created =
        codegen::toExpected(runtime::Context::create(*state, "candidate" + std::to_string(number)));
    if (!created)
      return created.takeError();
    contexts.push_back(std::move(*created));
  }
  return contexts;
}

llvm::Expected<std::vector<codegen::KernelTimer::Run>>
DeviceTimer::load(codegen::KernelSelector &selector, ArrayRef<codegen::SelectedKernel> candidates) {
  llvm::Expected<Contexts> whole = contextsOf(selector, candidates, /*prepares=*/false);
  if (!whole)
    return whole.takeError();
  auto prepares = [](const codegen::SelectedKernel &kernel) {
    return kernel.candidate.preparation.has_value();
  };
  std::vector<codegen::SelectedKernel> preparing;
  llvm::copy_if(candidates, std::back_inserter(preparing), prepares);
  llvm::Expected<Contexts> prepared = contextsOf(selector, preparing, /*prepares=*/true);
  if (!prepared)
    return prepared.takeError();
  auto next = prepared->begin();
  std::vector<Run> runs;
  for (auto [candidate, all] : llvm::zip_equal(candidates, *whole)) {
    auto behind = prepares(candidate) ? *next++ : nullptr;
    runs.push_back([all = all, behind, cores = cores]() -> llvm::Expected<Seconds> {
      llvm::Expected<double> seconds = timeRun(*all);
      if (!seconds)
        return seconds.takeError();
      if (!behind)
        return Seconds{*seconds * cores, *seconds * cores};
      llvm::Expected<double> rest = timeRun(*behind);
      if (!rest)
        return rest.takeError();
      return Seconds{*seconds * cores, *rest * cores};
    });
  }
  return runs;
}

/// "AMD EPYC 9B45"; LLVM's name of the processor where the system does not tell.
static std::string processorName() {
  if (auto info = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    SmallVector<StringRef> lines;
    (*info)->getBuffer().split(lines, '\n');
    for (StringRef line : lines)
      if (auto [key, value] = line.split(':'); key.trim() == "model name")
        return value.trim().str();
  }
  return llvm::sys::getHostCPUName().str();
}

llvm::Expected<std::unique_ptr<codegen::KernelTimer>>
openDeviceTimer(const codegen::Target &target, codegen::CompileOptions options) {
  auto make = [&](std::shared_ptr<runtime::Device> device, std::string name, unsigned cores) {
    return std::make_unique<DeviceTimer>(std::move(device), std::move(name), cores,
                                         std::move(options));
  };
  const codegen::ModuleNeeds needs = target.needs();
  const bool isCpu = needs.has(DLC_TARGET_CPU);
  if (!isCpu && !needs.has(DLC_TARGET_CUDA))
    return llvm::createStringError("dlc tune needs a GPU: the SIMT device only finds errors");
  auto device =
      codegen::toExpected(isCpu ? runtime::openCpu() : runtime::openCuda({.graph = false}));
  if (!device)
    return device.takeError();
  if (!isCpu)
    return make(*device, (*device)->properties(), 1);
  const unsigned cores = llvm::cantFail(llvm::json::parse((*device)->properties()))
                             .getAsObject()
                             ->getInteger("threads")
                             .value_or(1);
  return make(*device, processorName() + ", " + std::to_string(cores) + " threads", cores);
}

} // namespace dlc::tool
