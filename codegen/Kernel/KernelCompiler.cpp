//===- KernelCompiler.cpp - parallel compilation ----------------------------------------------===//
#include "codegen/Kernel/KernelCompiler.h"
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "codegen/CPU/Lowering/Lowering.h"
#include "codegen/CUDA/Headers.h"
#include "codegen/CUDA/Simt.h"
#include "codegen/CUDA/Sources.h"
#include "codegen/Kernel/KernelCache.h"
#include "codegen/Kernel/Routines.h"
#include "codegen/Kernel/Threads.h"
#include "mlir/IR/Verifier.h"
#include <atomic>
#include <chrono>
#include <functional>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Compilation
//===------------------------------------------------------------------------------------------===//

/// What the cache keeps of a kernel: a line of the sizes of its parts, then the parts.
static std::string packParts(ArrayRef<std::string> parts) {
  std::string sizes, bytes;
  for (const std::string &part : parts) {
    sizes += (sizes.empty() ? "" : " ") + std::to_string(part.size());
    bytes += part;
  }
  return sizes + '\n' + bytes;
}

/// Empty if `packed` is not what packParts made.
static std::vector<std::string> unpackParts(StringRef packed) {
  auto [sizes, bytes] = packed.split('\n');
  std::vector<std::string> parts;
  for (StringRef size : llvm::split(sizes, ' ')) {
    size_t count = 0;
    if (size.getAsInteger(10, count) || count > bytes.size())
      return {};
    parts.push_back(bytes.take_front(count).str());
    bytes = bytes.drop_front(count);
  }
  return bytes.empty() ? parts : std::vector<std::string>();
}

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
    lowering.emplace(*context);
  }

  const CpuTarget &target;
  CodeWriter writer;
  std::unique_ptr<MLIRContext> context;
  std::optional<Lowering> lowering;
  RoutineNames routineNames;
};

/// Makes one object: a kernel's, or a part of one. Its key says all that it depends on.
struct Job {
  KernelKey key;
  size_t size; ///< the largest are started first, so that they do not delay the end
};

/// Runs jobs on all cores, those that the cache does not have.
class Jobs {
public:
  struct Result {
    std::string object;
    bool fromCache = false;
    double seconds = 0;
  };
  using Run = std::function<llvm::Expected<std::string>(size_t job)>;
  /// Results in the order of the jobs. `createRun` is called once a thread: what it returns keeps
  /// what the thread needs between jobs.
  static llvm::Expected<std::vector<Result>>
  run(ArrayRef<Job> jobs, const CompileOptions &options,
      const std::function<llvm::Expected<Run>()> &createRun);

private:
  Jobs(ArrayRef<Job> jobs, const CompileOptions &options)
      : jobs(jobs), options(options), cache(options.cacheFolder), results(jobs.size()),
        errors(jobs.size()) {}
  void lookUp();
  void work(const std::function<llvm::Expected<Run>()> &createRun);

  ArrayRef<Job> jobs;
  const CompileOptions &options;
  KernelCache cache;
  std::vector<Result> results;
  std::vector<std::string> errors; ///< one a job, empty if it went well
  std::vector<size_t> missing;     ///< jobs to run, largest first
  std::atomic<size_t> next = 0;
};
} // namespace

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Jobs::lookUp() {
  for (size_t i = 0; i < jobs.size(); ++i) {
    double start = now();
    std::optional<std::string> object;
    if (options.cache)
      object = cache.load(jobs[i].key);
    if (object)
      results[i] = {std::move(*object), true, now() - start};
    else
      missing.push_back(i);
  }
  llvm::sort(missing, [&](size_t a, size_t b) {
    return std::pair(jobs[b].size, a) < std::pair(jobs[a].size, b);
  });
}

void Jobs::work(const std::function<llvm::Expected<Run>()> &createRun) {
  if (next >= missing.size())
    return;
  llvm::Expected<Run> run = createRun();
  std::string broken = run ? "" : llvm::toString(run.takeError());
  for (size_t i; (i = next++) < missing.size();) {
    size_t number = missing[i];
    double start = now();
    if (!broken.empty()) {
      errors[number] = broken;
      continue;
    }
    llvm::Expected<std::string> object = (*run)(number);
    if (!object) {
      errors[number] = llvm::toString(object.takeError());
      continue;
    }
    if (options.cache)
      cache.store(jobs[number].key, *object);
    results[number] = {std::move(*object), false, now() - start};
  }
}

llvm::Expected<std::vector<Jobs::Result>>
Jobs::run(ArrayRef<Job> jobs, const CompileOptions &options,
          const std::function<llvm::Expected<Run>()> &createRun) {
  Jobs all(jobs, options);
  all.lookUp();
  runOnThreads(options.threads, all.missing.size(), [&] { all.work(createRun); });
  for (const std::string &error : all.errors)
    if (!error.empty())
      return llvm::createStringError(error);
  if (options.cache && !all.missing.empty())
    all.cache.trim(options.cacheBytes);
  return std::move(all.results);
}

static llvm::Expected<std::vector<CompiledKernel>> compileForCpu(ArrayRef<SelectedKernel> kernels,
                                                                 const CpuTarget &target,
                                                                 const CompileOptions &options) {
  std::vector<Job> jobs;
  for (const SelectedKernel &kernel : kernels)
    jobs.push_back({kernel.key, kernel.code.size()});
  Routines routines;
  auto results = Jobs::run(jobs, options, [&]() -> llvm::Expected<Jobs::Run> {
    llvm::Expected<Worker> created = Worker::create(target);
    if (!created)
      return created.takeError();
    auto worker = std::make_shared<Worker>(std::move(*created));
    return Jobs::Run([&, worker](size_t i) { return worker->compile(kernels[i], routines); });
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

//===------------------------------------------------------------------------------------------===//
// CUDA
//===------------------------------------------------------------------------------------------===//

static std::vector<CudaSource> sourcesOf(ArrayRef<SelectedKernel> kernels) {
  std::vector<CudaSource> sources;
  for (const SelectedKernel &kernel : kernels)
    sources.push_back(nameFunctions(kernel.candidate, kernel.symbol));
  return sources;
}

std::string codegen::printCudaKernel(const SelectedKernel &kernel) {
  return completeText(nameFunctions(kernel.candidate, kernel.symbol), /*lineMarkers=*/false);
}

/// NVIDIA's headers, if `sources` need them; else nothing.
static llvm::Expected<CudaHeaders> headersFor(ArrayRef<CudaSource> sources) {
  if (llvm::all_of(sources, [](const CudaSource &source) { return source.headers.empty(); }))
    return CudaHeaders();
  return CudaHeaders::find();
}

/// A job makes one kernel's cubin and PTX for one architecture; the PTX of the lowest is kept.
static llvm::Expected<std::vector<CompiledKernel>> compileForCuda(ArrayRef<SelectedKernel> kernels,
                                                                  const CudaTarget &target,
                                                                  const CompileOptions &options) {
  std::vector<CompiledKernel> compiled(kernels.size());
  if (target.architectures.empty())
    return compiled;
  llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load();
  if (!nvrtc)
    return nvrtc.takeError();
  const std::vector<CudaSource> sources = sourcesOf(kernels);
  llvm::Expected<CudaHeaders> headers = headersFor(sources);
  if (!headers)
    return headers.takeError();
  size_t perKernel = target.architectures.size();
  std::vector<std::string> texts;
  std::vector<Job> jobs;
  std::vector<size_t> kernelOfText; // without those that are library calls only
  for (auto [number, source] : llvm::enumerate(sources)) {
    if (source.functions.empty())
      continue;
    kernelOfText.push_back(number);
    texts.push_back(completeText(source, /*lineMarkers=*/true));
    std::string identity = source.headers.empty() ? "" : headers->identity;
    for (unsigned architecture : target.architectures)
      jobs.push_back(
          {hashText("nvrtc parts " + (*nvrtc)->version() + " sm_" + std::to_string(architecture) +
                    '\0' + identity + '\0' + texts.back()),
           texts.back().size()});
  }
  auto results = Jobs::run(jobs, options, [&]() -> llvm::Expected<Jobs::Run> {
    return Jobs::Run([&](size_t i) -> llvm::Expected<std::string> {
      auto images =
          (*nvrtc)->compile(texts[i / perKernel], target.architectures[i % perKernel],
                            sources[kernelOfText[i / perKernel]].functions, headers->folders);
      if (!images)
        return images.takeError();
      return packParts({images->first.serialise(), images->second.serialise()});
    });
  });
  if (!results)
    return results.takeError();
  for (auto [i, result] : llvm::enumerate(*results)) {
    CompiledKernel &kernel = compiled[kernelOfText[i / perKernel]];
    std::vector<std::string> parts = unpackParts(result.object);
    std::optional<KernelImage> cubin, ptx;
    if (parts.size() == 2) {
      cubin = KernelImage::deserialise(parts[0]);
      ptx = KernelImage::deserialise(parts[1]);
    }
    if (!cubin || !ptx)
      return llvm::createStringError("kernel " + kernels[kernelOfText[i / perKernel]].symbol +
                                     ": the cache holds what is no image");
    kernel.images.insert(kernel.images.begin() + i % perKernel, std::move(*cubin));
    if (i % perKernel == 0)
      kernel.images.push_back(std::move(*ptx));
    kernel.fromCache = (i % perKernel == 0 || kernel.fromCache) && result.fromCache;
    kernel.seconds += result.seconds;
  }
  return compiled;
}

llvm::Expected<std::vector<CompiledKernel>>
codegen::compileKernels(ArrayRef<SelectedKernel> kernels, const Target &target,
                        const CompileOptions &options) {
  if (auto *cpu = std::get_if<CpuTarget>(&target))
    return compileForCpu(kernels, *cpu, options);
  return compileForCuda(kernels, std::get<CudaTarget>(target), options);
}

llvm::Expected<std::vector<std::string>> codegen::compileSimt(ArrayRef<SelectedKernel> kernels,
                                                              const CompileOptions &options) {
  llvm::Expected<HostCompiler> compiler = HostCompiler::find();
  if (!compiler)
    return compiler.takeError();
  const std::vector<CudaSource> sources = sourcesOf(kernels);
  llvm::Expected<CudaHeaders> headers = headersFor(sources);
  if (!headers)
    return headers.takeError();
  // Enough files for all cores, and as many on every machine: equal input, equal bytes.
  const size_t kernelsPerFile = 10;
  std::vector<std::string> texts;
  std::vector<Job> jobs;
  for (ArrayRef<CudaSource> rest = sources; !rest.empty();
       rest = rest.drop_front(std::min(kernelsPerFile, rest.size()))) {
    texts.push_back(simtText(rest.take_front(std::min(kernelsPerFile, rest.size()))));
    jobs.push_back(
        {hashText("simt " + compiler->identity + '\0' + headers->identity + '\0' + texts.back()),
         texts.back().size()});
  }
  auto results = Jobs::run(jobs, options, [&]() -> llvm::Expected<Jobs::Run> {
    return Jobs::Run([&](size_t i) { return compiler->compile(texts[i], headers->folders); });
  });
  if (!results)
    return results.takeError();
  std::vector<std::string> objects;
  for (Jobs::Result &result : *results)
    objects.push_back(std::move(result.object));
  return objects;
}

llvm::Expected<std::string> codegen::printKernel(const SelectedKernel &kernel,
                                                 const CpuTarget &target, KernelForm form) {
  llvm::Expected<Worker> worker = Worker::create(target);
  if (!worker)
    return worker.takeError();
  return worker->print(kernel, form);
}
