// Whose mpirun it is, by its own words.
#include "tools/dlc-run/Mpirun.h"

#include <gtest/gtest.h>

using namespace dlc::runtime::tool;

namespace {

std::string failureOf(const char *text) {
  return std::string(readMpirunVersion(text).status().message());
}

TEST(Mpirun, OpenMpi) {
  EXPECT_EQ(*readMpirunVersion("mpirun (Open MPI) 4.1.4\n\nReport bugs to "
                               "http://www.open-mpi.org/community/help/\n"),
            4u);
  EXPECT_EQ(*readMpirunVersion("mpirun (Open MPI) 5.0.11\n"), 5u);
  EXPECT_EQ(*readMpirunVersion("mpirun.openmpi (OpenRTE) 4.1.4\n"), 4u);
  // A site's build.
  EXPECT_EQ(*readMpirunVersion("warning: old kernel\nmpiexec (Open MPI) 4.0.7rc1\n"), 4u);
}

TEST(Mpirun, Others) {
  EXPECT_EQ(failureOf("HYDRA build details:\n    Version:                                 4.0.2\n"),
            "is MPICH's (Hydra)");
  EXPECT_EQ(failureOf("Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619\n"),
            "is Intel MPI's");
  EXPECT_EQ(failureOf("\n prun 3.0\nmore"), "says of itself 'prun 3.0'");
  EXPECT_EQ(failureOf(""), "says of itself ''");
}

} // namespace
