// From a loader's batches to outputs.
#include "runtime/Training/DatasetPredictor.h"
#include "runtime/Core/Support.h"
#include "runtime/Training/BatchMemory.h"
#include "runtime/Training/InputFile.h"

#include <numeric>

namespace dlc::runtime {

/// One sample of it is all of the entry's inputs.
static EntryInfo takingOneSample(EntryInfo entry) {
  entry.batch = 1;
  for (ValueInfo &input : entry.inputs) {
    input.type.shape.insert(input.type.shape.begin(), 1);
    input.batchAxis = 0;
  }
  return entry;
}

DatasetPredictor::DatasetPredictor(std::unique_ptr<Context> made,
                                   std::shared_ptr<const Dataset> data)
    : context(std::move(made)), entry(context->entry()), reader(*context), data(std::move(data)),
      loaded(takesWholeInputs(entry) ? takingOneSample(entry) : entry),
      isWhole(takesWholeInputs(entry)) {}

Result<std::unique_ptr<DatasetPredictor>>
DatasetPredictor::create(std::shared_ptr<State> state, std::string_view entry,
                         std::shared_ptr<const Dataset> data, const LoadOptions &load,
                         TransformList transforms) {
  if (data->isSequence())
    return invalid(data->name(), ": a text has no samples to predict from; arrays of the numbers "
                                 "of its characters or words have");
  DLC_TRY_ASSIGN(context, Context::create(std::move(state), entry));
  std::unique_ptr<DatasetPredictor> made(new DatasetPredictor(std::move(context), data));
  if (made->isWhole && data->size() != 1)
    return invalid(data->name(), ": has ", data->size(), " samples, entry '", made->entry.name,
                   "' expects one, which is all its inputs");
  DLC_TRY_ASSIGN(loader,
                 BatchLoader::create(made->loaded, data, {}, load,
                                     made->isWhole ? TransformList() : std::move(transforms),
                                     batchMemoryOf(made->context->state()->device())));
  made->loader = std::move(loader);
  return made;
}

/// How many there are in so many batches.
uint64_t DatasetPredictor::samples(uint64_t steps) const {
  if (isWhole)
    return entry.batch;
  return data->size() / entry.batch < steps ? data->size() : entry.batch * steps;
}

Status DatasetPredictor::bind(const Batch &batch) {
  valid = isWhole ? static_cast<int32_t>(entry.batch) : batch.valid;
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    DLC_TRY(context->bind(i, i == entry.validInput ? std::as_bytes(std::span(&valid, 1))
                                                   : batch.inputs[i]));
  return {};
}

/// Calls ran(samples) behind each run, with the numbers of those that it was of.
Status
DatasetPredictor::runBatches(uint64_t steps,
                             const std::function<Status(std::span<const uint32_t> samples)> &ran) {
  DLC_TRY(loader->start({.seed = {}, .epoch = 0, .firstBatch = 0, .keepPartial = true}));
  std::vector<uint32_t> rows(isWhole ? entry.batch : 0);
  std::iota(rows.begin(), rows.end(), 0);
  for (uint64_t step = 0; step < steps; ++step) {
    DLC_TRY_ASSIGN(batch, loader->next());
    if (!batch)
      break;
    DLC_TRY(bind(*batch));
    Status status = context->run();
    if (!status.ok() && step != 0)
      status = std::move(status).in(concat("from sample ", step * entry.batch, " on"));
    DLC_TRY(std::move(status).in(data->name()));
    DLC_TRY(ran(isWhole ? rows : batch->samples));
  }
  return {};
}

Result<std::vector<Tensor>> DatasetPredictor::run(uint64_t steps) {
  const uint64_t all = samples(steps);
  std::vector<Tensor> tensors = reader.tensors(all);
  uint64_t first = 0;
  DLC_TRY(runBatches(steps, [&](std::span<const uint32_t> samples) {
    const SampleRange range{first, samples.size(), all};
    first += samples.size();
    return reader.read(range, tensors);
  }));
  return tensors;
}

Status DatasetPredictor::run(uint64_t steps,
                             const std::function<Status(const PredictedBatch &)> &hear) {
  std::vector<Tensor> tensors;
  return runBatches(steps, [&](std::span<const uint32_t> samples) -> Status {
    if (tensors.empty() || samples.size() != entry.batch)
      tensors = reader.tensors(samples.size());
    DLC_TRY(reader.read({0, samples.size(), samples.size()}, tensors));
    return hear({samples, tensors});
  });
}

} // namespace dlc::runtime
