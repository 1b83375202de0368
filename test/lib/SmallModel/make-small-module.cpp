// Writes the hand-made module and data that it can learn into a folder, for tests of dlc-run.
// usage: make-small-module DIR
#include "test/lib/SmallModel/SmallModel.h"

#include <cstdio>
#include <filesystem>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make-small-module DIR\n");
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder + "/data");
  dlc::test::writeFile(folder + "/small.so", dlc::test::moduleWith(dlc::test::smallModel().blob()));
  dlc::test::writeFile(folder + "/simt.so",
                       dlc::test::moduleWith(dlc::test::smallSimtModel().blob(),
                                             {.targets = dlc::test::simtTargets}));
  // The same for several ranks.
  dlc::test::writeFile(folder + "/parallel.so",
                       dlc::test::moduleWith(dlc::test::smallParallelModel().blob()));
  dlc::test::writeFile(folder + "/parallel-simt.so",
                       dlc::test::moduleWith(dlc::test::smallParallelModel(DLC_TARGET_CUDA).blob(),
                                             {.targets = dlc::test::simtTargets}));
  // The same with another learning rate.
  dlc::test::PlanBuilder faster = dlc::test::smallModel();
  faster.scalars[0].value = 0.11;
  dlc::test::writeFile(folder + "/faster.so", dlc::test::moduleWith(faster.blob()));
  // Its rate follows a schedule.
  dlc::test::PlanBuilder scheduled = dlc::test::smallModel();
  scheduled.scalars[0].scheduled = 1;
  dlc::test::writeFile(folder + "/scheduled.so", dlc::test::moduleWith(scheduled.blob()));
  // The same under another name.
  dlc::test::PlanBuilder other = dlc::test::smallModel();
  other.header.model = other.text("Other");
  dlc::test::writeFile(folder + "/other.so", dlc::test::moduleWith(other.blob()));
  // Texts that a terminal would obey, in places where they are allowed.
  dlc::test::PlanBuilder loud = dlc::test::smallModel();
  loud.header.documentation = loud.text("first\x1b[2J line\nsecond line");
  loud.header.report = loud.text(R"({"code": [{"name": "a\u009bb", "\u001b[0m": 1}]})");
  dlc::test::writeFile(folder + "/loud.so", dlc::test::moduleWith(loud.blob()));
  // Its inference has no classes.
  dlc::test::PlanBuilder empty = dlc::test::smallModel();
  empty.values.back().type.shape[1] = 0;
  empty.values.back().location.bytes = 0;
  dlc::test::writeFile(folder + "/empty.so", dlc::test::moduleWith(empty.blob()));
  dlc::test::writeSmallData(folder + "/data", 404, 101);
  return 0;
}
