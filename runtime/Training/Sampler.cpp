// Windows, steps and draws.
#include "runtime/Training/Sampler.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"
#include "runtime/Core/Support.h"
#include "runtime/Exec/Entries.h"

#include <algorithm>
#include <cmath>

namespace dlc::runtime {
namespace {

/// The states of an entry that infers are called as it is.
bool isStateOf(const EntryInfo &entry, const VariableInfo &variable) {
  return variable.role == DLC_ROLE_STATE && variable.name.starts_with(concat(entry.name, "."));
}

/// In [0, 1), of 53 bits.
double uniform(uint64_t seed, uint64_t draw) {
  const PhiloxWords words =
      philox(seed, {static_cast<uint32_t>(draw), static_cast<uint32_t>(draw >> 32), 0,
                    hashName("sample")});
  const uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

} // namespace

Sampler::Sampler(Run &run, const EntryInfo &entry, SampleOptions options)
    : run(run), entry(entry), options(std::move(options)) {}

Result<std::unique_ptr<Sampler>> Sampler::create(Run &run, uint64_t kinds, bool rareShareLast,
                                                 SampleOptions options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    return invalid("`temperature` is ", numberText(options.temperature),
                   ", expected a number from 0 on");
  DLC_TRY_ASSIGN(entry, selectEntry(*run.module(), options.entry, DLC_ENTRY_INFER));
  std::unique_ptr<Sampler> made(new Sampler(run, *entry, std::move(options)));
  DLC_TRY(made->prepare(kinds, rareShareLast));
  return made;
}

/// Looks at the entry's shapes, and sets its states to 0.
Status Sampler::prepare(uint64_t kinds, bool rareShareLast) {
  const std::string name = concat("entry '", entry.name, "'");
  const bool hasOne = entry.inputs.size() == 1 && entry.validInput == DLC_NONE;
  const ValueInfo *first = hasOne ? entry.inputs.data() : nullptr;
  if (!first || first->type.dtype != DLC_I32 || first->type.shape.size() != 2 ||
      first->batchAxis > 1)
    return invalid(name, " is of no language model: expected one input, i32[T, N] or i32[N, T]",
                   hasOne ? concat(", found ", first->type.str()) : "");
  const std::vector<uint64_t> &shape = first->type.shape;
  steps = shape[1 - first->batchAxis];
  batch = shape[first->batchAxis];
  stride = first->batchAxis == 0 ? 1 : batch;
  const ValueInfo *scores = entry.outputs.empty() ? nullptr : entry.outputs.data();
  if (!scores || scores->isFetched() || isWhole(scores->type.dtype) ||
      scores->type.shape.size() != 3 || scores->type.shape[0] != shape[0] ||
      scores->type.shape[1] != shape[1] || scores->type.shape[2] == 0)
    return invalid(name, " is of no language model: expected scores [", shape[0], ", ", shape[1],
                   ", classes] as its first output",
                   scores ? concat(", found ", scores->type.str()) : "");
  classes = scores->type.shape[2];
  if (kinds > classes && !rareShareLast)
    return invalid("the text has ", kinds, " different numbers, ", name, " scores ", classes);
  drawable = std::min(kinds, classes);
  const Plan &plan = run.module()->plan();
  for (size_t i = 0; i < plan.variables.size(); ++i)
    if (isStateOf(entry, plan.variables[i])) {
      carries = true;
      DLC_TRY(run.state()->initialise(i));
    }
  if (carries && steps != 1)
    return invalid(name, " carries states over ", steps,
                   " steps; a text is drawn step by step: T = 1 in the infer section");
  input.resize(steps * batch);
  output.resize(scores->type.logicalBytes());
  return {};
}

Status Sampler::add(int32_t number) {
  const auto last = static_cast<int32_t>(classes - 1);
  if (number < 0)
    return invalid("number ", number, " is none of a text");
  numbers.push_back(std::min(number, last));
  if (numbers.size() <= steps)
    return {};
  if (carries)
    DLC_TRY(runStep());
  numbers.erase(numbers.begin());
  return {};
}

/// Runs the entry on the numbers, the oldest ones first.
Status Sampler::runStep() {
  std::ranges::fill(input, 0);
  const uint64_t count = std::min<uint64_t>(numbers.size(), steps);
  for (uint64_t i = 0; i < count; ++i)
    input[i * stride] = numbers[i];
  const ValueInfo &taken = entry.inputs[0], &scores = entry.outputs[0];
  const Array array{std::string(taken.name), DLC_I32, taken.type.shape, input.data()};
  const OutputArray made{std::string(scores.name), scores.type.dtype, scores.type.shape,
                         output.data()};
  return run.predict(std::span(&array, 1), std::span(&made, 1), entry.name);
}

Result<SampledNumber> Sampler::next() {
  return guarded([&]() -> Result<SampledNumber> {
    if (numbers.empty())
      return invalid("nothing stands in front of the first number to be drawn");
    DLC_TRY(runStep());
    const uint64_t bytes = classes * dtypeSize(entry.outputs[0].type.dtype);
    const uint64_t row = (numbers.size() - 1) * stride;
    DLC_TRY_ASSIGN(found, draw(std::span(output).subspan(row * bytes, bytes)));
    // With states the model has seen it.
    if (carries)
      numbers.clear();
    DLC_TRY(add(found.number));
    ++drawn;
    return found;
  });
}

/// `scores`: of all classes.
Result<SampledNumber> Sampler::draw(std::span<const std::byte> scores) {
  const dlc_dtype dtype = entry.outputs[0].type.dtype;
  candidates.clear();
  for (uint64_t i = 0; i < drawable; ++i) {
    const double score = loadElement(dtype, scores.data() + i * dtypeSize(dtype));
    if (std::isnan(score) || score == INFINITY)
      return failure(StatusCode::Failed, "draw ", drawn, ": '", entry.outputs[0].name, "' is ",
                     numberText(score));
    candidates.emplace_back(score, static_cast<int32_t>(i));
  }
  const auto better = [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  const auto best = *std::ranges::min_element(candidates, better);
  if (options.temperature == 0)
    return SampledNumber{best.second, 1};
  if (best.first == -INFINITY)
    return failure(StatusCode::Failed, "draw ", drawn, ": '", entry.outputs[0].name,
                   "' is -inf for each number");
  if (options.topK != 0 && options.topK < candidates.size()) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(options.topK);
    std::ranges::nth_element(candidates, end, better);
    candidates.erase(end, candidates.end());
    std::ranges::sort(candidates, {}, &std::pair<double, int32_t>::second);
  }
  double all = 0;
  for (auto &[score, number] : candidates)
    all += score = std::exp((score - best.first) / options.temperature);
  double left = uniform(options.seed, drawn) * all;
  const std::pair<double, int32_t> *chosen = nullptr;
  for (const auto &candidate : candidates) {
    if (candidate.first == 0)
      continue;
    chosen = &candidate;
    left -= candidate.first;
    if (left < 0)
      break;
  }
  return SampledNumber{chosen->second, chosen->first / all};
}

} // namespace dlc::runtime
