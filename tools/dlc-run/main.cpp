// dlc-run: runs what dlc compiled. Trains, evaluates, infers, measures and shows modules. Here are
// its flags.
#include "dlc/version.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Dataset.h"
#include "tools/CommandLine/CommandLine.h"
#include "tools/CommandLine/RunTool.h"
#include "tools/dlc-run/Command.h"

#include <cstdio>
#include <functional>
#include <map>

using namespace dlc::runtime;
using namespace dlc::runtime::tool;
using namespace dlc::tool;

namespace {

/// Room for every command's flags, and which command was asked for.
struct CommandLine {
  CLI::App app{"Runs modules that dlc compiled.", "dlc-run"};
  TrainFlags train;
  EvalFlags eval;
  InferFlags infer;
  SampleFlags sample;
  ExportFlags exported;
  BenchFlags bench;
  SimulateFlags simulate;
  PlotFlags plot;
  InspectFlags inspect;
  StepFlags step;
  CheckFlags check;
  DataFlags data;
  DeviceOptions device;
  LaunchFlags launch;
  LinkFlags link;
  std::string probedModule;
  CLI::App *trainCommand, *evalCommand, *inferCommand, *sampleCommand, *exportCommand,
      *benchCommand, *plotCommand, *inspectCommand, *stepCommand, *simulateCommand, *checkCommand,
      *deviceCommand, *launchCommand, *linkCommand, *dataCommand;

  CommandLine();
  CLI::App *add(const char *name, const char *description);
  static void refuse(CLI::App *command, std::function<Status()> check);
  static void addDevice(CLI::App *command, DeviceOptions &flags);
  static void addDeviceDetails(CLI::App *command, DeviceOptions &flags);
  static void addTrace(CLI::App *command, RanksFlags &flags);
  static void addRanks(CLI::App *command, RanksFlags &flags);
  static void addAugment(CLI::App *command, std::string &list, bool evaluates, const char *text);
  CLI::App *addRunning(const char *name, const char *description, RunFlags &flags);
  void addTrain();
  void addInfer();
  void addSample();
  void addExport();
  void addBench();
  void addSimulate();
  void addLink();
  void addPlot();
  void addInspect();
  void addStep();
  void addCheck();
  void addData();
  void addLaunch();
  std::optional<int> read(int argc, const char *const *argv);
  Result<int> run();
  Result<int> launchRanks();
  Status runHere();
};

/// The formats, in lines of a help text.
std::string dataText() {
  constexpr size_t widest = 70;
  std::string text;
  size_t begin = 0;
  for (std::string_view name : dataFormats()) {
    const bool fits = text.size() - begin + name.size() < widest;
    if (!text.empty())
      text += fits ? ' ' : '\n';
    if (!fits)
      begin = text.size();
    text += name;
  }
  return text;
}

constexpr const char *sampleDataText = "text: words: bpe:FILE of the training, for its numbers";

CLI::App *CommandLine::add(const char *name, const char *description) {
  return app.add_subcommand(name, description);
}

/// Flags that do not go together are wrong usage, as a flag alone may be.
void CommandLine::refuse(CLI::App *command, std::function<Status()> check) {
  command->callback([check = std::move(check)] {
    if (const Status status = check(); !status.ok())
      throw CLI::ValidationError(std::string(status.message()));
  });
}

void CommandLine::addDevice(CLI::App *command, DeviceOptions &flags) {
  command
      ->add_option("--device", flags.name,
                   "cpu, cuda (untried) or simt (CUDA on the CPU); default: the module's")
      ->type_name("DEVICE")
      ->check(oneOf({"cpu", "cuda", "simt"}));
  addDeviceDetails(command, flags);
}

void CommandLine::addDeviceDetails(CLI::App *command, DeviceOptions &flags) {
  command->add_option("--threads", flags.threads, "threads of cpu and simt; default: one a core")
      ->type_name("N")
      ->check(wholeNumber(0));
  command
      ->add_option("--simt-seed", flags.simtSeed,
                   "order in which simt runs what is not ordered; default: 0")
      ->type_name("N")
      ->check(wholeNumber(0));
  command->add_flag_callback(
      "--no-cuda-graph", [&flags] { flags.cudaGraph = false; },
      "launch each kernel of a step by itself");
  command->add_flag_callback(
      "--no-libraries", [&flags] { flags.libraries = false; },
      "cuda and simt: dlc's own kernels for all calls of cuBLASLt and cuDNN");
}

void CommandLine::addTrace(CLI::App *command, RanksFlags &flags) {
  command
      ->add_option("--trace", flags.trace,
                   "file for what each rank does when; Perfetto and chrome://tracing show it")
      ->type_name("FILE")
      ->check(fileName());
}

/// What those take that run on several ranks.
void CommandLine::addRanks(CLI::App *command, RanksFlags &flags) {
  command
      ->add_option("--timeout", flags.timeout,
                   "seconds to wait for a rank, 20 times that at known work; default: 30")
      ->type_name("S")
      ->check(realNumber(1, 1e6));
  command
      ->add_option("--deterministic", flags.deterministic,
                   "N ranks that 1, 2, 4, ... processes share, with the same bits")
      ->type_name("N")
      ->check(wholeNumber(1));
}

CLI::App *CommandLine::addRunning(const char *name, const char *description, RunFlags &flags) {
  CLI::App *command = add(name, description);
  command->add_option("module", flags.module, "module that dlc wrote")
      ->required()
      ->type_name("MODULE.so");
  addDevice(command, flags.device);
  command
      ->add_option("--seed", flags.seed,
                   "seed of initial values and of the order of samples; default: 0")
      ->type_name("N")
      ->check(wholeNumber(0));
  command->add_flag("--json", flags.json, "one JSON object a line, the last one the summary");
  return command;
}

/// `evaluates`: only what stands behind test: is of use.
void CommandLine::addAugment(CLI::App *command, std::string &list, bool evaluates,
                             const char *text) {
  command
      ->add_option_function<std::string>(
          "--augment",
          [&list, evaluates](const std::string &given) {
            const Result<Augmentation> found = parseAugmentation(given);
            if (!found.ok())
              throw CLI::ValidationError("--augment", std::string(found.status().message()));
            if (evaluates && !found->hasTest)
              throw CLI::ValidationError(
                  "--augment", "evaluation takes what stands behind test:, as test:" + given);
            list = given;
          },
          text)
      ->type_name("LIST");
}

/// "optimizer.learning_rate=0.1"
void addOverride(const std::string &text, std::map<std::string, double> &overrides) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string number = text.substr(std::min(equals + 1, text.size()));
  char *end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (equals == 0 || number.empty() || *end != '\0')
    throw CLI::ValidationError("--override", "expected NAME=NUMBER, found '" + text + "'");
  overrides[text.substr(0, equals)] = value;
}

void addMaxBadRecords(CLI::App *command, LoadOptions &load) {
  command
      ->add_option("--max-bad-records", load.maxBadRecords,
                   "damaged samples that are left out in each pass over the data; default: 0")
      ->type_name("N")
      ->check(wholeNumber(0));
  showSeldom(*command, {"--max-bad-records"});
}

/// "1e-7:10"
void addRates(const std::string &text, TrainFlags &flags) {
  char *end = nullptr;
  flags.rateFrom = std::strtod(text.c_str(), &end);
  flags.findsRate = *end == ':';
  if (flags.findsRate)
    flags.rateTo = std::strtod(end + 1, &end);
  flags.findsRate &= *end == '\0' && flags.rateFrom > 0 && flags.rateTo > flags.rateFrom;
  if (!flags.findsRate)
    throw CLI::ValidationError("--find-rate",
                               "expected FROM:TO, two rates above 0, found '" + text + "'");
}

void CommandLine::addTrain() {
  trainCommand = addRunning("train", "train a model, evaluating it after each epoch", train);
  trainCommand->add_option("--data", train.data, dataText())->required()->type_name("DATA");
  trainCommand->add_option("--epochs", train.epochs, "epochs in all; default: the model's")
      ->type_name("N")
      ->check(wholeNumber(1));
  trainCommand->add_option("--steps", train.steps, "at most N batches in this run")
      ->type_name("N")
      ->check(wholeNumber(1));
  CLI::Option *checkpoint = trainCommand
                                ->add_option("--checkpoint", train.checkpoint,
                                             "file to write after each epoch and at the end")
                                ->type_name("FILE")
                                ->check(fileName());
  trainCommand
      ->add_option("--checkpoint-every", train.checkpointEvery, "write it every N batches as well")
      ->type_name("N")
      ->check(wholeNumber(0))
      ->needs(checkpoint);
  trainCommand->add_option("--keep", train.keep, "how many stay: FILE, and FILE.step-N before it")
      ->type_name("K")
      ->check(wholeNumber(1))
      ->needs(checkpoint);
  trainCommand
      ->add_option("--save-best", train.saveBest,
                   "write FILE.best too, by accuracy, loss or loss:min")
      ->type_name("METRIC")
      ->needs(checkpoint);
  trainCommand
      ->add_option("--eval-every", train.evaluateEvery,
                   "evaluate, and save, every N batches as well")
      ->type_name("N")
      ->check(wholeNumber(1));
  CLI::Option *patience =
      trainCommand
          ->add_option("--patience", train.patience,
                       "end behind N evaluations that are not better, as --save-best or in loss")
          ->type_name("N")
          ->check(wholeNumber(1));
  trainCommand
      ->add_option("--min-delta", train.minDelta,
                   "how much better one is, at least, for --patience")
      ->type_name("D")
      ->check(realNumber(0, 1e300))
      ->needs(patience);
  trainCommand
      ->add_option("--patience-metric", train.patienceMetric,
                   "another metric for --patience than --save-best")
      ->type_name("METRIC")
      ->needs(patience);
  trainCommand
      ->add_option("--time-limit", train.timeLimit, "end behind the step that ends after S seconds")
      ->type_name("S")
      ->check(realNumber(0.001, 1e9));
  trainCommand->add_flag("--overwrite", train.overwrite,
                         "replace the checkpoint and the log of another run or model");
  CLI::Option *initFrom = trainCommand
                              ->add_option("--init-from", train.initFrom,
                                           "start from weights of another run or model, by name")
                              ->type_name("FILE")
                              ->check(fileName());
  trainCommand
      ->add_option("--rename", train.rename,
                   "names in that file as the model's, sed's way: 'model\\.(.*)=\\1'")
      ->type_name("REGEX=TEXT")
      ->needs(initFrom)
      ->allow_extra_args(false);
  trainCommand
      ->add_flag("--resume", train.resume, "continue from the checkpoint, with the same bits")
      ->needs(checkpoint)
      ->excludes(initFrom);
  trainCommand
      ->add_option("--check-ranks", train.checkRanks,
                   "also compare the parameters of all ranks every N batches")
      ->type_name("N")
      ->check(wholeNumber(0));
  addAugment(trainCommand, train.augment, false,
             "transforms of images, as crop:4,flip, or @FILE; test: for evaluation");
  trainCommand
      ->add_option("--workers", train.load.workers,
                   "threads that read samples; default: 1 for data in memory")
      ->type_name("N")
      ->check(wholeNumber(1));
  trainCommand->add_option("--prefetch", train.load.ahead, "batches made ahead; default: 3")
      ->type_name("N")
      ->check(wholeNumber(1));
  addMaxBadRecords(trainCommand, train.load);
  trainCommand
      ->add_option("--log", train.log, "file for a line of each report: CSV if so named, else JSON")
      ->type_name("FILE")
      ->check(fileName());
  trainCommand
      ->add_option("--limit", train.limit,
                   "at most N batches of each epoch and evaluation; below 1: that part")
      ->type_name("N")
      ->check(realNumber(1e-9, 1e15));
  trainCommand
      ->add_option("--overfit-batches", train.overfitBatches,
                   "the first N batches alone, each epoch alike, also to evaluate on")
      ->type_name("N")
      ->check(wholeNumber(1));
  addTrace(trainCommand, train);
  trainCommand
      ->add_flag("--fast-dev-run", train.fastDevRun,
                 "one batch, an evaluation of one, and no file written")
      ->excludes("--trace");
  trainCommand->add_flag("--check-finite", train.checkFinite,
                         "name the first tensor of a step that is not finite; slow");
  trainCommand
      ->add_option("--norms", train.norms,
                   "norms of weights, and of gradients if there, in the log every N batches")
      ->type_name("N")
      ->check(wholeNumber(1));
  trainCommand
      ->add_option("--share", train.share,
                   "work at most this part of the time, above 0 and up to 1, and rest behind steps")
      ->type_name("S")
      ->check(realNumber(0.001, 1));
  CLI::Option *board = trainCommand
                           ->add_option("--tensorboard", train.tensorboard,
                                        "folder for what is reported, as TensorBoard shows it")
                           ->type_name("DIR")
                           ->check(fileName())
                           ->excludes("--fast-dev-run");
  trainCommand
      ->add_option("--histograms", train.histograms,
                   "and how the parameters' values are spread, every N epochs")
      ->type_name("N")
      ->check(wholeNumber(1))
      ->needs(board);
  trainCommand
      ->add_option_function<std::string>(
          "--find-rate", [this](const std::string &text) { addRates(text, train); },
          "train a copy at rising rates, in --steps N (100), and suggest one; default: 1e-7:10")
      ->type_name("[FROM:TO]")
      ->expected(0, 1)
      ->default_str("1e-7:10")
      ->excludes("--fast-dev-run");
  addRanks(trainCommand, train);
  trainCommand
      ->add_option_function<std::vector<std::string>>(
          "--override",
          [this](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              addOverride(text, train.overrides);
          },
          "set a number of the model, as optimizer.learning_rate=0.1")
      ->type_name("NAME=NUMBER");
  // What has no part in it.
  for (const char *name : {"--trace", "--tensorboard", "--norms", "--check-finite", "--time-limit"})
    trainCommand->get_option("--find-rate")->excludes(name);
  showSeldom(*trainCommand,
             {"--simt-seed",    "--no-cuda-graph", "--no-libraries",    "--check-ranks",
              "--prefetch",     "--min-delta",     "--patience-metric", "--deterministic",
              "--trace",        "--rename",        "--limit",           "--overfit-batches",
              "--fast-dev-run", "--check-finite",  "--norms",           "--share",
              "--find-rate",    "--tensorboard",   "--histograms",      "--timeout"});
}

void CommandLine::addInfer() {
  inferCommand =
      addRunning("infer", "outputs for inputs from a file, or predictions for a data set", infer);
  inferCommand
      ->add_option("--checkpoint", infer.checkpoint, "weights to use; default: initial values")
      ->type_name("FILE")
      ->check(fileName());
  CLI::Option *inputs =
      inferCommand
          ->add_option("--inputs", infer.inputs,
                       "npz or safetensors with the inputs, any number of samples")
          ->type_name("FILE");
  inferCommand
      ->add_option("--save", infer.save,
                   "file for the outputs: a row a sample in FILE.csv, else safetensors")
      ->type_name("FILE")
      ->check(fileName());
  inferCommand
      ->add_option("--top", infer.top, "a table of the K best classes of each sample, and how sure")
      ->type_name("K")
      ->check(wholeNumber(1));
  inferCommand
      ->add_option("--classes", infer.classes, "file of the classes' names, a line each from 0 on")
      ->type_name("FILE")
      ->check(fileName());
  inferCommand->add_option("--data", infer.data, "its test samples, in a format of train's")
      ->type_name("DATA")
      ->excludes(inputs);
  inferCommand->callback([this] {
    if (infer.inputs.empty() && infer.data.empty())
      throw CLI::RequiredError("one of --inputs FILE and --data DATA");
    if (const Status status = checkInfer(infer); !status.ok())
      throw CLI::ValidationError(std::string(status.message()));
  });
  addAugment(inferCommand, infer.augment, true,
             "test: and transforms of images, or @FILE; default: the checkpoint's");
  inferCommand->add_option("--entry", infer.entry, "entry to run; default: the first that infers")
      ->type_name("NAME");
  inferCommand->add_option("--steps", infer.steps, "at most N batches")
      ->type_name("N")
      ->check(wholeNumber(1));
}

void CommandLine::addSample() {
  sampleCommand = addRunning("sample", "draw a text from a language model, as it goes on", sample);
  sampleCommand->get_option("--seed")->description("seed of the draws; default: 0");
  sampleCommand
      ->add_option("--checkpoint", sample.checkpoint, "weights to use; default: initial values")
      ->type_name("FILE")
      ->check(fileName());
  sampleCommand->add_option("--data", sample.data, sampleDataText)->required()->type_name("DATA");
  sampleCommand
      ->add_option("--prompt", sample.prompt, "what the text begins with; default: a line's end")
      ->type_name("TEXT");
  sampleCommand
      ->add_option("--length", sample.length, "characters, words or tokens to draw; default: 200")
      ->type_name("N")
      ->check(wholeNumber(1));
  sampleCommand
      ->add_option("--temperature", sample.temperature,
                   "scores are divided by it; 0: the likeliest each time; default: 1")
      ->type_name("T")
      ->check(realNumber(0, 1e6));
  sampleCommand
      ->add_option("--top-k", sample.topK, "draw among the K likeliest; default: among all")
      ->type_name("K")
      ->check(wholeNumber(1));
  sampleCommand->add_option("--entry", sample.entry, "entry to run; default: the first that infers")
      ->type_name("NAME");
}

void CommandLine::addExport() {
  exportCommand = add("export", "write the weights of a checkpoint alone, for other programs");
  exportCommand->add_option("module", exported.module, "module that dlc wrote")
      ->required()
      ->type_name("MODULE.so");
  exportCommand
      ->add_option("--checkpoint", exported.checkpoint, "whose weights, or their averages (ema)")
      ->type_name("FILE")
      ->check(fileName());
  exportCommand->add_option("-o,--save", exported.save, "safetensors to write")
      ->required()
      ->type_name("FILE")
      ->check(fileName());
  exportCommand
      ->add_option("--average", exported.average,
                   "mean of these checkpoints, or of the last K that --keep kept")
      ->type_name("FILE ... or K")
      ->check(fileName());
  refuse(exportCommand, [this] { return tool::checkExport(exported); });
}

void CommandLine::addBench() {
  benchCommand = addRunning("bench", "time one run of an entry on random data", bench);
  benchCommand
      ->add_option("--entry", bench.entry,
                   "entry to run; default: the first that trains, or infers")
      ->type_name("NAME");
  benchCommand->add_option("--steps", bench.steps, "runs to time; default: up to 100 in 3 seconds")
      ->type_name("N")
      ->check(wholeNumber(1));
  benchCommand->add_option("--warm-up", bench.warmUp, "runs before them, not timed; default: 3")
      ->type_name("N")
      ->check(wholeNumber(1));
  benchCommand->add_flag("--layers", bench.layers, "time of each record of the plan");
  addTrace(benchCommand, bench);
  addRanks(benchCommand, bench);
}

void CommandLine::addSimulate() {
  simulateCommand = addRunning("simulate", "predict what a step takes on many ranks", simulate);
  simulateCommand->add_option("--ranks", simulate.ranks, "how many; default: 1,2,4,...,4096")
      ->delimiter(',')
      ->check(wholeNumber(1, 1 << 17))
      ->type_name("N,...")
      ->allow_extra_args(false);
  simulateCommand
      ->add_option("--link", simulate.link,
                   "as `dlc-run launch -n 2 -- link` prints it; default: 5e-5,1.6e-9")
      ->type_name("A,B")
      ->check(linkTimes());
  simulateCommand->add_option("--topology", simulate.topology, "ring (default), tree, or two-level")
      ->type_name("WHICH")
      ->check(oneOf({"ring", "tree", "two-level"}));
  simulateCommand->add_option("--per-node", simulate.perNode, "two-level: ranks of a node")
      ->type_name("N")
      ->check(wholeNumber(1, 1 << 20));
  simulateCommand->add_option("--node-link", simulate.nodeLink, "two-level: --link within a node")
      ->type_name("A,B")
      ->check(linkTimes());
  simulateCommand
      ->add_option("--beside", simulate.beside,
                   "beside kernels, as `link MODULE.so` prints it; default: A,B,0")
      ->type_name("A,B,S")
      ->check(besideTimes());
  simulateCommand
      ->add_option("--times", simulate.times,
                   "times of the kernels: what FILE has; if there is none, what is measured")
      ->type_name("FILE")
      ->check(fileName());
  simulateCommand
      ->add_option("--step-ms", simulate.stepMs, "what one rank takes on another machine than this")
      ->type_name("MS")
      ->check(realNumber(1e-6, 1e9));
  simulateCommand
      ->add_option("--jitter", simulate.jitter,
                   "spread of a rank's kernels in a step, in parts of them; default: 0")
      ->type_name("S")
      ->check(realNumber(0, 1));
  simulateCommand
      ->add_option("--entry", simulate.entry,
                   "one entry; default: all that a batch is trained with")
      ->type_name("NAME");
  simulateCommand
      ->add_option("--trace", simulate.trace, "file for the schedule of the first of --ranks")
      ->type_name("FILE")
      ->check(fileName());
  refuse(simulateCommand, [this] { return checkSimulate(simulate); });
}

void CommandLine::addLink() {
  linkCommand = add("link", "time sums over the ranks: dlc-run launch -n 2 -- link [MODULE.so]");
  linkCommand->add_option("module", link.module, "a model beside whose kernels sums are timed, too")
      ->type_name("MODULE.so");
  addDevice(linkCommand, link.device);
  linkCommand->add_flag("--json", link.json, "one JSON object");
}

void CommandLine::addPlot() {
  plotCommand = add("plot", "draw losses, metrics and learning rates of logs as an SVG picture");
  plotCommand->add_option("logs", plot.logs, "what dlc-run train --log FILE wrote; one curve each")
      ->required()
      ->type_name("LOG...");
  plotCommand->add_option("-o,--save", plot.output, "picture to write")
      ->required()
      ->type_name("FILE")
      ->check(fileName());
  static const std::map<std::string, PlotAxis> axes = {
      {"step", PlotAxis::Step}, {"epoch", PlotAxis::Epoch}, {"seconds", PlotAxis::Seconds}};
  plotCommand
      ->add_option_function<std::string>(
          "--x", [this](const std::string &word) { plot.axis = axes.at(word); },
          "over what: step (default), epoch or seconds")
      ->type_name("WHAT")
      ->check(oneOf({"step", "epoch", "seconds"}));
  plotCommand
      ->add_option("--metrics", plot.metrics, "which numbers of the logs; default: all but speeds")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  plotCommand->add_flag("--log-y", plot.logY, "a logarithmic scale, but for learning rates");
  plotCommand
      ->add_option("--smooth", plot.smooth, "draw means of the last N steps before the steps")
      ->type_name("N")
      ->check(wholeNumber(1, 1000000));
}

void CommandLine::addInspect() {
  inspectCommand = add("inspect", "show what a module holds: a summary, and tables by flags");
  inspectCommand->add_option("module", inspect.module, "module that dlc wrote")
      ->required()
      ->type_name("MODULE.so");
  inspectCommand->add_flag("--entries", inspect.entries, "inputs and all outputs of each entry");
  inspectCommand->add_flag("--variables", inspect.variables, "variables: type and role");
  inspectCommand->add_flag("--settings", inspect.settings, "steps, schedules, numbers to override");
  inspectCommand->add_flag("--kernels", inspect.kernels, "kernels, and how each is made");
  inspectCommand->add_flag("--layers", inspect.layers, "what each layer costs, and each kernel");
  inspectCommand->add_flag("--records", inspect.records, "the plan, record by record");
  inspectCommand->add_flag("--all", inspect.all, "all of these");
  inspectCommand->add_flag("--json", inspect.json, "everything as one JSON object");
}

void CommandLine::addStep() {
  stepCommand = addRunning("step", "run one entry on tensors from a file, save all it makes", step);
  stepCommand->add_option("--entry", step.entry, "entry to run; default: the first that trains")
      ->type_name("NAME");
  stepCommand
      ->add_option("--parameters", step.parameters,
                   "variables to start from; default: initial values")
      ->type_name("FILE");
  stepCommand->add_option("--inputs", step.inputs, "the entry's inputs, by name")
      ->type_name("FILE");
  stepCommand
      ->add_option("--save", step.save, "file for outputs, loss, metrics, gradients and variables")
      ->type_name("FILE")
      ->check(fileName());
  stepCommand->add_option("--steps", step.steps, "runs on the same inputs; default: 1")
      ->type_name("N")
      ->check(wholeNumber(1));
  stepCommand
      ->add_option("--from", step.from, "steps done before, for what counts them; default: 0")
      ->type_name("N")
      ->check(wholeNumber(0));
  stepCommand
      ->add_option("--epoch-steps", step.epochSteps,
                   "batches of an epoch, for a schedule that counts epochs")
      ->type_name("N")
      ->check(wholeNumber(1));
}

void CommandLine::addCheck() {
  checkCommand = add("check", "compare two builds of a model, or one on two devices, step by step");
  for (auto [name, path] : {std::pair{"a", &check.a}, {"b", &check.b}})
    checkCommand->add_option(name, *path, "module that dlc wrote")
        ->required()
        ->type_name("MODULE.so");
  for (auto [name, device] :
       {std::pair{"--device-a", &check.deviceA.name}, {"--device-b", &check.deviceB.name}})
    checkCommand->add_option(name, *device, "cpu, cuda or simt; default: the module's")
        ->type_name("DEVICE")
        ->check(oneOf({"cpu", "cuda", "simt"}));
  checkCommand->add_option("--steps", check.steps, "steps to train; default: 3")
      ->type_name("N")
      ->check(wholeNumber(1));
  checkCommand->add_option("--data", check.data, "idx:DIR; default: generated")->type_name("DATA");
  checkCommand->add_option("--seed", check.seed, "of initial values and data; default: 0")
      ->type_name("N")
      ->check(wholeNumber(0));
  checkCommand->add_flag("--activations", check.activations,
                         "compare what every layer and stage writes, too");
  checkCommand->add_flag("--uses", check.uses,
                         "behind the steps also run what evaluates and infers, on generated data");
  addDeviceDetails(checkCommand, check.deviceB);
  checkCommand->add_flag("--json", check.json, "one JSON object a line, the last one the summary");
}

void CommandLine::addData() {
  dataCommand = add("data", "look at data: samples, classes, sizes, means, a sheet of images");
  dataCommand->add_option("data", data.data, dataText())->required()->type_name("DATA");
  dataCommand->add_option("--module", data.module, "read it as this model would")
      ->type_name("MODULE.so")
      ->check(fileName());
  dataCommand->add_option("--split", data.split, "train or test; default: both, or train")
      ->type_name("WHICH")
      ->check(oneOf({"train", "test"}));
  dataCommand->add_flag("--all", data.all, "decode all pictures, not some of them");
  dataCommand->add_flag("--means", data.means,
                        "mean and deviation of each channel, as normalise of --augment");
  CLI::Option *sheet =
      dataCommand
          ->add_option("--sheet", data.sheet, "PNG to write with images as training has them")
          ->type_name("FILE")
          ->check(fileName());
  dataCommand->add_option("--samples", data.samples, "how many are on the sheet; default: 64")
      ->type_name("N")
      ->check(wholeNumber(1, 1 << 16))
      ->needs(sheet);
  CLI::Option *speed =
      dataCommand->add_flag("--speed", data.speed, "time reading, decoding and augmenting");
  dataCommand->add_option("--batch", data.batch, "samples that a thread takes; default: 32")
      ->type_name("N")
      ->check(wholeNumber(1, 1 << 20))
      ->needs(speed);
  dataCommand->add_option("--workers", data.workers, "threads; default: one a core")
      ->type_name("N")
      ->check(wholeNumber(1, 256));
  CLI::Option *convert =
      dataCommand
          ->add_option("--convert", data.convert, "write pictures packed: tar:DIR or lmdb:DIR")
          ->type_name("FORMAT:DIR");
  CLI::Option *resize =
      dataCommand
          ->add_option("--resize", data.resize, "with a shorter side of N pixels at most, as JPEG")
          ->type_name("N")
          ->check(wholeNumber(1, 1 << 14))
          ->needs(convert);
  dataCommand->add_option("--quality", data.quality, "of these JPEG, 1 to 100; default: 95")
      ->type_name("Q")
      ->check(wholeNumber(1, 100))
      ->needs(resize);
  addAugment(dataCommand, data.augment, false,
             "transforms of images in front of all of these, or @FILE");
  dataCommand->add_option("--seed", data.seed, "of what transforms draw, as train's; default: 0")
      ->type_name("N")
      ->check(wholeNumber(0));
  dataCommand->add_flag("--json", data.json, "one JSON object a line");
  refuse(dataCommand, [this] { return checkData(data); });
}

void CommandLine::addLaunch() {
  launchCommand =
      add("launch", "run train, eval, bench or link on several ranks, by Open MPI's mpirun");
  launchCommand
      ->add_option_function<std::string>(
          "-n",
          [this](const std::string &text) {
            launch.rankPerDevice = text == "gpu";
            if (launch.rankPerDevice)
              return;
            if (!wholeNumber(1, 1 << 20)(text).empty())
              throw CLI::ValidationError("-n", "expected a whole number from 1, or gpu, found '" +
                                                   text + "'");
            launch.ranks = static_cast<unsigned>(std::stoul(text));
          },
          "ranks: processes, each with a replica; gpu: one for each CUDA device")
      ->required()
      ->type_name("N");
  CLI::Option *hosts = launchCommand
                           ->add_option("--hosts", launch.hosts,
                                        "where, and how many on each machine; default: this one")
                           ->type_name("A:SLOTS,B:SLOTS");
  launchCommand
      ->add_option("--hostfile", launch.hostFile,
                   "where: a line 'A slots=4' or 'A:4' for each machine")
      ->type_name("FILE")
      ->check(fileName())
      ->excludes(hosts);
  launchCommand
      ->add_option("-x", launch.environment,
                   "a variable for the ranks, by NAME alone with the value that it has here")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  launchCommand
      ->add_option("--bind", launch.bind,
                   "what ranks stay on: none, core, or numa, the default with several nodes")
      ->type_name("WHAT")
      ->check(oneOf({"none", "core", "numa"}));
  launchCommand
      ->add_option("--restarts", launch.restarts,
                   "begin again from the checkpoint after a failure, N times at most")
      ->type_name("N")
      ->check(wholeNumber(0));
  launchCommand
      ->add_option("--min-ranks", launch.minRanks,
                   "each restart has a rank fewer, down to N; default: as many as before")
      ->type_name("N")
      ->check(wholeNumber(1));
  launchCommand
      ->add_option("command", launch.command,
                   "behind --: train, eval, bench or link, and its flags")
      ->required()
      ->type_name("-- [WORDS FOR MPIRUN --] COMMAND ...");
  refuse(launchCommand, [this] {
    takeMpirunWords(launch);
    return checkLaunch(launch);
  });
}

CommandLine::CommandLine() {
  app.require_subcommand(1);
  app.set_version_flag("--version", "dlc-run " DLC_VERSION);
  app.footer("dlc-run COMMAND --help shows a command's flags.");
  addTrain();
  evalCommand = addRunning("eval", "loss and metrics on the test split", eval);
  evalCommand->add_option("--data", eval.data, dataText())->required()->type_name("DATA");
  evalCommand
      ->add_option("--checkpoint", eval.checkpoint, "weights to evaluate; default: initial values")
      ->type_name("FILE")
      ->check(fileName());
  evalCommand->add_option("--steps", eval.steps, "at most N batches")
      ->type_name("N")
      ->check(wholeNumber(1));
  addMaxBadRecords(evalCommand, eval.load);
  addAugment(evalCommand, eval.augment, true,
             "test: and transforms of images, or @FILE; default: the checkpoint's");
  addRanks(evalCommand, eval);
  addInfer();
  addSample();
  addExport();
  addBench();
  addSimulate();
  addPlot();
  addInspect();
  addStep();
  addCheck();
  addData();
  addLaunch();
  addLink();
  deviceCommand = add("device", "show what is known of a device, as JSON");
  addDevice(deviceCommand, device);
  deviceCommand
      ->add_option("--probe", probedModule,
                   "what its libraries say to each call of the module instead, a line each")
      ->type_name("MODULE.so");
}

/// Flags and commands of other tools, and what is set elsewhere here.
std::string advise(const std::string &word) {
  static const std::map<std::string, std::string> known = {
      {"--lr", "--override optimizer.learning_rate=NUMBER sets it"},
      {"--learning-rate", "--override optimizer.learning_rate=NUMBER sets it"},
      {"--momentum", "--override optimizer.momentum=NUMBER sets it"},
      {"--weight-decay", "--override optimizer.weight_decay=NUMBER sets it"},
      {"--batch", "the model's train section sets it, dlc -D N=64 overrides it"},
      {"--batch-size", "the model's train section sets it, dlc -D N=64 overrides it"},
      {"--gpu", "did you mean '--device cuda'?"},
      {"--cuda", "did you mean '--device cuda'?"},
      {"--cpu", "did you mean '--device cpu'?"},
      {"--output", "--checkpoint FILE keeps what was trained, --save FILE what was computed"},
      {"-o", "--checkpoint FILE keeps what was trained, --save FILE what was computed"},
      {"--weights", "did you mean '--checkpoint'?"},
      {"--load", "did you mean '--checkpoint'?"},
      {"--model", "the module stands behind the command: dlc-run train MODULE.so"},
      {"--target", "dlc compiles for a target, --device says where a module runs"},
      {"help", "did you mean '--help'?"},
      {"version", "did you mean '--version'?"},
      {"test", "did you mean 'eval'?"},
      {"predict", "did you mean 'infer'?"},
      {"generate", "did you mean 'sample'?"},
      {"compile", "dlc MODEL.dl compiles"}};
  if (auto it = known.find(word); it != known.end())
    return it->second;
  if (word.ends_with(".so"))
    return "the command comes first: dlc-run train " + word;
  if (word.ends_with(".dl"))
    return "dlc " + word + " compiles it, dlc-run train MODULE.so runs the result";
  return "";
}

std::optional<int> CommandLine::read(int argc, const char *const *argv) {
  return readCommandLine(app, argc, argv, [this](const std::string &word) -> std::string {
    if (*launchCommand && trainCommand->get_option_no_throw(word) &&
        !launchCommand->get_option_no_throw(word))
      return "the ranks' command stands behind --: dlc-run launch -n 2 -- train MODULE.so " + word;
    if (*launchCommand && (word == "--mca" || word == "--map-by" || word == "--bind-to"))
      return "mpirun's words stand between two --: dlc-run launch -n 2 -- " + word +
             " ... -- train MODULE.so";
    return advise(word);
  });
}

/// What the ranks would say of their flags, each of them, is said here once.
Result<int> CommandLine::launchRanks() {
  std::vector<const char *> words = {app.get_name().c_str()};
  for (const std::string &word : launch.command)
    words.push_back(word.c_str());
  CommandLine ofRanks;
  if (const auto exitCode = ofRanks.read(static_cast<int>(words.size()), words.data()))
    return *exitCode;
  DLC_TRY_ASSIGN(succeeded, tool::launch(launch));
  return succeeded ? Done : Failed;
}

Result<int> CommandLine::run() {
  if (*launchCommand)
    return launchRanks();
  DLC_TRY(runHere());
  return Done;
}

Status CommandLine::runHere() {
  if (*trainCommand)
    return tool::train(train);
  if (*evalCommand)
    return tool::evaluate(eval);
  if (*inferCommand)
    return tool::infer(infer);
  if (*sampleCommand)
    return tool::sample(sample);
  if (*exportCommand)
    return tool::exportWeights(exported);
  if (*benchCommand)
    return tool::bench(bench);
  if (*simulateCommand)
    return tool::simulate(simulate);
  if (*plotCommand)
    return tool::plot(plot);
  if (*inspectCommand)
    return tool::inspect(inspect);
  if (*stepCommand)
    return tool::step(step);
  if (*linkCommand)
    return tool::link(link);
  if (*dataCommand)
    return tool::lookAtData(data);
  if (*deviceCommand)
    return tool::describeDevice(device, probedModule);
  DeviceOptions &first = check.deviceA;
  const DeviceOptions &second = check.deviceB;
  first.threads = second.threads;
  first.simtSeed = second.simtSeed;
  first.cudaGraph = second.cudaGraph;
  first.libraries = second.libraries;
  return tool::check(check);
}

Result<int> parseAndRun(int argc, char **argv) {
  CommandLine line;
  if (const auto exitCode = line.read(argc, argv))
    return *exitCode;
  Result<int> done = line.run();
  if (done.ok())
    return done;
  return Status(done.status().code(), withFlags(done.status().message()));
}

} // namespace

int main(int argc, char **argv) {
  return dlc::tool::runTool([&] { return parseAndRun(argc, argv); });
}
