// Goes over a split of data to say what is in it.
#ifndef DLC_TOOLS_DLC_RUN_DATASURVEY_H
#define DLC_TOOLS_DLC_RUN_DATASURVEY_H

#include "runtime/Data/Dataset.h"

#include <map>

namespace dlc::runtime::tool {

/// Whether each sample has one whole number in a field, as labels are.
bool isOfLabels(const DatasetField &field);

/// How often each number stands in a field of one whole number a sample.
using LabelCounts = std::map<int64_t, uint64_t>;
using WalkProgress = std::function<void(uint64_t done)>;
Result<LabelCounts> countLabels(const Dataset &dataset, size_t field, unsigned threads,
                                const WalkProgress &progress);

/// Of pictures that were decoded.
struct PictureSurvey {
  /// How many were looked at, and how many of these cannot be decoded; why, of the first ones.
  uint64_t seen = 0, broken = 0;
  std::vector<std::string> reasons = {};
  /// Rows, columns and pixels of those that can, ascending.
  std::vector<uint64_t> heights = {}, widths = {}, pixels = {};
};

/// Decodes as many of the pictures of a field, evenly spaced; how many reasons are kept.
inline constexpr size_t mostReasons = 10;
Result<PictureSurvey> surveyPictures(const Dataset &dataset, size_t field, uint64_t count,
                                     unsigned threads, const WalkProgress &progress);

} // namespace dlc::runtime::tool

#endif
