// The commands of dlc-run: what the command line may say to each, and what they do with it.
// main.cpp fills the structs in; it alone knows the library that parses flags.
#ifndef DLC_TOOLS_DLC_RUN_COMMAND_H
#define DLC_TOOLS_DLC_RUN_COMMAND_H

#include "dlc/checkpoint.h"
#include "dlc/context.h"
#include "dlc/device.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Data/Augment/Transforms.h"
#include "runtime/Exec/Entries.h"
#include "runtime/Training/Ranks.h"
#include "tools/dlc-run/Output.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlc::runtime::tool {

struct LaunchFlags {
  unsigned ranks = 0;
  /// Instead of a number of ranks: one for each CUDA device.
  bool rankPerDevice = false;
  /// Where, as a list or as the name of a file; neither: on this machine, or as the batch system
  /// that this runs under says.
  std::string hosts, hostFile;
  /// Variables for the ranks' environment: NAME or NAME=VALUE.
  std::vector<std::string> environment;
  /// What a rank is bound to: none, core or numa; empty: what the machine suggests.
  std::string bind;
  uint64_t restarts = 0;
  /// With how few ranks a restart may go on, each with one fewer; 0: with as many.
  unsigned minRanks = 0;
  /// Further words of mpirun's command line, in front of the program.
  std::vector<std::string> mpirunWords;
  /// The command of dlc-run that the ranks run.
  std::vector<std::string> command;
};

/// Flags of every command that runs a model.
struct RunFlags {
  std::string module;
  DeviceOptions device;
  std::optional<uint64_t> seed;
  bool json = false;

  /// A fresh State on the device, initialised from the seed (0 if none was given). The device is
  /// one of `ranks`, if there are any; `threads` is what threadsOfRank() says.
  /// `log` is heard on rank 0 alone.
  Result<std::shared_ptr<State>> createState(std::shared_ptr<Transport> ranks = {},
                                             unsigned threads = 0,
                                             const Log &log = printLine) const;
};

/// Sums alone, and beside the kernels of the module if there is one.
struct LinkFlags : RunFlags {};

/// Flags of those that run on several ranks.
struct RanksFlags : RunFlags {
  /// File for what each rank does when; empty: none.
  std::string trace;
  /// Seconds that a rank may keep the others waiting.
  double timeout = 30;
  /// Ranks that the processes share, whose sums are one tree; 0: each process is a rank.
  uint64_t deterministic = 0;

  /// createState() as one of `ranks`. Fails where there are several and the module is for one.
  Result<std::shared_ptr<State>> createStateAmong(const std::shared_ptr<Transport> &ranks,
                                                  unsigned threads) const;
};

struct TrainFlags : RanksFlags {
  std::string data, checkpoint, initFrom;
  std::optional<uint64_t> epochs, steps;
  uint64_t checkpointEvery = 0;
  LoadOptions load = {};
  uint64_t checkRanks = 0;
  bool resume = false, overwrite = false;
  std::string augment;
  std::map<std::string, double> overrides;
  uint64_t keep = 1;
  std::string saveBest;
  uint64_t evaluateEvery = 0, patience = 0;
  double minDelta = 0, timeLimit = 0;
  std::string patienceMetric;
  std::vector<std::string> rename;
  std::string log;
  double limit = 0;
  uint64_t overfitBatches = 0;
  bool fastDevRun = false, checkFinite = false;
  uint64_t norms = 0;
  double share = 1;
  /// Folder for events, and in which epochs' there are histograms of parameters.
  std::string tensorboard;
  uint64_t histograms = 0;
  /// A sweep over learning rates instead of a training, and between which.
  bool findsRate = false;
  double rateFrom = 0, rateTo = 0;
};

struct EvalFlags : RanksFlags {
  std::string data, checkpoint, augment;
  LoadOptions load = {};
  std::optional<uint64_t> steps;
};

struct InferFlags : RunFlags {
  std::string entry, checkpoint, inputs, save, data, augment;
  /// File of the classes' names; how many classes are shown of each sample, 0: the best one.
  std::string classes;
  uint64_t top = 0;
  std::optional<uint64_t> steps;
};

struct SampleFlags : RunFlags {
  std::string entry, checkpoint, data, prompt;
  /// Characters, words or tokens to draw.
  uint64_t length = 200;
  double temperature = 1;
  uint64_t topK = 0;
};

struct ExportFlags {
  std::string module, checkpoint, save;
  /// Checkpoints, or how many of those that are kept, `checkpoint` included.
  std::vector<std::string> average;
};

struct BenchFlags : RanksFlags {
  std::string entry;
  std::optional<uint64_t> steps;
  uint64_t warmUp = 3;
  bool layers = false;
};

struct SimulateFlags : RunFlags {
  std::string entry, trace;
  std::vector<uint64_t> ranks = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  std::string topology = "ring", link = "5e-5,1.6e-9", nodeLink;
  unsigned perNode = 1;
  /// --link beside kernels, and what these lose; empty: as --link, and nothing.
  std::string beside;
  /// File of the records' times, which is made if it is not there; empty: they are measured.
  std::string times;
  /// Of a step of one rank, for another machine than this one.
  std::optional<double> stepMs;
  /// The standard deviation of what a rank's kernels take in a step, in parts of their mean.
  double jitter = 0;
};

/// What curves are drawn over.
enum class PlotAxis { Step, Epoch, Seconds };

struct PlotFlags {
  std::vector<std::string> logs;
  std::string output;
  PlotAxis axis = PlotAxis::Step;
  /// Numbers of the logs that are drawn; empty: losses, metrics and learning rates.
  std::vector<std::string> metrics;
  bool logY = false;
  /// Of how many steps means are drawn.
  uint64_t smooth = 1;
};

struct InspectFlags {
  std::string module;
  bool json = false;
  /// What is shown besides the summary.
  bool entries = false, variables = false, settings = false, kernels = false, layers = false,
       records = false, all = false;
};

struct StepFlags : RunFlags {
  std::string entry, parameters, inputs, save;
  /// Runs, and those that the entry has behind it: what it counts as steps goes on from there.
  uint64_t steps = 1, from = 0;
  std::optional<uint64_t> epochSteps;
};

struct CheckFlags {
  std::string a, b, data;
  DeviceOptions deviceA, deviceB;
  uint64_t steps = 3, seed = 0;
  bool activations = false, uses = false, json = false;
};

/// What of the data is looked at, and how.
struct DataFlags {
  std::string data, module, split, augment, sheet, convert;
  uint64_t seed = 0, samples = 64, batch = 32;
  /// Of pictures that are converted: most pixels of the shorter side, 0: as many as there are.
  uint64_t resize = 0;
  int quality = 95;
  unsigned workers = 0;
  bool all = false, means = false, speed = false, json = false;
};

Status train(const TrainFlags &flags);
/// The ranks that this process was started among. Fails where they run other commands than this
/// one, which would take each other's collectives for their own.
Result<std::shared_ptr<Transport>> meetRanks(std::string_view command,
                                             TransportOptions options = {});
/// Runs `body` among the ranks that this process was started among; for each of its own where these
/// are virtual, on threads. Rank 0 speaks for all.
Status amongRanks(std::string_view command, const RanksFlags &flags,
                  const std::function<Status(const std::shared_ptr<Transport> &)> &body);
/// agree() before anyone begins: where the ranks differ rank 0 says so, once, and all of them fail.
Status beginTogether(Transport &ranks, const Status &own, const Facts &facts);

/// A number that may not be given, for facts.
std::string optionalText(const std::optional<uint64_t> &number);

/// Says on standard error where weights are none that were trained, or averages. `results`: what is
/// made with them.
Status noteWeights(const Plan &plan, const std::string &checkpoint, std::string_view results);

/// Measures sums over the ranks that this process was started among.
Status link(const LinkFlags &flags);
/// Takes mpirun's words out of the command: those in front of a second --.
void takeMpirunWords(LaunchFlags &flags);
/// What launch refuses of its own flags, before those of the command are looked at.
Status checkLaunch(const LaunchFlags &flags);
/// Starts the ranks of a run and waits for them. False where they failed and the reason is said.
Result<bool> launch(const LaunchFlags &flags);
Status evaluate(const EvalFlags &flags);
/// Which of its flags do not go together.
Status checkInfer(const InferFlags &flags);
Status infer(const InferFlags &flags);
/// Draws a text from a language model.
Status sample(const SampleFlags &flags);
/// Which of its flags do not go together.
Status checkExport(const ExportFlags &flags);
/// Writes the weights of a checkpoint alone, or the mean of several.
Status exportWeights(const ExportFlags &flags);
Status bench(const BenchFlags &flags);
/// Which of its flags do not go together.
Status checkSimulate(const SimulateFlags &flags);
/// Predicts what steps would take on many ranks.
Status simulate(const SimulateFlags &flags);
/// Draws what logs say.
Status plot(const PlotFlags &flags);
Status inspect(const InspectFlags &flags);
Status step(const StepFlags &flags);
Status check(const CheckFlags &flags);
/// Which of its flags do not go together.
Status checkData(const DataFlags &flags);
/// Says what is in data, shows it, or times how it is read.
Status lookAtData(const DataFlags &flags);
/// Prints what is known of a device, as JSON; with a module what the device's libraries say to each
/// of its calls, a line each.
Status describeDevice(const DeviceOptions &options, const std::string &module);

} // namespace dlc::runtime::tool

#endif
