// A run: a module on a device with its data, from initial values or a checkpoint to a trained
// model. What `dlc-run train` does, for programs that train.
//
//   auto run = dlc::Run::open({.module = "lenet.so", .data = "idx:mnist"});
//   if (run.ok())
//     dlc::Status trained = (*run)->train();
//
// Everything that decides a bit of the result is in the options, the module and the data: the same
// run through dlc-run, in C++ or from another language ends with the same weights, and one that is
// stopped and resumed from its checkpoint with those of one that was not.
//
// Ownership: a Run owns its variables and shares datasets, ranks and device. Threads: one thread at
// a time, but for stop(); several Runs of a process know nothing of each other. A process that was
// forked opens Runs of its own. For inference on another thread beside training, State::clone().
// Failure: a Status that names the file, field or tensor; what is not done has changed nothing, and
// a Run whose step failed may go on. Fields of options are named in backquotes (log.h).
#ifndef DLC_RUN_H
#define DLC_RUN_H

#include "dlc/checkpoint.h"
#include "dlc/data.h"
#include "dlc/device.h"
#include "dlc/log.h"
#include "dlc/ranks.h"
#include "dlc/train.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

struct RunOptions {
  /// What dlc wrote.
  std::string module = {};
  DeviceOptions device = {};

  /// Training and test data as openDataset() takes them; empty: none, or the following.
  std::string data = {};
  /// Test data alone as openDataset() takes them, in the place of those of `data`.
  std::string testData = {};
  /// Training data, in the place of `data`.
  std::shared_ptr<const Dataset> train = {};
  /// Test data, in the place of those of `data` and of `testData`.
  std::shared_ptr<const Dataset> test = {};
  /// Training data, in the place of `train`.
  Batches batches = {};
  /// What happens to images on their way into a batch: a list of transforms, as dlc-run's --augment
  /// ("crop:4,flip", "@FILE"); empty: that of the checkpoint that is resumed, of `weights` what
  /// stands there for evaluation, or nothing.
  std::string augment = {};
  LoadOptions load = {};

  /// Of initial values, order and everything that is drawn; none: that of the checkpoint that is
  /// resumed, or 0.
  std::optional<uint64_t> seed = {};
  /// Epochs in all, those before a resumption included; none: the module's setting, or 1.
  std::optional<uint64_t> epochs = {};
  /// At most so many batches in one call of train().
  std::optional<uint64_t> steps = {};
  /// Settings in the place of the module's, by name: "optimizer.learning_rate".
  std::map<std::string, double> overrides = {};

  /// File that train() writes of each epoch's end and its own, on rank 0, while it goes on; empty:
  /// none.
  std::string checkpoint = {};
  /// It is written each so many batches as well; 0: not.
  uint64_t checkpointEvery = 0;
  /// Go on where `checkpoint` ends; it must be there.
  bool resume = false;
  /// Whether `checkpoint` may be one that is there already, and is replaced. Other files never are.
  bool overwrite = false;
  /// A file of weights to begin with, as far as it has those of the model.
  std::string initFrom = {};
  /// A file whose weights the run begins with, as load() takes them: to evaluate or to infer.
  std::string weights = {};

  /// Who trains together. Null: this process alone.
  std::shared_ptr<Ranks> ranks = {};
  /// Compare the parameters of all ranks each so many batches; 0: before checkpoints alone.
  uint64_t checkRanks = 0;

  Log log = {};
  /// Where what happens is noted; null: nowhere. It outlives the run.
  Timeline *timeline = nullptr;

  /// How many checkpoints of train() stay: `checkpoint`, and before it those that were there, as
  /// CHECKPOINT.step-N of N batches. Each can be resumed by its name. 0 and 1: the last one alone.
  uint64_t keep = 1;
  /// A metric of evaluations, as "accuracy": the checkpoint behind the one with the best of it is
  /// CHECKPOINT.best as well, also over resumptions. Less of a loss or of a perplexity is better,
  /// more of anything else, or as it is said: "error:min". Empty: there is none.
  std::string saveBest = {};
  /// Evaluate within an epoch too, each so many batches, and write `checkpoint` behind it; 0: not.
  /// Schedules that wait for a metric hear the evaluations of epochs alone.
  uint64_t evaluateEvery = 0;
  /// End train() behind so many evaluations of which none was better, by more than `minDelta`, than
  /// the best before them; resumptions go on counting. 0: never.
  uint64_t patience = 0;
  double minDelta = 0;
  /// In which metric, as `saveBest` takes it; empty: that of `saveBest`, else the first loss.
  std::string patienceMetric = {};
  /// End a call of train() behind the first batch that ends after so many seconds, as if it were
  /// complete; 0: never.
  double timeLimit = 0;
  /// Makes the model's names of those in `initFrom`: "REGEX=REPLACEMENT" each, see loadMatching().
  std::vector<std::string> rename = {};
  /// File that train() adds a line to, on rank 0, for each step, evaluation and epoch: JSON, or CSV
  /// where its name ends with .csv. A run that resumes goes on behind what is there. One that is
  /// there of an earlier run is replaced where `overwrite` says so. Empty: none.
  std::string logFile = {};
  /// What train() takes of each epoch's batches, of the training and of each evaluation, on each
  /// rank: a part of them, below 1, or at most so many, a whole number; 0: all.
  double limit = 0;
  /// Train on the first so many batches of each rank in each epoch, in their order and with the
  /// same draws, and evaluate on their samples: what can be learnt by heart is. 0: not.
  uint64_t overfitBatches = 0;
  /// A call of train() is one batch, or as many as the first update of all steps takes, and an
  /// evaluation of one, and writes no file: that all goes well is known before it is begun.
  bool fastDevRun = false;
  /// Name the first tensor that is not finite where a step fails for it, and look at all parameters
  /// behind each step. Much slower: each record is waited for.
  bool checkFinite = false;
  /// The norms of parameters, and of gradients that the module gives, are in the report of each so
  /// many steps, summed on the host; 0: in none.
  uint64_t norms = 0;
  /// Work at most this part of the time and rest behind each step for the others, above 0 and up to
  /// 1; all ranks rest alike. No bit depends on it.
  double share = 1;
  /// Folder to which the run writes a file of its own, from its first train() on and on rank 0, of
  /// events that TensorBoard shows: what `logFile` has, what the model is, and the images of the
  /// first batch, 64 at most, where libdlc_images.so is. Empty: none.
  std::string tensorboard = {};
  /// With it, how each parameter's values are spread, behind each so many epochs; 0: not.
  uint64_t histograms = 0;
};

/// An array of the library's own.
struct Tensor {
  std::string name;
  dlc_dtype dtype;
  std::vector<uint64_t> shape;
  std::vector<std::byte> bytes;
};

struct EvaluateOptions {
  /// At most so many batches of each rank.
  std::optional<uint64_t> steps = {};
  /// Hears behind each batch of this rank how many are done, and of how many.
  std::function<void(uint64_t done, uint64_t batches)> progress = {};
};

/// A batch of a sweep over learning rates: its loss, and the mean of it and those before, the
/// later ones counting more.
struct RatePoint {
  double rate, loss, smoothed;
};

struct RateSearchOptions {
  /// The rates of the first and of the last batch; each is by the same factor above the one before.
  double from = 1e-7, to = 10;
  uint64_t steps = 100;
  /// Hears each batch.
  std::function<void(const RatePoint &point)> hear = {};
};

struct RateSearch {
  /// The setting that the rates are of, as "optimizer.learning_rate"; others kept their proportion.
  std::string setting;
  std::vector<RatePoint> points;
  /// Where the smoothed loss fell the steepest; none if it fell nowhere.
  std::optional<double> suggested;
  /// Whether the sweep ended early, as the loss rose to four times its least or was not finite.
  bool diverged = false;
};

struct PredictOptions {
  /// One that infers; empty: the first.
  std::string entry = {};
  /// At most so many batches.
  std::optional<uint64_t> steps = {};
};

/// What an entry has made of some samples of a dataset.
struct PredictedBatch {
  /// Their numbers in the dataset.
  std::span<const uint32_t> samples;
  /// Of these samples alone.
  std::span<const Tensor> outputs;
};

class DLC_API Run {
public:
  /// Loads the module, opens the device, initialises or resumes, and checks all that can be checked
  /// before the first batch. Among several ranks all of them fail alike, also where they differ in
  /// what they were asked for. Without training data, ranks may have a module for one: it
  /// evaluates.
  static Result<std::unique_ptr<Run>> open(RunOptions options);
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  /// Trains up to `epochs`, or `steps` batches, evaluates after each epoch where there are test
  /// data, and writes the checkpoint. Fails with InvalidArgument where there are no training data;
  /// with Failed if a loss, a result or a variable is not finite; and with Io, at the end, if
  /// checkpoints could not be written: observers hear of each at once, `log` of none. Fails before
  /// the first step if another run of this machine writes `checkpoint`, or has done so since
  /// open(). Afterwards it may be called again.
  Status train(std::initializer_list<TrainObserver *> observers = {});

  /// Trains on one batch of the caller's: an array for each input of the entry that trains, of its
  /// type, and its shape but for axes of extent 1; read where it lies, on a CUDA device copied
  /// there. Learning rates follow the
  /// module's schedule; one that counts epochs needs `batches.perEpoch`. Nothing is evaluated and
  /// nothing written.
  ///
  /// All ranks call it together, each with a batch of its own. One that has no more gives {}: it
  /// adds zeros to sums over ranks, and gradients, losses and statistics are means over the ranks
  /// that have a batch, what these alone would make of them; learning rates are those of all ranks.
  /// Where no rank has one, nothing is done, and the report counts 0 samples. On CUDA, and with
  /// modules that accumulate gradients, each rank needs a batch: all fail with Unsupported. Where
  /// one rank's arrays do not fit all fail.
  ///
  /// The report is the run's: the next step writes its own over it.
  Result<const StepReport &> step(std::span<const Array> batch);

  /// Trains a copy of the present weights, batch by batch at higher learning rates in the place of
  /// the schedule's, on the training data from the first epoch's first batch on, to find one that
  /// fits. Nothing of the run changes and no file is written but `logFile`. All ranks call it
  /// alike.
  Result<RateSearch> findRate(const RateSearchOptions &options = {});

  /// Losses and metrics of the present weights on the test data, or on `data`, each sample once;
  /// ranks share the batches, and where their `data` differ all fail. A schedule that waits for a
  /// metric hears it from here where the program steps by itself. Fails with Failed, and names a
  /// sample, if a result is not finite.
  Result<EvaluateReport> evaluate(std::shared_ptr<const Dataset> data = {},
                                  const EvaluateOptions &options = {});

  /// Runs an entry that infers, the first one if `entry` is empty, with the present weights: those
  /// in training, or their averages where the model keeps some. An array for each input; where
  /// samples are counted by the first axis of all inputs, any number of samples, batch by batch,
  /// the last one padded. Arrays are what the inputs take: no transform of `augment` is applied to
  /// them. Each rank by itself.
  Result<std::vector<Tensor>> predict(std::span<const Array> inputs, std::string_view entry = {});
  /// Writes to the caller's memory, each array where it lies: some of the entry's outputs, or all.
  Status predict(std::span<const Array> inputs, std::span<const OutputArray> outputs,
                 std::string_view entry = {});
  /// The same on the samples of a dataset in their order, whose values are converted as those of
  /// training are: the outputs of all of them, or of each batch when it has run, until `hear`
  /// fails. Where an input counts no samples the dataset has one, which is all inputs. `log` hears
  /// what of the data is not used.
  Result<std::vector<Tensor>> predict(std::shared_ptr<const Dataset> data,
                                      const PredictOptions &options = {});
  Status predict(std::shared_ptr<const Dataset> data,
                 const std::function<Status(const PredictedBatch &batch)> &hear,
                 const PredictOptions &options = {});

  /// Writes a checkpoint, from which a run resumes to the bit. All ranks call it; rank 0 writes.
  Status save(const std::string &path);
  /// Takes the weights of a checkpoint, or of a file of PyTorch's, for those of this run; counters
  /// and optimizer stay. All ranks call it; rank 0 reads.
  Status load(const std::string &path);

  /// The program's stream on the CUDA device of the run, a cudaStream_t; null, as at first, is
  /// CUDA's default stream. Arrays and weights that lie on the device are read and written behind
  /// all that this stream has been given, and ahead of what it is given when the call has returned;
  /// the host waits for neither. It must not record a graph. Runs on the CPU and on SIMT do not
  /// look at it: what a call has to do there is done when it returns.
  void setStream(void *stream);

  /// Sets one of the module's settings from the next step on, as `overrides` does.
  Status set(const std::string &setting, double value);

  /// The weights as one block: all parameters and statistics in the order in which the module lists
  /// them (dlc-run inspect --variables), each row-major in its own type, one right behind the
  /// other.
  uint64_t weightsBytes() const;
  Status readWeights(std::span<std::byte> weights, Place place = Place::Host) const;
  Status writeWeights(std::span<const std::byte> weights, Place place = Place::Host);
  /// Makes the weights, but for whole numbers, their mean over `ranks`, each counting `weight`
  /// times: after local steps, or of data of different size. A rank without data gives 0. All ranks
  /// call it, and end with the same bits. Slots of optimizers stay. A run that is only averaged
  /// needs no `ranks` of its own, and its module no --data-parallel.
  Status averageWeights(Ranks &ranks, double weight = 1);

  /// Ends train() after the batch that it is at, as if it were complete; from any thread, or a
  /// signal's handler. The next train() goes on. Where none is at work, the next one ends at once.
  void stop();

  /// Fails where train() could not write all checkpoints: says how many, and what the file holds.
  Status checkpointStatus() const;
  const TrainingProgress &progress() const;
  /// What the last batch reported, of train() or of step(); none before the first one.
  const std::optional<StepReport> &lastStep() const;
  /// Those that train() goes up to.
  uint64_t epochs() const;
  /// Sets them, as `epochs` does; on all ranks alike.
  void setEpochs(uint64_t epochs);
  /// The step that the last checkpoint of this run holds; none if none was written.
  std::optional<uint64_t> lastSaved() const;
  const std::shared_ptr<const Module> &module() const;
  const std::shared_ptr<State> &state() const;

private:
  struct Impl;
  explicit Run(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace dlc::runtime

namespace dlc {
using runtime::Array, runtime::Batches, runtime::Dataset, runtime::EpochReport,
    runtime::EvaluateOptions, runtime::EvaluateReport, runtime::Log, runtime::OutputArray,
    runtime::Place, runtime::PredictedBatch, runtime::PredictOptions, runtime::Ranks,
    runtime::RatePoint, runtime::RateSearch, runtime::RateSearchOptions, runtime::Result,
    runtime::Run, runtime::RunOptions, runtime::Severity, runtime::Split, runtime::Status,
    runtime::StatusCode, runtime::StepReport, runtime::Tensor, runtime::TrainObserver,
    runtime::TrainingProgress;
} // namespace dlc

#endif
