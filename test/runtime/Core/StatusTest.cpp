// Messages are one line of bounded length, whatever went into them.
#include "runtime/Core/Support.h"

#include <gtest/gtest.h>

using namespace dlc::runtime;

namespace {

TEST(Status, WritesControlCharactersAsNumbers) {
  EXPECT_EQ(invalid("a\nb\x1b[2J\x7f").message(), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(invalid("caf\u00e9 \u2192 \U0001f600").message(), "caf\u00e9 \u2192 \U0001f600");
  // No UTF-8, and a control character that is.
  EXPECT_EQ(invalid("caf\xe9 \xc2\x9b").message(), "caf\\xe9 \\xc2\\x9b");
  EXPECT_EQ(invalid("x").in("new\nline.so").message(), "new\\x0aline.so: x");
}

// What is too long loses its middle, between characters.
TEST(Status, CutsLongMessages) {
  const std::string exact(1000, 'x');
  EXPECT_EQ(invalid(exact).message(), exact);
  EXPECT_EQ(invalid(exact + "y").message(),
            std::string(600, 'x') + "..." + std::string(389, 'x') + "y");
  std::string wide = "first ";
  for (int i = 0; i < 1000; ++i)
    wide += "\u00e9";
  const Status cut = invalid(wide, " last").in("file.so");
  EXPECT_LE(cut.message().size(), 1000u);
  EXPECT_TRUE(isPrintableUtf8(cut.message()));
  EXPECT_TRUE(cut.message().starts_with("file.so: first "));
  EXPECT_TRUE(cut.message().ends_with(" last"));
}

} // namespace
