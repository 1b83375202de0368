// From options to variables, data and a place to go on from.
#include "runtime/Training/RunStart.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Schedule.h"
#include "runtime/Training/KeptCheckpoints.h"
#include "runtime/Training/Progress.h"
#include "runtime/Training/WatchedMetric.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

namespace dlc::runtime {

Status agreeAloud(Transport &ranks, const Status &own, const Facts &facts, const Log &log) {
  Status agreed = agree(ranks, own, facts);
  if (agreed.ok() || ranks.ranks() == 1 || !log)
    return agreed;
  log(Severity::Error, agreed.message());
  // Starters end all ranks as soon as one ends: not before the line is written.
  double said = 1;
  (void)ranks.sum(std::span(&said, 1));
  return agreed;
}

std::vector<std::string> inputsOf(const RunOptions &options) {
  std::vector<std::string> inputs = dataFiles(options.data);
  const std::vector<std::string> test = dataFiles(options.testData);
  inputs.insert(inputs.end(), test.begin(), test.end());
  inputs.insert(inputs.end(), {options.module, options.initFrom, options.weights});
  return inputs;
}

static bool holdsSomething(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         std::filesystem::file_size(path, error) != 0 && !error;
}

Result<std::optional<Metadata>> earlierCheckpoint(const std::string &path,
                                                  const std::vector<std::string> &inputs) {
  DLC_TRY(checkWritable(path, inputs));
  if (!holdsSomething(path))
    return std::optional<Metadata>();
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (file.ok() && progressFrom(file->metadata()).ok())
    return std::optional(file->metadata());
  const std::string_view kind = fileKind(path);
  return invalid(path, ": exists and is ", kind.empty() ? "" : concat(kind, ", "),
                 "no checkpoint; name another file, or remove it");
}

Status checkCheckpoint(const RunOptions &options, const Plan &plan,
                       const std::optional<TrainingProgress> &from) {
  const std::string &path = options.checkpoint;
  if (options.resume && !from)
    return checkWritable(path, inputsOf(options));
  DLC_TRY_ASSIGN(earlier, earlierCheckpoint(path, inputsOf(options)));
  if (!earlier || (options.overwrite && !options.resume))
    return {};
  const std::string &step = earlier->find("step")->second;
  if (options.resume)
    return step == std::to_string(from->step)
               ? Status()
               : invalid(path, ": was at step ", from->step, " when it was read, and is at step ",
                         step, " now: another run has written it");
  const auto model = earlier->find("model");
  if (model != earlier->end() && model->second != plan.model)
    return invalid(path, ": is a checkpoint of model '", model->second, "', the module's is '",
                   plan.model, "'; `overwrite` replaces it");
  return invalid(path, ": is the checkpoint of an earlier run, after step ", step,
                 "; `resume` continues it, `overwrite` replaces it");
}

Status checkKept(const RunOptions &options, const std::optional<uint64_t> &from) {
  if (options.keep <= 1)
    return {};
  for (const uint64_t step : keptSteps(options.checkpoint)) {
    const std::string name = keptName(options.checkpoint, step);
    DLC_TRY(earlierCheckpoint(name, inputsOf(options)).takeStatus());
    if (!options.overwrite && (!from || step > *from))
      return invalid(name, ": is the checkpoint of an earlier run",
                     from ? concat(", and this one goes on from step ", *from) : std::string(),
                     "; `overwrite` removes it");
  }
  return {};
}

/// Whether the best, not newer than the checkpoint, is another than this says: that of an earlier
/// run, whose checkpoint was replaced, or of one that was killed before it had replaced it. The
/// best behind an epoch is newer than a checkpoint of its last step.
static bool isOfAnotherRun(const Metadata &best, const Metadata &newest, const std::string &key) {
  const auto known = newest.find(key), found = best.find(key);
  if (known == newest.end() || found == best.end() || known->second == found->second)
    return false;
  const Result<TrainingProgress> there = progressFrom(best), here = progressFrom(newest);
  return there.ok() && here.ok() &&
         std::pair(there->step, there->epoch) <= std::pair(here->step, here->epoch);
}

Status checkBest(const RunOptions &options, const Module &module, Metadata &resumed) {
  const std::string path = bestName(options.checkpoint);
  DLC_TRY_ASSIGN(metric, watchedMetric(module, options.saveBest));
  DLC_TRY_ASSIGN(earlier, earlierCheckpoint(path, inputsOf(options)));
  if (!earlier)
    return {};
  const auto best = earlier->find(bestKey(metric));
  if (options.resume && isOfAnotherRun(*earlier, resumed, bestKey(metric)))
    return options.overwrite ? Status()
                             : invalid(path, ": is the best of another run than ",
                                       options.checkpoint, " is of; `overwrite` replaces it");
  if (options.resume && best != earlier->end())
    resumed[best->first] = best->second;
  else if (!options.overwrite)
    return invalid(path, ": is the best ",
                   options.resume ? concat("by another metric than ", metric.str())
                                  : std::string("checkpoint of an earlier run"),
                   "; `overwrite` replaces it");
  return {};
}

namespace {

bool trains(const Plan &plan) { return !plan.steps.empty(); }

/// The entry whose inputs training data are for: the one that the first step begins with.
const EntryInfo *trainEntry(const Plan &plan) {
  return trains(plan) ? &plan.entries[plan.steps[0].entry] : nullptr;
}

Result<std::shared_ptr<const Dataset>> openTrainData(const RunOptions &options,
                                                     const Module &module) {
  if (options.train || options.batches.fill || options.data.empty())
    return options.train;
  const EntryInfo *reader = trainEntry(module.plan());
  if (!reader)
    return options.train;
  return openDataset(options.data, Split::Train, reader);
}

/// None for a module that evaluates nothing, or where there are none.
Result<std::shared_ptr<const Dataset>> openTestData(const RunOptions &options, const Module &module,
                                                    const Speaker &speaker) {
  const EntryInfo *reader = module.plan().findEntry(DLC_ENTRY_EVALUATE);
  if (!reader || options.overfitBatches != 0)
    return std::shared_ptr<const Dataset>();
  if (!options.test && !options.testData.empty())
    return openDataset(options.testData, Split::Test, reader);
  if (options.test || options.data.empty())
    return options.test;
  if (hasSplit(options.data, Split::Test))
    return openDataset(options.data, Split::Test, reader);
  speaker.note(options.data, ": no test data (", testDataText(options.data),
               "), so epochs end without an evaluation");
  return std::shared_ptr<const Dataset>();
}

std::string listOf(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    addItem(list, name);
  return list;
}

/// Says what was not found, as a new last layer is not, and what was not taken, as the old one is
/// not.
Status initialiseFrom(const RunOptions &options, State &state, const Speaker &speaker) {
  const std::string &path = options.initFrom;
  DLC_TRY_ASSIGN(report, loadMatching(state, path, options.rename));
  if (!report.missing.empty())
    speaker.note(path, ": ", report.taken, " of ", report.taken + report.missing.size(),
                 " taken; these begin as in a new run: ", listOf(report.missing));
  if (!report.unused.empty())
    speaker.note(path, ": ", report.unused.size(),
                 " of its tensors are not the model's: ", listOf(report.unused));
  if (!report.converted.empty())
    speaker.note(path, ": ", report.converted);
  return {};
}

/// The list of transforms that a checkpoint was trained with; nothing of one that says none.
std::optional<std::string> augmentOf(const Metadata &metadata) {
  const auto saved = metadata.find("augment");
  return saved == metadata.end() ? std::nullopt : std::optional(saved->second);
}

/// Another list than before is a slip: it would be another run.
Status checkAugmentation(const Metadata &metadata, const Augmentation &given) {
  const std::optional<std::string> saved = augmentOf(metadata);
  if (!saved || given.text.empty() || *saved == given.text)
    return {};
  return invalid("was trained ",
                 saved->empty() ? std::string("without `augment`")
                                : concat("with `augment` '", *saved, "'"),
                 ", and now it is '", given.text, "'; without it the checkpoint's holds");
}

/// Loads the checkpoint of an earlier run; afterwards the run goes on as if it had never ended.
Result<Metadata> resumeFrom(const RunOptions &options, const Augmentation &augmentation,
                            State &state, const Speaker &speaker) {
  const std::string &path = options.checkpoint;
  DLC_TRY_ASSIGN(metadata, loadVariables(state, path, LoadMode::Everything));
  Result<TrainingProgress> found = progressFrom(metadata);
  if (!found.ok())
    return found.takeStatus().in(path);
  if (options.seed && *options.seed != found->seed)
    return invalid(path, ": was trained with seed ", found->seed, ", `seed` is ", *options.seed);
  DLC_TRY(checkAugmentation(metadata, augmentation).in(path));
  if (metadata["graph_hash"] != state.module()->graphHash())
    speaker.warn(path, ": written by another build of the model; results may differ in bits");
  return metadata;
}

/// How many ranks wrote a checkpoint.
Result<uint64_t> ranksBefore(const RunOptions &options, const Metadata &metadata) {
  const auto saved = metadata.find("ranks");
  const uint64_t before =
      saved == metadata.end() ? 1 : std::strtoull(saved->second.c_str(), nullptr, 10);
  if (before == 0)
    return damaged(options.checkpoint, ": 'ranks' in the metadata is no whole number");
  return before;
}

/// What a rank needs before the ranks agree.
struct Prepared {
  std::shared_ptr<State> state;
  std::shared_ptr<const Dataset> train, test;
  /// Of the checkpoint that is resumed; read by rank 0.
  Metadata metadata;
  CarriedStates carried;
  Augmentation augmentation;
  Facts facts;
};

std::string numberOrNone(const std::optional<uint64_t> &number) {
  return number ? std::to_string(*number) : "none";
}

std::string textOrNone(const std::string &text) { return text.empty() ? "none" : text; }

Result<std::string> samplesOrNone(const std::shared_ptr<const Dataset> &data) {
  return data ? describeSamples(*data) : std::string("none");
}

/// What the ranks must have alike: files may differ from machine to machine.
Result<Facts> factsOf(const RunOptions &options, const Prepared &prepared) {
  DLC_TRY_ASSIGN(train, samplesOrNone(prepared.train));
  DLC_TRY_ASSIGN(test, samplesOrNone(prepared.test));
  std::string overrides;
  for (const auto &[name, value] : options.overrides)
    addItem(overrides, concat(name, "=", decimalText(value)));
  const State &state = *prepared.state;
  return Facts{
      {"the module", hexadecimal(state.module()->note().file_hash)},
      {"the plan", state.module()->graphHash()},
      {"the device", std::string(state.device()->name())},
      {"`seed`", numberOrNone(options.seed)},
      {"training data of", std::move(train)},
      {"test data of", std::move(test)},
      {"`batches.perEpoch`", std::to_string(options.batches.perEpoch)},
      {"`epochs`", numberOrNone(options.epochs)},
      {"`steps`", numberOrNone(options.steps)},
      {"`checkpoint`", options.checkpoint.empty() ? "none" : "a file"},
      {"`resume`", options.resume ? "given" : "none"},
      {"`initFrom`", options.initFrom.empty() ? "none" : "a file"},
      {"`checkpointEvery`", std::to_string(options.checkpointEvery)},
      {"`checkRanks`", std::to_string(options.checkRanks)},
      {"`augment`", prepared.augmentation.text.empty() ? "none" : prepared.augmentation.text},
      {"`overrides`", overrides.empty() ? "none" : overrides},
      {"`keep`", std::to_string(options.keep)},
      {"`saveBest`", textOrNone(options.saveBest)},
      {"`evaluateEvery`", std::to_string(options.evaluateEvery)},
      {"`patience`", std::to_string(options.patience)},
      {"`minDelta`", decimalText(options.minDelta)},
      {"`patienceMetric`", textOrNone(options.patienceMetric)},
      {"`timeLimit`", decimalText(options.timeLimit)},
      {"`maxBadRecords`", std::to_string(options.load.maxBadRecords)},
      {"`logFile`", options.logFile.empty() ? "none" : "a file"},
      {"`limit`", decimalText(options.limit)},
      {"`overfitBatches`", std::to_string(options.overfitBatches)},
      {"`fastDevRun`", options.fastDevRun ? "given" : "none"},
      {"`checkFinite`", options.checkFinite ? "given" : "none"},
      {"`norms`", std::to_string(options.norms)},
      {"`share`", decimalText(options.share)},
      {"`tensorboard`", options.tensorboard.empty() ? "none" : "a folder"},
      {"`histograms`", std::to_string(options.histograms)},
      {"`rename`", options.rename.empty() ? "none" : listOf(options.rename)}};
}

Result<std::shared_ptr<State>> createState(const RunOptions &options,
                                           const std::shared_ptr<Transport> &ranks,
                                           unsigned threads, bool speaks) {
  DLC_TRY_ASSIGN(module, Module::load(options.module));
  DeviceOptions wanted = options.device;
  wanted.threadsAtOnce = threads;
  DLC_TRY_ASSIGN(device, openDevice(*module, wanted, speaks ? options.log : Log()));
  device->join(ranks);
  return State::create(std::move(module), std::move(device), options.seed.value_or(0));
}

Result<Augmentation> readAugmentation(std::string_view text) {
  Result<Augmentation> found = parseAugmentation(text);
  return found.ok() ? std::move(found) : Result<Augmentation>(found.takeStatus().in("`augment`"));
}

/// A log of an earlier run is not lost by a mistake either.
Status checkLog(const RunOptions &options) {
  if (options.logFile.empty())
    return {};
  std::vector<std::string> others = inputsOf(options);
  others.push_back(options.checkpoint);
  DLC_TRY(checkWritable(options.logFile, others));
  if (!isStream(options.logFile) && holdsSomething(options.logFile) && !options.resume &&
      !options.overwrite)
    return invalid(options.logFile, ": is there already; `resume` goes on behind it, `overwrite` "
                                    "replaces it");
  return {};
}

/// Numbers that can be none, and what is of no use without a checkpoint.
Status checkNeeds(const RunOptions &options) {
  for (const auto &[number, field] :
       {std::pair(options.minDelta, "`minDelta`"), std::pair(options.timeLimit, "`timeLimit`")})
    if (!(std::isfinite(number) && number >= 0))
      return invalid(field, " is ", numberText(number), ", expected a number from 0 on");
  const double limit = options.limit;
  if (!(limit >= 0 && (limit < 1 || (limit < 0x1p53 && limit == std::floor(limit)))))
    return invalid("`limit` is ", numberText(limit),
                   ", expected a part below 1 or a whole number of batches");
  if (!(options.share > 0 && options.share <= 1))
    return invalid("`share` is ", numberText(options.share),
                   ", expected a part of the time, above 0 and up to 1");
  if (options.overfitBatches != 0 && options.batches.fill)
    return invalid("`overfitBatches` is given, and the batches are the program's");
  if (options.histograms != 0 && options.tensorboard.empty())
    return invalid("`histograms` is given without `tensorboard`");
  if (!options.rename.empty() && options.initFrom.empty())
    return invalid("`rename` is given without `initFrom`");
  if (!options.checkpoint.empty())
    return {};
  const std::pair<bool, std::string_view> given[] = {{options.resume, "`resume`"},
                                                     {options.keep > 1, "`keep`"},
                                                     {!options.saveBest.empty(), "`saveBest`"}};
  for (const auto &[isGiven, field] : given)
    if (isGiven)
      return invalid(field, " is given without `checkpoint`");
  return {};
}

/// The files beside the checkpoint.
Status checkOthers(const RunOptions &options, const Module &module, Metadata &resumed) {
  std::optional<uint64_t> from;
  if (options.resume) {
    DLC_TRY_ASSIGN(progress, progressFrom(resumed));
    from = progress.step;
  }
  DLC_TRY(checkKept(options, from));
  return options.saveBest.empty() ? Status() : checkBest(options, module, resumed);
}

/// What each rank does by itself. Rank 0 alone reads checkpoints.
Result<Prepared> prepare(const RunOptions &options, const std::shared_ptr<Transport> &ranks,
                         unsigned threads) {
  const bool first = ranks->rank() == 0;
  const Speaker speaker(options.log, first);
  Prepared prepared;
  DLC_TRY_ASSIGN(augmentation, readAugmentation(options.augment));
  DLC_TRY_ASSIGN(state, createState(options, ranks, threads, first));
  const Module &module = *state->module();
  if (!options.checkpoint.empty() && first)
    DLC_TRY(checkCheckpoint(options, module.plan()));
  if (!options.initFrom.empty() && first)
    DLC_TRY(initialiseFrom(options, *state, speaker));
  if (!options.weights.empty() && first) {
    DLC_TRY_ASSIGN(metadata, loadVariables(*state, options.weights, LoadMode::Weights));
    if (const auto saved = augmentOf(metadata); saved && progressFrom(metadata).ok())
      prepared.metadata["augment"] = *saved;
  }
  DLC_TRY_ASSIGN(trainData, openTrainData(options, module));
  DLC_TRY_ASSIGN(testData, openTestData(options, module, speaker));
  DLC_TRY(checkNeeds(options));
  if (options.resume && first) {
    DLC_TRY_ASSIGN(metadata, resumeFrom(options, augmentation, *state, speaker));
    DLC_TRY_ASSIGN(before, ranksBefore(options, metadata));
    DLC_TRY_ASSIGN(carried, loadCarried(*state, options.checkpoint, before));
    prepared.metadata = std::move(metadata);
    prepared.carried = std::move(carried);
  }
  if (first)
    DLC_TRY(checkOthers(options, module, prepared.metadata));
  if (first)
    DLC_TRY(checkLog(options));
  prepared.augmentation = std::move(augmentation);
  prepared.state = std::move(state);
  prepared.train = std::move(trainData);
  prepared.test = std::move(testData);
  if (ranks->ranks() > 1) {
    DLC_TRY_ASSIGN(facts, factsOf(options, prepared));
    prepared.facts = std::move(facts);
  }
  return prepared;
}

/// What another number of ranks than before makes of an epoch that has begun.
std::string describeRest(const Prepared &prepared, uint64_t batches, unsigned ranks) {
  if (prepared.train && prepared.train->isSequence())
    return "the rest of the epoch reads other parts of the text";
  const uint64_t again = batches % ranks;
  return concat(again, again == 1 ? " batch of the epoch is" : " batches of the epoch are",
                " trained again");
}

/// What it makes of learning rates.
std::string describeRates(const Plan &plan, const TrainingProgress &progress, unsigned ranks) {
  return concat("learning rates are ",
                ratesFollowBatch(plan) ? concat("scaled for ", ranks) : std::string("not scaled"),
                ", warm-up and schedule go on in epoch ", progress.epoch + 1);
}

bool compressesSums(const Plan &plan) {
  return std::ranges::any_of(plan.records, [](const dlc_record &record) {
    return record.kind == DLC_RECORD_COLLECTIVE && record.index != DLC_COLLECTIVE_SUM;
  });
}

/// Where the run begins. Among another number of ranks than before, an epoch goes on behind the
/// samples that have been seen, states that are carried begin anew, and residuals are shared.
Result<TrainingProgress> progressOf(const RunOptions &options, Transport &ranks,
                                    Prepared &prepared) {
  if (!options.resume)
    return TrainingProgress{.seed = options.seed.value_or(0)};
  DLC_TRY_ASSIGN(progress, progressFrom(prepared.metadata));
  DLC_TRY_ASSIGN(before, ranksBefore(options, prepared.metadata));
  const Plan &plan = prepared.state->module()->plan();
  const std::string &file = options.checkpoint;
  const Speaker speaker(options.log, ranks.rank() == 0);
  if (before > 1 && compressesSums(plan) && !hasResiduals(*prepared.state, prepared.carried))
    speaker.note(file, ": compressed sums begin with nothing left out");
  if (before == ranks.ranks()) {
    DLC_TRY(scatterStates(ranks, prepared.carried, *prepared.state));
    return progress;
  }
  DLC_TRY(shareResiduals(ranks, prepared.carried, *prepared.state));
  const uint64_t batches = progress.position * before;
  progress.position = batches / ranks.ranks();
  speaker.note(file, ": trained by ", before, " rank", before == 1 ? "" : "s", " before, now ",
               ranks.ranks(), "; ", describeRest(prepared, batches, ranks.ranks()), "; ",
               describeRates(plan, progress, ranks.ranks()));
  if (!carriesStates(plan) || progress.position == 0)
    return progress;
  speaker.warn(file, ": carried states begin anew");
  DLC_TRY(prepared.state->reset(DLC_ROLE_STATE));
  return progress;
}

} // namespace

Result<RunBeginning> beginRun(const RunOptions &options, const std::shared_ptr<Transport> &ranks) {
  DLC_TRY_ASSIGN(threads, threadsOfRank(*ranks));
  Result<Prepared> prepared = guarded([&] {
    const PhaseScope loading(*ranks, Phase::Load);
    return prepare(options, ranks, threads);
  });
  DLC_TRY(agreeAloud(*ranks, prepared.status(), prepared.ok() ? prepared->facts : Facts(),
                     options.log));
  DLC_TRY(broadcastRun(*ranks, prepared->metadata, *prepared->state));
  DLC_TRY_ASSIGN(progress, progressOf(options, *ranks, *prepared));
  if (const auto saved = augmentOf(prepared->metadata);
      saved && prepared->augmentation.text.empty()) {
    DLC_TRY_ASSIGN(augmentation, parseAugmentation(*saved));
    // Weights are evaluated as in their run; what trains on from them is another one.
    if (options.resume)
      prepared->augmentation = std::move(augmentation);
    else
      prepared->augmentation.test = std::move(augmentation.test);
  }
  return RunBeginning{std::move(prepared->state),    std::move(prepared->train),
                      std::move(prepared->test),     progress,
                      std::move(prepared->metadata), std::move(prepared->augmentation)};
}

} // namespace dlc::runtime
