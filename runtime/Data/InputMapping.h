// Which field of a dataset feeds which input of an entry, and how: images go to the float or u8
// input of rank two or more, labels to the i32 input of rank one, named arrays to the input of
// their name. Extents may be grouped differently as long as a sample has as many numbers. Sequences
// go to i32 inputs of rank two, [steps, N] or [N, steps]: the first takes the text, the second what
// follows each number of it.
#ifndef DLC_RUNTIME_DATA_INPUTMAPPING_H
#define DLC_RUNTIME_DATA_INPUTMAPPING_H

#include "dlc/plan.h"
#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One input of an entry that the dataset feeds.
struct MappedInput {
  size_t input, field;
  /// Of one sample; the steps that an input takes of a sequence.
  uint64_t elements;
  dlc_dtype from, to;
  /// The input's first axis counts samples, else the last one does.
  bool samplesFirst = true;
  /// What a number stands for that is larger than this one.
  int32_t lastClass = INT32_MAX;
};

/// Fails with the shapes of both sides if an input finds no field, or the sizes differ, and with
/// the sample if one has a label that is no class of the input.
Result<std::vector<MappedInput>> mapInputs(const EntryInfo &entry, const Dataset &dataset);

/// Fails with the first sample whose number in a field is no class: below 0 or not below `classes`,
/// and not `ignored` (0, which is a class, for none). `of` says what has these classes: "input
/// 'label'".
Status checkClasses(const Dataset &dataset, size_t field, uint64_t classes, int64_t ignored,
                    std::string_view of);

/// Converts one sample: u8 to f32 or f64 in [0, 1], other types by their values.
void convertSample(const MappedInput &mapped, const std::byte *from, std::byte *to);
/// Copies one number of a sequence, an i32.
void convertNumber(const MappedInput &mapped, const std::byte *from, std::byte *to);

} // namespace dlc::runtime

#endif
