// How fast samples are read, decoded and augmented by a number of threads, without a model.
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleWalk.h"
#include "runtime/Data/Shuffle.h"
#include "tools/dlc-run/Data.h"
#include "tools/dlc-run/Median.h"

#include <algorithm>
#include <chrono>

namespace dlc::runtime::tool {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What a thread spent, and made.
struct Spent {
  double reading = 0, decoding = 0, all = 0;
  uint64_t bytes = 0;

  void add(const Spent &other) {
    reading += other.reading;
    decoding += other.decoding;
    all += other.all;
    bytes += other.bytes;
  }
};

/// Another dataset, whose pictures are timed: what is in front of choose() is reading, what is
/// behind it decoding.
class TimedDataset : public Dataset {
public:
  TimedDataset(std::shared_ptr<const Dataset> timed, std::vector<Spent> &spent)
      : timed(std::move(timed)), spent(spent) {}
  const std::string &name() const override { return timed->name(); }
  uint64_t size() const override { return timed->size(); }
  const std::vector<DatasetField> &fields() const override { return timed->fields(); }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return timed->sample(index, field);
  }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    const Clock::time_point start = Clock::now();
    DLC_TRY(timed->read(index, field, bytes));
    spent[thread].reading += secondsSince(start);
    return {};
  }
  Result<PictureRegion> readPicture(uint64_t index, size_t field, const PictureChooser &choose,
                                    Picture &picture) const override {
    const Clock::time_point start = Clock::now();
    Clock::time_point chosen = start;
    const auto note = [&](uint32_t height, uint32_t width) {
      chosen = Clock::now();
      return choose(height, width);
    };
    DLC_TRY_ASSIGN(region, timed->readPicture(index, field, std::cref(note), picture));
    Spent &own = spent[thread];
    own.reading += std::chrono::duration<double>(chosen - start).count();
    own.decoding += secondsSince(chosen);
    own.bytes += picture.bytes.size();
    return region;
  }

  /// Whose time it is that passes.
  static thread_local unsigned thread;

private:
  std::shared_ptr<const Dataset> timed;
  std::vector<Spent> &spent;
};

thread_local unsigned TimedDataset::thread = 0;

/// Reads samples in the order of a training as often as it is told to.
class Reading {
public:
  Reading(const DataFlags &flags, const OpenedData &data, unsigned threads)
      : flags(flags), transforms(data.transforms), spent(threads),
        dataset(std::make_shared<TimedDataset>(data.dataset, spent)),
        order(shuffledOrder(static_cast<uint32_t>(data.dataset->size()), flags.seed, 0)),
        rooms(threads) {}

  Status findImages(const OpenedData &data) {
    Result<DatasetImages> found = imagesOf(data.dataset, data.reader);
    const bool isAsked = data.reader || !data.transforms.all.empty();
    if (!found.ok())
      return isAsked ? found.takeStatus() : Status();
    DLC_TRY(openImages(data).takeStatus());
    imageField = found->mapped.field;
    found->dataset = dataset;
    for (size_t thread = 0; thread < spent.size(); ++thread)
      readers.push_back(std::make_unique<FloatImages>(*found));
    return {};
  }

  /// Reads `count` samples, the first ones again where there are fewer, and returns the seconds.
  Result<double> run(uint64_t count, unsigned threads) {
    std::ranges::fill(spent, Spent());
    const SampleWalk walk = {.samples = count, .blockSamples = flags.batch, .threads = threads};
    const Clock::time_point start = Clock::now();
    DLC_TRY(walk.run([&](const SampleBlock &block) -> Status {
      TimedDataset::thread = block.thread;
      const Clock::time_point begin = Clock::now();
      for (uint64_t i = block.begin; i < block.end; ++i)
        DLC_TRY(read(order[i % order.size()], block.thread));
      spent[block.thread].all += secondsSince(begin);
      return {};
    }));
    return secondsSince(start);
  }

  Spent all() const {
    Spent sum;
    for (const Spent &each : spent)
      sum.add(each);
    return sum;
  }

private:
  struct Room {
    std::vector<std::byte> read, batch;
  };

  Status read(uint32_t sample, unsigned thread) {
    const std::vector<DatasetField> &fields = dataset->fields();
    for (size_t field = 0; field < fields.size(); ++field) {
      if (field == imageField) {
        DLC_TRY(readers[thread]
                    ->read(sample, transforms, SampleDraws(flags.seed, /*epoch=*/0, sample))
                    .takeStatus());
      } else if (!fields[field].pictures) {
        // A batch has a copy.
        DLC_TRY_ASSIGN(from, sampleAt(*dataset, sample, field, rooms[thread].read));
        rooms[thread].batch.assign(from, from + sampleBytes(fields[field]));
      }
      if (!fields[field].pictures)
        spent[thread].bytes += sampleBytes(fields[field]);
    }
    return {};
  }

  const DataFlags &flags;
  const TransformList &transforms;
  std::vector<Spent> spent;
  std::shared_ptr<const Dataset> dataset;
  std::vector<uint32_t> order;
  std::optional<size_t> imageField;
  std::vector<std::unique_ptr<FloatImages>> readers;
  std::vector<Room> rooms;
};

/// 1, 2, 4, ... and as many as there may be.
std::vector<unsigned> threadCounts(unsigned most) {
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < most; count *= 2)
    counts.push_back(count);
  counts.push_back(most);
  return counts;
}

/// So many samples that a thread reads them in some tenths of a second.
Result<uint64_t> samplesOfRound(Reading &reading, uint64_t batch) {
  constexpr double seconds = 0.3;
  constexpr uint64_t most = uint64_t(1) << 26;
  for (uint64_t count = batch;; count *= 2) {
    DLC_TRY_ASSIGN(taken, reading.run(count, 1));
    if (taken >= seconds || count >= most)
      return count;
  }
}

} // namespace

Status printSpeed(const DataFlags &flags) {
  DLC_TRY_ASSIGN(data, openData(flags, flags.split == "test" ? Split::Test : Split::Train));
  if (data.dataset->isSequence())
    return invalid(data.dataset->name(), ": a text lies in memory, --speed times samples");
  if (data.dataset->size() >> 32)
    return invalid(data.dataset->name(), ": ", data.dataset->size(),
                   " samples are more than can be numbered");
  const unsigned most = threadsOf(flags);
  Reading reading(flags, data, most);
  DLC_TRY(reading.findImages(data));
  DLC_TRY_ASSIGN(count, samplesOfRound(reading, flags.batch));
  Table table({"threads", "samples/s", "MB/s", "reading", "decoding", "augmenting"});
  for (const unsigned threads : threadCounts(most)) {
    constexpr int rounds = 5;
    std::vector<double> rates, bytes;
    Spent spent;
    for (int round = 0; round < rounds; ++round) {
      DLC_TRY_ASSIGN(seconds, reading.run(count * threads, threads));
      rates.push_back(static_cast<double>(count * threads) / seconds);
      bytes.push_back(static_cast<double>(reading.all().bytes) / seconds);
      spent.add(reading.all());
    }
    const double rate = medianOf(rates), byteRate = medianOf(bytes);
    const double read = spent.reading / spent.all, decode = spent.decoding / spent.all;
    if (flags.json)
      printJson({{"threads", threads},
                 {"samples_per_second", rate},
                 {"bytes_per_second", byteRate},
                 {"reading", read},
                 {"decoding", decode},
                 {"augmenting", 1 - read - decode},
                 {"samples", count * threads},
                 {"rounds", rounds}});
    else
      table.add({std::to_string(threads), printf("%.0f", rate), printf("%.1f", byteRate * 1e-6),
                 printf("%.0f%%", read * 100), printf("%.0f%%", decode * 100),
                 printf("%.0f%%", (1 - read - decode) * 100)});
  }
  if (!flags.json)
    table.print(0);
  return {};
}

} // namespace dlc::runtime::tool
