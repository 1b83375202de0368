// What flags take, and the one line about a mistake.
#include "tools/CommandLine/CommandLine.h"

#include <gtest/gtest.h>

using namespace dlc::tool;

namespace {

/// What is wrong with a value; empty where nothing is.
std::string complaint(const CLI::Validator &validator, std::string value) {
  return validator(value);
}

/// What a command line ends with, and what it says on standard error.
std::pair<std::optional<int>, std::string> read(std::vector<const char *> arguments,
                                                const Advice &advice) {
  CLI::App app("a tool", "tool");
  app.set_help_flag("-h,--help", "this text");
  int threads = 0;
  app.add_option("--threads", threads, "how many")->check(CLI::PositiveNumber);
  arguments.insert(arguments.begin(), "tool");
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const auto end = readCommandLine(app, int(arguments.size()), arguments.data(), advice);
  testing::internal::GetCapturedStdout();
  return {end, testing::internal::GetCapturedStderr()};
}

const Advice none = [](const std::string &) { return std::string(); };

TEST(CommandLine, WholeNumbersOfARange) {
  const CLI::Validator numbers = wholeNumber(1, 16);
  for (const char *good : {"1", "16"})
    EXPECT_EQ(complaint(numbers, good), "");
  for (const char *bad : {"0", "17", "-1", "1.5", "4x", "", "99999999999999999999"})
    EXPECT_EQ(complaint(numbers, bad),
              std::string("expected a whole number from 1 to 16, found '") + bad + "'");
  EXPECT_EQ(complaint(wholeNumber(0), "18446744073709551615"), "");
  EXPECT_EQ(complaint(wholeNumber(0), "-1"), "expected a whole number from 0, found '-1'");
}

TEST(CommandLine, NumbersOfARange) {
  const CLI::Validator shares = realNumber(0, 1);
  for (const char *good : {"0", "1", "0.5", "2e-2"})
    EXPECT_EQ(complaint(shares, good), "");
  for (const char *bad : {"1.5", "-1e-9", "nan", "inf", "0.5x", ""})
    EXPECT_EQ(complaint(shares, bad),
              std::string("expected a number from 0 to 1, found '") + bad + "'");
}

TEST(CommandLine, OneOfSomeWords) {
  EXPECT_EQ(complaint(oneOf({"none", "cheap"}), "cheap"), "");
  EXPECT_EQ(complaint(oneOf({"none", "cheap"}), "cheep"),
            "found 'cheep', expected one of none, cheap");
  // Among many the one that is meant.
  EXPECT_EQ(complaint(oneOf({"red", "green", "blue", "black", "white"}), "blak"),
            "found 'blak', expected one of red, green, blue, black, white; did you mean 'black'?");
}

TEST(CommandLine, FilesHaveNames) {
  EXPECT_EQ(complaint(fileName(), "a"), "");
  EXPECT_EQ(complaint(fileName(), ""), "expected a file, found an empty name");
}

TEST(CommandLine, TimesOfALink) {
  EXPECT_EQ(parseLink("5e-5,1.6e-9"), (std::array{5e-5, 1.6e-9}));
  EXPECT_EQ(parseBeside("5e-5,1.6e-9,0"), (std::array{5e-5, 1.6e-9, 0.0}));
  for (const char *bad :
       {"", "5e-5", "5e-5,", "5e-5,1.6e-9,0", "0,1e-9", "2,1e-9", "a,b", "nan,1", "5e-5, 1.6e-9"})
    EXPECT_FALSE(parseLink(bad)) << bad;
  EXPECT_FALSE(parseBeside("5e-5,1.6e-9"));
}

TEST(CommandLine, MistakesAreOneLine) {
  EXPECT_EQ(read({"--threads", "2"}, none).first, std::nullopt);
  EXPECT_EQ(read({"--help"}, none), std::pair(std::optional<int>(Done), std::string()));
  const auto [end, said] = read({"--thread", "2"}, none);
  EXPECT_EQ(end, WrongUsage);
  EXPECT_EQ(said, "error: unknown flag '--thread'; did you mean '--threads'?\n");
  EXPECT_EQ(read({"--threads"}, none).second, "error: --threads needs a value: how many\n");
  EXPECT_EQ(read({"more"}, none).second,
            "error: unexpected argument 'more'; tool --help shows what it takes\n");
}

/// A flag of another program has its own answer.
TEST(CommandLine, AdviceGoesBeforeASimilarName) {
  const auto [end, said] = read({"--lr=0.1"}, [](const std::string &word) {
    return std::string(word == "--lr" ? "--override optimizer.learning_rate=NUMBER sets it" : "");
  });
  EXPECT_EQ(end, WrongUsage);
  EXPECT_EQ(said,
            "error: unknown flag '--lr'; --override optimizer.learning_rate=NUMBER sets it\n");
}

} // namespace
