// Labelled samples that a run reads by number: from files, from arrays of the program, or from a
// Dataset of its own.
//
// Ownership: shared; a dataset outlives the runs that read it. Threads: sample() and read() may be
// called by several threads at once.
#ifndef DLC_DATA_H
#define DLC_DATA_H

#include "dlc/abi.h"
#include "dlc/device.h"
#include "dlc/status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

struct EntryInfo;

/// What a field of a sample is for: decides which input of an entry it feeds.
enum class FieldKind {
  Image,
  Label,
  /// What the input of the same name reads.
  Named,
  /// A number of a sequence, and the one behind it.
  Text,
  FollowingText
};

struct DatasetField {
  FieldKind kind;
  dlc_dtype dtype;
  /// Of one sample.
  std::vector<uint64_t> shape;
  /// For messages: where the field comes from.
  std::string file;
  /// The input's, of a field of kind Named.
  std::string name = {};
  /// Numbers beyond the classes of an input stand for its last class: those of rare words.
  bool rareShareLast = false;
  /// Pictures, each of a size of its own: u8, `shape` is {channels, 0, 0}, and readPicture() gives
  /// them.
  bool pictures = false;
  /// All numbers of a text are below this; 0: it is not known before they are read.
  uint64_t kinds = 0;
};

/// Rows from the top, the channels of a pixel together.
struct Picture {
  uint32_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> bytes = {};
  /// For messages: its file or record; empty: the sample's number says it.
  std::string file = {};
};

/// A part of a picture, in its pixels, which need not be whole ones.
struct PictureRegion {
  double top = 0, left = 0, height = 0, width = 0;
};

/// The part of a picture that is needed, and the rows and columns that it will be made to.
struct PictureRequest {
  PictureRegion region;
  uint32_t height = 0, width = 0;
};

/// Told rows and columns of a whole picture, says what is needed of it.
using PictureChooser = std::function<PictureRequest(uint32_t height, uint32_t width)>;

/// How the arrays of a file are called.
struct ArrayNames {
  /// In the file; and those that are for this split and were not read, as no input takes them.
  std::vector<std::string> all, ignored;
  /// Of an input's array in front of the input's name: "test." or nothing.
  std::string prefix;
};

/// Formats, and programs with data of their own, implement it.
class DLC_API Dataset {
public:
  virtual ~Dataset() = default;
  /// For messages: where the samples come from.
  virtual const std::string &name() const = 0;
  virtual uint64_t size() const = 0;
  /// Each sample is one element of a sequence, and follows the one before it: a batch takes pieces,
  /// and the next batch goes on where they end.
  virtual bool isSequence() const { return false; }
  virtual const std::vector<DatasetField> &fields() const = 0;
  /// Null for what is no file of arrays.
  virtual const ArrayNames *arrayNames() const { return nullptr; }
  /// Of the classes that labels are the numbers of; null where nothing names them.
  virtual const std::vector<std::string> *classNames() const { return nullptr; }
  /// What a sample is called, as the path of its picture; empty: it has its number alone.
  virtual std::string sampleName([[maybe_unused]] uint64_t index) const { return {}; }
  /// Bytes of field number `field` of a sample, row-major; they live as long as the dataset. Null,
  /// of every sample, where they do not lie in memory: then they are read().
  virtual const std::byte *sample([[maybe_unused]] uint64_t index,
                                  [[maybe_unused]] size_t field) const {
    return nullptr;
  }
  /// Writes them to memory of exactly their size. A failure, which names file and place, ends the
  /// run. Samples that lie in memory need none.
  virtual Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const;
  /// Field number `field` of a sample, where that has pictures. `choose` is called once, in front
  /// of decoding. What it does not need may be left out, and what it makes smaller may be decoded
  /// smaller by a whole factor, as long as the region keeps as many rows and columns as were asked
  /// for. Returns where the region lies in `picture`. Fails as read() does.
  virtual Result<PictureRegion> readPicture(uint64_t index, size_t field,
                                            const PictureChooser &choose, Picture &picture) const;
  /// The same picture as its file has it, a JPEG, PNG or WebP. Fails as read() does.
  virtual Status readPictureFile(uint64_t index, size_t field, std::vector<std::byte> &file) const;
};

/// How samples become batches beside the training. No bit depends on `workers` and `ahead`.
struct LoadOptions {
  /// Threads; 0: one for samples that lie in memory, else one for two processors.
  unsigned workers = 0;
  /// Batches that are made ahead of the one that is trained on, beside one of each worker.
  unsigned ahead = 3;
  /// Samples of a pass over the data, of each rank, that are left out where reading them fails with
  /// Damaged; one more fails as the first does where this is 0. In training the next readable
  /// sample of the epoch's order takes the place of such a one, behind the last the first: a batch
  /// is a function of seed, epoch and data as ever. An evaluation of each sample once does without
  /// it, one of whole batches as training. Texts and predictions leave out none.
  uint64_t maxBadRecords = 0;
};

enum class Split { Train, Test };

/// Opens what `--data` of dlc-run says, as "images:DIR" or "npz:FILE"; docs/formats.md has all
/// formats. Of a file of arrays those are read that the inputs of `reader` are called as; without
/// it all. Pictures have the channels of its input, without it three. A split without samples is an
/// error.
DLC_API Result<std::shared_ptr<const Dataset>>
openDataset(const std::string &description, Split split, const EntryInfo *reader = nullptr);

/// An array of the program's, row-major and without gaps, where it lies. Run::step() and predict()
/// take those on the device of the run as well; what reads samples one by one does not.
struct Array {
  std::string name;
  dlc_dtype dtype;
  std::vector<uint64_t> shape;
  const void *data;
  Place place = Place::Host;
};

/// One that the library writes.
struct OutputArray {
  std::string name;
  dlc_dtype dtype;
  std::vector<uint64_t> shape;
  void *data;
  Place place = Place::Host;
};

/// Samples in arrays, one for each input that has the array's name. The first axis counts samples,
/// and is the same in all. Values are converted as those of files are: u8 to floats in [0, 1],
/// other types by their values. Nothing is copied: the arrays must live as long as the dataset, and
/// who changes them in between trains on what is there then. `name` is for messages. Fails with
/// InvalidArgument if the arrays differ in their samples, if one has none or no data or does not
/// lie on the host, or if two have one name.
DLC_API Result<std::shared_ptr<const Dataset>> datasetOf(std::vector<Array> arrays,
                                                         std::string name = "the arrays");

/// Batches that the program makes itself, where a Dataset is not what it has.
struct Batches {
  /// How many an epoch has, of each rank; 0: not known, as where the program steps by itself.
  uint64_t perEpoch = 0;
  /// Fills the inputs of the entry that trains, whole ones, aligned for kernels: batch number
  /// `batch` of epoch number `epoch`, both from 0. Called on the thread that trains, in order; a
  /// run that is resumed asks for the batches behind those of its checkpoint. A failure ends the
  /// training.
  std::function<Status(uint64_t epoch, uint64_t batch, std::span<const OutputArray> inputs)> fill =
      {};
};

} // namespace dlc::runtime

#endif
