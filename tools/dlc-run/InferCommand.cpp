// dlc-run infer: outputs for samples, or what the model takes each of them for.
//
// Samples are those of a file of inputs, or test data; Run::predict() runs them. Here it is said
// what they are, and shown what comes out.
#include "dlc/run.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
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
#include <cmath>
#include <cstring>
#include <optional>

namespace dlc::runtime::tool {
namespace {

Result<std::shared_ptr<const Dataset>> openSamples(const InferFlags &flags,
                                                   const EntryInfo &entry) {
  // Of arrays all are read: no input of the entry takes their labels.
  const EntryInfo *reader = followsReader(flags.data) ? &entry : nullptr;
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
/// an input of the model's, such as a label of its loss, that is one of as many classes, and who
/// asks for classes (`isSaid`): then it is an error where they cannot be.
Result<std::optional<Classes>> findClasses(const Plan &plan, const EntryInfo &entry,
                                           const Dataset &data, bool isSaid) {
  if (entry.outputs.empty())
    return std::optional<Classes>();
  const ValueInfo &output = entry.outputs[0];
  if (output.type.shape.size() != 2 || output.batchAxis != 0 || output.type.shape[1] == 0 ||
      isWhole(output.type.dtype)) {
    if (isSaid)
      return invalid("entry '", entry.name, "': output '", output.name, "' is ", output.type.str(),
                     ", expected floats [N, classes] for --top and --classes");
    return std::optional<Classes>();
  }
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
  return isSaid ? std::optional(Classes{count}) : std::optional<Classes>();
}

/// A class for a sample, and how sure the model is of it.
struct Guess {
  uint64_t number;
  double score, probability;
};

/// The classes of one row of the first output, the largest score first, of equal ones the first;
/// `count` of them. Scores that are probabilities, none below 0 and 1 together, stay so; of others
/// softmax makes them.
std::vector<Guess> bestOf(const Tensor &output, uint64_t row, uint64_t classes, uint64_t count) {
  const uint64_t size = dtypeSize(output.dtype);
  std::vector<Guess> all;
  double sum = 0, least = 0, most = 0, exponentials = 0;
  for (uint64_t c = 0; c < classes; ++c) {
    const double score =
        loadElement(output.dtype, output.bytes.data() + (row * classes + c) * size);
    all.push_back({c, score, score});
    sum += score;
    least = std::min(least, score);
    most = c == 0 ? score : std::max(most, score);
  }
  // What bf16 may lose.
  constexpr double mostOff = 0.02;
  if (least < 0 || std::fabs(sum - 1) > mostOff) {
    for (const Guess &guess : all)
      exponentials += std::exp(guess.score - most);
    for (Guess &guess : all)
      guess.probability = std::exp(guess.score - most) / exponentials;
  }
  const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(count, classes));
  std::partial_sort(all.begin(), end, all.end(), [](const Guess &a, const Guess &b) {
    return a.score > b.score || (a.score == b.score && a.number < b.number);
  });
  all.erase(end, all.end());
  return all;
}

/// A line for each class. Fails where they are not as many as there are classes.
Result<std::vector<std::string>> readClassNames(const std::string &path, uint64_t classes) {
  constexpr uint64_t mostBytes = uint64_t(1) << 26;
  DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
  std::string_view rest(reinterpret_cast<const char *>(content.data()), content.size());
  std::vector<std::string> names;
  while (!rest.empty()) {
    std::string_view line = takeLine(rest);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!isPrintableUtf8(line))
      return damaged(path, ":", names.size() + 1, ": '", excerpt(line), "' is no text in UTF-8");
    names.emplace_back(line);
  }
  if (names.size() != classes)
    return invalid(path, ": has ", names.size(), " lines, expected a name for each of ", classes,
                   " classes");
  return names;
}

/// A line of a CSV file, of cells that are quoted where they must be.
std::string csvLine(const std::vector<std::string> &cells) {
  std::string line;
  for (const std::string &cell : cells) {
    if (&cell != cells.data())
      line += ',';
    if (cell.find_first_of(",\"\r\n") == cell.npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell)
      line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

bool isCsv(const std::string &path) { return path.ends_with(".csv"); }

/// Says what the model takes each sample for, and how often it is right: in lines, as a table of
/// the best classes, as JSON, or in a CSV file.
class Predictions {
public:
  Predictions(const InferFlags &flags, const Dataset &data, const Classes &classes,
              const std::vector<std::string> *names)
      : flags(flags), data(data), classes(classes), names(names),
        shown(std::min(std::max<uint64_t>(flags.top, 1), classes.count)),
        hasNames(data.size() != 0 && !data.sampleName(0).empty()), table(headings()) {}

  /// With a file to write to.
  Status open() {
    if (!isCsv(flags.save))
      return {};
    DLC_TRY_ASSIGN(writer, FileWriter::create(flags.save));
    file.emplace(std::move(writer));
    return append(csvLine(headings()));
  }

  Status add(uint32_t sample, const std::vector<Guess> &best) {
    DLC_TRY_ASSIGN(label, labelOf(sample));
    ++seen;
    if (label) {
      const bool counts = classes.ignored == 0 || *label != classes.ignored;
      counted += counts;
      right += counts && *label == static_cast<int64_t>(best[0].number);
    }
    if (file)
      return append(csvLine(row(sample, best, label)));
    if (flags.json)
      printAsJson(sample, best, label);
    else if (flags.top != 0)
      table.add(row(sample, best, label));
    else
      printLine(sample, best[0], label);
    return {};
  }

  Status finish() {
    if (file)
      DLC_TRY(file->commit());
    if (!table.empty())
      table.print(0);
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
    if (flags.json)
      printJson(line);
    else
      std::printf("%s%llu samples\n", text.c_str(), static_cast<unsigned long long>(seen));
    return {};
  }

private:
  Status append(const std::string &text) { return file->append(std::as_bytes(std::span(text))); }

  Result<std::optional<int64_t>> labelOf(uint32_t sample) {
    if (!classes.labels)
      return std::optional<int64_t>();
    DLC_TRY_ASSIGN(at, sampleAt(data, sample, *classes.labels, room));
    return std::optional(
        static_cast<int64_t>(loadElement(data.fields()[*classes.labels].dtype, at)));
  }

  std::vector<std::string> headings() const {
    std::vector<std::string> all = {"sample"};
    if (hasNames)
      all.emplace_back("file");
    if (classes.labels)
      all.emplace_back("label");
    for (uint64_t place = 1; place <= shown; ++place) {
      const std::string number = shown == 1 ? "" : concat("_", place);
      all.push_back("class" + number);
      if (names)
        all.push_back("name" + number);
      all.push_back("probability" + number);
    }
    return all;
  }

  std::vector<std::string> row(uint32_t sample, const std::vector<Guess> &best,
                               std::optional<int64_t> label) const {
    std::vector<std::string> cells = {std::to_string(sample)};
    if (hasNames)
      cells.push_back(printable(data.sampleName(sample)));
    if (label)
      cells.push_back(std::to_string(*label));
    for (const Guess &guess : best) {
      cells.push_back(std::to_string(guess.number));
      if (names)
        cells.push_back(nameOf(static_cast<int64_t>(guess.number)));
      cells.push_back(file ? decimalText(guess.probability) : printf("%.4f", guess.probability));
    }
    return cells;
  }

  void printLine(uint32_t sample, const Guess &best, std::optional<int64_t> label) const {
    std::string text = printf("%u: ", sample);
    if (hasNames)
      text += printable(data.sampleName(sample)) + ": ";
    text += classText(static_cast<int64_t>(best.number)) + printf(" (score %.3f", best.score);
    if (label)
      text += ", label " + classText(*label);
    std::printf("%s)\n", text.c_str());
  }

  void printAsJson(uint32_t sample, const std::vector<Guess> &best,
                   std::optional<int64_t> label) const {
    Json line = {{"sample", sample}, {"prediction", best[0].number}, {"score", best[0].score}};
    if (hasNames)
      line["file"] = printable(data.sampleName(sample));
    if (const std::string name = nameOf(static_cast<int64_t>(best[0].number)); !name.empty())
      line["class"] = name;
    if (label)
      line["label"] = *label;
    if (flags.top != 0) {
      Json all = Json::array();
      for (const Guess &guess : best) {
        Json each = {{"class", guess.number}, {"probability", guess.probability}};
        if (const std::string name = nameOf(static_cast<int64_t>(guess.number)); !name.empty())
          each["name"] = name;
        all.push_back(std::move(each));
      }
      line["top"] = std::move(all);
    }
    printJson(line);
  }

  /// What a class is called; empty where nobody says it.
  std::string nameOf(int64_t number) const {
    const bool isNamed = names && number >= 0 && static_cast<uint64_t>(number) < names->size();
    return isNamed ? printable((*names)[number]) : std::string();
  }
  /// "3", or "3 'dog'".
  std::string classText(int64_t number) const {
    const std::string name = nameOf(number);
    return name.empty() ? std::to_string(number) : concat(number, " '", name, "'");
  }

  const InferFlags &flags;
  const Dataset &data;
  const Classes &classes;
  const std::vector<std::string> *names;
  /// Classes of each sample, and whether samples have names.
  uint64_t shown;
  bool hasNames;
  Table table;
  std::optional<FileWriter> file;
  std::vector<std::byte> room;
  uint64_t seen = 0, counted = 0, right = 0;
};

Status printPredictions(const InferFlags &flags, Run &run, const EntryInfo &entry,
                        const std::shared_ptr<const Dataset> &data, const Classes &classes) {
  std::vector<std::string> given;
  if (!flags.classes.empty()) {
    DLC_TRY_ASSIGN(read, readClassNames(flags.classes, classes.count));
    given = std::move(read);
  }
  Predictions predictions(flags, *data, classes, given.empty() ? data->classNames() : &given);
  DLC_TRY(predictions.open());
  auto hear = [&](const PredictedBatch &batch) -> Status {
    DLC_TRY(checkFinite(entry, batch.outputs, batch.samples).in(data->name()));
    for (uint64_t i = 0; i < batch.samples.size(); ++i)
      DLC_TRY(predictions.add(batch.samples[i], bestOf(batch.outputs[0], i, classes.count,
                                                       std::max<uint64_t>(flags.top, 1))));
    return {};
  };
  DLC_TRY(run.predict(data, hear, {.entry = flags.entry, .steps = flags.steps}));
  return predictions.finish();
}

// ---------------------------------------------------------------------------------------------
// Numbers as CSV

/// A row for each sample, with all numbers that the outputs have for it.
Status writeCsv(const InferFlags &flags, Run &run, const EntryInfo &entry,
                const std::shared_ptr<const Dataset> &data) {
  std::vector<std::string> headings = {"sample"};
  const bool hasNames = data->size() != 0 && !data->sampleName(0).empty();
  if (hasNames)
    headings.emplace_back("file");
  for (const ValueInfo &output : entry.outputs) {
    if (output.batchAxis != 0 || output.type.shape.empty())
      return invalid("--save: output '", output.name, "' is ", output.type.str(),
                     ", which has no row for each sample as CSV wants it");
    const uint64_t count = elementsTogether(output);
    for (uint64_t i = 0; i < count; ++i)
      headings.push_back(count == 1 ? std::string(output.name) : concat(output.name, "_", i));
  }
  DLC_TRY_ASSIGN(file, FileWriter::create(flags.save));
  auto append = [&](const std::vector<std::string> &cells) {
    const std::string line = csvLine(cells);
    return file.append(std::as_bytes(std::span(line)));
  };
  DLC_TRY(append(headings));
  uint64_t samples = 0;
  auto hear = [&](const PredictedBatch &batch) -> Status {
    DLC_TRY(checkFinite(entry, batch.outputs, batch.samples).in(data->name()));
    for (uint64_t row = 0; row < batch.samples.size(); ++row) {
      std::vector<std::string> cells = {std::to_string(batch.samples[row])};
      if (hasNames)
        cells.push_back(printable(data->sampleName(batch.samples[row])));
      for (const Tensor &tensor : batch.outputs) {
        const uint64_t bytes = tensor.bytes.size() / tensor.shape[0];
        for (uint64_t at = 0; at < bytes; at += dtypeSize(tensor.dtype))
          cells.push_back(elementOf(tensor.dtype, tensor.bytes.data() + row * bytes + at).dump());
      }
      DLC_TRY(append(cells));
    }
    samples += batch.samples.size();
    return {};
  };
  DLC_TRY(run.predict(data, hear, {.entry = flags.entry, .steps = flags.steps}));
  DLC_TRY(file.commit());
  if (flags.json)
    printJson({{"samples", samples}, {"summary", true}});
  else
    std::printf("%llu samples\n", static_cast<unsigned long long>(samples));
  return {};
}

Status checkSave(const InferFlags &flags) {
  std::vector<std::string> inputs = dataFiles(flags.data);
  inputs.insert(inputs.end(), {flags.module, flags.checkpoint, flags.inputs, flags.classes});
  return checkWritable(flags.save, inputs);
}

} // namespace

Status checkInfer(const InferFlags &flags) {
  const bool isSaid = flags.top != 0 || !flags.classes.empty();
  if (isSaid && !flags.save.empty() && !isCsv(flags.save))
    return invalid("--top and --classes are for what is printed, and for --save FILE.csv");
  return {};
}

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
  const bool isSaid = flags.top != 0 || !flags.classes.empty();
  std::optional<Classes> classes;
  if (isSaid || (flags.inputs.empty() && (flags.save.empty() || isCsv(flags.save)))) {
    DLC_TRY_ASSIGN(found, findClasses(plan, *entry, *data, isSaid));
    classes = found;
  }
  DLC_TRY(noteWeights(plan, flags.checkpoint, "predictions"));
  if (classes)
    return printPredictions(flags, *run, *entry, data, *classes);
  return isCsv(flags.save) ? writeCsv(flags, *run, *entry, data)
                           : writeOutputs(flags, *run, *entry, data);
}

} // namespace dlc::runtime::tool
