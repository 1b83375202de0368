// dlc-run infer: outputs for inputs from a file, or predictions for a data set.
//
// A file may hold more samples than the entry takes at once: they are run batch by batch, the last
// one padded.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Training/Evaluate.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime::tool {
namespace {

/// Samples that the file's tensors hold, all on their first axis; checks every shape.
Result<uint64_t> countSamples(const EntryInfo &entry, const SafetensorsFile &file) {
  std::optional<uint64_t> samples;
  for (const StoredTensor &stored : file.tensors()) {
    auto input = std::find_if(entry.inputs.begin(), entry.inputs.end(),
                              [&](const ValueInfo &value) { return value.name == stored.name; });
    if (input == entry.inputs.end())
      return invalid(stored.quoted(), " is no input of entry '", entry.name, "'");
    std::vector<uint64_t> one = stored.shape, expected = input->type.shape;
    if (input->batchAxis == 0 && !one.empty()) {
      if (samples && *samples != one[0])
        return invalid(stored.quoted(), " has ", one[0], " samples, another tensor ", *samples);
      samples = one[0];
      one[0] = expected[0];
    }
    if (stored.dtype != input->type.dtype || one != expected)
      return invalid(stored.quoted(), " is ", stored.typeText(), ", entry '", entry.name,
                     "' expects ", input->type.str(),
                     input->batchAxis == 0 ? " with any number of samples" : "");
  }
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    if (i != entry.validInput && !file.find(entry.inputs[i].name))
      return invalid("no tensor '", entry.inputs[i].name, "', the input ",
                     entry.inputs[i].type.str());
  if (samples == uint64_t(0))
    return invalid("there are no samples in it");
  return samples.value_or(entry.batch);
}

/// Runs an entry over many samples and puts the outputs together.
class BatchedRun {
public:
  BatchedRun(Context &context, std::vector<HostTensor> inputs, uint64_t samples)
      : context(context), entry(context.entry()), inputs(std::move(inputs)), samples(samples) {}

  Result<std::vector<HostTensor>> run() {
    prepare();
    // Without a batch axis there is one run and nothing to put together.
    const uint64_t step = std::max<uint64_t>(entry.batch, 1);
    for (uint64_t first = 0; first < std::max<uint64_t>(samples, 1); first += step) {
      const uint64_t count = std::min(step, samples - std::min(samples, first));
      DLC_TRY(bind(first, count));
      Status ran = context.run();
      if (!ran.ok())
        return first == 0 ? std::move(ran)
                          : std::move(ran).in(concat("from sample ", first, " on"));
      DLC_TRY(collect(first, count));
    }
    return std::move(outputs);
  }

private:
  void prepare() {
    for (const ValueInfo &input : entry.inputs)
      staged.push_back(makeTensor(input.name, input.type.dtype, input.type.shape));
    for (const ValueInfo &output : entry.outputs) {
      HostTensor tensor = makeTensor(output.name, output.type.dtype, output.type.shape);
      if (perSample(output) && entry.batch != samples) {
        tensor.type.shape[0] = samples;
        tensor.bytes.resize(tensor.type.logicalBytes());
      }
      outputs.push_back(std::move(tensor));
    }
  }

  bool perSample(const ValueInfo &value) const {
    return value.batchAxis == 0 && entry.batch != 0 && value.type.shape[0] == entry.batch;
  }

  Status bind(uint64_t first, uint64_t count) {
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      HostTensor &to = staged[i];
      if (i == entry.validInput) {
        storeElement(DLC_I32, static_cast<double>(count), to.bytes.data());
      } else {
        const HostTensor &from = *std::find_if(
            inputs.begin(), inputs.end(), [&](const HostTensor &t) { return t.name == to.name; });
        copySamples(from, first, to, 0, perSample(entry.inputs[i]) ? count : 0);
      }
      DLC_TRY(context.bind(i, to.bytes));
    }
    return {};
  }

  /// Copies `count` samples; 0 copies the tensors whole, which are of one size then.
  static void copySamples(const HostTensor &from, uint64_t fromFirst, HostTensor &to,
                          uint64_t toFirst, uint64_t count) {
    if (count == 0) {
      std::copy(from.bytes.begin(), from.bytes.end(), to.bytes.begin());
      return;
    }
    const uint64_t size = to.bytes.size() / to.type.shape[0];
    std::memcpy(to.bytes.data() + toFirst * size, from.bytes.data() + fromFirst * size,
                count * size);
  }

  Status collect(uint64_t first, uint64_t count) {
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      DLC_TRY_ASSIGN(tensor, readOutput(context, i));
      copySamples(tensor, 0, outputs[i], first, perSample(entry.outputs[i]) ? count : 0);
    }
    return {};
  }

  Context &context;
  const EntryInfo &entry;
  std::vector<HostTensor> inputs, staged, outputs;
  uint64_t samples;
};

/// Fails with the first sample of the first output that is not a number.
Status checkOutputs(const EntryInfo &entry, const std::vector<HostTensor> &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorType &type = outputs[i].type;
    const auto found = findNaN(type.dtype, outputs[i].bytes);
    if (!found)
      continue;
    const bool bySample = entry.outputs[i].batchAxis == 0;
    return failure(
        StatusCode::Failed,
        bySample ? concat("sample ", *found / (type.elementCount() / type.shape[0]), ": ") : "",
        "'", outputs[i].name, "' is not a number");
  }
  return {};
}

void printOutputs(const std::vector<HostTensor> &outputs, bool json) {
  Json line = Json::object();
  for (const HostTensor &tensor : outputs) {
    Json values = Json::array();
    const uint64_t size = dtypeSize(tensor.type.dtype);
    for (uint64_t i = 0; i < tensor.type.elementCount(); ++i)
      values.push_back(loadElement(tensor.type.dtype, tensor.bytes.data() + i * size));
    if (json)
      line[tensor.name] = {{"shape", tensor.type.shape}, {"values", values}};
    else
      std::printf("%s %s\n  %s\n", tensor.name.c_str(), tensor.type.str().c_str(),
                  values.dump().c_str());
  }
  if (json)
    printJson(line);
}

Status inferFile(const InferFlags &flags, Context &context) {
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(flags.inputs));
  Result<uint64_t> samples = countSamples(context.entry(), file);
  if (!samples.ok())
    return samples.takeStatus().in(flags.inputs);
  std::vector<HostTensor> inputs;
  for (const StoredTensor &stored : file.tensors()) {
    DLC_TRY_ASSIGN(tensor, readTensor(file, stored));
    inputs.push_back(std::move(tensor));
  }
  Result<std::vector<HostTensor>> outputs = BatchedRun(context, std::move(inputs), *samples).run();
  if (!outputs.ok())
    return outputs.takeStatus().in(flags.inputs);
  if (flags.save.empty())
    printOutputs(*outputs, flags.json);
  else
    DLC_TRY(saveTensors(flags.save, *outputs, {{"entry", std::string(context.entry().name)}}));
  return checkOutputs(context.entry(), *outputs).in(flags.inputs);
}

/// Class with the largest score in one row of the first output.
std::pair<uint64_t, double> largest(const HostTensor &output, uint64_t row, uint64_t classes) {
  const uint64_t size = dtypeSize(output.type.dtype);
  auto score = [&](uint64_t c) {
    return loadElement(output.type.dtype, output.bytes.data() + (row * classes + c) * size);
  };
  uint64_t best = 0;
  for (uint64_t c = 1; c < classes; ++c)
    if (score(c) > score(best))
      best = c;
  return {best, score(best)};
}

/// Prints what the model takes each image of the test split for.
Status predict(const InferFlags &flags, Context &context) {
  const EntryInfo &entry = context.entry();
  if (entry.outputs.empty() || entry.outputs[0].type.shape.size() != 2 ||
      entry.outputs[0].type.shape[1] == 0 || entry.outputs[0].batchAxis != 0)
    return invalid("entry '", entry.name,
                   "': predictions need an output of scores by sample and class, found ",
                   entry.outputs.empty() ? "none" : entry.outputs[0].type.str());
  DLC_TRY_ASSIGN(data, openDataset(flags.data, Split::Test));
  constexpr size_t labels = 1;
  if (data->fields().size() != 2 || data->fields()[labels].kind != FieldKind::Label)
    return invalid(data->name(), ": predictions are made of images with labels: of idx: or cifar:");
  DLC_TRY_ASSIGN(loader, BatchLoader::create(entry, data));
  printNotes(loader->notes(/*keepPartial=*/true));
  DLC_TRY(loader->start({.seed = {}, .epoch = 0, .firstBatch = 0, .keepPartial = true}));
  const uint64_t classes = entry.outputs[0].type.shape[1];
  DLC_TRY(checkClasses(*data, labels, classes, /*ignored=*/0,
                       concat("output '", entry.outputs[0].name, "'")));
  uint64_t right = 0, seen = 0;
  for (uint64_t run = 0; run < flags.steps.value_or(UINT64_MAX); ++run) {
    const Batch *batch = loader->next();
    if (!batch)
      break;
    DLC_TRY(bindBatch(context, entry, *batch));
    DLC_TRY(context.run());
    DLC_TRY(checkResults(context, batch->samples, data->name()));
    DLC_TRY_ASSIGN(output, readOutput(context, 0));
    for (uint64_t i = 0; i < batch->samples.size(); ++i) {
      const auto [best, score] = largest(output, i, classes);
      const auto label = static_cast<uint64_t>(*data->sample(batch->samples[i], labels));
      right += best == label;
      ++seen;
      if (flags.json)
        printJson({{"sample", batch->samples[i]},
                   {"prediction", best},
                   {"score", score},
                   {"label", label}});
      else
        std::printf("%u: %llu (score %.3f, label %llu)\n", batch->samples[i],
                    static_cast<unsigned long long>(best), score,
                    static_cast<unsigned long long>(label));
    }
  }
  const double accuracy = seen == 0 ? 0 : static_cast<double>(right) / static_cast<double>(seen);
  if (flags.json)
    printJson({{"accuracy", accuracy}, {"samples", seen}, {"summary", true}});
  else
    std::printf("%s  %llu images\n", metricsText({{"accuracy", {accuracy}}}).c_str(),
                static_cast<unsigned long long>(seen));
  return {};
}

Status checkSave(const InferFlags &flags) {
  std::vector<std::string> inputs = dataFiles(flags.data);
  inputs.insert(inputs.end(), {flags.module, flags.checkpoint, flags.inputs});
  return checkWritable(flags.save, inputs);
}

} // namespace

Status infer(const InferFlags &flags) {
  if (!flags.save.empty())
    DLC_TRY(checkSave(flags));
  DLC_TRY_ASSIGN(state, flags.createState());
  if (!flags.checkpoint.empty()) {
    DLC_TRY_ASSIGN(metadata, loadVariables(*state, flags.checkpoint, LoadMode::Weights));
  }
  DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), flags.entry, DLC_ENTRY_INFER));
  DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
  return flags.inputs.empty() ? predict(flags, *context) : inferFile(flags, *context);
}

} // namespace dlc::runtime::tool
