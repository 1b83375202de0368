// Ticks, thinning and reading of logs; test/tools/dlc-run/plot.test draws whole pictures.
#include "tools/dlc-run/Chart.h"
#include "runtime/Core/FileWriter.h"
#include "tools/dlc-run/RunLog.h"

#include <cmath>
#include <gtest/gtest.h>

namespace dlc::runtime::tool {
namespace {

using Numbers = std::vector<double>;

TEST(Chart, TicksAreRound) {
  EXPECT_EQ(roundTicks(0, 10, 5), (Numbers{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(roundTicks(1.2, 2.3, 5), (Numbers{1.5, 2}));
  EXPECT_EQ(roundTicks(-3, 3, 6), (Numbers{-3, -2, -1, 0, 1, 2, 3}));
}

/// Where no round numbers fit, as between neighbours among doubles, there are few.
TEST(Chart, TicksOfStrangeRangesEnd) {
  EXPECT_EQ(roundTicks(1, 1, 5), (Numbers{1}));
  EXPECT_LE(roundTicks(1, std::nextafter(1.0, 2), 5).size(), 12U);
  EXPECT_LE(roundTicks(-1e300, 1e300, 5).size(), 12U);
  EXPECT_LE(roundTicks(1e300, std::nextafter(1e300, INFINITY), 5).size(), 12U);
}

TEST(Chart, LogTicksArePowers) {
  EXPECT_EQ(logTicks(0.5, 20), (Numbers{0.5, 1, 2, 5, 10, 20}));
  EXPECT_EQ(logTicks(1, 10000), (Numbers{1, 10, 100, 1000, 10000}));
  EXPECT_LE(logTicks(1e-300, 1e300).size(), 9U);
}

Chart chartOf(std::vector<ChartPoint> points) {
  return {"t", "x", {}, {{"p", {{std::move(points), 0, ChartCurve::Look::Line}}, {}, false}}};
}

TEST(Chart, SizeDoesNotGrowWithPoints) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 200000; ++i)
    points.push_back({static_cast<double>(i), std::sin(i)});
  EXPECT_LT(drawSvg(chartOf(std::move(points))).size(), 60000U);
}

size_t count(const std::string &text, const std::string &word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// A number that is not finite parts the curve; what stands alone is a dot.
TEST(Chart, GapsPartCurves) {
  const std::string svg =
      drawSvg(chartOf({{0, 1}, {1, 2}, {2, NAN}, {3, 1}, {4, 2}, {5, NAN}, {6, 1}}));
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_EQ(count(svg, "nan"), 0U);
}

TEST(Chart, HoldsAnyNumbers) {
  for (const Numbers &values : {Numbers{1e308, -1e308}, Numbers{5, 5}, Numbers{NAN, INFINITY},
                                Numbers{1e-320, 0}, Numbers{}}) {
    std::vector<ChartPoint> points;
    for (const double value : values)
      points.push_back({static_cast<double>(points.size()), value});
    const std::string svg = drawSvg(chartOf(std::move(points)));
    EXPECT_EQ(count(svg, "nan"), 0U);
    EXPECT_EQ(count(svg, "\"inf"), 0U);
  }
}

TEST(Chart, TextsAreEscaped) {
  EXPECT_EQ(escapeXml("a<b & \"c\">\x01"), "a&lt;b &amp; &quot;c&quot;&gt;\\x01");
}

class RunLogTest : public testing::Test {
protected:
  Result<RunLog> read(std::string_view text, const char *name = "log.jsonl") {
    ScratchFolder folder = ScratchFolder::create().take();
    return readRunLog(folder.write(name, text).take());
  }
};

constexpr const char *twoSteps = R"({"report":"step","step":1,"epoch":1,"loss":4,"seconds":2}
{"report":"step","step":2,"epoch":1,"loss":3,"seconds":1,"learning_rates":{"o.rate":0.5}}
)";

TEST_F(RunLogTest, ReadsSteps) {
  const RunLog log = read(twoSteps).take();
  ASSERT_EQ(log.curves.at("loss").training.size(), 2U);
  EXPECT_EQ(log.curves.at("loss").training[1].value, 3);
  EXPECT_EQ(log.curves.at("learning_rates.o.rate").training[0].step, 2U);
  EXPECT_EQ(log.clock()[1].value, 3);
  EXPECT_FALSE(log.epochSteps);
}

/// A run that was killed in step 3 and went on from a checkpoint of step 1.
TEST_F(RunLogTest, LaterStepsReplaceThoseThatComeAgain) {
  const RunLog log =
      read(std::string(twoSteps) + "{\"report\":\"evaluation\",\"step\":2,\"test_loss\":9}\n"
                                   "{\"report\":\"step\",\"st\n"
                                   "{\"report\":\"step\",\"step\":2,\"loss\":7,\"seconds\":4}\n")
          .take();
  EXPECT_EQ(log.curves.at("loss").training[1].value, 7);
  EXPECT_TRUE(log.curves.at("loss").evaluation.empty());
  EXPECT_EQ(log.brokenLines, 1U);
  EXPECT_EQ(log.clock()[1].value, 6);
}

TEST_F(RunLogTest, CutLastLineIsLeftOut) {
  EXPECT_EQ(read(std::string(twoSteps) + "{\"report\":\"step\",\"step\":3,\"lo")
                .take()
                .curves.at("loss")
                .training.size(),
            2U);
  const char *rows = "report,step,epoch,loss\nstep,1,1,4\nstep,2,1,3.2";
  EXPECT_EQ(read(rows, "log.csv").take().curves.at("loss").training.size(), 1U);
}

TEST_F(RunLogTest, MeansOfEpochsStandInForSteps) {
  const RunLog log =
      read("report,step,epoch,loss,test_loss\nepoch,10,1,4,5\nepoch,20,2,,4\n").take();
  EXPECT_EQ(log.curves.at("loss").training.size(), 1U);
  EXPECT_EQ(log.curves.at("loss").evaluation.size(), 2U);
  EXPECT_EQ(log.epochSteps, 10);
}

TEST_F(RunLogTest, NumbersThatAreNotFiniteAreCounted) {
  EXPECT_EQ(read("{\"report\":\"step\",\"step\":1,\"loss\":null}\n").take().notFinite, 1U);
  EXPECT_EQ(read("report,step,loss\nstep,1,nan\nstep,2,1\n").take().notFinite, 1U);
}

} // namespace
} // namespace dlc::runtime::tool
