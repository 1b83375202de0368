// dlc-run infer: outputs for samples, or what the model takes each of them for.
//
// Samples are read as those of training are, from arrays or from test data, and run batch by batch,
// the last one padded. Where an input counts no samples there is one run, of arrays that are as
// the entry takes them.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayDataset.h"
#include "runtime/Data/ArrayFile.h"
#include "runtime/Data/SampleShape.h"
#include "runtime/Training/Evaluate.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dlc::runtime::tool {
namespace {

// ---------------------------------------------------------------------------------------------
// Inputs

/// Arrays of which each is an input as it is: one sample.
class WholeArrays : public Dataset {
public:
  WholeArrays(std::string path, std::vector<StoredArray> arrays)
      : path(std::move(path)), arrays(std::move(arrays)) {
    for (const StoredArray &array : this->arrays)
      fieldList.push_back({.kind = FieldKind::Named,
                           .dtype = array.dtype,
                           .shape = array.shape,
                           .file = concat(this->path, ": '", array.name, "'"),
                           .name = array.name});
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return 1; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t, size_t field) const override {
    return arrays[field].bytes.data();
  }

private:
  std::string path;
  std::vector<StoredArray> arrays;
  std::vector<DatasetField> fieldList;
};

/// Where the inputs of an entry come from, batch by batch.
class Source {
public:
  static Result<std::unique_ptr<Source>> open(const InferFlags &flags, const EntryInfo &entry) {
    std::unique_ptr<Source> source(new Source(entry));
    DLC_TRY_ASSIGN(data, flags.inputs.empty() ? openDataset(flags.data, Split::Test)
                         : source->isWhole ? source->readWhole(flags.inputs)
                                           : openArrayDataset(flags.inputs, Split::Train, &entry));
    if (data->isSequence())
      return invalid(
          data->name(),
          ": infer reads no text; --inputs takes the numbers of its characters or words");
    DLC_TRY_ASSIGN(loader, BatchLoader::create(source->loaded, data));
    printNotes(loader->notes(/*keepPartial=*/true));
    source->data = std::move(data);
    source->loader = std::move(loader);
    return source;
  }

  const Dataset &dataset() const { return *data; }
  /// How many samples `batches` batches have.
  uint64_t samples(uint64_t batches) const {
    if (isWhole)
      return entry.batch;
    return data->size() / entry.batch < batches ? data->size() : entry.batch * batches;
  }

  Status begin() {
    return loader->start({.seed = {}, .epoch = 0, .firstBatch = 0, .keepPartial = true});
  }
  /// Binds the next batch and returns the numbers of its samples; nothing behind the last one.
  Result<std::optional<std::vector<uint32_t>>> bindNext(Context &context) {
    DLC_TRY_ASSIGN(batch, loader->next());
    if (!batch)
      return std::optional<std::vector<uint32_t>>();
    valid = isWhole ? static_cast<int32_t>(entry.batch) : batch->valid;
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      DLC_TRY(context.bind(i, i == entry.validInput ? std::as_bytes(std::span(&valid, 1))
                                                    : batch->inputs[i]));
    std::vector<uint32_t> numbers = batch->samples;
    if (isWhole) {
      numbers.resize(entry.batch);
      std::iota(numbers.begin(), numbers.end(), 0);
    }
    return std::optional(std::move(numbers));
  }

private:
  explicit Source(const EntryInfo &entry) : entry(entry), loaded(entry) {
    isWhole = entry.batch == 0;
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      isWhole |= i != entry.validInput && entry.inputs[i].batchAxis == DLC_NONE;
    if (!isWhole)
      return;
    loaded.batch = 1;
    for (ValueInfo &input : loaded.inputs) {
      input.type.shape.insert(input.type.shape.begin(), 1);
      input.batchAxis = 0;
    }
  }

  /// The arrays that the entry takes, each of exactly its input's shape.
  Result<std::shared_ptr<const Dataset>> readWhole(const std::string &path) const {
    auto find = [&](std::string_view name) {
      return std::ranges::find_if(entry.inputs,
                                  [&](const ValueInfo &input) { return input.name == name; });
    };
    DLC_TRY_ASSIGN(arrays, readArrays(path, [&](std::string_view name) {
                     return find(name) != entry.inputs.end();
                   }));
    if (arrays.empty())
      return invalid(path, ": none of its arrays is an input of entry '", entry.name, "'");
    for (const StoredArray &array : arrays)
      if (const ValueInfo &input = *find(array.name); array.shape != input.type.shape)
        return invalid(path, ": '", array.name, "' is ",
                       TensorType{array.dtype, array.shape, {}}.str(), ", entry '", entry.name,
                       "' expects ", input.type.str());
    return std::shared_ptr<const Dataset>(std::make_shared<WholeArrays>(path, std::move(arrays)));
  }

  const EntryInfo &entry;
  /// As the loader sees it: where one run takes whole arrays, an entry of one sample.
  EntryInfo loaded;
  bool isWhole;
  std::shared_ptr<const Dataset> data;
  std::unique_ptr<BatchLoader> loader;
  int32_t valid = 0;
};

// ---------------------------------------------------------------------------------------------
// Outputs as they are

/// The outputs of many runs, put together along the axes that count samples.
class Outputs {
public:
  Outputs(const EntryInfo &entry, uint64_t samples) : entry(entry) {
    for (const ValueInfo &output : entry.outputs) {
      std::vector<uint64_t> shape = output.type.shape;
      if (countsSamples(entry, output))
        shape[output.batchAxis] = samples;
      tensors.push_back(makeTensor(output.name, output.type.dtype, std::move(shape)));
    }
  }

  /// Of a run whose `count` samples are number `first` and those behind it.
  Status add(const Context &context, uint64_t first, uint64_t count) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      DLC_TRY_ASSIGN(run, readOutput(context, i));
      HostTensor &all = tensors[i];
      if (!countsSamples(entry, entry.outputs[i])) {
        all.bytes = std::move(run.bytes);
        continue;
      }
      const ValueInfo &output = entry.outputs[i];
      const uint64_t row = elementsTogether(output) * dtypeSize(output.type.dtype),
                     samples = all.type.shape[output.batchAxis];
      for (uint64_t outer = 0; outer < run.bytes.size() / (entry.batch * row); ++outer)
        std::memcpy(all.bytes.data() + (outer * samples + first) * row,
                    run.bytes.data() + outer * entry.batch * row, count * row);
    }
    return {};
  }

  const std::vector<HostTensor> &all() const { return tensors; }
  void print(bool json) const;
  /// Fails with the first sample of the first output that is not finite.
  Status check() const;

private:
  const EntryInfo &entry;
  std::vector<HostTensor> tensors;
};

Status Outputs::check() const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorType &type = tensors[i].type;
    const auto found = findNotFinite(type.dtype, tensors[i].bytes);
    if (!found)
      continue;
    std::string where;
    if (const ValueInfo &output = entry.outputs[i]; countsSamples(entry, output))
      where =
          concat("sample ", *found / elementsTogether(output) % type.shape[output.batchAxis], ": ");
    const std::byte *at = tensors[i].bytes.data() + *found * dtypeSize(type.dtype);
    return failure(StatusCode::Failed, where, "'", tensors[i].name, "' is ",
                   numberText(loadElement(type.dtype, at)));
  }
  return {};
}

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
Json nested(const TensorType &type, size_t axis, const std::byte *&at) {
  if (axis == type.shape.size()) {
    Json element = elementOf(type.dtype, at);
    at += dtypeSize(type.dtype);
    return element;
  }
  Json list = Json::array();
  for (uint64_t i = 0; i < type.shape[axis]; ++i)
    list.push_back(nested(type, axis + 1, at));
  return list;
}

/// A line for each sample; one for what counts none.
void printRows(const HostTensor &tensor, bool bySample) {
  std::printf("%s %s\n", tensor.name.c_str(), tensor.type.str().c_str());
  const std::byte *at = tensor.bytes.data();
  const uint64_t rows = bySample ? tensor.type.shape[0] : 1;
  for (uint64_t row = 0; row < rows; ++row)
    std::printf("  %s\n", nested(tensor.type, bySample ? 1 : 0, at).dump().c_str());
}

void Outputs::print(bool json) const {
  Json line = Json::object();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor &tensor = tensors[i];
    if (!json) {
      printRows(tensor, entry.outputs[i].batchAxis == 0 && !tensor.type.shape.empty());
      continue;
    }
    Json values = Json::array();
    const uint64_t size = dtypeSize(tensor.type.dtype);
    for (uint64_t at = 0; at < tensor.bytes.size(); at += size)
      values.push_back(elementOf(tensor.type.dtype, tensor.bytes.data() + at));
    line[tensor.name] = {{"shape", tensor.type.shape}, {"values", values}};
  }
  if (json)
    printJson(line);
}

Status writeOutputs(const InferFlags &flags, Context &context, Source &source) {
  const EntryInfo &entry = context.entry();
  Outputs outputs(entry, source.samples(flags.steps.value_or(UINT64_MAX)));
  const std::string &name = source.dataset().name();
  uint64_t first = 0;
  for (uint64_t run = 0; run < flags.steps.value_or(UINT64_MAX); ++run) {
    DLC_TRY_ASSIGN(batch, source.bindNext(context));
    if (!batch)
      break;
    Status ran = context.run();
    if (!ran.ok())
      return (first == 0 ? std::move(ran) : std::move(ran).in(concat("from sample ", first, " on")))
          .in(name);
    DLC_TRY(outputs.add(context, first, batch->size()));
    first += batch->size();
  }
  if (flags.save.empty())
    outputs.print(flags.json);
  else
    DLC_TRY(saveTensors(flags.save, outputs.all(), {{"entry", std::string(entry.name)}}));
  return outputs.check().in(name);
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

/// Prints what the model takes each sample for, and how often it is right.
class Predictions {
public:
  Predictions(const Dataset &data, const Classes &classes, bool json)
      : data(data), classes(classes), json(json) {}

  void print(uint32_t sample, uint64_t best, double score) {
    Json line = {{"sample", sample}, {"prediction", best}, {"score", score}};
    std::string text =
        printf("%u: %llu (score %.3f", sample, static_cast<unsigned long long>(best), score);
    ++seen;
    if (classes.labels) {
      const auto label = static_cast<int64_t>(
          loadElement(data.fields()[*classes.labels].dtype, data.sample(sample, *classes.labels)));
      const bool counts = classes.ignored == 0 || label != classes.ignored;
      counted += counts;
      right += counts && label == static_cast<int64_t>(best);
      line["label"] = label;
      text += concat(", label ", label);
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
  const Dataset &data;
  const Classes &classes;
  bool json;
  uint64_t seen = 0, counted = 0, right = 0;
};

Status predict(const InferFlags &flags, Context &context, Source &source, const Classes &classes) {
  Predictions predictions(source.dataset(), classes, flags.json);
  for (uint64_t run = 0; run < flags.steps.value_or(UINT64_MAX); ++run) {
    DLC_TRY_ASSIGN(batch, source.bindNext(context));
    if (!batch)
      break;
    DLC_TRY(context.run());
    DLC_TRY(checkResults(context, *batch, source.dataset().name()));
    DLC_TRY_ASSIGN(output, readOutput(context, 0));
    for (uint64_t i = 0; i < batch->size(); ++i) {
      const auto [best, score] = largest(output, i, classes.count);
      predictions.print((*batch)[i], best, score);
    }
  }
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
  DLC_TRY_ASSIGN(state, flags.createState());
  const Plan &plan = state->module()->plan();
  DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), flags.entry, DLC_ENTRY_INFER));
  DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
  DLC_TRY_ASSIGN(source, Source::open(flags, *entry));
  std::optional<Classes> classes;
  if (flags.inputs.empty() && flags.save.empty()) {
    DLC_TRY_ASSIGN(found, findClasses(plan, *entry, source->dataset()));
    classes = found;
  }
  DLC_TRY(loadWeights(*state, flags.checkpoint, "predictions"));
  DLC_TRY(source->begin());
  return classes ? predict(flags, *context, *source, *classes)
                 : writeOutputs(flags, *context, *source);
}

} // namespace dlc::runtime::tool
