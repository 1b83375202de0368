// Puts samples together to batches on threads of its own, a few ahead of the consumer.
//
// The order is a function of seed, epoch and position: neither the number of threads nor a restart
// in mid-epoch changes it. Training drops the last partial batch; evaluation pads it with zeros and
// says how many samples are valid. Images go through a list of transforms (Augment/Transforms.h),
// and batches are mixed as the last of all (Augment/Mix.h).
//
// Of a sequence each row of a batch takes a piece, and the rows of the next batch go on where those
// of this one end: the sequence is cut into as many parts as all ranks have rows. There is no order
// to shuffle, and no partial batch; what is left at the ends of the parts is not used.
//
// Ownership: a Batch stays valid until the next call of next(). Threads: one consumer. Failure: a
// sample that cannot be read, or that no input can hold, fails next() where its batch is due. Of
// damaged ones LoadOptions::maxBadRecords may be left out: they are counted where their batch is
// due, so that no thread that is ahead has a part in the count.
#ifndef DLC_RUNTIME_DATA_BATCHLOADER_H
#define DLC_RUNTIME_DATA_BATCHLOADER_H

#include "dlc/context.h"
#include "dlc/log.h"
#include "runtime/Data/Augment/ImageReader.h"
#include "runtime/Data/Augment/Mix.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace dlc::runtime {

/// What one run of an entry reads.
struct Batch {
  /// One block for each input of the entry, aligned to DLC_ALIGNMENT; empty for the count of valid
  /// samples.
  std::vector<std::span<const std::byte>> inputs;
  /// Where each lies, of arrays of the program's; empty: on the host.
  std::vector<Place> places = {};
  int32_t valid = 0;
  /// The samples' numbers in the dataset, `valid` of them; of a sequence, of the first of each row.
  std::vector<uint32_t> samples;
};

/// One pass over a dataset.
struct Pass {
  /// With a seed the order is shuffled. It and the epoch decide what transforms draw.
  std::optional<uint64_t> seed = {};
  uint32_t epoch = 0;
  /// Batches to leave out at the beginning.
  uint64_t firstBatch = 0;
  /// Where the pass ends, those that were left out included.
  uint64_t mostBatches = UINT64_MAX;
  /// Each sample once: the last batch may have fewer, and others those that are not damaged.
  bool keepPartial = false;
  /// If set, where putting batches together is noted.
  Timeline *timeline = nullptr;
};

/// Which batches of a pass this process takes: each `ranks`-th, from number `rank` on.
struct Shard {
  unsigned rank = 0, ranks = 1;
  /// Leaves out the last batches where there is not one for each rank.
  bool even = false;
};

/// Memory for batches, where that is another than the process's own.
struct BatchMemory {
  /// Zero, aligned to DLC_ALIGNMENT; null: there is none.
  std::function<std::shared_ptr<std::byte>(uint64_t bytes)> allocate = {};
  /// Returns when nobody reads of the batches any more that the consumer has taken.
  std::function<Status()> settle = {};
};

class BatchLoader {
public:
  /// The transforms are for what goes to inputs [N, planes, height, width], all of a sample alike.
  /// Fails where there are none, where they cannot make what an input takes, and where another
  /// input may have places of the image, too.
  static Result<std::unique_ptr<BatchLoader>>
  create(const EntryInfo &entry, std::shared_ptr<const Dataset> dataset, Shard shard = {},
         const LoadOptions &options = {}, TransformList transforms = {}, BatchMemory memory = {});
  ~BatchLoader();

  /// Batches of a whole pass that this process takes.
  uint64_t batches(bool keepPartial) const;
  /// What the user should know of the data though nothing is wrong, a line each: flat samples,
  /// arrays that are not used, samples that a pass leaves out as they do not fill a batch.
  std::vector<std::string> notes(bool keepPartial) const;
  /// Begins a pass; what was prefetched for another is dropped. Fails where no thread can be had.
  Status start(const Pass &pass);
  /// The next batch, or null at the end of the pass. One of a pass that keeps partial batches may
  /// have no valid sample, if all are damaged.
  Result<const Batch *> next();

  /// Lets a log hear of the first damaged samples that are left out.
  void setLog(Log heard) { log = std::move(heard); }
  /// Damaged samples that the batches of this pass did without, none of them counted twice; nothing
  /// where none may be left out.
  std::optional<uint64_t> badRecords() const {
    return mostBad == 0 ? std::nullopt : std::optional<uint64_t>(bad.size());
  }

private:
  BatchLoader(const EntryInfo &entry, std::shared_ptr<const Dataset> dataset, InputMapping mapped,
              Shard shard, const LoadOptions &options, TransformList transforms,
              BatchMemory memory);
  std::span<std::byte> allocate(uint64_t bytes);
  Status settle() const { return memory.settle ? memory.settle() : Status(); }
  Status checkTransforms();
  void stop();
  /// A batch, and its inputs as they are written.
  struct Slot {
    Batch batch;
    std::vector<std::span<std::byte>> blocks;
    Status status;
    /// Damaged samples that it does without, and what is wrong with each.
    std::map<uint32_t, std::string> bad;
    /// Batches of the pass up to and with the one that lies here.
    uint64_t filled = 0;
  };
  /// Of a thread: a sample that was read, before it is transformed, and before it is spread over an
  /// input.
  struct Room {
    std::vector<std::byte> read, unspread;
    ImageReader images;
  };

  void produce(Room &room);
  Status fill(Slot &slot, uint64_t number, Room &room);
  Result<bool> fillRow(Slot &slot, uint64_t row, uint64_t place, Room &room);
  Status fillSample(Slot &slot, uint64_t row, uint32_t sample, Room &room);
  void clearRows(Slot &slot, uint64_t valid, Room &room);
  Status countBad(const Slot &slot);
  Result<const std::byte *> checkedSample(const MappedInput &mapped, uint32_t sample, Room &room);
  bool transformed(const MappedInput &mapped) const;
  Status fillImage(const MappedInput &mapped, uint32_t sample, std::byte *to, Room &room);
  std::string sizeAdvice(const ValueInfo &input) const;
  void spread(const MappedInput &mapped, uint64_t row, const std::byte *from, std::byte *block);
  void mix(Slot &slot, uint64_t number, Room &room) const;
  Status fillSequence(Slot &slot, uint64_t number, Room &room);
  /// Elements of a sequence that a row takes in one batch.
  uint64_t steps() const { return mapping.front().elements; }
  /// Batches of a sequence that all ranks take together, one each.
  uint64_t sequenceRounds() const {
    return dataset->size() / (entry.batch * shard.ranks) / steps();
  }

  const EntryInfo &entry;
  std::shared_ptr<const Dataset> dataset;
  std::vector<MappedInput> mapping;
  std::vector<std::string> mappingNotes;
  Shard shard;
  bool inMemory;
  uint64_t mostBad;
  TransformList transforms;
  /// Of the images that are mixed.
  Sides mixed = {0, 0};
  std::vector<Room> rooms; ///< One for each thread.
  BatchMemory memory;
  std::vector<std::vector<std::byte>> storage;
  std::vector<std::shared_ptr<std::byte>> otherStorage;
  std::vector<Slot> ring;

  Pass pass;
  std::vector<uint32_t> order;
  uint64_t batchCount = 0;
  /// The consumer's: damaged samples of the pass, and those that `log` has heard of.
  std::set<uint32_t> bad, named;
  Log log;

  std::mutex mutex;
  std::condition_variable changed;
  /// Batches that a thread has begun, and those that the consumer has taken and given back, since
  /// the pass began.
  uint64_t begun = 0, taken = 0, released = 0;
  /// Written under the mutex; looked at between the samples of a batch as well.
  std::atomic<bool> stopping = false;
  std::vector<std::thread> workers;
};

} // namespace dlc::runtime

#endif
