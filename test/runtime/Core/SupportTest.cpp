// Nothing is thrown over the border of the runtime, and what messages quote is short and printable.
#include "runtime/Core/Support.h"
#include "runtime/Core/Json.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <locale>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

using namespace dlc::runtime;

namespace {

template <typename Exception> Status statusOf(const Exception &exception) {
  return guarded([&]() -> Status { throw exception; });
}

TEST(Guarded, TurnsExceptionsIntoStatus) {
  EXPECT_TRUE(guarded([] { return Status(); }).ok());
  EXPECT_EQ(guarded([]() -> Result<int> { return 3; }).take(), 3);
  const Status memory = statusOf(std::bad_alloc());
  EXPECT_EQ(memory.code(), StatusCode::OutOfMemory);
  EXPECT_EQ(memory.message(), "out of memory");
  EXPECT_EQ(statusOf(std::length_error("too long")).code(), StatusCode::OutOfMemory);
  const Status thread = statusOf(
      std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "x"));
  EXPECT_EQ(thread.code(), StatusCode::Io);
  EXPECT_EQ(thread.message(), "x: Resource temporarily unavailable");
  EXPECT_EQ(statusOf(std::logic_error("odd")).message(), "internal error of the runtime: odd");
}

TEST(Status, OutOfMemoryTakesAPlace) {
  EXPECT_EQ(Status::outOfMemory().in("x.so").message(), "x.so: out of memory");
  EXPECT_EQ(Status::outOfMemory().in("b").in("a").message(), "a: b: out of memory");
}

/// Groups digits and has a comma before the fraction, as a German locale does.
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// Texts are for machines, too: no locale of the program around has a part in them.
TEST(Support, WritesNumbersInNoLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouping));
  enum Kind { Third = 3 };
  EXPECT_EQ(concat(1234567, " ", uint64_t(1) << 63, " ", -1234567, ' ', uint8_t(7), " ", true),
            "1234567 9223372036854775808 -1234567 7 1");
  EXPECT_EQ(concat(1234.5, " ", 0.1f, " ", 1e100, " ", 1234567.0, " ", Third),
            "1234.5 0.1 1e+100 1.23457e+06 3");
  EXPECT_EQ(concat(std::string("a"), std::string_view("b"), "c"), "abc");
  EXPECT_EQ(numberText(-std::numeric_limits<double>::quiet_NaN()), "not a number");
  EXPECT_EQ(numberText(-HUGE_VAL), "-inf");
  std::string_view rest = "1234567 x";
  uint64_t number = 0;
  EXPECT_TRUE(takeNumber(rest, number));
  EXPECT_EQ(number, 1234567u);
  std::locale::global(before);
}

TEST(Support, SaysHowMuchMemoryThereIsNot) {
  std::string text;
  const Status status = reserveRoom(text, uint64_t(1) << 63);
  EXPECT_EQ(status.code(), StatusCode::OutOfMemory);
  EXPECT_EQ(status.message(), "no memory for 9223372036854775808 bytes");
  EXPECT_TRUE(reserveRoom(text, 1000).ok());
  EXPECT_GE(text.capacity(), 1000u);
}

TEST(Support, ExcerptsAreShortAndPrintable) {
  EXPECT_EQ(excerpt("conv1.weight"), "conv1.weight");
  EXPECT_EQ(excerpt("a\nb\x1b[31m\xff"), "a\\x0ab\\x1b[31m\\xff");
  EXPECT_EQ(excerpt("größe"), "größe");
  EXPECT_EQ(excerpt(std::string(100, 'a')), std::string(100, 'a'));
  EXPECT_EQ(excerpt(std::string(1000000, 'a')), std::string(100, 'a') + "...");
  std::string umlauts;
  for (int i = 0; i < 101; ++i)
    umlauts += "ä";
  EXPECT_EQ(excerpt(umlauts), umlauts.substr(0, 200) + "...");
}

TEST(Json, IsNotNestedDeeply) {
  auto nested = [](char open, size_t depth) { return std::string(depth, open); };
  EXPECT_TRUE(checkJsonDepth(nested('[', 64)).ok());
  EXPECT_EQ(checkJsonDepth(nested('[', 65)).message(), "JSON nested more than 64 deep");
  EXPECT_FALSE(checkJsonDepth(nested('{', 1000000)).ok());
  // What stands in strings does not count, nor does what was closed.
  EXPECT_TRUE(checkJsonDepth("[\"" + nested('[', 100) + "\\\"" + nested('[', 100) + "\"]").ok());
  std::string flat = "[";
  for (int i = 0; i < 100; ++i)
    flat += "[],";
  EXPECT_TRUE(checkJsonDepth(flat).ok());
}

} // namespace
