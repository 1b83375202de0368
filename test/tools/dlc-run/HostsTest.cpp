// Lists and files of hosts, and who of them answers.
#include "tools/dlc-run/Hosts.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dlc::runtime::tool;
using namespace dlc::test;

namespace {

std::string parsed(const char *text) {
  auto hosts = parseHosts(text);
  return hosts.ok() ? hostList(*hosts) : std::string(hosts.status().message());
}

/// What a host file of this text names, or what is said of it, without the folder.
std::string read(const std::string &text) {
  TemporaryFolder folder;
  std::ofstream(folder.path("hosts")) << text;
  auto hosts = readHostFile(folder.path("hosts"));
  if (hosts.ok())
    return hostList(*hosts);
  return std::string(hosts.status().message()).substr(folder.root().size() + 1);
}

TEST(Hosts, Lists) {
  EXPECT_EQ(parsed("a:4,b:2"), "a:4,b:2");
  EXPECT_EQ(parsed("node-1.cluster,10.0.0.2"), "node-1.cluster:1,10.0.0.2:1");
  // As mpirun counts.
  EXPECT_EQ(parsed("a,b,a"), "a:2,b:1");
  EXPECT_EQ(parsed("a:0"), "expected NAME or NAME:SLOTS, found 'a:0'");
  EXPECT_EQ(parsed("a:4x"), "expected NAME or NAME:SLOTS, found 'a:4x'");
  EXPECT_EQ(parsed("a,,b"), "expected NAME or NAME:SLOTS, found ''");
  EXPECT_EQ(parsed("node[1-4]"), "expected NAME or NAME:SLOTS, found 'node[1-4]'");
  EXPECT_EQ(parsed("fe80::1"), "expected NAME or NAME:SLOTS, found 'fe80::1'");
}

// Open MPI's and MPICH's lines, also in one file.
TEST(Hosts, Files) {
  EXPECT_EQ(read("a slots=4\nb slots=2 max_slots=8\n"), "a:4,b:2");
  EXPECT_EQ(read("# the first rack\n\na:4  # fast\n\tb:2\r\nc"), "a:4,b:2,c:1");
  EXPECT_EQ(read("a slots = 4\nb slots= 2 max-slots =2"), "a:4,b:2");
  EXPECT_EQ(read("a\na\nb\n"), "a:2,b:1");
}

// A line that means something else is not passed over.
TEST(Hosts, FilesThatAreWrong) {
  EXPECT_EQ(read("a slots=4\nb slots=four\n"),
            "hosts:2: expected slots=N or max_slots=N, found 'slots=four'");
  EXPECT_EQ(read("\n\na 4\n"), "hosts:3: expected slots=N or max_slots=N, found '4'");
  EXPECT_EQ(read("a cores=4\n"), "hosts:1: expected slots=N or max_slots=N, found 'cores=4'");
  EXPECT_EQ(read("a:\n"), "hosts:1: expected 'HOST', 'HOST slots=N' or 'HOST:N', found 'a:'");
  EXPECT_EQ(read("node[1-4]:2\n"),
            "hosts:1: expected 'HOST', 'HOST slots=N' or 'HOST:N', found 'node[1-4]:2'");
  EXPECT_EQ(read("# nobody\n"), "hosts: names no host");
}

TEST(Hosts, ThisMachine) {
  EXPECT_TRUE(isThisMachine("localhost"));
  EXPECT_TRUE(isThisMachine("127.0.0.1"));
  // Kept for documentation (RFC 5737), so of no machine.
  EXPECT_FALSE(isThisMachine("192.0.2.7"));
}

/// An agent that reaches no host whose name ends with .7, and keeps what it was asked.
class Agent {
public:
  Agent() {
    std::ofstream(path()) << "#!/bin/sh\necho \"$@\" >>" << folder.path("asked")
                          << "\ncase $2 in *.7) exit 255 ;; esac\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::string path() const { return folder.path("agent"); }
  std::string answering(const char *hosts) const {
    return hostList(answeringHosts(*parseHosts(hosts), {path(), "-q"}));
  }
  std::string asked() const {
    std::ifstream file(folder.path("asked"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

private:
  TemporaryFolder folder;
};

TEST(Hosts, OnesThatDoNotAnswer) {
  Agent agent;
  EXPECT_EQ(agent.answering("localhost:2,192.0.2.6:3,192.0.2.7:4"), "localhost:2,192.0.2.6:3");
  EXPECT_EQ(agent.answering("192.0.2.7"), "");
  // This machine is not asked.
  EXPECT_EQ(agent.asked().find("localhost"), std::string::npos);
  EXPECT_NE(agent.asked().find("-q 192.0.2.6 true\n"), std::string::npos);
}

// Without an agent nothing is known of a host.
TEST(Hosts, NoAgent) {
  EXPECT_EQ(hostList(answeringHosts(*parseHosts("192.0.2.7:4"), {"/no/such/agent"})),
            "192.0.2.7:4");
}

} // namespace
