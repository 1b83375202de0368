// Matching arrays with inputs and outputs, and runs batch by batch.
#include "runtime/Training/Predictor.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleShape.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {

template <typename Described> static TensorType typeOf(const Described &array) {
  return {array.dtype, array.shape, {}};
}

/// Fails unless an array, of `samples` samples or as many as the entry takes, is what an input
/// takes.
static Status checkInput(const EntryInfo &entry, const ValueInfo &input, const Array &found,
                         std::optional<uint64_t> samples = {}) {
  if (found.dtype == input.type.dtype && found.shape == input.type.shape && !samples)
    return {};
  TensorType expected = input.type;
  // Samples are not counted by the first axis of each input: others must have all axes in place.
  const bool bySample = input.batchAxis == 0 && !found.shape.empty();
  if (bySample && samples)
    expected.shape[0] = *samples;
  const std::span whole(found.shape), sample = bySample ? whole.subspan(1) : whole;
  const bool fits = bySample ? found.shape[0] == expected.shape[0] &&
                                   fitShapes(sample, sampleShape(input)) != ShapeFit::None
                             : found.shape == expected.shape;
  if (found.dtype == expected.dtype && fits)
    return {};
  return invalid("array '", input.name, "' is ", typeOf(found).str(), ", entry '", entry.name,
                 "' expects ", expected.str(), bySample ? shapeAdvice(sample, input) : "");
}

static std::string namesOf(const std::vector<ValueInfo> &values, uint32_t leftOut) {
  std::string names;
  for (size_t i = 0; i < values.size(); ++i)
    if (i != leftOut && !values[i].isFetched())
      addItem(names, values[i].name);
  return names;
}

/// Finds the array for each input, by number; null for the count of valid samples.
static Status findArrays(const EntryInfo &entry, std::span<const Array> arrays,
                         std::vector<const Array *> &found) {
  found.assign(entry.inputs.size(), nullptr);
  for (const Array &array : arrays) {
    size_t i = 0;
    while (i < found.size() && (i == entry.validInput || entry.inputs[i].name != array.name))
      ++i;
    if (i == found.size())
      return invalid("entry '", entry.name, "' has no input '", excerpt(array.name),
                     "'; there are: ", namesOf(entry.inputs, entry.validInput));
    if (found[i])
      return invalid("there are two arrays '", array.name, "'");
    if (!array.data && typeOf(array).elementCount() != 0)
      return invalid("array '", array.name, "' has no data");
    found[i] = &array;
  }
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i] && i != entry.validInput)
      return invalid("entry '", entry.name, "': no array '", entry.inputs[i].name, "', the input ",
                     entry.inputs[i].type.str());
  return {};
}

Result<const Batch &> ArrayBatches::take(std::span<const Array> arrays) {
  DLC_TRY(findArrays(entry, arrays, found));
  batch.valid = static_cast<int32_t>(entry.batch);
  batch.inputs.resize(found.size());
  batch.places.resize(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i])
      continue;
    const ValueInfo &input = entry.inputs[i];
    DLC_TRY(checkInput(entry, input, *found[i]));
    batch.inputs[i] = {static_cast<const std::byte *>(found[i]->data), input.type.logicalBytes()};
    batch.places[i] = found[i]->place;
  }
  return batch;
}

Result<std::unique_ptr<Predictor>> Predictor::create(std::shared_ptr<State> state,
                                                     std::string_view entry) {
  DLC_TRY_ASSIGN(context, Context::create(std::move(state), entry));
  return std::unique_ptr<Predictor>(new Predictor(std::move(context)));
}

Predictor::Predictor(std::unique_ptr<Context> made)
    : context(std::move(made)), entry(context->entry()), reader(*context),
      bySample(entry.batch != 0), padded(entry.inputs.size()), paddedThere(entry.inputs.size()) {
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    bySample = bySample && (i == entry.validInput || entry.inputs[i].batchAxis == 0);
}

Result<Predictor::Given> Predictor::match(std::span<const Array> arrays) const {
  std::vector<const Array *> found;
  DLC_TRY(findArrays(entry, arrays, found));
  Given given{{}, entry.batch};
  const auto first = std::ranges::find_if(found, [](const Array *array) { return array; });
  if (bySample && first != found.end() && !(*first)->shape.empty())
    given.samples = (*first)->shape[0];
  if (bySample && given.samples == 0)
    return invalid("array '", (*first)->name, "' has no samples");
  for (size_t i = 0; i < found.size(); ++i) {
    const ValueInfo &input = entry.inputs[i];
    given.inputs.emplace_back();
    if (!found[i])
      continue;
    given.inputs.back() = {static_cast<const std::byte *>(found[i]->data),
                           resolved(found[i]->place)};
    DLC_TRY_IN(device().checkPlace(found[i]->data, found[i]->place), "array '", input.name, "'");
    DLC_TRY(checkInput(entry, input, *found[i],
                       bySample ? std::optional(given.samples) : std::nullopt));
  }
  return given;
}

Result<std::vector<Tensor>> Predictor::run(std::span<const Array> inputs) {
  DLC_TRY_ASSIGN(given, match(inputs));
  std::vector<Tensor> tensors = reader.tensors(given.samples);
  std::vector<Target> places;
  for (size_t next = 0; const ValueInfo &output : entry.outputs)
    places.push_back({output.isFetched() ? nullptr : tensors[next++].bytes.data()});
  DLC_TRY(runAll(given, places));
  return tensors;
}

Status Predictor::run(std::span<const Array> inputs, std::span<const OutputArray> outputs) {
  DLC_TRY_ASSIGN(given, match(inputs));
  std::vector<Target> places(entry.outputs.size());
  for (const OutputArray &array : outputs) {
    const int index = context->findOutput(array.name);
    if (index < 0)
      return invalid("entry '", entry.name, "' has no output '", excerpt(array.name),
                     "'; there are: ", namesOf(entry.outputs, DLC_NONE));
    const auto number = static_cast<size_t>(index);
    const TensorType found = typeOf(array),
                     expected = reader.typeOf(entry.outputs[number], given.samples);
    if (found.dtype != expected.dtype || found.shape != expected.shape)
      return invalid("array '", array.name, "' is ", found.str(), ", entry '", entry.name,
                     "' yields ", expected.str());
    if (!array.data)
      return invalid("array '", array.name, "' has no data");
    DLC_TRY_IN(device().checkPlace(array.data, array.place), "array '", array.name, "'");
    places[number] = {static_cast<std::byte *>(array.data), resolved(array.place)};
  }
  return runAll(given, places);
}

Status Predictor::runAll(const Given &given, std::span<const Target> outputs) {
  const uint64_t batch = bySample ? entry.batch : given.samples;
  uint64_t first = 0;
  do {
    const uint64_t count = std::min(batch, given.samples - first);
    DLC_TRY(bind(given, first, count));
    DLC_TRY(context->run());
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].data)
        DLC_TRY(reader.read(i, {first, count, given.samples}, outputs[i].data, outputs[i].place));
    first += count;
  } while (first < given.samples);
  return {};
}

/// Whole batches are read where they lie.
Status Predictor::bind(const Given &given, uint64_t first, uint64_t count) {
  valid = static_cast<int32_t>(count);
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput) {
      DLC_TRY(context->bind(i, std::as_bytes(std::span(&valid, 1))));
      continue;
    }
    const Source &input = given.inputs[i];
    const uint64_t bytes = entry.inputs[i].type.logicalBytes();
    if (!bySample || count == entry.batch) {
      const uint64_t begin = bySample ? first * (bytes / entry.batch) : 0;
      DLC_TRY(context->bind(i, {input.data + begin, bytes}, input.place));
      continue;
    }
    const uint64_t row = bytes / entry.batch;
    const std::span samples(input.data + first * row, count * row);
    DLC_TRY_ASSIGN(block,
                   input.place == Place::Host ? padOnHost(i, samples) : padOnDevice(i, samples));
    DLC_TRY(context->bind(i, {block, bytes}, input.place));
  }
  return {};
}

/// The last samples as a batch, with zeros behind them.
Result<const std::byte *> Predictor::padOnHost(size_t input, std::span<const std::byte> samples) {
  const uint64_t bytes = entry.inputs[input].type.logicalBytes();
  HostMemory &memory = padded[input];
  if (!memory && bytes != 0 && !(memory = HostMemory::allocate(bytes)))
    return failure(StatusCode::OutOfMemory, "no memory for ", bytes, " bytes of input '",
                   entry.inputs[input].name, "'");
  std::memcpy(memory.data(), samples.data(), samples.size());
  std::memset(memory.data() + samples.size(), 0, bytes - samples.size());
  return static_cast<const std::byte *>(memory.data());
}

/// Zero when new, so only what more samples have left is made zero again. It is staging memory, as
/// what the context copies it to.
Result<const std::byte *> Predictor::padOnDevice(size_t input, std::span<const std::byte> samples) {
  auto &[memory, used] = paddedThere[input];
  if (!memory) {
    DLC_TRY_ASSIGN(made, device().allocateStaging(entry.inputs[input].type.logicalBytes()));
    memory = std::move(made);
  }
  if (samples.size() < used)
    DLC_TRY(memory->write(samples.size(), std::vector<std::byte>(used - samples.size())));
  used = samples.size();
  DLC_TRY(
      inOrder(device(), context->state()->stream(), [&] { return memory->copyFrom(0, samples); }));
  return static_cast<const std::byte *>(memory->address());
}

} // namespace dlc::runtime
