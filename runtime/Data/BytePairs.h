// GPT-2's byte pairs (Sennrich, Haddow, Birch, Neural Machine Translation of Rare Words with
// Subword Units, 2016; Radford et al., Language Models are Unsupervised Multitask Learners, 2019):
// a text is cut (PreTokens.h), and in each piece, bytes at first, the pair that stands first in
// merges.txt is joined until there is none. Numbers are those of tiktoken's and transformers'
// GPT-2.
//
// Any bytes are a text. "<|endoftext|>", where the vocabulary has it, is one token.
//
// Threads: an Encoder belongs to one thread, a BytePairs to all.
#ifndef DLC_RUNTIME_DATA_BYTEPAIRS_H
#define DLC_RUNTIME_DATA_BYTEPAIRS_H

#include "runtime/Core/File.h"
#include "runtime/Data/Vocabulary.h"

#include <unordered_map>

namespace dlc::runtime {

class BytePairs : public Vocabulary {
public:
  /// Reads vocab.json, tokens and their numbers, 0 to N - 1 in any order, and merges.txt, a pair a
  /// line. Each byte must have a number, and what two tokens make together as well.
  static Result<std::unique_ptr<const BytePairs>> open(const std::string &vocabulary,
                                                       const std::string &merges);

  uint64_t size() const override { return tokens.size(); }
  Result<std::vector<int32_t>> encode(std::string_view text) const override;
  std::string decode(int32_t number, std::optional<int32_t> before) const override;
  std::optional<int32_t> beginning() const override { return end; }

private:
  friend class BytePairEncoder;
  static constexpr std::string_view endOfText = "<|endoftext|>";
  struct Merge {
    uint32_t rank;
    int32_t number;
  };
  static uint64_t pair(int32_t left, int32_t right) {
    return uint64_t(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  Status readMerges(std::string_view text);

  /// By number: the bytes.
  std::vector<std::string> tokens;
  std::unordered_map<std::string_view, int32_t> numbers;
  std::unordered_map<uint64_t, Merge> merges;
  int32_t ofByte[256] = {};
  std::optional<int32_t> end;
};

/// Takes a text piece by piece, and remembers what it has made of short ones.
class BytePairEncoder {
public:
  explicit BytePairEncoder(const BytePairs &pairs) : pairs(pairs) {}

  /// Calls use(number) for each token of `text`, but of its end where more text follows and might
  /// change that. Returns the bytes that were taken.
  template <typename Use> size_t encode(std::string_view text, bool isLast, const Use &use) {
    size_t at = 0;
    while (at < text.size()) {
      const auto [bytes, isEnd] = nextPiece(text, at, isLast);
      if (bytes == 0)
        break;
      if (isEnd)
        use(*pairs.end);
      else
        for (const int32_t number : numbersOf(text.substr(at, bytes)))
          use(number);
      at += bytes;
    }
    return at;
  }

private:
  struct Piece {
    size_t bytes;
    /// Whether it is "<|endoftext|>".
    bool isEnd;
  };
  Piece nextPiece(std::string_view text, size_t at, bool isLast);
  const std::vector<int32_t> &numbersOf(std::string_view piece);
  void merge(std::string_view piece);

  /// A pair that may be merged, if the tokens at its places are still these.
  struct Candidate {
    uint32_t rank;
    size_t at;
    int32_t left, right, merged;
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  void consider(size_t at);

  const BytePairs &pairs;
  /// Where the next "<|endoftext|>" of the text begins, if that is known.
  size_t nextEnd = 0;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view piece) const { return std::hash<std::string_view>()(piece); }
  };
  std::unordered_map<std::string, std::vector<int32_t>, Hash, std::equal_to<>> known;
  /// Of the piece that is merged: the token that begins at each byte, where the next one and where
  /// the one before begin, and the pairs.
  std::vector<int32_t> numbers;
  std::vector<size_t> next, before;
  std::vector<Candidate> candidates;
};

} // namespace dlc::runtime

#endif
