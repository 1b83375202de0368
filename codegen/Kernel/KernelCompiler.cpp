//===- KernelCompiler.cpp - selection, identity, parallel compilation -------------------------===//
#include "codegen/Kernel/KernelCompiler.h"
#include "codegen/CPU/CodeEmitter.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Lowering.h"
#include "codegen/Kernel/KernelCache.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Config/llvm-config.h"
#include <atomic>
#include <chrono>
#include <thread>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Selection
//===------------------------------------------------------------------------------------------===//

std::string SelectedKernel::keyText() const { return hexadecimal(key); }

std::vector<GeneratedCandidate> codegen::allCandidates(const KernelSpec &spec,
                                                       const CpuTarget &target) {
  std::vector<GeneratedCandidate> all;
  for (const KernelGenerator *generator : cpuGenerators())
    for (Candidate &candidate : generator->candidates(spec, target))
      all.push_back({generator, std::move(candidate)});
  llvm::sort(all, [](const GeneratedCandidate &a, const GeneratedCandidate &b) {
    return std::tuple(a.candidate.cost, a.generator->name(), StringRef(a.candidate.schedule)) <
           std::tuple(b.candidate.cost, b.generator->name(), StringRef(b.candidate.schedule));
  });
  return all;
}

/// Everything that the code depends on.
static std::string identityOf(const SelectedKernel &kernel, const CpuTarget &target) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "dlc " DLC_VERSION " llvm " LLVM_VERSION_STRING " lowering " << loweringVersion << '\0'
         << target.cpu << '\0' << target.features << '\0' << target.vectorBytes << '\0'
         << kernel.generator->name() << '\0' << kernel.generator->version() << '\0'
         << kernel.candidate.schedule << '\0' << kernel.text;
  return text;
}

SelectedKernel codegen::selectCandidate(const KernelSpec &spec, const CpuTarget &target,
                                        const GeneratedCandidate &choice) {
  SelectedKernel kernel;
  kernel.generator = choice.generator;
  kernel.candidate = choice.candidate;
  kernel.text = spec.canonicalText();
  kernel.flops = spec.flops();
  kernel.bytes = spec.bytes();
  kernel.key = hashText(identityOf(kernel, target));
  kernel.symbol = spec.stem() + "_" + hexadecimal(ArrayRef<uint8_t>(kernel.key).take_front(4));
  for (unsigned phase = 0; phase < kernel.candidate.phases.size(); ++phase)
    kernel.symbols.push_back(phaseSymbol(kernel.symbol, kernel.candidate, phase));
  return kernel;
}

FailureOr<SelectedKernel> codegen::selectKernel(Block &block, const CpuTarget &target) {
  FailureOr<KernelSpec> spec = KernelSpec::get(block);
  if (failed(spec))
    return failure();
  std::vector<GeneratedCandidate> all = allCandidates(*spec, target);
  if (all.empty())
    return emitError(block.back().getLoc(), "no generator takes this kernel: ") << spec->stem(),
           failure();
  return selectCandidate(*spec, target, all.front());
}

//===------------------------------------------------------------------------------------------===//
// Compilation
//===------------------------------------------------------------------------------------------===//

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

  llvm::Expected<std::string> compile(const SelectedKernel &kernel, KernelText form,
                                      Output output) {
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
    FailureOr<OwningOpRef<ModuleOp>> source = parseKernel(kernel.text, context.get());
    if (failed(source))
      return fail("its text cannot be read");
    FailureOr<KernelSpec> spec = KernelSpec::get(kernelBlock(**source));
    if (failed(spec))
      return fail("not a kernel");
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context.get()));
    if (failed(kernel.generator->emit(*spec, kernel.candidate, target, kernel.symbol, *module)) ||
        failed(verify(*module)))
      return fail("generator " + kernel.generator->name().str() + " failed");
    if (form == KernelText::MLIR) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      module->print(stream);
      return text;
    }
    if (failed(lowerToLLVM(*module)))
      return fail("lowering failed");
    llvm::Expected<std::string> result = writer.write(*module, output);
    if (!result)
      return fail(llvm::toString(result.takeError()));
    if (output == Output::Object)
      if (std::string name = foreignSymbol(*result); !name.empty())
        return fail("it calls '" + name + "', but kernels call no library");
    return result;
  }

private:
  Worker(const CpuTarget &target, CodeWriter writer) : target(target), writer(std::move(writer)) {
    DialectRegistry registry;
    registerKernelDialects(registry);
    registerTranslations(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }

  const CpuTarget &target;
  CodeWriter writer;
  std::unique_ptr<MLIRContext> context;
};

/// The shared state of one compileKernels call.
struct Compilation {
  ArrayRef<SelectedKernel> kernels;
  const CpuTarget &target;
  const CompileOptions &options;
  KernelCache cache;
  std::vector<CompiledKernel> results;
  std::vector<std::string> errors; ///< one a kernel, empty if it went well
  std::vector<size_t> missing;     ///< kernels to compile, most expensive first
  std::atomic<size_t> next = 0;

  void lookUp();
  void work();
};
} // namespace

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Compilation::lookUp() {
  for (size_t i = 0; i < kernels.size(); ++i) {
    double start = now();
    std::optional<std::string> object;
    if (options.cache)
      object = cache.load(kernels[i].key);
    if (!object) {
      missing.push_back(i);
      continue;
    }
    results[i] = {std::move(*object), true, now() - start};
  }
}

void Compilation::work() {
  if (next >= missing.size())
    return;
  llvm::Expected<Worker> worker = Worker::create(target);
  std::string broken = worker ? "" : llvm::toString(worker.takeError());
  for (size_t i; (i = next++) < missing.size();) {
    size_t number = missing[i];
    double start = now();
    if (!broken.empty()) {
      errors[number] = broken;
      continue;
    }
    auto object = worker->compile(kernels[number], KernelText::LLVM, Output::Object);
    if (!object) {
      errors[number] = llvm::toString(object.takeError());
      continue;
    }
    if (options.cache)
      cache.store(kernels[number].key, *object);
    results[number] = {std::move(*object), false, now() - start};
  }
}

llvm::Expected<std::vector<CompiledKernel>>
codegen::compileKernels(ArrayRef<SelectedKernel> kernels, const CpuTarget &target,
                        const CompileOptions &options) {
  Compilation all{kernels, target, options, KernelCache(options.cacheFolder), {}, {}, {}};
  all.results.resize(kernels.size());
  all.errors.resize(kernels.size());
  all.lookUp();
  // Long texts are the large kernels: started first, they do not delay the end.
  llvm::sort(all.missing, [&](size_t a, size_t b) {
    return std::pair(kernels[b].text.size(), a) < std::pair(kernels[a].text.size(), b);
  });
  unsigned cores = options.threads ? options.threads : std::thread::hardware_concurrency();
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(std::max(cores, 1u), all.missing.size()); ++i)
    threads.emplace_back([&] { all.work(); });
  all.work();
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : all.errors)
    if (!error.empty())
      return llvm::createStringError(error);
  if (options.cache && !all.missing.empty())
    all.cache.trim(options.cacheBytes);
  return std::move(all.results);
}

llvm::Expected<std::string> codegen::printKernel(const SelectedKernel &kernel,
                                                 const CpuTarget &target, KernelText form) {
  llvm::Expected<Worker> worker = Worker::create(target);
  if (!worker)
    return worker.takeError();
  return worker->compile(kernel, form,
                         form == KernelText::Assembly ? Output::Assembly : Output::LLVM);
}
