// dlc-run infer: outputs for samples, or what the model takes each of them for.
//
// Samples are those of a file of inputs, or test data; Run::predict() runs them. Here it is said
// what they are, and shown what comes out.
#include "dlc/run.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/InputMapping.h"
#include "runtime/Data/SampleShape.h"
#include "runtime/Exec/Entries.h"
#include "runtime/Training/InputFile.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime::tool {
namespace {

Result<std::shared_ptr<const Dataset>> openSamples(const InferFlags &flags,
                                                   const EntryInfo &entry) {
  // Of arrays all are read: no input of the entry takes their labels.
  const EntryInfo *reader = arePictures(flags.data) ? &entry : nullptr;
  DLC_TRY_ASSIGN(data, flags.inputs.empty() ? openDataset(flags.data, Split::Test, reader)
                                            : openInputFile(flags.inputs, entry));
  if (data->isSequence())
    return invalid(data->name(),
                   ": infer reads no text; --inputs takes the numbers of its characters or words");
  return data;
}

/// Fails with the first sample of the first output that is not finite. `numbers`: of the samples;
/// empty: from 0 on.
Status checkFinite(const EntryInfo &entry, std::span<const Tensor> tensors,
                   std::span<const uint32_t> numbers) {
  for (const Tensor &tensor : tensors) {
    const auto found = findNotFinite(tensor.dtype, tensor.bytes);
    if (!found)
      continue;
    const ValueInfo &output = *std::ranges::find(entry.outputs, tensor.name, &ValueInfo::name);
    std::string where;
    if (countsSamples(entry, output)) {
      const uint64_t row = *found / elementsTogether(output) % tensor.shape[output.batchAxis];
      where = concat("sample ", numbers.empty() ? row : numbers[row], ": ");
    }
    const std::byte *at = tensor.bytes.data() + *found * dtypeSize(tensor.dtype);
    return failure(StatusCode::Failed, where, "'", tensor.name, "' is ",
                   numberText(loadElement(tensor.dtype, at)));
  }
  return {};
}

// ---------------------------------------------------------------------------------------------
// Outputs as they are

/// Integers as integers.
Json elementOf(dlc_dtype dtype, const std::byte *at) {
  if (dtype == DLC_I64) {
    int64_t number;
    std::memcpy(&number, at, sizeof(number));
    return number;
  }
  const double number = loadElement(dtype, at);
  return isWhole(dtype) ? Json(static_cast<int64_t>(number)) : Json(number);
}

/// The elements of axes `axis` and behind from `at` on, a list in a list for each.
Json nested(const Tensor &tensor, size_t axis, const std::byte *&at) {
  if (axis == tensor.shape.size()) {
    Json element = elementOf(tensor.dtype, at);
    at += dtypeSize(tensor.dtype);
    return element;
  }
  Json list = Json::array();
  for (uint64_t i = 0; i < tensor.shape[axis]; ++i)
    list.push_back(nested(tensor, axis + 1, at));
  return list;
}

/// A line for each sample; one for what counts none.
void printRows(const Tensor &tensor, bool bySample) {
  std::printf("%s %s\n", tensor.name.c_str(),
              TensorType{tensor.dtype, tensor.shape, {}}.str().c_str());
  const std::byte *at = tensor.bytes.data();
  const uint64_t rows = bySample ? tensor.shape[0] : 1;
  for (uint64_t row = 0; row < rows; ++row)
    std::printf("  %s\n", nested(tensor, bySample ? 1 : 0, at).dump().c_str());
}

void printOutputs(const EntryInfo &entry, std::span<const Tensor> tensors) {
  for (const Tensor &tensor : tensors) {
    const ValueInfo &output = *std::ranges::find(entry.outputs, tensor.name, &ValueInfo::name);
    printRows(tensor, output.batchAxis == 0 && !tensor.shape.empty());
  }
}

void printOutputsAsJson(std::span<const Tensor> tensors) {
  Json line = Json::object();
  for (const Tensor &tensor : tensors) {
    Json values = Json::array();
    const uint64_t size = dtypeSize(tensor.dtype);
    for (uint64_t at = 0; at < tensor.bytes.size(); at += size)
      values.push_back(elementOf(tensor.dtype, tensor.bytes.data() + at));
    line[tensor.name] = {{"shape", tensor.shape}, {"values", values}};
  }
  printJson(line);
}

Status writeOutputs(const InferFlags &flags, Run &run, const EntryInfo &entry,
                    const std::shared_ptr<const Dataset> &data) {
  DLC_TRY_ASSIGN(tensors, run.predict(data, {.entry = flags.entry, .steps = flags.steps}));
  if (!flags.save.empty())
    DLC_TRY(saveTensors(flags.save, tensors, {{"entry", std::string(entry.name)}}));
  else if (flags.json)
    printOutputsAsJson(tensors);
  else
    printOutputs(entry, tensors);
  return checkFinite(entry, tensors, {}).in(data->name());
}

// ---------------------------------------------------------------------------------------------
// Predictions

/// What an entry's first output says of each sample: a score for each class.
struct Classes {
  uint64_t count = 0;
  /// The dataset's field that holds the right ones, if there is one, and the number that is none.
  std::optional<size_t> labels;
  int64_t ignored = 0;
};

/// Nothing where nobody says that the numbers of the first output are scores: data with labels do,
/// and an input of the model's, such as a label of its loss, that is one of as many classes.
Result<std::optional<Classes>> findClasses(const Plan &plan, const EntryInfo &entry,
                                           const Dataset &data) {
  if (entry.outputs.empty())
    return std::optional<Classes>();
  const ValueInfo &output = entry.outputs[0];
  if (output.type.shape.size() != 2 || output.batchAxis != 0 || output.type.shape[1] == 0 ||
      isWhole(output.type.dtype))
    return std::optional<Classes>();
  const uint64_t count = output.type.shape[1];
  const std::vector<DatasetField> &fields = data.fields();
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].kind == FieldKind::Label) {
      DLC_TRY(checkClasses(data, i, count, /*ignored=*/0, concat("output '", output.name, "'")));
      return std::optional(Classes{count, i});
    }
  for (const EntryInfo &other : plan.entries)
    for (const ValueInfo &input : other.inputs) {
      const bool isLabel = input.classes == count && input.type.shape.size() == 1;
      if (!isLabel || other.kind == DLC_ENTRY_INFER)
        continue;
      Classes classes{count, {}, input.ignored};
      for (size_t i = 0; i < fields.size(); ++i)
        if (fields[i].name == input.name && isWhole(fields[i].dtype) &&
            TensorType{fields[i].dtype, fields[i].shape, {}}.elementCount() == 1) {
          DLC_TRY(
              checkClasses(data, i, count, input.ignored, concat("output '", output.name, "'")));
          classes.labels = i;
        }
      return std::optional(classes);
    }
  return std::optional<Classes>();
}

/// Class with the largest score in one row of the first output.
std::pair<uint64_t, double> largest(const Tensor &output, uint64_t row, uint64_t classes) {
  const uint64_t size = dtypeSize(output.dtype);
  auto score = [&](uint64_t c) {
    return loadElement(output.dtype, output.bytes.data() + (row * classes + c) * size);
  };
  uint64_t best = 0;
  for (uint64_t c = 1; c < classes; ++c)
    if (score(c) > score(best))
      best = c;
  return {best, score(best)};
}

/// Prints what the model takes each sample for, and how often it is right.
class Predictions {
public:
  Predictions(const Dataset &data, const Classes &classes, bool json)
      : data(data), classes(classes), json(json) {}

  void print(uint32_t sample, uint64_t best, double score) {
    Json line = {{"sample", sample}, {"prediction", best}, {"score", score}};
    std::string text = printf("%u: %s (score %.3f", sample, classText(best).c_str(), score);
    if (!nameOf(best).empty())
      line["class"] = nameOf(best);
    ++seen;
    if (classes.labels) {
      const auto label = static_cast<int64_t>(
          loadElement(data.fields()[*classes.labels].dtype, data.sample(sample, *classes.labels)));
      const bool counts = classes.ignored == 0 || label != classes.ignored;
      counted += counts;
      right += counts && label == static_cast<int64_t>(best);
      line["label"] = label;
      text += concat(", label ", classText(label));
    }
    if (json)
      printJson(line);
    else
      std::printf("%s)\n", text.c_str());
  }

  void printSummary() const {
    const double accuracy =
        static_cast<double>(right) / std::max(1.0, static_cast<double>(counted));
    Json line = Json::object();
    std::string text;
    if (classes.labels) {
      line["accuracy"] = accuracy;
      text = metricsText({{"accuracy", {accuracy}}}) + "  ";
    }
    line["samples"] = seen;
    line["summary"] = true;
    if (json)
      printJson(line);
    else
      std::printf("%s%llu samples\n", text.c_str(), static_cast<unsigned long long>(seen));
  }

private:
  /// What the data call a class; empty where they do not.
  std::string nameOf(int64_t number) const {
    const std::vector<std::string> *names = data.classNames();
    const bool isNamed = names && number >= 0 && static_cast<uint64_t>(number) < names->size();
    return isNamed ? printable((*names)[number]) : std::string();
  }
  /// "3", or "3 'dog'".
  std::string classText(int64_t number) const {
    const std::string name = nameOf(number);
    return name.empty() ? std::to_string(number) : concat(number, " '", name, "'");
  }

  const Dataset &data;
  const Classes &classes;
  bool json;
  uint64_t seen = 0, counted = 0, right = 0;
};

Status printPredictions(const InferFlags &flags, Run &run, const EntryInfo &entry,
                        const std::shared_ptr<const Dataset> &data, const Classes &classes) {
  Predictions predictions(*data, classes, flags.json);
  auto print = [&](const PredictedBatch &batch) -> Status {
    DLC_TRY(checkFinite(entry, batch.outputs, batch.samples).in(data->name()));
    for (uint64_t i = 0; i < batch.samples.size(); ++i) {
      const auto [best, score] = largest(batch.outputs[0], i, classes.count);
      predictions.print(batch.samples[i], best, score);
    }
    return {};
  };
  DLC_TRY(run.predict(data, print, {.entry = flags.entry, .steps = flags.steps}));
  predictions.printSummary();
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
  DLC_TRY_ASSIGN(run, Run::open({.module = flags.module,
                                 .device = flags.device,
                                 .augment = flags.augment,
                                 .seed = flags.seed,
                                 .weights = flags.checkpoint,
                                 .log = printLine}));
  const Plan &plan = run->module()->plan();
  DLC_TRY_ASSIGN(entry, selectEntry(*run->module(), flags.entry, DLC_ENTRY_INFER));
  DLC_TRY_ASSIGN(data, openSamples(flags, *entry));
  std::optional<Classes> classes;
  if (flags.inputs.empty() && flags.save.empty()) {
    DLC_TRY_ASSIGN(found, findClasses(plan, *entry, *data));
    classes = found;
  }
  DLC_TRY(noteWeights(plan, flags.checkpoint, "predictions"));
  return classes ? printPredictions(flags, *run, *entry, data, *classes)
                 : writeOutputs(flags, *run, *entry, data);
}

} // namespace dlc::runtime::tool
