// Runs an evaluate entry over a dataset, each sample once, the last partial batch padded. The ranks
// of the State's device share the batches, and all get the result.
#ifndef DLC_RUNTIME_TRAINING_EVALUATE_H
#define DLC_RUNTIME_TRAINING_EVALUATE_H

#include "dlc/context.h"
#include "dlc/train.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Exec/Metrics.h"

#include <functional>
#include <string>
#include <utility>

namespace dlc::runtime {

/// Binds a batch to a context that runs `loaded`, the entry the batch was made for, or another
/// whose inputs are a subset of its inputs by name. The batch must live until the run has returned.
Status bindBatch(Context &context, const EntryInfo &loaded, const Batch &batch);

class Evaluator {
public:
  /// Fails with InvalidArgument if the module has no evaluate entry or the data does not fit it.
  static Result<std::unique_ptr<Evaluator>> create(std::shared_ptr<State> state,
                                                   std::shared_ptr<const Dataset> dataset,
                                                   const LoadOptions &load = {},
                                                   TransformList transforms = {});

  /// Notes from now on what runs when; null: no longer.
  void setTimeline(Timeline *noted) {
    timeline = noted;
    context->setTimeline(noted);
  }
  /// As BatchLoader::setLog().
  void setLog(Log heard) { loader->setLog(std::move(heard)); }
  /// As BatchLoader::notes().
  std::vector<std::string> notes() const {
    return loader->notes(context->entry().validInput != DLC_NONE);
  }
  /// Of this process.
  uint64_t batches() const { return loader->batches(/*keepPartial=*/true); }
  /// Stops after `maxBatches`. `progress`, if any, hears how many are done. Fails if a result is
  /// not finite, which a metric need not tell, as no logit is the largest then; or if a metric is
  /// not, and names the samples of the first batch that makes it so.
  Result<EvaluateReport> run(uint64_t maxBatches = UINT64_MAX,
                             const std::function<void(uint64_t)> &progress = {});

private:
  Evaluator(std::unique_ptr<Context> context, std::unique_ptr<BatchLoader> loader,
            std::string source)
      : context(std::move(context)), loader(std::move(loader)), source(std::move(source)) {}
  Status runBatch(const Batch &batch, uint64_t number, MetricSums &sums,
                  std::string &firstBad) const;
  Status addBatch(MetricSums &sums, const Batch &batch, std::string &firstBad) const;

  std::unique_ptr<Context> context;
  std::unique_ptr<BatchLoader> loader;
  /// The dataset's name.
  std::string source;
  Timeline *timeline = nullptr;
};

} // namespace dlc::runtime

#endif
