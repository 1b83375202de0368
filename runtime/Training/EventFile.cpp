// Events by protozero, which writes fields by their numbers.
#include "runtime/Training/EventFile.h"
#include "runtime/Core/Crc32c.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Training/ReportLines.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <protozero/pbf_writer.hpp>
#include <unistd.h>

namespace dlc::runtime {
namespace {

using protozero::pbf_writer;
using Json = nlohmann::ordered_json;

/// The numbers of fields that are written here.
enum Event : protozero::pbf_tag_type { WallTime = 1, Step = 2, FileVersion = 3, Summary = 5 };
constexpr protozero::pbf_tag_type summaryValue = 1;
enum Value : protozero::pbf_tag_type {
  Tag = 1,
  SimpleValue = 2,
  ImageValue = 4,
  Histogram = 5,
  TensorValue = 8,
  Metadata = 9
};
enum HistogramField : protozero::pbf_tag_type {
  Min = 1,
  Max = 2,
  Number = 3,
  Sum = 4,
  SumOfSquares = 5,
  BucketLimit = 6,
  Bucket = 7
};
enum ImageField : protozero::pbf_tag_type { Height = 1, Width = 2, Colours = 3, Encoded = 4 };
enum TensorField : protozero::pbf_tag_type { Dtype = 1, StringValue = 8 };
constexpr protozero::pbf_tag_type pluginData = 1, pluginName = 1;
constexpr int32_t dtypeString = 7;

std::string littleEndian(uint64_t number, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i)
    text += static_cast<char>(number >> 8 * i & 0xFF);
  return text;
}

std::string maskedChecksum(std::string_view data) {
  const uint32_t sum = crc32c(std::as_bytes(std::span(data)));
  return littleEndian(((sum >> 15) | (sum << 17)) + 0xA282EAD8u, 4);
}

/// An event around `fill`'s fields.
template <typename Fill> std::string eventOf(uint64_t step, const Fill &fill) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  pbf_writer writer(event);
  writer.add_double(WallTime, now.count());
  writer.add_int64(Step, static_cast<int64_t>(step));
  fill(writer);
  return event;
}

void addNumber(pbf_writer &summary, const std::string &tag, double number) {
  pbf_writer value(summary, summaryValue);
  value.add_string(Tag, tag);
  value.add_float(SimpleValue, static_cast<float>(number));
}

/// A text as the plugin for texts takes it: a tensor without axes of one string, Markdown.
void addText(pbf_writer &summary, const std::string &tag, const std::string &text) {
  pbf_writer value(summary, summaryValue);
  value.add_string(Tag, tag);
  {
    pbf_writer tensor(value, TensorValue);
    tensor.add_int32(Dtype, dtypeString);
    tensor.add_bytes(StringValue, text);
  }
  pbf_writer metadata(value, Metadata);
  pbf_writer plugin(metadata, pluginData);
  plugin.add_string(pluginName, "text");
}

/// What was compiled, and a table of its variables.
std::string describeModel(const Module &module) {
  const Plan &plan = module.plan();
  std::string text = concat("# ", plan.model, "\n\n", plan.documentation, "\n\n",
                            "| variable | type | role |\n|---|---|---|\n");
  for (const VariableInfo &variable : plan.variables)
    text += concat("| ", variable.name, " | ", variable.type.str(), " | ", roleName(variable.role),
                   " |\n");
  return text;
}

} // namespace

std::string recordOf(std::string_view data) {
  const std::string length = littleEndian(data.size(), 8);
  return concat(length, maskedChecksum(length), data, maskedChecksum(data));
}

std::string histogramOf(std::span<const double> elements) {
  constexpr size_t most = 64;
  const auto [least, greatest] = std::ranges::minmax_element(elements);
  const double low = elements.empty() ? 0 : *least, high = elements.empty() ? 0 : *greatest;
  const size_t classes = low < high ? most : 1;
  const double width = (high - low) / static_cast<double>(classes);
  std::vector<double> limits, counts(classes);
  for (size_t i = 1; i < classes; ++i)
    limits.push_back(low + width * static_cast<double>(i));
  limits.push_back(high);
  double sum = 0, squares = 0;
  for (const double element : elements) {
    // Each counts below the first limit that it does not exceed.
    const auto place = std::ranges::lower_bound(limits, element);
    ++counts[std::min<size_t>(static_cast<size_t>(place - limits.begin()), classes - 1)];
    sum += element;
    squares += element * element;
  }
  std::string histogram;
  pbf_writer writer(histogram);
  writer.add_double(Min, low);
  writer.add_double(Max, high);
  writer.add_double(Number, static_cast<double>(elements.size()));
  writer.add_double(Sum, sum);
  writer.add_double(SumOfSquares, squares);
  writer.add_packed_double(BucketLimit, limits.begin(), limits.end());
  writer.add_packed_double(Bucket, counts.begin(), counts.end());
  return histogram;
}

Result<std::unique_ptr<EventFile>>
EventFile::open(Options options, std::shared_ptr<const State> state, uint64_t step) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error)
    return failure(StatusCode::Io, options.folder, ": cannot make the folder: ", error.message());
  char host[256] = "";
  (void)gethostname(host, sizeof(host) - 1);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  // Of this process' files.
  static std::atomic<unsigned> next = 0;
  const std::string path = concat(options.folder, "/events.out.tfevents.", seconds.count(), ".",
                                  host, ".", getpid(), ".", next++);
  DLC_TRY_ASSIGN(file, LineWriter::open(path, /*append=*/false));
  std::unique_ptr<EventFile> events(
      new EventFile(std::move(options), std::move(state), std::move(file)));
  DLC_TRY(events->write(
      eventOf(0, [](pbf_writer &event) { event.add_string(FileVersion, "brain.Event:2"); })));
  DLC_TRY(events->write(eventOf(step, [&](pbf_writer &event) {
    pbf_writer summary(event, Summary);
    addText(summary, "model", describeModel(*events->state->module()));
  })));
  return events;
}

Status EventFile::write(const std::string &event) {
  const std::string record = recordOf(event);
  return file.append(std::as_bytes(std::span(record)));
}

void EventFile::hear(const Status &written) {
  if (written.ok())
    return;
  hasFailed = true;
  options.failed(written);
}

/// The numbers of a report, those of an object in it by its name, and tests in a group of theirs.
void EventFile::addNumbers(const std::string &group, const Json &line, uint64_t step) {
  if (hasFailed)
    return;
  constexpr std::string_view test = "test_";
  hear(write(eventOf(step, [&](pbf_writer &event) {
    pbf_writer summary(event, Summary);
    for (const auto &[name, value] : line.items()) {
      if (name == "step" || name == "epoch")
        continue;
      if (value.is_number())
        addNumber(summary,
                  name.starts_with(test) ? concat("test/", name.substr(test.size()))
                                         : concat(group, "/", name),
                  value.get<double>());
      if (value.is_object())
        for (const auto &[inner, number] : value.items())
          if (number.is_number())
            addNumber(summary, concat(name, "/", inner), number.get<double>());
    }
  })));
}

Status EventFile::addHistograms(uint64_t step) {
  const std::vector<VariableInfo> &variables = state->module()->plan().variables;
  std::vector<std::byte> content;
  std::vector<double> elements;
  for (size_t i = 0; i < variables.size(); ++i) {
    const VariableInfo &variable = variables[i];
    if (variable.role != DLC_ROLE_PARAMETER)
      continue;
    content.resize(variable.type.logicalBytes());
    DLC_TRY(state->read(i, content));
    elements.clear();
    for (uint64_t at = 0; at < content.size(); at += dtypeSize(variable.type.dtype))
      elements.push_back(loadElement(variable.type.dtype, &content[at]));
    DLC_TRY(write(eventOf(step, [&](pbf_writer &event) {
      pbf_writer summary(event, Summary);
      pbf_writer value(summary, summaryValue);
      value.add_string(Tag, concat("weights/", variable.name));
      value.add_message(Histogram, histogramOf(elements));
    })));
  }
  return {};
}

void EventFile::addPicture(const std::string &tag, const Picture &picture,
                           std::span<const std::byte> png, uint64_t step) {
  hear(write(eventOf(step, [&](pbf_writer &event) {
    pbf_writer summary(event, Summary);
    pbf_writer value(summary, summaryValue);
    value.add_string(Tag, tag);
    pbf_writer image(value, ImageValue);
    image.add_int32(Height, static_cast<int32_t>(picture.height));
    image.add_int32(Width, static_cast<int32_t>(picture.width));
    image.add_int32(Colours, static_cast<int32_t>(picture.channels));
    image.add_bytes(Encoded, reinterpret_cast<const char *>(png.data()), png.size());
  })));
}

void EventFile::onStep(const StepReport &report) {
  addNumbers("step", describe(report), report.progress.step);
}

void EventFile::onEvaluation(const EvaluationReport &report) {
  addNumbers("test", describe(report, options.averaged), report.progress.step);
}

void EventFile::onEpoch(const EpochReport &report) {
  Json line = describe(report, options.averaged);
  line.erase("learning_rates"); // The last step had them.
  addNumbers("epoch", line, report.progress.step);
  const bool ended = report.progress.position == 0;
  if (!hasFailed && options.histograms != 0 && ended &&
      report.progress.epoch % options.histograms == 0)
    hear(addHistograms(report.progress.step));
}

} // namespace dlc::runtime
