// What is there: samples, fields, classes, sizes of pictures.
#include "tools/dlc-run/DataSurvey.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleWalk.h"
#include "tools/dlc-run/Data.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace dlc::runtime::tool {

bool isOfLabels(const DatasetField &field) {
  const bool isWanted = field.kind == FieldKind::Label || field.kind == FieldKind::Named;
  return isWanted && !field.pictures && isWhole(field.dtype) &&
         TensorType{field.dtype, field.shape, {}}.elementCount() == 1;
}

Result<LabelCounts> countLabels(const Dataset &dataset, size_t field, unsigned threads,
                                const WalkProgress &progress) {
  const dlc_dtype dtype = dataset.fields()[field].dtype;
  const SampleWalk walk = {
      .samples = dataset.size(), .blockSamples = 4096, .threads = threads, .progress = progress};
  std::vector<LabelCounts> counts(walk.mostThreads());
  DLC_TRY(walk.run([&](const SampleBlock &block) -> Status {
    std::vector<std::byte> room;
    for (uint64_t sample = block.begin; sample < block.end; ++sample) {
      DLC_TRY_ASSIGN(at, sampleAt(dataset, sample, field, room));
      ++counts[block.thread][static_cast<int64_t>(loadElement(dtype, at))];
    }
    return {};
  }));
  for (size_t thread = 1; thread < counts.size(); ++thread)
    for (const auto &[number, count] : counts[thread])
      counts[0][number] += count;
  return std::move(counts[0]);
}

Result<PictureSurvey> surveyPictures(const Dataset &dataset, size_t field, uint64_t count,
                                     unsigned threads, const WalkProgress &progress) {
  PictureSurvey survey = {.seen = std::min(count, dataset.size())};
  const SampleWalk walk = {
      .samples = survey.seen, .blockSamples = 4, .threads = threads, .progress = progress};
  std::mutex mutex;
  std::map<uint64_t, std::string> reasons;
  const PictureChooser whole = [](uint32_t height, uint32_t width) {
    return PictureRequest{{0, 0, double(height), double(width)}, height, width};
  };
  DLC_TRY(walk.run([&](const SampleBlock &block) -> Status {
    Picture picture;
    for (uint64_t i = block.begin; i < block.end; ++i) {
      const uint64_t sample = i * dataset.size() / survey.seen;
      Result<PictureRegion> region = dataset.readPicture(sample, field, whole, picture);
      const std::lock_guard lock(mutex);
      if (region.ok()) {
        survey.heights.push_back(picture.height);
        survey.widths.push_back(picture.width);
        survey.pixels.push_back(uint64_t(picture.height) * picture.width);
        continue;
      }
      ++survey.broken;
      reasons.emplace(sample, region.status().message());
      if (reasons.size() > mostReasons)
        reasons.erase(std::prev(reasons.end()));
    }
    return {};
  }));
  for (const auto &[sample, reason] : reasons)
    survey.reasons.push_back(reason);
  for (std::vector<uint64_t> *sizes : {&survey.heights, &survey.widths, &survey.pixels})
    std::ranges::sort(*sizes);
  return survey;
}

namespace {

std::string_view kindName(const DatasetField &field) {
  if (field.pictures)
    return "pictures";
  switch (field.kind) {
  case FieldKind::Image:
    return "images";
  case FieldKind::Label:
    return "labels";
  case FieldKind::Named:
    return "array";
  default:
    return "text";
  }
}

/// What an input of a model would be called that takes it.
std::string fieldName(const DatasetField &field) {
  switch (field.kind) {
  case FieldKind::Named:
    return printable(field.name);
  case FieldKind::Image:
    return "image";
  case FieldKind::Label:
    return "label";
  case FieldKind::Text:
    return "text";
  default:
    return "following text";
  }
}

/// "u8[3, height, width]"
std::string typeText(const DatasetField &field) {
  if (field.pictures)
    return concat(dtypeName(field.dtype), "[", field.shape[0], ", height, width]");
  return TensorType{field.dtype, field.shape, {}}.str();
}

/// Of all samples, which a file may claim any number of.
double bytesOf(const Dataset &dataset, const DatasetField &field) {
  return static_cast<double>(dataset.size()) * static_cast<double>(sampleBytes(field));
}

/// Classes beyond are no table for anyone.
constexpr size_t mostClasses = 10000;

/// What was found of a split.
struct Survey {
  const OpenedData &data;
  std::optional<PictureSurvey> pictures = {};
  /// Of each field of labels, by its number.
  std::map<size_t, LabelCounts> labels = {};
  /// The numbers of a text: the least and the largest.
  std::optional<std::pair<int64_t, int64_t>> text = {};
};

/// What a text is made of, and nothing of the text behind.
Result<std::pair<int64_t, int64_t>> rangeOfText(const Dataset &dataset) {
  const dlc_dtype dtype = dataset.fields()[0].dtype;
  std::vector<std::byte> room;
  std::pair<int64_t, int64_t> range = {INT64_MAX, INT64_MIN};
  for (uint64_t i = 0; i < dataset.size(); ++i) {
    DLC_TRY_ASSIGN(at, sampleAt(dataset, i, 0, room));
    const auto number = static_cast<int64_t>(loadElement(dtype, at));
    range = {std::min(range.first, number), std::max(range.second, number)};
  }
  return range;
}

Result<Survey> survey(const DataFlags &flags, const OpenedData &data) {
  Survey found{data};
  const Dataset &dataset = *data.dataset;
  const unsigned threads = threadsOf(flags);
  if (dataset.isSequence()) {
    DLC_TRY_ASSIGN(range, rangeOfText(dataset));
    found.text = range;
    return found;
  }
  for (size_t field = 0; field < dataset.fields().size(); ++field) {
    const DatasetField &each = dataset.fields()[field];
    if (isOfLabels(each)) {
      WalkBar bar(concat("labels of ", data.splitName()), dataset.size(), flags.json);
      DLC_TRY_ASSIGN(
          counts, countLabels(dataset, field, threads, [&](uint64_t done) { bar.update(done); }));
      found.labels[field] = std::move(counts);
    } else if (each.pictures && !found.pictures) {
      constexpr uint64_t few = 256;
      const uint64_t count = flags.all ? dataset.size() : few;
      WalkBar bar(concat("pictures of ", data.splitName()), count, flags.json);
      DLC_TRY_ASSIGN(pictures, surveyPictures(dataset, field, count, threads,
                                              [&](uint64_t done) { bar.update(done); }));
      found.pictures = std::move(pictures);
    }
  }
  return found;
}

// ---------------------------------------------------------------------------------------------
// As text

std::string placeText(const Dataset &dataset, size_t field) {
  const DatasetField &each = dataset.fields()[field];
  if (each.pictures)
    return "decoded when it is needed";
  return isInMemory(dataset, field) ? concat("in memory, ", bytesText(bytesOf(dataset, each)))
                                    : "read when it is needed";
}

void printPictures(const PictureSurvey &pictures, uint64_t samples) {
  std::printf("  %s of %s pictures were looked at", std::to_string(pictures.seen).c_str(),
              std::to_string(samples).c_str());
  std::puts(pictures.seen < samples ? "; --all looks at all" : "");
  if (!pictures.heights.empty()) {
    Table table({"", "least", "median", "most"});
    for (const auto &[name, sizes] : {std::pair{"height", &pictures.heights},
                                      {"width", &pictures.widths},
                                      {"pixels", &pictures.pixels}})
      table.add({name, std::to_string(sizes->front()),
                 std::to_string((*sizes)[(sizes->size() - 1) / 2]), std::to_string(sizes->back())});
    table.print(4);
  }
  if (pictures.broken == 0)
    return;
  std::printf("  %llu cannot be decoded:\n", static_cast<unsigned long long>(pictures.broken));
  for (const std::string &reason : pictures.reasons)
    std::printf("    %s\n", reason.c_str());
  if (pictures.broken > pictures.reasons.size())
    std::printf("    ... and %llu more\n",
                static_cast<unsigned long long>(pictures.broken - pictures.reasons.size()));
}

std::string_view nameOf(const std::vector<std::string> *names, int64_t number) {
  const bool isNamed = names && number >= 0 && static_cast<uint64_t>(number) < names->size();
  return isNamed ? std::string_view((*names)[number]) : std::string_view();
}

/// The numbers that samples have, and those that only a name says there are.
LabelCounts withNamed(LabelCounts counts, const std::vector<std::string> *names) {
  for (size_t number = 0; names && number < names->size(); ++number)
    counts.try_emplace(static_cast<int64_t>(number), 0);
  return counts;
}

void printLabels(const DatasetField &field, const LabelCounts &seen,
                 const std::vector<std::string> *names) {
  std::printf("  %s: numbers %lld to %lld, %zu of them occur\n", fieldName(field).c_str(),
              static_cast<long long>(seen.begin()->first),
              static_cast<long long>(seen.rbegin()->first), seen.size());
  const LabelCounts counts = withNamed(seen, names);
  if (counts.size() > mostClasses)
    return;
  uint64_t most = 0;
  for (const auto &[number, count] : counts)
    most = std::max(most, count);
  Table table(names ? std::vector<std::string>{"class", "name", "samples", ""}
                    : std::vector<std::string>{"class", "samples", ""});
  for (const auto &[number, count] : counts) {
    constexpr double barWidth = 32;
    const auto length = static_cast<size_t>(
        barWidth * static_cast<double>(count) / static_cast<double>(most) + 0.5);
    std::vector<std::string> row = {std::to_string(number)};
    if (names)
      row.push_back(printable(nameOf(names, number)));
    row.insert(row.end(), {std::to_string(count), std::string(length, '#')});
    table.add(std::move(row));
  }
  table.print(4);
}

void print(const Survey &found) {
  const Dataset &dataset = *found.data.dataset;
  std::printf("%s: %llu %s  %s\n", std::string(found.data.splitName()).c_str(),
              static_cast<unsigned long long>(dataset.size()),
              dataset.isSequence() ? "numbers of a text" : "samples",
              printable(dataset.name()).c_str());
  Table fields({"field", "kind", "of a sample", "where"});
  for (size_t i = 0; i < dataset.fields().size(); ++i) {
    const DatasetField &field = dataset.fields()[i];
    if (field.kind != FieldKind::FollowingText)
      fields.add(
          {fieldName(field), std::string(kindName(field)), typeText(field), placeText(dataset, i)});
  }
  fields.print();
  if (found.text)
    std::printf("  numbers %lld to %lld\n", static_cast<long long>(found.text->first),
                static_cast<long long>(found.text->second));
  if (found.pictures)
    printPictures(*found.pictures, dataset.size());
  for (const auto &[field, counts] : found.labels)
    printLabels(dataset.fields()[field], counts,
                dataset.fields()[field].kind == FieldKind::Label ? dataset.classNames() : nullptr);
}

// ---------------------------------------------------------------------------------------------
// For programs

Json jsonOf(const PictureSurvey &pictures) {
  Json object = {{"looked_at", pictures.seen}, {"broken", pictures.broken}};
  object["reasons"] = pictures.reasons;
  if (!pictures.heights.empty())
    for (const auto &[name, sizes] : {std::pair{"height", &pictures.heights},
                                      {"width", &pictures.widths},
                                      {"pixels", &pictures.pixels}})
      object[name] = {{"least", sizes->front()},
                      {"median", (*sizes)[(sizes->size() - 1) / 2]},
                      {"most", sizes->back()}};
  return object;
}

Json jsonOf(const LabelCounts &seen, const std::vector<std::string> *names) {
  Json object = {{"least", seen.begin()->first}, {"most", seen.rbegin()->first}};
  Json classes = Json::array();
  for (const auto &[number, count] : withNamed(seen, names)) {
    Json each = {{"class", number}, {"samples", count}};
    if (names)
      each["name"] = printable(nameOf(names, number));
    classes.push_back(std::move(each));
  }
  object["classes"] = std::move(classes);
  return object;
}

void printAsJson(const std::string &description, const Survey &found) {
  const Dataset &dataset = *found.data.dataset;
  Json line = {{"data", printable(description)},
               {"split", found.data.splitName()},
               {"samples", dataset.size()},
               {"sequence", dataset.isSequence()}};
  Json fields = Json::array();
  for (size_t i = 0; i < dataset.fields().size(); ++i) {
    const DatasetField &field = dataset.fields()[i];
    if (field.kind == FieldKind::FollowingText)
      continue;
    Json each = {{"name", fieldName(field)},
                 {"kind", kindName(field)},
                 {"dtype", dtypeName(field.dtype)},
                 {"shape", field.shape},
                 {"in_memory", isInMemory(dataset, i)}};
    if (!field.pictures)
      each["bytes"] = dataset.size() * sampleBytes(field);
    const bool isLabel = field.kind == FieldKind::Label;
    if (const auto counts = found.labels.find(i); counts != found.labels.end())
      each["labels"] = jsonOf(counts->second, isLabel ? dataset.classNames() : nullptr);
    if (found.text)
      each["numbers"] = {{"least", found.text->first}, {"most", found.text->second}};
    fields.push_back(std::move(each));
  }
  line["fields"] = std::move(fields);
  if (found.pictures)
    line["pictures"] = jsonOf(*found.pictures);
  printJson(line);
}

} // namespace

Status printSurvey(const DataFlags &flags) {
  for (const Split split : splitsOf(flags)) {
    DLC_TRY_ASSIGN(data, openData(flags, split));
    DLC_TRY_ASSIGN(found, survey(flags, data));
    if (flags.json)
      printAsJson(flags.data, found);
    else
      print(found);
  }
  return {};
}

} // namespace dlc::runtime::tool
