// Which field of a dataset feeds which input of an entry, and how: images go to the float or u8
// input of rank two or more, labels to the i32 input of rank one. Extents may be grouped
// differently as long as a sample has as many numbers.
#ifndef DLC_RUNTIME_DATA_INPUTMAPPING_H
#define DLC_RUNTIME_DATA_INPUTMAPPING_H

#include "dlc/plan.h"
#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One input of an entry that the dataset feeds.
struct MappedInput {
  size_t input, field;
  /// Of one sample.
  uint64_t elements;
  dlc_dtype from, to;
};

/// Fails with the shapes of both sides if an input finds no field, or the sizes differ, and with
/// the sample if one has a label that is no class of the input.
Result<std::vector<MappedInput>> mapInputs(const EntryInfo &entry, const Dataset &dataset);

/// Fails with the first sample whose number in a field is no class: below 0 or not below `classes`,
/// and not `ignored` (0, which is a class, for none). `of` says what has these classes: "input
/// 'label'".
Status checkClasses(const Dataset &dataset, size_t field, uint64_t classes, int64_t ignored,
                    std::string_view of);

/// Converts one sample: u8 images to floats in [0, 1], u8 labels to i32.
void convertSample(const MappedInput &mapped, const std::byte *from, std::byte *to);

} // namespace dlc::runtime

#endif
