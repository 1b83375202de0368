// An entry that infers on the samples of a dataset, in their order, batch by batch, the last one
// padded. Values are converted as those of training are.
//
// Where an input of the entry counts no samples there is one run, of the one sample that the
// dataset then has: all inputs, as the entry takes them.
//
// Threads: as Context.
#ifndef DLC_RUNTIME_TRAINING_DATASETPREDICTOR_H
#define DLC_RUNTIME_TRAINING_DATASETPREDICTOR_H

#include "dlc/data.h"
#include "dlc/run.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Training/OutputReader.h"

namespace dlc::runtime {

class DatasetPredictor {
public:
  /// Fails with InvalidArgument where the data do not fit the entry.
  static Result<std::unique_ptr<DatasetPredictor>>
  create(std::shared_ptr<State> state, std::string_view entry, std::shared_ptr<const Dataset> data,
         const LoadOptions &load = {}, TransformList transforms = {});

  /// As BatchLoader::notes().
  std::vector<std::string> notes() const { return loader->notes(/*keepPartial=*/true); }

  /// The results of all samples of at most `steps` batches. A run that fails says of which data,
  /// and from which sample on.
  Result<std::vector<Tensor>> run(uint64_t steps);
  /// Those of each batch when it has run, until `hear` fails.
  Status run(uint64_t steps, const std::function<Status(const PredictedBatch &)> &hear);

private:
  DatasetPredictor(std::unique_ptr<Context> context, std::shared_ptr<const Dataset> data);
  uint64_t samples(uint64_t steps) const;
  Status bind(const Batch &batch);
  Status runBatches(uint64_t steps,
                    const std::function<Status(std::span<const uint32_t> samples)> &ran);

  std::unique_ptr<Context> context;
  const EntryInfo &entry;
  OutputReader reader;
  std::shared_ptr<const Dataset> data;
  /// As the loader sees it: where one run takes whole inputs, an entry of one sample.
  EntryInfo loaded;
  std::unique_ptr<BatchLoader> loader;
  const bool isWhole;
  int32_t valid = 0;
};

} // namespace dlc::runtime

#endif
