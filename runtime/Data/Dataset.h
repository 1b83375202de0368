// Labelled samples that a training run reads by number. Formats implement it; the batch loader
// draws from it.
//
// Threads: read() may be called by several threads at once.
#ifndef DLC_RUNTIME_DATA_DATASET_H
#define DLC_RUNTIME_DATA_DATASET_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <cstddef>
#include <memory>
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
};

/// How the arrays of a file are called.
struct ArrayNames {
  /// In the file; and those that are for this split and were not read, as no input takes them.
  std::vector<std::string> all, ignored;
  /// Of an input's array in front of the input's name: "test." or nothing.
  std::string prefix;
};

class Dataset {
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
  /// Bytes of field number `field` of a sample, row-major; they live as long as the dataset.
  virtual const std::byte *sample(uint64_t index, size_t field) const = 0;
};

enum class Split { Train, Test };

/// Whether any of a split's files is there, whatever is in it.
bool hasSplit(const std::string &description, Split split);

/// Where the test data of what `--data` says would be: "files t10k-images-idx3-ubyte, ...".
std::string_view testDataText(const std::string &description);

/// The files of what `--data` says, for both splits: all of a folder; none of a wrong description.
std::vector<std::string> dataFiles(const std::string &description);

/// Opens what `--data` says: "idx:DIR", a folder with files named as MNIST's are; "cifar:DIR", the
/// binary version of CIFAR; "safetensors:FILE" or "npz:FILE", an array for each input;
/// "text:FILE" or "words:FILE", a text by characters or by words. Of a file of arrays those are
/// read that the inputs of `reader` are called as; without it all. A split without samples is an
/// error.
Result<std::shared_ptr<const Dataset>> openDataset(const std::string &description, Split split,
                                                   const EntryInfo *reader = nullptr);

} // namespace dlc::runtime

#endif
