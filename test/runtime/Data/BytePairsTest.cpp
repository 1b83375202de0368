// GPT-2's byte pairs: the numbers that Hugging Face's tokenizers (0.23) and tiktoken (0.14) make of
// a text in several languages, with tables that the first has trained on it.
#include "runtime/Data/BytePairDataset.h"
#include "runtime/Data/PreTokens.h"
#include "runtime/Data/UnicodeClasses.h"
#include "runtime/Data/Vocabulary.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

const std::string inputs = DLC_TEST_INPUTS "/bpe/";

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeText(const std::string &path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<int32_t> expectedNumbers() {
  std::istringstream text(readText(inputs + "sample.ids"));
  return {std::istream_iterator<int32_t>(text), {}};
}

std::unique_ptr<const BytePairs> sampleTables() {
  return BytePairs::open(inputs + "vocab.json", inputs + "merges.txt").take();
}

std::string decodeAll(const Vocabulary &vocabulary, std::span<const int32_t> numbers) {
  std::string text;
  std::optional<int32_t> before;
  for (const int32_t number : numbers) {
    text += vocabulary.decode(number, before);
    before = number;
  }
  return text;
}

/// The pieces of a text, with '|' between them.
std::string cut(std::string_view text) {
  std::string pieces;
  while (!text.empty()) {
    const size_t bytes = firstPreToken(text);
    pieces += pieces.empty() ? "" : "|";
    pieces += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return pieces;
}

int numberAt(const Dataset &data, uint64_t index, size_t field) {
  int32_t number = 0;
  EXPECT_TRUE(data.read(index, field, std::as_writable_bytes(std::span(&number, 1))).ok());
  return number;
}

} // namespace

TEST(PreTokens, AreThoseOfTheRegularExpression) {
  EXPECT_EQ(cut("It's what they'll've"), "It|'s| what| they|'ll|'ve");
  EXPECT_EQ(cut("a 's 'S '"), "a| '|s| '|S| '");
  EXPECT_EQ(cut("x1y22 33z!? a"), "x|1|y|22| 33|z|!?| a");
  EXPECT_EQ(cut("a   b"), "a|  | b");
  EXPECT_EQ(cut("a \n b\n"), "a| \n| b|\n");
  EXPECT_EQ(cut("a\tb"), "a|\t|b");
  EXPECT_EQ(cut("  "), "  ");
  EXPECT_EQ(cut("é\u2003\u00a0x"), "é|\u2003|\u00a0|x");
  EXPECT_EQ(cut("a\xff\x80 \xc3"), "a|\xff\x80| \xc3");
}

TEST(UnicodeClasses, AreUnicodes) {
  const std::pair<uint32_t, UnicodeClass> known[] = {
      {'a', UnicodeClass::Letter},     {'Z', UnicodeClass::Letter},
      {'0', UnicodeClass::Number},     {'9', UnicodeClass::Number},
      {'_', UnicodeClass::Other},      {'[', UnicodeClass::Other},
      {'`', UnicodeClass::Other},      {'{', UnicodeClass::Other},
      {'@', UnicodeClass::Other},      {0x1c, UnicodeClass::Other},
      {0x85, UnicodeClass::Space},     {0xa0, UnicodeClass::Space},
      {0xaa, UnicodeClass::Letter},    {0xb2, UnicodeClass::Number},
      {0xd7, UnicodeClass::Other},     {0x301, UnicodeClass::Other},
      {0x660, UnicodeClass::Number},   {0x2160, UnicodeClass::Number},
      {0x200b, UnicodeClass::Other},   {0x3000, UnicodeClass::Space},
      {0x4e00, UnicodeClass::Letter},  {0xac00, UnicodeClass::Letter},
      {0xd800, UnicodeClass::Other},   {0x1f600, UnicodeClass::Other},
      {0x20000, UnicodeClass::Letter}, {0x10ffff, UnicodeClass::Other},
      {0x1fffff, UnicodeClass::Other}};
  for (const auto &[code, kind] : known)
    EXPECT_EQ(unicodeClass(code), kind) << std::hex << code;
}

TEST(BytePairs, MakeTheNumbersOfTokenizers) {
  const auto tables = sampleTables();
  const std::string text = readText(inputs + "sample.txt");
  const auto numbers = tables->encode(text).take();
  EXPECT_EQ(numbers, expectedNumbers());
  EXPECT_EQ(decodeAll(*tables, numbers), text);
}

TEST(BytePairs, DependOnNoPieces) {
  const auto tables = sampleTables();
  const std::string text = readText(inputs + "sample.txt");
  const std::vector<int32_t> expected = expectedNumbers();
  for (const size_t step : {1, 2, 3, 7, 64}) {
    BytePairEncoder encoder(*tables);
    std::vector<int32_t> found;
    size_t at = 0;
    for (size_t end = step; at < text.size(); end += step) {
      const size_t all = std::min(end, text.size());
      at += encoder.encode(std::string_view(text).substr(at, all - at), all == text.size(),
                           [&](int32_t number) { found.push_back(number); });
    }
    EXPECT_EQ(found, expected) << step;
  }
}

TEST(BytePairs, TakeAnyBytes) {
  const auto tables = sampleTables();
  std::string bytes;
  for (int i = 0; i < 3000; ++i)
    bytes += static_cast<char>(i * i / 7 + i * 31);
  const auto numbers = tables->encode(bytes).take();
  EXPECT_EQ(decodeAll(*tables, numbers), bytes);
}

/// A piece of a million bytes is merged by a queue: its square would take an hour.
TEST(BytePairs, MergeLongPieces) {
  const auto tables = sampleTables();
  const std::string text(size_t(1) << 20, 'a');
  EXPECT_EQ(decodeAll(*tables, tables->encode(text).take()), text);
}

TEST(BytePairs, AreDataOfARun) {
  TemporaryFolder folder;
  for (const char *name : {"vocab.json", "merges.txt", "sample.txt"})
    writeText(folder.path(name), readText(inputs + name));
  const std::string description = "bpe:" + folder.path("sample.txt");
  const std::vector<int32_t> expected = expectedNumbers();
  std::vector<int32_t> found;
  for (const Split split : {Split::Train, Split::Test}) {
    const auto opened = openDataset(description, split);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const Dataset &data = **opened;
    EXPECT_TRUE(data.isSequence());
    if (split == Split::Train)
      EXPECT_EQ(data.size() + 1, expected.size() - expected.size() / 10);
    for (uint64_t i = 0; i < data.size(); ++i) {
      found.push_back(numberAt(data, i, 0));
      EXPECT_EQ(numberAt(data, i, 1), expected[found.size()]);
    }
    found.push_back(numberAt(data, data.size() - 1, 1));
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(dataFiles(description).size(), 6u);
}

/// A line that names the file, and what is wrong in it.
TEST(BytePairs, SayWhatIsWrongWithTheirTables) {
  TemporaryFolder folder;
  const std::string vocabulary = folder.path("vocab.json"), merges = folder.path("merges.txt"),
                    text = folder.path("a.txt"), goodVocabulary = readText(inputs + "vocab.json"),
                    goodMerges = readText(inputs + "merges.txt");
  writeText(text, "a text of some words");
  auto message = [&](const std::string &json, const std::string &lines) {
    writeText(vocabulary, json);
    writeText(merges, lines);
    return std::string(openDataset("bpe:" + text, Split::Train).status().message());
  };
  auto ofVocabulary = [&](const std::string &json) {
    const std::string said = message(json, goodMerges);
    EXPECT_TRUE(said.starts_with(vocabulary + ": ")) << said;
    return said.substr(std::min(vocabulary.size() + 2, said.size()));
  };
  EXPECT_EQ(ofVocabulary(""), "is no JSON: byte 1");
  EXPECT_EQ(ofVocabulary("[1, 2]"), "is no object of tokens and their numbers");
  EXPECT_EQ(ofVocabulary("7"), "is no object of tokens and their numbers");
  EXPECT_EQ(ofVocabulary("{\"a\": 0"), "is no JSON: byte 8");
  EXPECT_EQ(ofVocabulary("{\"a\": {\"b\": 1}}"), "token 'a': expected its number");
  EXPECT_EQ(ofVocabulary("{\"a\": -1}"), "token 'a': expected its number");
  EXPECT_EQ(ofVocabulary("{\"a\": 0.5}"), "token 'a': expected its number");
  EXPECT_EQ(ofVocabulary("{\"a\": [0]}"), "token 'a': expected its number");
  EXPECT_EQ(ofVocabulary("{\"a\": \"b\"}"), "token 'a': expected its number");
  EXPECT_EQ(ofVocabulary("{\"\": 0}"), "token '': is empty");
  EXPECT_EQ(ofVocabulary("{\"a b\": 0}"),
            "token 'a b': has a character that stands for no byte in GPT-2's way");
  EXPECT_EQ(ofVocabulary("{\"a\": 0, \"b\": 0}"), "token 'b' has number 0, as another one has");
  EXPECT_EQ(ofVocabulary("{\"a\": 0, \"b\": 4000000000}"),
            "token 'b' has number 4000000000, of 2 from 0 on");
  EXPECT_EQ(ofVocabulary("{\"a\": 0, \"a\": 1}"), "token 'a' is there twice");
  EXPECT_EQ(ofVocabulary("{\"a\": 0}"), "no token for byte 0, which a text may have");
  EXPECT_EQ(ofVocabulary(std::string(1000, '[')), "JSON nested more than 64 deep");

  auto ofMerges = [&](const std::string &lines) {
    const std::string said = message(goodVocabulary, lines);
    EXPECT_TRUE(said.starts_with(merges + ": ")) << said;
    return said.substr(std::min(merges.size() + 2, said.size()));
  };
  EXPECT_EQ(ofMerges("#version: 0.2\nab\n"),
            "line 2: expected two tokens with a blank between them, found 'ab'");
  EXPECT_EQ(ofMerges("a b c\n"),
            "line 1: expected two tokens with a blank between them, found 'a b c'");
  EXPECT_EQ(ofMerges("qqq a\n"), "line 1: 'qqq' is no token of the vocabulary");
  EXPECT_EQ(ofMerges("a a\r\n"), "line 1: 'a\\x0d' is no token of the vocabulary");
  EXPECT_EQ(ofMerges("Q Z\n"), "line 1: what 'Q Z' make together is no token of the vocabulary");

  EXPECT_EQ(message(goodVocabulary, goodMerges), "");
  std::remove(merges.c_str());
  EXPECT_TRUE(openDataset("bpe:" + text, Split::Train).status().message().starts_with(merges));
  writeText(merges, goodMerges);
  writeText(text, "a");
  EXPECT_EQ(openDataset("bpe:" + text, Split::Train).status().message(),
            text + ": 1 tokens are no text to learn from and a tenth of it to test with");
  writeText(text, "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(openDataset("bpe:" + text, Split::Train).status().message(),
            text + ": is a picture (PNG), expected text in UTF-8");
}

TEST(Vocabulary, IsThatOfTheTraining) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  writeText(path, "the dog\nthe c\u00e4t ran\nthe dog ran\n");
  for (const std::string kind : {"text:", "words:"}) {
    const auto vocabulary = openVocabulary(kind + path).take();
    const auto data = openDataset(kind + path, Split::Train).take();
    std::vector<int32_t> numbers;
    for (uint64_t i = 0; i < data->size(); ++i) {
      const std::byte *at = data->sample(i, 0);
      numbers.push_back(static_cast<uint8_t>(*at));
    }
    const std::string text = decodeAll(*vocabulary, numbers);
    EXPECT_TRUE(readText(path).starts_with(text)) << text;
    EXPECT_EQ(vocabulary->encode(text).take(), numbers);
    EXPECT_EQ(vocabulary->decode(*vocabulary->beginning(), {}), "\n");
  }
  const auto words = openVocabulary("words:" + path).take();
  EXPECT_EQ(words->encode("the cow ran").status().message(), "'cow' is not in " + path);
  const auto letters = openVocabulary("text:" + path).take();
  EXPECT_EQ(letters->encode("the owl").status().message(), "'w' is not in " + path);
  EXPECT_EQ(letters->encode("th\xff").status().message(),
            "no UTF-8 text: byte 2 begins no character");
  EXPECT_EQ(openVocabulary("tokens:" + path).status().message(),
            "data 'tokens:" + path + "': expected text:FILE, words:FILE or bpe:FILE");
}
