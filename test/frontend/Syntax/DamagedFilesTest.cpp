// 1,000 damaged programs from a fixed seed: each compiles or is a clear error, none crashes or
// takes long.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>
#include <random>

using namespace dlc::frontend;
using namespace dlc::frontend::test;

namespace {
std::string readFile(const char *path) {
  SourceManager sources;
  std::string error;
  FileId file = sources.load(path, error);
  EXPECT_NE(file, noFile) << error;
  return file == noFile ? "" : sources.text(file).str();
}

/// Cuts, repeats, swaps and overwrites pieces; every other piece is a word of the language.
class Damage {
public:
  explicit Damage(uint32_t seed) : random(seed) {}

  std::string operator()(std::string text) {
    for (unsigned i = 0, count = 1 + below(4); i < count && !text.empty(); ++i)
      once(text);
    return text;
  }

private:
  size_t below(size_t limit) { return random() % limit; }

  void once(std::string &text) {
    static const char *const words[] = {
        "(",        ")",      "{",      "}",          "[",
        "]",        ",",      "=",      "|>",         "_",
        "-",        "**",     "\"",     "//",         "\n",
        "N",        "0",      "-1",     "1e9",        "999999999999",
        "none",     "true",   "f32",    "for ",       "if ",
        "repeat ",  "layer ", "model ", "train ",     "infer ",
        "return ",  "x",      "output", "name=\"a\"", "\xff",
        "\xc3\xa9", ".5",     "@",      "%"};
    size_t at = below(text.size()), size = std::min<size_t>(1 + below(12), text.size() - at);
    switch (below(6)) {
    case 0:
      text.erase(at, size);
      break;
    case 1:
      text[at] = char(below(256));
      break;
    case 2:
      text.insert(at, words[below(std::size(words))]);
      break;
    case 3:
      text.replace(at, size, words[below(std::size(words))]);
      break;
    case 4:
      text.insert(below(text.size()), text.substr(at, 10 * size));
      break;
    default:
      text.resize(at);
    }
  }

  std::mt19937 random;
};
} // namespace

TEST(DamagedFiles, AreCompiledOrRefused) {
  const std::string programs[] = {
      readFile(EXAMPLES "/lenet/lenet.dl"), readFile(EXAMPLES "/mlp/mlp.dl"),
      readFile(TEST_INPUTS "/features.dl"), readFile(TEST_INPUTS "/programs.dl")};
  unsigned accepted = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::string text = Damage(seed)(programs[seed % std::size(programs)]);
    Compiled compiled(text);
    accepted += bool(compiled.result);
    ASSERT_EQ(bool(compiled.result), !compiled.engine.hasErrors()) << "seed " << seed << "\n"
                                                                   << text;
    for (const Diagnostic &diagnostic : compiled.engine.diagnostics()) {
      ASSERT_FALSE(diagnostic.message.empty());
      ASSERT_EQ(diagnostic.message.find("internal error"), std::string::npos)
          << "seed " << seed << ": " << diagnostic.hint << "\n"
          << text;
    }
    (void)compiled.diagnostics();
  }
  // Some damage falls into a comment; some more leaves a program.
  EXPECT_GT(accepted, 20u);
  EXPECT_LT(accepted, 500u);
}
