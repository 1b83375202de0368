// Evaluation over a dataset.
#include "runtime/Training/Evaluate.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleShape.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Metrics.h"
#include "runtime/Training/BatchMemory.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace dlc::runtime {

Status bindBatch(Context &context, const EntryInfo &loaded, const Batch &batch) {
  const EntryInfo &entry = context.entry();
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput) {
      DLC_TRY(context.bind(i, std::as_bytes(std::span(&batch.valid, 1))));
      continue;
    }
    size_t from = i;
    if (&entry != &loaded)
      for (from = 0; from < loaded.inputs.size(); ++from)
        if (loaded.inputs[from].name == entry.inputs[i].name)
          break;
    if (from == loaded.inputs.size())
      return invalid("entry '", entry.name, "': input '", entry.inputs[i].name,
                     "' is no input of '", loaded.name, "'");
    DLC_TRY(context.bind(i, batch.inputs[from],
                         batch.places.empty() ? Place::Host : batch.places[from]));
  }
  return {};
}

/// Fails if a result of the context's last run is not finite, naming its sample: number i of the
/// run's samples is number samples[i] of `source`. What lies beyond them is padding.
static Status checkResults(const Context &context, std::span<const uint32_t> samples,
                           std::string_view source) {
  const EntryInfo &entry = context.entry();
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    const ValueInfo &output = entry.outputs[i];
    if (output.kind != DLC_VALUE_RESULT)
      continue;
    std::vector<std::byte> bytes(output.type.logicalBytes());
    DLC_TRY(context.read(i, bytes));
    const bool bySample = countsSamples(entry, output);
    const uint64_t size = dtypeSize(output.type.dtype),
                   row = bySample ? elementsTogether(output) * size : bytes.size();
    for (uint64_t at = 0; at < bytes.size(); at += row) {
      const uint64_t number = bySample ? at / row % entry.batch : 0;
      if (bySample && number >= samples.size())
        continue; // padding
      const std::span elements = std::span(bytes).subspan(at, row);
      if (const auto found = findNotFinite(output.type.dtype, elements))
        return failure(StatusCode::Failed, source, ": ",
                       bySample ? concat("sample ", samples[number], ": ") : "", "'", output.name,
                       "' is ",
                       numberText(loadElement(output.type.dtype, &elements[*found * size])));
    }
  }
  return {};
}

static bool isFinite(double number) { return std::isfinite(number); }

/// The first value among those of an entry that is not finite, as "the loss is inf".
static std::optional<std::string> notFinite(const EntryInfo &entry, const MetricSums &sums) {
  for (size_t i = 0; i < entry.metrics.size(); ++i) {
    const MetricValue value = sums.value(i);
    if (!isFinite(value.number))
      return concat("the ", entry.metrics[i].name, " is ", numberText(value.number));
    for (double number : value.table)
      if (!isFinite(number))
        return concat("the ", entry.metrics[i].name, " holds what is ", numberText(number));
  }
  return {};
}

/// The samples of a batch: "sample 5", "samples 64 to 95".
static std::string samplesText(std::span<const uint32_t> samples) {
  if (samples.size() == 1)
    return concat("sample ", samples.front());
  return concat("samples ", samples.front(), " to ", samples.back());
}

Result<std::unique_ptr<Evaluator>> Evaluator::create(std::shared_ptr<State> state,
                                                     std::shared_ptr<const Dataset> dataset,
                                                     const LoadOptions &load,
                                                     TransformList transforms) {
  const Module &module = *state->module();
  const EntryInfo *entry = module.plan().findEntry(DLC_ENTRY_EVALUATE);
  if (!entry)
    return invalid(module.path(), ": the module has no entry that evaluates");
  const std::shared_ptr<Device> device = state->device();
  const Transport &ranks = device->ranks();
  DLC_TRY_ASSIGN(context, Context::create(std::move(state), entry->name));
  DLC_TRY_ASSIGN(loader, BatchLoader::create(context->entry(), dataset,
                                             {.rank = ranks.rank(), .ranks = ranks.ranks()}, load,
                                             std::move(transforms), batchMemoryOf(device)));
  if (entry->validInput == DLC_NONE && dataset->size() < entry->batch)
    return invalid(dataset->name(), ": ", dataset->size(), " samples do not fill one batch of ",
                   entry->batch);
  return std::unique_ptr<Evaluator>(
      new Evaluator(std::move(context), std::move(loader), dataset->name()));
}

/// What all ranks have evaluated.
static Status addOverRanks(Transport &ranks, MetricSums &sums, EvaluateReport &report) {
  if (ranks.ranks() == 1)
    return {};
  std::vector<double> numbers = sums.numbers();
  const size_t count = numbers.size();
  for (uint64_t own : {report.samples, report.batches, report.badRecords.value_or(0)})
    numbers.push_back(static_cast<double>(own));
  DLC_TRY(ranks.sum(numbers));
  sums.setNumbers(std::span(numbers).first(count));
  report.samples = static_cast<uint64_t>(numbers[count]);
  report.batches = static_cast<uint64_t>(numbers[count + 1]);
  if (report.badRecords)
    report.badRecords = static_cast<uint64_t>(numbers[count + 2]);
  return {};
}

/// Adds the last run's numbers. What is not finite in one batch is not in the sum of all, and the
/// first such batch is said: behind the last one, as other ranks wait for this one's sums.
Status Evaluator::addBatch(MetricSums &sums, const Batch &batch, std::string &firstBad) const {
  MetricSums own(context->entry());
  DLC_TRY(own.add(*context));
  sums.add(own);
  if (!firstBad.empty() || std::ranges::all_of(own.numbers(), isFinite))
    return {};
  if (auto what = notFinite(context->entry(), own))
    firstBad = concat(samplesText(batch.samples), ": ", *what);
  return {};
}

/// A batch draws what it would on one rank alone, which evaluates all of them.
Status Evaluator::runBatch(const Batch &batch, uint64_t number, MetricSums &sums,
                           std::string &firstBad) const {
  DLC_TRY(bindBatch(*context, context->entry(), batch));
  DLC_TRY(context->setRandom(context->state()->seed(), number));
  DLC_TRY(context->run());
  DLC_TRY(checkResults(*context, batch.samples, source));
  return addBatch(sums, batch, firstBad);
}

Result<EvaluateReport> Evaluator::run(uint64_t maxBatches,
                                      const std::function<void(uint64_t)> &progress) {
  const TimedScope scope(timeline, SpanKind::Evaluation);
  const auto start = std::chrono::steady_clock::now();
  const EntryInfo &entry = context->entry();
  const bool keepPartial = entry.validInput != DLC_NONE;
  Transport &ranks = context->state()->device()->ranks();
  const PhaseScope evaluating(ranks, Phase::Evaluate);
  MetricSums sums(entry);
  EvaluateReport report;
  std::string firstBad;
  DLC_TRY(context->state()->reset(DLC_ROLE_METRIC));
  DLC_TRY(loader->start({.seed = {},
                         .epoch = 0,
                         .firstBatch = 0,
                         .mostBatches = maxBatches,
                         .keepPartial = keepPartial,
                         .timeline = timeline}));
  while (true) {
    DLC_TRY_ASSIGN(batch, loader->next());
    if (!batch)
      break;
    // Where all of its samples are damaged nothing is to be evaluated.
    if (batch->valid != 0)
      DLC_TRY(runBatch(*batch, report.batches * ranks.ranks() + ranks.rank(), sums, firstBad));
    report.samples += static_cast<uint64_t>(batch->valid);
    ++report.batches;
    if (progress)
      progress(report.batches);
  }
  report.badRecords = loader->badRecords();
  DLC_TRY(addOverRanks(ranks, sums, report));
  if (report.samples == 0 && report.badRecords.value_or(0) != 0)
    return damaged(source, ": none of the samples can be read");
  for (size_t i = 0; i < entry.metrics.size(); ++i)
    report.metrics.emplace_back(entry.metrics[i].name, sums.value(i));
  if (auto what = notFinite(entry, sums))
    return failure(StatusCode::Failed, source, ": ", firstBad.empty() ? *what : firstBad);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace dlc::runtime
