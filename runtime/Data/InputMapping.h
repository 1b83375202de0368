// Which field of a dataset feeds which input of an entry, and how: images go to the float or u8
// input of rank two or more, labels to the i32 or i64 input of one number a sample, named arrays to
// the input of their name. Numbers of classes make one-hot rows for an input of floats [N,
// classes]: labels where the images have another input and no input takes numbers. Shapes must be
// equal but for axes of extent 1, or one of them flat (SampleShape.h); samples may lie along any
// axis of an input. Pictures, and images that transforms give another size, go to inputs [N,
// planes, height, width] of as many planes. Sequences go to i32 inputs of rank two, [steps, N] or
// [N, steps]: the first takes the text, the second what follows each number of it.
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
  /// Elements of a sample that lie together in the input: all where its first axis counts samples.
  uint64_t together;
  /// What a number stands for that is larger than this one.
  int32_t lastClass = INT32_MAX;
  /// A sample is the number of a class, its elements 1 for that one and 0 for the others.
  bool oneHot = false;

  bool samplesFirst() const { return together == elements; }
  /// Where in the input an element of sample `row` of a batch lies, if it begins a run of those
  /// that lie together.
  uint64_t placeOf(uint64_t element, uint64_t row, uint64_t batch) const {
    return (element / together * batch + row) * together + element % together;
  }
};

struct InputMapping {
  std::vector<MappedInput> inputs;
  /// What the user should know though nothing is wrong: flat samples, arrays that are not used.
  std::vector<std::string> notes;
};

/// Fails, with the shapes of both sides, if an input finds no field or one of another shape, and
/// with the sample if one in memory has a number that the input cannot hold or that is none of its
/// classes. `anySize`: images may be of another size than the input's.
Result<InputMapping> mapInputs(const EntryInfo &entry, const Dataset &dataset,
                               bool anySize = false);

/// Fails with the first sample in memory whose number in a field is no class: below 0 or not below
/// `classes`, and not `ignored` (0, which is a class, for none). `of` says what has these classes:
/// "input 'label'".
Status checkClasses(const Dataset &dataset, size_t field, uint64_t classes, int64_t ignored,
                    std::string_view of);

/// Fails as mapInputs() does if a sample of a dataset that is not in memory, `from`, has a number
/// that the input cannot hold or that is none of its classes.
Status checkSample(const DatasetField &field, const MappedInput &mapped, const ValueInfo &input,
                   uint64_t sample, const std::byte *from);

/// Converts one sample: u8 to floats in [0, 1], other types by their values, classes to one-hot
/// rows.
void convertSample(const MappedInput &mapped, const std::byte *from, std::byte *to);
/// Copies one number of a sequence, a u8 or an i32, to an i32.
void convertNumber(const MappedInput &mapped, const std::byte *from, std::byte *to);

} // namespace dlc::runtime

#endif
