// Rows, numbers and columns of CSV files; what is wrong with one is said with file, line and
// column.
#include "runtime/Data/Formats/Csv.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Data/BatchLoader.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

using Strings = std::vector<std::string>;

/// Cells of all rows, those of a row between bars.
std::string rowsIn(std::string_view text) {
  std::string all;
  for (CsvRow row; !text.empty();) {
    Result<size_t> taken = takeCsvRow(text, true, row);
    if (!taken.ok())
      return all + "! " + std::string(taken.status().message());
    for (std::string_view cell : row.cells)
      all += "|" + csvText(cell);
    all += row.isBlank ? "-" : "";
    all += std::to_string(row.lines) + ";";
    text.remove_prefix(*taken);
  }
  return all;
}

TEST(Csv, DividesRows) {
  EXPECT_EQ(rowsIn("a,b\n1,2\n"), "|a|b1;|1|21;");
  EXPECT_EQ(rowsIn("a,b\r\n1,2"), "|a|b1;|1|21;");
  EXPECT_EQ(rowsIn("  a b ,\t,\n"), "|a b||1;");
  EXPECT_EQ(rowsIn("a,"), "|a|1;");
  EXPECT_EQ(rowsIn("\n \r\n\"\"\n"), "|-1;|-1;|1;");
  EXPECT_EQ(rowsIn("\"a,\"\"b\"\"\n\" , 1\nx"), "|a,\"b\"\n|12;|x1;");
  EXPECT_EQ(rowsIn("a\"b,\"\"\n"), "|a\"b|1;");
  EXPECT_EQ(rowsIn("\"a\",\"b"), "! a quote is not closed");
  EXPECT_EQ(rowsIn("\"a\"b\n"), "! column 1 goes on behind its quote");
}

// A row is only taken when its end is there: with any length of the piece the same.
TEST(Csv, WaitsForTheEndOfARow) {
  const std::string text = "ab,\"c\"\"d\n\" ,e\r\n1";
  const size_t row = text.find("\r\n") + 2;
  for (size_t length = 1; length < text.size(); ++length) {
    CsvRow found;
    Result<size_t> taken = takeCsvRow(std::string_view(text).substr(0, length), false, found);
    ASSERT_TRUE(taken.ok()) << length;
    EXPECT_EQ(*taken, length < row ? 0 : row) << length;
  }
}

/// The number, or what is wrong with it.
std::string numberIn(std::string_view cell, dlc_dtype dtype) {
  std::byte room[8];
  const Status stored = storeCsvNumber(cell, dtype, room);
  if (!stored.ok())
    return std::string(stored.message());
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", loadElement(dtype, room));
  return text;
}

TEST(Csv, ParsesNumbers) {
  EXPECT_EQ(numberIn("0.1", DLC_F32), "0.10000000149011612");
  EXPECT_EQ(numberIn("0.1", DLC_F64), "0.10000000000000001");
  EXPECT_EQ(numberIn("-1e-3", DLC_F64), "-0.001");
  EXPECT_EQ(numberIn("+2.5E2", DLC_F32), "250");
  EXPECT_EQ(numberIn("1e-60", DLC_F32), "0");
  EXPECT_EQ(numberIn("True", DLC_F32), "1");
  EXPECT_EQ(numberIn("false", DLC_BOOL), "0");
  EXPECT_EQ(numberIn("3", DLC_I32), "3");
  EXPECT_EQ(numberIn("3.0", DLC_I32), "3");
  EXPECT_EQ(numberIn("-2147483648", DLC_I32), "-2147483648");
  EXPECT_EQ(numberIn("255", DLC_U8), "255");
  for (dlc_dtype dtype : {DLC_F32, DLC_F64, DLC_I32, DLC_I64, DLC_U8, DLC_BOOL}) {
    EXPECT_EQ(numberIn("", dtype), "nothing is there, expected a number");
    for (const char *cell : {"x", "1x", "1 2", "--1", "+-1", "+", "-", ".", "1e", "0x10", "1,5"})
      EXPECT_EQ(numberIn(cell, dtype), "'" + std::string(cell) + "' is no number") << dtype;
  }
  for (const char *cell : {"nan", "NaN", "inf", "-inf", "infinity"})
    EXPECT_EQ(numberIn(cell, DLC_F32), "'" + std::string(cell) + "' is not finite");
  for (const char *cell : {"1e39", "-1e39", "1e400"})
    EXPECT_EQ(numberIn(cell, DLC_F32), "'" + std::string(cell) + "' is out of range");
  EXPECT_EQ(numberIn("1.5", DLC_I32), "'1.5' is no whole number");
  EXPECT_EQ(numberIn("nan", DLC_I64), "'nan' is no whole number");
  EXPECT_EQ(numberIn("inf", DLC_I64), "'inf' is out of range");
  EXPECT_EQ(numberIn("9223372036854775808", DLC_I64), "'9223372036854775808' is out of range");
  EXPECT_EQ(numberIn("2147483648", DLC_I32),
            "'2147483648' is out of range: i32 is -2147483648 to 2147483647");
  EXPECT_EQ(numberIn("-1", DLC_U8), "'-1' is out of range: u8 is 0 to 255");
  EXPECT_EQ(numberIn("2", DLC_BOOL), "'2' is out of range: bool is 0 to 1");
}

class CsvFiles : public testing::Test {
protected:
  void write(const std::string &name, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    writeFile(folder.path(name), {bytes.begin(), bytes.end()});
  }

  /// Two numbers x and a class y, of three, in batches of two.
  static EntryInfo entryOfTwo() {
    ValueInfo y = inputOf("y", DLC_I32, {2});
    y.classes = 3;
    return entryWith({inputOf("x", DLC_F32, {2, 2}), y}, 2);
  }

  /// What a text feeds the inputs with: "1 2 | 0; 3 4 | 1;", or what is wrong with it behind the
  /// file's name.
  std::string feed(std::string_view text, const std::string &query = "",
                   const EntryInfo &entry = entryOfTwo()) {
    write("a.csv", text);
    return feedFrom(folder.path("a.csv") + query, entry);
  }
  std::string feedFrom(const std::string &place, const EntryInfo &entry = entryOfTwo(),
                       Split split = Split::Train) {
    auto withoutPath = [&](const Status &status) {
      std::string message(status.message());
      const std::string begin = folder.path("");
      return message.starts_with(begin) ? message.substr(begin.size()) : message;
    };
    auto data = openDataset("csv:" + place, split, &entry);
    if (!data.ok())
      return withoutPath(data.status());
    auto loader = BatchLoader::create(entry, *data);
    if (!loader.ok())
      return withoutPath(loader.status());
    EXPECT_TRUE((*loader)->start({.seed = {}, .keepPartial = true}).ok());
    std::string all;
    while (true) {
      Result<const Batch *> batch = (*loader)->next();
      if (!batch.ok())
        return withoutPath(batch.status());
      if (!*batch)
        return all;
      for (int32_t row = 0; row < (*batch)->valid; ++row)
        all += rowOf(entry, **batch, row);
    }
  }

  TemporaryFolder folder;

private:
  static std::string rowOf(const EntryInfo &entry, const Batch &batch, int32_t row) {
    std::string text;
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const TensorType &type = entry.inputs[i].type;
      const uint64_t count = type.elementCount() / entry.batch, size = dtypeSize(type.dtype);
      text += i == 0 ? "" : "| ";
      for (uint64_t at = 0; at < count; ++at) {
        char number[32];
        std::snprintf(number, sizeof(number), "%g ",
                      loadElement(type.dtype, &batch.inputs[i][(row * count + at) * size]));
        text += number;
      }
    }
    return text + "; ";
  }
};

// Columns are found by the names that pandas and R give them, that are said, or that are left.
TEST_F(CsvFiles, FeedInputsByTheNamesOfColumns) {
  const std::string expected = "1 2 | 0 ; 3 4 | 2 ; 5 6 | 1 ; ";
  EXPECT_EQ(feed("x.0,x.1,y\n1,2,0\n3,4,2\n5,6,1\n"), expected);
  EXPECT_EQ(feed("y,x1,name,x0\n0,2,a,1\n2,4,b,3\n1,6,c,5"), expected);
  EXPECT_EQ(feed("x_1,x_0,y\r\n2,1,0\r\n\r\n4,3,2\r\n6,5,1\r\n"), expected);
  EXPECT_EQ(feed("\xef\xbb\xbf"
                 "a,\"b, \"\"c\"\"\",y\n1,2,0\n\"3\", 4 ,2\n5.0,6e0,1.0\n"),
            expected);
  EXPECT_EQ(feed(",a,b,y\n0,1,2,0\n1,3,4,2\n2,5,6,1\n"), expected) << "pandas' index has no name";
  EXPECT_EQ(feed("a,b,c,kind\n9,2,1,0\n9,4,3,2\n9,6,5,1\n", "?x=c,b&y=kind"), expected);
  EXPECT_EQ(feed("a,b,kind\n1,2,0\n3,4,2\n5,6,1\n", "?y=kind"), expected);
  EXPECT_EQ(feed("y,n,x.0,x.1\n0,\"1\n\",1,2\n2,,3,4\n1,\"\",5,6\n"), expected);
  // What infers has no label: its columns are not left for others.
  const EntryInfo infers = entryWith({inputOf("x", DLC_F32, {2, 2})}, 2);
  EXPECT_EQ(feed("a,b,kind\n1,2,0\n3,4,2\n", "?y=kind", infers), "1 2 ; 3 4 ; ");
  EXPECT_EQ(feed("a,x,kind\n1,2,0\n3,4,2\n", "", entryWith({inputOf("x", DLC_F64, {2})}, 2)),
            "2 ; 4 ; ");
}

TEST_F(CsvFiles, SayWhichColumnsAreWrong) {
  const std::string rows = "\n1,2,0\n";
  EXPECT_EQ(feed("x.0,x.2,y" + rows), "a.csv: no column 'x.1'; there are: x.0, x.2, y");
  EXPECT_EQ(feed("a,b,c" + rows),
            "a.csv: no column 'y' for input 'y' of entry 'e'; there are: a, b, c; "
            "csv:FILE?y=COLUMN,... says which it takes");
  EXPECT_EQ(feed("a,b,c,y\n1,2,3,0\n"), "a.csv: input 'x' takes 2 numbers a sample, 3 columns are "
                                        "meant for it; csv:FILE?x=COLUMN,... says which");
  EXPECT_EQ(feed("y\n0\n"), "a.csv: input 'x' takes 2 numbers a sample, 0 columns are meant for "
                            "it; csv:FILE?x=COLUMN,... says which");
  EXPECT_EQ(feed("a,b,y" + rows, "?x=a"),
            "a.csv: input 'x' takes 2 numbers a sample, 1 columns are meant for it; "
            "csv:FILE?x=COLUMN,... says which");
  EXPECT_EQ(feed("a,b,y" + rows, "?x=a,z"), "a.csv: no column 'z'; there are: a, b, y");
  EXPECT_EQ(feed("a,y,y" + rows), "a.csv: column 'y' is there 2 times");
  for (const char *query : {"?x", "?=a", "?x=", "?x=a,", "?x=a,b&", "?"})
    EXPECT_THAT(feed("a,b,y" + rows, query), testing::HasSubstr("names no columns; expected"));
}

TEST_F(CsvFiles, SayWhichCellIsWrong) {
  const std::string begin = "x.0,x.1,y\n1,2,0\n";
  auto message = [&](const std::string &rest) { return feed(begin + rest); };
  EXPECT_EQ(message("1,2\n"), "a.csv:3: has 2 columns, the header 3");
  EXPECT_EQ(message("\n\n1,2,0,\n"), "a.csv:5: has 4 columns, the header 3");
  EXPECT_EQ(message("1,b,0\n"), "a.csv:3: column 'x.1': 'b' is no number");
  EXPECT_EQ(message("1,,0\n"), "a.csv:3: column 'x.1': nothing is there, expected a number");
  EXPECT_EQ(message("1,nan,0\n"), "a.csv:3: column 'x.1': 'nan' is not finite");
  EXPECT_EQ(message("\"1\n\",2,0\n"), "a.csv:3: column 'x.0': '1\\x0a' is no number");
  EXPECT_EQ(feed("x.0,x.1,y,n\n1,2,0,\"a\n\n\"\n1,2,1.5,b\n"),
            "a.csv:5: column 'y': '1.5' is no whole number");
  EXPECT_EQ(message("1,2,3\n"),
            "a.csv:3: column 'y': 3 is no class of input 'y', which are 0 to 2");
  EXPECT_EQ(message("1,2,-1\n"),
            "a.csv:3: column 'y': -1 is no class of input 'y', which are 0 to 2");
  EXPECT_EQ(message("1,\"2,0\n1,2,0\n"), "a.csv:3: a quote is not closed");
  EXPECT_EQ(message("1,\"2\"3,0\n"), "a.csv:3: column 2 goes on behind its quote");
  EXPECT_EQ(message("1;2;0\n"), "a.csv:3: has 1 columns, the header 3");
  EXPECT_EQ(message("\x1b[31m,2,0\n"), "a.csv:3: column 'x.0': '\\x1b[31m' is no number");
}

TEST_F(CsvFiles, SayWhatIsNoTable) {
  EXPECT_EQ(feed(""), "a.csv: there is nothing in it, expected a header and rows of numbers");
  EXPECT_EQ(feed("\n\n"), "a.csv: there is nothing in it, expected a header and rows of numbers");
  EXPECT_EQ(feed("x.0,x.1,y\n\n"), "a.csv: there are no samples in it, but a header");
  EXPECT_EQ(feed("1,2,0\n3,4,1\n"),
            "a.csv:1: the first row has numbers alone, expected the names of the columns");
  EXPECT_EQ(feed("\"x.0,x.1,y\n1,2,0\n"), "a.csv:1: a quote is not closed");
  EXPECT_EQ(feed(std::string_view("PK\3\4................................", 36)).substr(0, 9),
            "a.csv: is");
  EXPECT_EQ(feedFrom(folder.path("none.csv")), "none.csv: cannot open: No such file or directory");
}

// Tests are in test.csv beside a file for training, or in a folder's val.csv or test.csv.
TEST_F(CsvFiles, DivideSplits) {
  const std::string train = folder.path("train.csv"), header = "x.0,x.1,y\n";
  write("train.csv", header + "1,2,0\n");
  EXPECT_FALSE(hasSplit("csv:" + train, Split::Test));
  EXPECT_EQ(feedFrom(train, entryOfTwo(), Split::Test), "1 2 | 0 ; ");
  write("test.csv", "y,x.1,x.0\n2,4,3\n");
  EXPECT_TRUE(hasSplit("csv:" + train, Split::Test));
  for (const std::string &place : {train, folder.root(), train + "?x=x.0,x.1&y=y"}) {
    EXPECT_TRUE(hasSplit("csv:" + place, Split::Test)) << place;
    EXPECT_EQ(feedFrom(place), "1 2 | 0 ; ");
    EXPECT_EQ(feedFrom(place, entryOfTwo(), Split::Test), "3 4 | 2 ; ");
  }
  EXPECT_FALSE(hasSplit("csv:" + folder.path("test.csv"), Split::Test));
  write("val.csv", header + "5,6,1\n");
  EXPECT_EQ(feedFrom(folder.root(), entryOfTwo(), Split::Test), "5 6 | 1 ; ");
  EXPECT_THAT(dataFiles("csv:" + train + "?x=a"),
              testing::ElementsAre(train, folder.path("test.csv")));
  // Another file is meant as it is.
  EXPECT_EQ(feedFrom(folder.path("val.csv"), entryOfTwo(), Split::Test), "5 6 | 1 ; ");
  EXPECT_FALSE(hasSplit("csv:" + folder.path("val.csv"), Split::Test));
}

// Of columns that no name says, the training file says the order.
TEST_F(CsvFiles, KeepTheOrderOfTheTraining) {
  write("train.csv", "length,width,y\n1,2,0\n");
  write("test.csv", "width,y,length\n4,2,3\n");
  EXPECT_EQ(feedFrom(folder.root()), "1 2 | 0 ; ");
  EXPECT_EQ(feedFrom(folder.root(), entryOfTwo(), Split::Test), "3 4 | 2 ; ");
  write("test.csv", "width,y,height\n4,2,3\n");
  EXPECT_EQ(feedFrom(folder.root(), entryOfTwo(), Split::Test),
            "test.csv: no column 'length'; there are: width, y, height");
}

// Rows are found in a file of many pieces, and blocks, whatever their lengths.
TEST_F(CsvFiles, FindEachRowOfALargeFile) {
  std::string text = "id,x.0,x.1,y,note\n";
  const uint32_t count = 70000;
  for (uint32_t i = 0; i < count; ++i)
    text += std::to_string(i) + "," + std::to_string(i * 3) + "," + std::to_string(i) + ".5," +
            std::to_string(i % 3) + ",\"" + std::string(i * 2654435761u % 211, 'n') +
            (i % 7 == 0 ? "\n" : "") + "\"\n" + (i % 11 == 0 ? "\n" : "");
  ASSERT_GT(text.size(), size_t(6) << 20);
  write("a.csv", text);
  const EntryInfo entry = entryOfTwo();
  auto data = openDataset("csv:" + folder.path("a.csv"), Split::Train, &entry);
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ((*data)->size(), count);
  for (uint64_t i = 0; i < count; i += i < 200 || i > count - 200 ? 1 : 97) {
    float x[2];
    int32_t y;
    ASSERT_TRUE((*data)->read(i, 0, std::as_writable_bytes(std::span(x))).ok());
    ASSERT_TRUE((*data)->read(i, 1, std::as_writable_bytes(std::span(&y, 1))).ok());
    EXPECT_EQ(x[0], float(i * 3));
    EXPECT_EQ(x[1], float(i) + 0.5f);
    EXPECT_EQ(y, int32_t(i % 3));
  }
}

// A quote that is never closed is said before the whole file lies in memory.
TEST_F(CsvFiles, BoundTheLengthOfARow) {
  std::string text = "x.0,x.1,y\n1,2,0\n1,\"2,0\n";
  text.resize(size_t(40) << 20, '1');
  EXPECT_EQ(feed(text), "a.csv:3: a row of more than 16777216 bytes begins here; is a quote not "
                        "closed?");
  EXPECT_EQ(feed("\"x.0" + text.substr(text.size() / 2)),
            "a.csv:1: a header of more than 16777216 bytes");
}

} // namespace
