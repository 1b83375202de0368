// The two tables, checked while they are read.
#include "runtime/Data/BytePairs.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/JsonEvents.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Utf8.h"

#include <algorithm>
#include <array>

namespace dlc::runtime {
namespace {

using nlohmann::json;

/// Of each of the two files: the largest vocabularies take a tenth.
constexpr uint64_t mostTableBytes = uint64_t(1) << 27;

/// The characters that stand for bytes in both files: what is printable for itself, others for
/// those from 256 on.
class ByteCharacters {
public:
  ByteCharacters() {
    bytes.fill(-1);
    uint32_t other = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool isPrintable =
          (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
      bytes[isPrintable ? static_cast<uint32_t>(byte) : other++] = static_cast<int16_t>(byte);
    }
  }
  /// Nothing for a text with another character.
  std::optional<std::string> bytesOf(std::string_view text) const {
    std::string found;
    while (!text.empty()) {
      const Character character = characterAt(text);
      if (character.bytes == 0 || character.code >= bytes.size() || bytes[character.code] < 0)
        return {};
      found += static_cast<char>(bytes[character.code]);
      text.remove_prefix(character.bytes);
    }
    return found;
  }

private:
  /// 256, and the 68 that are not printable.
  std::array<int16_t, 324> bytes;
};

/// Hears the parser's events: one object, of numbers.
class VocabularyReader : public json::json_sax_t {
public:
  explicit VocabularyReader(std::vector<std::pair<std::string, uint64_t>> &entries)
      : entries(entries) {}
  Status takeFailure() { return std::move(failure); }

  bool start_object(size_t) override { return !std::exchange(inside, true) || refuse(); }
  bool end_object() override { return true; }
  bool key(std::string &text) override {
    name = text;
    const auto bytes = characters.bytesOf(text);
    if (!bytes || bytes->empty())
      return fail(damaged("token '", excerpt(text), "': ",
                          text.empty() ? "is empty"
                                       : "has a character that stands for no byte in GPT-2's way"));
    entries.emplace_back(*bytes, 0);
    return true;
  }
  bool number_unsigned(uint64_t number) override {
    if (!inside)
      return refuse();
    entries.back().second = number;
    return true;
  }
  bool start_array(size_t) override { return refuse(); }
  bool end_array() override { return true; }
  bool string(std::string &) override { return refuse(); }
  bool null() override { return refuse(); }
  bool boolean(bool) override { return refuse(); }
  bool number_integer(int64_t) override { return refuse(); }
  bool number_float(double, const std::string &) override { return refuse(); }
  bool binary(json::binary_t &) override { return refuse(); }
  bool parse_error(size_t at, const std::string &, const nlohmann::detail::exception &) override {
    return fail(damaged("is no JSON: byte ", at));
  }

private:
  bool fail(Status status) {
    failure = std::move(status);
    return false;
  }
  bool refuse() {
    return fail(entries.empty() ? damaged("is no object of tokens and their numbers")
                                : damaged("token '", excerpt(name), "': expected its number"));
  }

  ByteCharacters characters;
  std::vector<std::pair<std::string, uint64_t>> &entries;
  std::string name;
  bool inside = false;
  Status failure;
};

/// By number, the bytes of the tokens.
Result<std::vector<std::string>> readTokens(std::string_view text) {
  DLC_TRY(checkJsonDepth(text));
  std::vector<std::pair<std::string, uint64_t>> entries;
  VocabularyReader reader(entries);
  if (!parseJson(text, reader))
    return reader.takeFailure();
  std::vector<std::string> tokens(entries.size());
  for (auto &[bytes, number] : entries) {
    if (number >= tokens.size() || !tokens[number].empty())
      return damaged("token '", excerpt(bytes), "' has number ", number, ", ",
                     number < tokens.size() ? "as another one has"
                                            : concat("of ", tokens.size(), " from 0 on"));
    tokens[number] = std::move(bytes);
  }
  return tokens;
}

std::string_view textOf(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace

Result<std::unique_ptr<const BytePairs>> BytePairs::open(const std::string &vocabulary,
                                                         const std::string &merges) {
  auto pairs = std::make_unique<BytePairs>();
  DLC_TRY_ASSIGN(content, readWholeFile(vocabulary, mostTableBytes));
  Result<std::vector<std::string>> tokens = readTokens(textOf(content));
  if (!tokens.ok())
    return tokens.takeStatus().in(vocabulary);
  pairs->tokens = tokens.take();
  for (size_t i = 0; i < pairs->tokens.size(); ++i)
    if (!pairs->numbers.emplace(pairs->tokens[i], static_cast<int32_t>(i)).second)
      return damaged(vocabulary, ": token '", excerpt(pairs->tokens[i]), "' is there twice");
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const auto found = pairs->numbers.find(std::string_view(&text, 1));
    if (found == pairs->numbers.end())
      return damaged(vocabulary, ": no token for byte ", byte, ", which a text may have");
    pairs->ofByte[byte] = found->second;
  }
  if (const auto found = pairs->numbers.find(endOfText); found != pairs->numbers.end())
    pairs->end = found->second;
  DLC_TRY_ASSIGN(lines, readWholeFile(merges, mostTableBytes));
  DLC_TRY(pairs->readMerges(textOf(lines)).in(merges));
  return std::unique_ptr<const BytePairs>(std::move(pairs));
}

Status BytePairs::readMerges(std::string_view text) {
  const ByteCharacters characters;
  for (uint32_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = takeLine(text);
    if (whole.empty() || (line == 1 && whole.starts_with("#version")))
      continue;
    const size_t space = whole.find(' ');
    if (space == whole.npos || whole.find(' ', space + 1) != whole.npos)
      return damaged("line ", line, ": expected two tokens with a blank between them, found '",
                     excerpt(whole), "'");
    std::string both;
    int32_t found[2] = {};
    const std::string_view written[] = {whole.substr(0, space), whole.substr(space + 1)};
    for (int side = 0; side < 2; ++side) {
      const auto bytes = characters.bytesOf(written[side]);
      const auto known = bytes ? numbers.find(*bytes) : numbers.end();
      if (known == numbers.end())
        return damaged("line ", line, ": '", excerpt(written[side]),
                       "' is no token of the vocabulary");
      found[side] = known->second;
      both += *bytes;
    }
    const auto merged = numbers.find(both);
    if (merged == numbers.end())
      return damaged("line ", line, ": what '", excerpt(whole),
                     "' make together is no token of the vocabulary");
    // The first of two equal lines counts.
    merges.emplace(pair(found[0], found[1]), Merge{line, merged->second});
  }
  return {};
}

Result<std::vector<int32_t>> BytePairs::encode(std::string_view text) const {
  std::vector<int32_t> found;
  BytePairEncoder(*this).encode(text, true, [&](int32_t number) { found.push_back(number); });
  return found;
}

std::string BytePairs::decode(int32_t number, std::optional<int32_t>) const {
  return tokens[static_cast<size_t>(number)];
}

} // namespace dlc::runtime
