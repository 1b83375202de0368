// What the parts of `dlc-run data` share.
#ifndef DLC_TOOLS_DLC_RUN_DATA_H
#define DLC_TOOLS_DLC_RUN_DATA_H

#include "dlc/module.h"
#include "runtime/Data/DatasetImages.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"

namespace dlc::runtime::tool {

/// One split of what is looked at.
struct OpenedData {
  Split split;
  std::shared_ptr<const Dataset> dataset = {};
  /// The module's and the entry that would read it; null without a module.
  std::shared_ptr<const Module> module = {};
  const EntryInfo *reader = nullptr;
  /// What --augment does to this split.
  TransformList transforms = {};

  std::string_view splitName() const { return split == Split::Train ? "train" : "test"; }
};

/// Opens the split of --split, by default that for training. Fails where a module cannot read it.
Result<OpenedData> openData(const DataFlags &flags, Split split);

/// The images of a split. Fails where there are none, or where --augment cannot be applied to them.
Result<DatasetImages> openImages(const OpenedData &data);

/// Threads of --workers, by default one for each core.
unsigned threadsOf(const DataFlags &flags);

/// Shows how far a walk over samples is, but for programs.
class WalkBar {
public:
  WalkBar(std::string title, uint64_t samples, bool json);
  /// Takes the bar away.
  ~WalkBar();
  WalkBar(const WalkBar &) = delete;
  void update(uint64_t done);

private:
  using Clock = ProgressLine::Clock;
  std::string title;
  uint64_t samples;
  bool json;
  ProgressLine line;
  Clock::time_point start = Clock::now();
};

/// Those of --split, by default all that there are.
std::vector<Split> splitsOf(const DataFlags &flags);

Status printSurvey(const DataFlags &flags);
Status printMeans(const DataFlags &flags);
Status writeSheet(const DataFlags &flags);
Status printSpeed(const DataFlags &flags);
/// Fails if --convert does not name a format and a folder.
Status checkConvert(const DataFlags &flags);
Status convertData(const DataFlags &flags);

} // namespace dlc::runtime::tool

#endif
