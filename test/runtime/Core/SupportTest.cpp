// Nothing is thrown over the border of the runtime, and what messages quote is short and printable.
#include "runtime/Core/Support.h"
#include "runtime/Core/Json.h"

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <locale>
#include <new>
#include <random>
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

/// What the C++ library makes of a number.
template <typename... Format> std::string standardText(double number, Format... format) {
  char digits[512];
  return {digits, std::to_chars(digits, std::end(digits), number, format...).ptr};
}

// The library has no std::to_chars() of fractions, for the size of its tables, and writes as it
// does.
TEST(Support, WritesNumbersAsTheStandardDoes) {
  std::vector<double> numbers = {0,
                                 -0.0,
                                 1,
                                 0.1,
                                 1e5,
                                 123456,
                                 1234567,
                                 1200000,
                                 1e-4,
                                 1.5e-5,
                                 1e22,
                                 1e23,
                                 5e-324,
                                 1e300,
                                 0.5,
                                 100,
                                 1e15 + 1,
                                 1 / 3.0,
                                 2e-308,
                                 1e-5,
                                 0.00123,
                                 65504,
                                 1e-310,
                                 -1.25,
                                 12345678901234567890.0,
                                 std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::infinity()};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    numbers.push_back(std::bit_cast<double>(random()));
    numbers.push_back(float(random() % 1000000) / 1000);
    numbers.push_back(std::ldexp(double(random()), -int(random() % 90)));
  }
  for (const double number : numbers) {
    if (std::isnan(number))
      continue;
    ASSERT_EQ(decimalText(number), standardText(number));
    ASSERT_EQ(concat(number), standardText(number, std::chars_format::general, 6));
    const std::string own = exactText(number);
    double read = 0;
    std::string_view rest = own;
    ASSERT_TRUE(takeNumber(rest, read)) << own;
    ASSERT_EQ(std::bit_cast<uint64_t>(read), std::bit_cast<uint64_t>(number)) << own;
  }
}

// The C library's locale has a comma, or a point of two bytes.
TEST(Support, WritesFractionsInNoLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char *name : {"C", "de_DE.UTF-8", "ps_AF.UTF-8"}) {
    std::setlocale(LC_NUMERIC, name); // Where there is none of that name it stays as it is.
    EXPECT_EQ(concat(1234.5, " ", -1.5e-20), "1234.5 -1.5e-20");
    EXPECT_EQ(decimalText(1234.5), "1234.5");
    EXPECT_EQ(exactText(1.5), "1.8p+0");
  }
  std::setlocale(LC_NUMERIC, before.c_str());
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
