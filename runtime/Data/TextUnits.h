// What a text is made of, characters or words, and how they are numbered.
#ifndef DLC_RUNTIME_DATA_TEXTUNITS_H
#define DLC_RUNTIME_DATA_TEXTUNITS_H

#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Utf8.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace dlc::runtime {

/// Opens a file that is to be a text. Fails where its first bytes say that it is something else.
Result<File> openText(const std::string &path);

/// Calls take(part, offset, isLast) with a file's text, as File::readPieces() does.
template <typename Take> Status forEachPart(const File &file, const Take &take) {
  return file.readPieces(uint64_t(1) << 22, [&](auto piece, uint64_t offset) {
    const std::string_view text(reinterpret_cast<const char *>(piece.data()), piece.size());
    return take(text, offset, offset + piece.size() == file.size());
  });
}

/// Numbers characters in the order of their code points, which is that of their bytes.
class Characters {
public:
  static constexpr std::string_view name = " characters";
  static constexpr bool rareShareLast = false;

  /// Calls use(code) for the characters of a part of a text. Returns the bytes of these.
  template <typename Use>
  static Result<size_t> take(std::string_view text, uint64_t offset, bool isLast, const Use &use) {
    size_t at = 0;
    while (at < text.size() && (isLast || text.size() - at >= longestCharacter)) {
      const Character found = characterAt(text.substr(at));
      if (found.bytes == 0)
        return damaged("no UTF-8 text: byte ", offset + at, " begins no character");
      use(found.code);
      at += found.bytes;
    }
    return at;
  }

  void count(uint32_t code) { ++entries[code]; }
  /// Numbers what was counted. Returns it by number.
  std::vector<uint32_t> order() {
    std::vector<uint32_t> all;
    for (uint32_t code = 0; code < entries.size(); ++code)
      if (entries[code] != 0) {
        entries[code] = all.size();
        all.push_back(code);
      }
    return all;
  }
  int32_t numberOf(uint32_t code) const { return static_cast<int32_t>(entries[code]); }

private:
  /// By code point: how often there are, then their numbers.
  std::vector<uint64_t> entries = std::vector<uint64_t>(1 << 21);
};

/// Numbers words: the most frequent first, those that are equally frequent by their bytes.
class Words {
public:
  static constexpr std::string_view name = " words", lineEnd = "<eos>";
  static constexpr bool rareShareLast = true;

  /// Calls use(word) for the words of a part of a text. Returns the bytes that these end in.
  template <typename Use>
  static Result<size_t> take(std::string_view text, uint64_t, bool isLast, const Use &use) {
    constexpr std::string_view spaces = " \t\r\v\f", ends = " \t\r\v\f\n";
    size_t at = 0;
    while (at < text.size()) {
      if (text[at] == '\n') {
        use(lineEnd);
        ++at;
      } else if (spaces.find(text[at]) != spaces.npos) {
        ++at;
      } else {
        const size_t end = text.find_first_of(ends, at);
        if (end == text.npos && !isLast)
          return at;
        const std::string_view word = text.substr(at, end - at);
        use(word);
        at += word.size();
      }
    }
    return at;
  }

  void count(std::string_view word) {
    if (const auto found = entries.find(word); found != entries.end())
      ++found->second;
    else
      entries.emplace(word, 1);
  }
  /// Numbers what was counted. Returns it by number; the words live as long as this.
  std::vector<std::string_view> order() {
    std::vector<std::pair<const std::string, uint64_t> *> all;
    for (auto &entry : entries)
      all.push_back(&entry);
    std::ranges::sort(all, [](const auto *a, const auto *b) {
      return a->second != b->second ? a->second > b->second : a->first < b->first;
    });
    std::vector<std::string_view> words;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i]->second = i;
      words.push_back(all[i]->first);
    }
    return words;
  }
  int32_t numberOf(std::string_view word) const {
    return static_cast<int32_t>(entries.find(word)->second);
  }

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  /// How often there are, then their numbers.
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> entries;
};

/// Calls use(unit) for each character or word of a file.
template <typename Units, typename Use> Status forEachUnit(const File &file, const Use &use) {
  return forEachPart(file, [&](std::string_view text, uint64_t offset,
                               bool isLast) { return Units::take(text, offset, isLast, use); })
      .in(file.path());
}

} // namespace dlc::runtime

#endif
