// dlc-run data: looks at data before they are trained on. Here it is opened; DataSurvey.cpp says
// what is there, DataImages.cpp shows and measures images, DataSpeed.cpp times how they
// are read, DataConvert.cpp packs them.
#include "runtime/Core/Processors.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Exec/Entries.h"
#include "tools/dlc-run/Data.h"

namespace dlc::runtime::tool {

WalkBar::WalkBar(std::string title, uint64_t samples, bool json)
    : title(std::move(title)), samples(samples), json(json),
      line(/*plain=*/false, /*pause=*/std::chrono::seconds(10)) {}

WalkBar::~WalkBar() {
  if (!json)
    line.clear();
}

void WalkBar::update(uint64_t done) {
  if (json || done == 0 || done >= samples)
    return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double rate = static_cast<double>(done) / seconds;
  line.update(title, done, samples, printf("%.0f samples/s", rate),
              static_cast<double>(samples - done) / rate);
}

unsigned threadsOf(const DataFlags &flags) {
  return flags.workers != 0 ? flags.workers : processors().threads();
}

/// The entry that a run reads the split with.
static Result<const EntryInfo *> readerOf(const Module &module, Split split) {
  const dlc_entry_kind first = split == Split::Train ? DLC_ENTRY_TRAIN : DLC_ENTRY_EVALUATE;
  for (const dlc_entry_kind kind : {first, DLC_ENTRY_INFER})
    if (const auto entry = selectEntry(module, "", kind); entry.ok())
      return *entry;
  return selectEntry(module, "", first);
}

Result<OpenedData> openData(const DataFlags &flags, Split split) {
  OpenedData data{split};
  if (!flags.module.empty()) {
    DLC_TRY_ASSIGN(module, Module::load(flags.module));
    DLC_TRY_ASSIGN(reader, readerOf(*module, split));
    data.module = std::move(module);
    data.reader = reader;
  }
  if (split == Split::Test && !testDataText(flags.data).empty() && !hasSplit(flags.data, split))
    return invalid(flags.data, ": no test data (", testDataText(flags.data), ")");
  DLC_TRY_ASSIGN(dataset, openDataset(flags.data, split, data.reader));
  data.dataset = std::move(dataset);
  DLC_TRY_ASSIGN(augmentation, parseAugmentation(flags.augment));
  data.transforms =
      split == Split::Train ? std::move(augmentation.train) : std::move(augmentation.test);
  return data;
}

Result<DatasetImages> openImages(const OpenedData &data) {
  DLC_TRY_ASSIGN(images, imagesOf(data.dataset, data.reader));
  DLC_TRY(checkList(images, data.transforms));
  // What a run with these data would refuse.
  if (data.reader)
    DLC_TRY(BatchLoader::create(*data.reader, data.dataset, {}, {}, data.transforms).takeStatus());
  return images;
}

std::vector<Split> splitsOf(const DataFlags &flags) {
  if (!flags.split.empty())
    return {flags.split == "test" ? Split::Test : Split::Train};
  if (!hasSplit(flags.data, Split::Test))
    return {Split::Train};
  if (!hasSplit(flags.data, Split::Train))
    return {Split::Test};
  return {Split::Train, Split::Test};
}

Status checkData(const DataFlags &flags) {
  const bool converts = !flags.convert.empty();
  const int wanted = flags.means + !flags.sheet.empty() + flags.speed + converts;
  if (wanted > 1)
    return invalid("expected one of --means, --sheet, --speed and --convert");
  if (flags.all && wanted != 0)
    return invalid("--all is for what is said of data without --means, --sheet, --speed or "
                   "--convert");
  if (!flags.augment.empty() && (wanted == 0 || converts))
    return invalid("--augment is for --means, --sheet and --speed");
  if (!flags.module.empty() && converts)
    return invalid("--module has no part in --convert, which keeps data as they are");
  return converts ? checkConvert(flags) : Status();
}

Status lookAtData(const DataFlags &flags) {
  if (!flags.convert.empty())
    return convertData(flags);
  if (flags.means)
    return printMeans(flags);
  if (!flags.sheet.empty())
    return writeSheet(flags);
  return flags.speed ? printSpeed(flags) : printSurvey(flags);
}

} // namespace dlc::runtime::tool
