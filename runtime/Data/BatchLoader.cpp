// A ring of batches between the threads that fill it and one consumer.
#include "runtime/Data/BatchLoader.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"
#include "runtime/Data/Shuffle.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dlc::runtime {

Result<std::unique_ptr<BatchLoader>>
BatchLoader::create(const EntryInfo &entry, std::shared_ptr<const Dataset> dataset, Shard shard,
                    const LoadOptions &options, TransformList transforms, BatchMemory memory) {
  if (entry.batch == 0)
    return invalid("entry '", entry.name, "' has no batch axis to put samples on");
  if (dataset->size() >> 32)
    return invalid(dataset->name(), ": ", dataset->size(),
                   " samples are more than can be numbered");
  DLC_TRY_ASSIGN(mapping, mapInputs(entry, *dataset, transforms.setsSize()));
  if (dataset->isSequence() && mapping.inputs.empty())
    return invalid("entry '", entry.name, "' has no input for the text of ", dataset->name());
  std::unique_ptr<BatchLoader> loader(new BatchLoader(entry, std::move(dataset), std::move(mapping),
                                                      shard, options, std::move(transforms),
                                                      std::move(memory)));
  DLC_TRY(loader->checkTransforms());
  if (loader->dataset->isSequence() && loader->sequenceRounds() == 0)
    return invalid(loader->dataset->name(), ": ", loader->dataset->size() + 1,
                   " in a row are too few for a batch of ", entry.batch * shard.ranks, " rows of ",
                   loader->steps(), " steps");
  return loader;
}

/// More would only wait for each other.
static constexpr unsigned mostWorkers = 256, mostAhead = 1024;

/// Each has a batch of its own at work: where nobody says how many, no more than these have room.
static unsigned workersOf(const LoadOptions &options, bool inMemory, uint64_t batchBytes) {
  constexpr uint64_t mostBytes = uint64_t(1) << 31;
  const uint64_t fitting = std::max<uint64_t>(1, mostBytes / std::max<uint64_t>(1, batchBytes));
  const uint64_t wanted = options.workers != 0 ? options.workers
                          : inMemory
                              ? 1
                              : std::min<uint64_t>((processors().threads() + 1) / 2, fitting);
  return static_cast<unsigned>(std::min<uint64_t>(wanted, mostWorkers));
}

BatchLoader::BatchLoader(const EntryInfo &entry, std::shared_ptr<const Dataset> dataset,
                         InputMapping mapped, Shard shard, const LoadOptions &options,
                         TransformList transforms, BatchMemory memory)
    : entry(entry), dataset(std::move(dataset)), mapping(std::move(mapped.inputs)),
      mappingNotes(std::move(mapped.notes)), shard(shard), inMemory(isInMemory(*this->dataset)),
      mostBad(options.maxBadRecords), transforms(std::move(transforms)), memory(std::move(memory)) {
  uint64_t batchBytes = 0;
  for (const MappedInput &each : mapping)
    batchBytes += entry.inputs[each.input].type.logicalBytes();
  rooms.resize(workersOf(options, inMemory, batchBytes));
  for (const MappedInput &each : mapping)
    for (Room &room : rooms)
      if (!each.samplesFirst())
        room.unspread.resize(std::max(room.unspread.size(), each.elements * dtypeSize(each.to)));
  ring.resize(rooms.size() + std::clamp(options.ahead, 1u, mostAhead));
  for (Slot &slot : ring) {
    slot.blocks.resize(entry.inputs.size());
    slot.batch.samples.reserve(entry.batch);
    for (const MappedInput &mapped : mapping)
      slot.blocks[mapped.input] = allocate(entry.inputs[mapped.input].type.logicalBytes());
    slot.batch.inputs.assign(slot.blocks.begin(), slot.blocks.end());
  }
}

BatchLoader::~BatchLoader() { stop(); }

std::span<std::byte> BatchLoader::allocate(uint64_t bytes) {
  if (memory.allocate)
    if (std::shared_ptr<std::byte> other = memory.allocate(bytes)) {
      otherStorage.push_back(std::move(other));
      return {otherStorage.back().get(), bytes};
    }
  storage.emplace_back(bytes + DLC_ALIGNMENT);
  void *start = storage.back().data();
  size_t space = storage.back().size();
  std::align(DLC_ALIGNMENT, bytes, start, space);
  return {static_cast<std::byte *>(start), bytes};
}

Status BatchLoader::checkTransforms() {
  DLC_TRY_ASSIGN(sides, checkMixes(transforms.mixes, entry, mapping));
  mixed = sides;
  bool any = transforms.all.empty();
  // Whole numbers [N, height, width] are a mask of images of that size, and of nothing else.
  auto isMoved = [&](const ValueInfo &input) {
    return takesImages(input) && (input.type.shape.size() == 4 ||
                                  std::ranges::any_of(mapping, [&](const MappedInput &other) {
                                    const ValueInfo &image = entry.inputs[other.input];
                                    return image.type.shape.size() == 4 && takesImages(image) &&
                                           imageAxes(image)->sides == imageAxes(input)->sides;
                                  }));
  };
  for (const MappedInput &mapped : mapping) {
    const ValueInfo &input = entry.inputs[mapped.input];
    const DatasetField &field = dataset->fields()[mapped.field];
    if (isMoved(input)) {
      const std::optional<Sides> sides =
          field.pictures ? std::nullopt : imageSides(field.shape, input);
      DLC_TRY(runtime::checkTransforms(transforms, mapped, input, sides));
      any = true;
    } else if (!transforms.all.empty() && (dataset->isSequence() || input.type.shape.size() > 2)) {
      return invalid("`augment`: input '", input.name, "' is ", input.type.str(),
                     ", which is not moved as images [N, planes, height, width] are");
    }
  }
  return any ? Status()
             : invalid("`augment`: entry '", entry.name,
                       "' takes no images, which are inputs [N, planes, height, width]");
}

uint64_t BatchLoader::batches(bool keepPartial) const {
  if (dataset->isSequence())
    return sequenceRounds();
  const uint64_t size = dataset->size();
  const uint64_t all = size / entry.batch + (keepPartial && size % entry.batch != 0);
  const uint64_t extra = shard.even || all % shard.ranks <= shard.rank ? 0 : 1;
  return all / shard.ranks + extra;
}

std::vector<std::string> BatchLoader::notes(bool keepPartial) const {
  std::vector<std::string> all = mappingNotes;
  if (dataset->isSequence())
    return all;
  const uint64_t group = entry.batch * (shard.even ? shard.ranks : 1);
  const uint64_t left = dataset->size() % group;
  if (left == 0 || keepPartial)
    return all;
  all.push_back(concat(dataset->name(), ": ", left, " of ", dataset->size(),
                       " samples are left out each time, as they do not fill a batch of ",
                       entry.batch,
                       group == entry.batch ? "" : concat(" for each of ", shard.ranks, " ranks")));
  return all;
}

void BatchLoader::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
}

Status BatchLoader::start(const Pass &wanted) {
  stop();
  DLC_TRY(settle());
  pass = wanted;
  const auto size = static_cast<uint32_t>(dataset->size());
  if (dataset->isSequence()) {
    order.clear();
  } else if (pass.seed) {
    order = shuffledOrder(size, *pass.seed, pass.epoch);
  } else {
    order.resize(size);
    std::iota(order.begin(), order.end(), 0u);
  }
  const uint64_t all = std::min(batches(pass.keepPartial), pass.mostBatches);
  batchCount = all - std::min(all, pass.firstBatch);
  bad.clear();
  begun = taken = released = 0;
  for (Slot &slot : ring)
    slot.filled = 0;
  stopping = false;
  // What produce() needs is there by now.
  Status started = guarded([&] {
    workers.reserve(rooms.size());
    for (Room &room : rooms)
      workers.push_back(startThread([this, &room] { produce(room); }));
    return Status();
  });
  // Fewer threads than were asked for do it, too.
  return workers.empty() ? std::move(started) : Status();
}

/// Fills one batch after the other until there are no more.
void BatchLoader::produce(Room &room) {
  std::unique_lock lock(mutex);
  while (begun < batchCount && !stopping) {
    const uint64_t i = begun++;
    changed.wait(lock, [&] { return stopping || i < released + ring.size(); });
    if (stopping)
      return;
    lock.unlock();
    Slot &slot = ring[i % ring.size()];
    {
      const TimedScope scope(pass.timeline, SpanKind::LoadData, static_cast<uint32_t>(i));
      slot.status = guarded([&] {
        return dataset->isSequence()
                   ? fillSequence(slot, pass.firstBatch + i, room)
                   : fill(slot, (pass.firstBatch + i) * shard.ranks + shard.rank, room);
      });
    }
    lock.lock();
    slot.filled = i + 1;
    changed.notify_all();
  }
}

Result<const Batch *> BatchLoader::next() {
  DLC_TRY(settle());
  std::unique_lock lock(mutex);
  released = taken;
  if (taken == batchCount)
    return static_cast<const Batch *>(nullptr);
  changed.notify_all();
  Slot &slot = ring[taken % ring.size()];
  changed.wait(lock, [&] { return slot.filled == taken + 1; });
  if (!slot.status.ok())
    return Status(slot.status.code(), slot.status.message());
  ++taken;
  lock.unlock();
  DLC_TRY(countBad(slot));
  return static_cast<const Batch *>(&slot.batch);
}

/// The failure of a damaged sample that is one too many.
static Status tooManyBad(std::string_view reason, uint64_t most) {
  return damaged(reason, "; `maxBadRecords` leaves out ", most);
}

Status BatchLoader::countBad(const Slot &slot) {
  constexpr size_t mostNamed = 5;
  for (const auto &[sample, reason] : slot.bad) {
    bad.insert(sample);
    if (bad.size() > mostBad)
      return tooManyBad(reason, mostBad);
    if (!log || named.size() == mostNamed || !named.insert(sample).second)
      continue;
    log(Severity::Warning,
        concat(reason, "; it is left out",
               named.size() == mostNamed ? ", as further ones are that have no line of their own"
                                         : ""));
  }
  return {};
}

/// A field of a sample; one that was read just now is checked as those in memory were.
Result<const std::byte *> BatchLoader::checkedSample(const MappedInput &mapped, uint32_t sample,
                                                     Room &room) {
  DLC_TRY_ASSIGN(from, sampleAt(*dataset, sample, mapped.field, room.read));
  if (!inMemory)
    DLC_TRY(checkSample(dataset->fields()[mapped.field], mapped, entry.inputs[mapped.input], sample,
                        from));
  return from;
}

/// Whether an input takes pictures, or images that are transformed.
bool BatchLoader::transformed(const MappedInput &mapped) const {
  return mapped.elements != 0 &&
         (dataset->fields()[mapped.field].pictures ||
          (!transforms.all.empty() && takesImages(entry.inputs[mapped.input])));
}

/// What makes pictures fit an input: "`augment` 'test:resize:256,center-crop:224'".
std::string BatchLoader::sizeAdvice(const ValueInfo &input) const {
  const auto [height, width] = imageAxes(input)->sides;
  const std::string sides = height == width ? concat(height) : concat(height, "x", width);
  if (transforms.split == Split::Train)
    return concat("`augment` 'random-resized-crop:", sides, "'");
  // By as much larger as 256 is than 224.
  return concat("`augment` 'test:resize:", (std::max(height, width) * 8 + 3) / 7,
                ",center-crop:", sides, "'");
}

Status BatchLoader::fillImage(const MappedInput &mapped, uint32_t sample, std::byte *to,
                              Room &room) {
  const ValueInfo &input = entry.inputs[mapped.input];
  const DatasetField &field = dataset->fields()[mapped.field];
  const auto [planes, sides] = *imageAxes(input);
  ImageSource source = {dataset.get(), &mapped, planes};
  const std::byte *stored = nullptr;
  if (!field.pictures) {
    DLC_TRY_ASSIGN(from, checkedSample(mapped, sample, room));
    stored = from;
    source.sides = imageSides(field.shape, input);
  }
  const SampleDraws draws(pass.seed.value_or(0), pass.epoch, sample);
  DLC_TRY(room.images.read(source, sample, stored, transforms, draws));
  const Sides made = room.images.sides();
  if (made != sides)
    return invalid(room.images.place(), " is a picture of ", made.height, " x ", made.width,
                   transforms.all.empty() ? "" : " behind its transforms", ", input '", input.name,
                   "' takes ", input.type.str(), "; ", sizeAdvice(input), " makes it fit");
  room.images.write(to);
  if (!field.pictures || input.classes == 0)
    return {};
  DatasetField written = field;
  written.dtype = mapped.to;
  written.shape = sampleShape(input);
  written.file = room.images.place();
  return checkSample(written, mapped, input, sample, to);
}

/// Puts a sample where the input has its row, along whatever axis samples lie.
void BatchLoader::spread(const MappedInput &mapped, uint64_t row, const std::byte *from,
                         std::byte *block) {
  const uint64_t size = dtypeSize(mapped.to);
  for (uint64_t i = 0; i < mapped.elements; i += mapped.together)
    std::memcpy(block + mapped.placeOf(i, row, entry.batch) * size, from + i * size,
                mapped.together * size);
}

Status BatchLoader::fillSample(Slot &slot, uint64_t row, uint32_t sample, Room &room) {
  std::optional<Sides> whole;
  for (const MappedInput &mapped : mapping) {
    std::byte *const block = slot.blocks[mapped.input].data();
    std::byte *const to = block + row * mapped.elements * dtypeSize(mapped.to);
    if (transformed(mapped)) {
      DLC_TRY(fillImage(mapped, sample, to, room));
      if (!dataset->fields()[mapped.field].pictures)
        continue;
      // What is drawn for one lies elsewhere in another of another size.
      const Sides found = room.images.whole();
      if (found != whole.value_or(found))
        return damaged(room.images.place(), " is a picture of ", found.height, " x ", found.width,
                       ", another of the same sample has ", whole->height, " x ", whole->width);
      whole = found;
      continue;
    }
    DLC_TRY_ASSIGN(from, checkedSample(mapped, sample, room));
    if (mapped.samplesFirst()) {
      convertSample(mapped, from, to);
      continue;
    }
    convertSample(mapped, from, room.unspread.data());
    spread(mapped, row, room.unspread.data(), block);
  }
  return {};
}

/// Fills a row with the sample at a place of the order. If that is damaged the next one that is not
/// takes its place, or none where each counts once: then false.
Result<bool> BatchLoader::fillRow(Slot &slot, uint64_t row, uint64_t place, Room &room) {
  for (uint64_t tried = 0; tried < order.size() && !stopping; ++tried) {
    const uint32_t sample = order[(place + tried) % order.size()];
    if (slot.bad.contains(sample))
      continue;
    const Status status = fillSample(slot, row, sample, room);
    if (status.ok()) {
      slot.batch.samples.push_back(sample);
      return true;
    }
    if (status.code() != StatusCode::Damaged || mostBad == 0)
      return Status(status.code(), status.message());
    if (slot.bad.size() == mostBad)
      return tooManyBad(status.message(), mostBad);
    slot.bad.emplace(sample, status.message());
    if (pass.keepPartial)
      return false;
  }
  // Nobody takes this batch any more.
  if (stopping)
    return false;
  return damaged(dataset->name(), ": none of its ", order.size(), " samples can be read");
}

/// Of inputs, the rows behind the valid ones.
void BatchLoader::clearRows(Slot &slot, uint64_t valid, Room &room) {
  for (const MappedInput &mapped : mapping) {
    const std::span<std::byte> block = slot.blocks[mapped.input];
    const uint64_t bytes = mapped.elements * dtypeSize(mapped.to);
    if (mapped.samplesFirst()) {
      std::memset(block.data() + valid * bytes, 0, block.size() - valid * bytes);
      continue;
    }
    std::fill_n(room.unspread.begin(), bytes, std::byte(0));
    for (uint64_t row = valid; row < entry.batch; ++row)
      spread(mapped, row, room.unspread.data(), block.data());
  }
}

void BatchLoader::mix(Slot &slot, uint64_t number, Room &room) const {
  const Mixture mixture =
      mixtureOf(transforms.mixes, mixed, BatchDraws(pass.seed.value_or(0), pass.epoch, number));
  for (const MappedInput &each : mapping) {
    const uint64_t bytes =
        static_cast<uint64_t>(slot.batch.valid) * each.elements * dtypeSize(each.to);
    mixSamples(mixture, each, entry.inputs[each.input], slot.blocks[each.input].first(bytes),
               room.read);
  }
}

Status BatchLoader::fill(Slot &slot, uint64_t number, Room &room) {
  const uint64_t begin = number * entry.batch,
                 count = std::min<uint64_t>(entry.batch, order.size() - begin);
  slot.bad.clear();
  slot.batch.samples.clear();
  uint64_t valid = 0;
  for (uint64_t i = 0; i < count && !stopping; ++i) {
    DLC_TRY_ASSIGN(filled, fillRow(slot, valid, begin + i, room));
    valid += filled ? 1 : 0;
  }
  slot.batch.valid = static_cast<int32_t>(valid);
  clearRows(slot, valid, room);
  if (!transforms.mixes.empty() && !stopping)
    mix(slot, number, room);
  return {};
}

Status BatchLoader::fillSequence(Slot &slot, uint64_t number, Room &room) {
  Batch &batch = slot.batch;
  const uint64_t part = dataset->size() / (entry.batch * shard.ranks);
  batch.valid = static_cast<int32_t>(entry.batch);
  batch.samples.clear();
  for (uint64_t row = 0; row < entry.batch; ++row)
    batch.samples.push_back(
        static_cast<uint32_t>((shard.rank * entry.batch + row) * part + number * steps()));
  for (const MappedInput &mapped : mapping) {
    std::byte *block = slot.blocks[mapped.input].data();
    for (uint64_t row = 0; row < entry.batch; ++row)
      for (uint64_t step = 0; step < steps(); ++step) {
        DLC_TRY_ASSIGN(
            from, checkedSample(mapped, static_cast<uint32_t>(batch.samples[row] + step), room));
        convertNumber(mapped, from,
                      block + mapped.placeOf(step, row, entry.batch) * dtypeSize(mapped.to));
      }
  }
  return {};
}

} // namespace dlc::runtime
