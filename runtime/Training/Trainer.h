// The training loop: for each batch the entries of the step table, after each epoch an evaluation
// and a checkpoint.
//
// Everything that decides a bit of the result is either in the State, in TrainingProgress or in the
// module, so a run that is killed and resumed from its checkpoint ends with the bits of one that
// was not.
//
// Ownership: shares the State and the datasets. Threads: one at a time. Failure: a loss, a result
// of an evaluation or a variable in a checkpoint that is not finite ends the run; the last
// checkpoint stays. A loss that is scaled leaves out updates instead, for a while (LossScale.h). A
// checkpoint that cannot be written does not end it. It is written while the run goes on; the next
// one, and the end of the run, wait for it.
//
// Among several ranks, those of the State's device, each trains on its own batches of the same
// order of samples, all observers hear the sums over the ranks, and rank 0 writes the checkpoints.
#ifndef DLC_RUNTIME_TRAINING_TRAINER_H
#define DLC_RUNTIME_TRAINING_TRAINER_H

#include "dlc/run.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/HostMemory.h"
#include "runtime/Data/Augment/Transforms.h"
#include "runtime/Exec/Metrics.h"
#include "runtime/Exec/Schedule.h"
#include "runtime/Training/CheckpointWriter.h"
#include "runtime/Training/Evaluate.h"
#include "runtime/Training/FiniteWatch.h"
#include "runtime/Training/LossScale.h"
#include "runtime/Training/Progress.h"
#include "runtime/Training/Throttle.h"
#include "runtime/Training/WatchedMetric.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <span>

namespace dlc::runtime {

/// Those that are trained in all: `wanted`, or the module's setting, or 1.
uint64_t epochsOf(const Plan &plan, const std::optional<uint64_t> &wanted);

class Trainer {
public:
  /// Fails before the first step if there can be no checkpoint. `train` may be null, where batches
  /// are the program's, and `test`. `start` continues where a checkpoint left off; the State holds
  /// its variables already. What `augment` says, or a checkpoint, is in `augmentation`.
  static Result<std::unique_ptr<Trainer>>
  create(std::shared_ptr<State> state, std::shared_ptr<const Dataset> train,
         std::shared_ptr<const Dataset> test, const RunOptions &options,
         const Augmentation &augmentation, const TrainingProgress &start);

  /// Restores what a checkpoint's metadata holds beside the progress: the sums of an epoch that is
  /// not complete, so that its report will be, and what plateaus and the best have seen. Empty: the
  /// run is a new one.
  Status restore(const Metadata &metadata);

  /// What the user should know of training and test data, each line once; see BatchLoader::notes().
  std::vector<std::string> notes() const;

  /// Lets a log hear of damaged samples that are left out; see BatchLoader::setLog().
  void setLog(const Log &log);

  /// Trains to the end, or until `stop` is set.
  Status run(TrainObserver &observer, const std::atomic<bool> *stop = nullptr);

  /// Binds a batch of the caller's as those of the first step's entry, for step(), and where other
  /// ranks wait for that, looks at it as the step would.
  Status bind(const Batch &batch);
  /// Trains on the batch that is bound, or on what the other ranks have where this one `has` none;
  /// `having` of the ranks have one. After a failure the next one begins anew. The next step writes
  /// its report over this one's.
  Result<const StepReport &> step(bool has, unsigned having);
  /// What the last batch reported; none before the first one.
  const std::optional<StepReport> &lastStep() const { return lastReport; }
  /// All that its reports may have, tables left out, as describe() names it.
  std::vector<std::string> reportColumns() const;
  /// What the batches of this trainer are bound to.
  const EntryInfo &entry() const { return steps[0].context->entry(); }

  /// Sets a scalar from the next update on.
  Status set(const std::string &scalar, double value);

  /// From now on updates are at this rate, of the first setting that is one, others in proportion,
  /// whatever the schedule says; and nothing is evaluated. Fails where there is no such setting.
  Status canHoldRate() const;
  void holdRate(double rate);
  /// That setting.
  std::string_view firstRate() const { return rates.front().name; }
  /// The first loss of the last batch.
  std::optional<double> lastLoss() const;

  /// Null where there are no test data.
  Evaluator *testEvaluator() const { return evaluator.get(); }
  /// Lets plateaus of the schedule hear an evaluation.
  void observePlateaus(const MetricValues &metrics);

  /// Writes a checkpoint; all ranks call it, rank 0 writes.
  Status save(const std::string &path);

  /// After a run: why it has ended before it was complete, if it was its own options; else empty.
  std::string endNote() const;

  /// After a run: says how many checkpoints could not be written, and what the file holds.
  Status checkpointStatus() const;

  /// The step that the last checkpoint of this run holds; none if none was written.
  std::optional<uint64_t> lastSaved() const { return savedStep; }

  const TrainingProgress &progress() const { return position; }
  uint64_t epochs() const { return epochTarget; }
  void setEpochs(uint64_t epochs) { epochTarget = epochs; }

private:
  struct Step;

  Trainer(std::shared_ptr<State> state, RunOptions options, Augmentation augmentation)
      : state(std::move(state)), options(std::move(options)),
        augmentation(std::move(augmentation)) {}
  Status prepareSteps();
  Status applyOverrides();
  Status openData(std::shared_ptr<const Dataset> train);
  Status allocateFilled();
  Status checkEpochLength() const;
  Status checkPlateaus() const;
  Status watchMetrics();
  Status restorePatience(std::string_view text);
  Result<WatchedMetric> watch(std::string_view field, const std::string &metric) const;
  ScheduleTime scheduleTime(const Step &step) const;
  Status applySchedule(Step &step);
  Status applyFactor(Step &step, double factor);
  void findRates();
  void writeRates(std::vector<std::pair<std::string_view, double>> &all) const;
  bool severalTrain() const;
  Status runEpoch(TrainObserver &observer);
  Status beginEpoch();
  Status checkAllMayLack() const;
  Result<const StepReport &> stepOnBound();
  Result<const StepReport &> stepOnNothing();
  Status bindDue(const Batch &batch);
  Status startBound();
  Result<const Batch *> nextBatch();
  Result<const Batch *> fillBatch();
  bool wantsStop(TrainObserver &observer) const;
  Status finishOldest(TrainObserver *observer);
  Status finishOne(TrainObserver *observer);
  Status explainFailure(Status failed);
  Status checkParameters() const;
  void rest(double seconds, TrainObserver *observer);
  void appendNormColumns(std::vector<std::string> &columns) const;
  Status finishBatch(TrainObserver &observer);
  void closeEpoch();
  void drain();
  Status reportStep(Step &step);
  Transport &ranks() const;
  bool checkpointDue(uint64_t step) const;
  Status compareReplicas();
  bool evaluationDue(uint64_t step) const;
  Status addOverRanks(bool &stop, bool &save, double &rest);
  Status checkLoss(const Step &step) const;
  Status evaluationFailure(Status reason) const;
  Result<EvaluateReport> evaluateTests();
  Result<EvaluateReport> evaluateBeside();
  Status evaluateWithinEpoch(TrainObserver &observer);
  Status saveOnDemand(TrainObserver &observer);
  bool isOverTime() const;
  Result<std::optional<uint64_t>> badRecords() const;
  Status finishEpoch(TrainObserver &observer);
  Status averageOpenSums();
  uint64_t epochBatches() const;
  uint64_t limited(uint64_t batches) const;
  uint64_t samplesOf(uint64_t batches, const Dataset &dataset) const;
  Result<CarriedStates> prepareCheckpoint();
  Metadata checkpointMetadata() const;
  Status beginCheckpoint(TrainObserver &observer, const EvaluateReport *evaluated = nullptr);
  CheckpointFiles checkpointFiles(const EvaluateReport *evaluated);
  Status hearCheckpoint(std::optional<CheckpointWriter::Outcome> outcome, TrainObserver &observer);
  StepReport emptyReport() const;
  Status writeReport(double seconds);
  bool normsDue(uint64_t step) const { return options.norms != 0 && step % options.norms == 0; }
  bool stepsLeft() const { return !options.steps || stepsStarted < *options.steps; }

  /// One row of the step table, ready to run.
  struct Step {
    std::unique_ptr<Context> context;
    /// What its losses are told apart by: the entry, or that of the update that it accumulates for.
    std::string_view name;
    uint32_t every;
    std::span<const SchedulePart> schedule;
    Plateau plateau;
    /// Of the last batch that it ran on, and over the epoch so far.
    MetricSums batchSums, epochSums;
    /// What reports call its losses and metrics.
    std::vector<std::string> names = {};
    /// On the learning rates of the last update.
    double factor = 1;
    /// What the entry's records compute.
    uint64_t flops = 0;
    LossScale lossScale;

    /// Whether it is the entry that updates, and not one that accumulates for that.
    bool isUpdate() const { return context->entry().name == name; }
    /// Whether it runs on batch number `number`, from 1.
    bool isDue(uint64_t number) const { return number % every == 0; }
  };
  using Sums = MetricSums Step::*;
  void writeMetrics(MetricValues &all, Sums sums) const;

  /// A scalar that follows the schedule, without its factor.
  struct ScheduledScalar {
    const ScalarInfo *scalar;
    double base;
  };
  /// One that is a learning rate, and whose it is.
  struct Rate {
    std::string_view name;
    double base;
    const Step *step;
  };

  std::shared_ptr<State> state;
  RunOptions options;
  Augmentation augmentation;
  std::vector<Step> steps;
  std::vector<ScheduledScalar> scheduled;
  std::vector<Rate> rates;
  /// The updates made; null where the module does not ask for them.
  const ScalarInfo *updates = nullptr;
  /// Batches whose runs were started and are not finished: a device that works by itself is given
  /// the next one before this one is finished.
  size_t inFlight = 0;
  /// Ranks that have a batch: all, but in steps of the caller's.
  unsigned having = 1;
  /// Of the last batch; and of a step for which no rank had one.
  std::optional<StepReport> lastReport, emptyStep;
  std::chrono::steady_clock::time_point lastFinish;
  std::unique_ptr<BatchLoader> loader;
  /// What the program fills, or zeros of a rank that has no batch: the inputs' blocks, and them as
  /// a batch.
  std::vector<HostMemory> filled;
  Batch own;
  std::unique_ptr<Evaluator> evaluator;
  TrainingProgress position;
  /// Of a text, what a rank's batch has of it.
  uint64_t batchTokens = 0;
  uint64_t epochTarget = 0, stepsStarted = 0, epochSamples = 0;
  double epochSeconds = 0;
  /// Null where nobody asks for it.
  std::unique_ptr<FiniteWatch> finite;
  std::optional<Throttle> throttle;
  /// Seconds in front of the batch that is at work.
  double rested = 0;
  /// What learning rates are multiplied by in the place of the schedule's factor.
  std::optional<double> heldFactor;
  CheckpointWriter checkpoints;
  /// Those tried, those that could not be written, and the step that the last good one holds.
  uint64_t saves = 0, failedSaves = 0;
  std::optional<uint64_t> savedStep;
  /// The step behind which the parameters of all ranks were compared last in this run().
  std::optional<uint64_t> comparedStep;
  /// The step that the file holds, where this run has written or resumed it.
  std::optional<uint64_t> stepInFile;
  /// What makes a checkpoint the best one: heard on rank 0. And what it was before the last one
  /// that was, which may not have been written.
  std::optional<WatchedMetric> bestMetric;
  BestValue best, bestBefore;
  /// What the run is patient with: the best value, and the evaluations that have not been better
  /// since.
  std::optional<WatchedMetric> patienceMetric;
  BestValue awaited;
  uint64_t worse = 0;
  std::chrono::steady_clock::time_point begun;
  /// Whether checkpoints say how many ranks there were: not in a run that was always one.
  bool countsRanks = false;
  bool stopped = false, saveAsked = false, lostPatience = false;
  const std::atomic<bool> *stopAsked = nullptr;
};

} // namespace dlc::runtime

#endif
