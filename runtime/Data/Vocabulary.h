// What the numbers of a text stand for: how `text:`, `words:` and `bpe:` make numbers of a text,
// and a text of numbers.
//
// Threads: const functions may be called by several threads at once.
#ifndef DLC_RUNTIME_DATA_VOCABULARY_H
#define DLC_RUNTIME_DATA_VOCABULARY_H

#include "dlc/status.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime {

class Vocabulary {
public:
  virtual ~Vocabulary() = default;
  /// How many numbers there are, from 0 on.
  virtual uint64_t size() const = 0;
  /// Whether numbers beyond the classes of a model stand for its last class.
  virtual bool rareShareLast() const { return false; }
  /// Fails with what of the text has no number, and where that stands.
  virtual Result<std::vector<int32_t>> encode(std::string_view text) const = 0;
  /// The bytes of a number behind another one; `before`: none at the beginning. Of byte pairs they
  /// need not be whole characters.
  virtual std::string decode(int32_t number, std::optional<int32_t> before) const = 0;
  /// What stands in front of a text; none where the training's text has nothing of this kind.
  virtual std::optional<int32_t> beginning() const = 0;
};

/// That of a text as openDataset() takes it: "text:FILE", "words:FILE" or "bpe:FILE".
Result<std::unique_ptr<const Vocabulary>> openVocabulary(const std::string &description);

} // namespace dlc::runtime

#endif
