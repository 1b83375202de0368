//===- CpuCompiler.cpp - from kernels' texts to objects ---------------------------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "codegen/CPU/Lowering/Lowering.h"
#include "codegen/CPU/Lowering/Routines.h"
#include "codegen/Compile/Jobs.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
/// What one thread keeps between kernels.
class Worker {
public:
  static llvm::Expected<Worker> create(const CpuTarget &target) {
    llvm::Expected<CodeWriter> writer = CodeWriter::create(target);
    if (!writer)
      return writer.takeError();
    return Worker(target, std::move(*writer));
  }

  /// What people read: the kernel with all that it calls.
  llvm::Expected<std::string> print(const SelectedKernel &kernel, KernelForm form) {
    return emit(kernel, [&](ModuleOp module) -> llvm::Expected<std::string> {
      if (form != KernelForm::MLIR)
        return lower(module, form == KernelForm::Assembly ? Output::Assembly : Output::LLVM);
      std::string text;
      llvm::raw_string_ostream stream(text);
      module->print(stream);
      return text;
    });
  }

  /// Its objects, as packParts packs them.
  llvm::Expected<std::string> compile(const SelectedKernel &kernel, Routines &routines) {
    return emit(kernel, [&](ModuleOp module) -> llvm::Expected<std::string> {
      auto compileObject = [&](ModuleOp part) { return lower(part, Output::Object); };
      const std::vector<std::string> called = routines.takeOut(module, routineNames, compileObject);
      llvm::Expected<std::string> own = compileObject(module);
      if (!own)
        return own.takeError();
      llvm::Expected<std::vector<std::string>> others = routines.objects(called);
      if (!others)
        return others.takeError();
      others->insert(others->begin(), std::move(*own));
      return packParts(*others);
    });
  }

private:
  using Finish = llvm::function_ref<llvm::Expected<std::string>(ModuleOp)>;

  /// Gives what the kernel's generator emits to `finish`; errors name the kernel.
  llvm::Expected<std::string> emit(const SelectedKernel &kernel, Finish finish) {
    std::string message;
    ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    auto fail = [&](StringRef step) {
      return llvm::createStringError("kernel " + kernel.symbol + ": " + step +
                                     (message.empty() ? "" : ": " + message));
    };
    FailureOr<OwningOpRef<ModuleOp>> source = parseKernel(kernel.code, context.get());
    if (failed(source))
      return fail("its text cannot be read");
    FailureOr<KernelSpec> spec = KernelSpec::get(kernelBlock(**source));
    if (failed(spec))
      return fail("not a kernel");
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context.get()));
    const auto *generator = static_cast<const CpuGenerator *>(kernel.generator);
    if (failed(generator->emit(*spec, kernel.candidate, target, kernel.symbol, *module)))
      return fail("generator " + kernel.generator->name().str() + " failed");
    llvm::Expected<std::string> result = finish(*module);
    return result ? std::move(result) : fail(llvm::toString(result.takeError()));
  }

  llvm::Expected<std::string> lower(ModuleOp module, Output output) {
    if (failed(verify(module)))
      return llvm::createStringError("its code is not valid");
    if (failed(lowering->run(module)))
      return llvm::createStringError("lowering failed");
    llvm::Expected<std::string> result = writer.write(module, output);
    if (result && output == Output::Object)
      if (std::string name = foreignSymbol(*result, routinePrefix); !name.empty())
        return llvm::createStringError("it calls '" + name + "', but kernels call no library");
    return result;
  }

  Worker(const CpuTarget &target, CodeWriter writer) : target(target), writer(std::move(writer)) {
    DialectRegistry registry;
    registerKernelDialects(registry);
    registerTranslations(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    lowering.emplace(*context, target);
  }

  const CpuTarget &target;
  CodeWriter writer;
  std::unique_ptr<MLIRContext> context;
  std::optional<Lowering> lowering;
  RoutineNames routineNames;
};

} // namespace

llvm::Expected<std::vector<CompiledKernel>>
CpuTarget::compile(ArrayRef<SelectedKernel> kernels, const CompileOptions &options) const {
  std::vector<Job> jobs;
  for (const SelectedKernel &kernel : kernels)
    jobs.push_back({kernel.key, kernel.code.size()});
  Routines routines;
  auto results = runJobs(jobs, options, [&]() -> llvm::Expected<RunJob> {
    llvm::Expected<Worker> created = Worker::create(*this);
    if (!created)
      return created.takeError();
    auto worker = std::make_shared<Worker>(std::move(*created));
    return RunJob([&, worker](size_t i) { return worker->compile(kernels[i], routines); });
  });
  if (!results)
    return results.takeError();
  std::vector<CompiledKernel> compiled;
  for (auto [kernel, result] : llvm::zip_equal(kernels, *results)) {
    compiled.push_back({unpackParts(result.object), {}, result.fromCache, result.seconds});
    if (compiled.back().objects.empty())
      return llvm::createStringError("kernel " + kernel.symbol +
                                     ": the cache holds what is no object");
  }
  return compiled;
}

ArrayRef<KernelForm> CpuTarget::forms() const {
  static constexpr KernelForm all[] = {KernelForm::MLIR, KernelForm::LLVM, KernelForm::Assembly};
  return all;
}

llvm::Expected<std::vector<std::string>>
CpuTarget::print(ArrayRef<SelectedKernel> kernels, KernelForm form, const CompileOptions &) const {
  llvm::Expected<Worker> worker = Worker::create(*this);
  if (!worker)
    return worker.takeError();
  std::vector<std::string> texts;
  for (const SelectedKernel &kernel : kernels) {
    llvm::Expected<std::string> text = worker->print(kernel, form);
    if (!text)
      return text.takeError();
    texts.push_back(std::move(*text));
  }
  return texts;
}
