//===- Driver.cpp - one compilation -----------------------------------------------------------===//
//
// The way through the house: frontend, passes on dl, conversion, kernel selection, plan, code,
// module. Each `--emit` stops behind its stage and prints what is there.
//
//===------------------------------------------------------------------------------------------===//
#include "tools/dlc/Driver.h"
#include "codegen/Kernel/Status.h"
#include "codegen/Plan/Measurements.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Plan/Report.h"
#include "codegen/Plan/ReportDetails.h"
#include "codegen/Plan/ReportPage.h"
#include "codegen/Plan/Shortfalls.h"
#include "codegen/Targets.h"
#include "codegen/Tune/Probe.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/ProgramOps.h"
#include "frontend/DL/Frontend.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/ModuleFile.h"
#include "tools/dlc-run/Progress.h"
#include "tools/dlc/DeviceTimer.h"
#include "tools/dlc/Diagnostics.h"
#include "tools/dlc/Engines.h"
#include "tools/dlc/Library.h"
#include "tools/dlc/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace mlir;
namespace json = llvm::json;

namespace dlc::tool {

/// Whether a file holds a module in the dl dialect, not the model language.
static bool isDialect(StringRef file) { return file.ends_with(".mlir"); }

/// What --emit prints kernels as; nothing if it prints something else.
static std::optional<codegen::KernelForm> formOf(Emit emit) {
  switch (emit) {
  case Emit::Kernels:
    return codegen::KernelForm::MLIR;
  case Emit::Assembly:
    return codegen::KernelForm::Assembly;
  case Emit::Cuda:
    return codegen::KernelForm::Source;
  case Emit::PTX:
    return codegen::KernelForm::PTX;
  default:
    return std::nullopt;
  }
}

namespace {
class Driver {
public:
  explicit Driver(const Options &options)
      : options(options), target(llvm::cantFail(codegen::getTarget(options.target))),
        context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<dl::DLDialect, exec::ExecDialect>();
    codegen::TargetSettings &settings = target->settings;
    settings.algorithm = dl::symbolizeConvolutionAlgorithm(options.convolutions)
                             .value_or(dl::ConvolutionAlgorithm::Heuristic);
    settings.products = options.ownProducts ? codegen::Provider::Own : codegen::Provider::Library;
    settings.convolutions = options.convolutions == "own"       ? codegen::Provider::Own
                            : options.convolutions == "library" ? codegen::Provider::Library
                                                                : codegen::Provider::Faster;
    settings.math = options.math;
    settings.layout = options.layout;
    if (options.workspaceLimitMiB)
      settings.workspaceLimit = *options.workspaceLimitMiB << 20;
  }

  int compile() { return run(&Driver::compileModule); }
  int tune() { return run(&Driver::tuneModule); }
  int measure() { return run(&Driver::measureMachine); }

private:
  int run(LogicalResult (Driver::*work)()) {
    DiagnosticForwarder forwarder(context, sources, engine);
    LogicalResult result = (this->*work)();
    if (failed(result) && !engine.hasErrors())
      engine.error({}, "internal error of dlc: a pass failed without saying why");
    render(engine, sources, llvm::errs());
    return failed(result) ? 1 : 0;
  }
  void warnOfForeignWord();
  LogicalResult checkProcessor();
  void warnOfOtherProcessor();
  frontend::FileId load(const std::string &path);
  LogicalResult readDialect();
  LogicalResult readModel();
  LogicalResult checkAgainstNames();
  void warnOfTF32();
  LogicalResult makeTrainingSteps();
  LogicalResult openMachine();
  LogicalResult openPlan();
  LogicalResult warnOfMisfits();
  dl::MemoryFitter showProgress(dl::MemoryFitter fitter) const;
  LogicalResult compileModule();
  LogicalResult tuneModule();
  LogicalResult measureMachine();
  LogicalResult runPasses(llvm::function_ref<void(OpPassManager &)> add);
  LogicalResult compileTarget();
  LogicalResult printReport(ArrayRef<codegen::SelectedKernel> kernels);
  LogicalResult writePage(const json::Value &report);
  LogicalResult printKernels(ArrayRef<codegen::SelectedKernel> kernels, codegen::KernelForm form);
  std::vector<std::string> listUses(const codegen::SelectedKernel &kernel);
  codegen::CompileOptions compilation() const;
  LogicalResult writeText(llvm::StringRef text);
  LogicalResult writeModule();
  LogicalResult check(llvm::Error error);
  LogicalResult check(const runtime::Status &status);
  LogicalResult checkOutput();

  const Options &options;
  std::shared_ptr<codegen::Target> target;
  codegen::Selectors selectors; ///< for the target, once that is complete
  MLIRContext context;
  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  OwningOpRef<ModuleOp> module;
  DLPipelineOptions pipeline;
  codegen::LockFile plan; ///< without lines if none is given
};

/// Reports a failure of a library that has no place in the source.
LogicalResult Driver::check(llvm::Error error) {
  if (!error)
    return success();
  engine.error({}, llvm::toString(std::move(error)));
  return failure();
}

LogicalResult Driver::check(const runtime::Status &status) {
  return check(codegen::toError(status));
}

/// Standard output that is lost is found at the program's end.
LogicalResult Driver::writeText(StringRef text) {
  if (!options.output.empty())
    return check(runtime::writeFile(options.output, text));
  llvm::outs() << text;
  return success();
}

/// Before hours of work: nothing that was read is overwritten, and there is a place for the result.
LogicalResult Driver::checkOutput() {
  std::vector<std::string> inputs = {options.input, options.checkNames,   options.cudnnDevice,
                                     options.plan,  options.measurements, options.machine};
  for (frontend::FileId file = 0; file < sources.size(); ++file)
    inputs.push_back(sources.name(file).str());
  for (const std::string &output : {options.output, options.page}) {
    if (!output.empty() && failed(check(runtime::checkWritable(output, inputs))))
      return failure();
    inputs.push_back(output);
  }
  return success();
}

LogicalResult Driver::writeModule() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // What is to be read again keeps what locations say: the names of layers.
  OpPrintingFlags flags;
  if (isDialect(options.output))
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->print(stream, flags);
  return writeText(text);
}

LogicalResult Driver::runPasses(llvm::function_ref<void(OpPassManager &)> add) {
  PassManager manager(&context);
  add(manager);
  // Once behind all of them: behind each it is two fifths of a deep model's time. dlc-opt does
  // that.
  manager.enableVerifier(false);
  // A pass that warns succeeds, also where a warning is an error.
  return failure(failed(manager.run(*module)) || failed(verify(*module)) || engine.hasErrors());
}

/// As in the language.
void Driver::warnOfForeignWord() {
  const std::string &word = options.foreignConvolutions;
  if (word.empty())
    return;
  const frontend::ForeignAlgorithm &foreign = *frontend::findForeignAlgorithm(word);
  engine
      .warning({}, "--conv-algorithm: '" + word + "' is " + foreign.whose.str() +
                       "'s name, taken as " + foreign.native.str())
      .hint(foreign.hint.empty() ? "write " + foreign.native.str() : foreign.hint.str());
}

/// What a module that dlc reads may hold: what stands in it before any pass has run.
static LogicalResult verifyUntouched(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (!isa<dl::VariableOp, dl::EntryOp, program::SettingsOp>(op))
      return op.emitError("expected dl.variable, dl.entry or program.settings, found ")
             << op.getName();
  if (module.getOps<dl::EntryOp>().empty())
    return module.emitError("the module has no dl.entry");
  for (auto entry : module.getOps<dl::EntryOp>()) {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (entry.getInputName(i).empty())
        return entry.emitError() << "input " << i << " has no name, dl.name";
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (entry.getOutputName(i).empty())
        return entry.emitError() << "output " << i << " has no name, dl.name";
  }
  WalkResult result = module.walk([](Operation *op) {
    if (!op->getParentOfType<dl::EntryOp>() ||
        (isa<dl::DLDialect>(op->getDialect()) && !isa<dl::FusedOp, dl::MultiTensorOp>(op)))
      return WalkResult::advance();
    op->emitError() << op->getName() << " is what passes make: dlc reads what --emit=dl writes";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// noFile if the file cannot be read, which has been said then.
frontend::FileId Driver::load(const std::string &path) {
  std::string error;
  const frontend::FileId file = sources.load(path, error);
  if (file == frontend::noFile)
    engine.error({}, "cannot read '" + path + "': " + error);
  return file;
}

/// The module that --emit=dl has written, or another program.
LogicalResult Driver::readDialect() {
  const frontend::FileId file = load(options.input);
  if (file == frontend::noFile)
    return failure();
  module = parseSourceString<ModuleOp>(sources.text(file), ParserConfig(&context), options.input);
  return failure(!module || failed(verifyUntouched(*module)));
}

/// The model as the frontend gives it.
LogicalResult Driver::readModel() {
  engine.warningsAreErrors = options.warningsAreErrors;
  warnOfForeignWord();
  if (isDialect(options.input)) {
    if (failed(readDialect()))
      return failure();
  } else {
    frontend::FrontendOptions language{options.defines,       withLibrary(options.includeDirs),
                                       options.trainSection,  options.inferBatches,
                                       options.precision,     options.inferPrecision,
                                       options.inputGradients};
    module = frontend::compile(sources, options.input, language, context, engine);
    if (!module)
      return failure();
  }
  if (options.dataParallel)
    (*module)->setAttr(program::dataParallelName, UnitAttr::get(&context));
  return checkOutput();
}

LogicalResult Driver::checkAgainstNames() {
  if (options.checkNames.empty())
    return success();
  const frontend::FileId list = load(options.checkNames);
  if (list == frontend::noFile)
    return failure();
  checkNames(*module, options.checkNames, sources.text(list), engine);
  return failure(engine.hasErrors());
}

void Driver::warnOfTF32() {
  if (target->has(codegen::Ability::Libraries))
    return;
  const WalkResult found = module->walk([](Operation *op) {
    return dl::isTF32(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (found.wasInterrupted())
    engine.warning({}, "tf32 is a precision of CUDA's libraries: the CPU computes in float32");
}

/// What is behind it depends on the target: cuDNN's engines, too.
LogicalResult Driver::makeTrainingSteps() {
  warnOfTF32();
  pipeline = {options.inputGradients, options.weightGradients, options.disabledPasses};
  pipeline.recompute = options.recompute;
  pipeline.memoryBudget = options.memoryBudget;
  pipeline.compress = options.compress;
  pipeline.buckets.bucketBytes = options.bucketBytes;
  pipeline.buckets.taken = target->hostSumSeconds();
  if (auto [alpha, beta] = options.link; alpha > 0) {
    pipeline.buckets.alpha = alpha;
    pipeline.buckets.beta = beta;
  }
  if (failed(runPasses([&](OpPassManager &manager) { addTrainPasses(manager, pipeline); })))
    return failure();
  if (options.cudnnDevice.empty() || options.emit == Emit::DLTrain)
    return success();
  auto engines = openEngines(options.cudnnDevice);
  if (!engines)
    return check(engines.takeError());
  target->settings.chooseEngine = std::move(*engines);
  return success();
}

/// Code is timed where it runs.
LogicalResult Driver::checkProcessor() {
  const codegen::ModuleNeeds needs = target->needs();
  const uint64_t missing =
      needs.has(DLC_TARGET_CPU) ? needs.cpuFeatures & ~runtime::hostCpuFeatures() : 0;
  if (missing == 0)
    return success();
  engine
      .error({}, "--target: code for a '" + needs.cpu + "' cannot be timed: this processor lacks " +
                     runtime::cpuFeatureNames(missing))
      .hint("tune on a machine that the module is for");
  return failure();
}

/// What is timed is this machine's speed, whatever processor the code is for; a level such as
/// x86-64-v3 is for all that have it.
void Driver::warnOfOtherProcessor() {
  const codegen::ModuleNeeds needs = target->needs();
  if (!needs.has(DLC_TARGET_CPU) || StringRef(needs.cpu).starts_with("x86-64-"))
    return;
  auto native = codegen::getTarget("cpu:native");
  const std::string own = native ? (*native)->needs().cpu : "";
  llvm::consumeError(native.takeError());
  if (own != needs.cpu)
    engine
        .warning({}, "--target: code for a '" + needs.cpu + "' is timed on another processor" +
                         (own.empty() ? "" : ", a '" + own + "'"))
        .hint("tune on a machine that the module is for");
}

/// Times the kernels on this machine, and writes down which code to take.
LogicalResult Driver::tuneModule() {
  if (failed(checkProcessor()) || failed(readModel()) || failed(openMachine()) ||
      failed(makeTrainingSteps()))
    return failure();
  warnOfOtherProcessor();
  auto timer = openDeviceTimer(*target, compilation());
  if (!timer)
    return check(timer.takeError());
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  runtime::tool::ProgressLine line;
  size_t timed = 0, known = 0, moved = 0;
  codegen::TuneOptions tuning;
  tuning.cache = options.cache;
  tuning.progress = [&](size_t done, size_t all, const codegen::TunedKernel &kernel, bool fromCache,
                        bool asEstimated) {
    timed = done;
    known += fromCache;
    moved += !asEstimated;
    const std::chrono::duration<double> passed = Clock::now() - start;
    line.update("tune", done, all, kernel.problem.name + " " + kernel.chosen.name(),
                passed.count() / double(done) * double(all - done));
  };
  tuning.watchTrials = [&](dl::MemoryFitter fitter) { return showProgress(std::move(fitter)); };
  auto file = codegen::tuneModule(*module, target, pipeline, **timer, tuning);
  if (!file) {
    line.clear();
    // A pass says what is wrong with the model.
    if (!engine.hasErrors())
      return check(file.takeError());
    llvm::consumeError(file.takeError());
    return failure();
  }
  line.finish(llvm::formatv("{0} kernels with a choice, {1} known from the cache; {2} take other "
                            "code than estimated",
                            timed, known, moved));
  if (engine.hasErrors()) // where a warning is one
    return failure();
  return check(file->write(options.output));
}

/// How fast the target is: as the user says, or else as is known or assumed.
LogicalResult Driver::openMachine() {
  if (!options.machine.empty())
    return check(target->readMachine(options.machine));
  if (std::string assumed = target->assumedMachine(); !assumed.empty())
    engine
        .warning({}, "--target: how fast a '" + target->name() +
                         "' is, is not known: it is taken for a " + assumed)
        .hint("--machine FILE says otherwise");
  return failure(engine.hasErrors()); // where a warning is one
}

/// Times a few kernels, and writes down what the target's record is by them.
LogicalResult Driver::measureMachine() {
  engine.warningsAreErrors = options.warningsAreErrors;
  const std::vector<std::string> inputs = {options.machine};
  if (failed(checkProcessor()) || failed(check(runtime::checkWritable(options.measured, inputs))) ||
      failed(openMachine()))
    return failure();
  warnOfOtherProcessor();
  auto timer = openDeviceTimer(*target, compilation());
  if (!timer)
    return check(timer.takeError());
  llvm::Error error =
      codegen::measureMachine(*target, **timer, [](const codegen::ProbedKernel &kernel) {
        llvm::outs() << llvm::formatv("{0}: {1:f2} ms, estimated {2:f2} ms\n", kernel.name,
                                      1000 * kernel.seconds, 1000 * kernel.estimated);
      });
  if (error)
    return check(std::move(error));
  return failure(engine.hasErrors() ||
                 failed(check(runtime::writeFile(options.measured, target->printMachine()))));
}

LogicalResult Driver::openPlan() {
  if (options.plan.empty())
    return success();
  auto file = codegen::LockFile::read(options.plan, *target);
  if (!file)
    return check(file.takeError());
  plan = std::move(*file);
  return success();
}

/// The heuristic has chosen there. Fails where a warning is an error.
LogicalResult Driver::warnOfMisfits() {
  if (options.plan.empty())
    return success();
  for (const codegen::Misfit &misfit : plan.findMisfits(selectors))
    engine.warning({}, options.plan + (misfit.line ? ":" + std::to_string(misfit.line) : "") +
                           ": " + misfit.message);
  return failure(engine.hasErrors());
}

/// A batch is divided in many ways, where one is not enough: not on the standard output of a text.
dl::MemoryFitter Driver::showProgress(dl::MemoryFitter fitter) const {
  if (options.output.empty())
    return fitter;
  using Clock = std::chrono::steady_clock;
  auto line = std::make_shared<runtime::tool::ProgressLine>();
  return [=, start = Clock::now(), done = 0u](ModuleOp trial, bool early) mutable {
    const std::chrono::duration<double> passed = Clock::now() - start;
    const unsigned all = std::max(done + 1, 1 + dl::mostDivisions);
    if (done > 0)
      line->update("memory budget", done, all, "the batch in parts",
                   passed.count() / double(done) * double(all - done));
    ++done;
    FailureOr<dl::MemoryFit> fit = fitter(trial, early);
    line->clear();
    return fit;
  };
}

LogicalResult Driver::compileModule() {
  if (failed(readModel()) || failed(checkAgainstNames()))
    return failure();
  if (options.emit == Emit::Names)
    return writeText(listNames(*module));
  if (options.emit == Emit::DL)
    return writeModule();
  if (failed(openMachine()))
    return failure();
  if (options.emit == Emit::Machine)
    return writeText(target->printMachine());
  if (failed(openPlan()) || failed(makeTrainingSteps()))
    return failure();
  if (options.emit == Emit::DLTrain)
    return writeModule();
  selectors = codegen::openSelectors(target, plan.choices(), pipeline, options.threads);
  if (pipeline.memoryFitter)
    pipeline.memoryFitter = showProgress(std::move(pipeline.memoryFitter));
  if (failed(runPasses([&](OpPassManager &manager) { addFusionPasses(manager, pipeline); })))
    return failure();
  if (options.emit == Emit::DLFused)
    return writeModule();
  return compileTarget();
}

codegen::CompileOptions Driver::compilation() const {
  codegen::CompileOptions result;
  result.cache = options.cache;
  result.threads = options.threads;
  return result;
}

LogicalResult Driver::compileTarget() {
  FailureOr<std::vector<codegen::SelectedKernel>> kernels =
      codegen::planModule(*module, *selectors.used, pipeline);
  if (failed(kernels) || failed(warnOfMisfits()))
    return failure();
  codegen::warnOfShortfalls(*module, *selectors.used, *kernels);
  if (engine.hasErrors()) // where a warning is one
    return failure();
  if (options.emit == Emit::Exec)
    return writeModule();
  if (options.emit == Emit::Report)
    return printReport(*kernels);
  if (std::optional<codegen::KernelForm> form = formOf(options.emit))
    return printKernels(*kernels, *form);
  llvm::Expected<std::string> bytes =
      codegen::compileModule(*module, *kernels, *selectors.used, compilation());
  if (!bytes)
    return check(bytes.takeError());
  return check(runtime::writeFile(options.output, *bytes));
}

/// Kernels are compiled for what only their code tells: the registers of cubins.
LogicalResult Driver::printReport(ArrayRef<codegen::SelectedKernel> kernels) {
  std::vector<codegen::CompiledKernel> compiled;
  if (target->hasImages()) {
    auto all = target->compile(kernels, compilation());
    if (!all)
      return check(all.takeError());
    compiled = std::move(*all);
  }
  const json::Value report = codegen::buildReport(*module, *selectors.used, kernels, compiled);
  if (!options.page.empty() && (failed(writePage(report)) || options.output.empty()))
    return failure(engine.hasErrors());
  std::string text;
  llvm::raw_string_ostream stream(text);
  codegen::printReport(report, stream);
  return writeText(text);
}

/// The report as a page, with what was measured.
LogicalResult Driver::writePage(const json::Value &report) {
  json::Array measured;
  if (const std::string &path = options.measurements; !path.empty()) {
    auto bytes = runtime::readWholeFile(path, uint64_t(64) << 20);
    if (!bytes.ok())
      return check(bytes.takeStatus());
    const StringRef text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    if (failed(check(runtime::checkJsonDepth(text).in(path))))
      return failure();
    auto lines = codegen::readMeasurements(text, report);
    if (!lines)
      return engine.error({}, path + ": " + llvm::toString(lines.takeError())), failure();
    measured = std::move(*lines);
  }
  return check(runtime::writeFile(
      options.page,
      codegen::printReportPage(report, codegen::buildReportDetails(*module), measured)));
}

/// The layers that launch a kernel, a line an entry: "train_step: conv1/forward, conv2/forward".
std::vector<std::string> Driver::listUses(const codegen::SelectedKernel &kernel) {
  std::vector<std::string> lines;
  SymbolTable symbols(*module);
  for (auto program : module->getOps<exec::ProgramOp>()) {
    SmallVector<std::string> layers;
    for (auto launch : program.getBlock().getOps<exec::LaunchOp>())
      if (symbols.lookup<exec::KernelOp>(launch.getKernel()).getKey() == kernel.keyText())
        layers.push_back(exec::getRecordName(launch.getLoc()).str());
    if (!layers.empty())
      lines.push_back((program.getSymName() + ": " + llvm::join(layers, ", ")).str());
  }
  return lines;
}

/// Each kernel with the layers that use it, or the one whose library call it stands in for.
LogicalResult Driver::printKernels(ArrayRef<codegen::SelectedKernel> kernels,
                                   codegen::KernelForm form) {
  auto texts = target->print(kernels, form, compilation());
  if (!texts)
    return check(texts.takeError());
  const std::string mark = form == codegen::KernelForm::Assembly ? "# " : "// ";
  std::string all;
  for (auto [number, kernel, text] : llvm::enumerate(kernels, *texts)) {
    all += mark + kernel.symbol + ": " + kernel.generator->name().str() + ", " +
           kernel.candidate.schedule + "\n";
    auto refused = llvm::find_if(
        kernels, [&](const codegen::SelectedKernel &other) { return other.alternative == number; });
    for (const std::string &use :
         refused == kernels.end()
             ? listUses(kernel)
             : std::vector<std::string>{"where a library refuses " + refused->symbol})
      all += mark + use + "\n";
    all += "\n" + text + (text.empty() ? "" : "\n");
  }
  return writeText(all);
}

} // namespace

std::string checkTarget(const std::string &name) {
  auto target = codegen::getTarget(name);
  return target ? "" : llvm::toString(target.takeError());
}

/// What --conv-algorithm cannot be; empty if all is well.
static std::string checkConvolutions(const Options &options, const codegen::Target &target) {
  const std::string &word = options.convolutions;
  const bool hasLibraries = target.has(codegen::Ability::Libraries);
  const auto algorithm = dl::symbolizeConvolutionAlgorithm(word);
  if (algorithm && !target.hasAlgorithm(*algorithm))
    return "--conv-algorithm=" + word + " needs a CPU target: --target=cpu";
  const bool isProvider = word == "own" || word == "library";
  if (!hasLibraries && isProvider)
    return "--conv-algorithm=" + word + " needs a CUDA target: --target=cuda:sm_90";
  if (word.empty() || algorithm || isProvider)
    return "";
  return "--conv-algorithm: found '" + word + "', expected one of heuristic, " +
         (hasLibraries ? "library, own, gemm, winograd, fft" : "direct, gemm, winograd, fft");
}

/// What the target's kernels are not printed as; empty if all is well.
static std::string checkForm(const Options &options, const codegen::Target &target) {
  const std::optional<codegen::KernelForm> form = formOf(options.emit);
  if (!form || llvm::is_contained(target.forms(), *form))
    return "";
  return form == codegen::KernelForm::Source || form == codegen::KernelForm::PTX
             ? "--emit=cuda and --emit=ptx need a CUDA target: --target=cuda:sm_90"
             : "--emit=kernels and --emit=asm are for CPU targets: use --emit=cuda or --emit=ptx";
}

/// What only the language understands.
static std::string checkForDialect(const Options &options) {
  for (auto [isGiven, flag] : {std::pair{!options.defines.empty(), "-D"},
                               {!options.includeDirs.empty(), "-I"},
                               {!options.trainSection.empty(), "--train"},
                               {!options.inferBatches.empty(), "--infer-batch"},
                               {options.precision != "f32", "--precision"},
                               {!options.inferPrecision.empty(), "--infer-precision"}})
    if (isGiven)
      return std::string(flag) + " is for models in the language: '" + options.input +
             "' is a module in the dl dialect";
  return "";
}

std::string checkForTarget(const Options &options) {
  if (isDialect(options.input))
    if (std::string wrong = checkForDialect(options); !wrong.empty())
      return wrong;
  const std::shared_ptr<codegen::Target> target =
      llvm::cantFail(codegen::getTarget(options.target));
  if (std::string wrong = checkForm(options, *target); !wrong.empty())
    return wrong;
  if (std::string wrong = checkConvolutions(options, *target); !wrong.empty())
    return wrong;
  if (!options.measured.empty() && target->probes().empty())
    return "dlc tune --measure needs a CPU target: --target=cpu";
  if (options.layout != codegen::ImageLayout::Heuristic &&
      !target->has(codegen::Ability::ImageLayouts))
    return "--layout needs a CPU target: --target=cpu";
  if (options.layout != codegen::ImageLayout::Heuristic &&
      llvm::is_contained(options.disabledPasses, "dl-choose"))
    return "--layout needs dl-choose, which --disable-pass leaves out";
  if (!options.page.empty() && options.emit != Emit::Report)
    return "--html needs --emit=report";
  if (!options.measurements.empty() && options.page.empty())
    return "--bench needs --html, whose page shows it";
  if (options.memoryBudget > 0 && options.recompute == DLPipelineOptions::Recompute::None)
    return "--memory-budget needs what --rematerialize=none forbids";
  for (auto [isGiven, flag] : {std::pair{options.bucketBytes != 0, "--bucket-size"},
                               {options.link[0] != 0, "--link"},
                               {!options.compress.empty(), "--compress"}})
    if (isGiven && !options.dataParallel)
      return std::string(flag) + " needs --data-parallel";
  if (target->has(codegen::Ability::Libraries))
    return "";
  for (auto [isGiven, flag] :
       {std::pair{options.ownProducts, "--gemm"}, {!options.cudnnDevice.empty(), "--cudnn-device"}})
    if (isGiven)
      return std::string(flag) + " needs a CUDA target: --target=cuda:sm_90";
  return "";
}

int compileModel(const Options &options) { return Driver(options).compile(); }
int tuneModel(const Options &options) { return Driver(options).tune(); }
int measureMachine(const Options &options) { return Driver(options).measure(); }

} // namespace dlc::tool
